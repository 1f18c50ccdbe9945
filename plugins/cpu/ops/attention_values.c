/*
 * Weighted sums of rows of V: a register tile of columns and vectors.  Rows whose decoding is one instruction are taken
 * as they lie if columns are few.
 */
#include "attention.h"
#include "decode.h"

#define CELLS CPU_ATTN_CELLS
CPU_INLINE void add_row(const float *p, const uint8_t *row, int64_t i, vf (*s)[8], const int cols, const int vectors,
                        const uint32_t type)
{
    CPU_UNROLL
    for (int l = 0; l < vectors; l++) {
        vf x = v_plain(row, i + l * CPU_VL, type);
        CPU_UNROLL
        for (int c = 0; c < cols; c++)
            s[c][l] = v_fma(x, v_set1(p[c * CELLS]), s[c][l]);
    }
}

/* Rows that come next, line by line in the order of memory: what looks ahead in the hardware goes on from there. */
typedef struct ask {
    const uint8_t *row; /* NULL: none */
    int64_t stride, bytes, at;
} ask;

CPU_INLINE void ask_lines(ask *a, const int n)
{
    CPU_UNROLL
    for (int i = 0; i < n; i++) {
        ask_far(a->row + a->at);
        a->at += 64;
        if (a->at >= a->bytes) {
            a->at = 0;
            a->row += a->stride;
        }
    }
}

/* Elements i .. of `vectors` vectors, `cols` columns.  As many lines are asked for as are used. */
CPU_INLINE void tile(const float *p, const cpu_rows v, int64_t i, float *sum, const int cols, const int vectors,
                     const uint32_t type, ask *next)
{
    const int64_t e = v.e;
    vf s[4][8];
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        CPU_UNROLL
        for (int l = 0; l < vectors; l++)
            s[c][l] = v_load(sum + c * e + i + l * CPU_VL);
    int64_t j = 0;
    for (; j + 4 <= v.n; j += 4) {
        CPU_UNROLL
        for (int r = 0; r < 4; r++)
            add_row(p + j + r, v.at + (j + r) * v.stride, i, s, cols, vectors, type);
        if (next->row)
            ask_lines(next, vectors * CPU_VL * (type == ENG_TYPE_F32 ? 4 : 2) * 4 / 64);
    }
    for (; j < v.n; j++)
        add_row(p + j, v.at + j * v.stride, i, s, cols, vectors, type);
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        CPU_UNROLL
        for (int l = 0; l < vectors; l++)
            v_store(sum + c * e + i + l * CPU_VL, s[c][l]);
}

/* `wide`: vectors of a tile, so that the sums of all columns keep the machine busy. */
CPU_INLINE void columns_of(const float *p, const cpu_rows v, float *sum, const int cols,
                           const int wide, const uint32_t type, const bool first)
{
    const int64_t e = v.e;
    ask next = {first ? v.next : NULL, v.stride, e * (type == ENG_TYPE_F32 ? 4 : 2), 0};
    int64_t i = 0;
    for (; i + wide * CPU_VL <= e; i += wide * CPU_VL)
        tile(p, v, i, sum, cols, wide, type, &next);
    for (; i + CPU_VL <= e; i += CPU_VL)
        tile(p, v, i, sum, cols, 1, type, &next);
    for (; i < e; i++)
        CPU_UNROLL
        for (int c = 0; c < cols; c++)
            for (int64_t j = 0; j < v.n; j++)
                sum[c * e + i] += p[c * CELLS + j] * tail_plain(v.at + j * v.stride, i, type);
}

CPU_INLINE void all_columns(const float *p, const cpu_rows v, float *sum, int64_t columns, const uint32_t type)
{
    const int64_t e = v.e;
    int64_t c = 0;
    for (; columns > CPU_ATTN_FEW && c + 3 <= columns; c += 3) /* reads less */
        columns_of(p + c * CELLS, v, sum + c * e, 3, 4, type, c == 0);
    for (; c + 4 <= columns; c += 4)
        columns_of(p + c * CELLS, v, sum + c * e, 4, 2, type, c == 0);
    switch (columns - c) {
    case 3: columns_of(p + c * CELLS, v, sum + c * e, 3, 2, type, c == 0); break;
    case 2: columns_of(p + c * CELLS, v, sum + c * e, 2, 4, type, c == 0); break;
    case 1: columns_of(p + c * CELLS, v, sum + c * e, 1, 8, type, c == 0); break;
    default: break;
    }
}

/* -- rows of blocks of 32, decoded as they are met ---------------------------------------------- */

#if CPU_VL == 16
#define BLOCKS_AT_ONCE 4 /* of a tile, for one column */

