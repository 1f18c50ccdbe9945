/*
 * Vectors of the variant being compiled, by the compiler's vector extension;
 * intrinsics only where it has no words for an instruction.  CPU_VL floats a
 * vector: 16 (avx512), 8 (avx2), 4 (neon, anything).
 *
 * Included by the files that are compiled once per variant.  CPU_V(name)
 * gives a name of the variant's own.
 */
#ifndef CPU_VEC_H
#define CPU_VEC_H

#include "../format.h"

#if defined(__AVX512F__)
#define CPU_VL 16
#define CPU_DOT_COLS 4 /* columns, at most, that a row meets while it is decoded in registers */
/* vectors of their sums that stay in registers: of the chains of all, or of two of each at a time */
#define CPU_DOT_SUMS 16
#elif defined(__AVX2__)
#define CPU_VL 8
#define CPU_DOT_COLS 4
#define CPU_DOT_SUMS 8
#else
#define CPU_VL 4
#define CPU_DOT_COLS 2
#define CPU_DOT_SUMS 8
#endif
#if defined(__AVX512F__) || defined(CPU_NEON)
#define CPU_REGISTERS 32 /* for vectors */
#else
#define CPU_REGISTERS 16
#endif
#define CPU_HALVES (CPU_VL >= 8 || CPU_REGISTERS == 32) /* instructions read vectors of f16 and bf16 */
#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#elif defined(CPU_NEON) /* the variant's own word: the compiler's is said of scalar on Arm, too */
#include <arm_neon.h>
#elif defined(__SSE2__)
#include <xmmintrin.h>
#endif

#ifndef CPU_SUFFIX
#define CPU_SUFFIX scalar
#endif
#define CPU_PASTE2(a, b) a##_##b
#define CPU_PASTE(a, b) CPU_PASTE2(a, b)
#define CPU_V(name) CPU_PASTE(name, CPU_SUFFIX)

/* Before a loop whose count is constant once inlined: registers only hold the
 * elements of small arrays where it is unrolled. */
#if defined(__clang__)
#define CPU_UNROLL _Pragma("clang loop unroll(full)")
#define CPU_UNROLL_BY_4 _Pragma("clang loop unroll_count(4)")
#else
#define CPU_UNROLL _Pragma("GCC unroll 16")
#define CPU_UNROLL_BY_4 _Pragma("GCC unroll 4")
#endif

typedef float vf __attribute__((vector_size(4 * CPU_VL)));
typedef int32_t vi __attribute__((vector_size(4 * CPU_VL)));
typedef uint32_t vu __attribute__((vector_size(4 * CPU_VL)));
typedef uint8_t vu8 __attribute__((vector_size(CPU_VL)));
typedef int8_t vi8 __attribute__((vector_size(CPU_VL)));
typedef uint16_t vu16 __attribute__((vector_size(2 * CPU_VL)));

CPU_INLINE vf v_load(const float *p)
{
    vf v;
    memcpy(&v, p, sizeof v);
    return v;
}

CPU_INLINE void v_store(float *p, vf v)
{
    memcpy(p, &v, sizeof v);
}

CPU_INLINE vf v_set1(float x)
{
    return x - (vf){0}; /* minus zero changes no x */
}

CPU_INLINE vi v_seti(int32_t x)
{
    return x - (vi){0};
}

CPU_INLINE vf v_fma(vf a, vf b, vf c)
{
    return a * b + c; /* contracted where the machine can */
}

CPU_INLINE vf v_cvt(vi a)
{
    return __builtin_convertvector(a, vf);
}

CPU_INLINE vi v_bits(vf a)
{
    return (vi)a;
}

/* Lanes of a where the mask is set (-1), else of b. */
CPU_INLINE vf v_select(vi mask, vf a, vf b)
{
#if CPU_VL == 8
    return (vf)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)mask);
#else
    return (vf)(((vi)a & mask) | ((vi)b & ~mask));
#endif
}

#define INFINITE 0x7f800000 /* a float's bits without its sign: from here on no number */

CPU_INLINE vf v_abs(vf a)
{
    return (vf)((vi)a & 0x7fffffff);
}

/* b where either is no number: as comparing and selecting, in one instruction. */
CPU_INLINE vf v_max(vf a, vf b)
{
#if CPU_VL == 16
    return (vf)_mm512_max_ps((__m512)a, (__m512)b);
#elif CPU_VL == 8
    return (vf)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (vf)_mm_max_ps((__m128)a, (__m128)b);
#else
    return v_select(a > b, a, b);
#endif
}

