/*
 * Block formats, decoded in registers: for each type a function
 *
 *     dec_TYPE(row, u, scales, w)     unit u of a row -> elements in w[]
 *
 * where a unit is a block or a convenient part of one.  For formats with
 * several units a block, prep_TYPE(block, scales) has unpacked the block's
 * scales before.  The layouts are those of the GGUF format.  Included by the
 * files compiled once per variant.
 */
#ifndef CPU_DECODE_H
#define CPU_DECODE_H

#include "vec.h"
#if CPU_VL >= 8
#include "bytes.h"
#endif

static const float table_q4[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static const float table_q4_0[16] = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};
static const float table_iq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
/* twice the values of E2M1 */
static const float table_e2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* -- plain types: units of 32; what remains of a row is read element by element -- */

CPU_INLINE void dec_f32(const uint8_t *row, int64_t u, const float *scales, vf *w)
{
    (void)scales;
    CPU_UNROLL
    for (int i = 0; i < 32 / CPU_VL; i++)
        w[i] = v_load((const float *)row + u * 32 + i * CPU_VL);
}

CPU_INLINE void dec_f16(const uint8_t *row, int64_t u, const float *scales, vf *w)
{
    (void)scales;
    CPU_UNROLL
    for (int i = 0; i < 32 / CPU_VL; i++)
        w[i] = v_f16(row + (u * 32 + i * CPU_VL) * 2);
}

CPU_INLINE void dec_bf16(const uint8_t *row, int64_t u, const float *scales, vf *w)
{
    (void)scales;
    CPU_UNROLL
    for (int i = 0; i < 32 / CPU_VL; i++)
        w[i] = v_bf16(row + (u * 32 + i * CPU_VL) * 2);
}

/* An f16 number in every lane. */
CPU_INLINE vf v_f16_all(const uint8_t *p)
{
#if CPU_VL == 16
    uint16_t h;
    memcpy(&h, p, 2);
    return (vf)_mm512_cvtph_ps(_mm256_set1_epi16((short)h));
#elif CPU_VL == 8
    uint16_t h;
    memcpy(&h, p, 2);
    return (vf)_mm256_cvtph_ps(_mm_set1_epi16((short)h));
#else
    return v_set1(f16_load(p));
#endif
}

/* -- 32 elements a block ------------------------------------------------------------ */

/* 16 bytes whose low nibbles are the first 16 elements and whose high ones
 * the next 16, looked up in a table. */
CPU_INLINE void nibbles(const uint8_t *q, v_table t, vf *w)
{
    CPU_UNROLL
    for (int i = 0; i < 16 / CPU_VL; i++) {
        vi b = v_u8(q + i * CPU_VL);
        w[i] = v_lookup(t, b);
        w[i + 16 / CPU_VL] = v_lookup(t, b >> 4);
    }
}

/* The same as integers. */
CPU_INLINE void nibbles_int(const uint8_t *q, vi *w)
{
    CPU_UNROLL
    for (int i = 0; i < 16 / CPU_VL; i++) {
        vi b = v_u8(q + i * CPU_VL);
        w[i] = b & 15;
        w[i + 16 / CPU_VL] = b >> 4;
    }
}

/* Bit i of a 32-bit field as 16 in element i. */
CPU_INLINE void fifth_bits(const uint8_t *p, vi *w)
{
    uint32_t bits;
    memcpy(&bits, p, 4);
    vi lane = v_ramp();
    CPU_UNROLL
    for (int i = 0; i < 32 / CPU_VL; i++)
        w[i] |= (v_seti((int32_t)(bits >> (i * CPU_VL))) >> lane & 1) << 4;
}

CPU_INLINE void dec_q4_0(const uint8_t *row, int64_t u, const float *scales, vf *w)
{
    (void)scales;
    const uint8_t *b = row + u * 18;
    vf d = v_f16_all(b);
#if CPU_VL >= 16
    v_table t = {(__m512)((vf)v_table_of(table_q4_0).t * d)};
    nibbles(b + 2, t, w);
#else
    vi q[32 / CPU_VL];
    nibbles_int(b + 2, q);
    CPU_UNROLL
    for (int i = 0; i < 32 / CPU_VL; i++)
        w[i] = v_cvt(q[i] - 8) * d;
#endif
}

