/* The trained model end to end on every kind of device. */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

#define OK(call) ck_assert_msg((call) == ENG_OK, "%s: %s", #call, eng_last_error())
#define MODEL "tiny-hybrid-f16.gguf"

static eng_lm_context_params params(uint32_t cells, uint32_t snapshots, uint32_t type_k, uint32_t type_v)
{
    eng_lm_context_params p;
    eng_lm_context_defaults(&p);
    p.n_cells = cells;
    p.n_snapshots = snapshots;
    p.type_k = type_k;
    p.type_v = type_v;
    return p;
}

START_TEST(test_greedy)
{
    bench b;
    reference_prompt prompts[MAX_PROMPTS];
    int n = reference_read(MODEL, prompts);
    ck_assert_int_eq(n, 3);
    bench_open(&b, bench_devices[_i], data_path(MODEL), NULL);
    for (int i = 0; i < n; i++) {
        const reference_prompt *p = &prompts[i];
        int32_t out[N_GREEDY];
        OK(eng_lm_sequence_remove(b.context, 0));
        const float *logits = bench_run(&b, p->ids, (uint32_t)p->n_ids);
        for (int k = 0; k < 5; k++)
            ck_assert_msg(fabs(logits[p->top[k]] - p->logits[k]) < 0.02, "%s, prompt %d: logit of %d is %g, not %g",
                          bench_devices[_i], i, p->top[k], logits[p->top[k]], p->logits[k]);
        bench_greedy(&b, p->ids, (uint32_t)p->n_ids, out, N_GREEDY);
        for (int k = 0; k < N_GREEDY; k++)
            ck_assert_msg(out[k] == p->greedy[k], "%s, prompt %d: token %d is %d, not %d", bench_devices[_i], i, k,
                          out[k], p->greedy[k]);
    }
    bench_close(&b);
}
END_TEST

/* The protocol: 16 chunks of 512 tokens, in f32 caches as the reference. */
START_TEST(test_cross_entropy)
{
    bench b;
    size_t length, n;
    int32_t *ids;
    char *text = read_file(data_path("valid.txt"), &length);
    ck_assert_ptr_nonnull(text);
    eng_lm_context_params p = params(512, 1, ENG_TYPE_F16, ENG_TYPE_F16);
    bench_open(&b, bench_devices[_i], data_path(MODEL), &p);
    OK(eng_lm_tokenize(b.model, text, length, 0, &ids, &n));
    eng_lm_perplexity_result r = {.size = sizeof r};
    OK(eng_lm_perplexity(b.context, ids, n, 512, 16, NULL, NULL, &r));
    ck_assert_uint_eq(r.tokens, 8176);
    double want = reference_number(MODEL, "validation.ce_nats_per_token");
    ck_assert_msg(fabs(r.cross_entropy - want) < 1e-4, "%s: cross entropy %.6f, not %.6f", bench_devices[_i],
                  r.cross_entropy, want);
    eng_lm_free(ids);
    free(text);
    bench_close(&b);
}
END_TEST

/* 256 steps from an empty cache: one plan, and the device compiles no other. */
START_TEST(test_one_plan)
{
    bench b;
    eng_lm_context_params p = params(300, 1, ENG_TYPE_F16, ENG_TYPE_F16);
    bench_open(&b, bench_devices[_i], data_path(MODEL), &p);
    uint64_t before = eng_device_plans_built(b.device);
    int32_t token = 65;
    for (int i = 0; i < 256; i++)
        token = largest(bench_run(&b, &token, 1), 1024);
    ck_assert_uint_eq(eng_device_plans_built(b.device) - before, 1);
    eng_lm_stats stats = {.size = sizeof stats};
    OK(eng_lm_context_get_stats(b.context, &stats));
    ck_assert_uint_eq(stats.plans, 1);
    ck_assert_uint_eq(stats.n_cells_used, 256);
    ck_assert_uint_eq(stats.tokens, 256);
    bench_close(&b);
}
END_TEST

/* -- rollback --------------------------------------------------------------------- */