CPU_INLINE vf v_min(vf a, vf b)
{
#if CPU_VL == 16
    return (vf)_mm512_min_ps((__m512)a, (__m512)b);
#elif CPU_VL == 8
    return (vf)_mm256_min_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (vf)_mm_min_ps((__m128)a, (__m128)b);
#else
    return v_select(a < b, a, b);
#endif
}

/*
 * The sum of all lanes, always in the same order: within each group of four
 * (x0 + x2) + (x1 + x3), then the groups in the same way.
 */
CPU_INLINE float v_sum(vf v)
{
#if CPU_VL == 16
    __m512 x = (__m512)v;
    x = _mm512_add_ps(x, _mm512_permute_ps(x, 0x4e));
    x = _mm512_add_ps(x, _mm512_permute_ps(x, 0xb1));
    __m256 y = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    return _mm_cvtss_f32(_mm_add_ss(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1)));
#elif defined(CPU_NEON)
    return vpadds_f32(vadd_f32(vget_low_f32((float32x4_t)v), vget_high_f32((float32x4_t)v)));
#else
    float t[CPU_VL];
    v_store(t, v);
    float first = (t[0] + t[2]) + (t[1] + t[3]);
#if CPU_VL == 8
    return first + ((t[4] + t[6]) + (t[5] + t[7]));
#else
    return first;
#endif
#endif
}

#if defined(CPU_NEON)
/* Of two vectors x0 + x2 and, behind both, x1 + x3. */
CPU_INLINE vf halves_sums(vf a, vf b)
{
    return (vf)vzip1q_f32((float32x4_t)a, (float32x4_t)b) + (vf)vzip2q_f32((float32x4_t)a, (float32x4_t)b);
}
#endif

#if CPU_VL == 16
/* In each quarter the sums of a quarter of four vectors. */
CPU_INLINE __m512 quarters_sums(const vf *v)
{
    __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps((__m512)v[0], (__m512)v[1]),
                              _mm512_unpackhi_ps((__m512)v[0], (__m512)v[1]));
    __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps((__m512)v[2], (__m512)v[3]),
                              _mm512_unpackhi_ps((__m512)v[2], (__m512)v[3]));
    __m512 x = _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd)));
    return _mm512_add_ps(x, _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd))));
}
#endif

/* Four of them: the same sums, with fewer operations. */
CPU_INLINE void v_sum4(const vf *v, float *out)
{
#if CPU_VL == 16
    const __m512 x = quarters_sums(v);
    __m256 y = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1)));
#elif CPU_VL == 8
    __m256 ab = _mm256_add_ps(_mm256_unpacklo_ps((__m256)v[0], (__m256)v[1]),
                              _mm256_unpackhi_ps((__m256)v[0], (__m256)v[1]));
    __m256 cd = _mm256_add_ps(_mm256_unpacklo_ps((__m256)v[2], (__m256)v[3]),
                              _mm256_unpackhi_ps((__m256)v[2], (__m256)v[3]));
    __m256 x = _mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(ab), _mm256_castps_pd(cd)));
    x = _mm256_add_ps(x, _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(ab), _mm256_castps_pd(cd))));
    _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1)));
#elif defined(CPU_NEON)
    const float64x2_t ab = (float64x2_t)halves_sums(v[0], v[1]), cd = (float64x2_t)halves_sums(v[2], v[3]);
    v_store(out, (vf)vzip1q_f64(ab, cd) + (vf)vzip2q_f64(ab, cd));
#else
    for (int i = 0; i < 4; i++)
        out[i] = v_sum(v[i]);
#endif
}

/* Four times that, of v[0] and the next three, of v[4] and the next, ... */
CPU_INLINE void v_sum4_four_times(const vf *v, float (*out)[4])
{
#if CPU_VL == 16
    const __m512 a = quarters_sums(v), b = quarters_sums(v + 4), c = quarters_sums(v + 8), d = quarters_sums(v + 12);
    const __m512 ab = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
    const __m512 cd = _mm512_add_ps(_mm512_shuffle_f32x4(c, d, 0x44), _mm512_shuffle_f32x4(c, d, 0xee));
    const __m512 sums = _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xdd));
    _mm_storeu_ps(out[0], _mm512_castps512_ps128(sums));
    _mm_storeu_ps(out[1], _mm512_extractf32x4_ps(sums, 1));
    _mm_storeu_ps(out[2], _mm512_extractf32x4_ps(sums, 2));
    _mm_storeu_ps(out[3], _mm512_extractf32x4_ps(sums, 3));
#else
    CPU_UNROLL
    for (int i = 0; i < 4; i++)
        v_sum4(v + 4 * i, out[i]);
