/*
 * kernels/cpy.cl - conversions between types: quantize, dequantize, cpy, store.
 *
 * Dimension 0 of the launch runs over pieces of a row, dimension 1 over the
 * rows, which are numbered along ne[]; x_nb and y_nb are their strides.
 *
 * -DXT= -DYT=  types by name         -DPER=  blocks of 32 or 256 (or units) an item
 *
 * On cards CONVERT has one dimension, of all rows' units of 32 elements.  A group brings LOCAL of them to local memory
 * and back from there, so that lanes side by side load and store side by side, 16 bytes at a time where floats that lie
 * aligned become blocks; -DYB= bytes of a block of y, 0: none.  FLAT, from rows of floats to rows of other floats, needs
 * no local memory: a work-item does FOURS times 4 elements.
 */
#if defined(CONVERT) && !VEC && YB
#define ENCODE_LOCAL
#endif
#define DECODED XT
#include "blocks.clh"
#ifdef GROUPED
#include "encode_256.clh"
#else
#include "encode.clh"
#endif
#include "index.clh"

#define FLOATS_f32 1 /* and no other type */
#define BUFFERS(B) B(cbytes, x) B(gbytes, y)
#define CPY_NUMBERS(N)                                                                                                 \
    N(ulong, x_at) N(ulong, y_at) N(long, n) N(long, x_step) N(long, y_step) N(long4, ne) N(long4, x_nb)               \
    N(long4, y_nb)
NUMBERS(cpy, CPY_NUMBERS);
#define CPY_ANY_NUMBERS(N) CPY_NUMBERS(N) N(int, x_type) N(int, y_type)
NUMBERS(cpy_any, CPY_ANY_NUMBERS);

#define BEGIN                                                                                                          \
    const ulong first = (ulong)ITEM(0) * PER;                                                                          \
    ROW_INDEX(ITEM(1), ne);                                                                                            \
    x += x_at + along(i, x_nb);                                                                                        \
    y += y_at + along(i, y_nb)

#ifdef GROUPED

/* To blocks of 256.  XT: x's type, ANY: any block type, by number; STRIDED_X: single floats that many bytes apart. */
#ifdef ANY
#define GROUPED_KERNEL KERNEL(GROUP_OF(LOCAL), cpy_grouped, BUFFERS, cpy_any)
#define GROUPED_NUMBERS CPY_ANY_NUMBERS
#define SIXTEEN(g) (16 * (g) < (ulong)n ? dec16_any(x_type, x, g) : (float16)0.0f)
#else
#define GROUPED_KERNEL KERNEL(GROUP_OF(LOCAL), cpy_grouped, BUFFERS, cpy)
#define GROUPED_NUMBERS CPY_NUMBERS
#ifdef STRIDED_X
static inline float16 strided16(cbytes x, ulong g, ulong n, long x_step)
{
    float t[16];
    WHOLE for (uint j = 0; j < 16; j++)
        t[j] = 16 * g + j < n ? PASTE(dec1_, XT)(x + (16 * g + j) * x_step, 0) : 0.0f;
    return vload16(0, t);
}
#define SIXTEEN(g) strided16(x, g, n, x_step)
#else
#define SIXTEEN(g) LD16(XT)(x, g, n)
#endif
#endif

GROUPED_KERNEL
{
    UNPACK(GROUPED_NUMBERS)
    BEGIN;
    K_BLOCKS(y, first, PER, n, SIXTEEN);
}

#elif defined(FLAT)

#define ONE_f32 float
#define ONE_f16 ushort
#define ONE_bf16 ushort
#define FOUR_f32 float4
#define FOUR_f16 ushort4
#define FOUR_bf16 ushort4
#define get_f32(v) (v)
#define get_f16(v) half_of(v)
#define get_bf16(v) as_float((uint)(v) << 16)
#define put_f32(v) (v)
#define put_f16(v) half_bits(v)
#define put_bf16(v) bfloat_bits(v)
#define ONE(t) PASTE(ONE_, t)
#define FOUR(t) PASTE(FOUR_, t)
#define AS_Y(v) PASTE(put_, YT)(PASTE(get_, XT)(v))
#ifndef FOURS
#define FOURS 8
#endif

