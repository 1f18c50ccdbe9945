/*
 * Random models of odd shapes: on one device and split they must agree with the
 * plain forward in double precision.
 */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../reference/model.h"
#include "bench.h"

#define OK(call) ck_assert_msg((call) == ENG_OK, "%s: %s", #call, eng_last_error())
#define N_TOKENS 13
#define N_STEPS 3

/* Options of make-model: what the devices are to trip over. */
static const char *const models[] = {
    "--seed 1 --heads 16 --kv-heads 8 --head 32 --embd 96",                       /* 8 heads of K and V over 3 ranks */
    "--seed 2 --heads 5 --kv-heads 1 --head 48 --k-heads 1 --v-heads 3",           /* one head of K and V             */
    "--seed 3 --heads 6 --kv-heads 3 --head 80 --state 80 --rope 20",              /* head size 80                    */
    "--seed 4 --k-heads 10 --v-heads 40 --state 16 --conv 3",                      /* value heads shared 1:4          */
    "--seed 5 --vocab 509 --ffn 331 --embd 100 --interval 2 --mtp 1",              /* nothing divides                 */
    "--seed 6 --tied --layers 5 --interval 3 --state 24 --conv 7",                 /* one matrix for both ends        */
    "--seed 7 --type q4_0 --embd 256 --ffn 416 --heads 8 --kv-heads 4 --head 32",  /* blocks of 32                    */
    "--seed 8 --type q4_K --embd 256 --ffn 768 --head 64 --state 64",             /* blocks of 256                   */
    "--seed 9 --type q8_0 --embd 160 --ffn 352 --kv-heads 4 --heads 4 --k-heads 3 --v-heads 6",
    "--seed 10 --type bf16 --vocab 771 --ffn 97 --heads 9 --kv-heads 3",
};
#define N_MODELS ((int)(sizeof models / sizeof *models))

static const char *const splits[] = {
    "cpu",
#ifdef HAVE_META
    "cpu/2", "cpu/3", "cpu/2@3:1",
#endif
#ifdef HAVE_OPENCL
    "opencl:0",
#ifdef HAVE_META
    "opencl:0/3", "cpu+opencl:0@1:2",
#endif
#endif
};

static char path[256];

static void make(const char *options)
{
    char command[1024];
    const char *build = getenv("top_builddir");
    snprintf(path, sizeof path, "%s/tests/lm/odd-%ld.gguf", build ? build : ".", (long)getpid());
    snprintf(command, sizeof command, "%s/tests/tools/make-model %s '%s' >/dev/null", build ? build : ".", options,
             path);
    ck_assert_msg(system(command) == 0, "failed: %s", command);
}

/* Logits of the last prompt token and of the steps after it. */
static void in_double(const int32_t *ids, double *logits, int64_t n_vocab)
{
    char error[256];
    ref_model *m = ref_model_open(path, error, sizeof error);
    ck_assert_msg(m != NULL, "%s", error);
    ck_assert_int_eq(ref_model_vocab(m), n_vocab);
    ref_sequence *s = ref_sequence_create(m);
    ck_assert_ptr_nonnull(s);
    for (int i = 0; i < N_TOKENS + N_STEPS; i++)
        ck_assert(ref_sequence_step(s, ids[i], i + 1 < N_TOKENS ? NULL : logits + (i + 1 - N_TOKENS) * n_vocab));
    ref_sequence_destroy(s);
    ref_model_close(m);
}

static double worst(const float *got, const double *want, int64_t n)
{
    double most = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = fabs(got[i] - want[i]);
        most = d > most || isnan(d) ? d : most;
        size += want[i] * want[i];
    }
    return most / sqrt(size / (double)n + 1e-30);
}

START_TEST(test_odd)
{
    make(models[_i]);
    int32_t ids[N_TOKENS + N_STEPS];
    double *want = NULL;
    for (size_t k = 0; k < sizeof splits / sizeof *splits; k++) {
        bench b;
        eng_lm_context_params p;
        eng_lm_context_defaults(&p);
        p.n_cells = 48;
        p.type_k = p.type_v = ENG_TYPE_F32;
        bench_open(&b, splits[k], path, &p);
        eng_lm_model_info info = {.size = sizeof info};
        OK(eng_lm_model_get_info(b.model, &info));
        if (!want) {
            want = malloc((N_STEPS + 1) * info.n_vocab * sizeof *want);
            ck_assert_ptr_nonnull(want);
            for (int i = 0; i < N_TOKENS + N_STEPS; i++)
                ids[i] = (int32_t)(((uint32_t)i * 2654435761u >> 7) % info.n_vocab);
            in_double(ids, want, info.n_vocab);
        }
        for (int i = 0; i <= N_STEPS; i++) {
            const float *got = i ? bench_run(&b, &ids[N_TOKENS + i - 1], 1) : bench_run(&b, ids, N_TOKENS);
            double d = worst(got, want + i * (int64_t)info.n_vocab, info.n_vocab);
            ck_assert_msg(d < 1e-3, "model \"%s\" on %s, step %d: off by %g of the logits' size", models[_i],
                          splits[k], i, d);
        }
        bench_close(&b);
    }
    free(want);
    remove(path);
}
END_TEST

