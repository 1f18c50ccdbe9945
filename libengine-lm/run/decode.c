/* Running tokens: a batch is cut into passes, each pass fills its inputs, runs and is booked. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "run.h"

static uint32_t sequence_of(const eng_lm_batch *b, uint32_t token)
{
    return b->sequences ? (uint32_t)b->sequences[token] : 0;
}

static bool wants_logits(const eng_lm_batch *b, uint32_t token)
{
    return b->logits ? b->logits[token] != 0 : token + 1 == b->n_tokens;
}

/* -- a full context ------------------------------------------------------------------ */

static uint64_t droppable_of(const eng_lm_context *c, const eng_lm_batch *b)
{
    uint64_t n = 0;
    memset(c->counts, 0, c->p.n_sequences * sizeof *c->counts);
    for (uint32_t i = 0; i < b->n_tokens; i++)
        if (c->counts[sequence_of(b, i)]++ == 0)
            n += (uint64_t)lm_sequence_droppable(c, sequence_of(b, i));
    return n;
}

/* -- before anything changes --------------------------------------------------------- */

static int check(const eng_lm_context *c, const eng_lm_batch *b)
{
    if (b->n_tokens == 0 || !b->tokens)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_decode" ENG_CAUSE "the batch has no tokens");
    for (uint32_t i = 0; i < b->n_tokens; i++) {
        if (b->tokens[i] < 0 || b->tokens[i] >= c->model->n.n_vocab)
            return eng_fail(ENG_ERR_INVALID, "token %u of the batch is %d" ENG_CAUSE
                            "the vocabulary has %lld", i, b->tokens[i],
                            (long long)c->model->n.n_vocab);
        int status = lm_sequence_check(c, sequence_of(b, i));
        if (status)
            return status;
        if (lm_cells_next(c, &c->sequences[sequence_of(b, i)]) > INT32_MAX - (int64_t)b->n_tokens)
            return eng_fail(ENG_ERR_STATE, "sequence %u is at position %d" ENG_CAUSE "positions end at %d" ENG_ADVICE
                            "remove it, and begin again", sequence_of(b, i),
                            lm_cells_next(c, &c->sequences[sequence_of(b, i)]), INT32_MAX);
        if (c->sequences[sequence_of(b, i)].broken)
            return eng_fail(ENG_ERR_STATE, "sequence %u holds nothing of use since a device failed: remove it",
                            sequence_of(b, i));
    }
    uint64_t left = lm_cells_free(c), dropped = droppable_of(c, b);
    if (b->n_tokens > left + dropped)
        return eng_fail(ENG_ERR_STATE, "the context is too small" ENG_CAUSE
                        "it holds %llu of %u tokens and %u more are asked for%s" ENG_ADVICE
                        "make it larger (-c)%s", (unsigned long long)(c->p.n_cells - left), c->p.n_cells, b->n_tokens,
                        dropped ? ", more than may be dropped for them" : "",
                        c->p.on_full == ENG_LM_FULL_DROP ? "" : ", or let it drop the oldest tokens (--context-shift)");
    return ENG_OK;
}

/* As many cells as the batch takes: first those that are only kept, then, if the host wants so, the oldest tokens of
 * the batch's sequences, of the longest first. */
static void make_room(eng_lm_context *c, const eng_lm_batch *b)
{
    lm_kept_make_room(c, b->n_tokens < lm_cells_free(c) ? b->n_tokens : lm_cells_free(c));
    while (lm_cells_free(c) < b->n_tokens) {
        int64_t most = 0, next = 0, lack = (int64_t)b->n_tokens - lm_cells_free(c);
        uint32_t longest = 0;
        memset(c->counts, 0, c->p.n_sequences * sizeof *c->counts);
        for (uint32_t i = 0; i < b->n_tokens; i++) {
            uint32_t s = sequence_of(b, i);
            int64_t n = c->counts[s]++ ? 0 : lm_sequence_droppable(c, s);
            if (n > most) {
                next = most;
                most = n;
                longest = s;
            } else if (n > next) {
                next = n;
            }
        }
        int64_t n = most > next ? most - next : 1;
        lm_sequence_cut(c, longest, lm_sequence_first_dropped(c, longest), n < lack ? n : lack);
    }
    lm_kept_make_room(c, b->n_tokens);
}

