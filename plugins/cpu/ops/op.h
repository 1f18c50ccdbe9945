/*
 * What every op's file includes.  An op is one function, run by every thread
 * of the device (or by one, if the work is small), each doing its share.
 * Compiled once per variant.
 */
#ifndef CPU_OP_H
#define CPU_OP_H

#include "config.h"

#include "../cpu.h"
#include "rows.h"

/* An op's entry, which table.c finds by the op's name: what every thread runs, and the
 * working memory that it asks for.  CPU_DEFINE: rows of all operands as f32, for
 * ops that convert their operands.  CPU_DEFINE_TAKING: an op that takes its work in portions, _AGAIN:
 * and finds what the task before has packed. */
#define CPU_DEFINE_WITH(name, run, thread, shared)                                                                     \
    const cpu_op CPU_V(cpu_op_##name) = {run, thread, shared, false, NULL};
#define CPU_DEFINE_TAKING(name, run, thread, shared)                                                                   \
    CPU_DEFINE_AGAIN(name, run, thread, shared, NULL)
#define CPU_DEFINE_AGAIN(name, run, thread, shared, again)                                                             \
    const cpu_op CPU_V(cpu_op_##name) = {run, thread, shared, true, again};
#define CPU_DEFINE(name, run) CPU_DEFINE_WITH(name, run, row_bytes, NULL)

/* Room for `n` floats, rounded up so that what follows is aligned. */
CPU_INLINE size_t floats(int64_t n)
{
    return cpu_aligned((size_t)n * sizeof(float));
}

/* Cuts a piece off a scratch memory. */
CPU_INLINE float *take_floats(uint8_t **scratch, int64_t n)
{
    float *p = (float *)*scratch;
    *scratch += floats(n);
    return p;
}

static inline size_t row_bytes(const cpu_task *task, int threads)
{
    (void)threads;
    size_t bytes = 0;
    for (int i = 0; i < ENG_MAX_INPUTS; i++)
        if (task->in[i])
            bytes += floats(2 * task->in[i]->ne[0]);
    return bytes;
}

CPU_INLINE float *out_row(const cpu_tensor *t, int64_t row)
{
    return (float *)(t->data + row * t->nb[1]); /* results are contiguous */
}

CPU_INLINE int64_t count(const cpu_tensor *t)
{
    return t->ne[0] * t->rows;
}

CPU_INLINE bool same_shape(const cpu_tensor *a, const cpu_tensor *b)
{
    return memcmp(a->ne, b->ne, sizeof a->ne) == 0;
}

/* f32 without gaps: one flat array. */
CPU_INLINE bool flat_f32(const cpu_tensor *t)
{
    return t->contiguous && t->type == ENG_TYPE_F32;
}

/* ALiBi's factor of a head (arXiv:2108.12409). */
CPU_INLINE float alibi_slope(double max_bias, int64_t heads, int64_t h)
{
    if (max_bias <= 0)
        return 1;
    int64_t n = 1;
    while (2 * n <= heads)
        n *= 2;
    return (float)(h < n ? exp2(-max_bias * (double)(h + 1) / (double)n)
                         : exp2(-max_bias * (double)(2 * (h - n) + 1) / (double)(2 * n)));
}

#endif
