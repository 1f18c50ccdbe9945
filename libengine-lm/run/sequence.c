/*
 * Sequences: which cells of the caches and which rows of the recurrent pools
 * are whose.  Nothing here moves data (but the copy of a sequence does).
 *
 * Each sequence owns n_snapshots rows of every pool, of the same numbers in
 * all layers.  history[j] is the row that holds the state after the token j
 * tokens before the end, for j < n_history; -1 stands for the empty state.
 * n more tokens write the states of the last min(n, snapshots) of them into
 * rows that no longer hold a state that can be gone back to; the others stay.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "run.h"

int lm_sequence_check(const eng_lm_context *c, uint32_t sequence)
{
    if (sequence >= c->p.n_sequences)
        return eng_fail(ENG_ERR_INVALID, "sequence %u does not exist" ENG_CAUSE "the context was made for %u", sequence,
                        c->p.n_sequences);
    return ENG_OK;
}

int lm_after_failure(int status, eng_fence fence)
{
    char text[1024];
    strncpy(text, eng_last_error(), sizeof text - 1);
    text[sizeof text - 1] = 0;
    return eng_fence_wait(fence, UINT64_MAX) < 0 ? eng_fail(status, "%s", text) : status;
}

/* -- rows ------------------------------------------------------------------------ */

void lm_rows_choose(const eng_lm_context *c, uint32_t sequence, uint32_t n, int32_t *rows)
{
    const lm_sequence *s = &c->sequences[sequence];
    uint32_t slots = c->p.n_snapshots, written = n < slots ? n : slots, found = 0;
    int32_t first = (int32_t)(sequence * slots);
    for (uint32_t i = 0; i < slots && found < written; i++) {
        bool kept = false;
        for (uint32_t j = 0; j < s->n_history && j + n < slots; j++)
            kept |= s->history[j] == first + (int32_t)i;
        if (!kept)
            rows[found++] = first + (int32_t)i;
    }
}

void lm_rows_commit(eng_lm_context *c, uint32_t sequence, uint32_t n, const int32_t *rows)
{
    lm_sequence *s = &c->sequences[sequence];
    uint32_t slots = c->p.n_snapshots, written = n < slots ? n : slots;
    uint32_t kept = slots - written < s->n_history ? slots - written : s->n_history;
    memmove(s->history + written, s->history, kept * sizeof *s->history);
    memcpy(s->history, rows, written * sizeof *rows);
    s->n_history = written + kept;
    s->length += n;
}

/* -- cells -------------------------------------------------------------------------- */

void lm_cells_dirty(eng_lm_context *c, uint32_t begin, uint32_t end)
{
    if (c->dirty_begin == c->dirty_end) {
        c->dirty_begin = begin;
        c->dirty_end = end;
        return;
    }
    if (begin < c->dirty_begin)
        c->dirty_begin = begin;
    if (end > c->dirty_end)
        c->dirty_end = end;
}

bool lm_cells_take(eng_lm_context *c, uint32_t sequence, int64_t position, int32_t *cell)
{
    uint32_t i = c->cells_hint;
    while (i < c->p.n_cells && c->cell_seq[i] >= 0)
        i++;
    if (i == c->p.n_cells)
        return false;
    c->cell_seq[i] = (int32_t)sequence;
    c->cell_pos[i] = (int32_t)position;
    c->cells_hint = i + 1;
    c->cells_used++;
    if (i >= c->cells_end)
        c->cells_end = i + 1;
    lm_cells_dirty(c, i, i + 1);
    *cell = (int32_t)i;
    return true;
}

void lm_cells_free(eng_lm_context *c, uint32_t sequence, int64_t from_position)
{
    for (uint32_t i = 0; i < c->cells_end; i++) {
        if (c->cell_seq[i] != (int32_t)sequence || c->cell_pos[i] < from_position)
            continue;
        c->cell_seq[i] = c->cell_pos[i] = -1;
        c->cells_used--;
        if (i < c->cells_hint)
            c->cells_hint = i;
        lm_cells_dirty(c, i, i + 1);
    }
    while (c->cells_end > 0 && c->cell_seq[c->cells_end - 1] < 0)
        c->cells_end--;
}

/* -- what hosts call ------------------------------------------------------------------- */

int64_t eng_lm_sequence_length(const eng_lm_context *c, uint32_t sequence)
{
    return c && sequence < c->p.n_sequences ? c->sequences[sequence].length : -1;
}

int64_t eng_lm_sequence_rollback_limit(const eng_lm_context *c, uint32_t sequence)
{
    if (!c || sequence >= c->p.n_sequences)
        return -1;
    const lm_sequence *s = &c->sequences[sequence];
    return s->broken ? 0 : c->model->n.recurrent ? (int64_t)s->n_history - 1 : s->length;
}

