/*
 * Block formats of small integers that come from tables: iq1, iq2, iq3, whose indices stand for patterns of several
 * weights, and ternary and one-bit types.  For each type two functions
 *
 *     prep_TYPE(block, scales)        its scales, one for each 32 or 16 weights
 *     part_TYPE(block, part, w)       32 integers; a weight is its integer times its scale, exactly
 *
 * The same code for every variant, by the compiler's vectors of 32 bytes.  Included by
 * formats.c.
 */
#ifndef CPU_GRID_H
#define CPU_GRID_H

#include "vec.h"

#include "libengine/util/grids.h"

typedef uint8_t b32 __attribute__((vector_size(32)));
typedef uint64_t q4 __attribute__((vector_size(32)));

/* -- patterns as bytes, the first element lowest ---------------------------------- */

#define FIELDS4(at, c, bits)                                                                                           \
    (uint64_t)at((c) & ((1 << (bits)) - 1)) | (uint64_t)at((c) >> (bits) & ((1 << (bits)) - 1)) << 8 |                 \
        (uint64_t)at((c) >> 2 * (bits) & ((1 << (bits)) - 1)) << 16 |                                                  \
        (uint64_t)at((c) >> 3 * (bits) & ((1 << (bits)) - 1)) << 24
#define FIELDS8(at, c) FIELDS4(at, c, 2) | (FIELDS4(at, (c) >> 8, 2)) << 32
#define OF_IQ2(f) (8 + 17 * (f) + (f) / 2)
#define OF_IQ3_XXS(f) (8 * (f) + 4 + (f) / 7 * 2)
#define OF_IQ3_S(f) (2 * (f) + 1)
#define OF_IQ1(f) ((8 * (f) - 8) & 255) /* in eighths, as the shift beside it is */
#define IQ2(c) FIELDS8(OF_IQ2, c),
#define IQ1(c) FIELDS8(OF_IQ1, c),
#define IQ3_XXS(c) (uint32_t)(FIELDS4(OF_IQ3_XXS, c, 3)),
#define IQ3_S(c) (uint32_t)(FIELDS4(OF_IQ3_S, c, 3)),
#define AS_IS(c) c,
static const uint64_t grid_iq2_xxs[256] = {EU_GRID_iq2_xxs(IQ2)}, grid_iq2_xs[512] = {EU_GRID_iq2_xs(IQ2)};
static const uint64_t grid_iq2_s[1024] = {EU_GRID_iq2_s(IQ2)}, grid_iq1[2048] = {EU_GRID_iq1(IQ1)};
static const uint32_t grid_iq3_xxs[256] = {EU_GRID_iq3_xxs(IQ3_XXS)}, grid_iq3_s[512] = {EU_GRID_iq3_s(IQ3_S)};
static const uint8_t grid_signs[128] = {EU_GRID_SIGNS(AS_IS)};
#undef IQ2
#undef IQ1
#undef IQ3_XXS
#undef IQ3_S
#undef AS_IS

/* Magnitudes, negative where bit i of byte j of the signs is set. */
CPU_INLINE void put_signed(q4 magnitudes, const uint8_t *signs, int8_t *w)
{
    q4 bit = UINT64_C(0x8040201008040201) - (q4){0}, s;
    CPU_UNROLL
    for (int j = 0; j < 4; j++)
        s[j] = signs[j] * UINT64_C(0x0101010101010101);
    b32 negative = (b32)((b32)(s & bit) == (b32)bit), v = (((b32)magnitudes) ^ negative) - negative;
    memcpy(w, &v, sizeof v);
}

/* Four runs of eight signs from fields of seven bits. */
CPU_INLINE void signs_of_7(uint32_t fields, uint8_t *signs)
{
    CPU_UNROLL
    for (int j = 0; j < 4; j++)
        signs[j] = grid_signs[fields >> 7 * j & 127];
}

CPU_INLINE uint32_t word_at(const uint8_t *p)
{
    uint32_t w;
    memcpy(&w, p, 4);
    return w;
}

