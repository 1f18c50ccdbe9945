/*
 * kernels/mul_mat_id_planes.cl - mul_mat_id (see mul_mat_id.cl) of weights in lanes, on processors (planes.clh).  Columns are
 * packed by a launch of their own, to x: those of all tokens at the first place, then those at the second.
 */
#include "planes.clh"
#include "products.clh"
#include "experts.clh"

#define EXPERT_ROWS 32 /* of a work-item, as plugins/opencl/ops/variants.c has it */

KERNEL(GROUP_OF(1), mul_mat_pack, PACK_BUFFERS, pack)
{
    UNPACK(PACK_NUMBERS)
    ROW_INDEX(ITEM(2), ext);
    const packed_columns x = {o + o_at, n * ext.x, k / GROUP};
    pack_columns(b + b_at + along(i, b_nb), b_col, n, k, (ulong2)(ITEM(0), ITEM(1)), &x, i.x * n);
}

#define PLANES_BUFFERS(B) EXPERTS_BUFFERS(B) B(cbytes, x)
#define PLANES_NUMBERS(N) MUL_MAT_ID_NUMBERS(N) N(ulong, x_at) N(long, places)
NUMBERS(planes, PLANES_NUMBERS);
KERNEL(GROUP_OF(1), mul_mat_id, PLANES_BUFFERS, planes)
{
    UNPACK(PLANES_NUMBERS)
    const long row = (long)ITEM(0) * EXPERT_ROWS, pairs = u * t;
    if (row >= m)
        return;
    const uint rows = min((long)EXPERT_ROWS, m - row);
    const packed_columns all = {x + x_at, places * t, k / GROUP};
    ids += ids_at;
    b += b_at;
    o += o_at + row * 4;
    long from;
    const long e = expert_or_zeros(ITEM(1), ids, ids_nb, o, o_nb, u, pairs, first, count, n_expert, rows, &from);
    if (e < 0)
        return;
    a += a_at + e * a_nb.y + row * a_nb.x;
    uint at[MOST_COLS], cols = 0;
    ulong bo[MOST_COLS], oo[MOST_COLS];
    for (long p = from; p < pairs; p++) {
        if (id_of(ids, ids_nb, u, p) == first + e) {
            at[cols] = (places == 1 ? 0 : p % u * t) + p / u;
            bo[cols] = OFFSET(p, b_nb);
            oo[cols++] = OFFSET(p, o_nb);
        }
        if (cols == MOST_COLS || (p == pairs - 1 && cols)) {
#ifdef DIRECT
            for (uint c = 0; c < cols; c++)
                rows_times(a, a_nb.x, rows, &all, at[c], b + bo[c], 0, o + oo[c], 0, 1, k);
#else
            rows_times(a, a_nb.x, rows, &all, at, b, bo, o, oo, cols, k);
#endif
            cols = 0;
        }
    }
}
