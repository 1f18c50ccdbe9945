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
    const uint groups = k / 32;
    tile(ROW_A(a + a_at + along(i, a_nb), first, a_row), a_row, rows, b + b_at + along(i, b_nb) + (long)ITEM(1) * b_col,
         min((uint)(part * units) * 8, groups), min((uint)((part + 1) * units) * 8, groups), all, sum);
    o += o_at + along(i, o_nb) + part * part_bytes + first * 4 + col * o_col;
    const uint lane = get_local_id(0) & 31, warp = get_local_id(0) >> 5, row = warp * 32 + (lane >> 2);
    EACH(r, ROW_TILES)
    EACH(c, COLUMN_TILES)
    {
        const uint y = row + 16 * r, x = 8 * c + 2 * (lane & 3);
        const float4 s = sum[r][c];
#define PUT_SUM(row, column, v)                                                                                        \
    if ((row) < rows && (column) < cols)                                                                               \
    *(__global float *)(o + 4 * (row) + (column) * o_col) = (v)
        PUT_SUM(y, x, s.x);
        PUT_SUM(y, x + 1, s.y);
        PUT_SUM(y + 8, x, s.z);
        PUT_SUM(y + 8, x + 1, s.w);
    }
    barrier(CLK_LOCAL_MEM_FENCE); /* PoCL 3.1: see lanes.clh */
}
