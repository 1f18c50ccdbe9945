/*
 * One number a row from each rank, on all of them: what ops need whose rows or cells are
 * split among the ranks (merge.c, split_norm.c).
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "planner.h"

int32_t meta_local_apply(meta_planner *p, uint32_t rank, int32_t origin, uint32_t op, int32_t a, int32_t b,
                         double parameter)
{
    const char *name = meta_node_of(p, origin)->name;
    eng_tensor like = p->ranks[rank].tensors[a];
    int64_t ne[ENG_MAX_RANK];

    memcpy(ne, like.ne, sizeof ne);
    if (op == ENG_OP_SUM_ROWS)
        ne[0] = 1;
    int32_t y = meta_local_scratch(p, rank, &like, ne);
    eng_node *n = y < 0 ? NULL : meta_local_node(p, rank, op, name, origin);
    if (!n)
        return -1;
    n->in[0] = a;
    n->in[1] = b;
    n->out[0] = y;
    n->fp[0] = parameter;
    return y;
}

meta_version *meta_numbers_gather(meta_planner *p, const eng_node *node, const char *what, uint32_t ranks,
                                  const int32_t *local)
{
    eng_tensor t = *meta_tensor_of(p, node->out[0]);
    int64_t begin[META_MAX_RANKS + 1] = {0}, ne[ENG_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1}, nb[ENG_MAX_RANK];

    t.name = eu_arena_format(p->arena, "%s.%s", node->name, what);
    if (!t.name) {
        meta_planner_nomem(p);
        return NULL;
    }
    t.rank = 2;
    for (uint32_t d = 1; d < ENG_MAX_RANK; d++)
        ne[1] *= t.ne[d];
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
            from->local[r] = meta_local_window(p, r, local[r], ne, nb, 0, &t);
    ne[0] = begin[p->n_ranks];
    memcpy(t.ne, ne, sizeof ne);
    t.bytes = meta_tensor_layout(p, t.type, t.ne, t.nb);
    return to && meta_exchange_make(p, &t, from, to, false) ? to : NULL;
}

int32_t meta_numbers_own(meta_planner *p, uint32_t rank, int32_t matrix, uint32_t index, const int64_t *rows)
{
    eng_tensor m = p->ranks[rank].tensors[matrix];
    int64_t ne[ENG_MAX_RANK], nb[ENG_MAX_RANK];

    memcpy(ne, rows, sizeof ne);
    ne[0] = 1;
    nb[0] = m.nb[0];
    nb[1] = m.nb[1];
    for (uint32_t d = 2; d < ENG_MAX_RANK; d++)
        nb[d] = nb[d - 1] * ne[d - 1];
    m.rank = ENG_MAX_RANK;
    return meta_local_window(p, rank, matrix, ne, nb, index * (uint64_t)nb[0], &m);
}