CPU_INLINE void add_blocks(const float *p, const uint8_t *row, int64_t b, vf (*s)[BLOCKS_AT_ONCE * BLOCK_VECTORS],
                           const int cols, const int blocks, const block_decoder decode)
{
    CPU_UNROLL
    for (int k = 0; k < blocks; k++) {
        vf x[BLOCK_VECTORS];
        decode(row, b + k, NULL, x);
        CPU_UNROLL
        for (int c = 0; c < cols; c++)
            CPU_UNROLL
            for (int l = 0; l < BLOCK_VECTORS; l++)
                s[c][k * BLOCK_VECTORS + l] = v_fma(x[l], v_set1(p[c * CELLS]), s[c][k * BLOCK_VECTORS + l]);
    }
}

/* Blocks b .. b + blocks - 1 of all rows. */
CPU_INLINE void block_tile(const float *p, const cpu_rows v, int64_t b, float *sum, const int cols, const int blocks,
                           const int bytes, const block_decoder decode, ask *next)
{
    vf s[BLOCK_COLUMNS][BLOCKS_AT_ONCE * BLOCK_VECTORS];
    float *at = sum + b * BLOCK;
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        CPU_UNROLL
        for (int l = 0; l < blocks * BLOCK_VECTORS; l++)
            s[c][l] = v_load(at + c * v.e + l * CPU_VL);
    int64_t j = 0;
    for (; j + 4 <= v.n; j += 4) {
        CPU_UNROLL
        for (int r = 0; r < 4; r++)
            add_blocks(p + j + r, v.at + (j + r) * v.stride, b, s, cols, blocks, decode);
        if (next->row)
            ask_lines(next, (blocks * bytes * 4 + 63) / 64);
    }
    for (; j < v.n; j++)
        add_blocks(p + j, v.at + j * v.stride, b, s, cols, blocks, decode);
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        CPU_UNROLL
        for (int l = 0; l < blocks * BLOCK_VECTORS; l++)
            v_store(at + c * v.e + l * CPU_VL, s[c][l]);
}

/* `wide`: blocks of a tile, so that the sums of all columns keep the machine busy. */
CPU_INLINE void blocks_of(const float *p, const cpu_rows v, float *sum, const int cols, const int wide, const int bytes,
                          const block_decoder decode)
{
    const int64_t all = v.e / BLOCK;
    ask next = {v.next, v.stride, v.together ? INT64_MAX : all * bytes, 0};
    int64_t b = 0;
    for (; b + wide <= all; b += wide)
        block_tile(p, v, b, sum, cols, wide, bytes, decode, &next);
    for (; b < all; b++)
        block_tile(p, v, b, sum, cols, 1, bytes, decode, &next);
}

CPU_INLINE void all_blocks(const float *p, const cpu_rows v, float *sum, int64_t columns, const int bytes,
                           const block_decoder decode)
{
    switch (columns) {
    case 1: blocks_of(p, v, sum, 1, 4, bytes, decode); break;
    case 2: blocks_of(p, v, sum, 2, 2, bytes, decode); break;
    case 3: blocks_of(p, v, sum, 3, 1, bytes, decode); break;
    case 4: blocks_of(p, v, sum, 4, 1, bytes, decode); break;
    default: break;
    }
}

#define BLOCKS_OF(NAME, name, bytes)                                                                                   \
    static void blocks_##name(const float *p, const cpu_rows v, float *sum, int64_t columns)                           \
    {                                                                                                                  \
        all_blocks(p, v, sum, columns, bytes, dec_##name);                                                             \
    }
BLOCK_TYPES(BLOCKS_OF)
#define IS_BLOCKS(NAME, name, bytes) || type == ENG_TYPE_##NAME
#define CASE_BLOCKS(NAME, name, bytes) case ENG_TYPE_##NAME: blocks_##name(p, *v, sum, columns); break;
#endif

/* -- all --------------------------------------------------------------------------------------------- */

#define COLUMNS_OF(type)                                                                                               \
    static void columns_##type(const float *p, const cpu_rows v, float *sum, int64_t columns)                         \
    {                                                                                                                  \
        all_columns(p, v, sum, columns, ENG_TYPE_##type);                                                       \
    }
COLUMNS_OF(F32)
COLUMNS_OF(F16)
COLUMNS_OF(BF16)

bool CPU_V(cpu_attn_takes)(uint32_t type, int64_t columns)
{
    const bool half = type == ENG_TYPE_F16 || type == ENG_TYPE_BF16;
    const bool blocks = false BLOCK_TYPES(IS_BLOCKS);
    return type == ENG_TYPE_F32 || (CPU_HALVES && half && columns <= CPU_ATTN_FEW) || (blocks && columns <= BLOCK_COLUMNS);
}

void CPU_V(cpu_attn_values)(const float *p, const cpu_rows *v, float *sum, int64_t columns)
{
    switch (v->type) {
    case ENG_TYPE_F16: columns_F16(p, *v, sum, columns); break;
    case ENG_TYPE_BF16: columns_BF16(p, *v, sum, columns); break;
    BLOCK_TYPES(CASE_BLOCKS)
    default: columns_F32(p, *v, sum, columns); break;
    }
}