/* The batch's tokens by sequence, their order within a sequence kept; and rows for logits. */
static int prepare(eng_lm_context *c, const eng_lm_batch *b)
{
    uint32_t n = b->n_tokens, n_seq = c->p.n_sequences;
    c->n_logits_row = 0; /* until there is room for the new ones */
    if (!eu_reserve(c->order, c->order_room, n) || !eu_reserve(c->order_at, c->order_at_room, n) ||
        !eu_reserve(c->logits_row, c->logits_row_room, n) || !eu_reserve(c->place, c->place_room, n))
        return eng_fail_code(EU_NO_MEMORY("the order of a batch"));
    memset(c->counts, 0, n_seq * sizeof *c->counts);
    for (uint32_t i = 0; i < n; i++)
        c->counts[sequence_of(b, i)]++;
    uint32_t start = 0;
    for (uint32_t s = 0; s < n_seq; s++) {
        uint32_t count = c->counts[s];
        if (count > 0 && !lm_sequence_reserve(&c->sequences[s], (size_t)c->sequences[s].length + count))
            return eng_fail_code(EU_NO_MEMORY("the cells of a sequence"));
        c->counts[s] = start;
        c->sequences[s].batch_begin = start;
        start += count;
        c->sequences[s].batch_end = start;
    }
    for (uint32_t i = 0; i < n; i++) {
        c->place[i] = (int32_t)c->counts[sequence_of(b, i)]++;
        c->order[c->place[i]] = i;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t s = sequence_of(b, c->order[i]);
        bool another = i == 0 || sequence_of(b, c->order[i - 1]) != s;
        c->order_at[i] = another ? c->sequences[s].length : c->order_at[i - 1] + 1;
    }
    uint64_t wanted = 0;
    for (uint32_t i = 0; i < n; i++) /* rows in the order in which passes give them */
        c->logits_row[c->order[i]] = wants_logits(b, c->order[i]) ? (int32_t)wanted++ : -1;
    if (!lm_outputs_reserve(c, n, wanted))
        return eng_fail_code(EU_NO_MEMORY("the logits of a batch"));
    c->n_logits_row = n;
    return ENG_OK;
}

/* The first of tokens first .. end - 1 of the order that has another sequence than they begin with, or end. */
static uint32_t group_end(const eng_lm_context *c, const eng_lm_batch *b, uint32_t first, uint32_t end)
{
    uint32_t i = first;
    while (i < end && sequence_of(b, c->order[i]) == sequence_of(b, c->order[first]))
        i++;
    return i;
}

/* Of tokens first .. end - 1 those before the first sequence that finds too few free rows; they have theirs then. */
static uint32_t choose_rows(eng_lm_context *c, const eng_lm_batch *b, lm_rows *rows, uint32_t first, uint32_t end)
{
    for (uint32_t i = first, next; i < end; i = next) {
        uint32_t s = sequence_of(b, c->order[i]);
        next = group_end(c, b, i, end);
        if (!lm_rows_choose(rows, s, next - i, c->chosen + (size_t)s * rows->slots))
            return i;
    }
    return end;
}

/* Of tokens first .. end - 1 those up to the first state that is to be kept and that the pass would run over. */
static uint32_t to_kept(const eng_lm_context *c, const eng_lm_batch *b, uint32_t first, uint32_t end)
{
    for (uint32_t i = first, next; i < end; i = next) {
        next = group_end(c, b, i, end);
        uint32_t n = lm_kept_part(c, sequence_of(b, c->order[i]), c->order_at[i], next - i);
        if (n < next - i)
            return i + n;
    }
    return end;
}

/* What becomes of the rows chosen: they are what the sequences hold now, or are given back. */
static void finish_rows(eng_lm_context *c, const eng_lm_batch *b, lm_rows *rows, uint32_t first, uint32_t end,
                        bool done)
{
    for (uint32_t i = first, next; i < end && c->model->n.recurrent; i = next) {
        uint32_t s = sequence_of(b, c->order[i]);
        next = group_end(c, b, i, end);
        if (done)
            lm_rows_commit(rows, s, next - i, c->chosen + (size_t)s * rows->slots);
        else
            lm_rows_cancel(rows, next - i, c->chosen + (size_t)s * rows->slots);
    }
}

