/* engine-quantize: blocks of types, and which tensors have which. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quantize.h"
#include "sha256.h"

START_TEST(hashes_of_nothing)
{
    char hex[65], million[1000];

    sha256("abc", 3, hex);
    ck_assert_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    memset(million, 'a', sizeof million);
    sha256(million, 119, hex); /* two blocks of padding or one: around the border */
    sha256("", 0, hex);
    ck_assert_str_eq(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}
END_TEST

/* Every type gives the recorded blocks for three tensors. */
START_TEST(blocks)
{
    char path[4096], line[256], name[64], type[16], hash[65], made[16] = "", hex[65];
    eng_gguf *g = NULL;
    int cases = 0;

    snprintf(path, sizeof path, "%s/tests/data/quantised-f16.txt", folder("top_srcdir"));
    FILE *list = fopen(path, "r");
    ck_assert(list != NULL);
    while (fgets(line, sizeof line, list)) {
        if (line[0] == '#' || sscanf(line, "%63s %15s %64s", name, type, hash) != 3)
            continue;
        if (strcmp(made, type) != 0) {
            eng_gguf_close(g);
            runs(run("engine-quantize --force %s %s %s", model(), OUT, type), 0);
            g = opened(OUT);
            strcpy(made, type);
        }
        const eng_gguf_tensor *t = eng_gguf_tensor_find(g, name);
        ck_assert(t != NULL);
        ck_assert_str_eq(eng_type_get(t->type)->name, type);
        sha256(t->data, t->bytes, hex);
        ck_assert_msg(strcmp(hex, hash) == 0, "%s as %s: other blocks than recorded", name, type);
        cases++;
    }
    fclose(list);
    eng_gguf_close(g);
    clean();
    ck_assert_int_ge(cases, 48);
}
END_TEST

/* Patterns mean what PCRE2 says, and end. */
START_TEST(patterns)
{
    runs(run("engine-quantize %s %s f16 -T 'blk\\.\\d+\\.ffn_(?:up|down)\\.=q8_0'", model(), OUT), 0);
    eng_gguf *g = opened(OUT);
    for (uint32_t i = 0; i < eng_gguf_tensor_count(g); i++) {
        const eng_gguf_tensor *t = eng_gguf_tensor_get(g, i);
        int meant = strstr(t->name, ".ffn_up.") || strstr(t->name, ".ffn_down.");
        ck_assert_msg((t->type == ENG_TYPE_Q8_0) == meant, "%s", t->name);
    }
    eng_gguf_close(g);
    runs(run("engine-quantize %s %s f16 -T '([a-z0-9_.]+)+[!?]=q8_0'", model(), OTHER), 1);
    ck_assert_msg(strstr(said, "takes too long") != NULL, "%s", said);
    clean();
}
END_TEST

/* f16 to f32 and back is the file it was. */
START_TEST(there_and_back)
{
    runs(run("engine-quantize -q %s %s f32", model(), OUT), 0);
    ck_assert_str_eq(said, "");
    runs(run("engine-quantize %s %s f16 --tensor 'ssm_(alpha|beta).weight=f16'", OUT, OTHER), 0);
    eng_gguf *a = opened(model()), *b = opened(OTHER);
    ck_assert_uint_eq(eng_gguf_tensor_count(a), eng_gguf_tensor_count(b));
    ck_assert_uint_eq(eng_gguf_key_count(a), eng_gguf_key_count(b));
    for (uint32_t i = 0; i < eng_gguf_tensor_count(a); i++) {
        const eng_gguf_tensor *x = eng_gguf_tensor_get(a, i), *y = eng_gguf_tensor_get(b, i);
        ck_assert_str_eq(x->name, y->name);
        ck_assert_uint_eq(x->type, y->type);
        ck_assert_uint_eq(x->bytes, y->bytes);
        ck_assert_msg(memcmp(x->data, y->data, x->bytes) == 0, "%s differs", x->name);
    }
    eng_gguf_close(a);
    eng_gguf_close(b);
    clean();
}
END_TEST

