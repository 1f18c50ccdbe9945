/*
 * Block formats as bytes: for each type
 *
 *     numbers_TYPE(chunk, group)      the numbers of a group of 32 elements, without sign, in their order
 *
 * where a chunk is 256 elements: one block or more.  Numbers with a sign are raised: q3_K's by 4, q4_0's by 8, q5_0's
 * by 16, q6_K's by 32, those of q8_0 and of tables by BIAS.  The layouts are those of the GGUF format.
 *
 * For variants with registers of 32 bytes.  Included by decode.h.
 */
#ifndef CPU_BYTES_H
#define CPU_BYTES_H

#include "vec.h"

typedef __m256i vb; /* 32 bytes */

CPU_INLINE vb b_all(int x)
{
    return _mm256_set1_epi8((char)x);
}

CPU_INLINE vb b_load(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

CPU_INLINE vb b_or(vb a, vb b)
{
    return _mm256_or_si256(a, b);
}

/* The bits of `mask` of each byte, moved down (negative: up) by n. */
CPU_INLINE vb b_field(vb v, const int n, const int mask)
{
    return _mm256_and_si256(n >= 0 ? _mm256_srli_epi16(v, n) : _mm256_slli_epi16(v, -n), b_all(mask));
}

/* 16 bytes' low nibbles, then their high ones. */
CPU_INLINE vb b_nibbles(const uint8_t *p)
{
    vb v = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p));
    return _mm256_and_si256(_mm256_srlv_epi64(v, _mm256_setr_epi64x(0, 0, 4, 4)), b_all(15));
}

/* 16 in byte i if bit i of the 32 is set. */
CPU_INLINE vb b_fifth(const uint8_t *p)
{
    int32_t bits;
    memcpy(&bits, p, 4);
#if CPU_VL == 16
    return _mm256_maskz_mov_epi8((__mmask32)bits, b_all(16));
#else
    vb v = _mm256_shuffle_epi8(_mm256_set1_epi32(bits), _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202,
                                                                           0x0303030303030303));
    vb bit = _mm256_set1_epi64x((int64_t)0x8040201008040201);
    vb clear = _mm256_cmpeq_epi8(_mm256_and_si256(v, bit), _mm256_setzero_si256());
    return _mm256_andnot_si256(clear, b_all(16));
#endif
}

#define BIAS 128
/* Tables of numbers with a sign, raised. */
static const uint8_t raised_iq4[16] = {1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241};
static const uint8_t raised_e2m1[16] = {128, 129, 130, 131, 132, 134, 136, 140, 128, 127, 126, 125, 124, 122, 120, 116};

CPU_INLINE vb b_lookup(const uint8_t *table, vb nibbles)
{
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)table)), nibbles);
}

#define NUMBERS(type, bytes, vector)                                                                                   \
    CPU_INLINE vb numbers_##type(const uint8_t *chunk, const int group)                                                \
    {                                                                                                                  \
        const uint8_t *b = chunk + group * bytes;                                                                      \
        return vector;                                                                                                 \
    }
NUMBERS(q4_0, 18, b_nibbles(b + 2))
NUMBERS(q4_1, 20, b_nibbles(b + 4))
NUMBERS(q5_0, 22, b_or(b_nibbles(b + 6), b_fifth(b + 2)))
NUMBERS(q5_1, 24, b_or(b_nibbles(b + 8), b_fifth(b + 4)))
NUMBERS(q8_0, 34, _mm256_xor_si256(b_load(b + 2), b_all(BIAS)))
NUMBERS(iq4_nl, 18, b_lookup(raised_iq4, b_nibbles(b + 2)))
NUMBERS(mxfp4, 17, b_lookup(raised_e2m1, b_nibbles(b + 1)))
NUMBERS(iq4_xs, 0, b_lookup(raised_iq4, b_nibbles(b + 8 + 16 * group)))

/* Eight bytes have the low nibbles of eight elements, and the high ones of the next eight. */
CPU_INLINE vb numbers_nvfp4(const uint8_t *chunk, const int group)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(chunk + group / 2 * 36 + 4 + group % 2 * 16));
    __m128i high = _mm_srli_epi16(v, 4);
    vb both = _mm256_set_m128i(_mm_unpackhi_epi64(v, high), _mm_unpacklo_epi64(v, high));
    return b_lookup(raised_e2m1, _mm256_and_si256(both, b_all(15)));
}

CPU_INLINE vb numbers_q4_K(const uint8_t *b, const int group)
{
    return b_field(b_load(b + 16 + 32 * (group / 2)), group % 2 * 4, 15);
}

CPU_INLINE vb numbers_q5_K(const uint8_t *b, const int group)
{
    vb high = b_field(b_load(b + 16), group - 4, 16);
    return b_or(b_field(b_load(b + 48 + 32 * (group / 2)), group % 2 * 4, 15), high);
}

CPU_INLINE vb numbers_q2_K(const uint8_t *b, const int group)
{
    return b_field(b_load(b + 16 + 32 * (group / 4)), 2 * (group % 4), 3);
}

CPU_INLINE vb numbers_q3_K(const uint8_t *b, const int group)
{
    vb third = b_field(b_load(b), group - 2, 4);
    return b_or(b_field(b_load(b + 32 + 32 * (group / 4)), 2 * (group % 4), 3), third);
}

CPU_INLINE vb numbers_q6_K(const uint8_t *b, const int group)
{
    const int half = group / 4, j = group % 4;
    vb above = b_field(b_load(b + 128 + 32 * half), 2 * j - 4, 48);
    return b_or(b_field(b_load(b + 64 * half + 32 * (j & 1)), j < 2 ? 0 : 4, 15), above);
}

#endif
