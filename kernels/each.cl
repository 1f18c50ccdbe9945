/*
 * kernels/each.cl - a function of each element, or of each two; z is repeated along dimensions
 * of extent 1 (stride 0).  The function f is put before this text (plugins/opencl/ops/each.c).
 */
#include "row.clh"

#define EACH_ARGS                                                                                                      \
    cbytes x, ulong x_at, cbytes z, ulong z_at, gbytes y, ulong y_at, long4 ne, long4 xs, long4 zs, long4 ys, float p, \
        float q, int chunk, int rows_per

#if ANY
/* any strides along dimension 0, too */
#define AT(row, stride, c) *(fin)(row + (c) * stride.s0)
__kernel EACH_ATTRIBUTES void each(EACH_ARGS)
{
    EACH(cbytes a = x + x_at + row_at(r, ne, xs); cbytes b = z + z_at + row_at(r, ne, zs);
         fout o = (fout)(y + y_at + row_at(r, ne, ys)),
         for (int j = 0; j < 16; j++) o[c + j] = f_float(AT(a, xs, c + j), AT(b, zs, c + j), p, q),
         o[c] = f_float(AT(a, xs, c), AT(b, zs, c), p, q))
}
#elif ONE
/* z has one element a row */
__kernel EACH_ATTRIBUTES void each(EACH_ARGS)
{
    EACH(fin a = (fin)(x + x_at + row_at(r, ne, xs)); const float b = *(fin)(z + z_at + row_at(r, ne, zs));
         fout o = (fout)(y + y_at + row_at(r, ne, ys)),
         vstore16(f_float16(vload16(0, a + c), (float16)b, p, q), 0, o + c), o[c] = f_float(a[c], b, p, q))
}
#else
__kernel EACH_ATTRIBUTES void each(EACH_ARGS)
{
    EACH(fin a = (fin)(x + x_at + row_at(r, ne, xs)); fin b = (fin)(z + z_at + row_at(r, ne, zs));
         fout o = (fout)(y + y_at + row_at(r, ne, ys)),
         vstore16(f_float16(vload16(0, a + c), vload16(0, b + c), p, q), 0, o + c), o[c] = f_float(a[c], b[c], p, q))
}
#endif