KERNEL(GROUP_OF(LOCAL), cpy_flat, BUFFERS, cpy)
{
    UNPACK(CPY_NUMBERS)
    ROW_INDEX(ITEM(1), ne);
    __global const ONE(XT) *from = (__global const ONE(XT) *)(x + x_at + along(i, x_nb));
    __global ONE(YT) *to = (__global ONE(YT) *)(y + y_at + along(i, y_nb));
    const ulong first = 4 * ((ulong)GROUP_ITEM(0) * LOCAL * FOURS + get_local_id(0));
    if ((ulong)from % sizeof(FOUR(XT)) == 0 && (ulong)to % sizeof(FOUR(YT)) == 0 &&
        first + 4 * LOCAL * (FOURS - 1) + 4 <= n) {
        FOUR(XT) v[FOURS];
        UNROLL for (uint j = 0; j < FOURS; j++) v[j] = *(__global const FOUR(XT) *)(from + first + 4 * LOCAL * j);
        UNROLL for (uint j = 0; j < FOURS; j++) *(__global FOUR(YT) *)(to + first + 4 * LOCAL * j) =
            (FOUR(YT))(AS_Y(v[j].x), AS_Y(v[j].y), AS_Y(v[j].z), AS_Y(v[j].w));
        return;
    }
    for (uint j = 0; j < FOURS; j++)
        for (ulong c = first + 4 * LOCAL * j, e = c; e < n && e < c + 4; e++)
            to[e] = AS_Y(from[e]);
}

#elif defined(CONVERT) && !VEC

#define UNIT_PITCH 36 /* eight lanes that read 16 bytes each of their units meet in no bank */
static inline void put1_f32(gbytes p, float v)
{
    *(__global float *)p = v;
}

static inline void put1_f16(gbytes p, float v)
{
    *(__global ushort *)p = half_bits(v);
}

static inline void put1_bf16(gbytes p, float v)
{
    *(__global ushort *)p = bfloat_bits(v);
}

/* Can a group's units be whole ones, side by side, whose bytes are a multiple of 16? */
#define WHOLE_GROUPS (YB && PASTE(FLOATS_, XT) && LOCAL * YB % 16 == 0)

