/*
 * kernels/mul_mat.cl - o[i,j,x,y] = sum over l of a[l,i,x/r,y/s] b[l,j,x,y].
 *
 * The third dimension of the launch runs over ext = (p, r, q, s); *_nb are the
 * operands' strides along these four, *_row and *_col along i and j.
 */
#ifdef ONE /* column */
#define LEAST_COLUMNS 1
#define MOST_COLUMNS 1
#else
#define LEAST_COLUMNS 2
#define MOST_COLUMNS 16 /* as plugins/opencl/ops/variants.c: more are worth a tile */
#endif
#include "mul_mat.clh"
#include "products.clh"

#if VEC

/* -DSTRIPS: many columns, which are packed for strips of rows; else few, or -DONE: a single one, which needs the least code. */
#ifdef STRIPS

/* Columns packed for strips.clh, o_col bytes each: a work-item does PACK_COLS of them and PACK_GROUPS groups of k. */
KERNEL(GROUP_OF(1), mul_mat_pack, PACK_BUFFERS, pack)
{
    UNPACK(PACK_NUMBERS)
    ROW_INDEX(ITEM(2), ext);
    const uint first = ITEM(1) * PACK_GROUPS, last = min(first + PACK_GROUPS, groups_of(k));
    const long begin = ITEM(0) * PACK_COLS, end = min(begin + PACK_COLS, n);
    b += b_at + along(i, b_nb);
    o += o_at + along(i, o_nb);
    for (long col = begin; col < end; col += TILE_N) {
        const uint width = tile_width(n - col);
        for (uint g = first; g < last; g++)
            for (uint c = 0; c < width; c++)
                pack_group(b + min(col + c, n - 1) * b_col, g, k,
                           (__global int *)(o + col * o_col) + (ulong)g * GROUP_WORDS * width + COLUMN_AT(c), width);
    }
}

/* b: packed columns.  The launch's second dimension runs over `each` of them at a time. */
KERNEL(GROUP_OF(1), mul_mat_strips, BUFFERS, rows)
{
    UNPACK(ROWS_NUMBERS)
    BEGIN;
#if TILES_UNIT
    const long first = (long)ITEM(0) * ITEM_ROWS, col = (long)ITEM(1) * each;
    if (first < m && col < n)
        strips_times(a, a_row, first, min((long)ITEM_ROWS, m - first), b + col * b_col, b_col, min((long)each, n - col),
                     o + first * 4 + col * o_col, o_col, k);
#else
    lanes sums[MOST_COLS * VECTORS];
    const long col = (long)ITEM(1) * each, end = min((long)(ITEM(0) + 1) * ITEM_ROWS, m);
    for (long row = (long)ITEM(0) * ITEM_ROWS; row < end && col < n; row += STRIP) {
        const uint rows = min((long)STRIP, end - row), cols = min(each, n - col);
        strip_times(ROW_A(a, row, a_row), a_row, rows, b + col * b_col, b_col, cols, sums, k);
        for (uint c = 0; c < cols; c++)
            put_sums(sums, c, rows, o + row * 4 + (col + c) * o_col);
    }
#endif
}

#else

/* All n columns of b: MOST_COLUMNS or fewer. */
static inline void all_columns(cbytes a, ulong a_row, uint rows, cbytes b, ulong b_col, gbytes o, ulong o_col, ulong n,
                               ulong k)
{
    ulong bo[MOST_COLUMNS], oo[MOST_COLUMNS];
    const uint cols = MOST_COLUMNS == 1 ? 1 : min((ulong)MOST_COLUMNS, n);
    for (uint c = 0; c < cols; c++) {
        bo[c] = c * b_col;
        oo[c] = c * o_col;
    }
    dot_rows(a, a_row, rows, b, bo, o, oo, cols, k);
}

KERNEL(GROUP_OF(1), mul_mat_several, SEVERAL_BUFFERS, several)
{
    UNPACK(SEVERAL_NUMBERS)
    CHOOSE(ITEM(0));
    all_columns(a, a_row, min(each, m - first), b, b_col, o + first * 4, o_col, n, k);
}

/* `each` rows a work-item, read once for its columns. */
KERNEL(GROUP_OF(1), mul_mat_rows, BUFFERS, rows)
{
    UNPACK(ROWS_NUMBERS)
    BEGIN;
    const long first = ITEM(0) * each;
    if (first < m)
        all_columns(a + first * a_row, a_row, min(each, m - first), b, b_col, o + first * 4, o_col, n, k);
}

#endif

#elif !defined(TILES)

#include "few.clh"

#elif MAX_GROUP >= GROUP

KERNEL(GROUP_OF(GROUP), mul_mat_tile, BUFFERS, tile)
{
    UNPACK(TILE_NUMBERS)
    __local float4 both[TILE_LOCAL / 4];
    __local ulong bo[TILE_N], oo[TILE_N];
    TILE_BEGIN;
    const uint id = get_local_id(0);
    if (id < cols) {
        bo[id] = (col + id) * b_col;
        oo[id] = (col + id) * o_col + first * 4;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    tile(ROW_A(a + a_at + along(i, a_nb), first, a_row), a_row, rows, b + b_at + along(i, b_nb), bo, o + o_at + along(i, o_nb) + part * part_bytes, oo, cols, part * units,
         min((part + 1) * units, (k + 15) / 16), k, both);
    barrier(CLK_LOCAL_MEM_FENCE); /* PoCL 3.1: see lanes.clh */
}

#include "join.clh"

#endif