CPU_INLINE void dec_q4_1(const uint8_t *row, int64_t u, const float *scales, vf *w)
{
    (void)scales;
    const uint8_t *b = row + u * 20;
    vf d = v_f16_all(b), m = v_f16_all(b + 2);
#if CPU_VL >= 16
    v_table t = {(__m512)v_fma((vf)v_table_of(table_q4).t, d, m)};
    nibbles(b + 4, t, w);
#else
    vi q[32 / CPU_VL];
    nibbles_int(b + 4, q);
    CPU_UNROLL
    for (int i = 0; i < 32 / CPU_VL; i++)
        w[i] = v_fma(v_cvt(q[i]), d, m);
#endif
}

#if CPU_VL >= 16
/* Nibbles through a table, plus `step` where the fifth bit is set. */
CPU_INLINE void five_bits(const uint8_t *q, const uint8_t *high, v_table t, vf step, vf *w)
{
    uint32_t bits;
    memcpy(&bits, high, 4);
    nibbles(q, t, w);
    w[0] = (vf)_mm512_mask_add_ps((__m512)w[0], (__mmask16)bits, (__m512)w[0], (__m512)step);
    w[1] = (vf)_mm512_mask_add_ps((__m512)w[1], (__mmask16)(bits >> 16), (__m512)w[1], (__m512)step);
}
#endif

CPU_INLINE void dec_q5_0(const uint8_t *row, int64_t u, const float *scales, vf *w)
{
    (void)scales;
    const uint8_t *b = row + u * 22;
    vf d = v_f16_all(b);
#if CPU_VL >= 16
    v_table t = {(__m512)(((vf)v_table_of(table_q4).t - 16.0f) * d)};
    five_bits(b + 6, b + 2, t, d * 16.0f, w);
#else
    vi q[32 / CPU_VL];
    nibbles_int(b + 6, q);
    fifth_bits(b + 2, q);
    CPU_UNROLL
    for (int i = 0; i < 32 / CPU_VL; i++)
        w[i] = v_cvt(q[i] - 16) * d;
#endif
}

CPU_INLINE void dec_q5_1(const uint8_t *row, int64_t u, const float *scales, vf *w)
{
    (void)scales;
    const uint8_t *b = row + u * 24;
    vf d = v_f16_all(b), m = v_f16_all(b + 2);
#if CPU_VL >= 16
    v_table t = {(__m512)v_fma((vf)v_table_of(table_q4).t, d, m)};
    five_bits(b + 8, b + 4, t, d * 16.0f, w);
#else
    vi q[32 / CPU_VL];
    nibbles_int(b + 8, q);
    fifth_bits(b + 4, q);
    CPU_UNROLL
    for (int i = 0; i < 32 / CPU_VL; i++)
        w[i] = v_fma(v_cvt(q[i]), d, m);
#endif
}

CPU_INLINE void dec_q8_0(const uint8_t *row, int64_t u, const float *scales, vf *w)
{
    (void)scales;
    const uint8_t *b = row + u * 34;
    vf d = v_f16_all(b);
    CPU_UNROLL
    for (int i = 0; i < 32 / CPU_VL; i++)
        w[i] = v_cvt(v_i8(b + 2 + i * CPU_VL)) * d;
}

/* Nibbles through a table scaled by d. */
CPU_INLINE void nibbles_scaled(const uint8_t *q, const float *table, vf d, vf *w)
{
#if CPU_VL >= 16
    v_table t = {(__m512)((vf)v_table_of(table).t * d)};
    nibbles(q, t, w);
#else
    nibbles(q, v_table_of(table), w);
    CPU_UNROLL
    for (int i = 0; i < 32 / CPU_VL; i++)
        w[i] *= d;
#endif
}

CPU_INLINE void dec_iq4_nl(const uint8_t *row, int64_t u, const float *scales, vf *w)
{
    (void)scales;
    const uint8_t *b = row + u * 18;
    nibbles_scaled(b + 2, table_iq4, v_f16_all(b), w);
}

/* Types whose rows few columns meet as they are decoded, block by block in registers (attention, short rows): with vectors
 * of 16, where the columns' sums are in registers, too. */
#define BLOCK 32
#define BLOCK_VECTORS (BLOCK / CPU_VL)
#define BLOCK_COLUMNS 4
#if CPU_VL == 16
#define BLOCK_TYPES(X)                                                                                                 \
    X(Q4_0, q4_0, 18) X(Q4_1, q4_1, 20) X(Q5_0, q5_0, 22) X(Q5_1, q5_1, 24) X(Q8_0, q8_0, 34) X(IQ4_NL, iq4_nl, 18)
#else
#define BLOCK_TYPES(X)
#endif
typedef void (*block_decoder)(const uint8_t *row, int64_t block, const float *scales, vf *w);

