/* Rows of operands with any strides.  Included by the files of a variant. */
#ifndef CPU_ROWS_H
#define CPU_ROWS_H

#include "vec.h"

/* The formats of this variant. */
extern const cpu_format CPU_V(cpu_formats)[CPU_TYPES];
/* roof.c */
float CPU_V(cpu_read)(const float *x, int64_t n);
void CPU_V(cpu_copy)(const float *x, float *y, int64_t n);
double CPU_V(cpu_fma)(int64_t rounds, float *sum);
/* A column of n elements, a multiple of 32, in the order that `dot` of block types takes (ints.h: vectors of eight;
 * else as it is); `out` may be x. */
void CPU_V(cpu_dot_order)(const float *x, float *out, int64_t n);
void CPU_V(cpu_to_f16)(const float *x, uint16_t *out, int64_t n);

/* A row of a float or block type as f32: in place if it already is, else in
 * `buffer`, which has room for ne[0] floats. */
const float *CPU_V(cpu_row_f32)(const cpu_tensor *t, const uint8_t *row, float *buffer);
#define cpu_row_f32 CPU_V(cpu_row_f32)
#define cpu_formats CPU_V(cpu_formats)
/* Encoded as `type`, the same bits in every variant (encode.c); any multiple of the block. */
void CPU_V(cpu_encode_row)(uint32_t type, const float *x, uint8_t *out, int64_t n, bool search);
#define cpu_encode_row CPU_V(cpu_encode_row)

static inline float tail_f32(const uint8_t *p)
{
    float x;
    memcpy(&x, p, 4);
    return x;
}

static inline float tail_f16(const uint8_t *p)
{
    return f16_load(p);
}

static inline float tail_bf16(const uint8_t *p)
{
    return bf16_load(p);
}

/* Elements i .. of a row of a type whose decoding is at most one instruction; a constant once inlined. */
CPU_INLINE vf v_plain(const uint8_t *row, int64_t i, const uint32_t type)
{
    switch (type) {
    case ENG_TYPE_F16: return v_f16(row + 2 * i);
    case ENG_TYPE_BF16: return v_bf16(row + 2 * i);
    default: return v_load((const float *)row + i);
    }
}

CPU_INLINE float tail_plain(const uint8_t *row, int64_t i, const uint32_t type)
{
    switch (type) {
    case ENG_TYPE_F16: return tail_f16(row + 2 * i);
    case ENG_TYPE_BF16: return tail_bf16(row + 2 * i);
    default: return tail_f32(row + 4 * i);
    }
}

/* Asks for the line at p, which is read once, and some KiB later: into the second-level cache, for the nearest has few places
 * for lines that are on their way. */
CPU_INLINE void ask_far(const uint8_t *p)
{
    __builtin_prefetch(p, 0, 2);
}

/* Rows that are wanted soon, in the nearest cache or one behind it.  Line by line: four in one pass of the loop were up
 * to 1.5 times as slow (Zen 3). */
CPU_INLINE void ask_for(const uint8_t *row, int64_t rows, int64_t stride, int64_t bytes, const bool nearest)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < bytes; i += 64)
            if (nearest)
                __builtin_prefetch(row + r * stride + i, 0, 3);
            else
                ask_far(row + r * stride + i);
}

/* Rows that come later, of which a line is asked for now and then, in the order of memory: what looks ahead in the hardware
 * goes on from there, and all at once would be more misses than a core can have, and nothing would be done meanwhile. */
typedef struct later_rows {
    const uint8_t *row; /* NULL: none */
    int64_t stride, bytes, at;
} later_rows;

/* `bytes` of each row from `row` on; none if there are no bytes, or it is NULL. */
CPU_INLINE later_rows later_rows_from(const uint8_t *row, int64_t stride, int64_t bytes)
{
    return (later_rows){bytes > 0 ? row : NULL, stride, stride == bytes ? INT64_MAX : bytes, 0};
}

CPU_INLINE void ask_for_line(later_rows *r, const bool nearest)
{
    if (!r->row)
        return;
    if (nearest)
        __builtin_prefetch(r->row + r->at, 0, 3);
    else
        ask_far(r->row + r->at);
    r->at += 64;
    if (r->at >= r->bytes) {
        r->at = 0;
        r->row += r->stride;
    }
}

#define STREAM_AHEAD 2048 /* bytes */

/* Asks for what comes later of numbers that are read in their order: streams of the hardware end with a page. */
CPU_INLINE void ask_stream(const float *x, const int numbers)
{
    CPU_UNROLL
    for (int i = 0; i < numbers * 4; i += 64)
        __builtin_prefetch((const uint8_t *)x + STREAM_AHEAD + i, 0, 3);
}

/* Position `row` (counted over dimensions 1 and up of `shape`) split into
 * indices. */
CPU_INLINE void row_index(const int64_t *shape, int64_t row, int64_t *index)
{
    for (int d = 1; d < ENG_MAX_RANK; d++) {
        if (row == 0) {
            index[d] = 0;
            continue;
        }
        int64_t q = row / shape[d];
        index[d] = row - q * shape[d];
        row = q;
    }
}

/* The row at those indices; a dimension of extent 1 is repeated. */
CPU_INLINE uint8_t *row_at(const cpu_tensor *t, const int64_t *index)
{
    uint8_t *p = t->data;
    for (int d = 1; d < ENG_MAX_RANK; d++)
        if (t->ne[d] > 1)
            p += index[d] * t->nb[d];
    return p;
}

/* Row number `row` of a tensor that is contiguous or not. */
CPU_INLINE uint8_t *row_number(const cpu_tensor *t, int64_t row)
{
    if (t->contiguous)
        return t->data + row * t->nb[1];
    int64_t index[ENG_MAX_RANK];
    row_index(t->ne, row, index);
    return row_at(t, index);
}

/* An index of a get_rows or set_rows operand, i32 or i64. */
CPU_INLINE int64_t index_at(const cpu_tensor *t, const uint8_t *p)
{
    if (t->type == ENG_TYPE_I64) {
        int64_t i;
        memcpy(&i, p, 8);
        return i;
    }
    int32_t i;
    memcpy(&i, p, 4);
    return i;
}

#endif
