/*
 * kernels/mul_mat_id_halves.cl - mul_mat_id (see mul_mat_id.cl) of many tokens by a matrix unit: columns, and weights of those
 * experts that any token chose, are packed as 16-bit numbers first (halves.clh); but blocks for exact tiles are not.
 */
#include "halves.clh"
#include "experts_list.clh"

/* Rows of experts that have pairs, PACKED_ROWS a group; a is the first expert, number `from` of the list. */
#define EXPERTS_PACK_BUFFERS(B) B(cbytes, a) B(cbytes, list) B(gbytes, w)
#define EXPERTS_PACK_NUMBERS(N)                                                                                        \
    N(ulong, a_at) N(ulong, list_at) N(ulong, w_at) N(long, k) N(long, m) N(long, count) N(long, from) N(long4, a_nb)
NUMBERS(experts_pack, EXPERTS_PACK_NUMBERS);
KERNEL(GROUP_OF(GROUP), experts_weights, EXPERTS_PACK_BUFFERS, experts_pack)
{
    UNPACK(EXPERTS_PACK_NUMBERS)
    const long row = ITEM(1) * PACKED_ROWS, e = ITEM(2);
    if (row >= m || e >= count || COUNT_OF((__global const int *)(list + list_at), from + e) == 0)
        return;
    pack_weights(ROW_A(a + a_at + e * a_nb.y, row, a_nb.x), min((long)PACKED_ROWS, m - row),
                 w + w_at + (e * m + row) * PACKED_BYTES(k), PACKED_BYTES(k), k);
}

#define HALVES_BUFFERS(B) EXPERTS_BUFFERS(B) B(gbytes, list) B(cbytes, w) B(cbytes, x)
#define HALVES_NUMBERS(N)                                                                                              \
    MUL_MAT_ID_NUMBERS(N) N(ulong, list_at) N(ulong, w_at) N(ulong, x_at) N(long, all) N(long, from) N(long, w_row)    \
    N(long, w_expert) N(long, scales)
NUMBERS(halves, HALVES_NUMBERS);
KERNEL(GROUP_OF(GROUP) WAVE_OF_KERNEL, mul_mat_id, HALVES_BUFFERS, halves)
{
    UNPACK(HALVES_NUMBERS)
    __local uint4 stages[TILE_LOCAL];
    EXPERT_TILE_BEGIN
    __global const int *words = (__global const int *)(list + list_at);
    __global const int *pairs = PAIRS_OF(words, from + e), *columns = COLUMNS_OF_PAIRS(words, from + e);
    const uint n = COUNT_OF(words, from + e);
    w += w_at + e * w_expert + row * w_row;
    x += x_at;
    for (uint col = 0; col < n; col += TILE_N) {
        sums16 s[FRAGMENTS_N][FRAGMENTS_M];
        const uint cols = min((uint)TILE_N, n - col);
        tile(w, w_row, rows, x, COLUMN_BYTES(k), columns + col, cols, 0, (k + TILE_K - 1) / TILE_K, k, stages, s);
#if F16
#define SCALE(c) ((__global const float *)(x + scales))[columns[col + (c)]]
#else
#define SCALE(c) 1.0f
#endif
#define COLUMN(c) (__global float *)(o + RESULT_OF(pairs[col + (c)]))
        PUT_SUMS(COLUMN, SCALE)
        barrier(CLK_LOCAL_MEM_FENCE); /* stages are free again */
    }
}