/* The oracle itself against the trained model's reference. */
START_TEST(test_double_forward)
{
    char error[256];
    reference_prompt prompts[MAX_PROMPTS];
    int n = reference_read("tiny-hybrid-f16.gguf", prompts);
    ref_model *m = ref_model_open(data_path("tiny-hybrid-f16.gguf"), error, sizeof error);
    ck_assert_msg(m != NULL, "%s", error);
    double *logits = malloc((size_t)ref_model_vocab(m) * sizeof *logits);
    ck_assert_ptr_nonnull(logits);
    for (int i = 0; i < n; i++) {
        ref_sequence *s = ref_sequence_create(m);
        for (int k = 0; k < prompts[i].n_ids; k++)
            ck_assert(ref_sequence_step(s, prompts[i].ids[k], logits));
        for (int k = 0; k < 5; k++)
            ck_assert_double_eq_tol(logits[prompts[i].top[k]], prompts[i].logits[k], 1e-6);
        for (int k = 0; k < N_GREEDY; k++) {
            int32_t best = 0;
            for (int32_t v = 1; v < ref_model_vocab(m); v++)
                best = logits[v] > logits[best] ? v : best;
            ck_assert_int_eq(best, prompts[i].greedy[k]);
            ck_assert(ref_sequence_step(s, best, logits));
        }
        ref_sequence_destroy(s);
    }
    free(logits);
    ref_model_close(m);
}
END_TEST

/* Heads that are no whole blocks: the logits are those of f32 caches but for the rounding of q8_0, and for far less
 * where rows are only longer. */
static const char *const ragged[] = {
    "--seed 3 --heads 6 --kv-heads 3 --head 80 --state 80 --rope 20",
    "--seed 11 --arch llama --heads 4 --kv-heads 2 --head 112 --embd 96 --layers 2",
    "--seed 12 --arch llama --heads 4 --kv-heads 4 --head 24 --embd 96 --layers 2",
};
#define N_RAGGED ((int)(sizeof ragged / sizeof *ragged))

START_TEST(test_ragged_heads)
{
    static const uint32_t pairs[][2] = {{ENG_TYPE_Q8_0, ENG_TYPE_F32},
                                        {ENG_TYPE_F32, ENG_TYPE_Q8_0},
                                        {ENG_TYPE_Q8_0, ENG_TYPE_Q8_0}};
    float *want = NULL;
    make(ragged[_i]);
    for (size_t k = 0; k < sizeof splits / sizeof *splits; k++) {
        for (int pair = -1; pair < 6; pair++) {
            bench b;
            int32_t ids[N_TOKENS];
            eng_lm_context_params p;
            eng_lm_context_defaults(&p);
            p.n_cells = 48;
            p.type_k = pair < 0 ? ENG_TYPE_F32 : pairs[pair % 3][0];
            p.type_v = pair < 0 ? ENG_TYPE_F32 : pairs[pair % 3][1];
            p.rotate_k = p.rotate_v = pair < 3 ? ENG_LM_ROTATE_AUTO : 0;
            if (pair < 0 && want)
                continue;
            bench_open(&b, splits[k], path, &p);
            eng_lm_model_info info = {.size = sizeof info};
            OK(eng_lm_model_get_info(b.model, &info));
            for (int i = 0; i < N_TOKENS; i++)
                ids[i] = (int32_t)(((uint32_t)i * 2654435761u >> 7) % info.n_vocab);
            const float *got = bench_run(&b, ids, N_TOKENS);
            double *as_double = malloc(info.n_vocab * sizeof *as_double);
            ck_assert_ptr_nonnull(as_double);
            if (!want) {
                want = malloc(info.n_vocab * sizeof *want);
                ck_assert_ptr_nonnull(want);
                memcpy(want, got, info.n_vocab * sizeof *want);
            }
            for (uint32_t i = 0; i < info.n_vocab; i++)
                as_double[i] = want[i];
            double d = worst(got, as_double, info.n_vocab);
            ck_assert_msg(d < 0.1, "model \"%s\" on %s, pair %d: off by %g of the logits' size", ragged[_i], splits[k],
                          pair, d);
            free(as_double);
            bench_close(&b);
        }
    }
    free(want);
    remove(path);
}
END_TEST

