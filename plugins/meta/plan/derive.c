/*
 * Cuts that no axis has a name for: what ranks hold of a slice across a shard's ends, or
 * of a shape in which the axis is spread over two dimensions.  The boundaries are those of
 * the cut that they come from, counted in the largest unit that divides them all.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "planner.h"

const meta_partition *meta_derive_partition(meta_planner *p, const int64_t *begin, uint32_t n_ranks)
{
    for (const meta_partition *q = p->derived; q; q = q->next)
        if (q->n_ranks == n_ranks && !memcmp(q->begin, begin, (n_ranks + 1) * sizeof *begin))
            return q;
    meta_partition *q = eu_arena_alloc(p->arena, sizeof *q);
    if (!q) {
        meta_planner_nomem(p);
        return NULL;
    }
    q->n_ranks = n_ranks;
    q->extent = begin[n_ranks];
    q->unit = 1;
    memcpy(q->begin, begin, (n_ranks + 1) * sizeof *begin);
    for (uint32_t r = 0; r < n_ranks && q->extent; r++)
        q->want[r] = (double)(begin[r + 1] - begin[r]) / (double)q->extent;
    q->next = p->derived;
    p->derived = q;
    return q;
}

/* Boundaries in elements as a cut of one segment, in the largest unit. */
static bool coarsest(meta_planner *p, int64_t *begin, uint32_t n_ranks, int64_t outer, int64_t inner, uint32_t dim,
                     meta_cut *cut)
{
    int64_t unit = 0;

    for (uint32_t r = 0; r <= n_ranks; r++)
        unit = meta_gcd(unit, begin[r]);
    if (unit == 0)
        return false;
    for (uint32_t r = 0; r <= n_ranks; r++)
        begin[r] /= unit;
    *cut = (meta_cut){.part = meta_derive_partition(p, begin, n_ranks), .dim = dim, .n_segs = 1};
    cut->segs[0] = (meta_seg){outer, inner * unit};
    return cut->part != NULL;
}

/* A slice within one repetition of one segment: each rank has the part that lies in its
 * own range. */
static bool slice(meta_planner *p, const eng_node *node, const meta_cut *cut, meta_cut *out)
{
    int64_t from = node->ip[ENG_SLICE_BEGIN], length = node->ip[ENG_SLICE_LENGTH], at = 0;
    int64_t begin[META_MAX_RANKS + 1];

    for (uint32_t s = 0; s < cut->n_segs; s++) {
        int64_t inner = cut->segs[s].inner, step = cut->part->extent * inner, size = cut->segs[s].outer * step;
        if (from >= at + size) {
            at += size;
            continue;
        }
        int64_t base = at + (from - at) / step * step; /* of the repetition */
        if (from + length > base + step)
            return false;
        for (uint32_t r = 0; r <= cut->part->n_ranks; r++) {
            int64_t b = base + cut->part->begin[r] * inner - from;
            begin[r] = b < 0 ? 0 : b > length ? length : b;
        }
        return coarsest(p, begin, cut->part->n_ranks, 1, 1, cut->dim, out);
    }
    return false;
}

static bool reshape(meta_planner *p, const eng_node *node, const meta_cut *cut, meta_cut *out)
{
    int64_t begin[META_MAX_RANKS + 1];
    meta_cut coarse;

    if (cut->n_segs != 1)
        return false;
    memcpy(begin, cut->part->begin, sizeof begin);
    return coarsest(p, begin, cut->part->n_ranks, cut->segs[0].outer, cut->segs[0].inner, cut->dim, &coarse) &&
           meta_cut_reshape(&coarse, meta_tensor_of(p, node->in[0])->ne, meta_tensor_of(p, node->out[0])->ne, out);
}

bool meta_derive_view(meta_planner *p, const eng_node *node, const meta_cut *cut, meta_cut *out)
{
    const eng_tensor *t = meta_tensor_of(p, node->out[0]);

    if (node->op == ENG_OP_SLICE && node->ip[ENG_SLICE_DIM] == (int64_t)cut->dim) {
        if (!slice(p, node, cut, out))
            return false;
    } else if (node->op != ENG_OP_RESHAPE || !reshape(p, node, cut, out)) {
        return false;
    }
    return meta_cut_full(out) == t->ne[out->dim] &&
           meta_cut_aligned(out, meta_type_info(p->device, t->type)->block);
}
