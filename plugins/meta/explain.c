/* What has been decided for a plan, as text: one line a fact. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "run.h"

typedef struct writer {
    void (*emit)(void *ctx, const char *text);
    void *ctx;
    const meta_variant *v;
} writer;

#define LINE 640

static const char *rank_name(const writer *w, uint32_t rank)
{
    return w->v->device->ranks[rank].name;
}

static const char *axis_name(const writer *w, uint32_t axis)
{
    const eng_plugin_state *plugin = w->v->device->plugin;
    return plugin->services->axis_name(plugin->host, axis);
}

/* "0..3 3..6 6..8": who has which units of an axis. */
static void ranges(const meta_partition *p, char *text, size_t size)
{
    size_t at = 0;

    text[0] = 0;
    for (uint32_t r = 0; r < p->n_ranks && at < size; r++)
        at += (size_t)snprintf(text + at, size - at, "%s%" PRId64, r ? "+" : "", meta_part_length(p, r));
}

static const char *use_name(uint32_t use)
{
    static const char *const names[] = {"tensor", "weight", "cache", "state", "input", "output"};
    use &= ENG_USE_MASK;
    return use < sizeof names / sizeof *names ? names[use] : names[0];
}

static void tensor_line(const writer *w, const eng_tensor *t, const meta_place *place, const char *why)
{
    char line[LINE], parts[256];

    switch (place->kind) {
    case META_SHARDED:
        ranges(place->cut.part, parts, sizeof parts);
        snprintf(line, sizeof line, "%s %s: split along %s (dimension %u), %s of %" PRId64 " units\n", use_name(t->use),
                 t->name, axis_name(w, place->cut.part->axis), (unsigned)place->cut.dim, parts,
                 place->cut.part->extent);
        break;
    case META_SINGLE:
        snprintf(line, sizeof line, "%s %s: on %s\n", use_name(t->use), t->name, rank_name(w, place->rank));
        break;
    default:
        snprintf(line, sizeof line, "%s %s: replicated%s%s\n", use_name(t->use), t->name, why ? ": " : "",
                 why ? why : "");
        break;
    }
    w->emit(w->ctx, line);
}

/* What the exchange is called by those who know collectives. */
static const char *exchange_name(const meta_exchange *e)
{
    bool one = (e->sources & (e->sources - 1)) == 0;

    switch (e->from) {
    case META_PARTIAL:
        if (e->to == META_REPLICATED)
            return one ? "broadcast" : "all_reduce";
        return e->to == META_SHARDED ? "reduce_scatter" : "reduce";
    case META_SHARDED:
        return e->to == META_REPLICATED ? "all_gather" : "gather";
    default:
        return e->to == META_SHARDED ? "scatter" : (e->targets & (e->targets - 1)) ? "broadcast" : "transfer";
    }
}

static void exchange_line(const writer *w, const meta_exchange *e)
{
    char line[LINE];
    uint64_t sent = 0;
    size_t at;

    for (uint32_t r = 0; r < META_MAX_RANKS; r++)
        sent += e->sources >> r & 1u ? e->sent[r] : 0;
    at = (size_t)snprintf(line, sizeof line, "%s %s: %" PRIu64 " bytes, %" PRIu64 " sent,", exchange_name(e), e->name,
                          e->bytes, sent);
    for (int side = 0; side < 2; side++) {
        uint32_t ranks = side ? e->targets : e->sources;
        if (at < sizeof line)
            at += (size_t)snprintf(line + at, sizeof line - at, side ? " to" : " from");
        for (uint32_t r = 0; r < META_MAX_RANKS && at < sizeof line; r++)
            if (ranks >> r & 1u)
                at += (size_t)snprintf(line + at, sizeof line - at, " %s", rank_name(w, r));
    }
    w->emit(w->ctx, line);
    w->emit(w->ctx, "\n");
}

static void summary(const writer *w)
{
    const meta_variant *v = w->v;
    char line[LINE];
    uint64_t sent = 0;

    for (uint32_t i = 0; i < v->n_exchanges; i++)
        for (uint32_t r = 0; r < META_MAX_RANKS; r++)
            sent += v->exchanges[i]->sources >> r & 1u ? v->exchanges[i]->sent[r] : 0;
    snprintf(line, sizeof line,
             "nodes: %u on shards, %u giving partial sums, %u on every device, %u on one; %u exchanges, %" PRIu64
             " bytes sent a run\n",
             (unsigned)v->n_run[META_SHARDED], (unsigned)v->n_run[META_PARTIAL], (unsigned)v->n_run[META_REPLICATED],
             (unsigned)v->n_run[META_SINGLE], (unsigned)v->n_exchanges, sent);
    w->emit(w->ctx, line);
    for (uint32_t r = 0; r < v->n_ranks; r++) {
        const meta_part *part = &v->parts[r];
        if (!part->placed)
            continue;
        snprintf(line, sizeof line, "device %s: share %.3f, %u nodes in %u sections, %" PRIu64 " bytes of scratch%s\n",
                 rank_name(w, r), v->device->ranks[r].share, (unsigned)part->placed->n_nodes,
                 (unsigned)part->n_sections, part->placed->arena_bytes, v->device->ranks[r].guest ? ", guest" : "");
        w->emit(w->ctx, line);
    }
}

static void explain_variant(const writer *w, const eng_subgraph *graph)
{
    summary(w);
    for (uint32_t i = 0; i < w->v->n_notes; i++) {
        w->emit(w->ctx, w->v->notes[i]);
        w->emit(w->ctx, "\n");
    }
    for (uint32_t b = 0; b < graph->n_bindings; b++)
        tensor_line(w, eng_subgraph_tensor(graph, graph->binding_tensor[b]), &w->v->places[b], w->v->why[b]);
    for (uint32_t i = 0; i < w->v->n_exchanges; i++)
        exchange_line(w, w->v->exchanges[i]);
}

int meta_plan_explain(eng_plan_state *plan, uint32_t format, void (*emit)(void *ctx, const char *text), void *ctx)
{
    if (format != ENG_EXPLAIN_TEXT)
        return ENG_ERR_UNSUPPORTED;
    pthread_mutex_lock(&plan->lock);
    if (!plan->variants)
        emit(ctx, "not placed yet: make an instance first\n");
    for (const meta_variant *v = plan->variants; v; v = v->next) {
        writer w = {emit, ctx, v};
        explain_variant(&w, plan->graph);
    }
    pthread_mutex_unlock(&plan->lock);
    return ENG_OK;
}