/*
 * How many of the tokens from `first` on go into the next pass, with rows
 * chosen for them.  A pass is padded to a size; where that would waste much, a
 * smaller one goes first.
 */
static uint32_t pass_tokens(eng_lm_context *c, const eng_lm_batch *b, uint32_t first, lm_rows *rows, uint32_t *wanted)
{
    uint32_t n = b->n_tokens - first, i;
    if (n > c->p.n_batch)
        n = c->p.n_batch;
    uint64_t size = lm_pass_size(c, n);
    if (n > 64 && 4ull * n < 3 * size) {
        uint32_t less = 64;
        while (2 * less <= n)
            less *= 2;
        n = less;
    }
    for (i = *wanted = 0; i < n && *wanted + wants_logits(b, c->order[first + i]) <= c->p.n_logits; i++)
        *wanted += wants_logits(b, c->order[first + i]);
    n = c->model->n.recurrent ? choose_rows(c, b, rows, first, to_kept(c, b, first, first + i)) - first : i;
    while (i > n)
        *wanted -= wants_logits(b, c->order[first + --i]);
    return n;
}

/* -- one pass ------------------------------------------------------------------------------ */

/* The tokens of the pass, and those wanted of them, that are no padding. */
static void fill_live(lm_pass *p, uint32_t n, uint32_t wanted)
{
    for (uint32_t i = 0; i < p->n_tokens; i++)
        p->in[p->at.live + i] = i < n ? (int32_t)i + 1 : 0;
    for (uint32_t i = 0; i < p->n_out; i++)
        p->in[p->at.live_out + i] = i < wanted ? (int32_t)i + 1 : 0;
}

/* Positions of n tokens, of a pass that has room for `size`, as the four streams of a multi-section rope. */
static void fill_streams(int32_t *streams, const int32_t *pos, uint32_t n, uint32_t size)
{
    for (uint32_t stream = 0; stream < 4; stream++)
        for (uint32_t i = 0; i < n; i++)
            streams[stream * size + i] = stream < 3 ? pos[i] : 0;
}

/* Inputs of tokens c->order[first ..]; padding is -1 throughout, but for `live`. */
static int fill(eng_lm_context *c, const eng_lm_batch *b, uint32_t first, uint32_t n, lm_pass *p)
{
    const lm_inputs *at = &p->at;
    const size_t width = (size_t)c->model->n.d_hidden;
    uint32_t n_seq = c->p.n_sequences, slots = c->p.n_snapshots, wanted = 0;
    memset(p->in, 0xff, at->total * sizeof *p->in);
    memset(c->counts, 0, n_seq * sizeof *c->counts);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t token = c->order[first + i], s = sequence_of(b, token);
        int32_t pos = lm_cells_next(c, &c->sequences[s]);
        if (!lm_cells_take(c, s, &p->in[at->cells + i]))
            return eng_fail(ENG_ERR_INTERNAL, "cells ran out in the middle of a batch");
        p->in[at->tokens + i] = b->tokens[token];
        if (p->states)
            memcpy(p->states + (size_t)i * width, c->states + (size_t)token * width, width * sizeof *p->states);
        c->sequences[s].tokens[c->sequences[s].length + c->counts[s]++] = b->tokens[token];
        if (at->ngrams)
            lm_ngram_rows(&c->model->n.ngrams, c->sequences[s].tokens, c->sequences[s].length + c->counts[s] - 1,
                          p->in + at->ngrams + (size_t)i * (size_t)c->model->n.ngrams.rows);
        p->in[at->pos + i] = pos;
        p->in[at->seq + i] = c->sequences[s].rank;
        if (!wants_logits(b, token))
            continue;
        p->in[at->out_pos + wanted] = pos;
        p->in[at->out_seq + wanted] = c->sequences[s].rank;
        p->in[at->out + wanted++] = (int32_t)i;
    }
    if (at->live)
        fill_live(p, n, wanted);
    if (at->streams != at->pos) {
        fill_streams(p->in + at->streams, p->in + at->pos, n, p->n_tokens);
        fill_streams(p->in + at->out_streams, p->in + at->out_pos, p->n_tokens > 1 ? wanted : n, p->n_out);
    }
    p->in[at->cu] = 0;
    for (uint32_t s = 0; s < n_seq; s++) {
        uint32_t count = c->counts[s];
        p->in[at->cu + s + 1] = p->in[at->cu + s] + (int32_t)count;
        if (count == 0)
            continue;
        if (!c->model->n.recurrent)
            continue;
        const int32_t *rows = c->chosen + (size_t)s * slots;
        p->in[at->src + s] = lm_rows_history(&c->rows, s)[0];
        memcpy(p->in + at->dst + (size_t)s * slots, rows, (count < slots ? count : slots) * sizeof *rows);
    }
    return ENG_OK;
}

