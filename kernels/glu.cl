/* kernels/glu.cl - f(a) * b: -DKIND=silu ..., or -DOAI. */
#include "row.clh"

#ifdef KIND
#include "activation.clh"

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
