/*
 * Rows of weights as register tiles take them: decoded into lines, each vector of a chain beside the next, or as they
 * are.  Included by the files that have such tiles.
 */
#ifndef CPU_GEMM_LINES_H
#define CPU_GEMM_LINES_H

#include "gemm.h"

#include "libengine/util/util.h"

#define FEW_F32 6   /* columns with which rows of f32 need no lines: four of them fill the nearest cache */
#define FEW_HALF 12 /* and those of f16 and bf16 */

CPU_INLINE eu_packing packing(const cpu_gemm *g)
{
    return eu_packing_of(g->type, (uint32_t)g->block_bytes, (uint64_t)g->stride, g->group);
}

/* kc elements of a row as floats. */
CPU_INLINE void decode_line(const cpu_gemm *g, int64_t row, int64_t k0, int64_t kc, float *line, int64_t chain)
{
    uint8_t blocks[2 * CPU_GEMM_KC];
    if (g->group > 1) {
        const eu_packing p = packing(g);
        eu_packed_row(&p, g->a, (uint64_t)(row - g->row0), (uint64_t)(k0 / g->block), (uint64_t)(kc / g->block),
                      blocks);
        cpu_formats[g->type].lines(blocks, 0, kc, line, chain);
        return;
    }
    cpu_formats[g->type].lines(cpu_gemm_row(g, row), k0, kc, line, chain);
}

/* Where a tile's weights come from: lines; or rows as they are, which need no lines where decoding is one
 * instruction. */
typedef enum source { LINES = -1, ROWS_F32 = ENG_TYPE_F32, ROWS_F16 = ENG_TYPE_F16, ROWS_BF16 = ENG_TYPE_BF16 } source;

/* Is there a source that needs no lines? */
CPU_INLINE source source_of(const cpu_gemm *g)
{
    if (g->group > 1 || g->k % (4 * CPU_VL))
        return LINES;
    if (g->type == ENG_TYPE_F32)
        return g->n <= FEW_F32 ? ROWS_F32 : LINES;
    if (!CPU_HALVES || g->n > FEW_HALF) /* without instructions for them, or too often */
        return LINES;
    return g->type == ENG_TYPE_F16 ? ROWS_F16 : g->type == ENG_TYPE_BF16 ? ROWS_BF16 : LINES;
}

#endif
