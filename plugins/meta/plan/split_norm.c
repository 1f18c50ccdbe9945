/*
 * Root-mean-square and Euclidean norms of rows that are split among the ranks.  With z the
 * rank's part of the row over its own length and q that length,
 *
 *     q = |part|,  z = part / q,  part / |row| = z * q / |(q of all ranks)|:
 *
 * the ranks exchange q, one number a row, and norm the row of the lengths in place of the
 * row itself.  The length is the sum of part * z: no op takes a root.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <math.h>

#include "planner.h"

/* Parts shorter than this count as zero: far below any eps, and its square is still a
 * normal number. */
#define SHORTEST 1e-18

/* z and q of the rank's part. */
static bool measure(meta_planner *p, uint32_t rank, int32_t origin, const meta_version *x, int32_t *z, int32_t *q)
{
    const eng_node *node = meta_node_of(p, origin);
    int32_t own = meta_local_operand(p, rank, node->in[0], x);

    *z = own < 0 ? -1 : meta_local_apply(p, rank, origin, ENG_OP_L2_NORM, own, -1, SHORTEST);
    int32_t product = *z < 0 ? -1 : meta_local_apply(p, rank, origin, ENG_OP_MUL, own, *z, 0);
    *q = product < 0 ? -1 : meta_local_apply(p, rank, origin, ENG_OP_SUM_ROWS, product, -1, 0);
    return *q >= 0;
}

/* The rank's part of the result, from the lengths of all parts. */
static int32_t norm(meta_planner *p, uint32_t rank, int32_t origin, int32_t z, int32_t lengths, uint32_t index,
                    int32_t weights)
{
    const eng_node *node = meta_node_of(p, origin);
    double n = (double)meta_tensor_of(p, node->in[0])->ne[0], eps = node->fp[ENG_NORM_EPS];
    double parts = (double)p->ranks[rank].tensors[lengths].ne[0];
    bool mean = node->op == ENG_OP_RMS_NORM;

    /* mean(lengths^2) + eps n / parts = (mean(row^2) + eps) n / parts */
    int32_t all = meta_local_apply(p, rank, origin, node->op, lengths, -1, mean ? eps * n / parts : eps);
    if (all >= 0 && mean)
        all = meta_local_apply(p, rank, origin, ENG_OP_SCALE, all, -1, sqrt(n / parts));
    int32_t own = all < 0 ? -1 : meta_numbers_own(p, rank, all, index, p->ranks[rank].tensors[z].ne);
    int32_t y = own < 0 ? -1 : meta_local_apply(p, rank, origin, ENG_OP_MUL, z, own, 0);
    return y < 0 || weights < 0 ? y : meta_local_apply(p, rank, origin, ENG_OP_MUL, y, weights, 0);
}

void meta_split_norm(meta_planner *p, int32_t origin, const meta_strategy *s, meta_version *const *in,
                     meta_version *out)
{
    const eng_node *node = meta_node_of(p, origin);
    int32_t z[META_MAX_RANKS], q[META_MAX_RANKS];
    uint32_t index = 0;

    for (uint32_t r = 0; r < p->n_ranks; r++)
        if ((s->ranks >> r & 1u) && !measure(p, r, origin, in[0], &z[r], &q[r]))
            return;
    meta_version *lengths = meta_numbers_gather(p, node, "lengths", s->ranks, q);
    for (uint32_t r = 0; lengths && r < p->n_ranks; r++) {
        if (!(s->ranks >> r & 1u))
            continue;
        int32_t w = node->in[1] >= 0 ? meta_local_operand(p, r, node->in[1], in[1]) : -1;
        out->local[r] = norm(p, r, origin, z[r], lengths->local[r], index++, w);
        if (out->local[r] < 0)
            return;
    }
}