int eng_lm_sequence_remove(eng_lm_context *c, uint32_t sequence)
{
    if (!c)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_sequence_remove" ENG_CAUSE "a context is needed");
    int status = lm_sequence_check(c, sequence);
    if (status)
        return status;
    lm_sequence *s = &c->sequences[sequence];
    lm_cells_free(c, sequence, 0);
    s->length = 0;
    s->broken = false;
    s->n_history = 1;
    s->history[0] = -1;
    return ENG_OK;
}

int eng_lm_sequence_rollback(eng_lm_context *c, uint32_t sequence, int64_t n)
{
    if (!c)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_sequence_rollback" ENG_CAUSE "a context is needed");
    int status = lm_sequence_check(c, sequence);
    if (status)
        return status;
    lm_sequence *s = &c->sequences[sequence];
    if (n < 0 || n > s->length)
        return eng_fail(ENG_ERR_INVALID, "sequence %u holds %lld tokens" ENG_CAUSE
                        "%lld cannot be taken back", sequence,
                        (long long)s->length, (long long)n);
    if (n == 0)
        return ENG_OK;
    if (n == s->length)
        return eng_lm_sequence_remove(c, sequence);
    int64_t limit = eng_lm_sequence_rollback_limit(c, sequence);
    if (n > limit)
        return eng_fail(ENG_ERR_STATE, "%lld tokens of sequence %u cannot be taken back" ENG_CAUSE
                        "its recurrent states reach "
                        "back %lld now" ENG_ADVICE
                        "ask for more snapshots (the context has %u), or remove the sequence and run "
                        "its tokens again", (long long)n, sequence, (long long)limit, c->p.n_snapshots);
    if (c->model->n.recurrent) {
        s->n_history -= (uint32_t)n;
        memmove(s->history, s->history + n, s->n_history * sizeof *s->history);
    }
    s->length -= n;
    lm_cells_free(c, sequence, s->length);
    return ENG_OK;
}

/* -- copying a sequence ------------------------------------------------------------------- */

/* Rows `from` ... of a tensor become rows `to` ...; together with others they are moved by way
 * of a buffer, where they are the rows `at` ... . */
typedef struct run_of_rows {
    uint32_t from, to, at, n;
} run_of_rows;

typedef struct row_copy {
    eng_lm_context *c;
    run_of_rows *runs;
    eng_region *regions; /* as many */
    uint32_t n_runs, n_rows;
    void *buffer;        /* room for the rows of any one tensor */
    eng_fence fence;     /* of what was queued last */
} row_copy;

static int row_copy_begin(row_copy *copy, eng_lm_context *c, uint32_t most_rows)
{
    uint64_t most = 1;
    *copy = (row_copy){.c = c};
    for (uint32_t i = 0; i < eng_store_count(c->memory); i++) {
        const eng_store_tensor *t = eng_store_get(c->memory, i);
        bool cells = t->use == ENG_USE_CACHE;
        uint64_t rows = cells ? c->p.n_cells : c->p.n_snapshots;
        uint64_t row = cells ? eng_row_bytes(t->type, t->ne[0]) * (uint64_t)t->ne[2]
                             : eng_store_bytes(c->memory, i) / (uint64_t)t->ne[t->rank - 1];
        uint64_t bytes = row * (rows < most_rows ? rows : most_rows);
        most = bytes > most ? bytes : most;
    }
    copy->buffer = lm_calloc(1, (size_t)most);
    copy->runs = lm_calloc(most_rows + 1u, sizeof *copy->runs);
    copy->regions = lm_calloc(most_rows + 1u, sizeof *copy->regions);
    return copy->buffer && copy->runs && copy->regions ? ENG_OK : ENG_ERR_NOMEM;
}

/* Waits for what was queued, in any case. */
static int row_copy_end(row_copy *copy, int status)
{
    status = status ? lm_after_failure(status, copy->fence) : eng_fence_wait(copy->fence, UINT64_MAX);
    free(copy->buffer);
    free(copy->runs);
    free(copy->regions);
    return status;
}

/* One more row: it lengthens the last run if it can. */
static void add_row(row_copy *copy, uint32_t from, uint32_t to)
{
    run_of_rows *last = copy->n_runs ? &copy->runs[copy->n_runs - 1] : NULL;
    if (last && last->from + last->n == from && last->to + last->n == to)
        last->n++;
    else
        copy->runs[copy->n_runs++] = (run_of_rows){.from = from, .to = to, .at = copy->n_rows, .n = 1};
    copy->n_rows++;
}

