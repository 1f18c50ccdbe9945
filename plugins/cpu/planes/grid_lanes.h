/*
 * Lines (lanes.h) of iq1, iq2 and iq3, whose indices stand for patterns of eight or four numbers: a gather looks up the
 * pattern of each row.  Patterns of eight are kept as nibbles, so that a table is small and what is gathered serves two
 * lines.  Where there are dot products of bytes: numbers are too large for sums of 16 bits.  Included by lanes.h.
 */
#ifndef CPU_PLANES_GRID_LANES_H
#define CPU_PLANES_GRID_LANES_H

#include "libengine/util/grids.h"

/* -- patterns ----------------------------------------------------------------------------------- */

/* Fields of two bits as nibbles: of the first four in the low halves of bytes, of the others in the high ones. */
#define NIBBLE(c, i) ((uint32_t)((c) >> 2 * (i) & 3) << (8 * ((i) % 4) + (i) / 4 * 4))
#define EIGHT_NIBBLES(c)                                                                                               \
    (NIBBLE(c, 0) | NIBBLE(c, 1) | NIBBLE(c, 2) | NIBBLE(c, 3) | NIBBLE(c, 4) | NIBBLE(c, 5) | NIBBLE(c, 6) |          \
     NIBBLE(c, 7)),
static const uint32_t codes_iq2_xxs[256] = {EU_GRID_iq2_xxs(EIGHT_NIBBLES)};
static const uint32_t codes_iq2_xs[512] = {EU_GRID_iq2_xs(EIGHT_NIBBLES)};
static const uint32_t codes_iq2_s[1024] = {EU_GRID_iq2_s(EIGHT_NIBBLES)};
static const uint32_t codes_iq1[2048] = {EU_GRID_iq1(EIGHT_NIBBLES)};
#undef NIBBLE
#undef EIGHT_NIBBLES

/* Patterns of four as bytes, raised. */
#define IQ3_BIAS 64
#define FIELD(of, c, i) ((uint32_t)(IQ3_BIAS + of((c) >> 3 * (i) & 7)) << 8 * (i))
#define FOUR_FIELDS(of, c) (FIELD(of, c, 0) | FIELD(of, c, 1) | FIELD(of, c, 2) | FIELD(of, c, 3))
#define PATTERN_XXS(c) FOUR_FIELDS(EU_IQ3_XXS_OF, c),
#define PATTERN_S(c) FOUR_FIELDS(EU_IQ3_S_OF, c),
static const uint32_t fours_iq3_xxs[256] = {EU_GRID_iq3_xxs(PATTERN_XXS)}, fours_iq3_s[512] = {EU_GRID_iq3_s(PATTERN_S)};
#undef FIELD
#undef FOUR_FIELDS
#undef PATTERN_XXS
#undef PATTERN_S

/* Byte, or pair of bytes, i of each lane, as a number. */
CPU_INLINE vu byte_at(vu v, const int i)
{
    return i == 3 ? v >> 24 : v >> 8 * i & 255;
}
CPU_INLINE vu pair_at(vu v, const int i)
{
    return i ? v >> 16 : v & 0xffff;
}

/* -- signs -------------------------------------------------------------------------------------- */

/* Bytes of seven bits, with the eighth that makes their number even. */
CPU_INLINE vu with_parity(vu v)
{
    static const uint8_t odd[16] = {0,    0x80, 0x80, 0,    0x80, 0,    0,    0x80,
                                    0x80, 0,    0,    0x80, 0,    0x80, 0x80, 0};
    return v | w_lookup(odd, (v ^ w_field(v, 4, 15)) & w_all(15));
}

/* Four fields of seven bits as bytes. */
CPU_INLINE vu sevens(vu v)
{
    return (v & 0x7f) | (v << 1 & 0x7f00) | (v << 2 & 0x7f0000) | (v << 3 & 0x7f000000);
}

/* Numbers that are raised by `bias`, negative where the line's bits of a group's 32 signs are set. */
CPU_INLINE vu with_signs(vu raised, vu signs, const int line, const int bias)
{
    return w_less_where(bits_spread(signs, line), bits_of_line(line), raised, 2 * bias);
}

