/* kernels/unary.cl - unary (-DKIND=silu ...), scale, glu, rebase. */
#include "row.clh"

#ifdef KIND
#include "activation.clh"

__kernel EACH_ATTRIBUTES void unary(cbytes x, ulong x_at, gbytes y, ulong y_at, long4 ne, long4 xs, long4 ys, int chunk,
                                    int rows_per)
{
    EACH(fin a = (fin)(x + x_at + row_at(r, ne, xs)); fout o = (fout)(y + y_at + row_at(r, ne, ys)),
         vstore16(F16(vload16(0, a + c)), 0, o + c), o[c] = F1(a[c]))
}

__kernel EACH_ATTRIBUTES void glu(cbytes x, ulong x_at, cbytes z, ulong z_at, gbytes y, ulong y_at, long4 ne, long4 xs,
                                  long4 zs, long4 ys, int chunk, int rows_per)
{
    EACH(fin a = (fin)(x + x_at + row_at(r, ne, xs)); fin b = (fin)(z + z_at + row_at(r, ne, zs));
         fout o = (fout)(y + y_at + row_at(r, ne, ys)),
         vstore16(F16(vload16(0, a + c)) * vload16(0, b + c), 0, o + c), o[c] = F1(a[c]) * b[c])
}
#endif

#ifdef OAI
#define KIND sigmoid
#include "activation.clh"

__kernel EACH_ATTRIBUTES void glu_oai(cbytes x, ulong x_at, cbytes z, ulong z_at, gbytes y, ulong y_at, long4 ne,
                                      long4 xs, long4 zs, long4 ys, float alpha, float limit, int chunk, int rows_per)
{
    EACH(fin a = (fin)(x + x_at + row_at(r, ne, xs)); fin b = (fin)(z + z_at + row_at(r, ne, zs));
         fout o = (fout)(y + y_at + row_at(r, ne, ys)),
         float16 u = fmin(vload16(0, a + c), limit); float16 v = fmin(fmax(vload16(0, b + c), -limit), limit);
         vstore16(gated_float16(u, F16(alpha * u)) * (v + 1.0f), 0, o + c),
         float u = fmin(a[c], limit); float v = fmin(fmax(b[c], -limit), limit);
         o[c] = gated_float(u, F1(alpha * u)) * (v + 1.0f))
}
#endif

#ifdef SCALE
__kernel EACH_ATTRIBUTES void scale(cbytes x, ulong x_at, gbytes y, ulong y_at, long4 ne, long4 xs, long4 ys, float s,
                                    float b, int chunk, int rows_per)
{
    EACH(fin a = (fin)(x + x_at + row_at(r, ne, xs)); fout o = (fout)(y + y_at + row_at(r, ne, ys)),
         vstore16(vload16(0, a + c) * s + b, 0, o + c), o[c] = a[c] * s + b)
}
#endif

#ifdef REBASE
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
#endif
