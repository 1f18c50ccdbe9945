/*
 * kernels/mul_mat_halves.cl - mul_mat (see mul_mat.cl) of many columns by a matrix unit: columns, and weights that are no
 * 16-bit numbers in whole chunks, are packed as such first, once for all tiles; but blocks for exact tiles are not.
 */
#include "halves.clh"
#include "join.clh"

/* Rows of the matrix: b, o_col bytes each. */
KERNEL(GROUP_OF(GROUP), halves_weights, PACK_BUFFERS, pack)
{
    UNPACK(PACK_NUMBERS)
    ROW_INDEX(ITEM(2), ext);
    const long row = ITEM(1) * PACKED_ROWS;
    if (row < n)
        pack_weights(ROW_A(b + b_at + along(i, b_nb), row, b_col), min((long)PACKED_ROWS, n - row),
                     o + o_at + along(i, o_nb) + row * o_col, o_col, k);
}

#define HALVES_NUMBERS(N) TILE_NUMBERS(N) N(long, scales)
NUMBERS(halves, HALVES_NUMBERS);
KERNEL(GROUP_OF(GROUP) WAVE_OF_KERNEL, mul_mat_tile, BUFFERS, halves)
{
    UNPACK(HALVES_NUMBERS)
    __local uint4 stages[TILE_LOCAL];
    sums16 s[FRAGMENTS_N][FRAGMENTS_M];
    TILE_BEGIN;
    a += a_at + along(i, a_nb) + first * a_row;
    b += b_at;
    const long at = along(i, b_nb) + col * b_col;
    o += o_at + along(i, o_nb) + part * part_bytes + first * 4;
    const long from = part * units, to = min(from + units, (k + TILE_K - 1) / TILE_K);
    tile(a, a_row, rows, b + at, b_col, 0, cols, from, max(from, to), k, stages, s);
#if F16
    __global const float *scale = (__global const float *)(b + scales) + (ulong)at / COLUMN_BYTES(k);
#define SCALE(c) scale[c]
#else
#define SCALE(c) 1.0f
#endif
#define COLUMN(c) (__global float *)(o + (col + (c)) * o_col)
    PUT_SUMS(COLUMN, SCALE)
    barrier(CLK_LOCAL_MEM_FENCE); /* PoCL 3.1: see lanes.clh */
}
