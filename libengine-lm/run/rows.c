/*
 * Rows of the recurrent pools: which of them hold which states.  A row holds
 * the states of all recurrent layers behind one token, and may be in the
 * histories of several sequences, which begin alike; it is never written while
 * it is in two.
 *
 * history[j] of a sequence is the row with the state after the token j tokens
 * before its end, for j < n_history; -1 stands for the empty state.  n more
 * tokens write the states of the last min(n, slots) of them into rows that no
 * longer hold a state that can be gone back to; the others stay.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "run.h"

int lm_rows_create(lm_rows *r, uint32_t n_sequences, uint32_t slots, uint32_t more)
{
    *r = (lm_rows){.n_sequences = n_sequences, .slots = slots, .n_rows = n_sequences * slots + more};
    r->holders = lm_calloc(r->n_rows, sizeof *r->holders);
    r->free = lm_calloc(r->n_rows, sizeof *r->free);
    r->history = lm_calloc((size_t)n_sequences * slots, sizeof *r->history);
    r->n_history = lm_calloc(n_sequences, sizeof *r->n_history);
    if (!r->holders || !r->free || !r->history || !r->n_history)
        return ENG_ERR_NOMEM;
    for (uint32_t i = 0; i < r->n_rows; i++)
        r->free[r->n_free++] = (int32_t)(r->n_rows - 1 - i);
    for (uint32_t s = 0; s < n_sequences; s++)
        lm_rows_clear(r, s);
    return ENG_OK;
}

void lm_rows_destroy(lm_rows *r)
{
    free(r->holders);
    free(r->free);
    free(r->history);
    free(r->n_history);
}

void lm_rows_copy(lm_rows *to, const lm_rows *from)
{
    memcpy(to->holders, from->holders, from->n_rows * sizeof *to->holders);
    memcpy(to->free, from->free, from->n_free * sizeof *to->free);
    memcpy(to->history, from->history, (size_t)from->n_sequences * from->slots * sizeof *to->history);
    memcpy(to->n_history, from->n_history, from->n_sequences * sizeof *to->n_history);
    to->n_free = from->n_free;
}

void lm_rows_hold(lm_rows *r, int32_t row)
{
    if (row >= 0)
        r->holders[row]++;
}

void lm_rows_release(lm_rows *r, int32_t row)
{
    if (row >= 0 && --r->holders[row] == 0)
        r->free[r->n_free++] = row;
}

const int32_t *lm_rows_history(const lm_rows *r, uint32_t sequence)
{
    return r->history + (size_t)sequence * r->slots;
}

static uint32_t written(const lm_rows *r, uint32_t n)
{
    return n < r->slots ? n : r->slots;
}

bool lm_rows_choose(lm_rows *r, uint32_t sequence, uint32_t n, int32_t *rows)
{
    const int32_t *history = lm_rows_history(r, sequence);
    uint32_t want = written(r, n), found = 0;
    for (uint32_t j = r->slots - want; j < r->n_history[sequence] && found < want; j++)
        if (history[j] >= 0 && r->holders[history[j]] == 1) { /* its own, and done with: it may be written in place */
            r->holders[history[j]]++;
            rows[found++] = history[j];
        }
    while (found < want && r->n_free > 0) {
        rows[found] = r->free[--r->n_free];
        r->holders[rows[found++]] = 1;
    }
    if (found == want)
        return true;
    lm_rows_cancel(r, found, rows);
    return false;
}

void lm_rows_cancel(lm_rows *r, uint32_t n, const int32_t *rows)
{
    for (uint32_t i = 0; i < n && i < r->slots; i++)
        lm_rows_release(r, rows[i]);
}

void lm_rows_commit(lm_rows *r, uint32_t sequence, uint32_t n, const int32_t *rows)
{
    int32_t *history = r->history + (size_t)sequence * r->slots;
    uint32_t new = written(r, n), old = r->n_history[sequence], kept = r->slots - new < old ? r->slots - new : old;
    for (uint32_t j = kept; j < old; j++)
        lm_rows_release(r, history[j]);
    memmove(history + new, history, kept * sizeof *history);
    memcpy(history, rows, new * sizeof *rows);
    r->n_history[sequence] = new + kept;
}

int32_t lm_rows_take(lm_rows *r)
{
    if (r->n_free == 0)
        return -1;
    int32_t row = r->free[--r->n_free];
    r->holders[row] = 1;
    return row;
}

void lm_rows_set(lm_rows *r, uint32_t sequence, const int32_t *rows, uint32_t n)
{
    int32_t *history = r->history + (size_t)sequence * r->slots;
    lm_rows_clear(r, sequence);
    memcpy(history, rows, n * sizeof *rows);
    r->n_history[sequence] = n;
    for (uint32_t j = 0; j < n; j++)
        lm_rows_hold(r, history[j]);
}

void lm_rows_share(lm_rows *r, uint32_t from, uint32_t to)
{
    lm_rows_set(r, to, lm_rows_history(r, from), r->n_history[from]);
}

void lm_rows_restore(lm_rows *r, uint32_t sequence, const int32_t *rows, uint32_t n, bool from_start)
{
    if (n == 0)
        return;
    memcpy(r->history + (size_t)sequence * r->slots, rows, n * sizeof *rows);
    r->n_history[sequence] = n;
    if (from_start && n < r->slots)
        r->history[(size_t)sequence * r->slots + r->n_history[sequence]++] = -1;
}

void lm_rows_rollback(lm_rows *r, uint32_t sequence, uint32_t n)
{
    int32_t *history = r->history + (size_t)sequence * r->slots;
    for (uint32_t j = 0; j < n; j++)
        lm_rows_release(r, history[j]);
    r->n_history[sequence] -= n;
    memmove(history, history + n, r->n_history[sequence] * sizeof *history);
}

void lm_rows_cut(lm_rows *r, uint32_t sequence, int64_t n)
{
    const int32_t *history = lm_rows_history(r, sequence);
    while (r->n_history[sequence] > n)
        lm_rows_release(r, history[--r->n_history[sequence]]);
}

void lm_rows_clear(lm_rows *r, uint32_t sequence)
{
    int32_t *history = r->history + (size_t)sequence * r->slots;
    for (uint32_t j = 0; j < r->n_history[sequence]; j++)
        lm_rows_release(r, history[j]);
    history[0] = -1;
    r->n_history[sequence] = 1;
}