#define N_TEXT 24
static const int32_t text_ids[N_TEXT] = {65, 84, 70, 25, 290, 13, 492, 69, 376, 260, 317, 82,
                                         84, 272, 92, 82, 60, 298, 317, 65, 84, 70, 92, 356};
static const int32_t other_ids[4] = {298, 278, 259, 265};

/* Runs the text cut into batches as `cuts` says (0 ends it). */
static void run_cut(bench *b, const int32_t *ids, uint32_t n, const uint32_t *cuts)
{
    for (uint32_t done = 0, i = 0; done < n;) {
        uint32_t part = cuts[i] && cuts[i] < n - done ? cuts[i] : n - done;
        bench_run(b, ids + done, part);
        done += part;
        i += cuts[i] != 0;
    }
}

START_TEST(test_rollback)
{
    static const uint32_t cuts[][8] = {{0}, {20, 1, 1, 1, 1, 0}, {18, 3, 2, 1, 0}, {19, 2, 3, 0}, {8, 8, 8, 0},
                                       {23, 1, 0}};
    bench b;
    uint32_t snapshots = 5;
    eng_lm_context_params p = params(64, snapshots, ENG_TYPE_F32, ENG_TYPE_F32);
    bench_open(&b, bench_devices[_i], data_path(MODEL), &p);
    float expected[5][4][1024];
    for (uint32_t j = 1; j < snapshots; j++) { /* what a fresh replay gives */
        OK(eng_lm_sequence_remove(b.context, 0));
        bench_run(&b, text_ids, N_TEXT - j);
        for (int k = 0; k < 4; k++) {
            const float *logits = bench_run(&b, &other_ids[k], 1);
            for (int v = 0; v < 1024; v++)
                expected[j][k][v] = logits[v];
        }
    }
    for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
        for (uint32_t j = 1; j < snapshots; j++) {
            OK(eng_lm_sequence_remove(b.context, 0));
            run_cut(&b, text_ids, N_TEXT, cuts[c]);
            ck_assert_int_eq(eng_lm_sequence_rollback_limit(b.context, 0), snapshots - 1);
            ck_assert_int_eq(eng_lm_sequence_rollback(b.context, 0, snapshots), ENG_ERR_STATE);
            ck_assert_int_eq(eng_lm_sequence_length(b.context, 0), N_TEXT);
            OK(eng_lm_sequence_rollback(b.context, 0, j));
            ck_assert_int_eq(eng_lm_sequence_length(b.context, 0), N_TEXT - j);
            ck_assert_int_eq(eng_lm_sequence_rollback_limit(b.context, 0), snapshots - 1 - j);
            for (int k = 0; k < 4; k++) {
                double d = difference(bench_run(&b, &other_ids[k], 1), expected[j][k], 1024);
                ck_assert_msg(d < 2e-3, "%s, cut %zu, %u back, token %d: logits differ by %g", bench_devices[_i], c,
                              j, k, d);
            }
        }
    }
    bench_close(&b);
}
END_TEST

/* Rolling back again and again, with few tokens between: old snapshots stay valid as long as they are near. */
START_TEST(test_rollback_chain)
{
    bench b;
    eng_lm_context_params p = params(64, 4, ENG_TYPE_F32, ENG_TYPE_F32);
    bench_open(&b, bench_devices[_i], data_path(MODEL), &p);
    int32_t ids[32];
    uint32_t n = 0;
    /* negative: back; positive: that many more as one batch */
    static const int steps[] = {3, -1, 1, -2, 6, -3, 1, 1, -2, 2, 1, -1, -2, 5, -3, 3, 1, 1, 0};
    for (int i = 0; steps[i]; i++) {
        if (steps[i] < 0) {
            OK(eng_lm_sequence_rollback(b.context, 0, -steps[i]));
            n -= (uint32_t)-steps[i];
            continue;
        }
        for (int k = 0; k < steps[i]; k++)
            ids[n + (uint32_t)k] = text_ids[(i * 5 + k) % N_TEXT];
        bench_run(&b, ids + n, (uint32_t)steps[i]);
        n += (uint32_t)steps[i];
    }
    float end[1024];
    const float *logits = bench_run(&b, &other_ids[0], 1);
    for (int v = 0; v < 1024; v++)
        end[v] = logits[v];
    OK(eng_lm_sequence_remove(b.context, 0));
    bench_run(&b, ids, n);
    double d = difference(bench_run(&b, &other_ids[0], 1), end, 1024);
    ck_assert_msg(d < 2e-3, "%s: logits differ by %g", bench_devices[_i], d);
    bench_close(&b);
}
END_TEST

