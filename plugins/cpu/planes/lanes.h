/*
 * Rows of weights in lanes (libengine/util/pack.h): eight rows side by side, word by word, so that a register has four
 * bytes of each of eight, or of twice eight (registers.h).  For each type
 *
 *     line_TYPE(block, group, line)    numbers 4 * line .. 4 * line + 3 of a group of 32 elements, without sign, of a
 *                                      register's rows: a row's four in its lane
 *     scales_TYPE(block, d, m)         factors of a block's groups of 32 or 16 elements, a vector of rows for every
 *                                      STRIP floats of d and m
 *     numbers_TYPE(block, n, m)        of a type whose factors are joint (planes.h) what all d of a block are a multiple
 *                                      of, and the integers n that they are, times it
 *
 * An element is its number times d, plus m; where there are no minima (LANES_TYPES), m is not set and an element is its
 * number, less the bias, times d.  The layouts of blocks are those of the GGUF format.
 */
#ifndef CPU_PLANES_LANES_H
#define CPU_PLANES_LANES_H

#include "registers.h"

#define NEXT STRIP /* floats from the factors of a group to those of the next */

/* Word i of a block that begins with `lead` bytes which are no words. */
CPU_INLINE vu word(lanes_at block, const int lead, const int i)
{
    return w_load(block, EU_LANES * (lead + 4 * i));
}

/* The half-precision number behind `before` bytes. */
CPU_INLINE vf half_of(lanes_at block, const int before)
{
    return w_halves(block, EU_LANES * before);
}

/* Byte i of each lane, with or without sign. */
CPU_INLINE vi byte_of(vu v, const int i)
{
    return (vi)(v >> 8 * i & 255);
}
CPU_INLINE vi signed_byte_of(vu v, const int i)
{
    return (vi)(v << (24 - 8 * i)) >> 24;
}

/* Bit i of each byte, as bit `to`, where i is not known to the compiler. */
CPU_INLINE vu bit_to(vu v, int i, const int to)
{
    return (vu)((vpairs)((vu)((vpairs)v >> i) & w_all(1)) << to);
}

/* -- lines -------------------------------------------------------------------------------- */

#define LINES(type, vector)                                                                                            \
    CPU_INLINE vu line_##type(lanes_at b, const int group, const int line)                                             \
    {                                                                                                                  \
        (void)group;                                                                                                   \
        return vector;                                                                                                 \
    }

/* 16 bytes: low nibbles are the first elements, high ones the others. */
CPU_INLINE vu nibble(lanes_at b, const int lead, const int from, const int line)
{
    return w_field(word(b, lead, from + line % 4), line / 4 * 4, 15);
}

/* Of a group's 32 bits those of a line: the byte that has them, as each byte, and which of it is whose. */
CPU_INLINE vu bits_spread(vu bits, const int line)
{
    return w_spread(bits, line / 2 * 0x01010101);
}
CPU_INLINE vu bits_of_line(const int line)
{
    return (vu)v_seti(line % 2 ? (int)0x80402010 : 0x08040201);
}

/* A number in byte i of a lane if bit 4 * line + i of its word is set. */
CPU_INLINE vu where_set(vu bits, const int line, const int number)
{
    return w_where(bits_spread(bits, line), bits_of_line(line), number);
}
CPU_INLINE vu fifth(vu bits, const int line)
{
    return where_set(bits, line, 16);
}

/* The four pairs of bits of byte i of each lane, one after another. */
CPU_INLINE vu four_pairs(vu v, const int i)
{
    vu t = v >> 8 * i & 255;
    t |= t << 12;
    t |= t << 6;
    return t & 0x03030303;
}

/* Of bytes that are fractions of 256 digit `n` to base 3: what thrice the fraction has before the point, after n times
 * that. */
CPU_INLINE vu base_3(vu v, const int n)
{
    vbytes q = (vbytes)v;
    CPU_UNROLL
    for (int i = 0; i < n; i++)
        q += q + q;
    return (vu)((vbytes)(q < 171) + (vbytes)(q < 86) + (vbytes)w_all(2));
}

/* 32 bytes of five digits, 16 of five, and four of four. */
CPU_INLINE vu digits_of(lanes_at b, const int group, const int line)
{
    const int fives = 2 * (group - 5) + line / 4;
    if (group < 5)
        return base_3(word(b, 0, line), group);
    return fives < 5 ? base_3(word(b, 0, 8 + line % 4), fives) : base_3(word(b, 0, 12), line % 4);
}

