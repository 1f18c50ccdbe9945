/*
 * Block formats as numbers and scales, for vectors of eight: for each type
 *
 *     ints_TYPE(block, part, w)       the integers of a part of a block, as floats
 *
 * four vectors for each group of 32 elements, in this order (cpu_dot_order puts a column into it):
 * 0 2 4 6 16 18 20 22, 1 3 .. 7 17 .. 23, 8 10 .. 14 24 .. 30, 9 11 .. 15 25 .. 31.
 * An element is its integer times a scale, plus a minimum where the type has minima.  Offsets are
 * subtracted from integers, so that each weight is exact before it meets a column.
 *
 * From bytes to floats in three operations for eight: two bytes get the sign and exponent of a float
 * above them, which interleaving with a constant does for sixteen at once; a mask keeps one of them,
 * or a part of one, and of the exponent's bits those by which its lowest bit means 1; and what the
 * exponent alone means is subtracted, with the offset.
 *
 * Included by dot.h.
 */
#ifndef CPU_INTS_H
#define CPU_INTS_H

#include "decode.h"

typedef __m256i vb; /* 32 bytes */

/* 16 numbers of two bytes each, below exponents whose bits are those of 2^(23 - bit), and more, for all even bits. */
typedef struct b_pairs {
    vu at[2];
} b_pairs;

CPU_INLINE b_pairs b_spread(vb q)
{
    vb exponents = _mm256_set1_epi16(0x4f00);
    return (b_pairs){{(vu)_mm256_unpacklo_epi16(q, exponents), (vu)_mm256_unpackhi_epi16(q, exponents)}};
}

/* Of float 2^(23 - bit) with a field from `bit` on below it: what to keep, and what is to be subtracted. */
#define KEEP(bit, mask) ((uint32_t)(150 - (bit)) << 23 | (uint32_t)(mask) << (bit))
#define ABOVE(bit) ((float)(1 << (23 - (bit))))

/* Field `mask` from `bit`, which is even, on of each byte, less `offset`. */
CPU_INLINE void b_field_numbers(b_pairs p, const int bit, const uint32_t mask, const float offset, vf *w)
{
    CPU_UNROLL
    for (int i = 0; i < 4; i++) {
        const int at = bit + 8 * (i & 1);
        w[i] = (vf)(p.at[i / 2] & KEEP(at, mask)) - (ABOVE(at) + offset);
    }
}

CPU_INLINE void b_numbers(vb q, const float offset, vf *w)
{
    b_field_numbers(b_spread(q), 0, 255, offset, w);
}

CPU_INLINE vb b_load(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

CPU_INLINE vb b_and(vb v, int mask)
{
    return _mm256_and_si256(v, _mm256_set1_epi8((char)mask));
}

/* The bits of `mask` of each byte, moved down (negative: up) by n. */
CPU_INLINE vb b_field(vb v, const int n, int mask)
{
    return b_and(n >= 0 ? _mm256_srli_epi16(v, n) : _mm256_slli_epi16(v, -n), mask);
}

/* 16 bytes' low nibbles, then their high ones. */
CPU_INLINE vb b_nibbles(const uint8_t *p)
{
    vb v = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p));
    return b_and(_mm256_srlv_epi64(v, _mm256_setr_epi64x(0, 0, 4, 4)), 15);
}

/* -1 in byte i if bit i of the 32 is clear. */
CPU_INLINE vb b_clear(const uint8_t *p)
{
    int32_t bits;
    memcpy(&bits, p, 4);
    vb v = _mm256_shuffle_epi8(_mm256_set1_epi32(bits), _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202,
                                                                           0x0303030303030303));
    vb bit = _mm256_set1_epi64x((int64_t)0x8040201008040201);
    return _mm256_cmpeq_epi8(_mm256_and_si256(v, bit), _mm256_setzero_si256());
}

CPU_INLINE vb b_table(const uint8_t *table, vb nibbles)
{
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)table)), nibbles);
}

/* Values of codes, and 128. */
static const uint8_t bytes_iq4[16] = {1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241};
static const uint8_t bytes_e2m1[16] = {128, 129, 130, 131, 132, 134, 136, 140, 128, 127, 126, 125, 124, 122, 120, 116};

