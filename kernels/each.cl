/*
 * kernels/each.cl - a function of each element, or of each two; z is repeated along dimensions
 * of extent 1 (stride 0).  The function f is put before this text (plugins/opencl/ops/each.c).
 */
#include "row.clh"
#include "stream.clh"

#define EACH_NUMBERS(N)                                                                                                \
    N(ulong, x_at) N(ulong, z_at) N(ulong, y_at) N(long4, ne) N(long4, xs) N(long4, zs) N(long4, ys) N(float, p)       \
    N(float, q) N(int, chunk) N(int, rows_per)
#define EACH_BUFFERS(B) B(cbytes, x) B(cbytes, z) B(gbytes, y)
NUMBERS(each, EACH_NUMBERS);
#define ASK(p) AHEAD((p) + 512) /* streams of the hardware end with a page */

#if ANY
/* any strides along dimension 0, too */
#define AT(row, stride, c) *(fin)(row + (c) * stride.s0)
KERNEL(EACH_ATTRIBUTES, each, EACH_BUFFERS, each)
{
    UNPACK(EACH_NUMBERS)
    EACH(cbytes a = x + x_at + row_at(r, ne, xs); cbytes b = z + z_at + row_at(r, ne, zs);
         fout o = (fout)(y + y_at + row_at(r, ne, ys)),
         for (int j = 0; j < 16; j++) o[c + j] = f_float(AT(a, xs, c + j), AT(b, zs, c + j), p, q),
         o[c] = f_float(AT(a, xs, c), AT(b, zs, c), p, q))
}
#elif ONE
/* z has one element a row */
KERNEL(EACH_ATTRIBUTES, each, EACH_BUFFERS, each)
{
    UNPACK(EACH_NUMBERS)
    EACH(fin a = (fin)(x + x_at + row_at(r, ne, xs)); const float b = *(fin)(z + z_at + row_at(r, ne, zs));
         fout o = (fout)(y + y_at + row_at(r, ne, ys)),
         ASK(a + c); STORE16(f_float16(vload16(0, a + c), (float16)b, p, q), o + c), o[c] = f_float(a[c], b, p, q))
}
#else
KERNEL(EACH_ATTRIBUTES, each, EACH_BUFFERS, each)
{
    UNPACK(EACH_NUMBERS)
    EACH(fin a = (fin)(x + x_at + row_at(r, ne, xs)); fin b = (fin)(z + z_at + row_at(r, ne, zs));
         fout o = (fout)(y + y_at + row_at(r, ne, ys)),
         ASK(a + c); ASK(b + c); STORE16(f_float16(vload16(0, a + c), vload16(0, b + c), p, q), o + c), o[c] = f_float(a[c], b[c], p, q))
}
#endif