/* What the device has not been told of cells yet. */
static int write_cells(eng_lm_context *c, eng_queue *queue, eng_fence *fence)
{
    uint64_t begin = c->dirty_begin * sizeof(int32_t), bytes = (c->dirty_end - c->dirty_begin) * sizeof(int32_t);
    const eng_region of[3] = {eng_range(c->cell_pos + c->dirty_begin, begin, bytes),
                              eng_range(c->cell_first + c->dirty_begin, begin, bytes),
                              eng_range(c->cell_last + c->dirty_begin, begin, bytes)};
    int status = ENG_OK;
    for (uint32_t i = 0; i < eng_store_count(c->cells) && !status && bytes; i++)
        status = eng_queue_write(queue, NULL, 0, c->cells, i, &of[i], 1, fence);
    return status;
}

int lm_pass_run(eng_lm_context *c, lm_pass *p, const lm_part *all, const lm_part *wanted)
{
    eng_fence fence = {0};
    eng_lm_context *owner = c->lender ? c->lender : c;
    const eng_region in = eng_range(p->in, 0, p->at.total * sizeof *p->in);
    const eng_region states = eng_range(p->states, 0, all->n * (uint64_t)c->model->n.d_hidden * sizeof *p->states);
    int64_t params[LM_PARAMS] = {[LM_PARAM_CELLS] = owner->cells_end};
    int status = eng_queue_write(c->queue, NULL, 0, p->io, 0, &in, 1, &fence);
    if (!status && p->states)
        status = eng_queue_write(c->queue, NULL, 0, p->io, eng_store_count(p->io) - 1, &states, 1, &fence);
    if (!status)
        status = write_cells(owner, c->queue, &fence);
    if (!status)
        status = eng_queue_submit(c->queue, NULL, 0, p->instance, params, LM_PARAMS, &fence);
    if (!status)
        status = lm_outputs_read(c, p->io, all, wanted, &fence);
    if (status)
        return lm_after_failure(status, fence);
    status = eng_fence_wait(fence, UINT64_MAX);
    if (!status)
        owner->dirty_begin = owner->dirty_end = 0;
    return status;
}

static int get(eng_lm_context *c, uint32_t n, uint32_t wanted, lm_pass **p)
{
    uint32_t size = lm_pass_size(c, n);
    uint32_t n_out = wanted <= 1 ? 1 : size < c->p.n_logits ? size : c->p.n_logits;
    if (c->collect && wanted > 1 && wanted < n)
        n_out = wanted; /* collect.c tells rows of all tokens from those of the tokens wanted by how many they are */
    return lm_pass_get(c, size, n_out, p);
}

/* Cells within one chunk need no mask of chunks, until a token is at a position beyond it. */
static void look_far(eng_lm_context *c, const eng_lm_batch *b)
{
    int64_t chunk = lm_chunk(c->model);
    if (chunk == 0 || c->far || c->p.n_cells > chunk)
        return;
    for (uint32_t i = 0; i < b->n_tokens && !c->far; i++) {
        const lm_sequence *s = &c->sequences[sequence_of(b, c->order[i])];
        c->far = lm_cells_next(c, s) + c->order_at[i] - s->length >= chunk;
    }
    if (c->far)
        lm_passes_drop(c);
}

