/*
 * kernels/roof.cl - nothing but reads, a copy, or multiplications and additions: what ops are compared with.
 * -DCHAINS=: independent sums, which differ by device as its registers do.
 */
#include "stream.clh"
#if DOT4
#include "dot4.clh"
#include "types.clh"
#endif

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

/*
 * Products of bytes that are added to sums of 32 bits.  What is multiplied comes from the sums, so that no product can be
 * made before the loop.  -DDOT: by the dot product of four bytes that the device says it has, or -DDOT4 (dot4.clh); else
 * bytes are widened by shifts, to 16 bits (vec) or 32.
 */
#if DOT4 && VEC
typedef dot4_sums sums;
#define SUM(s) sum16(DOT4_FLOATS(s))
#elif VEC && !DOT
typedef int8 sums;
#define SUM(s) ((s).s0 + (s).s1 + (s).s2 + (s).s3 + (s).s4 + (s).s5 + (s).s6 + (s).s7)
#else
typedef int sums;
#define SUM(s) (s)
#endif

static inline sums add_products(sums s, sums with)
{
#if DOT4 && VEC
    const int word[1] = {0x35075b03};
    ADD_DOT4(s, s, word);
    return s;
#elif DOT4
    return add_dot4(s, s, with);
#elif DOT
    return s + dot(as_char4(s), as_char4(with));
#elif VEC
    const short16 x = as_short16(s), y = as_short16(with), byte = 8; /* two products of codes up to 127 fit 16 bits */
    const int8 pairs = as_int8((x << byte >> byte) * (y << byte >> byte) + (x >> byte) * (y >> byte));
    return s + ((pairs << 16 >> 16) + (pairs >> 16));
#else
    const int a = (s << 24 >> 24) * (with << 24 >> 24), b = (s << 16 >> 24) * (with << 16 >> 24);
    return s + ((a + b) + ((s << 8 >> 24) * (with << 8 >> 24) + (s >> 24) * (with >> 24)));
#endif
}

__kernel ATTRIBUTES void int8_all(fout sum, ulong rounds, float half_, float one)
{
    const sums with = (sums)(as_int(one) >> 20 ^ as_int(half_) >> 24 ^ 0x35075b03); /* four bytes, none of them 0 */
    sums s[CHAINS];
    UNROLL for (uint j = 0; j < CHAINS; j++)
        s[j] = with + (sums)(int)j;
    for (ulong i = 0; i < rounds; i++)
        UNROLL for (uint j = 0; j < CHAINS; j++)
            s[j] = add_products(s[j], with);
    UNROLL for (uint j = 1; j < CHAINS; j++)
        s[0] += s[j];
    sum[get_global_id(0)] = (float)SUM(s[0]);
}

#if MATRIX
#define GROUP 256
#include "fragments.clh"

/* A matrix unit; -DMATRIX: as in fragments.clh.  `rounds` are of 128 operations a work-item. */
__kernel ATTRIBUTES WAVE_OF_KERNEL void matrix_all(fout sum, ulong rounds, float half_, float one)
{
    __local uint exchange[MATRIX_SCRATCH];
    const uint pair = bfloat_pair(half_, one);
    const rows16 x = pair;
    columns16 y;
    sums16 s[CHAINS];
    float all = 0.0f;
    UNROLL for (uint j = 0; j < sizeof y / 4; j++)
        ((uint *)&y)[j] = pair;
    UNROLL for (uint j = 0; j < CHAINS; j++)
        s[j].part[0] = (float)j;
    for (ulong i = 0; i < rounds; i += LANE_OPERATIONS / 128)
        UNROLL for (uint j = 0; j < CHAINS; j++)
            MULTIPLY_PART(s[j], x, y, 0);
    UNROLL for (uint j = 0; j < CHAINS; j++)
        UNROLL for (uint c = 0; c < PART_COLUMNS; c++)
            UNROLL for (uint i = 0; i < SUM_ROWS; i++)
                all += SUM_OF(s[j], 0, c, i);
    sum[get_global_id(0)] = all;
}
#endif

#if TILES_UNIT
#include "tiles.clh"

/* A processor's: products of tiles, of 16384 operations. */
__kernel ATTRIBUTES void matrix_all(fout sum, ulong rounds, float half_, float one)
{
    float line[16 * UNIT_COLS];
    for (uint i = 0; i < 16 * UNIT_COLS; i++)
        line[i] = i % 2 ? half_ : one;
    TILES(UNIT_BYTES);
    tiles_begin(UNIT_BYTES);
    TILE_ZERO(0);
    TILE_LOAD(4, line, UNIT_BYTES);
    TILE_LOAD(5, line, UNIT_BYTES);
    for (ulong i = 0; i < rounds; i++)
        UNROLL for (uint j = 0; j < CHAINS; j++)
            TILE_BF16(0, 4, 5);
    TILE_STORE(0, line, UNIT_BYTES);
    tiles_end();
    sum[get_global_id(0)] = line[0];
}
#endif
