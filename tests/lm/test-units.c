/* Structs of other sizes, sizes of passes and the words for axes, without a device. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../libengine-lm/run/run.h"

/* -- structs of other sizes ----------------------------------------------------------- */

START_TEST(sizes)
{
    struct { eng_lm_sampler_params p; uint32_t more; } longer;
    eng_lm_sampler_params p, given = {.size = 12, .seed = 7, .temperature = 2, .top_k = 99};
    eng_lm_sampler_defaults(&p);
    ck_assert_int_eq(lm_take("test", &p, sizeof p, &given, 8), ENG_OK);
    ck_assert_uint_eq(p.size, sizeof p);
    ck_assert_uint_eq(p.seed, 7);
    ck_assert(p.temperature == 2);
    ck_assert_int_eq(p.top_k, 40); /* not in a struct of 12 bytes */
    given.size = 4;
    ck_assert_int_eq(lm_take("test", &p, sizeof p, &given, 8), ENG_ERR_INVALID);
    memset(&longer, 0xff, sizeof longer);
    longer.p.size = sizeof longer;
    ck_assert_int_eq(lm_give("test", &p, sizeof p, &longer, 8), ENG_OK);
    ck_assert_uint_eq(longer.p.size, sizeof p);
    ck_assert_int_eq(longer.p.top_k, 40);
    ck_assert_uint_eq(longer.more, 0);
    given.size = 12;
    ck_assert_int_eq(lm_give("test", &p, sizeof p, &given, 8), ENG_OK);
    ck_assert_int_eq(given.top_k, 99); /* beyond the 12 bytes: untouched */
}
END_TEST

/* -- sizes of passes ------------------------------------------------------------------------ */

START_TEST(test_pass_sizes)
{
    eng_lm_context c = {.p = {.n_batch = 100}};
    ck_assert_uint_eq(lm_pass_size(&c, 1), 1);
    ck_assert_uint_eq(lm_pass_size(&c, 3), 4);
    ck_assert_uint_eq(lm_pass_size(&c, 64), 64);
    ck_assert_uint_eq(lm_pass_size(&c, 65), 100);
}
END_TEST

/* -- words for axes ----------------------------------------------------------------------------- */

START_TEST(test_words)
{
    eng_context *engine;
    eng_context_params params = {.size = sizeof params, .flags = ENG_CONTEXT_NO_LOAD};
    ck_assert_int_eq(eng_context_create(&params, &engine), ENG_OK);
    lm_letter letters[] = {{'E', NULL, 10}, {'K', "k_head", 2}, {'R', NULL, 3}, {'S', NULL, 5}, {'G', NULL, 1}};
    eu_arena memory = {0};
    int64_t ne[ENG_MAX_RANK];
    uint32_t rank;
    const eng_dim *d;
    ck_assert_int_eq(lm_dims(engine, letters, 5, "E, K S | K G S | R K S 2, 7", &memory, ne, &rank, &d), ENG_OK);
    ck_assert_uint_eq(rank, 3);
    ck_assert_int_eq(ne[0], 10);
    ck_assert_int_eq(ne[1], 10 + 10 + 60);
    ck_assert_int_eq(ne[2], 7);
    ck_assert_int_eq(ne[3], 1);
    ck_assert_uint_eq(d[1].n_segments, 3);
    ck_assert_uint_eq(d[1].segments[1].n_factors, 2); /* G of extent 1 says nothing */
    ck_assert_uint_eq(d[1].segments[2].n_factors, 4);
    ck_assert_uint_eq(d[1].segments[2].factors[1].axis, eng_context_axis(engine, "k_head"));
    ck_assert_uint_eq(d[1].segments[2].factors[0].axis, ENG_AXIS_NONE);
    ck_assert_int_eq(lm_dims(engine, letters, 5, "E, x", &memory, ne, &rank, &d), ENG_ERR_INTERNAL);
    letters[3].extent = INT64_MAX / 2;
    ck_assert_int_eq(lm_dims(engine, letters, 5, "R S", &memory, ne, &rank, &d), ENG_ERR_FORMAT);
    eu_arena_end(&memory);
    ck_assert_int_eq(eng_context_destroy(engine), ENG_OK);
}
END_TEST

/* -- placement --------------------------------------------------------------------------------------- */

START_TEST(test_layers_to_devices)
{
    char leaves[3][64] = {"a", "b", "c"};
    double shares[3] = {0.5, 0.25, 0.25};
    uint64_t bytes[17]; /* embeddings and head as large as a layer */
    for (int i = 0; i < 17; i++)
        bytes[i] = 1000;
    eng_lm_model model = {.n.n_layers = 15, .layer_bytes = bytes};
    lm_placer p = {.model = &model, .split = ENG_LM_SPLIT_LAYER, .n_leaves = 3, .leaves = leaves, .shares = shares};
    int count[3] = {0};
    for (int layer = 0; layer < 15; layer++)
        count[lm_placer_device(&p, "blk", layer)[0] - 'a']++;
    ck_assert_int_eq(count[0], 7); /* and the embeddings */
    ck_assert_int_eq(count[1], 5);
    ck_assert_int_eq(count[2], 3); /* and the head */
    ck_assert_str_eq(lm_placer_device(&p, "token_embd.weight", LM_LAYER_TOP), "a");
    ck_assert_str_eq(lm_placer_device(&p, "output.weight", LM_LAYER_END), "c");
    bytes[16] = 30000; /* a head that is worth more than all the rest pushes it forward */
    ck_assert_str_eq(lm_placer_device(&p, "blk", 14), "a");
    ck_assert_str_eq(lm_placer_device(&p, "output.weight", LM_LAYER_END), "b");
    p.split = ENG_LM_SPLIT_TENSOR;
    ck_assert_ptr_null(lm_placer_device(&p, "x", 3));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("lm");
    TCase *t = tcase_create("units");
    tcase_add_test(t, sizes);
    tcase_add_test(t, test_pass_sizes);
    tcase_add_test(t, test_words);
    tcase_add_test(t, test_layers_to_devices);
    suite_add_tcase(s, t);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
