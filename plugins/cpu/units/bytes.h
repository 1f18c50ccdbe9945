/*
 * Block formats as bytes, for units that multiply small integers.  256 elements at a time (a chunk: one block or more)
 * each type has
 *
 *     numbers_TYPE(chunk, group)      the numbers of a group of 32, without sign, in their order
 *     scales_TYPE(chunk, n, d, m)     what n groups (of 32, or of 16 where the type has scales for 16) mean
 *
 * An element is its number times d, plus m.  Types with signed numbers have them raised by a bias, which m takes back.
 * The layouts are those of the GGUF format.
 */
#ifndef CPU_UNITS_BYTES_H
#define CPU_UNITS_BYTES_H

#include "../ops/decode.h"
#include "../ops/grid.h"

typedef __m256i vb; /* 32 bytes */

CPU_INLINE vb b_all(int x)
{
    return _mm256_set1_epi8((char)x);
}

CPU_INLINE vb b_load(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

/* Field `mask` from `bit` on of each byte. */
CPU_INLINE vb b_field(vb v, const int bit, const int mask)
{
    return _mm256_and_si256(_mm256_srli_epi16(v, bit), b_all(mask));
}

CPU_INLINE vb b_or(vb a, vb b)
{
    return _mm256_or_si256(a, b);
}

/* 16 bytes whose low nibbles are the first elements. */
CPU_INLINE vb b_nibbles(const uint8_t *p)
{
    __m128i v = _mm_loadu_si128((const __m128i *)p);
    return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(v, 4), v), b_all(15));
}

/* 16 in each byte whose bit is set. */
CPU_INLINE vb b_fifth(const uint8_t *p)
{
    uint32_t bits;
    memcpy(&bits, p, 4);
    return _mm256_maskz_mov_epi8((__mmask32)bits, b_all(16));
}

#define BIAS 128
/* Tables of signed numbers, raised. */
static const uint8_t raised_iq4[16] = {1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241};
static const uint8_t raised_e2m1[16] = {128, 129, 130, 131, 132, 134, 136, 140, 128, 127, 126, 125, 124, 122, 120, 116};

CPU_INLINE vb b_lookup(const uint8_t *table, vb index)
{
    __m128i t = _mm_loadu_si128((const __m128i *)table);
    return _mm256_shuffle_epi8(_mm256_set_m128i(t, t), index);
}

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

#define SIGNED_32(type, bytes, bias, vector)                                                                           \
    CPU_INLINE void scales_##type(const uint8_t *b, int n, float *d, float *m)                                         \
    {                                                                                                                  \
        const __m256 v = b_halves(b, bytes, n);                                                                        \
        _mm256_storeu_ps(d, v);                                                                                        \
        _mm256_storeu_ps(m, _mm256_mul_ps(v, _mm256_set1_ps(-bias)));                                                  \
    }                                                                                                                  \
    CPU_INLINE vb numbers_##type(const uint8_t *chunk, const int group)                                                \
    {                                                                                                                  \
        const uint8_t *b = chunk + group * bytes;                                                                      \
        return vector;                                                                                                 \
    }
#define WITH_MINIMA_32(type, bytes, vector)                                                                            \
    CPU_INLINE void scales_##type(const uint8_t *b, int n, float *d, float *m)                                         \
    {                                                                                                                  \
        _mm256_storeu_ps(d, b_halves(b, bytes, n));                                                                    \
        _mm256_storeu_ps(m, b_halves(b + 2, bytes, n));                                                                \
    }                                                                                                                  \
    CPU_INLINE vb numbers_##type(const uint8_t *chunk, const int group)                                                \
    {                                                                                                                  \
        const uint8_t *b = chunk + group * bytes;                                                                      \
        return vector;                                                                                                 \
    }

SIGNED_32(q4_0, 18, 8, b_nibbles(b + 2))
WITH_MINIMA_32(q4_1, 20, b_nibbles(b + 4))
SIGNED_32(q5_0, 22, 16, b_or(b_nibbles(b + 6), b_fifth(b + 2)))
WITH_MINIMA_32(q5_1, 24, b_or(b_nibbles(b + 8), b_fifth(b + 4)))
SIGNED_32(q8_0, 34, BIAS, _mm256_xor_si256(b_load(b + 2), b_all(BIAS)))
SIGNED_32(iq4_nl, 18, BIAS, b_lookup(raised_iq4, b_nibbles(b + 2)))

CPU_INLINE void scales_mxfp4(const uint8_t *b, int n, float *d, float *m)
{
    for (int i = 0; i < n; i++)
        d[i] = e8m0_half(b[17 * i]);
    b_bias(d, m, n, BIAS);
}

CPU_INLINE vb numbers_mxfp4(const uint8_t *chunk, const int group)
{
    return b_lookup(raised_e2m1, b_nibbles(chunk + group * 17 + 1));
}

/* -- 64 elements a block, scales for 16 ------------------------------------------------- */