CPU_INLINE void prep_iq4_xs(const uint8_t *b, float *scales)
{
    uint16_t high;
    memcpy(&high, b + 2, 2);
    float d = f16_load(b);
    CPU_UNROLL
    for (int s = 0; s < 8; s++)
        scales[s] = d * (float)((((b[4 + s / 2] >> 4 * (s & 1)) & 15) | ((high >> 2 * s) & 3) << 4) - 32);
}

CPU_INLINE void dec_iq4_xs(const uint8_t *row, int64_t u, const float *scales, vf *w)
{
    int s = (int)(u & 7);
    nibbles_scaled(row + (u >> 3) * 136 + 8 + 16 * s, table_iq4, v_set1(scales[s]), w);
}

/* 2^(e - 128): e 0 and 1 are below the normal numbers. */
CPU_INLINE float e8m0_half(uint8_t e)
{
    uint32_t bits = e < 2 ? 0x00200000u << e : (uint32_t)(e - 1) << 23;
    float out;
    memcpy(&out, &bits, 4);
    return out;
}

CPU_INLINE void dec_mxfp4(const uint8_t *row, int64_t u, const float *scales, vf *w)
{
    (void)scales;
    const uint8_t *b = row + u * 17;
    nibbles_scaled(b + 1, table_e2m1, v_set1(e8m0_half(b[0])), w);
}

/* -- 64 elements a block --------------------------------------------------------------- */

/* Half of an unsigned E4M3 number; 0x7f would be NaN and is zero.  From 8 on
 * its fields are those of an f32 of another bias. */
CPU_INLINE float ue4m3_half(uint8_t b)
{
    int low = b & 0x7f;
    if (__builtin_expect(low < 8 || b == 0x7f, 0))
        return low < 8 ? (float)low * 0x1p-10f : 0;
    uint32_t bits = ((uint32_t)low << 20) + ((uint32_t)(127 - 8) << 23);
    float out;
    memcpy(&out, &bits, 4);
    return out;
}

CPU_INLINE void dec_nvfp4(const uint8_t *row, int64_t u, const float *scales, vf *w)
{
    (void)scales;
    const uint8_t *b = row + u * 36;
    v_table t = v_table_of(table_e2m1);
    CPU_UNROLL
    for (int s = 0; s < 4; s++) {
        vf d = v_set1(ue4m3_half(b[s]));
        const uint8_t *q = b + 4 + 8 * s;
#if CPU_VL >= 16
        /* bytes 0 .. 7 twice: low nibbles in the first eight lanes */
        __m128i q8 = _mm_loadl_epi64((const __m128i *)q);
        vi v = (vi)_mm512_cvtepu8_epi32(_mm_unpacklo_epi64(q8, q8));
        v = (vi)_mm512_srlv_epi32((__m512i)v, _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 4, 4, 4, 4, 4, 4, 4, 4));
        w[s] = v_lookup(t, v) * d;
#else
        CPU_UNROLL
        for (int i = 0; i < 8 / CPU_VL; i++) {
            vi v = v_u8(q + i * CPU_VL);
            w[s * (16 / CPU_VL) + i] = v_lookup(t, v) * d;
            w[s * (16 / CPU_VL) + i + 8 / CPU_VL] = v_lookup(t, v >> 4) * d;
        }
#endif
    }
}

#if CPU_VL == 16
/* Numbers, raised by `bias`, times the scales of the first 16 and of the others. */
CPU_INLINE void weights_signed(vb q, const int bias, vf first, vf second, vf *w)
{
    const vb v = _mm256_sub_epi8(q, b_all(bias));
    w[0] = (vf)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm256_castsi256_si128(v))) * first;
    w[1] = (vf)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm256_extracti128_si256(v, 1))) * second;
}

/* The same for numbers without a sign, plus minima. */
CPU_INLINE void weights_above(vb q, vf first, vf first_minimum, vf second, vf second_minimum, vf *w)
{
    vf a = (vf)_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm256_castsi256_si128(q)));
    vf b = (vf)_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm256_extracti128_si256(q, 1)));
    w[0] = v_fma(a, first, first_minimum);
    w[1] = v_fma(b, second, second_minimum);
}
#endif

/* -- 256 elements a block ----------------------------------------------------------------- */

/*
 * The eight six-bit scales and minima of q4_K and q5_K: d * scale in scales[0
 * .. 7], -dmin * min in scales[8 .. 15].  Twelve bytes as three words; each
 * word's bytes are treated at once.
 */
