/*
 * kernels/sort.cl - the indices of rows of floats in the order of their values, equal values in the order of their
 * indices: a radix sort from the least significant digit on, which takes time in proportion to the row.
 *
 * A digit has BITS bits.  Columns are cut into tiles; a pass of three launches sorts by one digit:
 *     sort_count  how often each digit comes in each tile: counts[row][digit][tile]
 *     sort_scan   where the elements of that digit and tile begin, in place
 *     sort_move   every element there, those of one tile and digit in their order
 * The first pass (FIRST) takes values of x and numbers them, the others what the one before wrote.  The last (LAST)
 * writes the first k indices of each row, and no keys.  ASCENDING: smallest first, else largest first.
 * NaN counts as -inf, and -0 as 0.
 *
 * VEC: a work-item does a tile.  SIMT: a group does one of TILE columns, EACH side by side an item.
 */
#include "row.clh"

#define DIGITS (1 << BITS)
#define DIGIT(key) ((key) >> shift & (DIGITS - 1))

/* Ascending keys are in the order wanted. */
static inline uint key_of(float value)
{
    uint bits = as_uint(value);
    if ((bits & 0x7fffffff) > 0x7f800000)
        bits = 0xff800000;
    if (bits == 0x80000000)
        bits = 0;
    bits ^= bits & 0x80000000 ? 0xffffffff : 0x80000000;
#if ASCENDING
    return bits;
#else
    return ~bits;
#endif
}

/* `in` is a row of values in the first pass, and of keys in the others. */
#if FIRST
#define ROW(x, r) ((x) + row_at(first_row + (r), ne, xs))
#define KEY(in, c) key_of(((fin)(in))[c])
#define INDEX(in, c) ((int)(c))
#else
#define ROW(x, r) ((x) + (r) * ne.s0 * 4)
#define KEY(in, c) (((__global const uint *)(in))[c])
#define INDEX(in, c) (((__global const int *)(in))[c])
#endif

#define SORT_COUNT_NUMBERS(N)                                                                                          \
    N(ulong, x_at) N(ulong, counts_at) N(long4, ne) N(long4, xs) N(long, first_row) N(long, tile) N(long, tiles)       \
    N(int, shift)
#define SORT_COUNT_BUFFERS(B) B(cbytes, x) B(gbytes, counts)
NUMBERS(sort_count, SORT_COUNT_NUMBERS);
#define SORT_SCAN_NUMBERS(N) N(ulong, counts_at) N(long, tiles)
#define SORT_SCAN_BUFFERS(B) B(gbytes, counts)
NUMBERS(sort_scan, SORT_SCAN_NUMBERS);
#define SORT_MOVE_NUMBERS(N)                                                                                           \
    N(ulong, x_at) N(ulong, ix_at) N(ulong, counts_at) N(ulong, keys_at) N(ulong, indices_at) N(long4, ne)             \
    N(long4, xs) N(long, first_row) N(long, tile) N(long, tiles) N(int, shift) N(long, k)
#define SORT_MOVE_BUFFERS(B) B(cbytes, x) B(cbytes, ix) B(gbytes, counts) B(gbytes, keys) B(gbytes, indices)
NUMBERS(sort_move, SORT_MOVE_NUMBERS);

#if VEC

/* Where this work-item's tile is: row r, tile t, columns c0 .. c1 - 1. */
#define TILE_OF_ITEM                                                                                                   \
    const long r = (long)ITEM(0) / tiles, t = (long)ITEM(0) - r * tiles, c0 = t * tile,                                \
               c1 = min(c0 + tile, ne.s0);                                                                             \
    cbytes in = ROW(x + x_at, r)

KERNEL(ROW_ATTRIBUTES, sort_count, SORT_COUNT_BUFFERS, sort_count)
{
    UNPACK(SORT_COUNT_NUMBERS)
    TILE_OF_ITEM;
    __global uint *count = (__global uint *)(counts + counts_at) + r * DIGITS * tiles + t;
    uint n[DIGITS];
    for (int d = 0; d < DIGITS; d++)
        n[d] = 0;
    for (long c = c0; c < c1; c++)
        n[DIGIT(KEY(in, c))]++;
    for (int d = 0; d < DIGITS; d++)
        count[d * tiles] = n[d];
}

KERNEL(ROW_ATTRIBUTES, sort_scan, SORT_SCAN_BUFFERS, sort_scan)
{
    UNPACK(SORT_SCAN_NUMBERS)
    __global uint *count = (__global uint *)(counts + counts_at) + (long)ITEM(0) * DIGITS * tiles;
    uint sum = 0;
    for (long i = 0; i < DIGITS * tiles; i++) {
        const uint n = count[i];
        count[i] = sum;
        sum += n;
    }
}

KERNEL(ROW_ATTRIBUTES, sort_move, SORT_MOVE_BUFFERS, sort_move)
{
    UNPACK(SORT_MOVE_NUMBERS)
    TILE_OF_ITEM;
    __global const uint *begin = (__global const uint *)(counts + counts_at) + r * DIGITS * tiles + t;
    cbytes from = ix + ix_at + r * ne.s0 * 4;
    __global uint *key = (__global uint *)(keys + keys_at) + r * ne.s0;
    __global int *index = (__global int *)(indices + indices_at);
    uint place[DIGITS];
    for (int d = 0; d < DIGITS; d++)
        place[d] = begin[d * tiles];
#if LAST
    index += (first_row + r) * k;
#else
    index += r * ne.s0;
#endif
    for (long c = c0; c < c1; c++) {
        const uint v = KEY(in, c), p = place[DIGIT(v)]++;
#if LAST
        if (p < k)
            index[p] = INDEX(from, c);
#else
        key[p] = v;
        index[p] = INDEX(from, c);
#endif
    }
}

