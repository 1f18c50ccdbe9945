/* kernels/unary.cl - a function of each element: -DKIND=silu ... */
#include "row.clh"
#include "activation.clh"

__kernel EACH_ATTRIBUTES void unary(cbytes x, ulong x_at, gbytes y, ulong y_at, long4 ne, long4 xs, long4 ys, int chunk,
                                    int rows_per)
{
    EACH(fin a = (fin)(x + x_at + row_at(r, ne, xs)); fout o = (fout)(y + y_at + row_at(r, ne, ys)),
         vstore16(F16(vload16(0, a + c)), 0, o + c), o[c] = F1(a[c]))
}