/* -- iq2: 8, 25 or 43 -------------------------------------------------------------------------- */

#define IQ2_BIAS 64
static const uint8_t raised_iq2[16] = {IQ2_BIAS + EU_IQ2_OF(0), IQ2_BIAS + EU_IQ2_OF(1), IQ2_BIAS + EU_IQ2_OF(2)};

CPU_INLINE vu iq2(const uint32_t *table, vu index, vu signs, const int line)
{
    const vu codes = w_field(w_gather(table, index), line % 2 * 4, 15);
    return with_signs(w_lookup(raised_iq2, codes), signs, line, IQ2_BIAS);
}

LINES(iq2_xxs, iq2(codes_iq2_xxs, byte_at(word(b, 2, 2 * group), line / 2),
                   with_parity(sevens(word(b, 2, 2 * group + 1))), line))

/* Indices of nine bits, each with seven signs. */
CPU_INLINE vu signs_iq2_xs(vu first, vu other)
{
    return with_parity((first >> 9 & 0x7f) | (first >> 17 & 0x7f00) | (other << 7 & 0x7f0000) |
                       (other >> 1 & 0x7f000000));
}
LINES(iq2_xs, iq2(codes_iq2_xs, pair_at(word(b, 2, 2 * group + line / 4), line / 2 % 2) & 511,
                  signs_iq2_xs(word(b, 2, 2 * group), word(b, 2, 2 * group + 1)), line))

/* The two high bits of four indices are a group's byte. */
CPU_INLINE vu index_iq2_s(vu low, vu high, const int group, const int i)
{
    return byte_at(low, i) | (byte_at(high, group % 4) << (8 - 2 * i) & 0x300);
}
LINES(iq2_s, iq2(codes_iq2_s, index_iq2_s(word(b, 2, group), word(b, 2, 16 + group / 4), group, line / 2),
                 word(b, 2, 8 + group), line))

/* -- iq3 -------------------------------------------------------------------------------------- */

LINES(iq3_xxs, with_signs(w_gather(fours_iq3_xxs, byte_at(word(b, 2, 2 * group + line / 4), line % 4)),
                          with_parity(sevens(word(b, 2, 16 + group))), line, IQ3_BIAS))

/* The ninth bits of eight indices are a group's byte. */
CPU_INLINE vu index_iq3_s(vu low, vu high, const int group, const int i)
{
    return byte_at(low, i % 4) | (byte_at(high, group % 4) << (8 - i) & 0x100);
}
LINES(iq3_s, with_signs(w_gather(fours_iq3_s, index_iq3_s(word(b, 2, 2 * group + line / 4), word(b, 2, 16 + group / 4),
                                                          group, line)),
                        word(b, 2, 18 + group), line, IQ3_BIAS))

/* -- iq1: -1, 0 or 1, and an eighth more or less: eighths, raised by 9 --------------------------- */

#define IQ1_BIAS 9

/* Indices of 8 bits and three more; an eighth less where `bit` of the byte `at` of `high` is set. */
CPU_INLINE vu iq1(vu index, vu high, const int at, const int bit, const int line)
{
    const vu eighths = (vu)w_where(w_spread(high, at * 0x01010101), w_all(1 << bit), 2) ^ w_all(2);
    return w_field(w_gather(codes_iq1, index), line % 2 ? 1 : -3, 0x18) | eighths;
}
CPU_INLINE vu line_iq1_s(lanes_at b, const int group, const int line)
{
    const vu low = word(b, 2, group), high = word(b, 2, 8 + group / 2);
    const vu index = byte_at(low, line / 2) | (pair_at(high, group % 2) << 8 >> 3 * (line / 2) & 0x700);
    return iq1(index, high, group % 2 * 2 + 1, 7, line);
}
CPU_INLINE vu line_iq1_m(lanes_at b, const int group, const int line)
{
    const vu low = word(b, 0, group), high = word(b, 0, 8 + group / 2);
    const int nibble = group % 2 * 4 + line / 2;
    const vu index = byte_at(low, line / 2) | (high >> 4 * nibble & 7) << 8;
    return iq1(index, high, nibble / 2, nibble % 2 * 4 + 3, line);
}

