/* The graph of one rank: tensors, nodes, sections, and the local form of nodes. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "planner.h"

uint64_t meta_tensor_layout(const meta_planner *p, uint32_t type, const int64_t *ne, int64_t *nb)
{
    const eng_type_info *info = meta_type_info(p->device, type);
    uint64_t bytes = info->block_bytes;

    nb[0] = (int64_t)bytes;
    for (uint32_t d = 0; d < ENG_MAX_RANK; d++) {
        int64_t n = d == 0 ? ne[0] / info->block : ne[d];
        if (d > 0)
            nb[d] = (int64_t)bytes;
        bytes *= n > 0 ? (uint64_t)n : 1;
    }
    for (uint32_t d = 0; d < ENG_MAX_RANK; d++)
        if (ne[d] == 0)
            return 0;
    return bytes;
}

bool meta_is_contiguous(const meta_planner *p, const eng_tensor *t)
{
    int64_t nb[ENG_MAX_RANK];

    meta_tensor_layout(p, t->type, t->ne, nb);
    for (uint32_t d = 1; d < ENG_MAX_RANK; d++)
        if (t->ne[d] != 1 && t->nb[d] != nb[d])
            return false;
    return t->nb[0] == nb[0];
}

static eng_tensor *add_tensor(meta_planner *p, uint32_t rank, const eng_tensor *like, int32_t *index)
{
    meta_rgraph *g = &p->ranks[rank];

    *index = -1;
    if (meta_failed(p) || !meta_grow((void **)&g->tensors, g->n_tensors, &g->cap_tensors, sizeof *g->tensors)) {
        meta_planner_nomem(p);
        return NULL;
    }
    eng_tensor *t = &g->tensors[g->n_tensors];
    memset(t, 0, sizeof *t);
    t->size = sizeof *t;
    t->type = like->type;
    t->rank = like->rank;
    t->binding = -1;
    t->root = (int32_t)g->n_tensors;
    t->name = like->name;
    *index = (int32_t)g->n_tensors++;
    return t;
}

int32_t meta_local_scratch(meta_planner *p, uint32_t rank, const eng_tensor *like, const int64_t *ne)
{
    eng_tensor own = *like; /* `like` may be in the array that grows */
    int32_t index;
    eng_tensor *t = add_tensor(p, rank, &own, &index);

    if (!t)
        return -1;
    memcpy(t->ne, ne, sizeof t->ne);
    t->bytes = meta_tensor_layout(p, t->type, t->ne, t->nb);
    return index;
}

int32_t meta_local_window(meta_planner *p, uint32_t rank, int32_t base, const int64_t *ne, const int64_t *nb,
                          uint64_t offset, const eng_tensor *like)
{
    eng_tensor own = *like;
    int32_t index;
    eng_tensor *t = add_tensor(p, rank, &own, &index);

    if (!t)
        return -1;
    const eng_tensor *b = &p->ranks[rank].tensors[base];
    t->root = b->root;
    t->binding = p->ranks[rank].tensors[b->root].binding;
    t->use = b->use;
    t->offset = b->offset + offset;
    memcpy(t->ne, ne, sizeof t->ne);
    memcpy(t->nb, nb, sizeof t->nb);
    return index;
}

int32_t meta_local_binding(meta_planner *p, uint32_t rank, const eng_tensor *like, uint32_t binding, const int64_t *ne)
{
    meta_rgraph *g = &p->ranks[rank];
    int32_t index = meta_local_scratch(p, rank, like, ne);

    if (index < 0)
        return -1;
    if (!meta_grow((void **)&g->bindings, g->n_bindings, &g->cap_bindings, sizeof *g->bindings) ||
        !meta_grow((void **)&g->bound_to, g->n_bindings, &g->cap_bound, sizeof *g->bound_to)) {
        meta_planner_nomem(p);
        return -1;
    }
    g->tensors[index].binding = (int32_t)g->n_bindings;
    g->tensors[index].use = like->use;
    g->bindings[g->n_bindings] = index;
    g->bound_to[g->n_bindings++] = binding;
    return index;
}

eng_node *meta_local_node(meta_planner *p, uint32_t rank, uint32_t op, const char *name, int32_t origin)
{
    meta_rgraph *g = &p->ranks[rank];

    if (meta_failed(p))
        return NULL;
    if (!meta_grow((void **)&g->nodes, g->n_nodes, &g->cap_nodes, sizeof *g->nodes) ||
        !meta_grow((void **)&g->origin, g->n_nodes, &g->cap_origin, sizeof *g->origin)) {
        meta_planner_nomem(p);
        return NULL;
    }
    if (g->at_barrier && op != ENG_OP_EXTERN)
        g->section++;
    g->at_barrier = op == ENG_OP_EXTERN;
    eng_node *n = &g->nodes[g->n_nodes];
    memset(n, 0, sizeof *n);
    n->size = sizeof *n;
    n->op = op;
    for (uint32_t i = 0; i < ENG_MAX_INPUTS; i++)
        n->in[i] = -1;
    for (uint32_t i = 0; i < ENG_MAX_OUTPUTS; i++)
        n->out[i] = -1;
    n->section = g->section;
    n->name = name;
    g->origin[g->n_nodes++] = origin;
    return n;
}

