/*
 * Weights whose factors are joint (planes.h) as integers, which tiles meet (../tiles/joint.h): a number of a block times its
 * group's.  A strip's block is, of each register of rows, its integers as bytes, or their low bytes, and then the high ones
 * (of what is nearest): words of four elements of each row.  Of AVX-512.
 */
#ifndef CPU_PLANES_INTEGERS_H
#define CPU_PLANES_INTEGERS_H

#include "strips.h"

#define INTEGERS_PART (SPAN * ROWS) /* bytes of a register's part */

/* A strip's block: parts, of two registers with one part each these one after another; minima, what factors are multiples of,
 * and the groups' integers, which with `bytes` may be others' negatives.  What lies `ask` bytes behind is asked for, unless
 * that is 0. */
typedef struct strip_integers {
    uint8_t *parts;
    float *m, *by;
    vf *n;
    int64_t ask;
} strip_integers;

/* Integers are bytes: of q2_K 0 .. 45, of q3_K -124 .. 128, which are bytes if their signs are changed. */
CPU_INLINE bool planes_are_bytes(const uint32_t type)
{
    return type == ENG_TYPE_Q2_K || type == ENG_TYPE_Q3_K || type == ENG_TYPE_TQ1_0 || type == ENG_TYPE_TQ2_0;
}
CPU_INLINE bool planes_are_negative(const uint32_t type)
{
    return type == ENG_TYPE_Q3_K;
}

#define ODD_BYTES 0xaaaaaaaaaaaaaaaau

/* A line of raised numbers times those of its rows' groups, of which each byte has one; `raise` is what products have too much,
 * of 16 bits. */
CPU_INLINE void put_integers(vu line, __m512i n, __m512i raise, const bool bytes, uint8_t *to)
{
    const __m512i even = _mm512_sub_epi16(_mm512_maddubs_epi16((__m512i)line, _mm512_maskz_mov_epi8(~ODD_BYTES, n)), raise);
    const __m512i odd = _mm512_sub_epi16(_mm512_maddubs_epi16((__m512i)line, _mm512_maskz_mov_epi8(ODD_BYTES, n)), raise);
    _mm512_store_si512(to, _mm512_mask_blend_epi8(ODD_BYTES, even, _mm512_slli_epi16(odd, 8)));
    if (bytes)
        return;
    const __m512i half = _mm512_set1_epi16(128), above = _mm512_add_epi16(odd, half);
    _mm512_store_si512(to + INTEGERS_PART,
                       _mm512_mask_blend_epi8(ODD_BYTES, _mm512_srli_epi16(_mm512_add_epi16(even, half), 8), above));
}

CPU_INLINE __m512i low_byte_in_all(vi v)
{
    const __m128i of = _mm_set_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0);
    return _mm512_shuffle_epi8((__m512i)v, _mm512_broadcast_i32x4(of));
}

CPU_INLINE void block_integers(const line_of line, const joint_of numbers, const int block_bytes, const planes_form form, const int bias,
                               const bool bytes, const bool negative, strip_rows w, const strip_integers *to)
{
    const int lines = LINES_EACH / form.parts, units = SPAN / GROUP * form.parts, share = block_bytes * EU_LANES / units;
    uint8_t *part = to->parts;
    for (int r = 0; r < VECTORS; r++, part += (bytes ? 1 : 2) * INTEGERS_PART) {
        vi n[SPAN / 16];
        const vf by = numbers(w.at[r], n, to->m + r * ROWS);
        v_store(to->by + r * ROWS, negative ? -by : by);
        CPU_UNROLL
        for (int i = 0; i < units; i++) {
            if (to->ask)
                ask_ahead(&w, to->ask + i * share, NEAR + i * share, share, EACH * r, EACH * (r + 1));
            const vi number = negative ? -n[i] : n[i], much = number * bias;
            const __m512i each = low_byte_in_all(number), raise = (__m512i)((much & 0xffff) | much << 16);
            to->n[i * VECTORS + r] = v_cvt(number);
            CPU_UNROLL
            for (int l = 0; l < lines; l++)
                put_integers(line(w.at[r], i / form.parts, i % form.parts * lines + l), each, raise, bytes,
                             part + (i * lines + l) * 4 * ROWS);
        }
    }
}

#endif
