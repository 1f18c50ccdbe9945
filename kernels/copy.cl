/*
 * kernels/copy.cl - moving rows of units of -DUNIT=uint (or ushort, uchar): concat,
 * repeat, pad.  Extents and strides of dimension 0 count units.
 */
#include "row.clh"
#include "stream.clh"

typedef __global const UNIT *uin;
typedef __global UNIT *uout;

#define COPY_NUMBERS(N)                                                                                                \
    N(ulong, x_at) N(ulong, y_at) N(long4, ne) N(long4, xs) N(long4, ys) N(int, chunk) N(int, rows_per)
#define COPY_BUFFERS(B) B(cbytes, x) B(gbytes, y)
NUMBERS(copy, COPY_NUMBERS);

KERNEL(EACH_ATTRIBUTES, copy, COPY_BUFFERS, copy)
{
    UNPACK(COPY_NUMBERS)
    EACH(uin a = (uin)(x + x_at + row_at(r, ne, xs)); uout o = (uout)(y + y_at + row_at(r, ne, ys)),
         STORE16(vload16(0, a + c), o + c), o[c] = a[c])
}

#define ZERO_NUMBERS(N) N(ulong, y_at) N(long4, ne) N(long4, ys) N(int, chunk) N(int, rows_per)
#define ZERO_BUFFERS(B) B(gbytes, y)
NUMBERS(zero, ZERO_NUMBERS);

KERNEL(EACH_ATTRIBUTES, zero, ZERO_BUFFERS, zero)
{
    UNPACK(ZERO_NUMBERS)
    EACH(uout o = (uout)(y + y_at + row_at(r, ne, ys)), for (int j = 0; j < 16; j++) o[c + j] = 0, o[c] = 0)
}

#define REPEAT_NUMBERS(N)                                                                                              \
    N(ulong, x_at) N(ulong, y_at) N(long4, ne) N(long4, first) N(long4, nx) N(long4, xs) N(long4, ys) N(int, chunk)    \
    N(int, rows_per)
#define REPEAT_BUFFERS(B) B(cbytes, x) B(gbytes, y)
NUMBERS(repeat, REPEAT_NUMBERS);

/* y[i] = x[(first + i) mod nx], dimension by dimension */
KERNEL(EACH_ATTRIBUTES, repeat, REPEAT_BUFFERS, repeat)
{
    UNPACK(REPEAT_NUMBERS)
    EACH(const long q = r / ne.s1; const long i1 = (first.s1 + r - q * ne.s1) % nx.s1;
         const long i2 = (first.s2 + q % ne.s2) % nx.s2; const long i3 = (first.s3 + q / ne.s2) % nx.s3;
         uin a = (uin)(x + x_at + i1 * xs.s1 + i2 * xs.s2 + i3 * xs.s3); uout o = (uout)(y + y_at + row_at(r, ne, ys)),
         for (int j = 0; j < 16; j++) o[c + j] = a[(c + j) % nx.s0], o[c] = a[c % nx.s0])
}
