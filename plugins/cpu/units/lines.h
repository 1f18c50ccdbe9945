/*
 * Rows of block formats as bytes (ops/bytes.h) and the factors of their groups, for what lays out 16 rows side by side.
 * An element is its byte, less the bias, times d; or where there are minima, its byte times d, plus m.
 */
#ifndef CPU_LINES_H
#define CPU_LINES_H

#include "../ops/gemm.h"

#define STRIP 16 /* rows side by side                 */
#define GROUP 32 /* elements of a column under a scale */

static inline int64_t cpu_units_groups(int64_t k)
{
    return (k + GROUP - 1) / GROUP;
}

typedef struct units_lines {
    /* n elements from a block's first on, whole groups: their bytes, and d (and m, if there are minima) of each
     * group of 32 or 16 at every STRIP-th float. */
    void (*make)(const uint8_t *blocks, int64_t n, uint8_t *bytes, float *d, float *m);
    int parts;   /* factors for 32 elements: 1, 2                     */
    int bias;    /* by what bytes are raised; m only takes that back */
    bool minima;
} units_lines;

/* NULL: not a type of blocks. */
const units_lines *CPU_V(cpu_units_lines)(uint32_t type);
#define cpu_units_lines CPU_V(cpu_units_lines)

/* Where the blocks of a row are from element k0 on; taken out of packed rows first, to `buffer` of 2 * kc bytes. */
const uint8_t *CPU_V(cpu_units_blocks)(const cpu_gemm *g, int64_t row, int64_t k0, int64_t kc, uint8_t *buffer);
#define cpu_units_blocks CPU_V(cpu_units_blocks)

#endif