#else

#define TILE (GROUP * EACH_ITEM)
#define COUNTERS (GROUP * DIGITS)

/* Each item's x becomes the sum of those of the items before it; *all: of the whole group. */
WAITING uint sum_before(uint x, __local uint *t, uint *all)
{
    const int l = get_local_id(0);
    uint sum = x;
    barrier(CLK_LOCAL_MEM_FENCE);
    t[l] = x;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int n = 1; n < GROUP; n <<= 1) {
        const uint before = l >= n ? t[l - n] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        t[l] = sum += before;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    *all = t[GROUP - 1];
    return sum - x;
}

/* Where this group's tile is, and its item l. */
#define TILE_OF_GROUP                                                                                                  \
    const int l = get_local_id(0);                                                                                     \
    const long r = (long)get_group_id(0) / tiles, t = (long)get_group_id(0) - r * tiles, c0 = t * TILE;                \
    const int n = (int)min((long)TILE, ne.s0 - c0);                                                                    \
    cbytes in = ROW(x + x_at, r)

KERNEL(ROW_ATTRIBUTES, sort_count, SORT_COUNT_BUFFERS, sort_count)
{
    UNPACK(SORT_COUNT_NUMBERS)
    __local uint count[COUNTERS];
    TILE_OF_GROUP;
    __global uint *out = (__global uint *)(counts + counts_at) + r * DIGITS * tiles + t;
    for (int d = 0; d < DIGITS; d++)
        count[d * GROUP + l] = 0;
    for (int c = l; c < n; c += GROUP)
        count[DIGIT(KEY(in, c0 + c)) * GROUP + l]++;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = l; d < DIGITS; d += GROUP) {
        uint sum = 0;
        for (int i = 0; i < GROUP; i++)
            sum += count[d * GROUP + (i + l) % GROUP];
        out[d * tiles] = sum;
    }
}

KERNEL(ROW_ATTRIBUTES, sort_scan, SORT_SCAN_BUFFERS, sort_scan)
{
    UNPACK(SORT_SCAN_NUMBERS)
    __local uint sums[GROUP];
    const long all = DIGITS * tiles;
    const int l = get_local_id(0);
    __global uint *count = (__global uint *)(counts + counts_at) + (long)get_group_id(0) * all;
    uint carry = 0, sum;
    for (long i = 0; i < all; i += GROUP) {
        const uint mine = i + l < all ? count[i + l] : 0, before = sum_before(mine, sums, &sum);
        if (i + l < all)
            count[i + l] = carry + before;
        carry += sum;
    }
}

KERNEL(ROW_ATTRIBUTES, sort_move, SORT_MOVE_BUFFERS, sort_move)
{
    UNPACK(SORT_MOVE_NUMBERS)
    __local uint count[COUNTERS], sums[GROUP], first[DIGITS], key_tile[TILE];
    __local int index_tile[TILE];
    TILE_OF_GROUP;
    __global const uint *begin = (__global const uint *)(counts + counts_at) + r * DIGITS * tiles + t;
    cbytes from = ix + ix_at + r * ne.s0 * 4;
    __global uint *key = (__global uint *)(keys + keys_at) + r * ne.s0;
    __global int *index = (__global int *)(indices + indices_at);
    uint all, sum = 0;
#if LAST
    index += (first_row + r) * k;
#else
    index += r * ne.s0;
#endif
    for (int d = 0; d < DIGITS; d++)
        count[d * GROUP + l] = 0;
    for (int c = l; c < n; c += GROUP) {
        key_tile[c] = KEY(in, c0 + c);
        index_tile[c] = INDEX(from, c0 + c);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    /* of this item's columns, which lie side by side, how many have each digit */
    const int mine = l * EACH_ITEM, end = min(mine + EACH_ITEM, n);
    for (int c = mine; c < end; c++)
        count[DIGIT(key_tile[c]) * GROUP + l]++;
    barrier(CLK_LOCAL_MEM_FENCE);
    /* then how many come before them in the tile: digit by digit, and item by item */
    for (int i = 0; i < DIGITS; i++)
        sum += count[l * DIGITS + i];
    sum = sum_before(sum, sums, &all);
    for (int i = 0; i < DIGITS; i++) {
        const uint here = count[l * DIGITS + i];
        count[l * DIGITS + i] = sum;
        sum += here;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = l; d < DIGITS; d += GROUP)
        first[d] = count[d * GROUP] - begin[d * tiles];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int c = mine; c < end; c++) {
        const uint v = key_tile[c], d = DIGIT(v), p = count[d * GROUP + l]++ - first[d];
#if LAST
        if (p < k)
            index[p] = index_tile[c];
#else
        key[p] = v;
        index[p] = index_tile[c];
#endif
    }
}

#endif