CPU_INLINE void prep_q4_K(const uint8_t *b, float *scales)
{
    uint32_t word[3], part[4];
    memcpy(word, b + 4, 12);
    part[0] = word[0] & 0x3f3f3f3f;
    part[1] = (word[2] & 0x0f0f0f0f) | (word[0] >> 2 & 0x30303030);
    part[2] = word[1] & 0x3f3f3f3f;
    part[3] = (word[2] >> 4 & 0x0f0f0f0f) | (word[1] >> 2 & 0x30303030);
    float d = f16_load(b), dmin = -f16_load(b + 2);
    CPU_UNROLL
    for (int i = 0; i < 16; i += CPU_VL) {
        vf q = v_cvt(v_u8((const uint8_t *)part + i));
#if CPU_VL == 16
        v_store(scales, q * (vf)_mm512_mask_blend_ps(0xff00, _mm512_set1_ps(d), _mm512_set1_ps(dmin)));
#else
        v_store(scales + i, q * (i < 8 ? d : dmin));
#endif
    }
}

/* Units of 64: 32 bytes, low nibbles with scale 2u, high ones with 2u + 1. */
CPU_INLINE void dec_q4_K(const uint8_t *row, int64_t u, const float *scales, vf *w)
{
    int j = (int)(u & 3);
    const uint8_t *q = row + (u >> 2) * 144 + 16 + 32 * j;
    vf d0 = v_set1(scales[2 * j]), d1 = v_set1(scales[2 * j + 1]);
    vf n0 = v_set1(scales[2 * j + 8]), n1 = v_set1(scales[2 * j + 9]);
#if CPU_VL >= 16
    vf ramp = (vf)v_table_of(table_q4).t;
    v_table t0 = {(__m512)v_fma(ramp, d0, n0)}, t1 = {(__m512)v_fma(ramp, d1, n1)};
#endif
    CPU_UNROLL
    for (int i = 0; i < 32 / CPU_VL; i++) {
        vi v = v_u8(q + i * CPU_VL);
#if CPU_VL >= 16
        w[i] = v_lookup(t0, v);
        w[i + 32 / CPU_VL] = v_lookup(t1, v >> 4);
#else
        w[i] = v_fma(v_cvt(v & 15), d0, n0);
        w[i + 32 / CPU_VL] = v_fma(v_cvt(v >> 4), d1, n1);
#endif
    }
}

#define prep_q5_K prep_q4_K /* the headers are equal */

CPU_INLINE void dec_q5_K(const uint8_t *row, int64_t u, const float *scales, vf *w)
{
    int j = (int)(u & 3);
    const uint8_t *b = row + (u >> 2) * 176;
    vf d0 = v_set1(scales[2 * j]), d1 = v_set1(scales[2 * j + 1]);
    vf n0 = v_set1(scales[2 * j + 8]), n1 = v_set1(scales[2 * j + 9]);
#if CPU_VL == 16
    weights_above(numbers_q5_K(b, 2 * j), d0, n0, d0, n0, w);
    weights_above(numbers_q5_K(b, 2 * j + 1), d1, n1, d1, n1, w + 2);
#else
    const uint8_t *q = b + 48 + 32 * j, *high = b + 16;
    CPU_UNROLL
    for (int i = 0; i < 32 / CPU_VL; i++) {
        vi v = v_u8(q + i * CPU_VL), h = v_u8(high + i * CPU_VL) >> (2 * j);
        w[i] = v_fma(v_cvt((v & 15) | (h & 1) << 4), d0, n0);
        w[i + 32 / CPU_VL] = v_fma(v_cvt(v >> 4 | (h & 2) << 3), d1, n1);
    }
#endif
}

/* Scales of 16 groups, then minima, negative. */
CPU_INLINE void prep_q2_K(const uint8_t *b, float *scales)
{
    vf d = v_f16_all(b + 80), dmin = v_f16_all(b + 82);
    CPU_UNROLL
    for (int i = 0; i < 16; i += CPU_VL) {
        vi s = v_u8(b + i);
        v_store(scales + i, v_cvt(s & 15) * d);
        v_store(scales + 16 + i, v_cvt(s >> 4) * -dmin);
    }
}

