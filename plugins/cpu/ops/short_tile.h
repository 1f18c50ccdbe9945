/*
 * A register tile of short rows (a head of K) and columns: the sums of all chains, and those of lanes.  Included by the
 * files that have such tiles.
 */
#ifndef CPU_SHORT_TILE_H
#define CPU_SHORT_TILE_H

#include "gemm_lines.h"

#define NEAR CPU_GEMM_SHORT_ROWS /* rows at once: of those that are decoded, lines stay in the nearest cache */
#define COMMON (128 / 4) /* elements of a chain of the most common head: no loop over them */
#define MOST (CPU_REGISTERS == 32 ? 6 : 4) /* columns of a tile */

typedef float four __attribute__((vector_size(16)));

/* Vectors of rows that are taken as they lie, of which as many lines are asked for as are used. */
#define LINE_OF(from) (64 / ((from) == ROWS_F32 ? 4 : 2) / CPU_VL)
/* Tiles of such rows ask line by line; those of lines, which lie in the cache, leave no time for it. */
#define BY_LINES(from, rows, step) ((from) != LINES && (rows) * (step) >= LINE_OF(from))

/* The sums of four vectors. */
CPU_INLINE four sums_of(vf a, vf b, vf c, vf d)
{
    const vf v[4] = {a, b, c, d};
    four sum;
    v_sum4(v, (float *)&sum);
    return sum;
}

/* Vectors l of rows and columns of chain v, whose columns begin at x, `before` of its vectors those before. */
CPU_INLINE void add_vectors(const uint8_t *const *row, const float *x, int64_t length, int64_t v, int64_t l,
                            const int before, const int rows, const int cols, vf (*acc)[MOST], const source from,
                            later_rows *later, const bool nearest)
{
    vf b[MOST];
    CPU_UNROLL
    for (int j = 0; j < cols; j++)
        b[j] = v_load(x + j * length + l);
    CPU_UNROLL
    for (int i = 0; i < rows; i++) {
        const vf w = from == LINES ? v_load((const float *)row[i] + v * NEAR * length + l)
                                   : v_plain(row[i], 4 * l + v * CPU_VL, from);
        CPU_UNROLL
        for (int j = 0; j < cols; j++)
            acc[i][j] = v_fma(w, b[j], acc[i][j]);
        if (later && (before + i) % LINE_OF(from) == LINE_OF(from) - 1)
            ask_for_line(later, nearest);
    }
}

/* All products of `rows` rows with `cols` columns: chain after chain in the same sums. */
CPU_INLINE void add_products(const uint8_t *const *row, const float *x, int64_t length, int64_t n, const int rows,
                             const int cols, vf (*acc)[MOST], const source from, const int step,
                             later_rows *later, const bool nearest)
{
    CPU_UNROLL
    for (int i = 0; i < rows; i++)
        CPU_UNROLL
        for (int j = 0; j < cols; j++)
            acc[i][j] = (vf){0};
    for (int64_t v = 0; v < 4; v++)
        for (int64_t l = 0; l < length; l += step * CPU_VL)
            CPU_UNROLL
            for (int s = 0; s < step; s++)
                add_vectors(row, x + v * n * length, length, v, l + s * CPU_VL, s * rows, rows, cols, acc, from,
                            BY_LINES(from, rows, step) ? later : NULL, nearest);
}

#endif