/* A contiguous copy of the same type, bit by bit. */
static int32_t copy(meta_planner *p, uint32_t rank, int32_t tensor)
{
    eng_tensor t = p->ranks[rank].tensors[tensor];
    int32_t out = meta_local_scratch(p, rank, &t, t.ne);
    eng_node *n = out < 0 ? NULL : meta_local_node(p, rank, ENG_OP_CPY, t.name, -1);

    if (!n)
        return -1;
    n->in[0] = tensor;
    n->out[0] = out;
    n->ip[ENG_CPY_TYPE] = t.type;
    return out;
}

int32_t meta_local_contiguous(meta_planner *p, uint32_t rank, int32_t tensor)
{
    if (tensor < 0 || meta_is_contiguous(p, &p->ranks[rank].tensors[tensor]))
        return tensor;
    return copy(p, rank, tensor);
}

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
    int32_t w = copy(p, rank, meta_local_window(p, rank, tensor, ne, nb, offset, &t));
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

/* Strides of a reshaped tensor over the same memory: runs of old dimensions that
 * follow one another without gaps may be divided anew.  False: not possible. */
static bool reshape_strides(const meta_planner *p, const eng_tensor *t, const int64_t *to, int64_t *nb)
{
    int64_t block = meta_type_info(p->device, t->type)->block, old[ENG_MAX_RANK], stride[ENG_MAX_RANK];
    uint32_t n_old = 0, o = 0, d = 0;

    meta_tensor_layout(p, t->type, to, nb);
    for (uint32_t i = 0; i < ENG_MAX_RANK; i++) {
        int64_t n = i == 0 ? t->ne[0] / block : t->ne[i];
        if (n == 0)
            return true; /* nothing to see */
        if (n == 1)
            continue;
        old[n_old] = n;
        stride[n_old++] = t->nb[i];
    }
    while (d < ENG_MAX_RANK && o < n_old) {
        uint32_t last = o, first = d;
        int64_t want = d == 0 ? to[0] / block : to[d], have = old[o];
        if (want == 1 && (d > 0 || t->nb[0] == nb[0])) {
            d++;
            continue;
        }
        while (want != have) {
            if (want < have) {
                if (++d == ENG_MAX_RANK)
                    return false;
                want *= to[d];
            } else {
                if (last + 1 == n_old || stride[last + 1] != stride[last] * old[last])
                    return false;
                have *= old[++last];
            }
        }
        for (int64_t s = stride[o]; first <= d; first++) {
            nb[first] = s;
            s *= first == 0 ? to[0] / block : to[first];
        }
        d++;
        o = last + 1;
    }
    return o == n_old;
}

