/* How large 32 floats are, as integers, which are in the order of what they are sizes of.  For vectors of 32 bytes. */
#ifndef CPU_SIZES_H
#define CPU_SIZES_H

#include "bytes.h"

CPU_INLINE void sizes_of(const float *x, vb *size)
{
    CPU_UNROLL
    for (int i = 0; i < 4; i++)
        size[i] = _mm256_and_si256(b_load((const uint8_t *)(x + 8 * i)), _mm256_set1_epi32(0x7fffffff));
}

CPU_INLINE int32_t largest_of(const vb *size)
{
    const vb a = _mm256_max_epi32(_mm256_max_epi32(size[0], size[1]), _mm256_max_epi32(size[2], size[3]));
    __m128i b = _mm_max_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    b = _mm_max_epi32(b, _mm_shuffle_epi32(b, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(b, _mm_shuffle_epi32(b, 0xb1)));
}

#endif
