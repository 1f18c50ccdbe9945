/*
 * Products of weights in lanes (lanes.h) with columns cut into planes.  32 elements of a column under one scale are
 * integers of 24 bits, which are three digits from -127 to 127 (in base 255); a digit's products with the numbers of a
 * block are summed exactly, four bytes of each row at a time (registers.h).  So a sum over a group of 32 is exact but for
 * the rounding of each element to 2^-22 of the largest at most, which is the order of error that f32 has.  256 elements, a
 * span, have one scale: their groups' sums are added in f32, in their order and in units of that scale, a power of two,
 * which is multiplied by when the span is done.  One digit instead of three, and a scale for each group, is precision fast.
 *
 * Factors of many types are joint: a block of 256 elements has one number of f32, and integers for its groups.  There sums
 * of groups, times the groups' integers, are added exactly, plane by plane, until the span, which the block is, is done; then
 * planes are put together in f32.
 *
 * What would be lost beside an element much larger than all others is kept: such elements are set apart, and meet the
 * weights one by one in f32 (columns.c).  Every result is formed in one order whatever the number of columns and rows:
 * of a span group by group first the sum, then minima (of joint factors all minima, then the sum); to what was before it is
 * added that, and then the sum of its elements set apart.
 *
 * Numbers that have a sign are raised by a bias, and sums begin with what takes that back.  With units for dot products
 * (PLANES_DOT: vpdpbusd) sums have 32 bits.  Without, they have 16, for there is no other product of bytes at this
 * speed: 16 products of digits and numbers of up to 15, or of -16 to 16, fit, as do eight of -32 to 32; numbers that
 * are larger are raised, too.  The results are the same bits.
 *
 * Compiled for AVX2 and for both kinds of units, of 32 and 64 bytes, and for NEON with dot products: PLANES names which.
 * There (PLANES_SIGNED) both factors have a sign, and only numbers that need it are raised.
 */
#ifndef CPU_PLANES_H
#define CPU_PLANES_H

/* What CFLAGS may leave out, before arm_neon.h is included.  Not for clang, which has options instead (configure.ac). */
#if defined(CPU_NEON) && !defined(__clang__)
#if defined(PLANES_PAIRS) && !defined(__ARM_FEATURE_MATMUL_INT8) && __ARM_ARCH >= 9
#pragma GCC target("arch=armv9-a+i8mm")
#elif defined(PLANES_PAIRS) && !defined(__ARM_FEATURE_MATMUL_INT8)
#pragma GCC target("arch=armv8.2-a+dotprod+i8mm")
#elif !defined(__ARM_FEATURE_DOTPROD)
#pragma GCC target("arch=armv8.2-a+dotprod")
#endif
#endif

#include "../ops/gemm.h"

#if CPU_VL == 4
#define STRIP (4 * CPU_VL) /* rows: four vectors                 */
#else
#define STRIP (2 * CPU_VL) /* rows: two vectors                  */
#endif
#define GROUP 32     /* elements of a column that have a scale in fast */
#define SPAN 256     /* those that have one in exact: a span    */
#define LINES_EACH 8 /* words of four elements in a group         */
#define EXACT 3      /* planes                               */
#define BASE 255     /* of digits                            */

/* Columns of a tile, with three planes and with one: 12 sums of products, or 8, in 16 registers, more in 32.  And those
 * for which numbers are not written out as lines first: NOW at once, NOW_AGAIN in all, for which they are made
 * again. */
#define UP_TO_2(X, ...) X(1, __VA_ARGS__) X(2, __VA_ARGS__)
#define UP_TO_4(X, ...) UP_TO_2(X, __VA_ARGS__) X(3, __VA_ARGS__) X(4, __VA_ARGS__)
#define UP_TO_6(X, ...) UP_TO_4(X, __VA_ARGS__) X(5, __VA_ARGS__) X(6, __VA_ARGS__)
#if CPU_VL == 4 /* neon: strips of four registers, of which there are 32 */
#define EXACT_COLS UP_TO_2
#define FAST_COLS UP_TO_6
#define NOW_COLS UP_TO_2
enum { TILE_EXACT = 2, TILE = 6, NOW = 2, NOW_AGAIN = 4 };
#elif CPU_REGISTERS == 32
#define EXACT_COLS UP_TO_4
#define FAST_COLS UP_TO_6
#define NOW_COLS UP_TO_4
enum { TILE_EXACT = 4, TILE = 6, NOW = 4, NOW_AGAIN = 8 };
#else
#define EXACT_COLS UP_TO_2
#define FAST_COLS UP_TO_4
#define NOW_COLS UP_TO_2
enum { TILE_EXACT = 2, TILE = 4, NOW = 2, NOW_AGAIN = NOW };
#endif

#ifndef PLANES_SIGNED
#define PLANES_SIGNED 0
#endif

#define PLANES_V(name) CPU_PASTE(name, PLANES)

/* What products have to know of a type. */
typedef struct planes_form {
    int parts;   /* scales in a group: 1, 2                            */
    int bias;    /* by what numbers are raised                         */
    bool minima; /* weights are a number times a scale, plus a minimum */
    bool joint;  /* a block's scales are integers times one number     */
    bool wide;   /* scales may be any of f32's numbers                 */
} planes_form;

/* In precision fast they are as all others. */
static inline bool planes_are_joint(planes_form form, int planes)
{
    return form.joint && planes > 1;
}

static inline int64_t planes_groups(int64_t k)
{
    return (k + GROUP - 1) / GROUP;
}

/*
 * A packed column is its groups one after another.  A group: of each plane, the lowest first, 32 digits; then, in words
 * of four bytes, the scale; for each part and plane what sums begin with, if there is a bias (without units two numbers
 * of 16 bits); for each part the sum of the elements, if there are minima, with three planes in units of the scale; a bit
 * for each element that is set apart.
 */
static inline int64_t planes_group_bytes(planes_form form, int planes)
{
    return GROUP * planes + 8 + 4 * form.parts * ((form.bias ? planes : 0) + form.minima);
}

static inline int64_t planes_column_bytes(planes_form form, int planes, int64_t k)
{
    return planes_groups(k) * planes_group_bytes(form, planes);
}

/* Columns c0 .. c1 - 1, each at its place from `out` on. */
void PLANES_V(cpu_planes_pack)(const cpu_gemm *g, planes_form form, int planes, int64_t c0, int64_t c1, uint8_t *out);

#endif
