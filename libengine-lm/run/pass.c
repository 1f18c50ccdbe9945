/*
 * Passes: the compiled graph for one batch size, with the memory of one run.
 * All that changes from token to token travels in one tensor of integers, so
 * that a pass costs one transfer.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

/* On devices that are the host's own threads a plan costs little, so that few tokens need no padding; a driver may
 * compile for each size. */
#define FEW 8
uint32_t lm_pass_few(const eng_lm_model *m)
{
    eng_device_info info = {.size = sizeof info};
    eng_device_stats stats = {.size = sizeof stats};
    for (uint32_t i = 0; eng_device_leaf(m->device, i, &info, &stats) == ENG_OK; i++)
        if (info.flags & ENG_DEVICE_ASYNCHRONOUS)
            return 0;
    return FEW;
}

uint32_t lm_pass_size(const eng_lm_context *c, uint32_t n)
{
    uint32_t size = n <= c->few ? n : 1;
    while (size < n)
        size *= 2;
    return size < c->p.n_batch ? size : c->p.n_batch;
}

/* -- inputs ------------------------------------------------------------------- */

/* Each input begins on a boundary of 128 bytes: no device has to shift. */
static uint32_t place(lm_inputs *at, uint64_t elements)
{
    uint32_t here = at->total;
    at->total += (uint32_t)((elements + 31) / 32 * 32);
    return here;
}

static lm_inputs place_inputs(const eng_lm_context *c, uint32_t n_tokens, uint32_t n_out)
{
    lm_inputs at = {0};
    at.tokens = place(&at, n_tokens);
    at.pos = place(&at, n_tokens);
    at.streams = c->model->n.rope_streams ? place(&at, 4ull * n_tokens) : at.pos;
    at.seq = place(&at, n_tokens);
    at.cells = place(&at, n_tokens);
    at.out = place(&at, n_out);
    at.out_pos = at.pos;
    at.out_streams = at.streams;
    at.out_seq = at.seq;
    if (n_tokens > 1) {
        at.out_pos = place(&at, n_out);
        at.out_streams = c->model->n.rope_streams ? place(&at, 4ull * n_out) : at.out_pos;
        at.out_seq = place(&at, n_out);
    }
    at.src = place(&at, c->p.n_sequences);
    at.dst = place(&at, (uint64_t)c->p.n_sequences * c->p.n_snapshots);
    at.cu = place(&at, (uint64_t)c->p.n_sequences + 1);
    if (c->model->n.n_experts && n_tokens > 2) { /* one and two are sizes themselves: never padded */
        at.live = place(&at, n_tokens);
        at.live_out = place(&at, n_out);
        at.no_experts = place(&at, (uint64_t)c->model->n.n_used);
    }
    if (c->model->n.ngrams.rows)
        at.ngrams = place(&at, (uint64_t)n_tokens * (uint64_t)c->model->n.ngrams.rows);
    return at;
}

/* The last tensor is that of the states, if there are any. */
static int io_store(const eng_lm_context *c, const lm_inputs *at, uint32_t n_tokens, uint32_t n_out, eng_store **store)
{
    const eng_lm_model *m = c->model;
    eu_arena memory = {0};
    uint32_t n;
    eng_store_tensor t[2 + LM_GIVENS] = {
        {.size = sizeof *t, .type = ENG_TYPE_I32, .rank = 1, .use = ENG_USE_INPUT,
         .ne = {at->total, 1, 1, 1, 1, 1, 1, 1}, .name = "inputs", .layer = -1},
    };
    int status = lm_outputs_declare(c, n_tokens, n_out, &memory, t + 1, &n);
    if (m->drafts)
        t[1 + n++] = (eng_store_tensor){.size = sizeof *t, .type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_INPUT,
                                        .ne = {m->n.d_hidden, n_tokens, 1, 1, 1, 1, 1, 1}, .name = "states", .layer = -1};
    if (!status)
        status = eng_store_create(m->device, t, 1 + n, store);
    eu_arena_end(&memory);
    return status;
}

/* -- the graph ------------------------------------------------------------------ */

static eng_value input(lm_build *b, eng_value all, uint32_t at, int64_t n, const char *name)
{
    eng_value v = eng_slice(b->g, all, 0, at, n);
    eng_graph_name(b->g, v, "%s", name);
    return v;
}

static eng_value streams(lm_build *b, eng_value all, uint32_t at, int64_t n, const char *name)
{
    return eng_reshape(b->g, input(b, all, at, 4 * n, name), (int64_t[]){n, 4}, 2);
}