CPU_INLINE void scales_nvfp4(const uint8_t *b, int n, float *d, float *m)
{
    for (int i = 0; i < n; i++)
        d[i] = ue4m3_half(b[i / 4 * 36 + i % 4]);
    b_bias(d, m, n, BIAS);
}

/* Eight bytes have the low nibbles of eight elements, and the high ones of the next eight. */
CPU_INLINE vb numbers_nvfp4(const uint8_t *chunk, const int group)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(chunk + group / 2 * 36 + 4 + group % 2 * 16));
    __m128i high = _mm_srli_epi16(v, 4);
    vb both = _mm256_set_m128i(_mm_unpackhi_epi64(v, high), _mm_unpacklo_epi64(v, high));
    return b_lookup(raised_e2m1, _mm256_and_si256(both, b_all(15)));
}

/* -- 256 elements a block --------------------------------------------------------------- */

CPU_INLINE void scales_iq4_xs(const uint8_t *b, int n, float *d, float *m)
{
    prep_iq4_xs(b, d);
    b_bias(d, m, n, BIAS);
}

CPU_INLINE vb numbers_iq4_xs(const uint8_t *b, const int group)
{
    return b_lookup(raised_iq4, b_nibbles(b + 8 + 16 * group));
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

CPU_INLINE vb numbers_q4_K(const uint8_t *b, const int group)
{
    return b_field(b_load(b + 16 + 32 * (group / 2)), group % 2 * 4, 15);
}

CPU_INLINE vb numbers_q5_K(const uint8_t *b, const int group)
{
    vb high = _mm256_slli_epi16(b_field(b_load(b + 16), group, 1), 4);
    return b_or(b_field(b_load(b + 48 + 32 * (group / 2)), group % 2 * 4, 15), high);
}

CPU_INLINE void scales_q2_K(const uint8_t *b, int n, float *d, float *m)
{
    float scales[32];
    (void)n;
    prep_q2_K(b, scales);
    memcpy(d, scales, 16 * sizeof *d);
    memcpy(m, scales + 16, 16 * sizeof *m);
}

CPU_INLINE vb numbers_q2_K(const uint8_t *b, const int group)
{
    return b_field(b_load(b + 16 + 32 * (group / 4)), 2 * (group % 4), 3);
}

CPU_INLINE void scales_q3_K(const uint8_t *b, int n, float *d, float *m)
{
    prep_q3_K(b, d);
    b_bias(d, m, n, 4);
}

CPU_INLINE vb numbers_q3_K(const uint8_t *b, const int group)
{
    vb third = _mm256_slli_epi16(b_field(b_load(b), group, 1), 2);
    return b_or(b_field(b_load(b + 32 + 32 * (group / 4)), 2 * (group % 4), 3), third);
}

CPU_INLINE void scales_q6_K(const uint8_t *b, int n, float *d, float *m)
{
    prep_q6_K(b, d);
    b_bias(d, m, n, 32);
}

CPU_INLINE vb numbers_q6_K(const uint8_t *b, const int group)
{
    const int half = group / 4, j = group % 4;
    vb above = _mm256_slli_epi16(b_field(b_load(b + 128 + 32 * half), 2 * j, 3), 4);
    return b_or(b_field(b_load(b + 64 * half + 32 * (j & 1)), j < 2 ? 0 : 4, 15), above);
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

/* All of them: elements a block, its bytes, elements of a group. */
#define UNITS_TYPES(X)                                                                                                 \
    X(Q4_0, q4_0, 32, 18, 32) X(Q4_1, q4_1, 32, 20, 32) X(Q5_0, q5_0, 32, 22, 32) X(Q5_1, q5_1, 32, 24, 32)            \
    X(Q8_0, q8_0, 32, 34, 32) X(IQ4_NL, iq4_nl, 32, 18, 32) X(MXFP4, mxfp4, 32, 17, 32) X(NVFP4, nvfp4, 64, 36, 16)    \
    X(IQ4_XS, iq4_xs, 256, 136, 32) X(Q2_K, q2_K, 256, 84, 16) X(Q3_K, q3_K, 256, 110, 16) X(Q4_K, q4_K, 256, 144, 32) \
    X(Q5_K, q5_K, 256, 176, 32) X(Q6_K, q6_K, 256, 210, 16) X(IQ2_XXS, iq2_xxs, 256, 66, 32)                           \
    X(IQ2_XS, iq2_xs, 256, 74, 16) X(IQ2_S, iq2_s, 256, 82, 16) X(IQ3_XXS, iq3_xxs, 256, 98, 32)                       \
    X(IQ3_S, iq3_s, 256, 110, 32) X(IQ1_S, iq1_s, 256, 50, 32) X(IQ1_M, iq1_m, 256, 56, 16)                            \
    X(TQ1_0, tq1_0, 256, 54, 32) X(TQ2_0, tq2_0, 256, 66, 32) X(Q1_0, q1_0, 128, 18, 32) X(Q2_0, q2_0, 64, 18, 32)

#define CHUNK 256

#endif
