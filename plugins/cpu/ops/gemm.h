/* Products of weight rows with columns: the core of mul_mat and mul_mat_id. */
#ifndef CPU_GEMM_H
#define CPU_GEMM_H

#include "rows.h"

/* A piece of work: rows of one matrix times columns. */
typedef struct cpu_gemm {
    const uint8_t *a;      /* row 0                                           */
    int64_t row0;          /* what the row at `a` is counted as               */
    int64_t stride;        /* bytes from one row to the next                  */
    uint32_t group;        /* rows that are packed together; 0, 1: as in a file */
    int64_t block, block_bytes;
    uint32_t type;
    uint32_t b_type;       /* f32, f16 or bf16                                */
    int64_t k;
    int64_t n;             /* columns                                         */
    const uint8_t **b;     /* n columns of k elements                         */
    float **o;             /* n results: o[c][row]                            */
    bool fast;             /* the columns may be rounded                      */
    bool blocked;          /* by panels (many columns) or row by row          */
    const float *packed;   /* the columns packed before (if blocked), or NULL  */
} cpu_gemm;

CPU_INLINE const uint8_t *cpu_gemm_row(const cpu_gemm *g, int64_t row)
{
    return g->a + (row - g->row0) * g->stride;
}

/* Is it better to decode a panel of rows once for that many columns? */
bool CPU_V(cpu_gemm_blocked)(int64_t n);
/* Rows m0 .. m1 - 1. */
void CPU_V(cpu_gemm_rows)(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch);
/* Packs columns c0 .. c1 - 1 (c0 a multiple of CPU_TILE, c1 too or n) of g->n * g->k
 * floats at `out`, for g->packed. */
void CPU_V(cpu_gemm_pack)(const cpu_gemm *g, int64_t c0, int64_t c1, float *out, uint8_t *scratch);
/* Scratch that both need for k elements and at most n columns. */
size_t CPU_V(cpu_gemm_scratch)(int64_t k, int64_t n);

/* Is there a way for columns rounded to int8 (gemm_fast.c)?  k: elements of a row. */
bool CPU_V(cpu_gemm_fast)(uint32_t type, int64_t k);
void CPU_V(cpu_gemm_rows_fast)(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch);

/* Few columns (gemm_few.c): any number, but best those that are not `blocked`. */
void CPU_V(cpu_gemm_few)(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch);
size_t CPU_V(cpu_gemm_few_scratch)(int64_t k, int64_t n);

#define CPU_GEMM_KC 256 /* elements of k in a block: a whole number of blocks of every type */
#define CPU_PANEL (2 * CPU_VL) /* rows of a panel: what threads share out    */
#if CPU_VL == 16
#define CPU_TILE 12 /* columns of a register tile: 24 sums in 32 registers   */
#else
#define CPU_TILE 6  /* 12 sums in 16 registers                               */
#endif

#endif
