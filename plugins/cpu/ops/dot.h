/*
 * Rows of integers and scales (ints.h) decoded, and multiplied with columns.
 *
 * With one column a scale multiplies the sum of what it belongs to.  Where there are minima each
 * weight is formed first: sum d q x and sum m x could cancel.
 *
 * Included by formats.c.
 */
#ifndef CPU_DOT_H
#define CPU_DOT_H

#include "ints.h"

/* A type, all constants once inlined: blocks of `bytes` bytes, `parts` parts of `part` elements each.  Without `prep` a
 * block has one scale, f16 at its begin, or one of `powers`; with it, one for each `per` elements. */
typedef struct int_format {
    void (*ints)(const uint8_t *block, int part, vf *w);
    void (*prep)(const uint8_t *block, float *scales);
    const float *powers;
    int part, parts, bytes, per;
    int minima; /* where they begin among the scales, or in the block; 0: none */
} int_format;

#define GROUP 32
#define GROUPS 4 /* of a part, at most */
#define SCALES 32
#define AHEAD 2048 /* bytes: lines that are asked for so much earlier */

/* Scales or minima of a group: of elements 0 .. 15 in the first four lanes, of the others in the last four. */
CPU_INLINE vf factors(const uint8_t *block, const float *scales, int g, int from, const int_format f)
{
    if (f.prep && f.per == 16) {
        __m256d pair = _mm256_broadcast_sd((const double *)(const void *)(scales + from + 2 * g));
        return (vf)_mm256_permutevar_ps((__m256)pair, _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1));
    }
    if (f.prep)
        return v_set1(scales[from + g]);
    if (f.powers)
        return v_set1(f.powers[block[0]]);
    return v_f16_all(block + from);
}

/* A group's 32 integers with 32 floats, added to sums of which sum `g` of four is free. */
CPU_INLINE void dot_group(const uint8_t *block, const vf *w, const float *scales, int g, const float *x, vf *acc,
                          const int_format f)
{
    vf d = factors(block, scales, g, 0, f);
    if (f.minima) {
        vf m = factors(block, scales, g, f.minima, f);
        CPU_UNROLL
        for (int i = 0; i < 4; i++)
            acc[i] = v_fma(v_fma(w[i], d, m), v_load(x + 8 * i), acc[i]);
        return;
    }
    vf sum = w[0] * v_load(x);
    CPU_UNROLL
    for (int i = 1; i < 4; i++)
        sum = v_fma(w[i], v_load(x + 8 * i), sum);
    acc[g % 4] = v_fma(sum, d, acc[g % 4]);
}

/* One row with a column in its order.  Rows follow one another in memory: to take several at a time would be no faster,
 * and each would be a stream of its own that the machine must find. */
CPU_INLINE float dot_row(int64_t k, const uint8_t *b, const float *x, const int_format f)
{
    const int groups = f.part / GROUP;
    vf acc[4] = {{0}, {0}, {0}, {0}};
    for (int64_t i = 0; i < k; i += f.part * f.parts, b += f.bytes, x += f.part * f.parts) {
        float scales[SCALES];
        CPU_UNROLL
        for (int at = 0; at < f.bytes; at += 64)
            __builtin_prefetch(b + AHEAD + at, 0, 3);
        if (f.prep)
            f.prep(b, scales);
        CPU_UNROLL
        for (int part = 0; part < f.parts; part++) {
            vf w[4 * GROUPS];
            f.ints(b, part, w);
            CPU_UNROLL
            for (int g = 0; g < groups; g++)
                dot_group(b, w + 4 * g, scales, part * groups + g, x + (part * groups + g) * GROUP, acc, f);
        }
    }
    return v_sum((acc[0] + acc[2]) + (acc[1] + acc[3]));
}