#endif
}

/* To *out adds the sums of a panel's four chains, in their order. */
CPU_INLINE void add_chains(const vf *acc, float *out)
{
    float t[4];
    v_sum4(acc, t);
    *out = (((*out + t[0]) + t[1]) + t[2]) + t[3];
}

CPU_INLINE float v_hmax(vf v)
{
    float t[CPU_VL];
    v_store(t, v);
    for (int s = CPU_VL / 2; s; s /= 2)
        for (int i = 0; i < s; i++)
            t[i] = t[i] > t[i + s] ? t[i] : t[i + s];
    return t[0];
}

#if defined(CPU_NEON)
CPU_INLINE uint32_t four_bytes(const uint8_t *p)
{
    uint32_t b;
    memcpy(&b, p, sizeof b);
    return b;
}
#endif

/* CPU_VL bytes as integers. */
CPU_INLINE vi v_u8(const uint8_t *p)
{
#if CPU_VL == 16
    return (vi)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p));
#elif CPU_VL == 8
    return (vi)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p));
#elif defined(CPU_NEON)
    return (vi)vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(four_bytes(p)))));
#else
    vu8 b;
    memcpy(&b, p, sizeof b);
    return __builtin_convertvector(b, vi);
#endif
}

CPU_INLINE vi v_i8(const uint8_t *p)
{
#if CPU_VL == 16
    return (vi)_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p));
#elif CPU_VL == 8
    return (vi)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p));
#elif defined(CPU_NEON)
    return (vi)vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8(four_bytes(p)))));
#else
    vi8 b;
    memcpy(&b, p, sizeof b);
    return __builtin_convertvector(b, vi);
#endif
}

/* CPU_VL integers from memory. */
CPU_INLINE vi v_loadi(const void *p)
{
    vi v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* 0, 1, 2, ... */
CPU_INLINE vi v_ramp(void)
{
    vi v;
    CPU_UNROLL
    for (int i = 0; i < CPU_VL; i++)
        v[i] = i;
    return v;
}

/* A table of 16 floats, looked up by the low four bits of each lane. */
typedef struct v_table {
#if CPU_VL == 16
    __m512 t;
#elif CPU_VL == 8
    __m256 lo, hi;
#elif defined(CPU_NEON)
    uint8x16x4_t t;
#else
    float t[16];
#endif
} v_table;

CPU_INLINE v_table v_table_of(const float *values)
{
    v_table t;
#if CPU_VL == 16
    t.t = _mm512_loadu_ps(values);
#elif CPU_VL == 8
    t.lo = _mm256_loadu_ps(values);
    t.hi = _mm256_loadu_ps(values + 8);
#elif defined(CPU_NEON)
    CPU_UNROLL
    for (int i = 0; i < 4; i++)
        t.t.val[i] = (uint8x16_t)v_load(values + 4 * i);
#else
    memcpy(t.t, values, sizeof t.t);
#endif
    return t;
}

CPU_INLINE vf v_lookup(v_table t, vi index)
{
#if CPU_VL == 16
    return (vf)_mm512_permutexvar_ps((__m512i)index, t.t);
#elif CPU_VL == 8
    __m256 lo = _mm256_permutevar8x32_ps(t.lo, (__m256i)index), hi = _mm256_permutevar8x32_ps(t.hi, (__m256i)index);
    return (vf)_mm256_blendv_ps(lo, hi, _mm256_castsi256_ps(_mm256_slli_epi32((__m256i)index, 28)));
#elif defined(CPU_NEON)
    const vi bytes = (index & 15) * 0x04040404 + 0x03020100; /* where the four bytes of a float are */
    return (vf)vqtbl4q_u8(t.t, (uint8x16_t)bytes);
#else
    vf v;
    for (int i = 0; i < CPU_VL; i++)
        v[i] = t.t[index[i] & 15];
    return v;
#endif
}

/* -- half precision ------------------------------------------------------------- */

/* IEEE binary16 to f32 without a conversion instruction: scale the fields of a
 * finite number, set all exponent bits for infinity and NaN. */
CPU_INLINE float f16_soft(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = (uint32_t)(h & 0x7fff) << 13;
    float magnitude;
    memcpy(&magnitude, &rest, 4);
    magnitude *= 0x1p112f; /* exponents of 2^-15 and 2^-127 mean the same */
    uint32_t bits;
    memcpy(&bits, &magnitude, 4);
    if ((h & 0x7c00) == 0x7c00)
        bits = 0x7f800000 | rest;
    bits |= sign;
    float out;
    memcpy(&out, &bits, 4);
    return out;
}

CPU_INLINE float f16_load(const void *p)
{
    uint16_t h;
    memcpy(&h, p, 2);
#if defined(__F16C__)
    return _cvtsh_ss(h);
#elif defined(CPU_NEON)
    __fp16 x;
    memcpy(&x, &h, 2);
    return (float)x;
#else
    return f16_soft(h);
#endif
}

CPU_INLINE vf v_f16(const void *p)
{
#if CPU_VL == 16
    return (vf)_mm512_cvtph_ps(_mm256_loadu_si256(p));
#elif CPU_VL == 8
    return (vf)_mm256_cvtph_ps(_mm_loadu_si128(p));
#elif defined(CPU_NEON)
    float16x4_t h;
    memcpy(&h, p, sizeof h);
    return (vf)vcvt_f32_f16(h);
#else
    vf v = {0};
    for (int i = 0; i < CPU_VL; i++)
        v[i] = f16_load((const uint8_t *)p + 2 * i);
    return v;
#endif
}

CPU_INLINE float bf16_load(const void *p)
{
    uint16_t h;
    memcpy(&h, p, 2);
    uint32_t bits = (uint32_t)h << 16;
    float out;
    memcpy(&out, &bits, 4);
    return out;
}

CPU_INLINE vf v_bf16(const void *p)
{
#if CPU_VL == 16
    return (vf)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(p)), 16);
