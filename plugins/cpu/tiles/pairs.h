/* Numbers of bf16 two by two, as tiles take them. */
#ifndef CPU_TILES_PAIRS_H
#define CPU_TILES_PAIRS_H

#include "../ops/vec.h"

/* 32 floats one after another. */
CPU_INLINE __m512i rounded_row(const float *x)
{
    return (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + 16), _mm512_loadu_ps(x));
}

/* 16 of one row and 16 of the next, side by side. */
CPU_INLINE __m512i rounded_pairs(__m512 first, __m512 second)
{
    const __m512i across = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5,
                                            20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(across, (__m512i)_mm512_cvtne2ps_pbh(second, first));
}

#endif