/* A file whose tokenizer is not known opens for tokens; who needs text is told before anything goes up. */
START_TEST(test_unknown_tokenizer)
{
    bench b;
    eng_lm_model *m = NULL;
    eng_lm_model_params p;
    size_t n;
    make(ragged[1]);
    char *bytes = read_file(path, &n), *name = memmem(bytes, n, "llama-bpe", 9);
    ck_assert_ptr_nonnull(name);
    memcpy(name, "llamb-epp", 9);
    FILE *f = fopen(path, "wb");
    ck_assert(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
    free(bytes);
    bench_open(&b, "cpu", path, NULL);
    eng_lm_model_info info = {.size = sizeof info};
    OK(eng_lm_model_get_info(b.model, &info));
    ck_assert_uint_eq(info.text, 0);
    eng_lm_model_defaults(&p);
    p.needs_text = 1;
    OK(eng_context_set_option(b.engine, "cpu.memory", "1000")); /* that would be met first */
    ck_assert_int_eq(eng_lm_model_open(b.engine, b.device, path, &p, &m), ENG_ERR_UNSUPPORTED);
    ck_assert_msg(strstr(eng_last_error(), "pre-tokenizer \"llamb-epp\" is not known: known are gpt-2, llama-bpe,") &&
                  strstr(eng_last_error(), ", qwen2 and 86 others"), "%s", eng_last_error());
    bench_close(&b);
    remove(path);
}
END_TEST

/* A type that no device computes with has a name all the same. */
START_TEST(test_foreign_type)
{
    static const char name[] = "blk.0.ffn_up.weight";
    bench b;
    eng_lm_model *m = NULL;
    eng_lm_model_params p;
    size_t n;
    uint32_t rank, type = 15;
    make("--arch llama --seed 3 --layers 1 --embd 256");
    char *bytes = read_file(path, &n), *at = memmem(bytes, n, name, sizeof name - 1);
    ck_assert_ptr_nonnull(at);
    memcpy(&rank, at += sizeof name - 1, sizeof rank);
    ck_assert_uint_eq(rank, 2);
    memcpy(at + sizeof rank + rank * sizeof(uint64_t), &type, sizeof type);
    bench_open(&b, "cpu", path, NULL);
    remove(path); /* the model of the bench is mapped */
    FILE *f = fopen(path, "wb");
    ck_assert(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
    free(bytes);
    eng_lm_model_defaults(&p);
    ck_assert_int_eq(eng_lm_model_open(b.engine, b.device, path, &p, &m), ENG_ERR_UNSUPPORTED);
    ck_assert_msg(strstr(eng_last_error(),
                         "tensor blk.0.ffn_up.weight: its type is 15 (q8_K), which a weight cannot have"),
                  "%s", eng_last_error());
    bench_close(&b);
    remove(path);
}
END_TEST

/* A context that the device has no room for is refused before the host's memory is filled for it. */
START_TEST(test_too_many_cells)
{
    bench b;
    eng_lm_context *c = NULL;
    eng_lm_context_params p;
    struct rusage before, after;
    make(ragged[1]);
    bench_open(&b, "cpu", path, NULL);
    eng_lm_context_defaults(&p);
    p.n_cells = 1 << 28;
    p.n_sequences = 1;
    OK(eng_context_set_option(b.engine, "cpu.memory", "100000000"));
    getrusage(RUSAGE_SELF, &before);
    ck_assert_int_eq(eng_lm_context_create(b.model, &p, &c), ENG_ERR_NOMEM);
    getrusage(RUSAGE_SELF, &after);
    ck_assert_msg(strstr(eng_last_error(), "ask for fewer cells"), "%s", eng_last_error());
    ck_assert_msg(after.ru_maxrss - before.ru_maxrss < 65536, "%ld KiB were filled",
                  after.ru_maxrss - before.ru_maxrss);
    bench_close(&b);
    remove(path);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("odd");
    TCase *t = tcase_create("models");
    tcase_set_timeout(t, 600);
    tcase_add_test(t, test_double_forward);
    tcase_add_loop_test(t, test_odd, 0, N_MODELS);
    tcase_add_test(t, test_unknown_tokenizer);
    tcase_add_test(t, test_foreign_type);
    tcase_add_test(t, test_too_many_cells);
    tcase_add_loop_test(t, test_ragged_heads, 0, N_RAGGED);
    suite_add_tcase(s, t);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