/* E2M1 numbers twice, raised by 12. */
#define E2M1_BIAS 12
static const uint8_t raised_12[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};

LINES(q4_0, nibble(b, 2, 0, line))
LINES(q4_1, nibble(b, 4, 0, line))
LINES(q5_0, nibble(b, 2, 1, line) | fifth(word(b, 2, 0), line))
LINES(q5_1, nibble(b, 4, 1, line) | fifth(word(b, 4, 0), line))
LINES(mxfp4, w_lookup(raised_12, nibble(b, 1, 0, line)))
/* Eight bytes have the low nibbles of eight elements, and the high ones of the next eight. */
LINES(nvfp4, w_lookup(raised_12, w_field(word(b, 0, 1 + 4 * group + line / 4 * 2 + line % 2), line % 4 / 2 * 4, 15)))
LINES(q2_K, w_field(word(b, 0, 4 + group / 4 * 8 + line), group % 4 * 2, 3))
LINES(q3_K, w_field(word(b, 0, 8 + group / 4 * 8 + line), group % 4 * 2, 3) | bit_to(word(b, 0, line), group, 2))
LINES(q4_K, w_field(word(b, 4, 3 + group / 2 * 8 + line), group % 2 * 4, 15))
LINES(q5_K, w_field(word(b, 4, 11 + group / 2 * 8 + line), group % 2 * 4, 15) | bit_to(word(b, 4, 3 + line), group, 4))
LINES(q6_K, w_field(word(b, 0, group / 4 * 16 + group % 2 * 8 + line), group % 4 / 2 * 4, 15) |
                w_field(word(b, 0, 32 + group / 4 * 8 + line), group % 4 * 2 - 4, 48))

LINES(tq1_0, digits_of(b, group, line))
LINES(tq2_0, w_field(word(b, 0, group / 4 * 8 + line), group % 4 * 2, 3))
LINES(q1_0, where_set(word(b, 2, group), line, 2))
LINES(q2_0, four_pairs(word(b, 2, 2 * group + line / 4), line % 4))

#if PLANES_DOT
/* Numbers of eight bits and of a table, raised by 128 unless they may have a sign. */
#if PLANES_SIGNED
#define BYTE_BIAS 0
#else
#define BYTE_BIAS 128
#endif
#define RAISED(n) (uint8_t)((n) + BYTE_BIAS)
static const uint8_t raised_nl[16] = {RAISED(-127), RAISED(-104), RAISED(-83), RAISED(-65), RAISED(-49), RAISED(-35),
                                      RAISED(-22),  RAISED(-10),  RAISED(1),   RAISED(13),  RAISED(25),  RAISED(38),
                                      RAISED(53),   RAISED(69),   RAISED(89),  RAISED(113)};
#undef RAISED

LINES(q8_0, word(b, 2, line) ^ w_all(BYTE_BIAS))
LINES(iq4_nl, w_lookup(raised_nl, nibble(b, 2, 0, line)))
LINES(iq4_xs, w_lookup(raised_nl, nibble(b, 4, 1 + 4 * group, line)))
#endif

/* -- factors ------------------------------------------------------------------------------- */

#define HALF_FIRST(type)                                                                                               \
    CPU_INLINE void scales_##type(lanes_at b, float *d, float *m)                                                      \
    {                                                                                                                  \
        (void)m;                                                                                                       \
        v_store(d, half_of(b, 0));                                                                                     \
    }
#define TWO_HALVES_FIRST(type)                                                                                         \
    CPU_INLINE void scales_##type(lanes_at b, float *d, float *m)                                                      \
    {                                                                                                                  \
        v_store(d, half_of(b, 0));                                                                                     \
        v_store(m, half_of(b, 2));                                                                                     \
    }
HALF_FIRST(q4_0)
HALF_FIRST(q5_0)
TWO_HALVES_FIRST(q4_1)
TWO_HALVES_FIRST(q5_1)

/* One half for all of a block's groups. */
#define ONE_HALF(type, before, groups)                                                                                 \
    CPU_INLINE void scales_##type(lanes_at b, float *d, float *m)                                                      \
    {                                                                                                                  \
        (void)m;                                                                                                       \
        const vf by = half_of(b, before);                                                                              \
        CPU_UNROLL                                                                                                     \
        for (int i = 0; i < groups; i++)                                                                               \
            v_store(d + NEXT * i, by);                                                                                 \
    }