START_TEST(what_stays)
{
    runs(run("engine-quantize %s %s q4_K", model(), OUT), 0);
    eng_gguf *g = opened(OUT);
    ck_assert_uint_eq(type_of(g, "token_embd.weight"), ENG_TYPE_Q4_K);
    ck_assert_uint_eq(type_of(g, "output.weight"), ENG_TYPE_Q4_K);
    ck_assert_uint_eq(type_of(g, "blk.4.nextn.eh_proj.weight"), ENG_TYPE_Q4_K);
    ck_assert_uint_eq(type_of(g, "output_norm.weight"), ENG_TYPE_F32);
    ck_assert_uint_eq(type_of(g, "blk.0.ssm_conv1d.weight"), ENG_TYPE_F32);
    ck_assert_uint_eq(type_of(g, "blk.0.ssm_a"), ENG_TYPE_F32);
    ck_assert_uint_eq(type_of(g, "blk.0.ssm_beta.weight"), ENG_TYPE_F16); /* small */
    int64_t kind;
    ck_assert_int_eq(eng_gguf_integer(g, "general.file_type", 0, &kind), ENG_OK);
    ck_assert_int_eq(kind, 15);
    eng_gguf_close(g);
    runs(run("engine-quantize --force %s %s q4_0 -T '^output.weight$=q6_K' -T 'ffn_(up|gate)=iq4_nl'", model(), OUT),
         0);
    g = opened(OUT);
    ck_assert_uint_eq(type_of(g, "output.weight"), ENG_TYPE_Q6_K);
    ck_assert_uint_eq(type_of(g, "blk.1.ffn_up.weight"), ENG_TYPE_IQ4_NL);
    ck_assert_uint_eq(type_of(g, "blk.1.ffn_down.weight"), ENG_TYPE_Q4_0);
    eng_gguf_close(g);
    clean();
}
END_TEST

START_TEST(fallbacks)
{
    runs(run("tests/tools/make-model --embd 96 --ffn 205 --head 48 --vocab 1021 %s", OUT), 0);
    runs(run("engine-quantize %s %s q4_K", OUT, OTHER), 0);
    says("blk.0.ffn_down.weight: rows of 205 elements are no blocks of q4_K: f16 instead");
    says("blk.0.ffn_up.weight: rows of 96 elements are no blocks of q4_K: q8_0 instead");
    eng_gguf *g = opened(OTHER);
    ck_assert_uint_eq(type_of(g, "blk.0.ffn_down.weight"), ENG_TYPE_F16);
    ck_assert_uint_eq(type_of(g, "token_embd.weight"), ENG_TYPE_Q8_0);
    eng_gguf_close(g);
    clean();
}
END_TEST

/* Which matrices of a mix have more bits, by the layers of a model of eight; and what is told of it. */
START_TEST(mixes)
{
    runs(run("tests/tools/make-model --arch llama --seed 5 --layers 8 --embd 256 --ffn 512 --vocab 300 --heads 8 "
             "--kv-heads 2 %s",
             OTHER), 0);
    runs(run("engine-quantize --force %s %s q4_k_m", OTHER, OUT), 0);
    says("output.weight: q6_K\n");
    says("blk.0.attn_v.weight: q6_K\n");
    says("blk.3.ffn_down.weight: q6_K\n");
    says("blk.7.ffn_down.weight: q6_K\n");
    ck_assert_ptr_null(strstr(said, "blk.1.ffn_down.weight: "));
    ck_assert_ptr_null(strstr(said, "ffn_up.weight: "));
    says(" MB of weights are to be written, ");
    runs(run("engine-quantize --force --errors %s %s Q3_K_L", OTHER, OUT), 0);
    says("blk.4.attn_output.weight: q5_K\n");
    says("blk.4.ffn_up.weight: q3_K, error 0.");
    runs(run("engine-quantize --force %s %s Q2_K_S --tensor-type 'attn_v=q8_0'", OTHER, OUT), 0);
    says("blk.2.attn_v.weight: q8_0\n");
    says("blk.0.ffn_down.weight: q4_K\n");
    runs(run("engine-quantize --force -q %s %s Q4_K_M", OTHER, OUT), 0);
    ck_assert_str_eq(said, "");
    runs(run("engine-quantize --force %s %s Q4_K_X", OTHER, OUT), 64);
    says("and mixes: Q2_K_S");
    runs(run("engine-quantize --force %s %s iq4_xs", OTHER, OUT), 0);
    says("iq4_xs for all matrices; --mix gives some of them more");
    ck_assert_ptr_null(strstr(said, "output.weight: "));
    runs(run("engine-quantize --force --mix %s %s iq4_xs", OTHER, OUT), 0);
    says("output.weight: q6_K\n");
    says("blk.5.attn_v.weight: q5_K\n");
    says("blk.0.ffn_down.weight: q5_K\n");
    eng_gguf *g = opened(OUT);
    int64_t number = 0;
    ck_assert_int_eq(eng_gguf_integer(g, "general.file_type", 0, &number), ENG_OK);
    ck_assert_int_eq(number, 30);
    eng_gguf_close(g);
    runs(run("engine-quantize --force %s %s IQ2_M", OTHER, OUT), 1);
    says("with so few bits as iq2_s has");
    runs(run("engine-quantize --force %s %s Q4_K_L", OTHER, OUT), 64);
    says("Q4_K_L is not made: a publisher's: Q4_K_M with -T");
    remove(OTHER);
    remove(OUT);
}
END_TEST

