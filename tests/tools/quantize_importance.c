/* engine-quantize: matrices of importance.  Later tests use what the first one has collected. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "quantize.h"

#define MATRIX "test-quantize-matrix.gguf"
#define DAT "test-quantize-matrix.dat"

static double measure(const char *file)
{
    runs(run("engine-generate -m %s -d cpu --perplexity %s/tests/data/valid.txt --chunks 4 2>/dev/null", file,
             folder("top_srcdir")),
         0);
    return atof(said);
}

/* A matrix collected while a text is measured, whose numbers stay; weights lose less of what counts with it. */
START_TEST(importance)
{
    runs(
        run("engine-generate -m %s -d cpu --perplexity %s/tests/data/valid.txt --chunks 4 --imatrix-out %s 2>/dev/null",
            model(), folder("top_srcdir"), MATRIX),
        0);
    const double f16 = atof(said), same = measure(model());
    ck_assert_msg(f16 == same, "%.6f with --imatrix-out, %.6f without", f16, same);
    runs(run("engine-quantize -q --force %s %s q2_K", model(), OUT), 0);
    const double plain = measure(OUT);
    runs(run("engine-quantize -q --force %s %s q2_K --imatrix %s", model(), OUT, MATRIX), 0);
    const double weighted = measure(OUT);
    ck_assert_msg(weighted < plain - 0.1, "q2_K: %.4f with importance, %.4f without", weighted, plain);
    runs(run("engine-quantize --force %s %s iq2_s -i %s", model(), OUT, MATRIX), 0);
    says("token_embd.weight: " MATRIX " does not say what is important in it: q4_K instead of iq2_s");
    const double few = measure(OUT);
    ck_assert_msg(few < f16 + 0.3, "iq2_s: %.4f, f16 %.4f", few, f16);
    eng_gguf *g = opened(OUT);
    ck_assert_uint_eq(type_of(g, "blk.0.ffn_up.weight"), ENG_TYPE_IQ2_S);
    eng_gguf_close(g);
    runs(run("engine-quantize -q --force %s %s tq1_0", model(), OUT), 0); /* needs none */
    clean();
}
END_TEST

START_TEST(no_importance)
{
    clean();
    runs(run("engine-quantize %s %s iq2_xxs", model(), OUT), 1);
    says("with so few bits as iq2_xxs has, a model is worth something only if");
    runs(run("engine-quantize %s %s q4_0 -T ffn_up=iq1_s", model(), OUT), 1);
    says("blk.0.ffn_up.weight");
    runs(run("engine-quantize %s %s q4_K -i no-such-file", model(), OUT), 1);
    says("no-such-file");
    runs(run("engine-quantize %s %s q4_K -i %s", model(), OUT, model()), 1);
    says("a GGUF file without importance");
    runs(run("engine-quantize %s %s q4_K -i %s/tests/data/valid.txt", model(), OUT, folder("top_srcdir")), 1);
    says("neither a GGUF file nor an importance matrix");
    runs(run("tests/tools/make-model --arch llama --embd 512 %s", OTHER), 0);
    runs(run("engine-quantize %s %s q4_K -i %s", OTHER, OUT, MATRIX), 1);
    says("it has 256 numbers for tensor \"");
    says("give the importance matrix of this model");
    runs(run("engine-generate -m %s -p x --imatrix-out %s", model(), MATRIX), 64);
    says("--imatrix-out collects while a text is measured");
    ck_assert_int_ne(access(OUT, F_OK), 0);
    clean();
}
END_TEST

static void put_number(FILE *f, uint32_t n)
{
    for (int i = 0; i < 4; i++)
        fputc((int)(n >> 8 * i & 255), f);
}

