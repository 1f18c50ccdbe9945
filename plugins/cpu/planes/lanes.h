/*
 * Rows of weights in lanes (libengine/util/pack.h): eight rows side by side, word by word, so that a register has four
 * bytes of each.  For each type
 *
 *     line_TYPE(block, group, line)    numbers 4 * line .. 4 * line + 3 of a group of 32 elements, without sign, of all
 *                                      eight rows: a row's four in its lane
 *     scales_TYPE(block, d, m)         factors of a block's groups of 32 or 16 elements, one vector of eight rows for
 *                                      every other vector of d and m
 *
 * An element is its number times d, plus m; where there are no minima (LANES_TYPES), m is not set and an element is its
 * number, less the bias, times d.  The layouts of blocks are those of the GGUF format.
 */
#ifndef CPU_PLANES_LANES_H
#define CPU_PLANES_LANES_H

#include "../ops/bytes.h"

#include "planes.h"

#define ROWS EU_LANES
#define NEXT (2 * ROWS) /* floats from the factors of a group to those of the next */

/* Word i of a block that begins with `lead` bytes which are no words. */
CPU_INLINE vb word(const uint8_t *block, const int lead, const int i)
{
    return b_load(block + ROWS * lead + 32 * i);
}

/* Eight half-precision numbers as floats. */
CPU_INLINE __m256 halves(const uint8_t *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}

/* Byte i of each lane, with or without sign, as a float. */
CPU_INLINE __m256 byte_of(vb v, const int i)
{
    return _mm256_cvtepi32_ps(_mm256_and_si256(_mm256_srli_epi32(v, 8 * i), _mm256_set1_epi32(255)));
}
CPU_INLINE __m256 signed_byte_of(vb v, const int i)
{
    return _mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_slli_epi32(v, 24 - 8 * i), 24));
}

/* Bit i of each byte, as bit `to`, where i is not known to the compiler. */
CPU_INLINE vb bit_to(vb v, int i, const int to)
{
    return _mm256_slli_epi16(_mm256_and_si256(_mm256_srl_epi16(v, _mm_cvtsi32_si128(i)), b_all(1)), to);
}

/* -- lines -------------------------------------------------------------------------------- */

#define LINES(type, vector)                                                                                            \
    CPU_INLINE vb line_##type(const uint8_t *b, const int group, const int line)                                       \
    {                                                                                                                  \
        (void)group;                                                                                                   \
        return vector;                                                                                                 \
    }

/* 16 bytes: low nibbles are the first elements, high ones the others. */
CPU_INLINE vb nibble(const uint8_t *b, const int lead, const int from, const int line)
{
    return b_field(word(b, lead, from + line % 4), line / 4 * 4, 15);
}

/* 16 in byte i of a lane if bit 4 * line + i of its word is set. */
CPU_INLINE vb fifth(vb bits, const int line)
{
    const vb first = _mm256_broadcastsi128_si256(_mm_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c));
    const vb from = _mm256_add_epi8(_mm256_set1_epi8((char)(line / 2)), first);
    const vb bit = _mm256_set1_epi32(line % 2 ? (int)0x80402010 : 0x08040201);
    const vb set = _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(bits, from), bit), bit);
    return _mm256_and_si256(set, b_all(16));
}

/* E2M1 numbers twice, raised by 12. */
#define E2M1_BIAS 12
static const uint8_t raised_12[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};

LINES(q4_0, nibble(b, 2, 0, line))
LINES(q4_1, nibble(b, 4, 0, line))
LINES(q5_0, b_or(nibble(b, 2, 1, line), fifth(word(b, 2, 0), line)))
LINES(q5_1, b_or(nibble(b, 4, 1, line), fifth(word(b, 4, 0), line)))
LINES(mxfp4, b_lookup(raised_12, nibble(b, 1, 0, line)))
/* Eight bytes have the low nibbles of eight elements, and the high ones of the next eight. */
LINES(nvfp4, b_lookup(raised_12, b_field(word(b, 0, 1 + 4 * group + line / 4 * 2 + line % 2), line % 4 / 2 * 4, 15)))
LINES(q2_K, b_field(word(b, 0, 4 + group / 4 * 8 + line), group % 4 * 2, 3))
LINES(q3_K, b_or(b_field(word(b, 0, 8 + group / 4 * 8 + line), group % 4 * 2, 3),
                 bit_to(word(b, 0, line), group, 2)))