/* Units of 128, a half block each. */
CPU_INLINE void dec_q2_K(const uint8_t *row, int64_t u, const float *scales, vf *w)
{
    int half = (int)(u & 1);
#if CPU_VL == 16
    const uint8_t *b = row + (u >> 1) * 84;
    const float *d = scales + 8 * half, *m = d + 16;
    CPU_UNROLL
    for (int g = 0; g < 4; g++)
        weights_above(numbers_q2_K(b, 4 * half + g), v_set1(d[2 * g]), v_set1(m[2 * g]), v_set1(d[2 * g + 1]),
                      v_set1(m[2 * g + 1]), w + 2 * g);
#else
    const uint8_t *q = row + (u >> 1) * 84 + 16 + 32 * half;
    CPU_UNROLL
    for (int g = 0; g < 8; g++) { /* 16 elements each */
        vf scale = v_set1(scales[8 * half + g]), min = v_set1(scales[16 + 8 * half + g]);
        CPU_UNROLL
        for (int i = 0; i < 16 / CPU_VL; i++) {
            vi v = v_u8(q + 16 * (g & 1) + i * CPU_VL) >> (g & ~1);
            w[g * (16 / CPU_VL) + i] = v_fma(v_cvt(v & 3), scale, min);
        }
    }
#endif
}

/* Sixteen six-bit scales in twelve bytes: nibbles, then pairs of bits. */
CPU_INLINE void prep_q3_K(const uint8_t *b, float *scales)
{
    uint32_t word[3], part[4];
    memcpy(word, b + 96, 12);
    CPU_UNROLL
    for (int i = 0; i < 4; i++)
        part[i] = (word[i & 1] >> (i < 2 ? 0 : 4) & 0x0f0f0f0f) | (word[2] >> 2 * i & 0x03030303) << 4;
    vf d = v_f16_all(b + 108);
    CPU_UNROLL
    for (int i = 0; i < 16; i += CPU_VL)
        v_store(scales + i, v_cvt(v_u8((const uint8_t *)part + i) - 32) * d);
}

CPU_INLINE void dec_q3_K(const uint8_t *row, int64_t u, const float *scales, vf *w)
{
    int half = (int)(u & 1);
#if CPU_VL == 16
    const uint8_t *b = row + (u >> 1) * 110;
    const float *d = scales + 8 * half;
    CPU_UNROLL
    for (int g = 0; g < 4; g++)
        weights_signed(numbers_q3_K(b, 4 * half + g), 4, v_set1(d[2 * g]), v_set1(d[2 * g + 1]), w + 2 * g);
#else
    const uint8_t *b = row + (u >> 1) * 110, *q = b + 32 + 32 * half;
    CPU_UNROLL
    for (int g = 0; g < 8; g++) {
        vf d = v_set1(scales[8 * half + g]);
        CPU_UNROLL
        for (int i = 0; i < 16 / CPU_VL; i++) {
            int at = 16 * (g & 1) + i * CPU_VL;
            vi v = v_u8(q + at) >> (g & ~1) & 3;
            vi h = v_u8(b + at) >> (4 * half + g / 2) & 1;
            w[g * (16 / CPU_VL) + i] = v_cvt((v | h << 2) - 4) * d;
        }
    }
#endif
}

CPU_INLINE void prep_q6_K(const uint8_t *b, float *scales)
{
    vf d = v_f16_all(b + 208);
    CPU_UNROLL
    for (int i = 0; i < 16; i += CPU_VL)
        v_store(scales + i, v_cvt(v_i8(b + 192 + i)) * d);
}

CPU_INLINE void dec_q6_K(const uint8_t *row, int64_t u, const float *scales, vf *w)
{
    int half = (int)(u & 1);
#if CPU_VL == 16
    const uint8_t *b = row + (u >> 1) * 210;
    const float *d = scales + 8 * half;
    CPU_UNROLL
    for (int g = 0; g < 4; g++)
        weights_signed(numbers_q6_K(b, 4 * half + g), 32, v_set1(d[2 * g]), v_set1(d[2 * g + 1]), w + 2 * g);
#else
    const uint8_t *b = row + (u >> 1) * 210, *low = b + 64 * half, *high = b + 128 + 32 * half;
    CPU_UNROLL
    for (int i = 0; i < 32 / CPU_VL; i++) {
        vi l0 = v_u8(low + i * CPU_VL), l1 = v_u8(low + 32 + i * CPU_VL), h = v_u8(high + i * CPU_VL);
        vi q[4] = {(l0 & 15) | (h << 4 & 48), (l1 & 15) | (h << 2 & 48), l0 >> 4 | (h & 48), l1 >> 4 | (h >> 2 & 48)};
        CPU_UNROLL
        for (int g = 0; g < 4; g++)
            w[g * (32 / CPU_VL) + i] = v_cvt(q[g] - 32) * v_set1(scales[8 * half + 2 * g + (i * CPU_VL) / 16]);
    }
#endif
}

#endif
