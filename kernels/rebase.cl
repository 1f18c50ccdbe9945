/* kernels/rebase.cl - indices seen from the begin of a range. */
#include "row.clh"

typedef __global const int *iin;
typedef __global int *iout;

/* i32: x - begin where begin <= x < end, else -1 */
__kernel EACH_ATTRIBUTES void rebase(cbytes x, ulong x_at, gbytes y, ulong y_at, long4 ne, long4 xs, long4 ys,
                                     long begin, long end, int chunk, int rows_per)
{
    EACH(iin a = (iin)(x + x_at + row_at(r, ne, xs)); iout o = (iout)(y + y_at + row_at(r, ne, ys)),
         for (int j = 0; j < 16; j++) o[c + j] = a[c + j] >= begin && a[c + j] < end ? (int)(a[c + j] - begin) : -1,
         o[c] = a[c] >= begin && a[c] < end ? (int)(a[c] - begin) : -1)
}
