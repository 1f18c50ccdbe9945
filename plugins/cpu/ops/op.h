/*
 * What every op's file includes.  An op is one function, run by every thread
 * of the device (or by one, if the work is small), each doing its share.
 * Compiled once per variant: functions are named with CPU_OP(name).
 */
#ifndef CPU_OP_H
#define CPU_OP_H

#include "config.h"

#include "../cpu.h"
#include "rows.h"

#define CPU_OP(name) CPU_V(cpu_op_##name)
#define CPU_DECLARE(name) void CPU_OP(name)(const cpu_task *task, cpu_run *run)

CPU_DECLARE(mul_mat);
CPU_DECLARE(mul_mat_id);
CPU_DECLARE(hadamard);
CPU_DECLARE(quantize);
CPU_DECLARE(dequantize);
CPU_DECLARE(cpy);
CPU_DECLARE(store);
CPU_DECLARE(gated_delta_net);
CPU_DECLARE(ssm_conv);
CPU_DECLARE(attention);
CPU_DECLARE(get_rows);
CPU_DECLARE(set_rows);
CPU_DECLARE(rms_norm);
CPU_DECLARE(norm);
CPU_DECLARE(l2_norm);
CPU_DECLARE(group_norm);
CPU_DECLARE(rope);
CPU_DECLARE(soft_max);
CPU_DECLARE(add);
CPU_DECLARE(sub);
CPU_DECLARE(mul);
CPU_DECLARE(div);
CPU_DECLARE(scale);
CPU_DECLARE(unary);
CPU_DECLARE(glu);
CPU_DECLARE(concat);
CPU_DECLARE(repeat);
CPU_DECLARE(pad);
CPU_DECLARE(argmax);
CPU_DECLARE(top_k);
CPU_DECLARE(sum_rows);
CPU_DECLARE(rebase);

/* Memory the ops with working buffers ask for: per thread, shared. */
#define CPU_BYTES(name, kind) size_t CPU_V(cpu_##kind##_##name)(const cpu_task *task, int threads)
CPU_BYTES(mul_mat, thread);
CPU_BYTES(mul_mat, shared);
CPU_BYTES(mul_mat_id, thread);
CPU_BYTES(gated_delta_net, thread);
CPU_BYTES(ssm_conv, thread);
CPU_BYTES(attention, thread);
CPU_BYTES(attention, shared);
CPU_BYTES(top_k, thread);
CPU_BYTES(rope, thread);

/* Room for `n` floats, rounded up so that what follows is aligned. */
CPU_INLINE size_t floats(int64_t n)
{
    return ((size_t)n * sizeof(float) + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
}

/* Cuts a piece off a scratch memory. */
CPU_INLINE float *take_floats(uint8_t **scratch, int64_t n)
{
    float *p = (float *)*scratch;
    *scratch += floats(n);
    return p;
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