int lm_pass_graph(eng_lm_context *c, uint32_t n_tokens, uint32_t n_out, eng_store *io, const lm_inputs *at,
                  eng_graph **graph)
{
    eng_graph *g;
    int status = eng_graph_create(c->model->engine, LM_PARAMS, &g);
    if (status)
        return status;
    eng_graph_precision(g, (eng_precision)c->p.precision);
    lm_build b = {.model = c->model, .context = &c->p, .memory = c->memory, .layer_memory = c->layer_memory, .g = g,
                  .n_tokens = n_tokens, .n_out = n_out, .all_hidden = c->p.outputs & ENG_LM_HIDDEN_ALL, .far = c->far};
    b.target = c->lender ? c->lender->model : NULL;
    if (c->model->drafts)
        b.states = eng_graph_tensor(g, LM_SLOT_IO, io, eng_store_count(io) - 1);
    int64_t n_seq = c->p.n_sequences, slots = c->p.n_snapshots;
    eng_value all = eng_graph_tensor(g, LM_SLOT_IO, io, 0);
    b.tokens = input(&b, all, at->tokens, n_tokens, "tokens");
    b.pos = input(&b, all, at->pos, n_tokens, "positions");
    b.rope_pos = b.pos;
    if (c->model->n.rope_streams)
        b.rope_pos = streams(&b, all, at->streams, n_tokens, "streams");
    b.seq = input(&b, all, at->seq, n_tokens, "sequences");
    b.cells = input(&b, all, at->cells, n_tokens, "cells");
    b.out = input(&b, all, at->out, n_out, "wanted");
    b.out_pos = b.pos;
    b.out_rope_pos = b.rope_pos;
    b.out_seq = b.seq;
    if (at->out_pos != at->pos) {
        b.out_rope_pos = b.out_pos = input(&b, all, at->out_pos, n_out, "positions_wanted");
        if (c->model->n.rope_streams)
            b.out_rope_pos = streams(&b, all, at->out_streams, n_out, "streams_wanted");
        b.out_seq = input(&b, all, at->out_seq, n_out, "sequences_wanted");
    }
    b.src = input(&b, all, at->src, n_seq, "row_read");
    b.dst = eng_reshape(g, input(&b, all, at->dst, n_seq * slots, "rows_written"), (int64_t[]){slots, n_seq}, 2);
    b.cu = input(&b, all, at->cu, n_seq + 1, "starts");
    b.live = b.live_out = b.no_experts = ENG_NO_VALUE;
    if (at->live) {
        int64_t used = c->model->n.n_used;
        b.live = input(&b, all, at->live, n_tokens, "live");
        b.live_out = input(&b, all, at->live_out, n_out, "live_wanted");
        b.no_experts = eng_reshape(g, input(&b, all, at->no_experts, used, "no_experts"), (int64_t[]){used, 1}, 2);
    }
    b.ngrams = ENG_NO_VALUE;
    if (at->ngrams)
        b.ngrams = input(&b, all, at->ngrams, n_tokens * c->model->n.ngrams.rows, "rows_of_ngrams");
    if (c->cells) {
        b.cpos = eng_graph_tensor(g, LM_SLOT_CELLS, c->cells, 0);
        b.cseq = eng_graph_tensor(g, LM_SLOT_CELLS, c->cells, 1);
        b.clast = c->p.n_sequences > 1 ? eng_graph_tensor(g, LM_SLOT_CELLS, c->cells, 2) : ENG_NO_VALUE;
    }
    eng_value logits = lm_layers(&b);
    eng_graph_name(g, logits, "head");
    lm_outputs_build(c, &b, io, logits);
    if (c->keeping)
        lm_collect_keep(c->keeping, g);
    status = eng_graph_seal(g);
    if (status) {
        eng_graph_destroy(g);
        return status;
    }
    *graph = g;
    return ENG_OK;
}

/* -- passes ------------------------------------------------------------------------ */

void lm_passes_drop(eng_lm_context *c)
{
    for (lm_pass *p = c->passes, *next; p; p = next) {
        next = p->next;
        lm_pass_destroy(p);
    }
    c->passes = NULL;
}

void lm_pass_destroy(lm_pass *p)
{
    if (!p)
        return;
    eng_instance_destroy(p->instance);
    eng_plan_release(p->plan);
    eng_store_destroy(p->io);
    free(p->in);
    free(p->states);
    lm_collect_free(p);
    free(p);
}

/* The same graph, that keeps what its products are given. */
static int build_keeping(eng_lm_context *c, lm_pass *p, eng_graph **graph)
{
    int status = lm_collect_look(c, p, *graph);
    eng_graph_destroy(*graph);
    *graph = NULL;
    c->keeping = p;
    if (!status)
        status = lm_pass_graph(c, p->n_tokens, p->n_out, p->io, &p->at, graph);
    c->keeping = NULL;
    return status;
}

