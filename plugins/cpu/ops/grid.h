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
typedef int32_t i8l __attribute__((vector_size(32)));
typedef uint32_t u8l __attribute__((vector_size(32)));
typedef float f8l __attribute__((vector_size(32)));

/* Eight scales lie in memory: a compiler that keeps them in a register takes each out of it by two operations. */
#define LIES(scales) __asm__("" : "+m"(*(float (*)[8])(scales)))

/* Eight bytes as words. */
CPU_INLINE u8l words_of(const uint8_t *p)
{
#if defined(__AVX2__)
    return (u8l)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p));
#else
    vu8 bytes[8 / CPU_VL];
    vu words[8 / CPU_VL];
    u8l all;
    memcpy(bytes, p, sizeof bytes);
    CPU_UNROLL
    for (int j = 0; j < 8 / CPU_VL; j++)
        words[j] = __builtin_convertvector(bytes[j], vu);
    memcpy(&all, words, sizeof all);
    return all;
#endif
}

/* -- patterns as bytes, the first element lowest ---------------------------------- */

#define FIELDS4(at, c, bits)                                                                                           \
    (uint64_t)at((c) & ((1 << (bits)) - 1)) | (uint64_t)at((c) >> (bits) & ((1 << (bits)) - 1)) << 8 |                 \
        (uint64_t)at((c) >> 2 * (bits) & ((1 << (bits)) - 1)) << 16 |                                                  \
        (uint64_t)at((c) >> 3 * (bits) & ((1 << (bits)) - 1)) << 24
#define FIELDS8(at, c) FIELDS4(at, c, 2) | (FIELDS4(at, (c) >> 8, 2)) << 32
#define OF_IQ1(f) ((8 * (f) - 8) & 255) /* in eighths, as the shift beside it is */
#define IQ2(c) FIELDS8(EU_IQ2_OF, c),
#define IQ1(c) FIELDS8(OF_IQ1, c),
#define IQ3_XXS(c) (uint32_t)(FIELDS4(EU_IQ3_XXS_OF, c, 3)),
#define IQ3_S(c) (uint32_t)(FIELDS4(EU_IQ3_S_OF, c, 3)),
/* Bits as bytes of -1. */
#define BIT(c, i) (uint64_t)((c) >> (i) & 1) * 255 << 8 * (i)
#define SPREAD(c) BIT(c, 0) | BIT(c, 1) | BIT(c, 2) | BIT(c, 3) | BIT(c, 4) | BIT(c, 5) | BIT(c, 6) | BIT(c, 7),
static const uint64_t grid_iq2_xxs[256] = {EU_GRID_iq2_xxs(IQ2)}, grid_iq2_xs[512] = {EU_GRID_iq2_xs(IQ2)};
static const uint64_t grid_iq2_s[1024] = {EU_GRID_iq2_s(IQ2)}, grid_iq1[2048] = {EU_GRID_iq1(IQ1)};
static const uint32_t grid_iq3_xxs[256 + 3] = {EU_GRID_iq3_xxs(IQ3_XXS)}, grid_iq3_s[512 + 3] = {EU_GRID_iq3_s(IQ3_S)};
static const uint64_t grid_signs[128] = {EU_GRID_SIGNS(SPREAD)};
#undef IQ2
#undef IQ1
#undef IQ3_XXS
#undef IQ3_S
#undef SPREAD
#undef BIT

/* A compiler that is told elements one by one begins with what was in the register. */
#define FOUR(table, at) ((q4){(table)[(at)[0]], (table)[(at)[1]], (table)[(at)[2]], (table)[(at)[3]]})

/* Magnitudes, negative where a byte of the other is -1. */
CPU_INLINE void put_signed(q4 magnitudes, q4 negative, int8_t *w)
{
    b32 v = (b32)(magnitudes ^ negative) - (b32)negative;
    memcpy(w, &v, sizeof v);
}

/* Four runs of eight signs from fields of seven bits. */
CPU_INLINE q4 signs_of_7(uint32_t fields)
{
    return (q4){grid_signs[fields & 127], grid_signs[fields >> 7 & 127], grid_signs[fields >> 14 & 127],
                grid_signs[fields >> 21 & 127]};
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

/* Bytes of -1 where bits of four bytes are set. */
CPU_INLINE q4 signs_of_8(const uint8_t *p)
{
    q4 bit = UINT64_C(0x8040201008040201) - (q4){0}, s;
#if defined(__AVX2__)
    s = (q4)_mm256_shuffle_epi8(_mm256_set1_epi32((int32_t)word_at(p)),
                                _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303));
#else
    CPU_UNROLL
    for (int j = 0; j < 4; j++)
        s[j] = p[j] * UINT64_C(0x0101010101010101);
#endif
    return (q4)((b32)(s & bit) == (b32)bit);
}

/* -- scales: a block's, times odd numbers ---------------------------------------------- */

CPU_INLINE void put_odd(float d, u8l n, float *scales)
{
    f8l v = __builtin_convertvector((i8l)(n + n + 1), f8l) * d;
    memcpy(scales, &v, sizeof v);
    LIES(scales);
}