KERNEL(GROUP_OF(LOCAL), cpy_convert, BUFFERS, cpy)
{
    UNPACK(CPY_NUMBERS)
    __local float4 v4[LOCAL * UNIT_PITCH / 4];
    __local float *v = (__local float *)v4;
    __local ulong from[LOCAL], to[LOCAL];
    __local uint count[LOCAL];
    const uint id = get_local_id(0);
    const ulong per_row = (n + 31) / 32, unit = ITEM(0), b = unit % per_row;
    const long4 i = row_index(unit / per_row, ne);
    const uint mine = i.w < ne.w ? min(32UL, n - 32 * b) : 0;
    count[id] = mine;
    from[id] = x_at + along(i, x_nb) + 32 * b * x_step;
    to[id] = y_at + along(i, y_nb) + (YB ? b * YB : 32 * b * y_step);
    barrier(CLK_LOCAL_MEM_FENCE);
#if WHOLE_GROUPS
    const ulong ahead = (ulong)GROUP_ITEM(0) * LOCAL % per_row; /* units of the row before this group's */
    const bool whole = ahead + LOCAL <= n / 32 && x_step == 4 && (((ulong)x + from[0]) & 15) == 0 &&
                       (((ulong)y + to[0]) & 15) == 0;
#endif
#ifdef X_BLOCKS
    if (mine)
        UNROLL for (uint j = 0; j < 2; j++)
        {
            const float16 t = DEC16(XT)(x + x_at + along(i, x_nb), 2 * b + j);
            __local float4 *own = v4 + id * (UNIT_PITCH / 4) + 4 * j;
            own[0] = t.s0123;
            own[1] = t.s4567;
            own[2] = t.s89ab;
            own[3] = t.scdef;
        }
#else
#if WHOLE_GROUPS
    if (whole)
        UNROLL for (uint j = 0; j < 8; j++)
        {
            const uint at = j * LOCAL + id;
            v4[at / 8 * (UNIT_PITCH / 4) + at % 8] = ((__global const float4 *)(x + from[0]))[at];
        }
    else
#endif
    for (uint j = id; j < 32 * LOCAL; j += LOCAL) {
        const uint u = j / 32, e = j % 32;
        v[u * UNIT_PITCH + e] = e < count[u] ? PASTE(dec1_, XT)(x + from[u] + e * x_step, 0) : 0.0f;
    }
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
#if YB
    __local uint4 block4[(LOCAL * YB + 15) / 16];
    __local uchar *block = (__local uchar *)block4;
    if (mine) {
        __local const float4 *t = v4 + id * (UNIT_PITCH / 4);
        ENC32(YT)(block, id, 32, (float16)(t[0], t[1], t[2], t[3]), (float16)(t[4], t[5], t[6], t[7]));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#if WHOLE_GROUPS
    if (whole)
        for (uint j = id; j < LOCAL * YB / 16; j += LOCAL)
            ((__global uint4 *)(y + to[0]))[j] = block4[j];
    else
#endif
#if YB % 2
    for (uint j = id; j < LOCAL * YB; j += LOCAL)
        if (count[j / YB])
            y[to[j / YB] + j % YB] = block[j];
#else
    for (uint j = id; j < LOCAL * (YB / 2); j += LOCAL)
        if (count[j / (YB / 2)])
            *(__global ushort *)(y + to[j / (YB / 2)] + j % (YB / 2) * 2) =
                (ushort)(block[2 * j] | block[2 * j + 1] << 8);
#endif
#else
#if PASTE(FLOATS_, YT)
    const ulong before = (ulong)GROUP_ITEM(0) * LOCAL % per_row; /* units of the row before this group's */
    if (before + LOCAL <= n / 32 && y_step == 4 && (((ulong)y + to[0]) & 15) == 0)
        UNROLL for (uint j = 0; j < 8; j++)
        {
            const uint at = j * LOCAL + id;
            ((__global float4 *)(y + to[0]))[at] = v4[at / 8 * (UNIT_PITCH / 4) + at % 8];
        }
    else
#endif
    for (uint j = id; j < 32 * LOCAL; j += LOCAL) {
        const uint u = j / 32, e = j % 32;
        if (e < count[u])
            PASTE(put1_, YT)(y + to[u] + e * y_step, v[u * UNIT_PITCH + e]);
    }
#endif
    barrier(CLK_LOCAL_MEM_FENCE); /* PoCL 3.1: see lanes.clh */
}

#elif defined(CONVERT) && WHOLE_BLOCKS(XT) && PASTE(FLOATS_, YT) && !defined(STRIDED_Y)

KERNEL(GROUP_OF(LOCAL), cpy_convert, BUFFERS, cpy)
{
    UNPACK(CPY_NUMBERS)
    BEGIN;
    for (ulong b = first / 8; b < (first + PER) / 8 && 256 * b < n; b++)
        decode_256(x + b * BLOCK_BYTES(XT), (__global float *)y + 256 * b);
}

#elif defined(CONVERT)

/* Two lines of f32, 2 KiB on, where it was best; what is decoded gains nothing by it. */
#if PASTE(FLOATS_, XT)
#define ASK_AHEAD(b) AHEAD(x + 128 * (b) + 2048), AHEAD(x + 128 * (b) + 2048 + 64)
#else
#define ASK_AHEAD(b)
#endif

/* Rows of contiguous elements; STRIDED_X, STRIDED_Y: of single floats that many bytes apart. */
KERNEL(GROUP_OF(LOCAL), cpy_convert, BUFFERS, cpy)
{
    UNPACK(CPY_NUMBERS)
    BEGIN;
    for (ulong b = first; b < first + PER && 32 * b < n; b++) {
#ifdef STRIDED_X
        float t[32];
        for (uint j = 0; j < 32; j++)
            t[j] = 32 * b + j < n ? PASTE(dec1_, XT)(x + (32 * b + j) * x_step, 0) : 0.0f;
        const float16 lo = vload16(0, t), hi = vload16(1, t);
#else
        ASK_AHEAD(b);
        const float16 lo = LD16(XT)(x, 2 * b, n), hi = LD16(XT)(x, 2 * b + 1, n);
#endif
#ifdef STRIDED_Y
        float v[32];
        vstore16(lo, 0, v);
        vstore16(hi, 1, v);
        for (uint j = 0; 32 * b + j < n && j < 32; j++)
            ENC32(YT)(y + (32 * b + j) * y_step, 0, 1, (float16)v[j], (float16)0.0f);
#else
        ENC32(YT)(y, b, n, lo, hi);
#endif
    }
}

#elif defined(ANY)

/* From block type to block type: one program for all pairs. */
KERNEL(GROUP_OF(LOCAL), cpy_any, BUFFERS, cpy_any)
{
    UNPACK(CPY_ANY_NUMBERS)
    BEGIN;
    for (ulong b = first; b < first + PER && 32 * b < n; b++) {
        float16 lo = 0.0f, hi = 0.0f;
        for (uint i = 0; i < 2; i++) { /* one call, which is inlined */
            lo = hi;
            hi = dec16_any(x_type, x, 2 * b + i);
        }
        enc32_any(y_type, y, b, n, lo, hi);
    }
}

#elif defined(UNIT)

/* Equal types: units of bytes, x_step and y_step apart. */
KERNEL(GROUP_OF(LOCAL), cpy_same, BUFFERS, cpy)
{
    UNPACK(CPY_NUMBERS)
    BEGIN;
    ulong u = first;
    if (x_step == sizeof(UNIT) && y_step == sizeof(UNIT))
        for (; u + 16 <= first + PER && u + 16 <= n; u += 16)
            STORE16(vload16(0, (__global const UNIT *)x + u), (__global UNIT *)y + u);
    for (; u < first + PER && u < n; u++)
        *(__global UNIT *)(y + u * y_step) = *(__global const UNIT *)(x + u * x_step);
}

#else

/* Integers and f32, one by one: -DXI= -DYI= OpenCL types, -DTO= the conversion. */
KERNEL(GROUP_OF(LOCAL), cpy_number, BUFFERS, cpy)
{
    UNPACK(CPY_NUMBERS)
    BEGIN;
    for (ulong u = first; u < first + PER && u < n; u++)
        *(__global YI *)(y + u * y_step) = TO(*(__global const XI *)(x + u * x_step));
}

#endif