static bool local_view(meta_planner *p, uint32_t rank, const eng_node *node, const meta_version *of,
                       meta_version *v)
{
    const eng_tensor *result = meta_tensor_of(p, node->out[0]);
    int32_t base = of->local[rank];
    int64_t ne[ENG_MAX_RANK], nb[ENG_MAX_RANK];
    uint64_t offset = 0;

    meta_local_ne(&v->place, rank, result->ne, ne);
    if (node->op == ENG_OP_RESHAPE && !reshape_strides(p, &p->ranks[rank].tensors[base], ne, nb)) {
        base = copy(p, rank, base);
        v->original = false;
        if (base >= 0)
            meta_tensor_layout(p, result->type, ne, nb);
    }
    if (base < 0)
        return false;
    const eng_tensor *b = &p->ranks[rank].tensors[base];
    if (node->op != ENG_OP_RESHAPE)
        memcpy(nb, b->nb, sizeof nb);
    if (node->op == ENG_OP_RESHAPE) {
        ; /* done */
    } else if (node->op == ENG_OP_PERMUTE) {
        for (uint32_t d = 0; d < ENG_MAX_RANK; d++)
            nb[d] = b->nb[node->ip[ENG_PERMUTE_DIM0 + d]];
    } else {
        uint32_t d = (uint32_t)node->ip[ENG_SLICE_DIM];
        int64_t begin = node->ip[ENG_SLICE_BEGIN];
        const eng_type_info *type = meta_type_info(p->device, b->type);
        if (of->place.kind == META_SHARDED && of->place.cut.dim == d)
            begin = meta_cut_local_position(&of->place.cut, rank, begin);
        offset = (uint64_t)((d == 0 ? begin / type->block : begin) * b->nb[d]);
    }
    v->local[rank] = meta_local_window(p, rank, base, ne, nb, offset, result);
    return v->local[rank] >= 0;
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
    meta_owned_view(node, &place);
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

/* -- nodes ----------------------------------------------------------------------------- */

/* Global indices as the owner of one range of rows sees them, for the node `origin`. */
static int32_t rebased(meta_planner *p, uint32_t rank, int32_t origin, int32_t ids, const meta_strategy *s)
{
    ids = meta_local_contiguous(p, rank, ids);
    if (ids < 0)
        return -1;
    eng_tensor t = p->ranks[rank].tensors[ids];
    int32_t out = meta_local_scratch(p, rank, &t, t.ne);
    eng_node *n = out < 0 ? NULL : meta_local_node(p, rank, ENG_OP_REBASE, meta_node_of(p, origin)->name, origin);

    if (!n)
        return -1;
    n->in[0] = ids;
    n->out[0] = out;
    n->ip[ENG_REBASE_BEGIN] = meta_part_begin(s->part, rank) * s->rebase_inner;
    n->ip[ENG_REBASE_END] = n->ip[ENG_REBASE_BEGIN] + meta_part_length(s->part, rank) * s->rebase_inner;
    return out;
}

/* Of a sum of two sums of different ranks, on a rank that has a part of one only: that. */
static bool pass_on(meta_planner *p, uint32_t rank, int32_t origin, const meta_strategy *s, meta_version *const *in,
                    meta_version *out)
{
    const eng_node *global = meta_node_of(p, origin);

    if ((global->op != ENG_OP_ADD && global->op != ENG_OP_SUB) || s->out[0].kind != META_PARTIAL ||
        s->in[0].kind != META_PARTIAL || s->in[1].kind != META_PARTIAL)
        return false;
    uint32_t present = in[0]->local[rank] >= 0 ? 0 : 1;
    if (in[1 - present]->local[rank] >= 0 || in[present]->local[rank] < 0)
        return false;
    const eng_tensor *t = meta_tensor_of(p, global->out[0]);
    int32_t y = out->local[rank] = meta_local_scratch(p, rank, t, t->ne);
    eng_node *n = y < 0 ? NULL : meta_local_node(p, rank, ENG_OP_SCALE, global->name, origin);
    if (n) {
        n->in[0] = in[present]->local[rank];
        n->out[0] = y;
        n->fp[ENG_SCALE_S] = present == 1 && global->op == ENG_OP_SUB ? -1 : 1;
    }
    return true;
}

int32_t meta_local_operand(meta_planner *p, uint32_t rank, int32_t value, const meta_version *version)
{
    const eng_tensor *t = meta_tensor_of(p, value);
    int32_t local = version->local[rank];
    int64_t step = meta_type_info(p->device, t->type)->block_bytes;

    if (local >= 0 && t->nb[0] == step && p->ranks[rank].tensors[local].nb[0] != step)
        return meta_local_contiguous(p, rank, local);
    return local;
}

void meta_local_op(meta_planner *p, uint32_t rank, int32_t origin, const meta_strategy *s, meta_version *const *in,
                   meta_version *const *out)
{
    const eng_node *global = meta_node_of(p, origin);
    int32_t operands[ENG_MAX_INPUTS], results[ENG_MAX_OUTPUTS];
    int64_t ne[ENG_MAX_RANK];

    if (pass_on(p, rank, origin, s, in, out[0]))
        return;
    for (uint32_t i = 0; i < ENG_MAX_INPUTS; i++) {
        operands[i] = global->in[i] >= 0 ? meta_local_operand(p, rank, global->in[i], in[i]) : -1;
        if (operands[i] >= 0 && s->rebase == (int)i)
            operands[i] = rebased(p, rank, origin, operands[i], s);
        if (global->in[i] >= 0 && operands[i] < 0 && !meta_failed(p))
            p->status = META_FAIL(p->device, ENG_ERR_INTERNAL, "%s (node %s): operand %u is missing on %s", "meta",
                                  global->name, (unsigned)i, p->device->ranks[rank].name);
    }
    for (uint32_t i = 0; i < ENG_MAX_OUTPUTS; i++) {
        results[i] = -1;
        if (global->out[i] < 0 || meta_failed(p))
            continue;
        const eng_tensor *t = meta_tensor_of(p, global->out[i]);
        meta_local_ne(&out[i]->place, rank, t->ne, ne);
        results[i] = out[i]->local[rank] = meta_local_scratch(p, rank, t, ne);
    }
    eng_node *n = meta_local_node(p, rank, global->op, global->name, origin);
    if (!n)
        return;
    memcpy(n->in, operands, sizeof operands);
    memcpy(n->out, results, sizeof results);
    memcpy(n->ip, global->ip, sizeof n->ip);
    memcpy(n->fp, global->fp, sizeof n->fp);
    if (global->op == ENG_OP_REPEAT)
        memcpy(&n->ip[ENG_RESHAPE_NE0], p->ranks[rank].tensors[results[0]].ne, sizeof ne);
}
