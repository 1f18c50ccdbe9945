/* kernels/cumsum.cl - sums of the elements up to each one, along the rows. */
#include "row.clh"

#define CUMSUM_NUMBERS(N) N(ulong, x_at) N(ulong, y_at) N(long4, ne) N(long4, xs) N(long4, ys) N(int, rows_per)
#define CUMSUM_BUFFERS(B) B(cbytes, x) B(gbytes, y)
NUMBERS(cumsum, CUMSUM_NUMBERS);

KERNEL(ROW_ATTRIBUTES, cumsum, CUMSUM_BUFFERS, cumsum)
{
    UNPACK(CUMSUM_NUMBERS)
    const long rows = ne.s1 * ne.s2 * ne.s3, n = ne.s0;
#if VEC
    const long r0 = (long)ITEM(0) * rows_per, r1 = min(r0 + rows_per, rows);
    for (long r = r0; r < r1; r++) {
        fin in = (fin)(x + x_at + row_at(r, ne, xs));
        fout out = (fout)(y + y_at + row_at(r, ne, ys));
        float sum = 0.0f, lost = 0.0f; /* what the sum's rounding has dropped (Kahan) */
        for (long c = 0; c < n; c++) {
            const float add = in[c] - lost, more = sum + add;
            lost = isfinite(more) ? (more - sum) - add : 0.0f;
            sum = more;
            out[c] = sum;
        }
    }
#else
    /* a group at a time: each work-item's sum of those before it, doubling the distance */
    __local float t[2][GROUP];
    const long r = get_group_id(0);
    const int l = get_local_id(0);
    fin in = (fin)(x + x_at + row_at(r, ne, xs));
    fout out = (fout)(y + y_at + row_at(r, ne, ys));
    float before = 0.0f;
    for (long c0 = 0; c0 < n; c0 += GROUP) {
        int now = 0;
        t[0][l] = c0 + l < n ? in[c0 + l] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int d = 1; d < GROUP; d *= 2) {
            t[1 - now][l] = l >= d ? t[now][l] + t[now][l - d] : t[now][l];
            now = 1 - now;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (c0 + l < n)
            out[c0 + l] = before + t[now][l];
        before += t[now][GROUP - 1];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#endif
}
