/* A group of 32 elements of a column in registers: how large they are, and what they are cut into (columns.c). */
#ifndef CPU_PLANES_GROUP_H
#define CPU_PLANES_GROUP_H

#include "planes.h"

#define PIECES (GROUP / CPU_VL) /* registers */
#define DIGIT 127               /* the largest */

/* Sizes are floats' bits without their sign, which are in the order of what they are sizes of. */
CPU_INLINE void group_sizes(const float *x, vi *size)
{
    CPU_UNROLL
    for (int i = 0; i < PIECES; i++)
        size[i] = v_loadi(x + CPU_VL * i) & 0x7fffffff;
}

/*
 * What a processor has instructions for is in a file for each kind:
 *
 *     group_largest, group_larger    of sizes the largest; a bit for each of the 32 that is larger than `than`
 *     group_without                  zeros in place of those of the i-th register whose bits are set
 *     round_to_integers, integers_of    to the nearest, of two the even one; floats that are integers
 *     group_digits: group_bytes, group_store    32 integers that are bytes, in their order
 *     group_sums: sums_of, sums_together, sum_of_plane    of each plane's digits, of each half of the group
 *     put_begins                     of each plane what takes the bias back
 */
#if defined(CPU_NEON)
#include "group_neon.h"
#else
#include "group_x86.h"
#endif

/* A register's elements, in units of `unit`, to digits; what they lack goes back to `x`, without an error. */
CPU_INLINE vi take_digit(vf *x, const float unit)
{
    const vf near = round_to_integers(*x * (1 / unit));
    const vf digit = v_max(v_min(near, v_set1(DIGIT)), v_set1(-DIGIT));
    *x = v_fma(-digit, v_set1(unit), *x);
    return integers_of(digit);
}

#endif