static int build(eng_lm_context *c, lm_pass *p)
{
    p->at = place_inputs(c, p->n_tokens, p->n_out);
    p->in = lm_calloc(p->at.total, sizeof *p->in);
    if (c->model->drafts)
        p->states = lm_calloc((size_t)p->n_tokens * (size_t)c->model->n.d_hidden, sizeof *p->states);
    if (!p->in || (c->model->drafts && !p->states))
        return ENG_ERR_NOMEM;
    eng_graph *graph = NULL;
    int status = io_store(c, &p->at, p->n_tokens, p->n_out, &p->io);
    if (!status)
        status = lm_pass_graph(c, p->n_tokens, p->n_out, p->io, &p->at, &graph);
    if (!status && c->collect)
        status = build_keeping(c, p, &graph);
    if (!status)
        status = eng_plan_create(c->model->device, graph, &p->plan);
    if (!status) {
        eng_store *stores[LM_SLOTS] = {c->model->store, c->memory, c->cells, p->io,
                                       c->lender ? c->lender->model->store : NULL};
        status = eng_instance_create(p->plan, stores, c->lender ? LM_SLOTS : LM_SLOT_TARGET, &p->instance);
    }
    eng_graph_destroy(graph);
    return status;
}

/* Passes of many tokens hold much memory: only the few used last are kept, and those of the batch that is being
 * run.  Making one again costs little, for the device keeps its plan. */
#define LARGE 64
#define MOST_LARGE 3
static void drop_oldest(eng_lm_context *c)
{
    lm_pass **oldest;
    uint32_t n;
    do {
        oldest = NULL;
        n = 0;
        for (lm_pass **at = &c->passes; *at; at = &(*at)->next) {
            if ((*at)->n_tokens <= LARGE)
                continue;
            if ((*at)->batch != c->n_batches)
                oldest = at;
            n++;
        }
        if (n >= MOST_LARGE && oldest) {
            lm_pass *p = *oldest;
            *oldest = p->next;
            lm_pass_destroy(p);
        }
    } while (n > MOST_LARGE && oldest);
}

int lm_pass_get(eng_lm_context *c, uint32_t n_tokens, uint32_t n_out, lm_pass **pass)
{
    for (lm_pass **at = &c->passes; *at; at = &(*at)->next) {
        lm_pass *p = *at;
        if (p->n_tokens != n_tokens || p->n_out != n_out)
            continue;
        p->batch = c->n_batches;
        *at = p->next; /* the one used last comes first */
        p->next = c->passes;
        c->passes = p;
        *pass = p;
        return ENG_OK;
    }
    if (n_tokens > LARGE)
        drop_oldest(c);
    lm_pass *p = lm_calloc(1, sizeof *p);
    if (!p)
        return ENG_ERR_NOMEM;
    p->n_tokens = n_tokens;
    p->n_out = n_out;
    p->batch = c->n_batches;
    uint64_t begin = eu_now();
    int status = build(c, p);
    c->plan_ns += eu_now() - begin;
    if (status) {
        lm_pass_destroy(p);
        return status;
    }
    p->next = c->passes;
    c->passes = p;
    *pass = p;
    return ENG_OK;
}

int eng_lm_context_explain_pass(eng_lm_context *c, uint32_t n, eng_explain_format format, eng_emit_func emit,
                                void *user)
{
    if (!c || !emit)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_context_explain" ENG_CAUSE "a context and a function are needed");
    if (n == 0 || n > c->p.n_batch)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_context_explain" ENG_CAUSE
                        "a pass of %u tokens is not possible: 1 to %u are", n,
                        c->p.n_batch);
    lm_pass *p;
    uint32_t size = lm_pass_size(c, n);
    int status = lm_pass_get(c, size, 1, &p);
    if (!status && format == ENG_EXPLAIN_TEXT) {
        char text[96];
        if (size == n)
            snprintf(text, sizeof text, "a run is a pass of %u token%s\n", n, n == 1 ? "" : "s");
        else
            snprintf(text, sizeof text, "a run is a pass of %u tokens, run as %u\n", n, size);
        emit(user, text);
    }
    return status ? status : eng_plan_explain(p->plan, format, emit, user);
}

int eng_lm_context_explain(eng_lm_context *c, eng_explain_format format, eng_emit_func emit, void *user)
{
    return eng_lm_context_explain_pass(c, 1, format, emit, user);
}

int eng_lm_context_dump(eng_lm_context *c, uint32_t n, eng_explain_format format, eng_emit_func emit, void *user)
{
    if (!c || !emit || n == 0 || n > c->p.n_batch)
        return eng_fail(ENG_ERR_INVALID, "eng_lm_context_dump" ENG_CAUSE
                        "a context, a function and 1 to n_batch tokens are "
                        "needed");
    uint32_t size = lm_pass_size(c, n);
    lm_inputs at = place_inputs(c, size, 1);
    eng_store *io = NULL;
    eng_graph *graph = NULL;
    int status = io_store(c, &at, size, 1, &io); /* no plan: what a device cannot run can be looked at too */
    if (!status)
        status = lm_pass_graph(c, size, 1, io, &at, &graph);
    if (!status)
        status = eng_graph_dump(graph, format, emit, user);
    eng_graph_destroy(graph);
    eng_store_destroy(io);
    return status;
}