LINES(q4_K, b_field(word(b, 4, 3 + group / 2 * 8 + line), group % 2 * 4, 15))
LINES(q5_K, b_or(b_field(word(b, 4, 11 + group / 2 * 8 + line), group % 2 * 4, 15),
                 bit_to(word(b, 4, 3 + line), group, 4)))
LINES(q6_K, b_or(b_field(word(b, 0, group / 4 * 16 + group % 2 * 8 + line), group % 4 / 2 * 4, 15),
                 b_field(word(b, 0, 32 + group / 4 * 8 + line), group % 4 * 2 - 4, 48)))

/* -- factors ------------------------------------------------------------------------------- */

#define HALF_FIRST(type)                                                                                               \
    CPU_INLINE void scales_##type(const uint8_t *b, float *d, float *m)                                                \
    {                                                                                                                  \
        (void)m;                                                                                                       \
        _mm256_storeu_ps(d, halves(b));                                                                                \
    }
#define TWO_HALVES_FIRST(type)                                                                                         \
    CPU_INLINE void scales_##type(const uint8_t *b, float *d, float *m)                                                \
    {                                                                                                                  \
        _mm256_storeu_ps(d, halves(b));                                                                                \
        _mm256_storeu_ps(m, halves(b + 2 * ROWS));                                                                     \
    }
HALF_FIRST(q4_0)
HALF_FIRST(q5_0)
TWO_HALVES_FIRST(q4_1)
TWO_HALVES_FIRST(q5_1)

/* 2^(e - 128): half of what the exponent says, for numbers are twice theirs. */
CPU_INLINE void scales_mxfp4(const uint8_t *b, float *d, float *m)
{
    (void)m;
    const vb e = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)b)), one = _mm256_set1_epi32(1);
    const vb normal = _mm256_slli_epi32(_mm256_sub_epi32(e, one), 23);
    const vb small = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), e); /* 0 and 1: below the least normal number */
    _mm256_storeu_si256((vb *)d, _mm256_blendv_epi8(small, normal, _mm256_cmpgt_epi32(e, one)));
}

/* Half of unsigned E4M3 numbers, one for 16 elements; 0x7f would be NaN and is zero. */
CPU_INLINE void scales_nvfp4(const uint8_t *b, float *d, float *m)
{
    (void)m;
    const vb all = word(b, 0, 0);
    CPU_UNROLL
    for (int i = 0; i < 4; i++) {
        const vb low = _mm256_and_si256(_mm256_srli_epi32(all, 8 * i), _mm256_set1_epi32(0x7f));
        const vb bits = _mm256_add_epi32(_mm256_slli_epi32(low, 20), _mm256_set1_epi32((127 - 8) << 23));
        const __m256 tiny = _mm256_mul_ps(_mm256_cvtepi32_ps(low), _mm256_set1_ps(0x1p-10f));
        const vb normal = _mm256_cmpgt_epi32(low, _mm256_set1_epi32(7));
        const vb none = _mm256_cmpeq_epi32(low, _mm256_set1_epi32(0x7f));
        const vb value = _mm256_blendv_epi8(_mm256_castps_si256(tiny), bits, normal);
        _mm256_storeu_si256((vb *)(d + NEXT * i), _mm256_andnot_si256(none, value));
    }
}