/* -- sequences ----------------------------------------------------------------------- */

/* Three sequences mixed in one batch give what each gives alone; a copy goes on as its source. */
START_TEST(test_sequences)
{
    bench b;
    float alone[3][1024];
    eng_lm_context_params p = params(96, 2, ENG_TYPE_F32, ENG_TYPE_F32);
    bench_open(&b, bench_devices[_i], data_path(MODEL), &p);
    static const uint32_t lengths[3] = {5, 9, 3};
    for (int s = 0; s < 3; s++) {
        OK(eng_lm_sequence_remove(b.context, 0));
        const float *logits = bench_run(&b, text_ids + 2 * s, lengths[s]);
        for (int v = 0; v < 1024; v++)
            alone[s][v] = logits[v];
    }
    p.n_sequences = 4;
    bench_context(&b, &p);
    int32_t tokens[17], sequences[17];
    uint8_t wanted[17] = {0};
    uint32_t n = 0, last[3];
    for (uint32_t i = 0; i < 9; i++) {
        for (int s = 0; s < 3; s++) {
            if (i >= lengths[s])
                continue;
            tokens[n] = text_ids[2 * s + (int)i];
            sequences[n] = s == 0 ? 2 : s == 1 ? 0 : 3;
            wanted[n] = i + 1 == lengths[s];
            last[s] = n++;
        }
    }
    eng_lm_batch batch = {.size = sizeof batch, .n_tokens = n, .tokens = tokens, .sequences = sequences,
                          .logits = wanted};
    OK(eng_lm_decode(b.context, &batch));
    ck_assert_ptr_null(eng_lm_logits(b.context, 0));
    for (int s = 0; s < 3; s++) {
        double d = difference(eng_lm_logits(b.context, last[s]), alone[s], 1024);
        ck_assert_msg(d < 2e-3, "%s, sequence %d: logits differ by %g", bench_devices[_i], s, d);
    }
    OK(eng_lm_sequence_copy(b.context, 0, 1));
    ck_assert_int_eq(eng_lm_sequence_length(b.context, 1), 9);
    int32_t next[2] = {298, 298}, both[2] = {0, 1};
    uint8_t yes[2] = {1, 1};
    batch = (eng_lm_batch){.size = sizeof batch, .n_tokens = 2, .tokens = next, .sequences = both, .logits = yes};
    OK(eng_lm_decode(b.context, &batch));
    double d = difference(eng_lm_logits(b.context, 0), eng_lm_logits(b.context, 1), 1024);
    ck_assert_msg(d < 1e-3, "%s: the copy's logits differ by %g", bench_devices[_i], d);
    bench_close(&b);
}
END_TEST

/* -- types of K and V ------------------------------------------------------------------- */

