/* A group of 32 elements in registers (group.h), of AVX2 and AVX-512. */
#ifndef CPU_PLANES_GROUP_X86_H
#define CPU_PLANES_GROUP_X86_H

#include "../ops/sizes.h"

typedef vb group_digits; /* 32 bytes */

CPU_INLINE void group_store(uint8_t *out, group_digits digits)
{
    _mm256_storeu_si256((vb *)out, digits);
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
CPU_INLINE group_digits group_bytes(const vi *v)
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

CPU_INLINE group_digits group_bytes(const vi *v)
{
    const vb a = _mm256_packs_epi32((vb)v[0], (vb)v[1]), b = _mm256_packs_epi32((vb)v[2], (vb)v[3]);
    return _mm256_permutevar8x32_epi32(_mm256_packs_epi16(a, b), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

#endif

/* Sums of half a group, or a group: of plane i in word i. */
typedef __m128i group_sums;

CPU_INLINE void sums_of(const group_digits *digits, const int planes, group_sums half[2])
{
    __m256i four[EXACT] = {0};
    CPU_UNROLL
    for (int p = 0; p < planes; p++)
        four[p] = _mm256_madd_epi16(_mm256_maddubs_epi16(b_all(1), digits[p]), _mm256_set1_epi16(1));
    const __m256i both = _mm256_hadd_epi32(_mm256_hadd_epi32(four[0], four[1]), _mm256_hadd_epi32(four[2], four[2]));
    half[0] = _mm256_castsi256_si128(both);
    half[1] = _mm256_extracti128_si256(both, 1);
}

CPU_INLINE group_sums sums_together(group_sums a, group_sums b)
{
    return _mm_add_epi32(a, b);
}

CPU_INLINE int32_t sum_of_plane(group_sums sums, const int plane)
{
    return plane == 0   ? _mm_cvtsi128_si32(sums)
           : plane == 1 ? _mm_extract_epi32(sums, 1)
                        : _mm_extract_epi32(sums, 2);
}

#if PLANES_DOT

/* What takes the bias back, of each plane.  Four words are written, whatever there is of planes: others come behind. */
CPU_INLINE void put_begins(const group_digits *digits, int half, int parts, group_sums sums, int bias, const int planes,
                           uint8_t *out)
{
    (void)digits;
    (void)half;
    (void)parts;
    const __m128i begins = _mm_mullo_epi32(sums, _mm_set1_epi32(-bias));
    if (planes == 1)
        _mm_storeu_si32(out, begins);
    else
        _mm_storeu_si128((__m128i *)out, begins);
}

#else

/* Sums of the even and odd pairs of 16 bytes' words. */
CPU_INLINE __m128i sum_pairs(__m128i bytes)
{
    const __m128i pairs = _mm_maddubs_epi16(_mm_set1_epi8(1), bytes);
    const __m128i two = _mm_add_epi16(pairs, _mm_shuffle_epi32(pairs, 0x4e));
    return _mm_add_epi16(two, _mm_shuffle_epi32(two, 0xb1));
}

/* What takes the bias back, of each plane: in both words of 16 bits, for neither has room for all of it. */
CPU_INLINE void put_begins(const group_digits *digits, int half, int parts, group_sums sums, int bias, const int planes,
                           uint8_t *out)
{
    (void)sums;
    CPU_UNROLL
    for (int p = 0; p < planes; p++) {
        const __m128i first = _mm256_castsi256_si128(digits[p]), second = _mm256_extracti128_si256(digits[p], 1);
        __m128i pairs = sum_pairs(half ? second : first);
        if (parts == 1)
            pairs = _mm_add_epi16(pairs, sum_pairs(second));
        _mm_storeu_si32(out + 4 * p, _mm_mullo_epi16(pairs, _mm_set1_epi16((short)-bias)));
    }
}

#endif

#endif
