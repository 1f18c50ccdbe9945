/*
 * kernels/mul_mat_matrix.cl - mul_mat of weights in lanes by a matrix unit, exactly (matrix_rows.clh).  The launch's second dimension
 * runs over COLS columns at a time.
 */
#include "matrix_rows.clh"
#include "products.clh"

KERNEL(GROUP_OF(GROUP), mul_mat_rows, BUFFERS, rows)
{
    UNPACK(ROWS_NUMBERS)
    __local uint4 all[ROWS_LOCAL];
    BEGIN;
    const long first = get_group_id(0) * GROUP_ROWS, j = ITEM(1) * COLS;
    if (first >= m || j >= n)
        return;
    dot_rows(FROM_ROW(a, first), a_row, min((long)GROUP_ROWS, m - first), b + j * b_col, b_col, min((long)COLS, n - j),
             o + j * o_col + first * 4, o_col, k, all);
}

KERNEL(GROUP_OF(GROUP), mul_mat_several, SEVERAL_BUFFERS, several)
{
    UNPACK(SEVERAL_NUMBERS)
    __local uint4 all[ROWS_LOCAL];
    CHOOSE(get_group_id(0));
    const long j = ITEM(1) * COLS;
    if (j >= n)
        return;
    dot_rows(a, a_row, min((long)GROUP_ROWS, m - first), b + j * b_col, b_col, min((long)COLS, n - j),
             o + j * o_col + first * 4, o_col, k, all);
}