CPU_INLINE uint32_t pair_at(const uint8_t *p)
{
    uint16_t w;
    memcpy(&w, p, 2);
    return w;
}

/* -- iq2 ---------------------------------------------------------------------------- */

CPU_INLINE void prep_iq2_xxs(const uint8_t *b, float *scales)
{
    const float d = f16_load(b) * 0.125f;
    CPU_UNROLL
    for (int s = 0; s < 8; s++)
        scales[s] = d * (float)(2 * (b[2 + 8 * s + 7] >> 4) + 1);
}

CPU_INLINE void part_iq2_xxs(const uint8_t *b, int part, int8_t *w)
{
    const uint8_t *q = b + 2 + 8 * part;
    uint8_t signs[4];
    signs_of_7(word_at(q + 4), signs);
    put_signed((q4){grid_iq2_xxs[q[0]], grid_iq2_xxs[q[1]], grid_iq2_xxs[q[2]], grid_iq2_xxs[q[3]]}, signs, w);
}

/* A nibble for each 16 weights. */
CPU_INLINE void iq2_scales(const uint8_t *b, const uint8_t *nibbles, float *scales)
{
    const float d = f16_load(b) * 0.125f;
    CPU_UNROLL
    for (int s = 0; s < 8; s++) {
        scales[2 * s] = d * (float)(2 * (nibbles[s] & 15) + 1);
        scales[2 * s + 1] = d * (float)(2 * (nibbles[s] >> 4) + 1);
    }
}

CPU_INLINE void prep_iq2_xs(const uint8_t *b, float *scales)
{
    iq2_scales(b, b + 66, scales);
}

CPU_INLINE void part_iq2_xs(const uint8_t *b, int part, int8_t *w)
{
    q4 t;
    uint8_t signs[4];
    CPU_UNROLL
    for (int j = 0; j < 4; j++) {
        const uint32_t q = pair_at(b + 2 + 8 * part + 2 * j);
        t[j] = grid_iq2_xs[q & 511];
        signs[j] = grid_signs[q >> 9];
    }
    put_signed(t, signs, w);
}

CPU_INLINE void prep_iq2_s(const uint8_t *b, float *scales)
{
    iq2_scales(b, b + 74, scales);
}

CPU_INLINE void part_iq2_s(const uint8_t *b, int part, int8_t *w)
{
    const uint8_t *q = b + 2 + 4 * part;
    const unsigned high = b[66 + part];
    q4 t;
    CPU_UNROLL
    for (int j = 0; j < 4; j++)
        t[j] = grid_iq2_s[q[j] | (high << (8 - 2 * j) & 0x300)];
    put_signed(t, q + 32, w);
}

/* -- iq3 ---------------------------------------------------------------------------- */

CPU_INLINE void prep_iq3_xxs(const uint8_t *b, float *scales)
{
    const float d = f16_load(b) * 0.25f;
    CPU_UNROLL
    for (int s = 0; s < 8; s++)
        scales[s] = d * (float)(2 * (b[66 + 4 * s + 3] >> 4) + 1);
}

CPU_INLINE void part_iq3_xxs(const uint8_t *b, int part, int8_t *w)
{
    const uint8_t *q = b + 2 + 8 * part;
    uint8_t signs[4];
    q4 t;
    signs_of_7(word_at(b + 66 + 4 * part), signs);
    CPU_UNROLL
    for (int j = 0; j < 4; j++)
        t[j] = grid_iq3_xxs[q[2 * j]] | (uint64_t)grid_iq3_xxs[q[2 * j + 1]] << 32;
    put_signed(t, signs, w);
}

CPU_INLINE void prep_iq3_s(const uint8_t *b, float *scales)
{
    const float d = f16_load(b);
    CPU_UNROLL
    for (int s = 0; s < 8; s++)
        scales[s] = d * (float)(2 * (b[106 + s / 2] >> 4 * (s & 1) & 15) + 1);
}