/* 6 bits each in 12 bytes: of the first four scales and minima as they lie, of the others in two parts. */
CPU_INLINE void scales_q4_K(const uint8_t *b, float *d, float *m)
{
    const __m256 by = halves(b), least = _mm256_xor_ps(halves(b + 2 * ROWS), _mm256_set1_ps(-0.0f));
    const vb x = word(b, 4, 0), y = word(b, 4, 1), z = word(b, 4, 2);
    const vb scale[2] = {b_field(x, 0, 63), b_or(b_field(z, 0, 15), b_field(x, 2, 48))};
    const vb minimum[2] = {b_field(y, 0, 63), b_or(b_field(z, 4, 15), b_field(y, 2, 48))};
    CPU_UNROLL
    for (int i = 0; i < 8; i++) {
        _mm256_storeu_ps(d + NEXT * i, _mm256_mul_ps(by, byte_of(scale[i / 4], i % 4)));
        _mm256_storeu_ps(m + NEXT * i, _mm256_mul_ps(least, byte_of(minimum[i / 4], i % 4)));
    }
}
#define scales_q5_K scales_q4_K

CPU_INLINE void scales_q2_K(const uint8_t *b, float *d, float *m)
{
    const __m256 by = halves(b + ROWS * 80), least = _mm256_xor_ps(halves(b + ROWS * 82), _mm256_set1_ps(-0.0f));
    CPU_UNROLL
    for (int i = 0; i < 16; i++) {
        const vb both = word(b, 0, i / 4);
        _mm256_storeu_ps(d + NEXT * i, _mm256_mul_ps(by, byte_of(b_field(both, 0, 15), i % 4)));
        _mm256_storeu_ps(m + NEXT * i, _mm256_mul_ps(least, byte_of(b_field(both, 4, 15), i % 4)));
    }
}

/* 6 bits each, raised by 32: four in nibbles, two in four bytes behind these. */
CPU_INLINE void scales_q3_K(const uint8_t *b, float *d, float *m)
{
    (void)m;
    const __m256 by = halves(b + ROWS * 108);
    const vb above = word(b, 0, 26);
    CPU_UNROLL
    for (int i = 0; i < 4; i++) {
        const vb low = b_field(word(b, 0, 24 + i % 2), i / 2 * 4, 15), high = b_field(above, 2 * i - 4, 48);
        const vb raised = _mm256_sub_epi8(b_or(low, high), b_all(32));
        CPU_UNROLL
        for (int j = 0; j < 4; j++)
            _mm256_storeu_ps(d + NEXT * (4 * i + j), _mm256_mul_ps(by, signed_byte_of(raised, j)));
    }
}

CPU_INLINE void scales_q6_K(const uint8_t *b, float *d, float *m)
{
    (void)m;
    const __m256 by = halves(b + ROWS * 208);
    CPU_UNROLL
    for (int i = 0; i < 16; i++)
        _mm256_storeu_ps(d + NEXT * i, _mm256_mul_ps(by, signed_byte_of(word(b, 0, 48 + i / 4), i % 4)));
}

/* All of them: elements and bytes of a block, elements that share a scale, by what numbers are raised, are there
 * minima, groups after which fields are the same. */
#define LANES_TYPES(X)                                                                                                 \
    X(Q4_0, q4_0, 32, 18, 32, 8, 0, 1) X(Q4_1, q4_1, 32, 20, 32, 0, 1, 1) X(Q5_0, q5_0, 32, 22, 32, 16, 0, 1)          \
    X(Q5_1, q5_1, 32, 24, 32, 16, 1, 1) X(MXFP4, mxfp4, 32, 17, 32, E2M1_BIAS, 0, 1)                                   \
    X(NVFP4, nvfp4, 64, 36, 16, E2M1_BIAS, 0, 2) X(Q2_K, q2_K, 256, 84, 16, 0, 1, 4)                                   \
    X(Q3_K, q3_K, 256, 110, 16, 4, 0, 4) X(Q4_K, q4_K, 256, 144, 32, 0, 1, 2) X(Q5_K, q5_K, 256, 176, 32, 16, 1, 2)    \
    X(Q6_K, q6_K, 256, 210, 16, 32, 0, 4)

#endif
