/* Rows from any type and strides to any type and strides. */
#ifndef CPU_COPY_H
#define CPU_COPY_H

#include "op.h"
#include "past.h"

CPU_INLINE bool is_integer(uint32_t type)
{
    return type == ENG_TYPE_I32 || type == ENG_TYPE_I64;
}

/* f32 as `type`, without gaps. */
CPU_INLINE void put_row(uint32_t type, const float *x, uint8_t *out, int64_t n, bool search)
{
    if (type == ENG_TYPE_F16)
        CPU_V(cpu_to_f16)(x, (uint16_t *)out, n);
    else
        cpu_encode_row(type, x, out, n, search);
}

/* One number of a type that has no blocks; integers are kept whole. */
static inline int64_t integer_of(uint32_t type, const uint8_t *p)
{
    if (is_integer(type)) {
        int64_t wide = 0;
        int32_t narrow;
        if (type == ENG_TYPE_I64) {
            memcpy(&wide, p, 8);
            return wide;
        }
        memcpy(&narrow, p, 4);
        return narrow;
    }
    float x = type == ENG_TYPE_F16 ? f16_load(p) : type == ENG_TYPE_BF16 ? bf16_load(p) : tail_f32(p);
    return x >= 0x1p63f ? INT64_MAX : x > -0x1p63f ? (int64_t)x : x == x ? INT64_MIN : 0; /* truncating */
}

static inline void put_integer(uint32_t type, uint8_t *p, int64_t value)
{
    if (type == ENG_TYPE_I64) {
        memcpy(p, &value, 8);
        return;
    }
    int32_t narrow = (int32_t)(value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : value);
    memcpy(p, &narrow, 4);
}

/* To or from an integer type. */
static inline void convert_integers(const cpu_tensor *src, const uint8_t *from, const cpu_tensor *dst, uint8_t *to)
{
    for (int64_t i = 0; i < dst->ne[0]; i++) {
        int64_t v = integer_of(src->type, from + i * src->nb[0]);
        uint8_t *p = to + i * dst->nb[0];
        if (is_integer(dst->type)) {
            put_integer(dst->type, p, v);
        } else {
            float x = (float)v;
            cpu_encode_row(dst->type, &x, p, 1, false);
        }
    }
}

/* One row; buffer: room for two rows of f32. */
static inline void copy_row(const cpu_tensor *src, const uint8_t *from, const cpu_tensor *dst, uint8_t *to,
                            float *buffer, bool search)
{
    int64_t n = dst->ne[0];
    bool packed = dst->nb[0] == dst->block_bytes;
    if (src->type == dst->type) {
        size_t unit = dst->block_bytes;
        if (packed && src->nb[0] == src->block_bytes)
            memcpy(to, from, (size_t)(n / dst->block) * unit);
        else
            for (int64_t i = 0; i < n / dst->block; i++)
                memcpy(to + i * dst->nb[0], from + i * src->nb[0], unit);
        return;
    }
    if (is_integer(src->type) || is_integer(dst->type)) {
        convert_integers(src, from, dst, to);
        return;
    }
    if (packed && dst->type == ENG_TYPE_F32) { /* decoded in place: src is of another type */
        cpu_row_f32(src, from, (float *)to);
        return;
    }
    const float *x = cpu_row_f32(src, from, buffer);
    if (packed) {
        put_row(dst->type, x, to, n, search);
        return;
    }
    uint8_t *line = (uint8_t *)(buffer + n);
    put_row(dst->type, x, line, n, search);
    for (int64_t i = 0; i < n / dst->block; i++)
        memcpy(to + i * dst->nb[0], line + i * dst->block_bytes, dst->block_bytes);
}

/* The same of types without blocks, where neither has gaps, past the caches. */
static inline void copy_row_past(const cpu_tensor *src, const uint8_t *from, const cpu_tensor *dst, uint8_t *to,
                                 float *buffer, bool search)
{
    _Alignas(64) int64_t piece[PAST_PIECE]; /* of the widest type */
    cpu_tensor in = *src, out = *dst;
    for (int64_t i = 0; i < dst->ne[0]; i += PAST_PIECE) {
        const int64_t m = dst->ne[0] - i < PAST_PIECE ? dst->ne[0] - i : PAST_PIECE;
        in.ne[0] = out.ne[0] = m;
        copy_row(&in, from + i * src->nb[0], &out, (uint8_t *)piece, buffer, search);
        copy_past(to + i * dst->nb[0], piece, (size_t)m * dst->block_bytes);
    }
}

static inline void run_copy(const cpu_run *run, const cpu_tensor *src, const cpu_tensor *dst)
{
    int64_t begin, end;
    cpu_share(run, dst->rows, 1, &begin, &end);
    for (int64_t r = begin; r < end; r++)
        copy_row(src, row_number(src, r), dst, row_number(dst, r), (float *)run->scratch, false);
}

/* Where more is written than read it is writing that takes the time, and lines that end in a block gain nothing. */
static inline bool narrows(const cpu_tensor *src, const cpu_tensor *dst)
{
    return CPU_PAST && dst->block == 1 && src->block == 1 && dst->block_bytes <= src->block_bytes &&
           src->nb[0] == src->block_bytes;
}

/* An op whose one result is its one operand as another type. */
CPU_INLINE void run_conversion(const cpu_task *task, const cpu_run *run, bool search)
{
    const cpu_tensor *src = task->in[0], *dst = task->out[0];
    const bool past = task->past && narrows(src, dst);
    int64_t begin, end;
    cpu_share(run, dst->rows, 1, &begin, &end);
    for (int64_t r = begin; r < end; r++)
        (past ? copy_row_past : copy_row)(src, row_number(src, r), dst, row_number(dst, r), (float *)run->scratch,
                                          search);
    if (past)
        past_end();
}

#endif