CPU_INLINE void part_iq3_s(const uint8_t *b, int part, int8_t *w)
{
    const uint8_t *q = b + 2 + 8 * part;
    const unsigned high = b[66 + part];
    q4 t;
    CPU_UNROLL
    for (int j = 0; j < 4; j++)
        t[j] = grid_iq3_s[q[2 * j] | (high << (8 - 2 * j) & 256)] |
               (uint64_t)grid_iq3_s[q[2 * j + 1] | (high << (7 - 2 * j) & 256)] << 32;
    put_signed(t, b + 74 + 4 * part, w);
}

/* -- iq1: patterns of -1, 0, 1, all of them an eighth more or less -------------------- */

CPU_INLINE void put_shifted(q4 pattern, const bool *less, int8_t *w)
{
    q4 shift;
    CPU_UNROLL
    for (int j = 0; j < 4; j++)
        shift[j] = less[j] ? UINT64_MAX : UINT64_C(0x0101010101010101);
    b32 v = (b32)pattern + (b32)shift;
    memcpy(w, &v, sizeof v);
}

CPU_INLINE void prep_iq1_s(const uint8_t *b, float *scales)
{
    const float d = f16_load(b) * 0.125f;
    CPU_UNROLL
    for (int s = 0; s < 8; s++)
        scales[s] = d * (float)(2 * (b[34 + 2 * s + 1] >> 4 & 7) + 1);
}

CPU_INLINE void part_iq1_s(const uint8_t *b, int part, int8_t *w)
{
    const uint32_t high = pair_at(b + 34 + 2 * part);
    bool less[4];
    q4 t;
    CPU_UNROLL
    for (int j = 0; j < 4; j++) {
        t[j] = grid_iq1[b[2 + 4 * part + j] | (high >> 3 * j & 7) << 8];
        less[j] = high >> 15;
    }
    put_shifted(t, less, w);
}

/* The block's scale is in the upper four bits of four words, whose other bits are the scales of 16. */
CPU_INLINE void prep_iq1_m(const uint8_t *b, float *scales)
{
    uint16_t word[4], bits;
    memcpy(word, b + 48, sizeof word);
    bits = (uint16_t)(word[0] >> 12 | (word[1] >> 8 & 0xf0) | (word[2] >> 4 & 0xf00) | (word[3] & 0xf000));
    const float d = f16_load(&bits) * 0.125f;
    CPU_UNROLL
    for (int s = 0; s < 16; s++)
        scales[s] = d * (float)(2 * (word[s / 4] >> 3 * (s & 3) & 7) + 1);
}

CPU_INLINE void part_iq1_m(const uint8_t *b, int part, int8_t *w)
{
    const uint32_t high = pair_at(b + 32 + 2 * part);
    bool less[4];
    q4 t;
    CPU_UNROLL
    for (int j = 0; j < 4; j++) {
        t[j] = grid_iq1[b[4 * part + j] | (high >> 4 * j & 7) << 8];
        less[j] = high >> (4 * j + 3) & 1;
    }
    put_shifted(t, less, w);
}

/* -- three values, and two bits ------------------------------------------------------- */

CPU_INLINE void one_scale(float d, int n, float *scales)
{
    CPU_UNROLL
    for (int s = 0; s < n; s++)
        scales[s] = d;
}

CPU_INLINE void prep_tq1_0(const uint8_t *b, float *scales)
{
    one_scale(f16_load(b + 52), 8, scales);
}

/* Digits to base 3 of bytes as fractions of 256: the first is what thrice the fraction has before the point. */
CPU_INLINE void put_digits(b32 fractions, int8_t *w)
{
    /* -1 in a byte from 86 on, and from 171 on */
    b32 v = -1 - (b32)(fractions >= 86) - (b32)(fractions >= 171);
    memcpy(w, &v, sizeof v);
}