/* All passes of a batch, before the first of them runs: what fails for want of memory changes nothing. */
static int get_all(eng_lm_context *c, const eng_lm_batch *b)
{
    int status = ENG_OK;
    c->n_batches++;
    look_far(c, b);
    if (c->model->n.recurrent)
        lm_rows_copy(&c->trial, &c->rows);
    for (uint32_t first = 0, n; first < b->n_tokens && !status; first += n) {
        uint32_t wanted;
        lm_pass *p;
        n = pass_tokens(c, b, first, &c->trial, &wanted);
        finish_rows(c, b, &c->trial, first, first + n, true);
        status = n == 0 ? eng_fail(ENG_ERR_INTERNAL, "rows for states ran out") : get(c, n, wanted, &p);
    }
    if (status)
        c->n_logits_row = 0;
    return status;
}

static int pass(eng_lm_context *c, const eng_lm_batch *b, uint32_t first, uint32_t n, uint32_t wanted, uint64_t row,
                bool *touched)
{
    lm_pass *p;
    int status = get(c, n, wanted, &p);
    if (!status) {
        *touched = true;
        status = fill(c, b, first, n, p);
    }
    if (!status)
        status = lm_pass_run(c, p, &(lm_part){first, n}, &(lm_part){row, wanted});
    if (!status && c->collect)
        status = lm_collect(c, p, n, wanted);
    finish_rows(c, b, &c->rows, first, first + n, status == ENG_OK);
    if (status)
        return status;
    for (uint32_t s = 0; s < c->p.n_sequences; s++) {
        c->sequences[s].length += c->counts[s];
        if (c->counts[s] > 0)
            lm_kept_passed(c, s, c->sequences[s].length - c->counts[s]);
    }
    c->n_passes++;
    c->n_tokens += n;
    return ENG_OK;
}

/* Between two passes: what was run is held. */
static int stopped(eng_lm_context *c, uint32_t done, uint32_t all)
{
    c->n_logits_row = 0;
    return eng_fail(ENG_ERR_STATE, "the host stopped a batch" ENG_CAUSE "%u of its %u tokens were run, which their "
                    "sequences hold", done, all);
}

void eng_lm_context_set_stop(eng_lm_context *c, eng_lm_stop_func stop, void *user)
{
    if (!c)
        return;
    c->stop = stop;
    c->stop_user = user;
}

int eng_lm_context_collect(eng_lm_context *c, eng_lm_collect_func collect, void *user)
{
    if (!c)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_context_collect" ENG_CAUSE "a context is needed");
    c->collect = collect;
    c->collect_user = user;
    lm_passes_drop(c); /* they keep too much or too little */
    return ENG_OK;
}

int lm_decode_states(eng_lm_context *c, const eng_lm_batch *batch, const float *states)
{
    c->states = states;
    return eng_lm_decode(c, batch);
}

int eng_lm_decode(eng_lm_context *c, const eng_lm_batch *given)
{
    eng_lm_batch batch = {0};
    const eng_lm_batch *b = &batch;
    if (!c || !given)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_decode" ENG_CAUSE
                        "a context and a batch with its size set are needed");
    int status = lm_take("eng_lm_decode", &batch, sizeof batch, given, offsetof(eng_lm_batch, sequences));
    if (!status)
        status = check(c, b);
    if (!status)
        status = prepare(c, b);
    if (!status)
        status = get_all(c, b);
    if (status)
        return status;
    bool touched = false;
    uint64_t row = 0;
    make_room(c, b);
    for (uint32_t first = 0; first < b->n_tokens && !status;) {
        if (c->stop && c->stop(c->stop_user))
            return stopped(c, first, b->n_tokens);
        uint32_t wanted, n = pass_tokens(c, b, first, &c->rows, &wanted);
        status = pass(c, b, first, n, wanted, row, &touched);
        first += n;
        row += wanted;
    }
    if (status) {
        c->n_logits_row = 0;
        for (uint32_t i = 0; i < b->n_tokens && touched; i++)
            c->sequences[sequence_of(b, i)].broken = true;
    }
    return status;
}
