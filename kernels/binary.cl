/*
 * kernels/binary.cl - add, sub, mul, div (-DOP=+ ...); b repeated along dimensions
 * of extent 1 (stride 0).
 */
#include "row.clh"

#if ANY
/* any strides along dimension 0, too */
__kernel EACH_ATTRIBUTES void binary(cbytes x, ulong x_at, cbytes z, ulong z_at, gbytes y, ulong y_at, long4 ne,
                                     long4 xs, long4 zs, long4 ys, int chunk, int rows_per)
{
    EACH(cbytes a = x + x_at + row_at(r, ne, xs); cbytes b = z + z_at + row_at(r, ne, zs);
         fout o = (fout)(y + y_at + row_at(r, ne, ys)),
         for (int j = 0; j < 16; j++) o[c + j] = *(fin)(a + (c + j) * xs.s0) OP *(fin)(b + (c + j) * zs.s0),
         o[c] = *(fin)(a + c * xs.s0) OP *(fin)(b + c * zs.s0))
}
#elif ONE
/* b has one element a row */
__kernel EACH_ATTRIBUTES void binary(cbytes x, ulong x_at, cbytes z, ulong z_at, gbytes y, ulong y_at, long4 ne,
                                     long4 xs, long4 zs, long4 ys, int chunk, int rows_per)
{
    EACH(fin a = (fin)(x + x_at + row_at(r, ne, xs)); const float b = *(fin)(z + z_at + row_at(r, ne, zs));
         fout o = (fout)(y + y_at + row_at(r, ne, ys)),
         vstore16(vload16(0, a + c) OP b, 0, o + c), o[c] = a[c] OP b)
}
#else
__kernel EACH_ATTRIBUTES void binary(cbytes x, ulong x_at, cbytes z, ulong z_at, gbytes y, ulong y_at, long4 ne,
                                     long4 xs, long4 zs, long4 ys, int chunk, int rows_per)
{
    EACH(fin a = (fin)(x + x_at + row_at(r, ne, xs)); fin b = (fin)(z + z_at + row_at(r, ne, zs));
         fout o = (fout)(y + y_at + row_at(r, ne, ys)),
         vstore16(vload16(0, a + c) OP vload16(0, b + c), 0, o + c), o[c] = a[c] OP b[c])
}
#endif
