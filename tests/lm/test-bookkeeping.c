/*
 * The bookkeeping of sequences, without a device: whatever is run, shared,
 * taken back and removed, a sequence sees the cells of its own tokens and no
 * others, and its rows hold the states behind them.
 */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../libengine-lm/run/run.h"

#define SEQUENCES 7
#define SLOTS 4
#define CELLS 96

/* ck_assert tells its parent of every assertion. */
#define CHECK(what)                                                                                                    \
    do                                                                                                                 \
        if (!(what))                                                                                                   \
            ck_abort_msg("not so: %s", #what);                                                                         \
    while (0)

/* Each token that is run gets a number of its own, which stands for it and all that is before it. */
typedef struct rig {
    eng_lm_model m;
    eng_lm_context c;
    lm_sequence s[SEQUENCES];
    int32_t cell_pos[CELLS], cell_first[CELLS], cell_last[CELLS], cell_token[CELLS];
    uint32_t cell_holders[CELLS];
    int32_t token[SEQUENCES][CELLS];
    int32_t row_token[SEQUENCES * SLOTS];
    int32_t tokens, passes, parted_passes;
    uint32_t random;
} rig;

static uint32_t below(rig *r, uint32_t n)
{
    r->random = r->random * 1664525u + 1013904223u;
    return (r->random >> 8) % n;
}

static rig *rig_create(uint32_t seed)
{
    rig *r = calloc(1, sizeof *r);
    r->random = seed;
    r->c.model = &r->m;
    r->m.n.recurrent = true;
    r->c.p = (eng_lm_context_params){.n_cells = CELLS, .n_sequences = SEQUENCES, .n_snapshots = SLOTS};
    r->c.sequences = r->s;
    r->c.cell_pos = r->cell_pos;
    r->c.cell_first = r->cell_first;
    r->c.cell_last = r->cell_last;
    r->c.cell_holders = r->cell_holders;
    memset(r->cell_pos, 0xff, sizeof r->cell_pos);
    memset(r->cell_first, 0xff, sizeof r->cell_first);
    memset(r->cell_last, 0xff, sizeof r->cell_last);
    for (int i = 0; i < SEQUENCES; i++)
        r->s[i].rank = i;
    ck_assert_int_eq(lm_rows_create(&r->c.rows, SEQUENCES, SLOTS), ENG_OK);
    return r;
}

static void rig_destroy(rig *r)
{
    for (int i = 0; i < SEQUENCES; i++)
        free(r->s[i].cells), free(r->s[i].tokens);
    lm_rows_destroy(&r->c.rows);
    free(r);
}

static void check_cells(const rig *r)
{
    uint32_t used = 0;
    bool rank[SEQUENCES] = {false};
    for (int i = 0; i < SEQUENCES; i++) {
        CHECK(r->s[i].rank >= 0 && r->s[i].rank < SEQUENCES && !rank[r->s[i].rank]);
        rank[r->s[i].rank] = true;
        CHECK(r->s[i].n_cells == r->s[i].length);
    }
    uint32_t holds[CELLS] = {0}; /* bit i: sequence i does                          */
    for (int i = 0; i < SEQUENCES; i++)
        for (uint32_t k = 0; k < r->s[i].n_cells; k++) {
            int32_t cell = r->s[i].cells[k];
            holds[cell] |= 1u << i;
            if (r->cell_token[cell] != r->token[i][k] || r->cell_pos[cell] != (int32_t)k)
                ck_abort_msg("sequence %d: cell %d of token %u holds another", i, cell, k);
        }
    for (int32_t cell = 0; cell < CELLS; cell++) {
        uint32_t seen = 0;
        for (int i = 0; i < SEQUENCES; i++)
            seen |= (uint32_t)(r->cell_first[cell] <= r->s[i].rank && r->s[i].rank <= r->cell_last[cell]) << i;
        CHECK(seen == holds[cell]);
        CHECK(__builtin_popcount(seen) == r->cell_holders[cell]);
        CHECK(seen == 0 || cell < (int32_t)r->c.cells_end);
        used += seen != 0;
    }
    CHECK(used == r->c.cells_used);
}

static void check_rows(const rig *r)
{
    const lm_rows *rows = &r->c.rows;
    uint32_t holders[SEQUENCES * SLOTS] = {0}, n_free = 0;
    for (int i = 0; i < SEQUENCES; i++) {
        const int32_t *history = lm_rows_history(rows, (uint32_t)i);
        CHECK(rows->n_history[i] >= 1 && rows->n_history[i] <= SLOTS);
        for (uint32_t j = 0; j < rows->n_history[i]; j++) {
            int64_t length = r->s[i].length - j;
            CHECK((history[j] < 0 ? 0 : r->row_token[history[j]]) == (length == 0 ? 0 : r->token[i][length - 1]));
            if (history[j] >= 0)
                holders[history[j]]++;
        }
    }
    for (int row = 0; row < SEQUENCES * SLOTS; row++) {
        CHECK(holders[row] == rows->holders[row]);
        n_free += holders[row] == 0;
    }
    CHECK(n_free == rows->n_free);
}

/* One pass as ops do it: all present states are read, then those of the last tokens written.  n[i]: tokens of each. */
static void pass(rig *r, const uint32_t n[SEQUENCES])
{
    int32_t rows[SEQUENCES][SLOTS], cell;
    bool runs[SEQUENCES] = {false}, first = true;
    int32_t writer[SEQUENCES * SLOTS];
    memset(writer, 0xff, sizeof writer);
    for (uint32_t i = 0; i < SEQUENCES; i++) {
        if (n[i] == 0)
            continue;
        runs[i] = lm_rows_choose(&r->c.rows, i, n[i], rows[i]);
        ck_assert_msg(runs[i] || !first, "a sequence alone finds its rows");
        first = false;
        for (uint32_t j = 0; runs[i] && j < n[i] && j < SLOTS; j++) {
            CHECK(writer[rows[i][j]] == -1);
            writer[rows[i][j]] = (int32_t)i;
        }
    }
    for (uint32_t i = 0; i < SEQUENCES; i++) {
        const int32_t *history = lm_rows_history(&r->c.rows, i);
        uint32_t kept = !runs[i] ? SLOTS : n[i] < SLOTS ? SLOTS - n[i] : 0;
        for (uint32_t j = 0; j < r->c.rows.n_history[i]; j++) /* what is kept, and what others read, nobody writes */
            CHECK(history[j] < 0 || writer[history[j]] < 0 || (j >= kept && writer[history[j]] == (int32_t)i));
    }
    for (uint32_t i = 0; i < SEQUENCES; i++) {
        if (!runs[i])
            continue;
        CHECK(lm_sequence_reserve(&r->s[i], (size_t)r->s[i].length + n[i]));
        for (uint32_t k = 0; k < n[i]; k++) {
            CHECK(lm_cells_take(&r->c, i, r->s[i].length + k, &cell));
            r->cell_token[cell] = r->token[i][r->s[i].length + k] = ++r->tokens;
        }
        for (uint32_t j = 0; j < n[i] && j < SLOTS; j++)
            r->row_token[rows[i][j]] = r->token[i][r->s[i].length + n[i] - 1 - j];
        lm_rows_commit(&r->c.rows, i, n[i], rows[i]);
        r->s[i].length += n[i];
    }
    uint32_t left[SEQUENCES], any = 0;
    for (uint32_t i = 0; i < SEQUENCES; i++)
        any += left[i] = runs[i] ? 0 : n[i];
    r->passes++;
    if (any) { /* as decode does */
        r->parted_passes++;
        pass(r, left);
    }
}

static void run_some(rig *r)
{
    uint32_t n[SEQUENCES] = {0}, room = CELLS - r->c.cells_used, most = below(r, 3) ? 1 : 7;
    for (uint32_t i = 0; i < SEQUENCES; i++) {
        n[i] = below(r, 2) ? 1 + below(r, most) : 0;
        if (n[i] > room || r->s[i].length + n[i] > CELLS)
            n[i] = 0;
        room -= n[i];
    }
    pass(r, n);
}

static void take_back(rig *r, uint32_t i, int64_t n)
{
    int64_t limit = eng_lm_sequence_rollback_limit(&r->c, i), length = r->s[i].length;
    int expected = n > length ? ENG_ERR_INVALID : n <= limit || n == length ? ENG_OK : ENG_ERR_STATE;
    ck_assert_int_eq(eng_lm_sequence_rollback(&r->c, i, n), expected);
    ck_assert_int_eq(r->s[i].length, expected == ENG_OK ? length - n : length);
}

START_TEST(traffic)
{
    rig *r = rig_create((uint32_t)_i + 1);
    for (int step = 0; step < 2000; step++) {
        uint32_t i = below(r, SEQUENCES), j = below(r, SEQUENCES);
        switch (below(r, 8)) {
        case 0:
            ck_assert_int_eq(eng_lm_sequence_copy(&r->c, i, j), ENG_OK);
            memcpy(r->token[j], r->token[i], sizeof r->token[i]);
            break;
        case 1:
            take_back(r, i, below(r, 6));
            break;
        case 2:
            if (below(r, 3) == 0 || r->c.cells_used > CELLS * 3 / 4)
                ck_assert_int_eq(eng_lm_sequence_remove(&r->c, i), ENG_OK);
            break;
        default:
            run_some(r);
        }
        check_cells(r);
        check_rows(r);
    }
    ck_assert_int_gt(r->passes, 500);
    ck_assert_int_gt(r->parted_passes, 0);
    rig_destroy(r);
}
END_TEST

/* A sequence that is given fewer tokens than there are snapshots keeps what it had. */
START_TEST(short_batches)
{
    rig *r = rig_create(1);
    pass(r, (uint32_t[SEQUENCES]){10});
    ck_assert_int_eq(eng_lm_sequence_rollback_limit(&r->c, 0), SLOTS - 1);
    pass(r, (uint32_t[SEQUENCES]){1});
    ck_assert_int_eq(eng_lm_sequence_rollback_limit(&r->c, 0), SLOTS - 1);
    take_back(r, 0, 3);
    ck_assert_int_eq(eng_lm_sequence_rollback_limit(&r->c, 0), 0);
    take_back(r, 0, 1);
    pass(r, (uint32_t[SEQUENCES]){2});
    ck_assert_int_eq(eng_lm_sequence_rollback_limit(&r->c, 0), 2);
    ck_assert_int_eq(r->s[0].length, 10);
    rig_destroy(r);
}
END_TEST

/* Sequences that begin alike hold those cells and rows together, and give them back when the last of them goes. */
START_TEST(forks)
{
    rig *r = rig_create(1);
    pass(r, (uint32_t[SEQUENCES]){20});
    for (uint32_t i = 1; i < SEQUENCES; i++)
        ck_assert_int_eq(eng_lm_sequence_copy(&r->c, 0, i), ENG_OK);
    ck_assert_uint_eq(r->c.cells_used, 20);
    ck_assert_uint_eq(r->c.rows.n_free, (SEQUENCES - 1) * SLOTS);
    pass(r, (uint32_t[SEQUENCES]){SLOTS, SLOTS, SLOTS, SLOTS, SLOTS, SLOTS, SLOTS}); /* they part: one has to wait */
    ck_assert_int_eq(r->parted_passes, 1);
    ck_assert_uint_eq(r->c.cells_used, 20 + SEQUENCES * SLOTS);
    ck_assert_uint_eq(r->c.rows.n_free, 0);
    for (uint32_t i = 0; i < SEQUENCES; i++)
        ck_assert_int_eq(eng_lm_sequence_remove(&r->c, (i + 3) % SEQUENCES), ENG_OK);
    ck_assert_uint_eq(r->c.cells_used, 0);
    ck_assert_uint_eq(r->c.cells_end, 0);
    ck_assert_uint_eq(r->c.rows.n_free, SEQUENCES * SLOTS);
    rig_destroy(r);
}
END_TEST

/* The first free cell is taken: holes are filled; and what devices must be told is no more than what changed. */
START_TEST(holes)
{
    rig *r = rig_create(1);
    for (int i = 0; i < 3; i++)
        pass(r, (uint32_t[SEQUENCES]){1, 1});
    ck_assert_uint_eq(r->c.dirty_begin, 0);
    ck_assert_uint_eq(r->c.dirty_end, 6);
    r->c.dirty_begin = r->c.dirty_end = 0;
    take_back(r, 1, 1); /* the sixth cell */
    ck_assert_uint_eq(r->c.cells_end, 5);
    ck_assert_uint_eq(r->c.dirty_begin, 5);
    ck_assert_uint_eq(r->c.dirty_end, 6);
    ck_assert_int_eq(eng_lm_sequence_remove(&r->c, 0), ENG_OK);
    ck_assert_uint_eq(r->c.cells_used, 2);
    ck_assert_uint_eq(r->c.cells_end, 4);
    pass(r, (uint32_t[SEQUENCES]){CELLS - 2});
    ck_assert_int_eq(r->s[0].cells[0], 0);
    ck_assert_int_eq(r->s[0].cells[1], 2);
    ck_assert_int_eq(r->s[0].cells[2], 4);
    int32_t cell;
    ck_assert(!lm_cells_take(&r->c, 0, CELLS, &cell));
    rig_destroy(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("bookkeeping");
    TCase *t = tcase_create("sequences");
    tcase_add_loop_test(t, traffic, 0, 8);
    tcase_add_test(t, short_batches);
    tcase_add_test(t, forks);
    tcase_add_test(t, holes);
    tcase_set_timeout(t, 120);
    suite_add_tcase(s, t);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
