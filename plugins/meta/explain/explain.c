/* What has been decided for a plan: the facts, whatever they are written as. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>

#include "explain.h"

/* -- bound tensors ------------------------------------------------------------------- */

static void count_bound(meta_report *report)
{
    const meta_variant *v = report->v;

    for (uint32_t b = 0; b < report->graph->n_bindings; b++) {
        const eng_tensor *t = eng_subgraph_tensor(report->graph, report->graph->binding_tensor[b]);
        uint32_t kind = meta_bytes_kind(t->use);
        if (v->first[b] != b) /* counted already: the same tensor */
            continue;
        for (uint32_t r = 0; r < v->n_ranks; r++) {
            uint64_t bytes = meta_bytes_on(report, t, &v->places[b], r);
            report->rank[r].bytes[kind] += bytes;
            if (v->places[b].kind == META_REPLICATED && kind != META_BYTES_IO && meta_several(v->places[b].ranks))
                report->rank[r].replicated += bytes;
            if (bytes && kind != META_BYTES_IO)
                report->ranks |= 1u << r;
        }
    }
}

/* -- scratch -------------------------------------------------------------------------- */

typedef struct life {
    uint32_t first, last; /* nodes                                                */
} life;

static void touch(life *lives, const eng_subgraph *g, int32_t tensor, uint32_t node)
{
    if (tensor < 0)
        return;
    life *l = &lives[eng_subgraph_tensor(g, tensor)->root];
    if (l->first == UINT32_MAX)
        l->first = node;
    l->last = node;
}

/* Sums the values alive at each node; the node where they are most is the peak. */
static void find_peak(const meta_part *part, meta_peak *peak)
{
    const eng_subgraph *g = part->placed;
    life *lives = malloc((g->n_tensors + 1u) * sizeof *lives);

    for (uint32_t i = 0; lives && i < g->n_tensors; i++)
        lives[i] = (life){UINT32_MAX, 0};
    for (uint32_t k = 0; lives && k < g->n_nodes; k++) {
        const eng_node *n = eng_subgraph_node(g, k);
        for (uint32_t i = 0; i < ENG_MAX_INPUTS; i++)
            touch(lives, g, n->in[i], k);
        for (uint32_t i = 0; i < ENG_MAX_OUTPUTS; i++)
            touch(lives, g, n->out[i], k);
    }
    for (uint32_t k = 0; lives && k < g->n_nodes; k++) {
        meta_peak here = {.node = eng_subgraph_node(g, k)->name};
        for (uint32_t i = 0; i < g->n_tensors; i++) {
            const eng_tensor *t = eng_subgraph_tensor(g, (int32_t)i);
            if (t->binding >= 0 || t->root != (int32_t)i || k < lives[i].first || k > lives[i].last)
                continue;
            here.total += t->bytes;
            here.by_kind[part->kinds[i] & 3u] += t->bytes;
        }
        if (here.total > peak->total)
            *peak = here;
    }
    free(lives);
}

void meta_report_fill(meta_report *report)
{
    const meta_variant *v = report->v;

    report->ranks = v->ranks;
    for (uint32_t r = 0; r < v->n_ranks; r++) {
        const meta_part *part = &v->parts[r];
        if (!part->placed)
            continue;
        report->rank[r].n_nodes = part->placed->n_nodes;
        report->rank[r].n_sections = part->n_sections;
        report->rank[r].scratch = part->placed->arena_bytes;
        find_peak(part, &report->rank[r].peak);
    }
    count_bound(report);
    for (uint32_t i = 0; i < v->n_exchanges; i++) {
        const meta_exchange *e = v->exchanges[i];
        report->price += e->price - (e->joined ? meta_cost_meet(v->device, e->sources | e->targets, 0) : 0);
        report->n_meetings += !e->joined;
        for (uint32_t s = 0; s < META_MAX_RANKS; s++) {
            uint64_t sent = e->sources >> s & 1u ? e->sent[s] : 0;
            report->rank[s].sent += sent;
            report->sent += sent;
            for (uint32_t t = 0; t < META_MAX_RANKS; t++) {
                uint64_t bytes = meta_exchange_pair(e, s, t);
                report->rank[t].taken += bytes;
                report->pair[s][t] += bytes;
                report->moved[s][t] += meta_exchange_single(e) ? bytes : 0;
            }
        }
    }
}

/* -- the call --------------------------------------------------------------------------- */

/* One report a variant, or if there is none one that says so. */
int meta_plan_explain(eng_plan_state *plan, uint32_t format, void (*emit)(void *ctx, const char *text), void *ctx)
{
    static void (*const writers[])(const meta_report *) = {
        [ENG_EXPLAIN_TEXT] = meta_explain_text,
        [ENG_EXPLAIN_JSON] = meta_explain_json,
        [ENG_EXPLAIN_GRAPHVIZ] = meta_explain_dot,
    };
    uint32_t count = 0, number = 0;

    if (format > ENG_EXPLAIN_GRAPHVIZ)
        return ENG_ERR_UNSUPPORTED;
    meta_report *report = malloc(sizeof *report); /* large for a stack */
    if (!report)
        return meta_no_memory(plan->device, "the report on a plan");
    eu_json json = {.write = emit, .user = ctx};
    pthread_mutex_lock(&plan->lock);
    for (const meta_variant *v = plan->variants; v; v = v->next)
        count++;
    for (const meta_variant *v = plan->variants; v || number == 0; v = v ? v->next : NULL) {
        *report = (meta_report){.emit = emit, .ctx = ctx, .json = &json, .device = plan->device, .v = v,
                                .graph = plan->graph, .number = number++, .count = count};
        if (v)
            meta_report_fill(report);
        writers[format](report);
    }
    pthread_mutex_unlock(&plan->lock);
    free(report);
    return ENG_OK;
}
