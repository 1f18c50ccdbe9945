/* Windows into what a rank holds: its part of a cut, and its form of the views of the graph. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "planner.h"

/* One segment of a cut dimension as a window of rank + 1 dimensions: the units
 * kept, and above them the repetitions. */
static int32_t segment_window(meta_planner *p, uint32_t rank, int32_t tensor, const meta_cut *cut, uint32_t seg,
                              int64_t at)
{
    eng_tensor t = p->ranks[rank].tensors[tensor];
    const eng_type_info *type = meta_type_info(p->device, t.type);
    int64_t ne[ENG_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1}, nb[ENG_MAX_RANK];
    int64_t inner = cut->segs[seg].inner, outer = cut->segs[seg].outer;
    int64_t begin = at + meta_part_begin(cut->part, rank) * inner;
    uint32_t d = cut->dim;
    int64_t block = d == 0 ? type->block : 1;
    uint64_t offset = (uint64_t)(begin / block * t.nb[d]);

    memcpy(nb, t.nb, sizeof nb);
    if (outer == 1) {
        memcpy(ne, t.ne, sizeof ne);
        ne[d] = meta_part_length(cut->part, rank) * inner;
        return meta_local_window(p, rank, tensor, ne, nb, offset, &t);
    }
    /* collapse what lies below and above: [row, below, kept, repetitions, above]; it is
     * contiguous, but dimensions of extent 1 may still have strides of another view */
    meta_tensor_layout(p, t.type, t.ne, t.nb);
    memcpy(nb, t.nb, sizeof nb);
    uint32_t k = 0;
    int64_t below = 1, above = 1;
    if (d > 0)
        ne[k++] = t.ne[0];
    for (uint32_t i = 1; i < d; i++)
        below *= t.ne[i];
    if (d > 1) {
        nb[k] = t.nb[1];
        ne[k++] = below;
    }
    ne[k] = meta_part_length(cut->part, rank) * inner;
    nb[k++] = t.nb[d];
    ne[k] = outer;
    nb[k++] = cut->part->extent * inner / block * t.nb[d];
    for (uint32_t i = d + 1; i < ENG_MAX_RANK; i++)
        above *= t.ne[i];
    ne[k] = above;
    nb[k++] = t.ne[d] / block * t.nb[d];
    for (; k < ENG_MAX_RANK; k++)
        nb[k] = nb[k - 1] * ne[k - 1];
    t.rank = ENG_MAX_RANK;
    int32_t w = meta_local_copy(p, rank, meta_local_window(p, rank, tensor, ne, nb, offset, &t));
    if (w < 0)
        return -1;
    t = p->ranks[rank].tensors[tensor];
    memcpy(ne, t.ne, sizeof ne);
    ne[d] = outer * meta_part_length(cut->part, rank) * inner;
    meta_tensor_layout(p, t.type, ne, nb);
    return meta_local_window(p, rank, w, ne, nb, 0, &t);
}

int32_t meta_local_cut(meta_planner *p, uint32_t rank, int32_t tensor, const meta_cut *cut)
{
    int64_t at = 0;
    int32_t whole = -1;

    for (uint32_t s = 0; s < cut->n_segs && tensor >= 0; s++)
        if (cut->segs[s].outer > 1)
            tensor = meta_local_contiguous(p, rank, tensor);
    for (uint32_t s = 0; s < cut->n_segs && tensor >= 0; s++) {
        int32_t piece = segment_window(p, rank, tensor, cut, s, at);
        at += cut->segs[s].outer * cut->part->extent * cut->segs[s].inner;
        if (piece < 0)
            return -1;
        if (whole < 0) {
            whole = piece;
            continue;
        }
        eng_tensor a = p->ranks[rank].tensors[whole], b = p->ranks[rank].tensors[piece];
        int64_t ne[ENG_MAX_RANK];
        memcpy(ne, a.ne, sizeof ne);
        ne[cut->dim] += b.ne[cut->dim];
        int32_t joined = meta_local_scratch(p, rank, &a, ne);
        eng_node *n = joined < 0 ? NULL : meta_local_node(p, rank, ENG_OP_CONCAT, a.name, -1);
        if (!n)
            return -1;
        n->in[0] = whole;
        n->in[1] = piece;
        n->out[0] = joined;
        n->ip[ENG_CONCAT_DIM] = cut->dim;
        whole = joined;
    }
    return whole;
}

