/* Ops on a pool of states: which tokens a sequence owns, which row its state lies in, and where in that row. */
#ifndef CPU_POOL_H
#define CPU_POOL_H

#include "op.h"

/* Element (i, j) of src, dst or cu. */
CPU_INLINE int32_t pool_index(const cpu_tensor *t, int64_t i, int64_t j)
{
    return (int32_t)index_at(t, t->data + i * t->nb[0] + j * t->nb[1]);
}

/* Tokens begin .. end - 1 are the sequence's; whatever cu holds, they are among those that there are. */
CPU_INLINE void pool_tokens(const cpu_tensor *cu, int64_t seq, int64_t tokens, int64_t *begin, int64_t *end)
{
    const int64_t t0 = pool_index(cu, seq, 0), t1 = pool_index(cu, seq + 1, 0);
    *begin = t0 < 0 ? 0 : t0 < tokens ? t0 : tokens;
    *end = t1 < *begin ? *begin : t1 < tokens ? t1 : tokens;
}

/* Tokens after which the state is written: a sequence's last ones. */
CPU_INLINE int64_t pool_snapshots(int64_t slots, const cpu_tensor *dst)
{
    return slots < dst->ne[0] ? slots : dst->ne[0];
}

/* -- states of heads: [element, column, head, row]; operands and results: [channel, head, token] ---- */

CPU_INLINE bool pool_has(const cpu_tensor *state, int64_t row)
{
    return row >= 0 && row < state->ne[3];
}

CPU_INLINE float *pool_column(const cpu_tensor *state, int64_t column, int64_t head, int64_t row)
{
    return (float *)(state->data + column * state->nb[1] + head * state->nb[2] + row * state->nb[3]);
}

CPU_INLINE float *head_vector(const cpu_tensor *x, int64_t head, int64_t token)
{
    return (float *)(x->data + head * x->nb[1] + token * x->nb[2]);
}

/* Tokens that belong to no sequence give zeros: n channels of a head from `channel` on. */
CPU_INLINE void zero_tokens(const cpu_tensor *o, int64_t head, int64_t channel, int64_t n, int64_t begin, int64_t end)
{
    for (int64_t t = begin; t < end; t++)
        memset(head_vector(o, head, t) + channel, 0, (size_t)n * sizeof(float));
}

/* Where there is no sequence no unit has the tokens: all of them give zeros. */
CPU_INLINE void zero_all(const cpu_run *run, const cpu_tensor *o)
{
    int64_t begin, end;
    cpu_share(run, o->ne[1], 1, &begin, &end);
    for (int64_t head = begin; head < end; head++)
        zero_tokens(o, head, 0, o->ne[0], 0, o->ne[2]);
}

#endif