START_TEST(test_cache_types)
{
    static const struct {
        uint32_t k, v;
        double most; /* that the cross entropy may grow: twice what the coarser type costs here */
    } pairs[] = {
        {ENG_TYPE_F16, ENG_TYPE_BF16, 0.003},   {ENG_TYPE_Q8_0, ENG_TYPE_Q8_0, 0.003},
        {ENG_TYPE_Q8_0, ENG_TYPE_Q4_0, 0.03},   {ENG_TYPE_Q4_0, ENG_TYPE_F16, 0.03},
        {ENG_TYPE_Q5_1, ENG_TYPE_Q5_0, 0.02},   {ENG_TYPE_IQ4_NL, ENG_TYPE_Q4_1, 0.03},
        {ENG_TYPE_BF16, ENG_TYPE_IQ4_NL, 0.03},
    };
    bench b;
    size_t length, n;
    int32_t *ids;
    char *text = read_file(data_path("valid.txt"), &length);
    ck_assert_ptr_nonnull(text);
    eng_lm_context_params p = params(256, 1, ENG_TYPE_F32, ENG_TYPE_F32);
    bench_open(&b, bench_devices[_i], data_path(MODEL), &p);
    OK(eng_lm_tokenize(b.model, text, length, 0, &ids, &n));
    eng_lm_perplexity_result exact = {.size = sizeof exact}, r = {.size = sizeof r};
    OK(eng_lm_perplexity(b.context, ids, n, 256, 1, NULL, NULL, &exact));
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        p = params(256, 1, pairs[i].k, pairs[i].v);
        bench_context(&b, &p);
        OK(eng_lm_perplexity(b.context, ids, n, 256, 1, NULL, NULL, &r));
        ck_assert_msg(fabs(r.cross_entropy - exact.cross_entropy) < pairs[i].most, "%s, K %s, V %s: %.5f, with f32 "
                      "%.5f", bench_devices[_i], eng_type_get(pairs[i].k)->name, eng_type_get(pairs[i].v)->name,
                      r.cross_entropy, exact.cross_entropy);
    }
    eng_lm_free(ids);
    free(text);
    bench_close(&b);
}
END_TEST

/* -- guests and layers ------------------------------------------------------------------- */

#ifdef HAVE_META
/* The same text wherever caches, weights and layers lie. */
START_TEST(test_placements)
{
    static const eng_lm_override caches[] = {{"^cache_[kv]\\.", "cpu"}};
    static const eng_lm_override weights[] = {{"blk\\.[12]\\.ffn_(up|down)", "cpu"}, {"^state\\.1$", "cpu"},
                                              {"output", "cpu"}};
    static const struct {
        const char *device;
        uint32_t split;
        const eng_lm_override *overrides;
        uint32_t n;
    } cases[] = {
        {"cpu@1", ENG_LM_SPLIT_TENSOR, NULL, 0},
        {"cpu/2", ENG_LM_SPLIT_TENSOR, caches, 1},
        {"cpu/2", ENG_LM_SPLIT_TENSOR, weights, 3},
        {"cpu/3", ENG_LM_SPLIT_LAYER, NULL, 0},
        {"cpu/2@1:3", ENG_LM_SPLIT_LAYER, caches, 1},
#ifdef HAVE_OPENCL
        {"opencl:0@1", ENG_LM_SPLIT_TENSOR, caches, 1},
        {"opencl:0/2", ENG_LM_SPLIT_TENSOR, weights, 3},
        {"cpu+opencl:0@1:1", ENG_LM_SPLIT_LAYER, NULL, 0},
#endif
    };
    reference_prompt prompts[MAX_PROMPTS];
    ck_assert_int_ge(reference_read(MODEL, prompts), 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bench b = {0};
        int32_t out[N_GREEDY];
        eng_lm_model_params m;
        eng_lm_model_defaults(&m);
        m.placement.split = cases[i].split;
        m.placement.overrides = cases[i].overrides;
        m.placement.n_overrides = cases[i].n;
        eng_lm_context_params p = params(64, 2, ENG_TYPE_Q8_0, ENG_TYPE_F16);
        p.placement = m.placement;
        OK(eng_context_create(NULL, &b.engine));
        OK(eng_device_open(b.engine, cases[i].device, &b.device));
        OK(eng_lm_model_open(b.engine, b.device, data_path(MODEL), &m, &b.model));
        bench_context(&b, &p);
        bench_greedy(&b, prompts[0].ids, (uint32_t)prompts[0].n_ids, out, N_GREEDY);
        for (int k = 0; k < N_GREEDY; k++)
            ck_assert_msg(out[k] == prompts[0].greedy[k], "case %zu (%s): token %d is %d, not %d", i, cases[i].device,
                          k, out[k], prompts[0].greedy[k]);
        bench_close(&b);
    }
}
END_TEST

