/* The bookkeeping of sequences and the words for axes, without a device. */
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

/* -- rows of snapshots -------------------------------------------------------------- */

#define SLOTS 4

/*
 * A model of the pools: what[row] is the length of the sequence whose state the
 * row holds (0: of the empty sequence).
 */
typedef struct pool {
    eng_lm_context c;
    lm_sequence s[2];
    int32_t history[2 * SLOTS], rows[SLOTS];
    int64_t what[2 * SLOTS];
    eng_lm_model m;
} pool;

static void pool_init(pool *p)
{
    memset(p, 0, sizeof *p);
    p->c.model = &p->m;
    p->m.n.recurrent = true;
    p->c.p.n_sequences = 2;
    p->c.p.n_snapshots = SLOTS;
    p->c.sequences = p->s;
    for (int i = 0; i < 2; i++) {
        p->s[i].history = p->history + i * SLOTS;
        p->s[i].history[0] = -1;
        p->s[i].n_history = 1;
    }
}

static void pool_check(const pool *p, int i)
{
    const lm_sequence *s = &p->s[i];
    ck_assert_uint_ge(s->n_history, 1);
    ck_assert_uint_le(s->n_history, SLOTS);
    for (uint32_t j = 0; j < s->n_history; j++) {
        int32_t row = s->history[j];
        ck_assert_int_eq(row < 0 ? 0 : p->what[row], s->length - j);
        ck_assert(row == -1 || row / SLOTS == i);
    }
}

/* As the ops do it: reads the row of the present state, writes those of the last tokens. */
static void pool_run(pool *p, int i, uint32_t n)
{
    lm_sequence *s = &p->s[i];
    int32_t src = s->history[0];
    lm_rows_choose(&p->c, (uint32_t)i, n, p->rows);
    ck_assert_int_eq(src < 0 ? 0 : p->what[src], s->length);
    uint32_t written = n < SLOTS ? n : SLOTS;
    for (uint32_t j = 0; j < written; j++) {
        for (uint32_t k = 0; k < j; k++)
            ck_assert_int_ne(p->rows[j], p->rows[k]);
        ck_assert_int_eq(p->rows[j] / SLOTS, i);
        p->what[p->rows[j]] = s->length + n - j;
    }
    lm_rows_commit(&p->c, (uint32_t)i, n, p->rows);
    pool_check(p, i);
}

START_TEST(test_rows)
{
    pool p;
    uint32_t random = 12345;
    pool_init(&p);
    for (int i = 0; i < 20000; i++) {
        random = random * 1664525u + 1013904223u;
        int which = (int)(random >> 30 & 1);
        lm_sequence *s = &p.s[which];
        int64_t limit = eng_lm_sequence_rollback_limit(&p.c, (uint32_t)which), back = random >> 20 & 7;
        ck_assert_int_eq(limit, (int64_t)s->n_history - 1);
        if ((random >> 28 & 3) && back) {
            int expected = back <= limit || back == s->length ? ENG_OK : ENG_ERR_STATE;
            if (back > s->length)
                expected = ENG_ERR_INVALID;
            ck_assert_int_eq(eng_lm_sequence_rollback(&p.c, (uint32_t)which, back), expected);
            pool_check(&p, which);
        } else {
            pool_run(&p, which, 1 + (random >> 16 & 7));
        }
    }
}
END_TEST

/* A sequence that is given as many tokens as there are snapshots, or fewer, keeps what it had. */
START_TEST(test_short_batches)
{
    pool p;
    pool_init(&p);
    pool_run(&p, 0, 10);
    ck_assert_int_eq(eng_lm_sequence_rollback_limit(&p.c, 0), SLOTS - 1);
    pool_run(&p, 0, 1);
    ck_assert_int_eq(eng_lm_sequence_rollback_limit(&p.c, 0), SLOTS - 1);
    ck_assert_int_eq(eng_lm_sequence_rollback(&p.c, 0, 3), ENG_OK);
    ck_assert_int_eq(eng_lm_sequence_rollback_limit(&p.c, 0), 0);
    ck_assert_int_eq(eng_lm_sequence_rollback(&p.c, 0, 1), ENG_ERR_STATE);
    pool_run(&p, 0, 2);
    ck_assert_int_eq(eng_lm_sequence_rollback_limit(&p.c, 0), 2);
    ck_assert_int_eq(p.s[0].length, 10);
}
END_TEST

/* -- cells ------------------------------------------------------------------------------- */

START_TEST(test_cells)
{
    eng_lm_context c = {.p = {.n_cells = 8}};
    int32_t pos[8], seq[8], cell;
    memset(pos, 0xff, sizeof pos);
    memset(seq, 0xff, sizeof seq);
    c.cell_pos = pos;
    c.cell_seq = seq;
    for (int i = 0; i < 6; i++) {
        ck_assert(lm_cells_take(&c, i % 2, i / 2, &cell));
        ck_assert_int_eq(cell, i);
    }
    ck_assert_uint_eq(c.cells_end, 6);
    ck_assert_uint_eq(c.dirty_begin, 0);
    ck_assert_uint_eq(c.dirty_end, 6);
    c.dirty_begin = c.dirty_end = 0;
    lm_cells_free(&c, 1, 2); /* the last one of sequence 1 */
    ck_assert_uint_eq(c.cells_end, 5);
    ck_assert_uint_eq(c.dirty_begin, 5);
    ck_assert_uint_eq(c.dirty_end, 6);
    lm_cells_free(&c, 0, 0);
    ck_assert_uint_eq(c.cells_used, 2);
    ck_assert_uint_eq(c.cells_end, 4);
    ck_assert(lm_cells_take(&c, 0, 0, &cell));
    ck_assert_int_eq(cell, 0); /* holes are filled */
    for (int i = 0; i < 5; i++)
        ck_assert(lm_cells_take(&c, 0, i + 1, &cell));
    ck_assert(!lm_cells_take(&c, 0, 6, &cell));
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
    tcase_add_test(t, test_rows);
    tcase_add_test(t, test_short_batches);
    tcase_add_test(t, test_cells);
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
