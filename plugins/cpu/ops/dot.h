/*
 * Rows of integers and scales (ints.h) decoded, and multiplied with columns.
 *
 * Each weight is formed first.  A scale for the sum of what it belongs to would be fewer operations with one column,
 * but other bits than those of many columns, where weights are decoded once; and sum d q x and sum m x could cancel.
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
#define AHEAD 4096 /* bytes: lines that are asked for so much earlier */

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

/* A group's elements. */
CPU_INLINE void group_weights(const uint8_t *block, const vf *w, const float *scales, int g, vf *out,
                              const int_format f)
{
    vf d = factors(block, scales, g, 0, f);
    CPU_UNROLL
    for (int i = 0; i < 4; i++)
        out[i] = f.minima ? v_fma(w[i], d, factors(block, scales, g, f.minima, f)) : w[i] * d;
}

/* A part of a block with `cols` columns. */
CPU_INLINE void dot_part(const uint8_t *block, const int part, const float *scales, const float *const *x, int64_t at,
                         const int cols, vf (*acc)[4], const chain_range chains, const int_format f)
{
    vf q[4 * GROUPS], w[4];
    f.ints(block, part, q);
    CPU_UNROLL
    for (int g = 0; g < f.part / GROUP; g++) {
        group_weights(block, q + 4 * g, scales, part * (f.part / GROUP) + g, w, f);
        CPU_UNROLL
        for (int c = 0; c < cols; c++)
            CPU_UNROLL
            for (int j = chains.from; j < chains.to; j++)
                acc[c][j] = v_fma(w[j], v_load(x[c] + at + g * GROUP + 8 * j), acc[c][j]);
    }
}

/* Elements k0 .. k1 - 1 of a row, whose block k0 is at b. */
CPU_INLINE const uint8_t *dot_blocks(int64_t k0, int64_t k1, const uint8_t *b, int64_t ahead, const float *const *x,
                                     const int cols, vf (*acc)[4], const chain_range chains, const int_format f)
{
    for (int64_t i = k0; i < k1; i += f.part * f.parts, b += f.bytes) {
        float scales[SCALES];
        CPU_UNROLL
        for (int at = 0; at < f.bytes; at += 64)
            ask_far(b + ahead + at);
        if (f.prep)
            f.prep(b, scales);
        CPU_UNROLL
        for (int part = 0; part < f.parts; part++)
            dot_part(b, part, scales, x, i + part * f.part, cols, acc, chains, f);
    }
    return b;
}

/* A row with a column in its order.  Rows follow one another in memory: to take several at a time would be no faster,
 * and each would be a stream of its own that the machine must find. */
CPU_INLINE void dot_ints(int64_t k, const uint8_t *b, const float *x, float *out, const int_format f)
{
    for (int64_t k0 = 0; k0 < k; k0 += CPU_GEMM_KC) {
        vf acc[1][4] = {{{0}}};
        b = dot_blocks(k0, k - k0 < CPU_GEMM_KC ? k : k0 + CPU_GEMM_KC, b, AHEAD, &x, 1, acc, ALL_CHAINS, f);
        add_chains(acc[0], out);
    }
}

CPU_INLINE void dots_ints(const int cols, int64_t k, const uint8_t *b, int64_t ahead, const float *const *x,
                          cpu_part part, float *sums, float *out, const int_format f)
{
    CPU_UNROLL
    for (int from = 0; from < 4; from += CHAINS_AT_ONCE(cols)) {
        const chain_range round = {from, from + CHAINS_AT_ONCE(cols)};
        vf acc[CPU_DOT_COLS][4];
        begin_chains(part, sums, cols, acc, round);
        dot_blocks(0, k, b, ahead, x, cols, acc, round, f);
        end_chains(part, acc, cols, sums, out, round);
    }
}

/* Two vectors of every second element as the elements: of lanes 0 .. 3 and of 4 .. 7. */
CPU_INLINE void store_merged(vf even, vf odd, float *first, float *second)
{
    __m256 lo = _mm256_unpacklo_ps((__m256)even, (__m256)odd), hi = _mm256_unpackhi_ps((__m256)even, (__m256)odd);
    v_store(first, (vf)_mm256_permute2f128_ps(lo, hi, 0x20));
    v_store(second, (vf)_mm256_permute2f128_ps(lo, hi, 0x31));
}

/* Elements begin .. begin + n - 1 of a row, in their order or, if `chain` is not 0, as `lines` has them. */
CPU_INLINE void decode_ints(const uint8_t *row, int64_t begin, int64_t n, float *out, const int64_t chain,
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
            for (int g = 0; g < groups; g++, out += chain ? 8 : GROUP) {
                group_weights(b, q + 4 * g, scales, part * groups + g, w, f);
                if (chain) {
                    CPU_UNROLL
                    for (int l = 0; l < 4; l++)
                        v_store(out + l * chain, w[l]);
                } else {
                    store_merged(w[0], w[1], out, out + 16);
                    store_merged(w[2], w[3], out + 8, out + 24);
                }
            }
        }
    }
}

#endif
