/*
 * kernels/mul_mat_id_lanes.cl - mul_mat_id (see mul_mat_id.cl) of weights in lanes and many tokens by a matrix unit: columns are
 * packed once, and a tile gathers those of an expert.
 */
#define GATHERED
#include "matrix_lanes.clh"
#include "experts_list.clh"

#define LANES_BUFFERS(B) EXPERTS_BUFFERS(B) B(cbytes, list) B(cbytes, x)
#define LANES_NUMBERS(N) MUL_MAT_ID_NUMBERS(N) N(ulong, list_at) N(ulong, x_at) N(ulong, x_col)
NUMBERS(lanes, LANES_NUMBERS);
KERNEL(GROUP_OF(GROUP), mul_mat_id, LANES_BUFFERS, lanes)
{
    UNPACK(LANES_NUMBERS)
    __local uint4 near[TILE_LOCAL];
    EXPERT_TILE_BEGIN
    const long all = count;
    __global const int *words = (__global const int *)(list + list_at);
    __global const int *pairs = PAIRS_OF(words, e), *columns = COLUMNS_OF_PAIRS(words, e);
    const uint n = COUNT_OF(words, e);
    a = ROW_A(a + a_at + e * a_nb.y, row, a_nb.x);
    for (uint col = 0; col < n; col += TILE_N) {
        float4 sum[ROW_TILES][COLUMN_TILES];
        const uint cols = min((uint)TILE_N, n - col);
        tile_columns mine;
        gather(&mine, x + x_at, x_col, columns + col, cols, k);
        tile(a, a_nb.x, rows, &mine, cols, 0, k / 32, near, sum);
#define COLUMN(c) (o + RESULT_OF(pairs[col + (c)]))
        PUT_TILE(COLUMN)
        barrier(CLK_LOCAL_MEM_FENCE); /* local memory is free again */
    }
}