/* Sharded means sharded: each device holds its share of the weights and caches, and what is listed as replicated. */
START_TEST(test_shares)
{
    bench b;
    eng_lm_context_params p = params(512, 1, ENG_TYPE_F16, ENG_TYPE_F16);
    bench_open(&b, "cpu/2", data_path(MODEL), &p);
    eng_lm_model_info info = {.size = sizeof info};
    eng_lm_stats stats = {.size = sizeof stats};
    OK(eng_lm_model_get_info(b.model, &info));
    eng_lm_context_params least = {.size = 2 * sizeof(uint32_t)}; /* the shortest struct that a host may have */
    OK(eng_lm_context_get_params(b.context, &least));
    OK(eng_lm_context_get_stats(b.context, &stats));
    for (uint32_t i = 0; i < 2; i++) {
        eng_device_info leaf = {.size = sizeof leaf};
        eng_device_stats s = {.size = sizeof s};
        OK(eng_device_leaf(b.device, i, &leaf, &s));
        ck_assert_double_eq_tol(s.share, 0.5, 1e-9);
        ck_assert_double_le((double)(s.bytes_weights - s.bytes_replicated), 1.05 * 0.5 * (double)info.weight_bytes);
        ck_assert_double_le((double)s.bytes_cache, 1.05 * 0.5 * (double)stats.cache_bytes);
        ck_assert_double_le((double)s.bytes_state, 1.05 * 0.5 * (double)stats.state_bytes);
    }
    bench_close(&b);
}
END_TEST
#endif

/* -- what is refused ------------------------------------------------------------------------ */

START_TEST(test_refusals)
{
    bench b;
    eng_lm_context_params p = params(16, 1, ENG_TYPE_F16, ENG_TYPE_F16);
    bench_open(&b, "cpu", data_path(MODEL), &p);
    eng_lm_batch batch = {.size = sizeof batch, .n_tokens = 17, .tokens = text_ids};
    ck_assert_int_eq(eng_lm_decode(b.context, &batch), ENG_ERR_STATE);
    ck_assert_int_eq(eng_lm_sequence_length(b.context, 0), 0);
    int32_t wrong[] = {5, 1024};
    batch = (eng_lm_batch){.size = sizeof batch, .n_tokens = 2, .tokens = wrong};
    ck_assert_int_eq(eng_lm_decode(b.context, &batch), ENG_ERR_INVALID);
    bench_run(&b, text_ids, 10);
    ck_assert_int_eq(eng_lm_sequence_rollback(b.context, 0, 1), ENG_ERR_STATE);
    ck_assert_int_eq(eng_lm_sequence_rollback(b.context, 0, 11), ENG_ERR_INVALID);
    OK(eng_lm_sequence_rollback(b.context, 0, 10)); /* all of it is always possible */
    ck_assert_int_eq(eng_lm_sequence_length(b.context, 0), 0);
    eng_lm_context *c = NULL;
    p.type_k = ENG_TYPE_Q4_K;
    ck_assert_int_eq(eng_lm_context_create(b.model, &p, &c), ENG_ERR_INVALID);
    p = params(16, 0, ENG_TYPE_F16, ENG_TYPE_F16);
    ck_assert_int_eq(eng_lm_context_create(b.model, &p, &c), ENG_ERR_INVALID);
    p = params(16, 1, ENG_TYPE_Q8_0, ENG_TYPE_F16);
    p.rotate_k = 48;
    ck_assert_int_eq(eng_lm_context_create(b.model, &p, &c), ENG_ERR_INVALID);
    ck_assert_ptr_null(c);
    bench_close(&b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("model");
    TCase *t = tcase_create("devices");
    tcase_set_timeout(t, 600);
    tcase_add_loop_test(t, test_greedy, 0, bench_n_devices);
    tcase_add_loop_test(t, test_one_plan, 0, bench_n_devices);
    tcase_add_loop_test(t, test_rollback, 0, bench_n_devices);
    tcase_add_loop_test(t, test_rollback_chain, 0, bench_n_devices);
    tcase_add_loop_test(t, test_sequences, 0, bench_n_devices);
    tcase_add_loop_test(t, test_cache_types, 0, bench_n_devices);
    tcase_add_loop_test(t, test_cross_entropy, 0, bench_n_devices);
#ifdef HAVE_META
    tcase_add_test(t, test_placements);
    tcase_add_test(t, test_shares);
#endif
    tcase_add_test(t, test_refusals);
    suite_add_tcase(s, t);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
