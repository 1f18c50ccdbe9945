/*
 * What the numbers of block formats mean (ops/bytes.h): for each type
 *
 *     scales_TYPE(chunk, n, d, m)     of n groups of 32, or of 16 where the type has scales for 16
 *
 * An element is its number times d, plus m, which takes back what a number was raised by.
 */
#ifndef CPU_UNITS_SCALES_H
#define CPU_UNITS_SCALES_H

#include "../ops/decode.h"
#include "../ops/grid.h"

/* Half-precision numbers, `bytes` apart. */
CPU_INLINE __m256 b_halves(const uint8_t *p, const int bytes, int n)
{
    uint16_t h[8] = {0};
    for (int i = 0; i < n; i++)
        memcpy(&h[i], p + i * bytes, 2);
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)h));
}

/* Minima that only take a bias back. */
CPU_INLINE void b_bias(float *d, float *m, int n, const int bias)
{
    for (int i = 0; i < n; i++)
        m[i] = -(float)bias * d[i];
}

/* -- 32 elements a block: d first ------------------------------------------------------ */

#define SIGNED_32(type, bytes, bias)                                                                                   \
    CPU_INLINE void scales_##type(const uint8_t *b, int n, float *d, float *m)                                         \
    {                                                                                                                  \
        const __m256 v = b_halves(b, bytes, n);                                                                        \
        _mm256_storeu_ps(d, v);                                                                                        \
        _mm256_storeu_ps(m, _mm256_mul_ps(v, _mm256_set1_ps(-bias)));                                                  \
    }
#define WITH_MINIMA_32(type, bytes)                                                                                    \
    CPU_INLINE void scales_##type(const uint8_t *b, int n, float *d, float *m)                                         \
    {                                                                                                                  \
        _mm256_storeu_ps(d, b_halves(b, bytes, n));                                                                    \
        _mm256_storeu_ps(m, b_halves(b + 2, bytes, n));                                                                \
    }

SIGNED_32(q4_0, 18, 8)
WITH_MINIMA_32(q4_1, 20)
SIGNED_32(q5_0, 22, 16)
WITH_MINIMA_32(q5_1, 24)
SIGNED_32(q8_0, 34, BIAS)
SIGNED_32(iq4_nl, 18, BIAS)

CPU_INLINE void scales_mxfp4(const uint8_t *b, int n, float *d, float *m)
{
    for (int i = 0; i < n; i++)
        d[i] = e8m0_half(b[17 * i]);
    b_bias(d, m, n, BIAS);
}

/* -- 64 elements a block, scales for 16 ------------------------------------------------- */

CPU_INLINE void scales_nvfp4(const uint8_t *b, int n, float *d, float *m)
{
    for (int i = 0; i < n; i++)
        d[i] = ue4m3_half(b[i / 4 * 36 + i % 4]);
    b_bias(d, m, n, BIAS);
}

/* -- 256 elements a block --------------------------------------------------------------- */

CPU_INLINE void scales_iq4_xs(const uint8_t *b, int n, float *d, float *m)
{
    prep_iq4_xs(b, d);
    b_bias(d, m, n, BIAS);
}

/* prep_q4_K has minima behind the scales. */
CPU_INLINE void scales_q4_K(const uint8_t *b, int n, float *d, float *m)
{
    float scales[16];
    (void)n;
    prep_q4_K(b, scales);
    memcpy(d, scales, 8 * sizeof *d);
    memcpy(m, scales + 8, 8 * sizeof *m);
}
#define scales_q5_K scales_q4_K /* the headers are equal */

CPU_INLINE void scales_q2_K(const uint8_t *b, int n, float *d, float *m)
{
    float scales[32];
    (void)n;
    prep_q2_K(b, scales);
    memcpy(d, scales, 16 * sizeof *d);
    memcpy(m, scales + 16, 16 * sizeof *m);
}

CPU_INLINE void scales_q3_K(const uint8_t *b, int n, float *d, float *m)
{
    prep_q3_K(b, d);
    b_bias(d, m, n, 4);
}

