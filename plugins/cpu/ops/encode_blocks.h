/*
 * Four blocks of 32 at a time with vectors of eight, for numbers as they usually are: one block alone waits for its two
 * divisions longer than its other work takes.  What needs care - no number, numbers too
 * large for the block, zeros and extremes whose sign depends on which comes first - is left to the plain code:
 * these say false.  All else gives the bytes that it would give.
 */
#ifndef CPU_ENCODE_BLOCKS_H
#define CPU_ENCODE_BLOCKS_H

#include "encode.h"

#define B_BLOCKS 4

#if defined(__AVX2__)

#define B_NO_SCALE 0x1p-25f /* stored as zero: this and less */

/* The largest of each of four vectors. */
CPU_INLINE __m128 b_largest(const __m256 *m)
{
    __m256 r = _mm256_max_ps(_mm256_unpacklo_ps(m[0], m[1]), _mm256_unpackhi_ps(m[0], m[1]));
    __m256 s = _mm256_max_ps(_mm256_unpacklo_ps(m[2], m[3]), _mm256_unpackhi_ps(m[2], m[3]));
    r = _mm256_max_ps(_mm256_shuffle_ps(r, s, 0x44), _mm256_shuffle_ps(r, s, 0xee));
    return _mm_max_ps(_mm256_castps256_ps128(r), _mm256_extractf128_ps(r, 1));
}

/* The same of magnitudes as integers, where what is no number is the largest. */
CPU_INLINE __m128i b_largest_bits(const __m256i *m)
{
    __m256i r = _mm256_max_epi32(_mm256_unpacklo_epi32(m[0], m[1]), _mm256_unpackhi_epi32(m[0], m[1]));
    __m256i s = _mm256_max_epi32(_mm256_unpacklo_epi32(m[2], m[3]), _mm256_unpackhi_epi32(m[2], m[3]));
    r = _mm256_max_epi32(_mm256_unpacklo_epi64(r, s), _mm256_unpackhi_epi64(r, s));
    return _mm_max_epi32(_mm256_castsi256_si128(r), _mm256_extracti128_si256(r, 1));
}

/* Largest and least of four blocks; false where something is no number. */
CPU_INLINE bool b_ranges(const float *x, __m128 *max, __m128 *min)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    __m256 hi[B_BLOCKS], lo[B_BLOCKS], none = _mm256_setzero_ps();
    CPU_UNROLL
    for (int j = 0; j < B_BLOCKS; j++) {
        const __m256 a = _mm256_loadu_ps(x + 32 * j), b = _mm256_loadu_ps(x + 32 * j + 8);
        const __m256 c = _mm256_loadu_ps(x + 32 * j + 16), d = _mm256_loadu_ps(x + 32 * j + 24);
        none = _mm256_or_ps(none, _mm256_or_ps(_mm256_cmp_ps(a, b, _CMP_UNORD_Q), _mm256_cmp_ps(c, d, _CMP_UNORD_Q)));
        hi[j] = _mm256_max_ps(_mm256_max_ps(a, b), _mm256_max_ps(c, d));
        lo[j] = _mm256_xor_ps(_mm256_min_ps(_mm256_min_ps(a, b), _mm256_min_ps(c, d)), sign);
    }
    *max = b_largest(hi);
    *min = _mm_xor_ps(b_largest(lo), _mm_set1_ps(-0.0f));
    return _mm256_movemask_ps(none) == 0;
}

