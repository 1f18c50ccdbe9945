/* kernels/rebase.cl - indices seen from the begin of a range. */
#include "row.clh"

typedef __global const int *iin;
typedef __global int *iout;

/* i32: x - begin where begin <= x < end, else -1; of every period, if there is one */
static inline int local_index(int x, long begin, long end, long period)
{
    long before = 0;
    if (period) {
        if (x < 0)
            return -1;
        before = x / period * (end - begin);
        x %= period;
    }
    return x >= begin && x < end ? (int)(before + x - begin) : -1;
}

#define REBASE_NUMBERS(N)                                                                                              \
    N(ulong, x_at) N(ulong, y_at) N(long4, ne) N(long4, xs) N(long4, ys) N(long, begin) N(long, end) N(long, period)   \
    N(int, chunk) N(int, rows_per)
#define REBASE_BUFFERS(B) B(cbytes, x) B(gbytes, y)
NUMBERS(rebase, REBASE_NUMBERS);

KERNEL(EACH_ATTRIBUTES, rebase, REBASE_BUFFERS, rebase)
{
    UNPACK(REBASE_NUMBERS)
    EACH(iin a = (iin)(x + x_at + row_at(r, ne, xs)); iout o = (iout)(y + y_at + row_at(r, ne, ys)),
         for (int j = 0; j < 16; j++) o[c + j] = local_index(a[c + j], begin, end, period),
         o[c] = local_index(a[c], begin, end, period))
}
