/*
 * kernels/cpy.cl - conversions between types: quantize, dequantize, cpy, store.
 *
 * Dimension 0 of the launch runs over pieces of a row, dimension 1 over the
 * rows, which are numbered along ne[]; x_nb and y_nb are their strides.
 *
 * -DXT= -DYT=  types by name         -DPER=  blocks of 32 (or units) an item
 */
#include "encode.clh"
#include "index.clh"

#define BUFFERS cbytes x, gbytes y
#define CPY_NUMBERS(N)                                                                                                 \
    N(ulong, x_at) N(ulong, y_at) N(long, n) N(long, x_step) N(long, y_step) N(long4, ne) N(long4, x_nb)               \
    N(long4, y_nb)
NUMBERS(cpy, CPY_NUMBERS);
#define CPY_ANY_NUMBERS(N) CPY_NUMBERS(N) N(int, x_type) N(int, y_type)
NUMBERS(cpy_any, CPY_ANY_NUMBERS);

#define BEGIN                                                                                                          \
    const ulong first = (ulong)get_global_id(0) * PER;                                                                 \
    ROW_INDEX(get_global_id(1), ne);                                                                                   \
    x += x_at + along(i, x_nb);                                                                                        \
    y += y_at + along(i, y_nb)

#if defined(CONVERT)

/* Rows of contiguous elements; STRIDED_X, STRIDED_Y: of single floats that many bytes apart. */
__kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void cpy_convert(BUFFERS, const cpy_numbers numbers)
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
__kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void cpy_any(BUFFERS, const cpy_any_numbers numbers)
{
    UNPACK(CPY_ANY_NUMBERS)
    BEGIN;
    for (ulong b = first; b < first + PER && 32 * b < n; b++)
        enc32_any(y_type, y, b, n, dec16_any(x_type, x, 2 * b), dec16_any(x_type, x, 2 * b + 1));
}

#elif defined(UNIT)

/* Equal types: units of bytes, x_step and y_step apart. */
__kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void cpy_same(BUFFERS, const cpy_numbers numbers)
{
    UNPACK(CPY_NUMBERS)
    BEGIN;
    ulong u = first;
    if (x_step == sizeof(UNIT) && y_step == sizeof(UNIT))
        for (; u + 16 <= first + PER && u + 16 <= n; u += 16)
            vstore16(vload16(0, (__global const UNIT *)x + u), 0, (__global UNIT *)y + u);
    for (; u < first + PER && u < n; u++)
        *(__global UNIT *)(y + u * y_step) = *(__global const UNIT *)(x + u * x_step);
}

#else

/* Integers and f32, one by one: -DXI= -DYI= OpenCL types, -DTO= the conversion. */
__kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void cpy_number(BUFFERS, const cpy_numbers numbers)
{
    UNPACK(CPY_NUMBERS)
    BEGIN;
    for (ulong u = first; u < first + PER && u < n; u++)
        *(__global YI *)(y + u * y_step) = TO(*(__global const XI *)(x + u * x_step));
}

#endif
