/* kernels/sum_rows.cl - the sum of each row; y has extent 1 along dimension 0. */
#include "row.clh"

#define SUM_ROWS_NUMBERS(N) N(ulong, x_at) N(ulong, y_at) N(long4, ne) N(long4, xs) N(long4, ys) N(int, rows_per)
#define SUM_ROWS_BUFFERS(B) B(cbytes, x) B(gbytes, y)
NUMBERS(sum_rows, SUM_ROWS_NUMBERS);

KERNEL(ROW_ATTRIBUTES, sum_rows, SUM_ROWS_BUFFERS, sum_rows)
{
    UNPACK(SUM_ROWS_NUMBERS)
    const long rows = ne.s1 * ne.s2 * ne.s3, n = ne.s0;
#if VEC
    const long r0 = (long)ITEM(0) * rows_per, r1 = min(r0 + rows_per, rows);
    for (long r = r0; r < r1; r++) {
        fin in = (fin)(x + x_at + row_at(r, ne, xs));
        float16 s0 = 0.0f, s1 = 0.0f;
        float tail = 0.0f;
        long c = 0;
        for (; c + 32 <= n; c += 32) {
            s0 += vload16(0, in + c);
            s1 += vload16(0, in + c + 16);
        }
        for (; c + 16 <= n; c += 16)
            s0 += vload16(0, in + c);
        for (; c < n; c++)
            tail += in[c];
        *(fout)(y + y_at + row_at(r, ne, ys)) = sum_of(s0 + s1) + tail;
    }
#else
    __local float t[GROUP];
    const long r = get_group_id(0);
    fin in = (fin)(x + x_at + row_at(r, ne, xs));
    float s = 0.0f;
    for (long c = get_local_id(0); c < n; c += GROUP)
        s += in[c];
    s = group_sum(s, t);
    if (get_local_id(0) == 0)
        *(fout)(y + y_at + row_at(r, ne, ys)) = s;
#endif
}
