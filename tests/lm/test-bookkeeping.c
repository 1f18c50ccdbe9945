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
#define STATES 5 /* kept */
#define STRIDE 8

/* ck_assert tells its parent of every assertion. */
#define CHECK(what)                                                                                                    \
    do                                                                                                                 \
        if (!(what))                                                                                                   \
            ck_abort_msg("not so: %s", #what);                                                                         \
    while (0)

/* Each token that is run gives a value, which stands for it and all that it has seen. */
typedef struct rig {
    eng_lm_model m;
    eng_lm_context c;
    lm_sequence s[SEQUENCES];
    int32_t cell_pos[CELLS], cell_first[CELLS], cell_last[CELLS], cell_token[CELLS];
    uint32_t cell_holders[CELLS];
    int32_t token[SEQUENCES][CELLS], pos[SEQUENCES][CELLS]; /* values, and positions          */
    int32_t state[SEQUENCES][CELLS + 1]; /* of its first k tokens: what the last of them and those cut out behind it
                                          * gave */
    int32_t row_token[SEQUENCES * SLOTS + STATES];
    int32_t passes, parted_passes, reused, dropped;
    uint32_t random;
} rig;

static uint32_t below(rig *r, uint32_t n)
{
    r->random = r->random * 1664525u + 1013904223u;
    return (r->random >> 8) % n;
}

static int32_t value(int32_t before, int32_t token)
{
    return (int32_t)(((uint32_t)before * 2654435761u + (uint32_t)token * 40503u + 12345u) & 0x7fffffff);
}

/* kept: bytes for what no sequence holds, where a cell takes one and a state ten. */
static rig *rig_create(uint32_t seed, bool recurrent, uint32_t kept)
{
    rig *r = calloc(1, sizeof *r);
    r->random = seed;
    r->c.model = &r->m;
    r->m.n.recurrent = recurrent;
    r->c.kept = (lm_kept){.budget = kept, .cell_bytes = 1, .row_bytes = 10, .stride = STRIDE,
                          .most_rows = recurrent && kept ? STATES : 0};
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
        r->s[i] = (lm_sequence){.rank = i, .whole = INT64_MAX};
    ck_assert_int_eq(lm_rows_create(&r->c.rows, SEQUENCES, SLOTS, r->c.kept.most_rows), ENG_OK);
    return r;
}

static void rig_destroy(rig *r)
{
    for (uint32_t i = 0; i < SEQUENCES; i++)
        lm_sequence_empty(&r->c, i);
    CHECK(r->c.cells_used == r->c.cells_kept);
    lm_kept_clear(&r->c);
    CHECK(r->c.cells_used == 0 && r->c.cells_kept == 0 && r->c.cells_end == 0);
    CHECK(r->c.rows.n_free == r->c.rows.n_rows && r->c.kept.n_rows == 0);
    for (int i = 0; i < SEQUENCES; i++)
        free(r->s[i].cells), free(r->s[i].tokens);
    lm_rows_destroy(&r->c.rows);
    free(r);
}

static void check_cells(const rig *r)
{
    uint32_t used = 0, kept = 0;
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
            if (r->cell_token[cell] != r->token[i][k] || r->cell_pos[cell] != r->pos[i][k])
                ck_abort_msg("sequence %d: cell %d of token %u holds another", i, cell, k);
        }
    for (int32_t cell = 0; cell < CELLS; cell++) {
        uint32_t seen = 0;
        for (int i = 0; i < SEQUENCES; i++)
            seen |= (uint32_t)(r->cell_first[cell] <= r->s[i].rank && r->s[i].rank <= r->cell_last[cell]) << i;
        CHECK(seen == holds[cell]);
        uint32_t others = r->cell_holders[cell] - (uint32_t)__builtin_popcount(seen);
        CHECK(others == 0 || (others == 1 && r->c.kept.budget));
        CHECK(r->cell_holders[cell] == 0 || cell < (int32_t)r->c.cells_end);
        used += r->cell_holders[cell] != 0;
        kept += seen == 0 && others;
    }
    CHECK(used == r->c.cells_used && kept == r->c.cells_kept);
    CHECK(lm_kept_bytes(&r->c) <= r->c.kept.budget);
}