/* 2^(b - 128) for b = 0 .. 255: sixteen lines of sixteen. */
#define POWERS8(p)                                                                                                     \
    (p) * 0x1p0f, (p) * 0x1p1f, (p) * 0x1p2f, (p) * 0x1p3f, (p) * 0x1p4f, (p) * 0x1p5f, (p) * 0x1p6f, (p) * 0x1p7f
#define POWERS(p) POWERS8(p), POWERS8((p) * 0x1p8f)
static const float powers_e8m0[256] = {
    POWERS(0x1p-128f), POWERS(0x1p-112f), POWERS(0x1p-96f), POWERS(0x1p-80f), POWERS(0x1p-64f), POWERS(0x1p-48f),
    POWERS(0x1p-32f), POWERS(0x1p-16f), POWERS(0x1p0f), POWERS(0x1p16f), POWERS(0x1p32f), POWERS(0x1p48f),
    POWERS(0x1p64f), POWERS(0x1p80f), POWERS(0x1p96f), POWERS(0x1p112f),
};

/* Half of an unsigned E4M3 number, and so for each byte; 0x7f would be NaN. */
#define EIGHTHS(p) (p) * 8, (p) * 9, (p) * 10, (p) * 11, (p) * 12, (p) * 13, (p) * 14
#define OCTAVE(p) EIGHTHS(p), (p) * 15
#define E4M3(last)                                                                                                     \
    0, 0x1p-10f, 0x2p-10f, 0x3p-10f, 0x4p-10f, 0x5p-10f, 0x6p-10f, 0x7p-10f, OCTAVE(0x1p-10f), OCTAVE(0x1p-9f),        \
        OCTAVE(0x1p-8f), OCTAVE(0x1p-7f), OCTAVE(0x1p-6f), OCTAVE(0x1p-5f), OCTAVE(0x1p-4f), OCTAVE(0x1p-3f),          \
        OCTAVE(0x1p-2f), OCTAVE(0x1p-1f), OCTAVE(0x1p0f), OCTAVE(0x1p1f), OCTAVE(0x1p2f), OCTAVE(0x1p3f),              \
        EIGHTHS(0x1p4f), last
static const float halves_ue4m3[256] = {E4M3(0), E4M3(0x1p4f * 15)};

CPU_INLINE void prep_nvfp4(const uint8_t *b, float *scales)
{
    CPU_UNROLL
    for (int s = 0; s < 4; s++)
        scales[s] = halves_ue4m3[b[s]];
}

/* -- 32 elements a block ------------------------------------------------------------ */

/* Nibbles of 16 bytes: the low ones in the first four lanes, the high ones in the others. */
CPU_INLINE void nibble_numbers(const uint8_t *p, const float offset, vf *w)
{
    b_pairs pairs = b_spread(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p)));
    CPU_UNROLL
    for (int i = 0; i < 4; i++) {
        const int at = 8 * (i & 1);
        const uint32_t low = KEEP(at, 15), high = KEEP(at + 4, 15);
        const float none = ABOVE(at) + offset, some = ABOVE(at + 4) + offset;
        vu keep = {low, low, low, low, high, high, high, high};
        vf above = {none, none, none, none, some, some, some, some};
        w[i] = (vf)(pairs.at[i / 2] & keep) - above;
    }
}

CPU_INLINE void ints_q8_0(const uint8_t *b, int part, vf *w)
{
    (void)part;
    b_numbers(_mm256_xor_si256(b_load(b + 2), _mm256_set1_epi8((char)0x80)), 128, w);
}

CPU_INLINE void ints_q4_0(const uint8_t *b, int part, vf *w)
{
    (void)part;
    nibble_numbers(b + 2, 8, w);
}

CPU_INLINE void ints_q4_1(const uint8_t *b, int part, vf *w)
{
    (void)part;
    nibble_numbers(b + 4, 0, w);
}