ONE_HALF(q1_0, 0, 4)
ONE_HALF(q2_0, 0, 2)

/* 2^(e - 128): half of what the exponent says, for numbers are twice theirs. */
CPU_INLINE void scales_mxfp4(lanes_at b, float *d, float *m)
{
    (void)m;
    const vi e = w_bytes(b, 0);
    const vi small = v_seti(0x00200000) << (e & 1); /* 0 and 1: below the least normal number */
    v_store(d, (vf)w_greater(e, v_seti(1), (e - 1) << 23, small));
}

/* Half of unsigned E4M3 numbers, one for 16 elements; 0x7f would be NaN and is zero. */
CPU_INLINE void scales_nvfp4(lanes_at b, float *d, float *m)
{
    (void)m;
    const vu all = word(b, 0, 0);
    CPU_UNROLL
    for (int i = 0; i < 4; i++) {
        const vi low = (vi)(all >> 8 * i & 0x7f), bits = (low << 20) + ((127 - 8) << 23);
        const vi value = w_greater(low, v_seti(7), bits, (vi)(v_cvt(low) * 0x1p-10f));
        v_store(d + NEXT * i, (vf)w_greater(v_seti(0x7f), low, value, (vi){0}));
    }
}

/* Joint ones: d of so many groups. */
#define JOINT_SCALES(type, groups)                                                                                     \
    CPU_INLINE void scales_##type(lanes_at b, float *d, float *m)                                                      \
    {                                                                                                                  \
        vi n[groups];                                                                                                  \
        const vf by = numbers_##type(b, n, m);                                                                         \
        CPU_UNROLL                                                                                                     \
        for (int i = 0; i < groups; i++)                                                                               \
            v_store(d + NEXT * i, by * v_cvt(n[i]));                                                                   \
    }

/* 6 bits each in 12 bytes: of the first four scales and minima as they lie, of the others in two parts. */
CPU_INLINE vf numbers_q4_K(lanes_at b, vi *n, float *m)
{
    const vf least = -half_of(b, 2);
    const vu x = word(b, 4, 0), y = word(b, 4, 1), z = word(b, 4, 2);
    const vu scale[2] = {w_field(x, 0, 63), w_field(z, 0, 15) | w_field(x, 2, 48)};
    const vu minimum[2] = {w_field(y, 0, 63), w_field(z, 4, 15) | w_field(y, 2, 48)};
    CPU_UNROLL
    for (int i = 0; i < 8; i++) {
        n[i] = byte_of(scale[i / 4], i % 4);
        v_store(m + NEXT * i, least * v_cvt(byte_of(minimum[i / 4], i % 4)));
    }
    return half_of(b, 0);
}
JOINT_SCALES(q4_K, 8)
#define numbers_q5_K numbers_q4_K
#define scales_q5_K scales_q4_K

CPU_INLINE vf numbers_q2_K(lanes_at b, vi *n, float *m)
{
    const vf least = -half_of(b, 82);
    CPU_UNROLL
    for (int i = 0; i < 16; i++) {
        const vu both = word(b, 0, i / 4);
        n[i] = byte_of(w_field(both, 0, 15), i % 4);
        v_store(m + NEXT * i, least * v_cvt(byte_of(w_field(both, 4, 15), i % 4)));
    }
    return half_of(b, 80);
}
JOINT_SCALES(q2_K, 16)

/* 6 bits each, raised by 32: four in nibbles, two in four bytes behind these. */
CPU_INLINE vf numbers_q3_K(lanes_at b, vi *n, float *m)
{
    (void)m;
    const vu above = word(b, 0, 26);
    CPU_UNROLL
    for (int i = 0; i < 4; i++) {
        const vu raised = w_field(word(b, 0, 24 + i % 2), i / 2 * 4, 15) | w_field(above, 2 * i - 4, 48);
        const vu number = (vu)((vbytes)raised - (vbytes)w_all(32));
        CPU_UNROLL
        for (int j = 0; j < 4; j++)
            n[4 * i + j] = signed_byte_of(number, j);
    }
    return half_of(b, 108);
}
JOINT_SCALES(q3_K, 16)

CPU_INLINE vf numbers_q6_K(lanes_at b, vi *n, float *m)
{
    (void)m;
    CPU_UNROLL
    for (int i = 0; i < 16; i++)
        n[i] = signed_byte_of(word(b, 0, 48 + i / 4), i % 4);
    return half_of(b, 208);
}
JOINT_SCALES(q6_K, 16)

