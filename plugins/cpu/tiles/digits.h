/*
 * Floats as integers of 31 bits under a scale, whose four digits in base 256 are bytes with a sign; and blocks of caches whose
 * numbers are such bytes.  For products by tiles that are exact.
 */
#ifndef CPU_TILES_DIGITS_H
#define CPU_TILES_DIGITS_H

#include "../ops/decode.h"

#define DIGITS 4

/* Numbers times `times` are integers of 31 bits; `worth` of one.  The largest is given as the bits of its size: what is not
 * finite makes worth NaN, what is very small is taken for more. */
typedef struct digits_scales {
    __m128 times, worth;
} digits_scales;

CPU_INLINE digits_scales scales_for(__m128i largest)
{
    const __m128i exponent = _mm_srli_epi32(largest, 23), e = _mm_max_epi32(exponent, _mm_set1_epi32(30));
    const __m128i times = _mm_slli_epi32(_mm_sub_epi32(_mm_set1_epi32(283), e), 23);
    const __m128i worth = _mm_slli_epi32(_mm_sub_epi32(e, _mm_set1_epi32(29)), 23);
    const __m128i not_finite = _mm_cmpeq_epi32(exponent, _mm_set1_epi32(255));
    return (digits_scales){_mm_castsi128_ps(times), _mm_castsi128_ps(_mm_or_si128(worth, not_finite))};
}

CPU_INLINE __m512i sizes(__m512 x)
{
    return _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff));
}

/* Of four numbers of a quarter of the register the lowest digits, then the next ...  The lower three bytes of an integer with 128
 * added to each, from where it carries, and taken away again without a carry, are digits with a sign. */
CPU_INLINE __m512i digits_of(__m512i n)
{
    const __m512i by_digits = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    const __m512i raised = _mm512_set1_epi32(0x808080);
    return _mm512_shuffle_epi8(_mm512_xor_si512(_mm512_add_epi32(n, raised), raised), by_digits);
}

CPU_INLINE __m512i integers(__m512 x, __m512 times)
{
    return _mm512_cvtps_epi32(_mm512_mul_ps(x, times));
}

/* What the integers leave, which floats can hold. */
CPU_INLINE __m512 left_of(__m512 x, __m512 times, __m512 worth)
{
    return _mm512_fnmadd_ps(_mm512_cvtepi32_ps(integers(x, times)), worth, x);
}

/* A bit for each of 16 numbers that is at least a 128th of the largest, of which the size is given. */
CPU_INLINE __mmask16 large(__m512 x, __m512i largest)
{
    return _mm512_cmpge_epi32_mask(sizes(x), _mm512_sub_epi32(largest, _mm512_set1_epi32(7 << 23)));
}

/* -- a block's bytes --------------------------------------------------------------------------------------- */

/* Types whose numbers are bytes, and what is added to have no sign. */
#define DIGIT_TYPES(X) X(Q8_0, q8_0, 34, BIAS) X(Q5_0, q5_0, 22, 16) X(Q4_0, q4_0, 18, 8) X(IQ4_NL, iq4_nl, 18, BIAS)
#define IS_TYPE(NAME, name, bytes, bias) || type == ENG_TYPE_##NAME

static bool is_bytes(uint32_t type)
{
    return false DIGIT_TYPES(IS_TYPE);
}

#define NUMBERS_OF(NAME, name, bytes, bias) case ENG_TYPE_##NAME: return _mm256_sub_epi8(numbers_##name(b, 0), b_all(bias));
#define BYTES_OF(NAME, name, bytes, bias) case ENG_TYPE_##NAME: return bytes;

CPU_INLINE vb block_numbers(const uint8_t *b, const uint32_t type)
{
    if (type == ENG_TYPE_Q8_0)
        return b_load(b + 2);
    switch (type) {
        DIGIT_TYPES(NUMBERS_OF)
    default: return b_all(0);
    }
}

CPU_INLINE int64_t block_bytes(const uint32_t type)
{
    switch (type) {
        DIGIT_TYPES(BYTES_OF)
    default: return 0;
    }
}

/* The scale of a block, as it is. */
CPU_INLINE void put_half(const uint8_t *block, uint16_t *to)
{
    memcpy(to, block, sizeof *to);
}

/* Halves as floats. */
CPU_INLINE void widen(const uint16_t *halves, int64_t n, float *d)
{
    for (int64_t i = 0; i < n; i += 16)
        _mm512_storeu_ps(d + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(halves + i))));
}

#endif