/* -- factors: a block's, times odd numbers --------------------------------------------------------- */

CPU_INLINE vi odd(vu n)
{
    return (vi)(n + n + 1);
}

/* A nibble of a word for each. */
CPU_INLINE void odd_nibbles(vi *n, vu nibbles)
{
    CPU_UNROLL
    for (int i = 0; i < 8; i++)
        n[i] = odd(nibbles >> 4 * i & 15);
}

CPU_INLINE vf numbers_iq2_xxs(lanes_at b, vi *n, float *m)
{
    (void)m;
    CPU_UNROLL
    for (int i = 0; i < 8; i++)
        n[i] = odd(word(b, 2, 2 * i + 1) >> 28);
    return half_of(b, 0) * 0.125f;
}
JOINT_SCALES(iq2_xxs, 8)

#define NIBBLES_OF_16(type, from)                                                                                      \
    CPU_INLINE vf numbers_##type(lanes_at b, vi *n, float *m)                                                          \
    {                                                                                                                  \
        (void)m;                                                                                                       \
        odd_nibbles(n, word(b, 2, from));                                                                              \
        odd_nibbles(n + 8, word(b, 2, from + 1));                                                                      \
        return half_of(b, 0) * 0.125f;                                                                                 \
    }                                                                                                                  \
    JOINT_SCALES(type, 16)
NIBBLES_OF_16(iq2_xs, 16)
NIBBLES_OF_16(iq2_s, 18)

CPU_INLINE vf numbers_iq3_xxs(lanes_at b, vi *n, float *m)
{
    (void)m;
    CPU_UNROLL
    for (int i = 0; i < 8; i++)
        n[i] = odd(word(b, 2, 16 + i) >> 28);
    return half_of(b, 0) * 0.25f;
}
JOINT_SCALES(iq3_xxs, 8)

CPU_INLINE vf numbers_iq3_s(lanes_at b, vi *n, float *m)
{
    (void)m;
    odd_nibbles(n, word(b, 2, 26));
    return half_of(b, 0);
}
JOINT_SCALES(iq3_s, 8)

CPU_INLINE vf numbers_iq1_s(lanes_at b, vi *n, float *m)
{
    (void)m;
    CPU_UNROLL
    for (int i = 0; i < 8; i++)
        n[i] = odd(word(b, 2, 8 + i / 2) >> (12 + i % 2 * 16) & 7);
    return half_of(b, 0) * 0.125f;
}
JOINT_SCALES(iq1_s, 8)

/* The block's is in the upper four bits of four numbers of 16, whose other bits are the factors of 16 elements. */
CPU_INLINE vf numbers_iq1_m(lanes_at b, vi *n, float *m)
{
    (void)m;
    const vu x[2] = {word(b, 0, 12), word(b, 0, 13)};
    CPU_UNROLL
    for (int i = 0; i < 16; i++)
        n[i] = odd(x[i / 8] >> (i / 4 % 2 * 16 + i % 4 * 3) & 7);
    return w_half((x[0] >> 12 & 15) | (x[0] >> 24 & 0xf0) | (x[1] >> 4 & 0xf00) | (x[1] >> 16 & 0xf000)) * 0.125f;
}
JOINT_SCALES(iq1_m, 16)

/* As LANES_TYPES (lanes.h). */
#define GRID_TYPES(X)                                                                                                  \
    X(IQ2_XXS, iq2_xxs, 256, 66, 32, IQ2_BIAS, 0, 1, JOINT) X(IQ2_XS, iq2_xs, 256, 74, 16, IQ2_BIAS, 0, 1, JOINT)      \
    X(IQ2_S, iq2_s, 256, 82, 16, IQ2_BIAS, 0, 4, JOINT) X(IQ3_XXS, iq3_xxs, 256, 98, 32, IQ3_BIAS, 0, 1, JOINT)        \
    X(IQ3_S, iq3_s, 256, 110, 32, IQ3_BIAS, 0, 4, JOINT) X(IQ1_S, iq1_s, 256, 50, 32, IQ1_BIAS, 0, 2, JOINT)           \
    X(IQ1_M, iq1_m, 256, 56, 16, IQ1_BIAS, 0, 2, JOINT)

#endif