CPU_INLINE void scales_q6_K(const uint8_t *b, int n, float *d, float *m)
{
    prep_q6_K(b, d);
    b_bias(d, m, n, 32);
}

/* -- types of grid.h: signed numbers and scales already ------------------------------------ */

#define OF_GRID(type, parts, bytes, per)                                                                               \
    CPU_INLINE void scales_##type(const uint8_t *b, int n, float *d, float *m)                                         \
    {                                                                                                                  \
        for (int i = 0; i * (parts) * 32 / (per) < n; i++)                                                             \
            prep_##type(b + i * (bytes), d + i * (parts) * 32 / (per));                                                \
        b_bias(d, m, n, BIAS);                                                                                         \
    }                                                                                                                  \
    CPU_INLINE vb numbers_##type(const uint8_t *b, const int group)                                                    \
    {                                                                                                                  \
        int8_t t[32];                                                                                                  \
        part_##type(b + group / (parts) * (bytes), group % (parts), t);                                                \
        return _mm256_xor_si256(b_load((const uint8_t *)t), b_all(BIAS));                                              \
    }
OF_GRID(iq2_xxs, 8, 66, 32)
OF_GRID(iq2_xs, 8, 74, 16)
OF_GRID(iq2_s, 8, 82, 16)
OF_GRID(iq3_xxs, 8, 98, 32)
OF_GRID(iq3_s, 8, 110, 32)
OF_GRID(iq1_s, 8, 50, 32)
OF_GRID(iq1_m, 8, 56, 16)
OF_GRID(tq1_0, 8, 54, 32)
OF_GRID(tq2_0, 8, 66, 32)
OF_GRID(q1_0, 4, 18, 32)
OF_GRID(q2_0, 2, 18, 32)

/* All of them: elements a block, its bytes, elements of a group, what numbers are raised by (0: they have minima). */
#define UNITS_TYPES(X)                                                                                                 \
    X(Q4_0, q4_0, 32, 18, 32, 8) X(Q4_1, q4_1, 32, 20, 32, 0) X(Q5_0, q5_0, 32, 22, 32, 16)                            \
    X(Q5_1, q5_1, 32, 24, 32, 0) X(Q8_0, q8_0, 32, 34, 32, BIAS) X(IQ4_NL, iq4_nl, 32, 18, 32, BIAS)                   \
    X(MXFP4, mxfp4, 32, 17, 32, BIAS) X(NVFP4, nvfp4, 64, 36, 16, BIAS) X(IQ4_XS, iq4_xs, 256, 136, 32, BIAS)          \
    X(Q2_K, q2_K, 256, 84, 16, 0) X(Q3_K, q3_K, 256, 110, 16, 4) X(Q4_K, q4_K, 256, 144, 32, 0)                        \
    X(Q5_K, q5_K, 256, 176, 32, 0) X(Q6_K, q6_K, 256, 210, 16, 32) X(IQ2_XXS, iq2_xxs, 256, 66, 32, BIAS)              \
    X(IQ2_XS, iq2_xs, 256, 74, 16, BIAS) X(IQ2_S, iq2_s, 256, 82, 16, BIAS) X(IQ3_XXS, iq3_xxs, 256, 98, 32, BIAS)     \
    X(IQ3_S, iq3_s, 256, 110, 32, BIAS) X(IQ1_S, iq1_s, 256, 50, 32, BIAS) X(IQ1_M, iq1_m, 256, 56, 16, BIAS)          \
    X(TQ1_0, tq1_0, 256, 54, 32, BIAS) X(TQ2_0, tq2_0, 256, 66, 32, BIAS) X(Q1_0, q1_0, 128, 18, 32, BIAS)             \
    X(Q2_0, q2_0, 64, 18, 32, BIAS)

typedef vb (*numbers_of)(const uint8_t *chunk, const int group);
typedef void (*scales_of)(const uint8_t *chunk, int n, float *d, float *m);
#define CHUNK 256 /* elements */

#endif
