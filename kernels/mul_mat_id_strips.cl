/*
 * kernels/mul_mat_id_strips.cl - mul_mat_id (see mul_mat_id.cl) of many tokens, on processors: pairs of a token and a place are
 * sorted by expert, their columns packed in that order, and strips of an expert's rows meet its own (strips.clh).
 *
 * Words of a list, for `count` experts: the first column that each has among those packed, and a last word; how many each
 * has; the pairs, in the order of the columns.  What an expert has is rounded up to whole narrow tiles.
 */
#if JOINT
#include "strips_joint.clh"
#elif PLANES
#include "strips_planes.clh"
#else
#include "strips.clh"
#endif
#include "experts.clh"

typedef __global int *ints;
#define STARTS(list) (list)
#define COUNTS(list) ((list) + count + 1)
#define PAIRS(list) ((list) + 2 * count + 1)

#define LIST_BUFFERS(B) B(cbytes, ids) B(gbytes, list)
#define LIST_NUMBERS(N)                                                                                                \
    N(ulong, ids_at) N(ulong, list_at) N(long, u) N(long, t) N(long, first) N(long, count) N(long4, ids_nb)
NUMBERS(list, LIST_NUMBERS);
KERNEL(GROUP_OF(1), experts_list, LIST_BUFFERS, list)
{
    UNPACK(LIST_NUMBERS)
    const ints words = (ints)(list + list_at), starts = STARTS(words), counts = COUNTS(words), all = PAIRS(words);
    const long pairs = u * t;
    if (ITEM(0) > 0)
        return;
    ids += ids_at;
    for (long e = 0; e < count; e++)
        counts[e] = 0;
    FEW for (long p = 0; p < pairs; p++)
    {
        const long e = id_of(ids, ids_nb, u, p) - first;
        if (e >= 0 && e < count)
            counts[e]++;
    }
    starts[0] = 0;
    for (long e = 0; e < count; e++) {
        starts[e + 1] = starts[e] + (counts[e] + NARROW - 1) / NARROW * NARROW;
        counts[e] = 0;
    }
    FEW for (long p = 0; p < pairs; p++)
    {
        const long e = id_of(ids, ids_nb, u, p) - first;
        if (e >= 0 && e < count)
            all[starts[e] + counts[e]++] = p;
    }
}

/* An expert's columns, and PACK_GROUPS groups of k. */
#define EXPERT_PACK_BUFFERS(B) B(cbytes, b) B(gbytes, list) B(gbytes, x)
#define EXPERT_PACK_NUMBERS(N)                                                                                         \
    N(ulong, b_at) N(ulong, list_at) N(ulong, x_at) N(long, k) N(long, u) N(long, count) N(long4, b_nb) N(long, x_col)
NUMBERS(expert_pack, EXPERT_PACK_NUMBERS);
KERNEL(GROUP_OF(1), experts_pack, EXPERT_PACK_BUFFERS, expert_pack)
{
    UNPACK(EXPERT_PACK_NUMBERS)
    const ints words = (ints)(list + list_at);
    const long e = ITEM(0);
    if (e >= count)
        return;
    const uint first = ITEM(1) * PACK_GROUPS, last = min(first + PACK_GROUPS, groups_of(k)), n = COUNTS(words)[e];
    const ints pairs = PAIRS(words) + STARTS(words)[e];
    x += x_at + STARTS(words)[e] * x_col;
    b += b_at;
    for (uint col = 0; col < n; col += TILE_N) {
        const uint width = tile_width(n - col);
        for (uint g = first; g < last; g++)
            for (uint c = 0; c < width; c++)
                pack_group(b + OFFSET((long)pairs[min(col + c, n - 1)], b_nb), g, k,
                           (ints)(x + col * x_col) + (ulong)g * GROUP_WORDS * width, c, width);
    }
}

#define STRIPS_BUFFERS(B) EXPERTS_BUFFERS(B) B(gbytes, list) B(cbytes, x)
#define STRIPS_NUMBERS(N) MUL_MAT_ID_NUMBERS(N) N(ulong, list_at) N(ulong, x_at) N(long, x_col)
NUMBERS(strips, STRIPS_NUMBERS);
KERNEL(GROUP_OF(1), mul_mat_id, STRIPS_BUFFERS, strips)
{
    UNPACK(STRIPS_NUMBERS)
    const long begin = (long)ITEM(0) * ITEM_ROWS, end = min(begin + ITEM_ROWS, m), e = ITEM(1);
    if (begin >= m || e > count)
        return;
    o += o_at;
    if (e == count) {
        if (first == 0)
            skipped(ids + ids_at, ids_nb, o + begin * 4, o_nb, u, 0, u * t, n_expert, end - begin);
        return;
    }
    const ints words = (ints)(list + list_at), pairs = PAIRS(words) + STARTS(words)[e];
    const uint n = COUNTS(words)[e];
    a += a_at + e * a_nb.y;
    x += x_at + STARTS(words)[e] * x_col;
#if TILES_UNIT
    ulong bo[MOST_COLS], oo[MOST_COLS];
    for (uint col = 0; col < n; col += MOST_COLS) {
        const uint cols = min((uint)MOST_COLS, n - col);
        FEW for (uint c = 0; c < (cols + TILE_N - 1) / TILE_N * TILE_N; c++)
        {
            const long pair = pairs[min(col + c, n - 1)];
            bo[c] = OFFSET(pair, b_nb);
            oo[c] = OFFSET(pair, o_nb);
        }
        strips_times(ROW_A(a, begin, a_nb.x), a_nb.x, end - begin, x + col * x_col, x_col, b + b_at, bo, o + begin * 4, oo, cols, k);
    }
#else
    lanes sums[MOST_COLS * VECTORS];
    for (uint col = 0; col < n; col += MOST_COLS)
        for (long row = begin; row < end; row += STRIP) {
            const uint rows = min((long)STRIP, end - row), cols = min((uint)MOST_COLS, n - col);
            strip_times(ROW_A(a, row, a_nb.x), a_nb.x, rows, x + col * x_col, x_col, cols, sums, k);
            for (uint c = 0; c < cols; c++)
                put_sums(sums, c, rows, o + row * 4 + OFFSET((long)pairs[col + c], o_nb));
        }
#endif
}
