/*
 * Registers as products in planes have them: CPU_VL rows side by side, of each a float, a word, or four bytes.  Weights
 * in lanes are groups of EU_LANES rows (libengine/util/pack.h).  What a processor has instructions for is in a file for
 * each kind:
 *
 *     lanes_at                     where a register's rows are; group_put(), group_at(): where a strip's groups are
 *     w_load, w_halves, w_shorts, w_bytes   a word of each row, 16 bits that are a half or a number, a byte, which lie
 *                                  beside one another `at` bytes behind the begin of each group
 *     w_four                       four bytes for all rows
 *     w_lookup, w_gather           of each nibble a byte, of each lane a word of a table
 *     w_spread                     byte from[i] of a lane's word as its byte i, in all lanes alike
 *     w_where, w_less_where        `number` (else zero), or `twice` less v (else v), in each byte of which a bit is set
 *                                  that is set in `bits`, too
 *     w_half                       the half-precision number that a lane's 16 bits are
 *     w_greater                    lanes of `yes` where a is greater than b, else of `no`
 *     v_load_rows, v_store_rows    results of `rows` rows, a multiple of EU_LANES
 *     p_digits                     the four digits of a column that meet a line, for all rows
 *     p_add                        sums of their products with those of a, without a sign (PLANES_SIGNED: with one)
 */
#ifndef CPU_PLANES_REGISTERS_H
#define CPU_PLANES_REGISTERS_H

#include "libengine/util/util.h"
#include "planes.h"

#define ROWS CPU_VL
#define VECTORS (STRIP / ROWS)

typedef uint16_t vpairs __attribute__((vector_size(4 * CPU_VL)));
typedef uint8_t vbytes __attribute__((vector_size(4 * CPU_VL)));

CPU_INLINE vu w_all(const int byte)
{
    return (vu)v_seti((int)((unsigned)byte * 0x01010101u));
}

/* The bits of `mask` of each byte, moved down (negative: up) by n. */
CPU_INLINE vu w_field(vu v, const int n, const int mask)
{
    return (vu)(n >= 0 ? (vpairs)v >> n : (vpairs)v << -n) & w_all(mask);
}

#if defined(CPU_NEON)
#include "registers_neon.h"
#else
#include "registers_x86.h"
#endif

/* -- sums of products ---------------------------------------------------------------------- */

/* Planes of a joint block, whose sums may have all of 32 bits, together. */
CPU_INLINE vf p_joint(const vi *s)
{
    return v_fma(v_cvt(s[2]), v_set1(BASE * BASE), v_fma(v_cvt(s[1]), v_set1(BASE), v_cvt(s[0])));
}

#if PLANES_DOT

CPU_INLINE vi p_begin(vi sum, vu a, p_factor b, const int given)
{
    return p_add(given ? sum : (vi){0}, a, b);
}

/* A group's integer of a joint block, and a sum times it, added. */
CPU_INLINE vi p_number(vi n)
{
    return n;
}
CPU_INLINE vf p_float(vi number)
{
    return v_cvt(number);
}
CPU_INLINE vi p_add_times(vi all, vi sum, vi number)
{
    return all + sum * number;
}

/* The planes' sums together in f32.  Those of the two low ones are rounded once: each of them is exact as a float. */
CPU_INLINE vf p_whole(const vi *s, const int planes)
{
    if (planes == 1)
        return v_cvt(s[0]);
    return v_fma(v_cvt(s[2]), v_set1(BASE * BASE), v_fma(v_cvt(s[1]), v_set1(BASE), v_cvt(s[0])));
}

#else

/* In words of 16 bits, two of which are a lane's.  In assembler: the compiler adds up in another order and runs out of
 * registers, or copies sums. */
CPU_INLINE vi p_product(vu a, vi b)
{
    return (vi)_mm256_maddubs_epi16((__m256i)a, (__m256i)b);
}

CPU_INLINE vi p_add(vi sum, vu a, vi b)
{
    __asm__("vpaddw %1, %0, %0" : "+x"(sum) : "x"(p_product(a, b)));
    return sum;
}

CPU_INLINE vi p_begin(vi sum, vu a, vi b, const int given)
{
    const __m256i product = (__m256i)p_product(a, b);
    return (vi)(given ? _mm256_add_epi16((__m256i)sum, product) : product);
}

CPU_INLINE vi p_pairs(vi s, const int by)
{
    return (vi)_mm256_madd_epi16((__m256i)s, _mm256_set1_epi16((short)by));
}

/* The number, for both words. */
CPU_INLINE vi p_number(vi n)
{
    return (n & 0xffff) | n << 16;
}
CPU_INLINE vf p_float(vi number)
{
    return v_cvt(number << 16 >> 16);
}
CPU_INLINE vi p_add_times(vi all, vi sum, vi number)
{
    return all + (vi)_mm256_madd_epi16((__m256i)sum, (__m256i)number);
}

CPU_INLINE vf p_whole(const vi *s, const int planes)
{
    const vi low = p_pairs(s[0], 1);
    if (planes == 1)
        return v_cvt(low);
    return v_fma(v_cvt(p_pairs(s[2], 1)), v_set1(BASE * BASE), v_cvt(low + p_pairs(s[1], BASE)));
}

#endif

#endif
