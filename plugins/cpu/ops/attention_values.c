/*
 * Weighted sums of rows of V: a register tile of columns and vectors.  Rows whose decoding is one instruction are taken
 * as they lie if columns are few, those of blocks if these are very few.
 */
#include "attention.h"
#include "decode.h"

#define CELLS CPU_ATTN_CELLS

/* How rows are decoded: vectors of a type without blocks as they lie, or blocks of 32, whole ones (NULL: there are none). */
typedef struct row_kind {
    uint32_t type;
    int bytes; /* of 32 elements */
    block_decoder decode;
} row_kind;

/* The row's vectors from element i on. */
CPU_INLINE void row_vectors(const uint8_t *row, int64_t i, const int vectors, const row_kind kind, vf *x)
{
    if (kind.decode) {
        CPU_UNROLL
        for (int l = 0; l < vectors; l += BLOCK_VECTORS)
            kind.decode(row, i / BLOCK + l / BLOCK_VECTORS, NULL, x + l);
    } else {
        CPU_UNROLL
        for (int l = 0; l < vectors; l++)
            x[l] = v_plain(row, i + l * CPU_VL, kind.type);
    }
}

CPU_INLINE void add_row(const float *p, const uint8_t *row, int64_t i, vf (*s)[8], const int cols, const int vectors,
                        const row_kind kind)
{
    vf x[8];
    row_vectors(row, i, vectors, kind, x);
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        CPU_UNROLL
        for (int l = 0; l < vectors; l++)
            s[c][l] = v_fma(x[l], v_set1(p[c * CELLS]), s[c][l]);
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
                     const row_kind kind, ask *next)
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
            add_row(p + j + r, v.at + (j + r) * v.stride, i, s, cols, vectors, kind);
        if (next->row)
            ask_lines(next, (vectors * CPU_VL * kind.bytes / BLOCK * 4 + 63) / 64);
    }
    for (; j < v.n; j++)
        add_row(p + j, v.at + j * v.stride, i, s, cols, vectors, kind);
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        CPU_UNROLL
        for (int l = 0; l < vectors; l++)
            v_store(sum + c * e + i + l * CPU_VL, s[c][l]);
}

/* `wide`: vectors of a tile, so that the sums of all columns keep the machine busy. */
CPU_INLINE void columns_of(const float *p, const cpu_rows v, float *sum, const int cols, const int wide,
                           const row_kind kind, const bool first)
{
    const int64_t e = v.e;
    const int least = kind.decode ? BLOCK_VECTORS : 1;
    ask next = {first ? v.next : NULL, v.stride, v.together ? INT64_MAX : e * kind.bytes / BLOCK, 0};
    int64_t i = 0;
    for (; i + wide * CPU_VL <= e; i += wide * CPU_VL)
        tile(p, v, i, sum, cols, wide, kind, &next);
    for (; i + least * CPU_VL <= e; i += least * CPU_VL)
        tile(p, v, i, sum, cols, least, kind, &next);
    for (; !kind.decode && i < e; i++)
        CPU_UNROLL
        for (int c = 0; c < cols; c++)
            for (int64_t j = 0; j < v.n; j++)
                sum[c * e + i] += p[c * CELLS + j] * tail_plain(v.at + j * v.stride, i, kind.type);
}

CPU_INLINE void all_columns(const float *p, const cpu_rows v, float *sum, int64_t columns, const row_kind kind)
{
    const int64_t e = v.e;
    int64_t c = 0;
    for (; !kind.decode && columns > CPU_ATTN_FEW && c + 3 <= columns; c += 3) /* reads less */
        columns_of(p + c * CELLS, v, sum + c * e, 3, 4, kind, c == 0);
    for (; c + 4 <= columns; c += 4)
        columns_of(p + c * CELLS, v, sum + c * e, 4, 2, kind, c == 0);
    switch (columns - c) {
    case 3: columns_of(p + c * CELLS, v, sum + c * e, 3, 2, kind, c == 0); break;
    case 2: columns_of(p + c * CELLS, v, sum + c * e, 2, 4, kind, c == 0); break;
    case 1: columns_of(p + c * CELLS, v, sum + c * e, 1, 8, kind, c == 0); break;
    default: break;
    }
}

#define COLUMNS_OF(NAME, name, bytes, decode)                                                                          \
    static void columns_##name(const float *p, const cpu_rows v, float *sum, int64_t columns)                          \
    {                                                                                                                  \
        all_columns(p, v, sum, columns, (row_kind){ENG_TYPE_##NAME, bytes, decode});                                   \
    }
#define BLOCKS_OF(NAME, name, bytes) COLUMNS_OF(NAME, name, bytes, dec_##name)
#define IS_BLOCKS(NAME, name, bytes) || type == ENG_TYPE_##NAME
#define CASE_BLOCKS(NAME, name, bytes) case ENG_TYPE_##NAME: columns_##name(p, *v, sum, columns); break;
COLUMNS_OF(F32, f32, 4 * BLOCK, NULL)
COLUMNS_OF(F16, f16, 2 * BLOCK, NULL)
COLUMNS_OF(BF16, bf16, 2 * BLOCK, NULL)
BLOCK_TYPES(BLOCKS_OF)

bool CPU_V(cpu_attn_takes)(uint32_t type, int64_t columns)
{
    const bool half = type == ENG_TYPE_F16 || type == ENG_TYPE_BF16;
    const bool blocks = false BLOCK_TYPES(IS_BLOCKS);
    return type == ENG_TYPE_F32 || (CPU_HALVES && half && columns <= CPU_ATTN_FEW) || (blocks && columns <= BLOCK_COLUMNS);
}

void CPU_V(cpu_attn_values)(const float *p, const cpu_rows *v, float *sum, int64_t columns)
{
    switch (v->type) {
    case ENG_TYPE_F16: columns_f16(p, *v, sum, columns); break;
    case ENG_TYPE_BF16: columns_bf16(p, *v, sum, columns); break;
    BLOCK_TYPES(CASE_BLOCKS)
    default: columns_f32(p, *v, sum, columns); break;
    }
}