static void check_rows(rig *r)
{
    const lm_rows *rows = &r->c.rows;
    uint32_t holders[SEQUENCES * SLOTS + STATES] = {0}, n_free = 0, kept = 0;
    if (!r->m.n.recurrent)
        return;
    for (int i = 0; i < SEQUENCES; i++) {
        const int32_t *history = lm_rows_history(rows, (uint32_t)i);
        if (r->s[i].length == 0)
            r->state[i][0] = 0;
        CHECK(rows->n_history[i] >= 1 && rows->n_history[i] <= SLOTS);
        for (uint32_t j = 0; j < rows->n_history[i]; j++) {
            CHECK((history[j] < 0 ? 0 : r->row_token[history[j]]) == r->state[i][r->s[i].length - j]);
            if (history[j] >= 0)
                holders[history[j]]++;
        }
    }
    for (uint32_t row = 0; row < rows->n_rows; row++) {
        CHECK(rows->holders[row] == holders[row] || rows->holders[row] == holders[row] + 1);
        kept += rows->holders[row] - holders[row];
        n_free += rows->holders[row] == 0;
    }
    CHECK(n_free == rows->n_free && kept == r->c.kept.n_rows && kept <= r->c.kept.most_rows);
}

/* One pass as ops do it: all present states are read, then those of the last tokens written.  n[i]: tokens of each. */
static void pass(rig *r, const uint32_t n[SEQUENCES])
{
    int32_t rows[SEQUENCES][SLOTS], cell;
    bool runs[SEQUENCES] = {false}, first = true;
    int32_t writer[SEQUENCES * SLOTS + STATES];
    memset(writer, 0xff, sizeof writer);
    for (uint32_t i = 0; i < SEQUENCES; i++) {
        if (n[i] == 0)
            continue;
        runs[i] = !r->m.n.recurrent || lm_rows_choose(&r->c.rows, i, n[i], rows[i]);
        ck_assert_msg(runs[i] || !first, "a sequence alone finds its rows");
        first = false;
        for (uint32_t j = 0; r->m.n.recurrent && runs[i] && j < n[i] && j < SLOTS; j++) {
            CHECK(writer[rows[i][j]] == -1);
            writer[rows[i][j]] = (int32_t)i;
        }
    }
    for (uint32_t i = 0; i < SEQUENCES && r->m.n.recurrent; i++) {
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
            int64_t at = r->s[i].length + k;
            CHECK(lm_cells_take(&r->c, i, &cell));
            r->s[i].tokens[at] = (int32_t)below(r, 3);
            r->pos[i][at] = at ? r->pos[i][at - 1] + 1 : 0;
            r->token[i][at] = value(r->m.n.recurrent ? r->state[i][at] :
                                    at               ? r->token[i][at - 1] :
                                                       0,
                                    r->s[i].tokens[at]);
            r->cell_token[cell] = r->state[i][at + 1] = r->token[i][at];
        }
        for (uint32_t j = 0; r->m.n.recurrent && j < n[i] && j < SLOTS; j++)
            r->row_token[rows[i][j]] = r->token[i][r->s[i].length + n[i] - 1 - j];
        if (r->m.n.recurrent)
            lm_rows_commit(&r->c.rows, i, n[i], rows[i]);
        r->s[i].length += n[i];
    }
    for (uint32_t i = 0; i < SEQUENCES; i++)
        if (runs[i])
            lm_kept_passed(&r->c, i, r->s[i].length - n[i]);
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
    uint32_t n[SEQUENCES] = {0}, room = lm_cells_free(&r->c), all = 0, most = below(r, 3) ? 1 : 7;
    for (uint32_t i = 0; i < SEQUENCES; i++) {
        n[i] = below(r, 2) ? 1 + below(r, most) : 0;
        if (n[i] > room || r->s[i].length + n[i] > CELLS)
            n[i] = 0;
        room -= n[i];
        n[i] = lm_kept_part(&r->c, i, r->s[i].length, n[i]);
        all += n[i];
    }
    lm_kept_make_room(&r->c, all);
    CHECK(CELLS - r->c.cells_used >= all);
    pass(r, n);
}

static void take_back(rig *r, uint32_t i, int64_t n)
{
    int64_t limit = eng_lm_sequence_rollback_limit(&r->c, i), length = r->s[i].length;
    int expected = n > length ? ENG_ERR_INVALID : n <= limit || n == length ? ENG_OK : ENG_ERR_STATE;
    ck_assert_int_eq(eng_lm_sequence_rollback(&r->c, i, n), expected);
    ck_assert_int_eq(r->s[i].length, expected == ENG_OK ? length - n : length);
}