CPU_INLINE void ints_q5_0(const uint8_t *b, int part, vf *w)
{
    (void)part;
    b_numbers(_mm256_or_si256(b_nibbles(b + 6), _mm256_andnot_si256(b_clear(b + 2), _mm256_set1_epi8(16))), 16, w);
}

CPU_INLINE void ints_q5_1(const uint8_t *b, int part, vf *w)
{
    (void)part;
    b_numbers(_mm256_or_si256(b_nibbles(b + 8), _mm256_andnot_si256(b_clear(b + 4), _mm256_set1_epi8(16))), 0, w);
}

CPU_INLINE void ints_iq4_nl(const uint8_t *b, int part, vf *w)
{
    (void)part;
    b_numbers(b_table(bytes_iq4, b_nibbles(b + 2)), 128, w);
}

CPU_INLINE void ints_mxfp4(const uint8_t *b, int part, vf *w)
{
    (void)part;
    b_numbers(b_table(bytes_e2m1, b_nibbles(b + 1)), 128, w);
}

/* -- 64 elements a block: eight low nibbles, then eight high ones --------------------- */

CPU_INLINE void ints_nvfp4(const uint8_t *b, int part, vf *w)
{
    (void)part;
    vb v = b_load(b + 4), lo = b_and(v, 15), hi = b_field(v, 4, 15);
    vb t0 = b_table(bytes_e2m1, _mm256_unpacklo_epi64(lo, hi)), t1 = b_table(bytes_e2m1, _mm256_unpackhi_epi64(lo, hi));
    b_numbers(_mm256_permute2x128_si256(t0, t1, 0x20), 128, w);
    b_numbers(_mm256_permute2x128_si256(t0, t1, 0x31), 128, w + 4);
}

/* -- 256 elements a block --------------------------------------------------------------- */

CPU_INLINE void ints_iq4_xs(const uint8_t *b, int part, vf *w)
{
    b_numbers(b_table(bytes_iq4, b_nibbles(b + 8 + 16 * part)), 128, w);
}

CPU_INLINE void ints_q4_K(const uint8_t *b, int part, vf *w)
{
    b_pairs p = b_spread(b_load(b + 16 + 32 * part));
    b_field_numbers(p, 0, 15, 0, w);
    b_field_numbers(p, 4, 15, 0, w + 4);
}

CPU_INLINE void ints_q5_K(const uint8_t *b, const int part, vf *w)
{
    vb v = b_load(b + 48 + 32 * part), h = b_load(b + 16);
    b_numbers(_mm256_or_si256(b_and(v, 15), b_field(h, 2 * part - 4, 16)), 0, w);
    b_numbers(_mm256_or_si256(b_field(v, 4, 15), b_field(h, 2 * part - 3, 16)), 0, w + 4);
}

CPU_INLINE void ints_q2_K(const uint8_t *b, int part, vf *w)
{
    b_pairs p = b_spread(b_load(b + 16 + 32 * part));
    CPU_UNROLL
    for (int i = 0; i < 4; i++)
        b_field_numbers(p, 2 * i, 3, 0, w + 4 * i);
}

CPU_INLINE void ints_q3_K(const uint8_t *b, const int part, vf *w)
{
    vb v = b_load(b + 32 + 32 * part), high = b_load(b);
    CPU_UNROLL
    for (int i = 0; i < 4; i++)
        b_numbers(_mm256_or_si256(b_field(v, 2 * i, 3), b_field(high, 4 * part + i - 2, 4)), 4, w + 4 * i);
}

CPU_INLINE void ints_q6_K(const uint8_t *b, int part, vf *w)
{
    vb l0 = b_load(b + 64 * part), l1 = b_load(b + 64 * part + 32), h = b_load(b + 128 + 32 * part);
    b_numbers(_mm256_or_si256(b_and(l0, 15), b_field(h, -4, 48)), 32, w);
    b_numbers(_mm256_or_si256(b_and(l1, 15), b_field(h, -2, 48)), 32, w + 4);
    b_numbers(_mm256_or_si256(b_field(l0, 4, 15), b_and(h, 48)), 32, w + 8);
    b_numbers(_mm256_or_si256(b_field(l1, 4, 15), b_field(h, 2, 48)), 32, w + 12);
}

#endif