/* The rows of one tensor, which has `times` of each, `stride` bytes apart: one read, one write. */
static int copy_rows(row_copy *copy, uint32_t tensor, uint64_t row, uint64_t stride, uint64_t times)
{
    eng_lm_context *c = copy->c;
    int status = ENG_OK;
    for (int write = 0; write < 2 && !status && copy->n_runs; write++) {
        for (uint32_t i = 0; i < copy->n_runs; i++) {
            const run_of_rows *r = &copy->runs[i];
            copy->regions[i] = (eng_region){.data = (char *)copy->buffer + r->at * row, .data_stride = copy->n_rows * row,
                                            .tensor_offset = (write ? r->to : r->from) * row, .tensor_stride = stride,
                                            .bytes = r->n * row, .count = times};
        }
        status = write ? eng_queue_write(c->queue, NULL, 0, c->memory, tensor, copy->regions, copy->n_runs, &copy->fence)
                       : eng_queue_read(c->queue, NULL, 0, c->memory, tensor, copy->regions, copy->n_runs, &copy->fence);
    }
    return status;
}

/* Every cell of the sequence in all heads of all caches. */
static int copy_cells(eng_lm_context *c, uint32_t from, uint32_t to)
{
    row_copy copy;
    int status = row_copy_begin(&copy, c, (uint32_t)c->sequences[from].length);
    for (uint32_t i = 0, end = c->cells_end; i < end && !status; i++) {
        int32_t cell;
        if (c->cell_seq[i] != (int32_t)from)
            continue;
        if (lm_cells_take(c, to, c->cell_pos[i], &cell))
            add_row(&copy, i, (uint32_t)cell);
        else
            status = eng_fail(ENG_ERR_INTERNAL, "cells ran out while a sequence was copied");
    }
    for (int layer = 0; layer < c->model->n.n_layers; layer++)
        for (uint32_t which = 0; which < 2 && c->model->n.kind[layer] == LM_LAYER_ATTENTION && !status; which++) {
            uint32_t tensor = (uint32_t)c->layer_memory[layer] + which;
            const eng_store_tensor *t = eng_store_get(c->memory, tensor);
            uint64_t row = eng_row_bytes(t->type, t->ne[0]);
            status = copy_rows(&copy, tensor, row, row * (uint64_t)t->ne[1], (uint64_t)t->ne[2]);
        }
    return row_copy_end(&copy, status);
}

/* The rows of all recurrent pools that can be gone back to. */
static int copy_states(eng_lm_context *c, uint32_t from, uint32_t to)
{
    lm_sequence *a = &c->sequences[from], *b = &c->sequences[to];
    int32_t shift = ((int32_t)to - (int32_t)from) * (int32_t)c->p.n_snapshots;
    row_copy copy;
    int status = row_copy_begin(&copy, c, a->n_history);
    for (uint32_t j = 0; j < a->n_history && !status; j++) {
        b->history[j] = a->history[j] < 0 ? -1 : a->history[j] + shift;
        if (a->history[j] >= 0)
            add_row(&copy, (uint32_t)a->history[j], (uint32_t)b->history[j]);
    }
    for (int layer = 0; layer < c->model->n.n_layers; layer++)
        for (uint32_t which = 0; which < 2 && c->model->n.kind[layer] == LM_LAYER_RECURRENT && !status; which++) {
            uint32_t tensor = (uint32_t)c->layer_memory[layer] + which;
            const eng_store_tensor *t = eng_store_get(c->memory, tensor);
            uint64_t row = eng_store_bytes(c->memory, tensor) / (uint64_t)t->ne[t->rank - 1];
            status = copy_rows(&copy, tensor, row, row, 1);
        }
    if (!status)
        b->n_history = a->n_history;
    return row_copy_end(&copy, status);
}

int eng_lm_sequence_copy(eng_lm_context *c, uint32_t from, uint32_t to)
{
    if (!c)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_sequence_copy" ENG_CAUSE "a context is needed");
    int status = lm_sequence_check(c, from);
    if (!status)
        status = lm_sequence_check(c, to);
    if (status || from == to)
        return status;
    lm_sequence *a = &c->sequences[from], *b = &c->sequences[to];
    if (a->broken)
        return eng_fail(ENG_ERR_STATE, "sequence %u holds nothing of use since a device failed: remove it", from);
    int64_t free_cells = (int64_t)c->p.n_cells - c->cells_used + b->length;
    if (a->length > free_cells)
        return eng_fail(ENG_ERR_STATE, "sequence %u holds %lld tokens, but only %lld cells are free: make the context "
                        "larger", from, (long long)a->length, (long long)free_cells);
    eng_lm_sequence_remove(c, to);
    status = copy_cells(c, from, to);
    if (!status)
        status = copy_states(c, from, to);
    b->length = a->length;
    b->broken = status != ENG_OK;
    return status;
}
