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
                pack_group(b + min(col + c, n - 1) * b_col, g, k, (__global int *)(o + col * o_col) + (ulong)g * GROUP_WORDS * width, c,
                           width);
    }
}

/* x: packed columns.  The launch's second dimension runs over `each` of them at a time. */
#define STRIPS_BUFFERS(B) BUFFERS(B) B(cbytes, x)
#define STRIPS_NUMBERS(N) ROWS_NUMBERS(N) N(ulong, x_at) N(long4, x_nb) N(long, x_col)
NUMBERS(strips, STRIPS_NUMBERS);
KERNEL(GROUP_OF(1), mul_mat_strips, STRIPS_BUFFERS, strips)
{
    UNPACK(STRIPS_NUMBERS)
    BEGIN;
    const long first = (long)ITEM(0) * ITEM_ROWS, col = (long)ITEM(1) * each;
    if (first >= m || col >= n)
        return;
    const uint rows = min((long)ITEM_ROWS, m - first), cols = min(each, n - col);
    x += x_at + along(i, x_nb) + col * x_col;
    o += first * 4;
#if TILES_UNIT
    ulong bo[MOST_COLS], oo[MOST_COLS];
    FEW for (uint c = 0; c < (cols + TILE_N - 1) / TILE_N * TILE_N; c++)
    {
        bo[c] = min(col + c, n - 1) * b_col;
        oo[c] = (col + c) * o_col;
    }
    strips_times(ROW_A(a, first, a_row), a_row, rows, x, x_col, b, bo, o, oo, cols, k);
#else
    lanes sums[MOST_COLS * VECTORS];
    for (uint r = 0; r < rows; r += STRIP) {
        strip_times(ROW_A(a, first + r, a_row), a_row, min((uint)STRIP, rows - r), x, x_col, cols, sums, k);
        for (uint c = 0; c < cols; c++)
            put_sums(sums, c, min((uint)STRIP, rows - r), o + r * 4 + (col + c) * o_col);
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