/* As f16, a block every `step` bytes. */
CPU_INLINE void b_put_halves(uint8_t *out, int step, __m128 x)
{
    const uint64_t h = (uint64_t)_mm_cvtsi128_si64(_mm_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
    CPU_UNROLL
    for (int j = 0; j < B_BLOCKS; j++) {
        const uint16_t one = (uint16_t)(h >> 16 * j);
        memcpy(out + j * step, &one, 2);
    }
}

/* 1 / d; 0 where d is stored as 0. */
CPU_INLINE void b_inverses(__m128 d, float *id)
{
    const __m128 there = _mm_cmpgt_ps(_mm_andnot_ps(_mm_set1_ps(-0.0f), d), _mm_set1_ps(B_NO_SCALE));
    _mm_storeu_ps(id, _mm_and_ps(_mm_div_ps(_mm_set1_ps(1.0f), d), there));
}

/* Codes of 32 bits as bytes, in their order. */
CPU_INLINE __m256i b_bytes(const __m256i *q)
{
    const __m256i p = _mm256_packs_epi16(_mm256_packs_epi32(q[0], q[1]), _mm256_packs_epi32(q[2], q[3]));
    return _mm256_permutevar8x32_epi32(p, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/* Low nibbles of 16 bytes: the first 16 codes; high ones: the others. */
CPU_INLINE void b_put_nibbles(uint8_t *out, __m256i bytes)
{
    const __m256i low = _mm256_and_si256(bytes, _mm256_set1_epi8(15));
    const __m128i high = _mm_slli_epi16(_mm256_extracti128_si256(low, 1), 4);
    _mm_storeu_si128((__m128i *)out, _mm_or_si128(_mm256_castsi256_si128(low), high));
}

CPU_INLINE void b_put_fifth_bits(uint8_t *out, __m256i bytes)
{
    const int bits = _mm256_movemask_epi8(_mm256_slli_epi16(bytes, 3));
    memcpy(out, &bits, 4);
}

CPU_INLINE bool b_q8_0(const float *x, uint8_t *out)
{
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    const __m256 sign = _mm256_set1_ps(-0.0f), half = _mm256_set1_ps(0x1.fffffep-2f);
    __m256i most[B_BLOCKS];
    float id[B_BLOCKS];
    CPU_UNROLL
    for (int j = 0; j < B_BLOCKS; j++) {
        __m256i a[4];
        CPU_UNROLL
        for (int i = 0; i < 4; i++)
            a[i] = _mm256_and_si256(_mm256_castps_si256(_mm256_loadu_ps(x + 32 * j + 8 * i)), magnitude);
        most[j] = _mm256_max_epi32(_mm256_max_epi32(a[0], a[1]), _mm256_max_epi32(a[2], a[3]));
    }
    const __m128i m = b_largest_bits(most), limit = _mm_castps_si128(_mm_set1_ps(127 * CPU_F16_MAX));
    if (_mm_movemask_epi8(_mm_cmpgt_epi32(m, limit)) != 0)
        return false;
    const __m128 d = _mm_div_ps(_mm_castsi128_ps(m), _mm_set1_ps(127));
    b_inverses(d, id);
    b_put_halves(out, 34, d);
    for (int j = 0; j < B_BLOCKS; j++) {
        const __m256 by = _mm256_broadcast_ss(&id[j]);
        __m256i q[4];
        CPU_UNROLL
        for (int i = 0; i < 4; i++) { /* half away from zero: the number below a half is added to the magnitude */
            const __m256 y = _mm256_mul_ps(_mm256_loadu_ps(x + 32 * j + 8 * i), by);
            q[i] = _mm256_cvttps_epi32(_mm256_add_ps(y, _mm256_or_ps(_mm256_and_ps(y, sign), half)));
        }
        _mm256_storeu_si256((__m256i *)(out + 34 * j + 2), b_bytes(q));
    }
    return true;
}

/* Scales of q4_0 and q5_0, of which `half` stands for zero. */
CPU_INLINE bool b_symmetric_scales(const float *x, const int half, int step, uint8_t *out, float *id)
{
    __m128 max, min;
    if (!b_ranges(x, &max, &min))
        return false;
    const __m128 down = _mm_xor_ps(min, _mm_set1_ps(-0.0f)), limit = _mm_set1_ps((float)half * CPU_F16_MAX);
    if (_mm_movemask_ps(_mm_or_ps(_mm_cmpeq_ps(max, down), _mm_cmpgt_ps(_mm_max_ps(max, down), limit))) != 0)
        return false;
    const __m128 extreme = _mm_blendv_ps(min, max, _mm_cmpgt_ps(max, down));
    const __m128 d = _mm_mul_ps(extreme, _mm_set1_ps(-1.0f / (float)half)); /* a power of two */
    b_inverses(d, id);
    b_put_halves(out, step, d);
    return true;
}

CPU_INLINE __m256i b_symmetric_codes(const float *x, const int half, const float *id)
{
    const __m256 by = _mm256_broadcast_ss(id), zero = _mm256_set1_ps((float)half + 0.5f);
    __m256i q[4];
    CPU_UNROLL
    for (int i = 0; i < 4; i++)
        q[i] = _mm256_cvttps_epi32(_mm256_add_ps(_mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), by), zero));
    return _mm256_min_epu8(b_bytes(q), _mm256_set1_epi8((char)(2 * half - 1)));
}

CPU_INLINE bool b_q4_0(const float *x, uint8_t *out)
{
    float id[B_BLOCKS];
    if (!b_symmetric_scales(x, 8, 18, out, id))
        return false;
    for (int j = 0; j < B_BLOCKS; j++)
        b_put_nibbles(out + 18 * j + 2, b_symmetric_codes(x + 32 * j, 8, &id[j]));
    return true;
}

CPU_INLINE bool b_q5_0(const float *x, uint8_t *out)
{
    float id[B_BLOCKS];
    if (!b_symmetric_scales(x, 16, 22, out, id))
        return false;
    for (int j = 0; j < B_BLOCKS; j++) {
        const __m256i bytes = b_symmetric_codes(x + 32 * j, 16, &id[j]);
        b_put_fifth_bits(out + 22 * j + 2, bytes);
        b_put_nibbles(out + 22 * j + 6, bytes);
    }
    return true;
}

/* Scales and minima of q4_1 and q5_1; zeros, which have two signs, are no minima here. */
CPU_INLINE bool b_offset_scales(const float *x, const int levels, int step, uint8_t *out, float *id, float *low)
{
    __m128 max, min;
    if (!b_ranges(x, &max, &min))
        return false;
    const __m128 limit = _mm_set1_ps(CPU_F16_MAX);
    const __m128 large = _mm_or_ps(_mm_cmpgt_ps(max, limit), _mm_cmplt_ps(min, _mm_sub_ps(_mm_setzero_ps(), limit)));
    if (_mm_movemask_ps(_mm_or_ps(large, _mm_cmpeq_ps(min, _mm_setzero_ps()))) != 0)
        return false;
    const __m128 d = _mm_div_ps(_mm_sub_ps(max, min), _mm_set1_ps((float)levels));
    b_inverses(d, id);
    _mm_storeu_ps(low, min);
    b_put_halves(out, step, d);
    b_put_halves(out + 2, step, min);
    return true;
}

CPU_INLINE __m256i b_offset_codes(const float *x, const float *id, const float *low)
{
    const __m256 by = _mm256_broadcast_ss(id), min = _mm256_broadcast_ss(low), half = _mm256_set1_ps(0.5f);
    __m256i q[4];
    CPU_UNROLL
    for (int i = 0; i < 4; i++)
        q[i] = _mm256_cvttps_epi32(
            _mm256_add_ps(_mm256_mul_ps(_mm256_sub_ps(_mm256_loadu_ps(x + 8 * i), min), by), half));
    return b_bytes(q);
}

CPU_INLINE bool b_q4_1(const float *x, uint8_t *out)
{
    float id[B_BLOCKS], low[B_BLOCKS];
    if (!b_offset_scales(x, 15, 20, out, id, low))
        return false;
    for (int j = 0; j < B_BLOCKS; j++)
        b_put_nibbles(out + 20 * j + 4, b_offset_codes(x + 32 * j, &id[j], &low[j]));
    return true;
}

CPU_INLINE bool b_q5_1(const float *x, uint8_t *out)
{
    float id[B_BLOCKS], low[B_BLOCKS];
    if (!b_offset_scales(x, 31, 24, out, id, low))
        return false;
    for (int j = 0; j < B_BLOCKS; j++) {
        const __m256i bytes = b_offset_codes(x + 32 * j, &id[j], &low[j]);
        b_put_fifth_bits(out + 24 * j + 4, bytes);
        b_put_nibbles(out + 24 * j + 8, bytes);
    }
    return true;
}

#else

#define B_NONE(name)                                                                                                   \
    CPU_INLINE bool b_##name(const float *x, uint8_t *out)                                                             \
    {                                                                                                                  \
        (void)x;                                                                                                       \
        (void)out;                                                                                                     \
        return false;                                                                                                  \
    }
B_NONE(q8_0)
B_NONE(q4_0)
B_NONE(q5_0)
B_NONE(q4_1)
B_NONE(q5_1)
#undef B_NONE

#endif
#endif