/* A text that begins as some sequence's does, or did. */
static void reuse(rig *r, uint32_t i, uint32_t j)
{
    int32_t text[CELLS];
    uint32_t n = below(r, (uint32_t)r->s[j].length + 1), more = 1 + below(r, 4);
    size_t reused;
    if (n > 0)
        memcpy(text, r->s[j].tokens, n * sizeof *text);
    for (; more > 0 && n < CELLS; more--)
        text[n++] = (int32_t)below(r, 3);
    int64_t promised = eng_lm_reusable(&r->c, text, n);
    ck_assert_int_eq(eng_lm_sequence_reuse(&r->c, i, text, n, &reused), ENG_OK);
    CHECK(reused < n && eng_lm_sequence_length(&r->c, i) == (int64_t)reused && r->s[i].whole == INT64_MAX);
    CHECK(r->c.kept.budget || (int64_t)reused == promised || i == j); /* what it held itself may be kept now */
    for (uint32_t k = 0; k < reused; k++) {
        r->state[i][k + 1] = r->token[i][k] = value(k ? r->token[i][k - 1] : 0, text[k]);
        r->pos[i][k] = (int32_t)k;
    }
    r->state[i][0] = 0;
    r->reused += (int32_t)reused;
}

static bool shares(const rig *r, uint32_t i, int64_t from)
{
    for (uint32_t j = 0; j < SEQUENCES; j++)
        for (int64_t k = from; j != i && k < r->s[i].length && k < r->s[j].n_cells; k++)
            for (uint32_t m = 0; m < r->s[j].n_cells; m++)
                if (r->s[j].cells[m] == r->s[i].cells[k])
                    return true;
    return false;
}

static void drop_some(rig *r, uint32_t i)
{
    int64_t length = r->s[i].length, first = below(r, (uint32_t)length + 1), n = below(r, 5);
    int expected = n >= length - first ? ENG_ERR_INVALID : n > 0 && shares(r, i, first) ? ENG_ERR_STATE : ENG_OK;
    ck_assert_int_eq(eng_lm_sequence_drop(&r->c, i, first, n), expected);
    if (expected != ENG_OK || n == 0)
        return;
    memmove(&r->token[i][first], &r->token[i][first + n], (size_t)(length - first - n) * sizeof r->token[i][0]);
    memmove(&r->pos[i][first], &r->pos[i][first + n], (size_t)(length - first - n) * sizeof r->pos[i][0]);
    memmove(&r->state[i][first], &r->state[i][first + n], (size_t)(length - first - n + 1) * sizeof r->state[i][0]);
    r->dropped += (int32_t)n;
}

static void truncate_some(rig *r, uint32_t i)
{
    int64_t length = r->s[i].length, left = below(r, (uint32_t)length + 1);
    int64_t limit = eng_lm_sequence_rollback_limit(&r->c, i);
    int status = eng_lm_sequence_truncate(&r->c, i, left);
    CHECK(status == ENG_OK || (r->m.n.recurrent && length - left > limit && left > 0));
    CHECK(r->s[i].length == (status == ENG_OK ? left : length));
}

static void one_step(rig *r)
{
    uint32_t i = below(r, SEQUENCES), j = below(r, SEQUENCES);
    switch (below(r, 12)) {
    case 0:
        ck_assert_int_eq(eng_lm_sequence_copy(&r->c, i, j), ENG_OK);
        memcpy(r->token[j], r->token[i], sizeof r->token[i]);
        memcpy(r->pos[j], r->pos[i], sizeof r->pos[i]);
        memcpy(r->state[j], r->state[i], sizeof r->state[i]);
        break;
    case 1:
        take_back(r, i, below(r, 6));
        break;
    case 2:
        if (below(r, 3) == 0 || lm_cells_free(&r->c) < CELLS / 4)
            ck_assert_int_eq(eng_lm_sequence_remove(&r->c, i), ENG_OK);
        break;
    case 3:
    case 4:
        reuse(r, i, j);
        break;
    case 5:
        if (below(r, 4) == 0)
            drop_some(r, i);
        break;
    case 6:
        if (below(r, 4) == 0)
            truncate_some(r, i);
        break;
    default:
        run_some(r);
    }
}

/* Even: recurrent; of every four, two keep what is removed. */
START_TEST(traffic)
{
    rig *r = rig_create((uint32_t)_i + 1, _i % 2 == 0, _i % 4 < 2 ? 60 : 0);
    for (int step = 0; step < 2000; step++) {
        one_step(r);
        check_cells(r);
        check_rows(r);
    }
    ck_assert_int_gt(r->passes, 500);
    ck_assert(r->parted_passes > 0 || !r->m.n.recurrent);
    ck_assert_int_gt(r->reused, 100);
    ck_assert_int_gt(r->dropped, 8);
    rig_destroy(r);
}
END_TEST

/* A sequence that is given fewer tokens than there are snapshots keeps what it had. */
START_TEST(short_batches)
{
    rig *r = rig_create(1, true, 0);
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
    rig *r = rig_create(1, true, 0);
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
    rig *r = rig_create(1, true, 0);
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
    ck_assert(!lm_cells_take(&r->c, 0, &cell));
    rig_destroy(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("bookkeeping");
    TCase *t = tcase_create("sequences");
    tcase_add_loop_test(t, traffic, 0, 16);
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
