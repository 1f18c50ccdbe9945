/*
 * Attention split along the cells of its cache.  Every rank attends to its own cells and
 * gives the logarithm of its denominator with the result; the ranks exchange these (one
 * number a head and token), each weighs its result with its share of the common
 * denominator (Milakov, Gimelshein, arXiv:1805.02867), and what they then hold are addends:
 * a partial sum like any other, which one reduction adds up, now or later.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "planner.h"

enum { SINKS = 8, LSE = 1 }; /* operand and result of attention */

/* The rank's part of the node: result and logarithms, [1, heads, tokens]. */
static bool attend(meta_planner *p, uint32_t rank, int32_t origin, const meta_strategy *s, meta_version *const *in,
                   bool first, int32_t *o, int32_t *lse)
{
    const eng_node *global = eng_subgraph_node(p->graph, (uint32_t)origin);
    const eng_tensor *t = eng_subgraph_tensor(p->graph, global->out[0]);
    int64_t ne[ENG_MAX_RANK] = {t->ne[1], t->ne[2], 1, 1, 1, 1, 1, 1};

    *o = meta_local_scratch(p, rank, t, t->ne);
    *lse = meta_local_scratch(p, rank, t, ne);
    if (*o < 0 || *lse < 0)
        return false;
    p->ranks[rank].tensors[*lse].rank = 2;
    int32_t operands[ENG_MAX_INPUTS];
    for (uint32_t i = 0; i < ENG_MAX_INPUTS; i++) /* a sink counts once */
        operands[i] = global->in[i] >= 0 && (i != SINKS || first) ? meta_local_operand(p, rank, global->in[i], in[i]) : -1;
    eng_node *n = meta_local_node(p, rank, global->op, global->name, origin);
    if (!n)
        return false;
    memcpy(n->in, operands, sizeof operands);
    memcpy(n->ip, global->ip, sizeof n->ip);
    memcpy(n->fp, global->fp, sizeof n->fp);
    n->ip[ENG_ATTN_FIRST] += meta_part_begin(s->part, rank) * s->rebase_inner;
    n->ip[ENG_ATTN_LSE] = 1;
    n->out[0] = *o;
    n->out[LSE] = *lse;
    return true;
}

/* One node of one operand or two. */
static int32_t apply(meta_planner *p, uint32_t rank, uint32_t op, const char *name, int32_t a, int32_t b)
{
    eng_tensor like = p->ranks[rank].tensors[a];
    int32_t y = meta_local_scratch(p, rank, &like, like.ne);
    eng_node *n = y < 0 ? NULL : meta_local_node(p, rank, op, name, -1);

    if (!n)
        return -1;
    n->in[0] = a;
    n->in[1] = b;
    n->out[0] = y;
    if (op == ENG_OP_SOFT_MAX)
        n->fp[ENG_SOFT_MAX_SCALE] = 1;
    return y;
}

/* The result weighed with row `index` of the softmax over the ranks' logarithms. */
static int32_t weigh(meta_planner *p, uint32_t rank, const char *name, int32_t o, int32_t all, uint32_t index)
{
    int32_t weights = apply(p, rank, ENG_OP_SOFT_MAX, name, all, -1);
    if (weights < 0)
        return -1;
    eng_tensor t = p->ranks[rank].tensors[o], w = p->ranks[rank].tensors[weights];
    int64_t ne[ENG_MAX_RANK] = {1, t.ne[1], t.ne[2], 1, 1, 1, 1, 1}, nb[ENG_MAX_RANK];
    nb[0] = w.nb[0];
    nb[1] = w.nb[1];
    for (uint32_t d = 2; d < ENG_MAX_RANK; d++)
        nb[d] = nb[d - 1] * ne[d - 1];
    w.rank = 3;
    int32_t own = meta_local_window(p, rank, weights, ne, nb, index * (uint64_t)nb[0], &w);
    return own < 0 ? -1 : apply(p, rank, ENG_OP_MUL, name, o, own);
}

/* The logarithms as one matrix [ranks, heads * tokens] on every rank that attends. */
static meta_version *gather(meta_planner *p, const eng_node *node, uint32_t ranks, const int32_t *lse)
{
    const eng_tensor *o = eng_subgraph_tensor(p->graph, node->out[0]);
    int64_t begin[META_MAX_RANKS + 1] = {0}, ne[ENG_MAX_RANK] = {1, o->ne[1] * o->ne[2], 1, 1, 1, 1, 1, 1};
    int64_t nb[ENG_MAX_RANK];
    eng_tensor t = *o;

    t.name = meta_arena_format(p->arena, "%s.lse", node->name);
    if (!t.name) {
        meta_planner_nomem(p);
        return NULL;
    }
    t.rank = 2;
    for (uint32_t r = 0; r < p->n_ranks; r++)
        begin[r + 1] = begin[r] + (ranks >> r & 1u);
    meta_cut cut = {.part = meta_derive_partition(p, begin, p->n_ranks), .n_segs = 1, .segs = {{1, 1}}};
    if (!cut.part)
        return NULL;
    meta_place parts = meta_place_sharded(&cut), whole = meta_place_replicated();
    whole.ranks = ranks;
    meta_version *from = meta_version_alloc(p, &parts), *to = meta_version_alloc(p, &whole);
    meta_tensor_layout(p, t.type, ne, nb);
    for (uint32_t r = 0; to && r < p->n_ranks; r++)
        if (ranks >> r & 1u)
            from->local[r] = meta_local_window(p, r, lse[r], ne, nb, 0, &t);
    ne[0] = begin[p->n_ranks];
    memcpy(t.ne, ne, sizeof ne);
    t.bytes = meta_tensor_layout(p, t.type, t.ne, t.nb);
    return to && meta_exchange_make(p, &t, from, to, false) ? to : NULL;
}

void meta_merge_attention(meta_planner *p, int32_t origin, const meta_strategy *s, meta_version *const *in,
                          meta_version *out)
{
    const eng_node *node = eng_subgraph_node(p->graph, (uint32_t)origin);
    int32_t o[META_MAX_RANKS], lse[META_MAX_RANKS];
    uint32_t index = 0;

    for (uint32_t r = 0; r < p->n_ranks; r++)
        if ((s->ranks >> r & 1u) && !attend(p, r, origin, s, in, r == meta_first(s->ranks), &o[r], &lse[r]))
            return;
    meta_version *all = gather(p, node, s->ranks, lse);
    for (uint32_t r = 0; all && r < p->n_ranks; r++) {
        if (!(s->ranks >> r & 1u))
            continue;
        out->local[r] = weigh(p, r, node->name, o[r], all->local[r], index++);
        if (out->local[r] < 0)
            return;
    }
}
