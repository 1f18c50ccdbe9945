/*
 * kernels/roof.cl - nothing but reads, a copy, or multiplications and additions: what ops are compared with.
 * -DCHAINS=: independent sums of `fma`, which differ by device as its registers do.
 */
#include "stream.clh"

typedef __global const float *fin;
typedef __global float *fout;

#define UNROLL _Pragma("unroll")
#ifndef CHAINS
#define CHAINS 8
#endif

#if VEC
#define ATTRIBUTES __attribute__((reqd_work_group_size(1, 1, 1)))
typedef float16 vector;
#else
#define ATTRIBUTES __attribute__((reqd_work_group_size(256, 1, 1)))
typedef float4 vector;
#endif

static inline float sum_of(vector v)
{
#if VEC
    const float8 a = v.lo + v.hi;
    const float4 b = a.lo + a.hi;
#else
    const float4 b = v;
#endif
    return (b.x + b.y) + (b.z + b.w);
}

/* Work-item i of the vec family has `each` vectors of its own; of simt neighbours read neighbours. */
__kernel ATTRIBUTES void read_all(fin x, fout sum, ulong vectors, ulong each)
{
    vector s[4];
    UNROLL for (uint j = 0; j < 4; j++)
        s[j] = 0.0f;
#if VEC
    const ulong quarter = each / 4;
    fin a = x + get_global_id(0) * each * 16;
    for (ulong i = 0; i < quarter; i++)
        UNROLL for (uint j = 0; j < 4; j++)
            s[j] += vload16(i + j * quarter, a);
#else
    const ulong n = get_global_size(0);
    for (ulong i = get_global_id(0); i + 3 * n < vectors; i += 4 * n)
        UNROLL for (uint j = 0; j < 4; j++)
            s[j] += vload4(i + j * n, x);
#endif
    sum[get_global_id(0)] = sum_of((s[0] + s[1]) + (s[2] + s[3]));
}

__kernel ATTRIBUTES void copy_all(fin x, fout y, ulong vectors, ulong each)
{
#if VEC
    const ulong first = get_global_id(0) * each;
    for (ulong i = first; i < first + each; i++)
        STREAM16(vload16(i, x), y + 16 * i);
#else
    for (ulong i = get_global_id(0); i < vectors; i += get_global_size(0))
        vstore4(vload4(i, x), i, y);
#endif
}

__kernel ATTRIBUTES void fma_all(fout sum, ulong rounds, float half_, float one)
{
    vector s[CHAINS];
    UNROLL for (uint j = 0; j < CHAINS; j++)
        s[j] = (float)j;
    for (ulong i = 0; i < rounds; i++)
        UNROLL for (uint j = 0; j < CHAINS; j++)
            s[j] = fma(s[j], (vector)half_, (vector)one);
    UNROLL for (uint j = 1; j < CHAINS; j++)
        s[0] += s[j];
    sum[get_global_id(0)] = sum_of(s[0]);
}
