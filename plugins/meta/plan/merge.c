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

#include "planner.h"

/* The rank's part of the node: result and logarithms, [1, heads, tokens]. */
static bool attend(meta_planner *p, uint32_t rank, int32_t origin, const meta_strategy *s, meta_version *const *in,
                   bool first, int32_t *o, int32_t *lse)
{
    const eng_node *global = meta_node_of(p, origin);
    const eng_tensor *t = meta_tensor_of(p, global->out[ENG_ATTN_OUT_O]);
    int64_t ne[ENG_MAX_RANK] = {t->ne[1], t->ne[2], 1, 1, 1, 1, 1, 1};

    *o = meta_local_scratch(p, rank, t, t->ne);
    *lse = meta_local_scratch(p, rank, t, ne);
    if (*o < 0 || *lse < 0)
        return false;
    p->ranks[rank].tensors[*lse].rank = 2;
    int32_t operands[ENG_MAX_INPUTS];
    for (uint32_t i = 0; i < ENG_MAX_INPUTS; i++) {
        bool has = global->in[i] >= 0 && (i != ENG_ATTN_IN_SINKS || first); /* a sink counts once */
        operands[i] = has ? meta_local_operand(p, rank, global->in[i], in[i]) : -1;
    }
    eng_node *n = meta_local_form(p, rank, origin, operands);
    if (!n)
        return false;
    n->ip[ENG_ATTN_FIRST] += meta_part_begin(s->part, rank) * s->rebase_inner;
    if (s->rebase_repeats) {
        n->ip[ENG_ATTN_RUN] = meta_part_length(s->part, rank) * s->rebase_inner;
        n->ip[ENG_ATTN_PERIOD] = s->part->extent * s->rebase_inner;
    }
    n->ip[ENG_ATTN_LSE] = 1;
    n->out[ENG_ATTN_OUT_O] = *o;
    n->out[ENG_ATTN_OUT_LSE] = *lse;
    return true;
}

/* The result weighed with row `index` of the softmax over the ranks' logarithms. */
static int32_t weigh(meta_planner *p, uint32_t rank, int32_t origin, int32_t o, int32_t all, uint32_t index)
{
    int32_t weights = meta_local_apply(p, rank, origin, ENG_OP_SOFT_MAX, all, -1, 1);
    int32_t own = weights < 0 ? -1 : meta_numbers_own(p, rank, weights, index, p->ranks[rank].tensors[o].ne);

    return own < 0 ? -1 : meta_local_apply(p, rank, origin, ENG_OP_MUL, o, own, 0);
}

void meta_merge_attention(meta_planner *p, int32_t origin, const meta_strategy *s, meta_version *const *in,
                          meta_version *out)
{
    const eng_node *node = meta_node_of(p, origin);
    int32_t o[META_MAX_RANKS], lse[META_MAX_RANKS];
    uint32_t index = 0;

    for (uint32_t r = 0; r < p->n_ranks; r++)
        if ((s->ranks >> r & 1u) && !attend(p, r, origin, s, in, r == meta_first(s->ranks), &o[r], &lse[r]))
            return;
    meta_version *all = meta_numbers_gather(p, node, "lse", s->ranks, lse);
    for (uint32_t r = 0; all && r < p->n_ranks; r++) {
        if (!(s->ranks >> r & 1u))
            continue;
        out->local[r] = weigh(p, r, origin, o[r], all->local[r], index++);
        if (out->local[r] < 0)
            return;
    }
}
