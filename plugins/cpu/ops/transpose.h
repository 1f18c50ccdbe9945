/* Squares of vectors transposed.  Included by the files of a variant. */
#ifndef CPU_TRANSPOSE_H
#define CPU_TRANSPOSE_H

#include "vec.h"

#if CPU_VL == 16
/* 16 vectors as the rows of a square: its columns. */
CPU_INLINE void transpose_registers(__m512 *a)
{
    __m512 b[16];
    CPU_UNROLL
    for (int i = 0; i < 16; i += 2) {
        b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
    }
    __m512 d[16];
    CPU_UNROLL
    for (int i = 0; i < 16; i += 4)
        CPU_UNROLL
        for (int j = 0; j < 2; j++) {
            __m512d p = _mm512_castps_pd(b[i + j]), q = _mm512_castps_pd(b[i + j + 2]);
            d[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(p, q));
            d[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(p, q));
        }
    /* d[4g + c]: column 4l + c of rows 4g .. 4g + 3 in 128-bit lane l */
    CPU_UNROLL
    for (int c = 0; c < 4; c++) {
        __m512 p = _mm512_shuffle_f32x4(d[c], d[4 + c], 0x88), q = _mm512_shuffle_f32x4(d[c], d[4 + c], 0xdd);
        __m512 r = _mm512_shuffle_f32x4(d[8 + c], d[12 + c], 0x88), s = _mm512_shuffle_f32x4(d[8 + c], d[12 + c], 0xdd);
        a[c] = _mm512_shuffle_f32x4(p, r, 0x88);
        a[4 + c] = _mm512_shuffle_f32x4(q, s, 0x88);
        a[8 + c] = _mm512_shuffle_f32x4(p, r, 0xdd);
        a[12 + c] = _mm512_shuffle_f32x4(q, s, 0xdd);
    }
}

/* 16 rows of 16 floats, `from` floats apart, as 16 columns `to` floats apart. */
CPU_INLINE void transpose_vl(const float *x, int64_t from, float *y, int64_t to)
{
    __m512 a[16];
    CPU_UNROLL
    for (int i = 0; i < 16; i++)
        a[i] = _mm512_loadu_ps(x + i * from);
    transpose_registers(a);
    CPU_UNROLL
    for (int i = 0; i < 16; i++)
        _mm512_storeu_ps(y + i * to, a[i]);
}
#else
/* CPU_VL rows of CPU_VL floats, `from` floats apart, as columns `to` floats apart. */
CPU_INLINE void transpose_vl(const float *x, int64_t from, float *y, int64_t to)
{
#if CPU_VL == 8
    __m256 a[8], b[8];
    CPU_UNROLL
    for (int i = 0; i < 8; i++)
        a[i] = _mm256_loadu_ps(x + i * from);
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
        _mm256_storeu_ps(y + c * to, _mm256_permute2f128_ps(a[c], a[4 + c], 0x20));
        _mm256_storeu_ps(y + (4 + c) * to, _mm256_permute2f128_ps(a[c], a[4 + c], 0x31));
    }
#elif defined(CPU_NEON)
    const float32x4x2_t a = vtrnq_f32(vld1q_f32(x), vld1q_f32(x + from));
    const float32x4x2_t b = vtrnq_f32(vld1q_f32(x + 2 * from), vld1q_f32(x + 3 * from));
    CPU_UNROLL
    for (int i = 0; i < 2; i++) {
        const float64x2_t upper = (float64x2_t)a.val[i], lower = (float64x2_t)b.val[i];
        vst1q_f32(y + i * to, (float32x4_t)vtrn1q_f64(upper, lower));
        vst1q_f32(y + (i + 2) * to, (float32x4_t)vtrn2q_f64(upper, lower));
    }
#else
    for (int i = 0; i < CPU_VL; i++)
        for (int j = 0; j < CPU_VL; j++)
            y[j * to + i] = x[i * from + j];
#endif
}
#endif

#endif
