/*
 * kernels/mul_mat_id.cl - o[:,u,t] = transpose(a[:,:,ids[u,t]]) b[:, u or 0, t].
 *
 * The second dimension of the launch is the expert, or a pair where these are few (experts.clh): it gathers the tokens that
 * chose it, so that every weight is read once for all of them.  Experts
 * first .. first + count - 1 of n_expert are in this launch; the one with
 * first = 0 also zeroes what skipped ids leave.
 *
 * Few tokens on cards, and devices without groups of that size, have mul_mat_id_rows: its second dimension
 * is the pair (u, t), and weights are read once for each.
 */
#define LEAST_COLUMNS 1
#define MOST_COLUMNS 16 /* as plugins/opencl/ops/variants.c: more are worth a tile */
#include "mul_mat.clh"
#include "experts.clh"

#if VEC

KERNEL(GROUP_OF(1), mul_mat_id, EXPERTS_BUFFERS, mul_mat_id)
{
    UNPACK(MUL_MAT_ID_NUMBERS)
    const long row = (long)ITEM(0) * TILE_ROWS, pairs = u * t;
    if (row >= m)
        return;
    const uint rows = min((long)TILE_ROWS, m - row);
    ids += ids_at;
    b += b_at;
    o += o_at + row * 4;
    long from;
    const long e = expert_or_zeros(ITEM(1), ids, ids_nb, o, o_nb, u, pairs, first, count, n_expert, rows, &from);
    if (e < 0)
        return;
    a += a_at + e * a_nb.y + row * a_nb.x;
    ulong bo[TILE_COLS], oo[TILE_COLS];
    uint cols = 0;
    for (long p = from; p < pairs; p++) {
        if (id_of(ids, ids_nb, u, p) == first + e) {
            bo[cols] = OFFSET(p, b_nb);
            oo[cols++] = OFFSET(p, o_nb);
        }
        if (cols == TILE_COLS || (p == pairs - 1 && cols)) {
            if (cols > MOST_COLUMNS)
                tile(a, a_nb.x, rows, b, bo, o, oo, cols, k);
            else
                dot_rows(a, a_nb.x, rows, b, bo, o, oo, cols, k);
            cols = 0;
        }
    }
}

#elif !defined(TILES)

#include "experts_pairs.clh"

#else

#define LIST 512 /* tokens gathered */

KERNEL(GROUP_OF(GROUP), mul_mat_id, EXPERTS_BUFFERS, mul_mat_id)
{
    UNPACK(MUL_MAT_ID_NUMBERS)
    __local float4 both[TILE_LOCAL / 4];
    __local ulong bo[LIST], oo[LIST];
    __local uint found;
    EXPERT_TILE_BEGIN
    const long pairs = u * t;
    const uint id = get_local_id(0);
    b += b_at;
    a += a_at + e * a_nb.y + row * a_nb.x;
    /* Pairs are looked through GROUP at a time, until the lists might run over. */
    if (id == 0)
        found = 0;
    for (long p0 = 0; p0 < pairs; p0 += GROUP) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const long p = p0 + id;
        if (p < pairs && id_of(ids, ids_nb, u, p) == first + e) {
            const uint n = atomic_inc(&found);
            bo[n] = OFFSET(p, b_nb);
            oo[n] = OFFSET(p, o_nb);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint n = found;
        if (n <= LIST - GROUP && p0 + GROUP < pairs)
            continue;
        for (uint c = 0; c < n; c += TILE_N)
            tile(a, a_nb.x, rows, b, bo + c, o, oo + c, min((uint)TILE_N, n - c), 0, (k + 15) / 16, k, both);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (id == 0)
            found = 0;
    }
}

#endif
