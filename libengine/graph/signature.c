/* Equality of sub-graphs, for plan caches: shape, types, ops, axes; not names. */
#include "config.h"

#include <string.h>

#include "graph.h"

static uint64_t mix(uint64_t h, uint64_t v)
{
    h ^= v + UINT64_C(0x9e3779b97f4a7c15) + (h << 6) + (h >> 2);
    return h * UINT64_C(0xff51afd7ed558ccd);
}

uint64_t eng_graph_hash(const eng_subgraph *g)
{
    uint64_t h = mix(mix(mix(1, g->n_tensors), g->n_nodes), g->n_params);
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const eng_tensor *t = eng_subgraph_tensor(g, (int32_t)i);
        h = mix(mix(mix(h, t->type), (uint64_t)t->root), t->layout);
        for (int d = 0; d < ENG_MAX_RANK; d++)
            h = mix(h, (uint64_t)t->ne[d]);
    }
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const eng_node *n = eng_subgraph_node(g, i);
        h = mix(mix(h, n->op), n->precision);
        for (int k = 0; k < ENG_MAX_INPUTS; k++)
            h = mix(h, (uint64_t)n->in[k]);
        for (int k = 0; k < ENG_MAX_IPARAMS; k++)
            h = mix(h, (uint64_t)n->ip[k]);
    }
    return h;
}

static bool same_dims(const eng_dim *a, const eng_dim *b, uint32_t rank)
{
    if (a == NULL || b == NULL)
        return a == b;
    for (uint32_t d = 0; d < rank; d++) {
        if (a[d].n_segments != b[d].n_segments)
            return false;
        for (uint32_t s = 0; s < a[d].n_segments; s++) {
            const eng_segment *x = &a[d].segments[s], *y = &b[d].segments[s];
            if (x->n_factors != y->n_factors)
                return false;
            for (uint32_t i = 0; i < x->n_factors; i++)
                if (x->factors[i].axis != y->factors[i].axis || x->factors[i].extent != y->factors[i].extent)
                    return false;
        }
    }
    return true;
}

static bool same_place(const eng_placement *a, const eng_placement *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return a->kind == b->kind && a->axis == b->axis &&
           (a->kind != ENG_PLACE_SINGLE || strcmp(a->device, b->device) == 0);
}

static bool same_tensor(const eng_tensor *a, const eng_tensor *b)
{
    return a->type == b->type && a->rank == b->rank && a->use == b->use && a->layout == b->layout &&
           a->root == b->root && a->binding == b->binding && a->offset == b->offset &&
           memcmp(a->ne, b->ne, sizeof a->ne) == 0 && memcmp(a->nb, b->nb, sizeof a->nb) == 0 &&
           same_dims(a->dims, b->dims, a->rank) && same_place(a->place, b->place);
}

static bool same_node(const eng_node *a, const eng_node *b)
{
    return a->op == b->op && a->section == b->section && a->precision == b->precision &&
           memcmp(a->in, b->in, sizeof a->in) == 0 && memcmp(a->out, b->out, sizeof a->out) == 0 &&
           memcmp(a->ip, b->ip, sizeof a->ip) == 0 && memcmp(a->fp, b->fp, sizeof a->fp) == 0;
}

bool eng_graph_same(const eng_subgraph *a, const eng_subgraph *b)
{
    if (a->n_tensors != b->n_tensors || a->n_nodes != b->n_nodes || a->n_params != b->n_params ||
        a->n_bindings != b->n_bindings)
        return false;
    for (uint32_t i = 0; i < a->n_tensors; i++)
        if (!same_tensor(eng_subgraph_tensor(a, (int32_t)i), eng_subgraph_tensor(b, (int32_t)i)))
            return false;
    for (uint32_t i = 0; i < a->n_nodes; i++)
        if (!same_node(eng_subgraph_node(a, i), eng_subgraph_node(b, i)))
            return false;
    return true;
}