CPU_INLINE void odd_nibbles(float d, uint32_t nibbles, float *scales)
{
    put_odd(d, (nibbles - (u8l){0}) >> (u8l){0, 4, 8, 12, 16, 20, 24, 28} & 15, scales);
}

/* -- iq2 ---------------------------------------------------------------------------- */

CPU_INLINE void prep_iq2_xxs(const uint8_t *b, float *scales)
{
    u8l words;
#if defined(__AVX2__)
    const __m256 first = _mm256_loadu_ps((const float *)(const void *)(b + 2));
    const __m256 last = _mm256_loadu_ps((const float *)(const void *)(b + 34));
    words = (u8l)_mm256_permute4x64_epi64((__m256i)_mm256_shuffle_ps(first, last, 0xdd), 0xd8); /* every second one */
#else
    CPU_UNROLL
    for (int s = 0; s < 8; s++)
        words[s] = word_at(b + 6 + 8 * s);
#endif
    put_odd(f16_load(b) * 0.125f, words >> 28, scales);
}

CPU_INLINE void part_iq2_xxs(const uint8_t *b, int part, int8_t *w)
{
    const uint8_t *q = b + 2 + 8 * part;
    put_signed(FOUR(grid_iq2_xxs, q), signs_of_7(word_at(q + 4)), w);
}

/* A nibble for each 16 weights. */
CPU_INLINE void iq2_scales(const uint8_t *b, const uint8_t *nibbles, float *scales)
{
    const float d = f16_load(b) * 0.125f;
    odd_nibbles(d, word_at(nibbles), scales);
    odd_nibbles(d, word_at(nibbles + 4), scales + 8);
}

CPU_INLINE void prep_iq2_xs(const uint8_t *b, float *scales)
{
    iq2_scales(b, b + 66, scales);
}

CPU_INLINE void part_iq2_xs(const uint8_t *b, int part, int8_t *w)
{
    uint32_t at[4], signs[4];
    CPU_UNROLL
    for (int j = 0; j < 4; j++) {
        const uint32_t q = pair_at(b + 2 + 8 * part + 2 * j);
        at[j] = q & 511;
        signs[j] = q >> 9;
    }
    put_signed(FOUR(grid_iq2_xs, at), FOUR(grid_signs, signs), w);
}

CPU_INLINE void prep_iq2_s(const uint8_t *b, float *scales)
{
    iq2_scales(b, b + 74, scales);
}

CPU_INLINE void part_iq2_s(const uint8_t *b, int part, int8_t *w)
{
    const uint8_t *q = b + 2 + 4 * part;
    const uint32_t high = b[66 + part];
    uint32_t at[4];
    CPU_UNROLL
    for (int j = 0; j < 4; j++)
        at[j] = q[j] | (high << (8 - 2 * j) & 0x300);
    put_signed(FOUR(grid_iq2_s, at), signs_of_8(q + 32), w);
}

/* -- iq3 ---------------------------------------------------------------------------- */

/* Two patterns of four side by side; a table may be read to the third word behind it. */
#if defined(__AVX2__)
#define PAIR(table, a, b)                                                                                              \
    _mm_unpacklo_epi32(_mm_cvtsi32_si128((int)(table)[a]), _mm_loadu_si128((const __m128i *)((table) + (b))))
#define FOUR_PAIRS(t, p0, p1, p2, p3)                                                                                  \
    t = (q4)_mm256_set_m128i(_mm_unpacklo_epi64(p2, p3), _mm_unpacklo_epi64(p0, p1))
#else
#define PAIR(table, a, b) ((table)[a] | (uint64_t)(table)[b] << 32)
#define FOUR_PAIRS(t, p0, p1, p2, p3) t = (q4){p0, p1, p2, p3}
#endif

CPU_INLINE void prep_iq3_xxs(const uint8_t *b, float *scales)
{
    u8l words;
    memcpy(&words, b + 66, sizeof words);
    put_odd(f16_load(b) * 0.25f, words >> 28, scales);
}

CPU_INLINE void part_iq3_xxs(const uint8_t *b, int part, int8_t *w)
{
    const uint8_t *q = b + 2 + 8 * part;
    q4 t;
    FOUR_PAIRS(t, PAIR(grid_iq3_xxs, q[0], q[1]), PAIR(grid_iq3_xxs, q[2], q[3]), PAIR(grid_iq3_xxs, q[4], q[5]),
               PAIR(grid_iq3_xxs, q[6], q[7]));
    put_signed(t, signs_of_7(word_at(b + 66 + 4 * part)), w);
}

CPU_INLINE void prep_iq3_s(const uint8_t *b, float *scales)
{
    odd_nibbles(f16_load(b), word_at(b + 106), scales);
}

