/*
 * kernels/mul_mat_planes.cl - mul_mat of weights in lanes, on processors (planes.clh).  Columns are packed by a launch of
 * their own, to x; b has them as they are.
 */
#include "planes.clh"
#include "products.clh"

KERNEL(GROUP_OF(1), mul_mat_pack, PACK_BUFFERS, pack)
{
    UNPACK(PACK_NUMBERS)
    ROW_INDEX(ITEM(2), ext);
    const packed_columns x = {o + o_at + along(i, o_nb), n, k / GROUP};
    pack_columns(b + b_at + along(i, b_nb), b_col, n, k, (ulong2)(ITEM(0), ITEM(1)), &x, 0);
}

/* `rows` rows of a times columns first .. last - 1. */
static void times(cbytes a, ulong a_row, uint rows, cbytes packed, cbytes b, ulong b_col, gbytes o, ulong o_col, long first,
                  long last, long n, ulong k)
{
    const packed_columns x = {packed, n, k / GROUP};
#ifdef DIRECT
    for (; first < last; first += COLS)
        rows_times(a, a_row, rows, &x, first, b + first * b_col, b_col, o + first * o_col, o_col, last - first, k);
#else
    uint at[MOST_COLS];
    ulong bo[MOST_COLS], oo[MOST_COLS];
    for (; first < last; first += MOST_COLS) {
        const uint cols = min((long)MOST_COLS, last - first);
        FEW for (uint c = 0; c < cols; c++)
        {
            at[c] = first + c;
            bo[c] = (first + c) * b_col;
            oo[c] = (first + c) * o_col;
        }
        rows_times(a, a_row, rows, &x, at, b, bo, o, oo, cols, k);
    }
#endif
}

/* The launch's second dimension runs over MOST_COLS columns at a time. */
#define PLANES_BUFFERS(B) BUFFERS(B) B(cbytes, x)
#define PLANES_NUMBERS(N) ROWS_NUMBERS(N) N(ulong, x_at) N(long4, x_nb)
NUMBERS(planes, PLANES_NUMBERS);
KERNEL(GROUP_OF(1), mul_mat_rows, PLANES_BUFFERS, planes)
{
    UNPACK(PLANES_NUMBERS)
    BEGIN;
    const long first = (long)ITEM(0) * each, col = (long)ITEM(1) * MOST_COLS;
    if (first < m && col < n)
        times(a + first * a_row, a_row, min(each, m - first), x + x_at + along(i, x_nb), b, b_col, o + 4 * first, o_col, col,
              min(col + MOST_COLS, n), n, k);
}

#define SEVERAL_PLANES_BUFFERS(B) SEVERAL_BUFFERS(B) B(cbytes, x)
#define SEVERAL_PLANES_NUMBERS(N) SEVERAL_NUMBERS(N) N(ulong, x_at)
NUMBERS(several_planes, SEVERAL_PLANES_NUMBERS);
KERNEL(GROUP_OF(1), mul_mat_several, SEVERAL_PLANES_BUFFERS, several_planes)
{
    UNPACK(SEVERAL_PLANES_NUMBERS)
    CHOOSE(ITEM(0));
    times(a, a_row, min(each, m - first), x + x_at, b, b_col, o + 4 * first, o_col, 0, n, n, k);
}
