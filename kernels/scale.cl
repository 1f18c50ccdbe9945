/* kernels/scale.cl - s * x + b. */
#include "row.clh"

__kernel EACH_ATTRIBUTES void scale(cbytes x, ulong x_at, gbytes y, ulong y_at, long4 ne, long4 xs, long4 ys, float s,
                                    float b, int chunk, int rows_per)
{
    EACH(fin a = (fin)(x + x_at + row_at(r, ne, xs)); fout o = (fout)(y + y_at + row_at(r, ne, ys)),
         vstore16(vload16(0, a + c) * s + b, 0, o + c), o[c] = a[c] * s + b)
}