/* A group's elements. */
CPU_INLINE void group_weights(const uint8_t *block, const vf *w, const float *scales, int g, vf *out,
                              const int_format f)
{
    vf d = factors(block, scales, g, 0, f);
    CPU_UNROLL
    for (int i = 0; i < 4; i++)
        out[i] = f.minima ? v_fma(w[i], d, factors(block, scales, g, f.minima, f)) : w[i] * d;
}

/* A group's weights with one column.  Where there are no minima `w` are the integers and the sum is scaled: one register
 * for what is added to is all that a column needs, and none has to go to the stack. */
CPU_INLINE vf dot_column(const vf *w, vf d, const float *x, vf acc, const bool scaled)
{
    vf sum = w[0] * v_load(x);
    CPU_UNROLL
    for (int i = 1; i < 4; i++)
        sum = v_fma(w[i], v_load(x + 8 * i), sum);
    return scaled ? acc + sum : v_fma(sum, d, acc);
}

/* One row with `cols` columns. */
CPU_INLINE void dot_columns(int64_t k, const uint8_t *b, int64_t stride, const float *const *x, const int cols,
                            float *out, const int_format f)
{
    const int groups = f.part / GROUP;
    vf acc[4] = {{0}};
    for (int64_t i = 0; i < k; i += f.part * f.parts, b += f.bytes) {
        float scales[SCALES];
        CPU_UNROLL
        for (int at = 0; at < f.bytes; at += 64)
            __builtin_prefetch(b + 2 * stride + at, 0, 3);
        if (f.prep)
            f.prep(b, scales);
        CPU_UNROLL
        for (int part = 0; part < f.parts; part++) {
            vf w[4 * GROUPS];
            f.ints(b, part, w);
            CPU_UNROLL
            for (int g = 0; g < groups; g++) {
                const int at = part * groups + g;
                vf d = factors(b, scales, at, 0, f);
                if (f.minima)
                    group_weights(b, w + 4 * g, scales, at, w + 4 * g, f);
                CPU_UNROLL
                for (int c = 0; c < cols; c++)
                    acc[c] = dot_column(w + 4 * g, d, x[c] + i + at * GROUP, acc[c], f.minima != 0);
            }
        }
    }
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        out[c * CPU_DOT_ROWS] = v_sum(acc[c]);
}

/* Two vectors of every second element as the elements: of lanes 0 .. 3 and of 4 .. 7. */
CPU_INLINE void store_merged(vf even, vf odd, float *first, float *second)
{
    __m256 lo = _mm256_unpacklo_ps((__m256)even, (__m256)odd), hi = _mm256_unpackhi_ps((__m256)even, (__m256)odd);
    v_store(first, (vf)_mm256_permute2f128_ps(lo, hi, 0x20));
    v_store(second, (vf)_mm256_permute2f128_ps(lo, hi, 0x31));
}

/* Elements begin .. begin + n - 1 of a row, in their order or in that of dot. */
CPU_INLINE void decode_ints(const uint8_t *row, int64_t begin, int64_t n, float *out, const bool ordered,
                            const int_format f)
{
    const int groups = f.part / GROUP;
    const uint8_t *b = row + begin / (f.part * f.parts) * f.bytes;
    for (int64_t i = 0; i < n; i += f.part * f.parts, b += f.bytes) {
        float scales[SCALES];
        if (f.prep)
            f.prep(b, scales);
        CPU_UNROLL
        for (int part = 0; part < f.parts; part++) {
            vf q[4 * GROUPS], w[4];
            f.ints(b, part, q);
            CPU_UNROLL
            for (int g = 0; g < groups; g++, out += GROUP) {
                group_weights(b, q + 4 * g, scales, part * groups + g, w, f);
                if (ordered) {
                    CPU_UNROLL
                    for (int l = 0; l < 4; l++)
                        v_store(out + 8 * l, w[l]);
                } else {
                    store_merged(w[0], w[1], out, out + 16);
                    store_merged(w[2], w[3], out + 8, out + 24);
                }
            }
        }
    }
}

#endif
