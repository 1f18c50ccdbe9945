/*
 * kernels/mul_mat_lanes.cl - mul_mat (see mul_mat.cl) of weights in lanes and many columns by a matrix unit.  b: packed columns, b_col
 * bytes each TILE_N of them; units: of 256 elements.
 */
#include "matrix_lanes.clh"
#include "join.clh"

KERNEL(GROUP_OF(GROUP), mul_mat_tile, BUFFERS, tile)
{
    UNPACK(TILE_NUMBERS)
    __local uint4 all[TILE_LOCAL];
    float4 sum[ROW_TILES][COLUMN_TILES];
    TILE_BEGIN;
    const uint groups = k / 32, from = min((uint)(part * units) * 8, groups), past = min((uint)((part + 1) * units) * 8, groups);
    const tile_columns columns = {b + b_at + along(i, b_nb) + (long)ITEM(1) * b_col + (ulong)from * 2 * STEP_BYTES};
    tile(ROW_A(a + a_at + along(i, a_nb), first, a_row), a_row, rows, &columns, cols, from, past, all, sum);
    o += o_at + along(i, o_nb) + part * part_bytes + first * 4 + col * o_col;
#define COLUMN(c) (o + (c) * o_col)
    PUT_TILE(COLUMN)
    barrier(CLK_LOCAL_MEM_FENCE); /* PoCL 3.1: see lanes.clh */
}
