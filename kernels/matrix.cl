/*
 * kernels/matrix.cl - does the matrix unit multiply as fragments.clh says (plugins/opencl/device/matrix.c)?
 *
 * o: 16 x 16 sums, row by row, which stay as they are where a compiler has no such instruction.  -DMULTIPLY_F16=1: of f16, and
 * rows of numbers below the normal ones, which are whole numbers times 2^-24, as is what is in o: some units take them for zero.
 */
#define GROUP 64
#if MATRIX == 1 && !defined(__NV_CL_C_VERSION) && !defined(__NVPTX__)
#define NO_UNIT
#else
#include "fragments.clh"
#endif

#ifndef NO_UNIT

#define A(row, k) ((int)((row) * 3 + (k)) % 7 - 3)
#define B(k, column) ((int)((k) * 5 + (column)) % 11 - 5)
#define PLACE(row, c) (2 * (row) + (c))
#define UNROLL _Pragma("unroll")
#if MULTIPLY_F16
#define SMALL(n) ((n) < 0 ? 0x8000u - (n) : (uint)(n))
#define A_PAIR(a, b) (SMALL(a) | SMALL(b) << 16)
#define B_PAIR(a, b) halves8((float8)((float)(a), (float)(b), 0, 0, 0, 0, 0, 0)).x
#else
#define A_PAIR(a, b) bfloat_pair((float)(a), (float)(b))
#define B_PAIR A_PAIR
#endif

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) WAVE_OF_KERNEL void matrix(__global float *o)
{
    __local uint exchange[MATRIX_SCRATCH];
    __local uint4 as[32], bs[32], before[64];
    const uint id = get_local_id(0);
    __local uint *a_pairs = (__local uint *)as, *b_pairs = (__local uint *)bs;
    __local const float *sums = (__local const float *)before;
    rows16 x;
    columns16 y;
    sums16 s;
    for (uint w = id; w < 128; w += GROUP) {
        const uint row = w / 8, k = w % 8 * 2;
        a_pairs[w] = A_PAIR(A(row, k), A(row, k + 1));
        b_pairs[w] = B_PAIR(B(k, row), B(k + 1, row));
    }
    COPY16_IF(true, before + id, (__global const uchar *)o + 16 * id);
    COPIES_END;
    COPIES_WAIT(0);
    barrier(CLK_LOCAL_MEM_FENCE);
#define EACH_SUM                                                                                                       \
    UNROLL for (uint p = 0; p < COLUMN_PARTS; p++)                                                                     \
        UNROLL for (uint c = 0; c < PART_COLUMNS; c++)                                                                 \
            UNROLL for (uint i = 0; i < SUM_ROWS; i++)
#define PLACE_OF_SUM (16 * (SUM_ROW + SUM_ROW_AFTER(i)) + PART_COLUMN(p, c))
    EACH_SUM SUM_OF(s, p, c, i) = sums[PLACE_OF_SUM];
    LOAD_ROWS(x, as, 0);
    LOAD_COLUMNS(y, bs, 0);
    UNROLL for (uint p = 0; p < COLUMN_PARTS; p++)
        MULTIPLY_PART(s, x, y, p);
    EACH_SUM o[PLACE_OF_SUM] = SUM_OF(s, p, c, i);
    barrier(CLK_LOCAL_MEM_FENCE); /* PoCL 3.1: see lanes.clh */
}
#else
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void matrix(__global float *o)
{
}
#endif