/* 160 weights in 32 bytes of five digits, 80 in 16, 16 in four bytes of four. */
CPU_INLINE void part_tq1_0(const uint8_t *b, int part, int8_t *w)
{
    static const uint8_t power[5] = {1, 3, 9, 27, 81};
    b32 q;
    if (part < 5) {
        memcpy(&q, b, 32);
        q *= power[part];
    } else {
        uint8_t t[32];
        for (int j = 0; j < 32; j++) {
            const int digit = part == 5 ? j / 16 : part == 6 ? 2 + j / 16 : j < 16 ? 4 : j / 4 % 4;
            t[j] = (uint8_t)(b[part == 7 && j >= 16 ? 48 + j % 4 : 32 + j % 16] * power[digit]);
        }
        memcpy(&q, t, 32);
    }
    put_digits(q, w);
}

CPU_INLINE void prep_tq2_0(const uint8_t *b, float *scales)
{
    one_scale(f16_load(b + 64), 8, scales);
}

CPU_INLINE void part_tq2_0(const uint8_t *b, int part, int8_t *w)
{
    b32 q;
    memcpy(&q, b + part / 4 * 32, 32);
    q = (q >> (uint8_t)(2 * (part & 3)) & 3) - 1;
    memcpy(w, &q, 32);
}

CPU_INLINE void prep_q2_0(const uint8_t *b, float *scales)
{
    one_scale(f16_load(b), 2, scales);
}

/* Four of a byte, one after another. */
CPU_INLINE void part_q2_0(const uint8_t *b, int part, int8_t *w)
{
    q4 t;
    CPU_UNROLL
    for (int j = 0; j < 4; j++) {
        const uint64_t pair = pair_at(b + 2 + 8 * part + 2 * j);
        t[j] = (pair | pair << 24) & UINT64_C(0x000000ff000000ff);
        t[j] = (t[j] | t[j] << 12) & UINT64_C(0x000f000f000f000f);
        t[j] = (t[j] | t[j] << 6) & UINT64_C(0x0303030303030303);
    }
    b32 v = (b32)t - 1;
    memcpy(w, &v, sizeof v);
}

CPU_INLINE void prep_q1_0(const uint8_t *b, float *scales)
{
    one_scale(f16_load(b), 4, scales);
}

CPU_INLINE void part_q1_0(const uint8_t *b, int part, int8_t *w)
{
    uint8_t negative[4];
    CPU_UNROLL
    for (int j = 0; j < 4; j++)
        negative[j] = (uint8_t)~b[2 + 4 * part + j];
    put_signed(UINT64_C(0x0101010101010101) - (q4){0}, negative, w);
}

/* -- as the other formats are (decode.h, ints.h) --------------------------------------- */

#if CPU_VL == 8
#define GRID_TYPE(type, parts, bytes, per)                                                                             \
    CPU_INLINE void ints_##type(const uint8_t *b, int part, vf *w)                                                     \
    {                                                                                                                  \
        int8_t t[32];                                                                                                  \
        part_##type(b, part, t);                                                                                       \
        b_numbers(_mm256_xor_si256(b_load((const uint8_t *)t), b_all(BIAS)), BIAS, w);                      \
    }                                                                                                                  \
    INTS(type, COLS_ONE_ROUND, prep_##type, NULL, 32, parts, bytes, per, 0)
#else
#define GRID_TYPE(type, parts, bytes, per)                                                                             \
    CPU_INLINE void dec_##type(const uint8_t *row, int64_t u, const float *scales, vf *w)                              \
    {                                                                                                                  \
        const int part = (int)(u & ((parts) - 1));                                                                     \
        int8_t t[32];                                                                                                  \
        part_##type(row + u / (parts) * (bytes), part, t);                                                             \
        CPU_UNROLL                                                                                                     \
        for (int i = 0; i < 32 / CPU_VL; i++)                                                                          \
            w[i] = v_cvt(v_i8((const uint8_t *)t + i * CPU_VL)) * v_set1(scales[(part * 32 + i * CPU_VL) / (per)]);    \
    }                                                                                                                  \
    FORMAT(type, COLS_ONE_ROUND, prep_##type, 32, parts, bytes, NULL)
#endif

#endif
