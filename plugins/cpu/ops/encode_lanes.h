/*
 * Groups of numbers side by side, a lane each: what encoders search by sums whose order is
 * part of the result goes on in all lanes at once, and each lane does what one group alone would.
 * Eight lanes, or sixteen where a file says so before (AVX-512 alone).
 */
#ifndef CPU_ENCODE_LANES_H
#define CPU_ENCODE_LANES_H

#include "encode.h"

#ifndef LANES
#define LANES 8
#endif

typedef float e8 __attribute__((vector_size(4 * LANES)));
typedef int32_t e8i __attribute__((vector_size(4 * LANES)));

CPU_INLINE e8 e_set(float x)
{
    return x - (e8){0}; /* minus zero changes no x */
}

CPU_INLINE e8 e_select(e8i mask, e8 a, e8 b)
{
#if LANES == 16
    return (e8)_mm512_mask_blend_ps(_mm512_test_epi32_mask((__m512i)mask, (__m512i)mask), (__m512)b, (__m512)a);
#elif defined(__AVX2__)
    return (e8)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)mask);
#else
    return (e8)(((e8i)a & mask) | ((e8i)b & ~mask));
#endif
}

/* The second one where the first is none. */
CPU_INLINE e8 e_max(e8 a, e8 b)
{
#if LANES == 16
    return (e8)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
    return (e8)_mm256_max_ps((__m256)a, (__m256)b);
#else
    return e_select(a > b, a, b);
#endif
}

CPU_INLINE e8 e_min(e8 a, e8 b)
{
#if LANES == 16
    return (e8)_mm512_min_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
    return (e8)_mm256_min_ps((__m256)a, (__m256)b);
#else
    return e_select(a < b, a, b);
#endif
}

CPU_INLINE bool e_any(e8i mask)
{
    for (int j = 0; j < LANES; j++)
        if (mask[j])
            return true;
    return false;
}

CPU_INLINE e8 e_abs(e8 a)
{
    return (e8)((e8i)a & 0x7fffffff);
}

/* To the nearest integer, ties to even, from lo to hi: both integers below 2^22. */
CPU_INLINE e8 e_nearest(e8 x, float lo, float hi)
{
    return (e_min(e_max(x, e_set(lo)), e_set(hi)) + 12582912.0f) - 12582912.0f;
}

#if defined(__AVX2__)
/* Eight elements of each of eight groups, which are n floats apart. */
CPU_INLINE void e_exchange(const float *x, const int n, __m256 *out)
{
    __m256 a[8], b[8];
    CPU_UNROLL
    for (int i = 0; i < 8; i++)
        a[i] = _mm256_loadu_ps(x + i * n);
    CPU_UNROLL
    for (int i = 0; i < 8; i += 2) {
        b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
    }
    CPU_UNROLL
    for (int i = 0; i < 8; i += 4)
        CPU_UNROLL
        for (int j = 0; j < 2; j++) {
            a[i + 2 * j] = _mm256_shuffle_ps(b[i + j], b[i + j + 2], 0x44);
            a[i + 2 * j + 1] = _mm256_shuffle_ps(b[i + j], b[i + j + 2], 0xee);
        }
    CPU_UNROLL
    for (int c = 0; c < 4; c++) {
        out[c] = _mm256_permute2f128_ps(a[c], a[4 + c], 0x20);
        out[4 + c] = _mm256_permute2f128_ps(a[c], a[4 + c], 0x31);
    }
}
#endif

/* n elements (a multiple of eight) of LANES groups, one behind the other; out[i]: element i of each. */
CPU_INLINE void e_load(const float *x, const int n, e8 *out)
{
#if defined(__AVX2__)
    for (int k = 0; k < n; k += 8) {
        __m256 part[LANES / 8][8];
        CPU_UNROLL
        for (int h = 0; h < LANES / 8; h++)
            e_exchange(x + 8 * h * n + k, n, part[h]);
        CPU_UNROLL
        for (int c = 0; c < 8; c++)
#if LANES == 16
            out[k + c] = (e8)_mm512_castpd_ps(_mm512_insertf64x4(_mm512_castps_pd(_mm512_castps256_ps512(part[0][c])),
                                                                 _mm256_castps_pd(part[1][c]), 1));
#else
            out[k + c] = (e8)part[0][c];
#endif
    }
#else
    float *to = (float *)out;
    for (int j = 0; j < LANES; j++)
        for (int i = 0; i < n; i++)
            to[LANES * i + j] = x[j * n + i];
#endif
}

/* Small whole numbers (-128 .. 127) back in the order of the groups. */
CPU_INLINE void e_store_codes(const e8 *code, const int n, int8_t *out)
{
#if defined(__AVX2__)
    for (int k = 0; k < n; k += 4) { /* four elements of each group are 32 bits */
        e8i c[4];
        CPU_UNROLL
        for (int i = 0; i < 4; i++)
#if LANES == 16
            c[i] = (e8i)_mm512_cvtps_epi32((__m512)code[k + i]) & 255;
#else
            c[i] = (e8i)_mm256_cvtps_epi32((__m256)code[k + i]) & 255;
#endif
        c[0] |= c[1] << 8 | c[2] << 16 | c[3] << 24;
        int32_t four[LANES];
        memcpy(four, &c[0], sizeof four);
        CPU_UNROLL
        for (int j = 0; j < LANES; j++)
            memcpy(out + j * n + k, &four[j], 4);
    }
#else
    const float *from = (const float *)code;
    for (int j = 0; j < LANES; j++)
        for (int i = 0; i < n; i++)
            out[j * n + i] = (int8_t)from[LANES * i + j];
#endif
}

/* Numbers that blocks can hold at best: those that are none are zero. */
CPU_INLINE void e_clean(e8 *x, int n, float lo, float hi)
{
    for (int i = 0; i < n; i++) {
        e8 v = (e8)((e8i)x[i] & (x[i] == x[i]));
        v = e_select(v < lo, e_set(lo), v);
        x[i] = e_select(v > hi, e_set(hi), v);
    }
}

/* The largest magnitude of each lane, and the first number that has it. */
CPU_INLINE e8 e_extreme(const e8 *x, const int n, e8 *amax)
{
    e8 max = {0};
    *amax = max;
    for (int i = 0; i < n; i++) {
        const e8 a = e_abs(x[i]);
        const e8i more = a > *amax;
        *amax = e_select(more, a, *amax);
        max = e_select(more, x[i], max);
    }
    return max;
}

#endif