/* The older form of a matrix means what the newer one does. */
START_TEST(older_importance)
{
    eng_gguf *g = opened(MATRIX);
    FILE *f = fopen(DAT, "wb");
    ck_assert(f != NULL);
    put_number(f, eng_gguf_tensor_count(g) / 2);
    for (uint32_t i = 0; i < eng_gguf_tensor_count(g); i += 2) {
        const eng_gguf_tensor *t = eng_gguf_tensor_get(g, i), *counts = eng_gguf_tensor_get(g, i + 1);
        const uint32_t length = (uint32_t)(strlen(t->name) - strlen(".in_sum2"));
        put_number(f, length);
        fwrite(t->name, 1, length, f);
        put_number(f, 4);
        put_number(f, (uint32_t)t->ne[0]);
        for (int64_t k = 0; k < t->ne[0]; k++) {
            const float v = ((const float *)t->data)[k] / *(const float *)counts->data;
            fwrite(&v, 4, 1, f);
        }
    }
    put_number(f, 4);
    fclose(f);
    eng_gguf_close(g);
    long n[2];
    runs(run("engine-quantize -q --force %s %s q3_K -i %s", model(), OUT, MATRIX), 0);
    runs(run("engine-quantize -q --force %s %s q3_K -i %s", model(), OTHER, DAT), 0);
    char *one = contents(OUT, &n[0]), *other = contents(OTHER, &n[1]);
    ck_assert_int_eq(n[0], n[1]);
    ck_assert_mem_eq(one, other, (size_t)n[0]);
    free(one);
    free(other);
    ck_assert_int_eq(truncate(DAT, 5000), 0);
    runs(run("engine-quantize -q --force %s %s q3_K -i %s", model(), OTHER, DAT), 1);
    says("it was cut short");
    unlink(DAT);
    unlink(MATRIX);
    clean();
}
END_TEST

/* Of a mixture each expert has a count of its own; a split device (if there is what splits) and one alone see the same.
 */
START_TEST(importance_of_experts)
{
#ifdef HAVE_META
    static const char *const devices[] = {"cpu", "cpu/2"};
#else
    static const char *const devices[] = {"cpu", "cpu"};
#endif
    static const char *const files[] = {MATRIX, DAT};
    eng_gguf *g[2];
    runs(run("tests/tools/make-model --arch qwen3moe --seed 3 --experts 6 --used 2 %s", OUT), 0);
    for (int i = 0; i < 2; i++) {
        runs(run("engine-generate -m %s -d %s -c 32 --perplexity %s/tests/data/valid.txt --chunks 2 --imatrix-out %s",
                 OUT, devices[i], folder("top_srcdir"), files[i]),
             0);
        g[i] = opened(files[i]);
    }
    const eng_gguf_tensor *counts = eng_gguf_tensor_find(g[0], "blk.0.ffn_down_exps.weight.counts");
    ck_assert(counts != NULL && counts->ne[1] == 6);
    double sum = 0;
    for (int i = 0; i < 6; i++)
        sum += ((const float *)counts->data)[i];
    ck_assert_double_eq(sum, 2 * 2 * 31); /* chunks, experts of each of their tokens but the last */
    ck_assert_uint_eq(eng_gguf_tensor_count(g[0]), eng_gguf_tensor_count(g[1]));
    for (uint32_t i = 0; i < eng_gguf_tensor_count(g[0]); i++) {
        const eng_gguf_tensor *a = eng_gguf_tensor_get(g[0], i), *b = eng_gguf_tensor_find(g[1], a->name);
        ck_assert(b != NULL && a->bytes == b->bytes);
        for (uint64_t k = 0; k < a->bytes / 4; k++) {
            const double x = ((const float *)a->data)[k], y = ((const float *)b->data)[k];
            ck_assert_msg(x - y < 0.01 * x + 1e-6 && y - x < 0.01 * x + 1e-6, "%s[%d]: %g and %g", a->name, (int)k, x,
                          y);
        }
    }
    runs(run("engine-quantize -q --force %s %s q4_K -i %s", OUT, OTHER, MATRIX), 0);
    for (int i = 0; i < 2; i++) {
        eng_gguf_close(g[i]);
        unlink(files[i]);
    }
    clean();
}
END_TEST

void quantize_importance(TCase *all)
{
    tcase_add_test(all, importance);
    tcase_add_test(all, no_importance);
    tcase_add_test(all, older_importance);
    tcase_add_test(all, importance_of_experts);
}
