/* A group of 32 elements of a column in registers: how large they are, and what they are cut into (columns.c). */
#ifndef CPU_PLANES_GROUP_H
#define CPU_PLANES_GROUP_H

#include "../ops/sizes.h"

#include "planes.h"

#define PIECES (GROUP / CPU_VL) /* registers */
#define DIGIT 127               /* the largest */

/* Sizes are floats' bits without their sign, which are in the order of what they are sizes of. */
CPU_INLINE void group_sizes(const float *x, vi *size)
{
    CPU_UNROLL
    for (int i = 0; i < PIECES; i++)
        size[i] = v_loadi(x + CPU_VL * i) & 0x7fffffff;
}

#if CPU_VL == 16

CPU_INLINE int32_t group_largest(const vi *size)
{
    return _mm512_reduce_max_epi32(_mm512_max_epi32((__m512i)size[0], (__m512i)size[1]));
}

/* A bit for each of the 32 that is larger than `than`. */
CPU_INLINE uint32_t group_larger(const vi *size, int32_t than)
{
    const __m512i least = _mm512_set1_epi32(than);
    return _mm512_cmpgt_epi32_mask((__m512i)size[0], least) |
           (uint32_t)_mm512_cmpgt_epi32_mask((__m512i)size[1], least) << 16;
}

/* Zeros in place of those of the i-th register whose bits are set. */
CPU_INLINE vi group_without(vi v, uint32_t bits, const int i)
{
    return (vi)_mm512_maskz_mov_epi32((__mmask16)(~bits >> CPU_VL * i), (__m512i)v);
}

CPU_INLINE vf round_to_integers(vf x)
{
    return (vf)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

CPU_INLINE vi integers_of(vf x)
{
    return (vi)_mm512_cvtps_epi32((__m512)x);
}

/* 32 integers that are bytes, in their order. */
CPU_INLINE vb group_bytes(const vi *v)
{
    return _mm256_set_m128i(_mm512_cvtepi32_epi8((__m512i)v[1]), _mm512_cvtepi32_epi8((__m512i)v[0]));
}

#else

CPU_INLINE int32_t group_largest(const vi *size)
{
    return largest_of((const vb *)size);
}

CPU_INLINE uint32_t group_larger(const vi *size, int32_t than)
{
    uint32_t bits = 0;
    CPU_UNROLL
    for (int i = 0; i < PIECES; i++)
        bits |= (uint32_t)_mm256_movemask_ps((__m256)(size[i] > than)) << CPU_VL * i;
    return bits;
}

CPU_INLINE vi group_without(vi v, uint32_t bits, const int i)
{
    const vi bit = v_seti(1) << v_ramp();
    return v & ((v_seti((int32_t)(bits >> CPU_VL * i)) & bit) == 0);
}

CPU_INLINE vf round_to_integers(vf x)
{
    return (vf)_mm256_round_ps((__m256)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

CPU_INLINE vi integers_of(vf x)
{
    return (vi)_mm256_cvtps_epi32((__m256)x);
}

CPU_INLINE vb group_bytes(const vi *v)
{
    const vb a = _mm256_packs_epi32((vb)v[0], (vb)v[1]), b = _mm256_packs_epi32((vb)v[2], (vb)v[3]);
    return _mm256_permutevar8x32_epi32(_mm256_packs_epi16(a, b), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

#endif

/* A register's elements, in units of `unit`, to digits; what they lack goes back to `x`, without an error. */
CPU_INLINE vi take_digit(vf *x, const float unit)
{
    const vf near = round_to_integers(*x * (1 / unit));
    const vf digit = v_max(v_min(near, v_set1(DIGIT)), v_set1(-DIGIT));
    *x = v_fma(-digit, v_set1(unit), *x);
    return integers_of(digit);
}

#endif
