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
    b_numbers(numbers_q8_0(b, 0), BIAS, w);
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
    b_numbers(numbers_q5_0(b, 0), 16, w);
}

CPU_INLINE void ints_q5_1(const uint8_t *b, int part, vf *w)
{
    (void)part;
    b_numbers(numbers_q5_1(b, 0), 0, w);
}

CPU_INLINE void ints_iq4_nl(const uint8_t *b, int part, vf *w)
{
    (void)part;
    b_numbers(numbers_iq4_nl(b, 0), BIAS, w);
}

CPU_INLINE void ints_mxfp4(const uint8_t *b, int part, vf *w)
{
    (void)part;
    b_numbers(numbers_mxfp4(b, 0), BIAS, w);
}

/* -- 64 elements a block: eight low nibbles, then eight high ones --------------------- */

CPU_INLINE void ints_nvfp4(const uint8_t *b, int part, vf *w)
{
    (void)part;
    b_numbers(numbers_nvfp4(b, 0), BIAS, w);
    b_numbers(numbers_nvfp4(b, 1), BIAS, w + 4);
}

/* -- 256 elements a block --------------------------------------------------------------- */

CPU_INLINE void ints_iq4_xs(const uint8_t *b, int part, vf *w)
{
    b_numbers(numbers_iq4_xs(b, part), BIAS, w);
}

CPU_INLINE void ints_q4_K(const uint8_t *b, int part, vf *w)
{
    b_pairs p = b_spread(b_load(b + 16 + 32 * part));
    b_field_numbers(p, 0, 15, 0, w);
    b_field_numbers(p, 4, 15, 0, w + 4);
}

CPU_INLINE void ints_q5_K(const uint8_t *b, const int part, vf *w)
{
    b_numbers(numbers_q5_K(b, 2 * part), 0, w);
    b_numbers(numbers_q5_K(b, 2 * part + 1), 0, w + 4);
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
    CPU_UNROLL
    for (int i = 0; i < 4; i++)
        b_numbers(numbers_q3_K(b, 4 * part + i), 4, w + 4 * i);
}

CPU_INLINE void ints_q6_K(const uint8_t *b, int part, vf *w)
{
    CPU_UNROLL
    for (int i = 0; i < 4; i++)
        b_numbers(numbers_q6_K(b, 4 * part + i), 32, w + 4 * i);
}

#endif