/* Doubles and small integers, which only files have, become what is asked for. */
START_TEST(plain_types)
{
    static double eight[64 * 64], vector[64];
    static int8_t one[64 * 64];
    static int16_t two[64 * 64];
    const int64_t ne[] = {64, 64};
    eng_gguf_writer *w;

    for (int i = 0; i < 64 * 64; i++) {
        eight[i] = (i % 97 - 48) / 64.0;
        one[i] = (int8_t)(i % 251 - 125);
        two[i] = (int16_t)(i * 7 - 9000);
    }
    for (int i = 0; i < 64; i++)
        vector[i] = i / 3.0;
    ck_assert_int_eq(eng_gguf_writer_create(&w), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_text(w, "general.architecture", "llama"), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_tensor(w, "d.weight", 28, ne, 2, eight), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_tensor(w, "n.weight", 28, ne, 1, vector), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_tensor(w, "b.weight", 24, ne, 2, one), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_tensor(w, "s.weight", 25, ne, 2, two), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_tensor(w, "t.table", 24, ne, 2, one), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_save(w, OUT), ENG_OK);
    eng_gguf_writer_destroy(w);
    runs(run("engine-quantize -e %s %s f32", OUT, OTHER), 0);
    says("b.weight: f32, error 0\n");
    eng_gguf *g = opened(OTHER);
    for (int i = 0; i < 64 * 64; i++) {
        ck_assert(((const float *)eng_gguf_tensor_find(g, "d.weight")->data)[i] == (float)eight[i]);
        ck_assert(((const float *)eng_gguf_tensor_find(g, "b.weight")->data)[i] == (float)one[i]);
        ck_assert(((const float *)eng_gguf_tensor_find(g, "s.weight")->data)[i] == (float)two[i]);
    }
    ck_assert(((const float *)eng_gguf_tensor_find(g, "n.weight")->data)[5] == (float)vector[5]);
    ck_assert_uint_eq(type_of(g, "t.table"), 24);
    eng_gguf_close(g);
    runs(run("engine-quantize -q --force %s %s q8_0", OUT, OTHER), 0);
    g = opened(OTHER);
    ck_assert_uint_eq(type_of(g, "d.weight"), ENG_TYPE_Q8_0);
    ck_assert_uint_eq(type_of(g, "n.weight"), ENG_TYPE_F32);
    eng_gguf_close(g);
    clean();
}
END_TEST

/* Numbers of heads whose quotient no machine has, and a matrix without columns for which there is importance. */
START_TEST(no_quotients)
{
    static const float one[64] = {1};
    const int64_t ne[] = {64, 1}, none[] = {0, 4}, sums[] = {0, 1}, counts[] = {1, 1};
    eng_gguf_writer *w;

    setenv("ENGINE_PLUGINS", "cpu", 1); /* an OpenCL that has a handler for such signals would hide it */
    ck_assert_int_eq(eng_gguf_writer_create(&w), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_text(w, "general.architecture", "llama"), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_integer(w, "llama.attention.head_count", ENG_GGUF_I64, INT64_MIN), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_integer(w, "llama.attention.head_count_kv", ENG_GGUF_I64, -1), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_tensor(w, "a.weight", ENG_TYPE_F32, ne, 2, one), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_save(w, OUT), ENG_OK);
    eng_gguf_writer_destroy(w);
    runs(run("engine-quantize --force %s %s q4_K_S", OUT, OTHER), 0);

    ck_assert_int_eq(eng_gguf_writer_create(&w), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_text(w, "general.architecture", "llama"), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_tensor(w, "a.weight", ENG_TYPE_F32, none, 2, one), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_save(w, OUT), ENG_OK);
    eng_gguf_writer_destroy(w);
    ck_assert_int_eq(eng_gguf_writer_create(&w), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_text(w, "general.type", "imatrix"), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_tensor(w, "a.weight.in_sum2", ENG_TYPE_F32, sums, 2, one), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_tensor(w, "a.weight.counts", ENG_TYPE_F32, counts, 2, one), ENG_OK);
    ck_assert_int_eq(eng_gguf_writer_save(w, OTHER), ENG_OK);
    eng_gguf_writer_destroy(w);
    ck_assert_int_ge(run("engine-quantize -i %s -T a=iq2_xxs %s none.gguf q4_K", OTHER, OUT), 0);
    unsetenv("ENGINE_PLUGINS");
    remove("none.gguf");
    clean();
}
END_TEST

void quantize_types(TCase *all)
{
    tcase_add_test(all, no_quotients);
    tcase_add_test(all, hashes_of_nothing);
    tcase_add_test(all, blocks);
    tcase_add_test(all, patterns);
    tcase_add_test(all, there_and_back);
    tcase_add_test(all, what_stays);
    tcase_add_test(all, fallbacks);
    tcase_add_test(all, mixes);
    tcase_add_test(all, plain_types);
}