#elif CPU_VL == 8
    return (vf)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(p)), 16);
#elif defined(CPU_NEON)
    uint16x4_t h;
    memcpy(&h, p, sizeof h);
    return (vf)vshll_n_u16(h, 16);
#else
    vu16 h;
    memcpy(&h, p, sizeof h);
    return (vf)(__builtin_convertvector(h, vu) << 16);
#endif
}

/* -- functions -------------------------------------------------------------------- */

/* e^x as a number from 0.7 to 1.42 times two to the power of *n. */
CPU_INLINE vf v_exp_part(vf x, vf *power)
{
    vf n = (x * 1.44269504088896341f + 12582912.0f) - 12582912.0f; /* to the nearest integer */
    vf r = v_fma(n, v_set1(-0x1.62e4p-1f), x);                     /* ln 2 in two parts */
    r = v_fma(n, v_set1(-0x1.7f7d1cp-20f), r);
    vf p = v_set1(1.0f / 5040);
    p = v_fma(p, r, v_set1(1.0f / 720));
    p = v_fma(p, r, v_set1(1.0f / 120));
    p = v_fma(p, r, v_set1(1.0f / 24));
    p = v_fma(p, r, v_set1(1.0f / 6));
    p = v_fma(p, r, v_set1(0.5f));
    p = v_fma(p, r, v_set1(1.0f));
    p = v_fma(p, r, v_set1(1.0f));
    *power = n;
    return p;
}

/*
 * e^x, relative error about 1e-7: x = n ln 2 + r, |r| <= ln 2 / 2, e^r by its
 * series to the seventh power, times 2^n in two steps so that results near
 * both ends of the range are right.
 */
CPU_INLINE vf v_exp(vf x)
{
    vi nan = x != x;
    vf c = v_max(v_min(x, v_set1(89.0f)), v_set1(-104.0f)), n;
    vf p = v_exp_part(c, &n);
    vi k = __builtin_convertvector(n, vi), half = k >> 1;
    p = p * (vf)((half + 127) << 23) * (vf)((k - half + 127) << 23);
    return v_select(nan, x, p);
}

/* The same, to the bit, of x from -87 to 0, and of what is no number; of others whatever it is. */
CPU_INLINE vf v_exp_down(vf x)
{
    vf n, p = v_exp_part(x, &n);
    return p * (vf)((__builtin_convertvector(n, vi) + 127) << 23);
}

CPU_INLINE vf v_sigmoid(vf x)
{
    return 1.0f / (1.0f + v_exp(-x));
}

/* 1 - 2 / (1 + e^(2x)): good to 1e-7 of its range. */
CPU_INLINE vf v_tanh_of(vf x)
{
    return 1.0f - 2.0f / (1.0f + v_exp(x + x));
}

/*
 * Numbers below the normal ones cost a hundred times the time of others.
 * Between these two calls they are zero: for ops whose values decay.
 */
CPU_INLINE unsigned flush_begin(void)
{
#if defined(__SSE2__)
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040);
    return before;
#else
    return 0;
#endif
}

CPU_INLINE void flush_end(unsigned before)
{
#if defined(__SSE2__)
    _mm_setcsr(before);
#else
    (void)before;
#endif
}

#endif