CPU_INLINE void part_iq3_s(const uint8_t *b, int part, int8_t *w)
{
    const uint8_t *q = b + 2 + 8 * part;
    const uint32_t high = b[66 + part];
    uint32_t at[8];
    q4 t;
    CPU_UNROLL
    for (int j = 0; j < 8; j++)
        at[j] = q[j] | (high << (8 - j) & 0x100);
    FOUR_PAIRS(t, PAIR(grid_iq3_s, at[0], at[1]), PAIR(grid_iq3_s, at[2], at[3]), PAIR(grid_iq3_s, at[4], at[5]),
               PAIR(grid_iq3_s, at[6], at[7]));
    put_signed(t, signs_of_8(b + 74 + 4 * part), w);
}

/* -- iq1: patterns of -1, 0, 1, all of them an eighth more or less -------------------- */

static const uint64_t eighths[2] = {UINT64_C(0x0101010101010101), UINT64_MAX}; /* more, less */

CPU_INLINE void put_shifted(q4 pattern, q4 shift, int8_t *w)
{
    b32 v = (b32)pattern + (b32)shift;
    memcpy(w, &v, sizeof v);
}

CPU_INLINE void prep_iq1_s(const uint8_t *b, float *scales)
{
    typedef uint16_t u8s __attribute__((vector_size(16)));
    u8s words;
    memcpy(&words, b + 34, sizeof words);
    put_odd(f16_load(b) * 0.125f, __builtin_convertvector(words >> 12 & 7, u8l), scales);
}

CPU_INLINE void part_iq1_s(const uint8_t *b, int part, int8_t *w)
{
    const uint32_t high = pair_at(b + 34 + 2 * part);
    uint32_t at[4];
    CPU_UNROLL
    for (int j = 0; j < 4; j++)
        at[j] = b[2 + 4 * part + j] | (high << 8 >> 3 * j & 0x700);
    put_shifted(FOUR(grid_iq1, at), eighths[high >> 15] - (q4){0}, w);
}

/* The block's scale is in the upper four bits of four words, whose other bits are the scales of 16. */
CPU_INLINE void prep_iq1_m(const uint8_t *b, float *scales)
{
    uint16_t word[4], bits;
    memcpy(word, b + 48, sizeof word);
    bits = (uint16_t)(word[0] >> 12 | (word[1] >> 8 & 0xf0) | (word[2] >> 4 & 0xf00) | (word[3] & 0xf000));
    const float d = f16_load(&bits) * 0.125f;
    CPU_UNROLL
    for (int half = 0; half < 2; half++)
        put_odd(d, (word_at(b + 48 + 4 * half) - (u8l){0}) >> (u8l){0, 3, 6, 9, 16, 19, 22, 25} & 7, scales + 8 * half);
}

CPU_INLINE void part_iq1_m(const uint8_t *b, int part, int8_t *w)
{
    const uint32_t high = pair_at(b + 32 + 2 * part);
    typedef int64_t s4 __attribute__((vector_size(32)));
    uint32_t at[4];
    CPU_UNROLL
    for (int j = 0; j < 4; j++)
        at[j] = b[4 * part + j] | (high << 8 >> 4 * j & 0x700);
    const q4 less = ((uint64_t)high - (q4){0}) << (q4){60, 56, 52, 48}; /* a word's highest bit */
    put_shifted(FOUR(grid_iq1, at), (q4)((s4)less < 0) | eighths[0], w);
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

#define EIGHT(n) ((n) * UINT64_C(0x0101010101010101))
#define EACH(a, b, c, d) ((q4){EIGHT(a), EIGHT(b), EIGHT(c), EIGHT(d)})
#define LAST_DIGITS ((q4){EIGHT(81), EIGHT(81), UINT64_C(0x0303030301010101), UINT64_C(0x1b1b1b1b09090909)})
/* 160 weights in 32 bytes of five digits, 80 in 16, 16 in four bytes of four. */
CPU_INLINE void part_tq1_0(const uint8_t *b, int part, int8_t *w)
{
    b32 q;
    if (part < 5) {
        memcpy(&q, b, 32);
        CPU_UNROLL
        for (int j = 0; j < part; j++)
            q += q + q;
    } else {
        uint64_t t[2];
        memcpy(t, b + 32, 16);
        const uint64_t last = word_at(b + 48) * UINT64_C(0x100000001);
        q = (b32)(part == 7 ? (q4){t[0], t[1], last, last} : (q4){t[0], t[1], t[0], t[1]}) *
            (part == 5 ? (b32)EACH(1, 1, 3, 3) : part == 6 ? (b32)EACH(9, 9, 27, 27) : (b32)LAST_DIGITS);
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
    u8l t = words_of(b + 2 + 8 * part);
    t |= t << 12;
    t |= t << 6;
    b32 v = (b32)(t & 0x03030303) - 1;
    memcpy(w, &v, sizeof v);
}

CPU_INLINE void prep_q1_0(const uint8_t *b, float *scales)
{
    one_scale(f16_load(b), 4, scales);
}

CPU_INLINE void part_q1_0(const uint8_t *b, int part, int8_t *w)
{
    q4 v = ~signs_of_8(b + 2 + 4 * part) | UINT64_C(0x0101010101010101);
    memcpy(w, &v, sizeof v);
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
