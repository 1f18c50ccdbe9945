/*
 * kernels/matrix.cl - does the matrix unit multiply as matrix.clh says (plugins/opencl/device/matrix.c)?
 *
 * o: 16 x 8 sums, row by row, which stay as they are where a compiler has no such instruction.
 */
#define GROUP 32
#include "launch.clh"
#if MATRIX == 2 || defined(__NV_CL_C_VERSION) || defined(__NVPTX__)
#include "matrix.clh"

#define A(row, k) (float)((int)((row) * 3 + (k)) % 7 - 3)
#define B(k, column) (float)((int)((k) * 5 + (column)) % 11 - 5)
#define A_PAIR(row, pair) bfloat_pair(A(row, 2 * (pair)), A(row, 2 * (pair) + 1))
#define A_PLACE(l) (2 * ((l) & 15) + ((l) >> 4)) /* two chunks a row */
#define B_PAIR(pair, column) bfloat_pair(B(2 * (pair), column), B(2 * (pair) + 1, column))

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void matrix(__global float *o)
{
    __local uint exchange[MATRIX_SCRATCH];
    __local uint4 rows[32], sums[32];
    const uint lane = get_local_id(0), g = lane >> 2, t = lane & 3;
    __local uint *pairs = (__local uint *)rows;
    __local const float *before = (__local const float *)sums;
    uint4 a;
    pairs[8 * g + t] = A_PAIR(g, t);
    pairs[8 * g + 64 + t] = A_PAIR(g + 8, t);
    pairs[8 * g + t + 4] = A_PAIR(g, t + 4);
    pairs[8 * g + 64 + t + 4] = A_PAIR(g + 8, t + 4);
    COPY16_IF(true, sums + lane, (__global const uchar *)o + 16 * lane);
    COPIES_END;
    COPIES_WAIT(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    float4 c = (float4)(before[8 * g + 2 * t], before[8 * g + 2 * t + 1], before[8 * g + 64 + 2 * t],
                        before[8 * g + 65 + 2 * t]);
    MATRIX_LOAD(a, rows, A_PLACE);
    MATRIX_ADD(c, a, ((uint2)(B_PAIR(t, g), B_PAIR(t + 4, g))));
    o[8 * g + 2 * t] = c.x;
    o[8 * g + 2 * t + 1] = c.y;
    o[8 * g + 64 + 2 * t] = c.z;
    o[8 * g + 65 + 2 * t] = c.w;
    barrier(CLK_LOCAL_MEM_FENCE); /* PoCL 3.1: see lanes.clh */
}
#else
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void matrix(__global float *o)
{
}
#endif
