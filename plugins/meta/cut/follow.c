/*
 * Ops that only move elements about: the cut of the result is computed from the
 * cut of the operand, exactly, or the op cannot run on shards.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "rule.h"

static const int64_t *extents(const eng_subgraph *graph, int32_t tensor)
{
    return eng_subgraph_tensor(graph, tensor)->ne;
}

static void all_operands(const eng_node *node, const meta_cut *cut, meta_strategy *s)
{
    for (uint32_t i = 0; i < ENG_MAX_INPUTS; i++)
        if (node->in[i] >= 0)
            s->in[i] = meta_place_sharded(cut);
}

/* Without b, the halves of each row are the operands: both must be cut alike. */
static bool glu(const eng_subgraph *graph, const eng_node *node, const meta_cut *cut, meta_cut *out)
{
    int64_t half = extents(graph, node->in[0])[0] / 2;
    meta_cut second;

    *out = *cut;
    if (node->in[1] >= 0 || cut->dim != 0)
        return true;
    return meta_cut_range(cut, 0, half, out) && meta_cut_range(cut, half, half, &second) &&
           meta_cut_equal(out, &second);
}

/* Along the dimension of concatenation the other operand must have a cut of the
 * same partition of its own. */
static bool concat(const eng_node *node, uint32_t which, const meta_cut *cut, const meta_cut *const *have,
                   meta_strategy *s, meta_cut *out)
{
    uint32_t other = 1 - which;
    const meta_cut *o = have ? have[other] : NULL;

    *out = *cut;
    if (cut->dim != (uint32_t)node->ip[ENG_CONCAT_DIM])
        return true;
    if (which > 1 || !o || o->part != cut->part || o->dim != cut->dim)
        return false;
    s->in[other] = meta_place_sharded(o);
    const meta_cut *first = which == 0 ? cut : o, *second = which == 0 ? o : cut;
    *out = *first;
    for (uint32_t i = 0; i < second->n_segs; i++)
        if (!meta_cut_append(out, second->segs[i]))
            return false;
    return true;
}

static bool repeat(const eng_subgraph *graph, const eng_node *node, const meta_cut *cut, meta_cut *out)
{
    int64_t from = extents(graph, node->in[0])[cut->dim], to = extents(graph, node->out[0])[cut->dim];

    *out = *cut;
    for (int64_t have = from; have < to; have += from) {
        if (cut->n_segs == 1) { /* all at once */
            out->segs[0].outer = cut->segs[0].outer * (to / from);
            return true;
        }
        for (uint32_t i = 0; i < cut->n_segs; i++)
            if (!meta_cut_append(out, cut->segs[i]))
                return false;
    }
    return true;
}

static bool permute(const eng_node *node, const meta_cut *cut, meta_cut *out)
{
    *out = *cut;
    for (uint32_t d = 0; d < ENG_MAX_RANK; d++) {
        if (node->ip[ENG_PERMUTE_DIM0 + d] == (int64_t)cut->dim) {
            out->dim = d;
            return true;
        }
    }
    return false;
}

static bool slice(const eng_node *node, const meta_cut *cut, meta_cut *out)
{
    *out = *cut;
    if (node->ip[ENG_SLICE_DIM] != (int64_t)cut->dim)
        return true;
    return meta_cut_range(cut, node->ip[ENG_SLICE_BEGIN], node->ip[ENG_SLICE_LENGTH], out);
}

static bool follow(const eng_subgraph *graph, const eng_node *node, uint32_t which, const meta_cut *cut,
                   const meta_cut *const *have, meta_strategy *s, meta_cut *out)
{
    switch (node->op) {
    case ENG_OP_QUANTIZE:
    case ENG_OP_DEQUANTIZE:
    case ENG_OP_CPY:
    case ENG_OP_STORE:
        *out = *cut;
        return true;
    case ENG_OP_GLU:
        return glu(graph, node, cut, out);
    case ENG_OP_CONCAT:
        return concat(node, which, cut, have, s, out);
    case ENG_OP_REPEAT:
        return repeat(graph, node, cut, out);
    case ENG_OP_PAD:
        *out = *cut;
        return node->ip[ENG_PAD_LEFT0 + cut->dim] == 0 && node->ip[ENG_PAD_RIGHT0 + cut->dim] == 0;
    case ENG_OP_RESHAPE:
        return meta_cut_reshape(cut, extents(graph, node->in[0]), extents(graph, node->out[0]), out);
    case ENG_OP_PERMUTE:
        return permute(node, cut, out);
    case ENG_OP_SLICE:
        return slice(node, cut, out);
    default:
        return false;
    }
}

static bool fits(const eng_services *services, const eng_subgraph *graph, int32_t tensor, const meta_place *place)
{
    const eng_tensor *t = eng_subgraph_tensor(graph, tensor);
    const eng_type_info *type = services->type_info(services->host, t->type);
    if (!type || place->kind != META_SHARDED)
        return type != NULL;
    return meta_cut_full(&place->cut) == t->ne[place->cut.dim] && meta_cut_aligned(&place->cut, type->block);
}

bool meta_follow_apply(const eng_services *services, const eng_subgraph *graph, const eng_node *node, uint32_t which,
                       const meta_cut *cut, const meta_cut *const *have, meta_strategy *strategy)
{
    meta_cut out;

    all_operands(node, cut, strategy);
    if (!follow(graph, node, which, cut, have, strategy, &out))
        return false;
    for (uint32_t i = 0; i < ENG_MAX_INPUTS; i++)
        if (node->in[i] >= 0 && !fits(services, graph, node->in[i], &strategy->in[i]))
            return false;
    if (node->out[0] < 0)
        return true;
    strategy->out[0] = meta_place_sharded(&out);
    return fits(services, graph, node->out[0], &strategy->out[0]);
}