/* One half for all of a block's 256 elements. */
#define ONE_HALF_JOINT(type, before)                                                                                   \
    CPU_INLINE vf numbers_##type(lanes_at b, vi *n, float *m)                                                          \
    {                                                                                                                  \
        (void)m;                                                                                                       \
        CPU_UNROLL                                                                                                     \
        for (int i = 0; i < 8; i++)                                                                                    \
            n[i] = v_seti(1);                                                                                          \
        return half_of(b, before);                                                                                     \
    }                                                                                                                  \
    JOINT_SCALES(type, 8)
ONE_HALF_JOINT(tq1_0, 52)
ONE_HALF_JOINT(tq2_0, 64)

#if PLANES_DOT
HALF_FIRST(q8_0)
HALF_FIRST(iq4_nl)

/* 6 bits each, raised by 32: four in nibbles, two in a number of 16 bits. */
CPU_INLINE vf numbers_iq4_xs(lanes_at b, vi *n, float *m)
{
    (void)m;
    const vi above = w_shorts(b, EU_LANES * 2);
    const vu low = word(b, 4, 0);
    CPU_UNROLL
    for (int i = 0; i < 8; i++)
        n[i] = ((vi)(low >> 4 * i & 15) | (above >> 2 * i & 3) << 4) - 32;
    return half_of(b, 0);
}
JOINT_SCALES(iq4_xs, 8)
#endif

/* All of them: elements and bytes of a block, elements that share a scale, by what numbers are raised, are there
 * minima, groups after which fields are the same, what factors are (planes_factors). */
enum planes_factors {
    OWN,   /* a group's, of f16 or less  */
    WIDE,  /* of any size (planes_form)  */
    JOINT, /* an integer by the block's  */
};
#define SMALL_BLOCK_TYPES(X)                                                                                           \
    X(Q4_0, q4_0, 32, 18, 32, 8, 0, 1, OWN) X(Q4_1, q4_1, 32, 20, 32, 0, 1, 1, OWN) X(Q5_0, q5_0, 32, 22, 32, 16, 0, 1, OWN) \
    X(Q5_1, q5_1, 32, 24, 32, 16, 1, 1, OWN) X(MXFP4, mxfp4, 32, 17, 32, E2M1_BIAS, 0, 1, WIDE)                        \
    X(NVFP4, nvfp4, 64, 36, 16, E2M1_BIAS, 0, 2, OWN)
#define SMALL_K_TYPES(X)                                                                                               \
    X(Q2_K, q2_K, 256, 84, 16, 0, 1, 4, JOINT) X(Q3_K, q3_K, 256, 110, 16, 4, 0, 4, JOINT) X(Q4_K, q4_K, 256, 144, 32, 0, 1, 2, OWN) \
    X(Q5_K, q5_K, 256, 176, 32, 16, 1, 2, JOINT) X(Q6_K, q6_K, 256, 210, 16, 32, 0, 4, JOINT)
#define SMALL_LEAST_TYPES(X)                                                                                           \
    X(TQ1_0, tq1_0, 256, 54, 32, 1, 0, 8, JOINT) X(TQ2_0, tq2_0, 256, 66, 32, 1, 0, 4, JOINT) X(Q1_0, q1_0, 128, 18, 32, 1, 0, 1, OWN) \
    X(Q2_0, q2_0, 64, 18, 32, 1, 0, 1, OWN)
#if PLANES_DOT /* sums have 32 bits */
#include "grid_lanes.h"
#define BLOCK_TYPES(X)                                                                                                 \
    SMALL_BLOCK_TYPES(X)                                                                                               \
    X(Q8_0, q8_0, 32, 34, 32, BYTE_BIAS, 0, 1, OWN) X(IQ4_NL, iq4_nl, 32, 18, 32, BYTE_BIAS, 0, 1, OWN)
#define K_TYPES(X) SMALL_K_TYPES(X) X(IQ4_XS, iq4_xs, 256, 136, 32, BYTE_BIAS, 0, 1, JOINT)
#define LEAST_TYPES(X) SMALL_LEAST_TYPES(X) GRID_TYPES(X)
#else
#define BLOCK_TYPES SMALL_BLOCK_TYPES
#define K_TYPES SMALL_K_TYPES
#define LEAST_TYPES SMALL_LEAST_TYPES
#endif
#define LANES_TYPES(X) BLOCK_TYPES(X) K_TYPES(X) LEAST_TYPES(X)

#endif
