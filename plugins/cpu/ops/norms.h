/* Sums over rows, for the norms: always in the same order. */
#ifndef CPU_NORMS_H
#define CPU_NORMS_H

#include "op.h"

CPU_INLINE float sum_of(const float *x, int64_t n)
{
    vf s0 = {0}, s1 = {0};
    int64_t i = 0;
    for (; i + 2 * CPU_VL <= n; i += 2 * CPU_VL) {
        s0 += v_load(x + i);
        s1 += v_load(x + i + CPU_VL);
    }
    float s = v_sum(s0 + s1);
    for (; i < n; i++)
        s += x[i];
    return s;
}

/* The sum of (x - shift)^2. */
CPU_INLINE float square_sum(const float *x, int64_t n, float shift)
{
    vf s0 = {0}, s1 = {0};
    int64_t i = 0;
    for (; i + 2 * CPU_VL <= n; i += 2 * CPU_VL) {
        vf a = v_load(x + i) - shift, b = v_load(x + i + CPU_VL) - shift;
        s0 = v_fma(a, a, s0);
        s1 = v_fma(b, b, s1);
    }
    float s = v_sum(s0 + s1);
    for (; i < n; i++)
        s += (x[i] - shift) * (x[i] - shift);
    return s;
}

#endif