/* -- views ------------------------------------------------------------------------- */

/* Where a slice begins in what the rank holds of its operand. */
static uint64_t slice_offset(const meta_planner *p, uint32_t rank, const eng_node *node, const meta_place *place,
                             const eng_tensor *operand)
{
    uint32_t d = (uint32_t)node->ip[ENG_SLICE_DIM];
    int64_t begin = node->ip[ENG_SLICE_BEGIN];

    if (place->kind == META_SHARDED && place->cut.dim == d)
        begin = meta_cut_local_position(&place->cut, rank, begin);
    if (d == 0)
        begin /= meta_type_info(p->device, operand->type)->block;
    return (uint64_t)(begin * operand->nb[d]);
}

/* The rank's window into what it holds of the operand; a reshape may need a copy. */
static bool local_view(meta_planner *p, uint32_t rank, const eng_node *node, const meta_version *of,
                       meta_version *v)
{
    const eng_tensor *result = meta_tensor_of(p, node->out[0]);
    int32_t base = of->local[rank];
    int64_t ne[ENG_MAX_RANK], nb[ENG_MAX_RANK];
    uint64_t offset = 0;
    const eng_tensor *t = &p->ranks[rank].tensors[base];

    meta_local_ne(&v->place, rank, result->ne, ne);
    memcpy(nb, t->nb, sizeof nb);
    if (node->op == ENG_OP_SLICE) {
        offset = slice_offset(p, rank, node, &of->place, t);
    } else if (node->op == ENG_OP_PERMUTE) {
        for (uint32_t d = 0; d < ENG_MAX_RANK; d++)
            nb[d] = t->nb[node->ip[ENG_PERMUTE_DIM0 + d]];
    } else if (node->op == ENG_OP_VIEW) {
        if (!eu_shape_contiguous(meta_type_info(p->device, t->type), t->ne, t->nb)) {
            base = meta_local_copy(p, rank, base);
            v->original = false;
        }
        if (base < 0)
            return false;
        memcpy(nb, result->nb, sizeof nb);
        offset = (uint64_t)node->ip[ENG_VIEW_OFFSET];
    } else if (!eu_shape_regroup(meta_type_info(p->device, t->type), t->ne, t->nb, ne, nb)) {
        base = meta_local_copy(p, rank, base);
        if (base < 0)
            return false;
        meta_tensor_layout(p, result->type, ne, nb);
        v->original = false;
    }
    v->local[rank] = meta_local_window(p, rank, base, ne, nb, offset, result);
    return v->local[rank] >= 0;
}

/* Of views only parts of the slots' rows leave them owned (owned.c). */
static void forget_owner(const eng_node *view, meta_place *place)
{
    if (view->op != ENG_OP_SLICE || view->ip[ENG_SLICE_DIM] != 0)
        place->owner = 0;
}

meta_version *meta_view_version(meta_planner *p, const eng_node *node, const meta_version *of)
{
    meta_place place = of->place;

    if (place.kind == META_SHARDED) {
        meta_strategy s;
        meta_cut cut;
        if (meta_rule_apply(p->sv, p->graph, node, 0, &of->place.cut, NULL, &s))
            place = s.out[0];
        else if (meta_derive_view(p, node, &of->place.cut, &cut))
            place = meta_place_sharded(&cut);
        else
            return NULL;
    }
    forget_owner(node, &place);
    meta_version *v = meta_version_alloc(p, &place);
    if (!v)
        return NULL;
    v->original = of->original;
    for (uint32_t r = 0; r < p->n_ranks; r++)
        if (of->local[r] >= 0 && (place.kind != META_SHARDED || (place.ranks >> r & 1u)) &&
            !local_view(p, r, node, of, v))
            return NULL;
    return v;
}
