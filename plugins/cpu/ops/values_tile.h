/* A register tile of rows of V: sums of several columns.  Included by the files that have such tiles. */
#ifndef CPU_VALUES_TILE_H
#define CPU_VALUES_TILE_H

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

/* Elements i .. of `vectors` vectors, `cols` columns.  As many lines are asked for as are used. */
CPU_INLINE void values_tile(const float *p, const cpu_rows v, int64_t i, float *sum, const int cols, const int vectors,
                            const row_kind kind, later_rows *next, const bool nearest)
{
    const int64_t e = v.e;
    const int lines = (vectors * CPU_VL * kind.bytes / BLOCK * 4 + 63) / 64; /* of four rows */
    vf s[4][8];
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        CPU_UNROLL
        for (int l = 0; l < vectors; l++)
            s[c][l] = v_load(sum + c * e + i + l * CPU_VL);
    int64_t j = 0;
    for (; j + 4 <= v.n; j += 4) {
        CPU_UNROLL
        for (int r = 0; r < 4; r++) {
            CPU_UNROLL
            for (int l = r * lines / 4; l < (r + 1) * lines / 4; l++)
                ask_for_line(next, nearest);
            add_row(p + j + r, v.at + (j + r) * v.stride, i, s, cols, vectors, kind);
        }
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
                           const row_kind kind, later_rows next, const bool nearest)
{
    const int64_t e = v.e;
    const int least = kind.decode ? BLOCK_VECTORS : 1;
    int64_t i = 0;
    for (; i + wide * CPU_VL <= e; i += wide * CPU_VL)
        values_tile(p, v, i, sum, cols, wide, kind, &next, nearest);
    for (; i + least * CPU_VL <= e; i += least * CPU_VL)
        values_tile(p, v, i, sum, cols, least, kind, &next, nearest);
    for (; !kind.decode && i < e; i++)
        CPU_UNROLL
        for (int c = 0; c < cols; c++)
            for (int64_t j = 0; j < v.n; j++)
                sum[c * e + i] += p[c * CELLS + j] * tail_plain(v.at + j * v.stride, i, kind.type);
}

/* So many columns, four at a time; the first of them ask for all. */
CPU_INLINE void columns_by_four(const float *p, const cpu_rows v, float *sum, int64_t columns, const row_kind kind,
                                later_rows next, const bool nearest)
{
    for (int64_t c = 0; c < columns; c += 4, p += 4 * CELLS, sum += 4 * v.e, next.row = NULL)
        switch (columns - c) {
        case 1: columns_of(p, v, sum, 1, 8, kind, next, nearest); break;
        case 2: columns_of(p, v, sum, 2, 4, kind, next, nearest); break;
        case 3: columns_of(p, v, sum, 3, 2, kind, next, nearest); break;
        default: columns_of(p, v, sum, 4, 2, kind, next, nearest); break;
        }
}

#endif
