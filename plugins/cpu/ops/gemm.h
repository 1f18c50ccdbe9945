/*
 * Products of weight rows with columns: the core of mul_mat and mul_mat_id.
 *
 * A result is the same bits whatever the number of columns and of threads, and whichever of the forms
 * below computes it, since all form it in one order:
 *   - a weight is rounded to f32, as cpu_format.decode has it, before it meets a column;
 *   - k is cut into panels of CPU_GEMM_KC, those into whole vectors, the last of k filled up with zeros (for types
 *     of blocks in the order of cpu_dot_order);
 *   - in a panel the products of vectors v, v + 4, v + 8 .. are added one after another to zero, for v = 0 .. 3: four
 *     chains, as one column needs to keep the machine busy; in all other forms each is computed for itself;
 *   - the lanes of a chain are added as v_sum does, and these sums to zero in the order of panels and chains;
 *   - rows of up to CPU_GEMM_SHORT elements are one chain: vectors 0, 4, 8 .., then 1, 5, 9 .., and so on, for to add
 *     up the lanes of four takes longer than the products.
 */
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
    const void *packed;    /* the columns packed before, or NULL              */
} cpu_gemm;

CPU_INLINE const uint8_t *cpu_gemm_row(const cpu_gemm *g, int64_t row)
{
    return g->a + (row - g->row0) * g->stride;
}

/* Does `dot` want columns in an order of its own? */
CPU_INLINE bool cpu_gemm_ordered(const cpu_gemm *g)
{
    return CPU_VL == 8 && g->block > 1;
}

/* The same for all four chains of n elements. */
CPU_INLINE int64_t cpu_whole_chains(int64_t n)
{
    return (n + 4 * CPU_VL - 1) / (4 * CPU_VL) * (4 * CPU_VL);
}

/* Is it better to go over all rows a panel of k at a time for that many columns? */
bool CPU_V(cpu_gemm_blocked)(int64_t n);
/* Rows m0 .. m1 - 1. */
void CPU_V(cpu_gemm_rows)(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch);
/* Packs columns c0 .. c1 - 1 of g->n for g->packed, at `out`, which has room for cpu_gemm_packed floats: panel by
 * panel, in each chain by chain, in those the columns one after another. */
void CPU_V(cpu_gemm_pack)(const cpu_gemm *g, int64_t c0, int64_t c1, void *out);
CPU_INLINE int64_t cpu_gemm_packed(int64_t k, int64_t n)
{
    return n * cpu_whole_chains(k);
}
/* Elements k0 .. k0 + kc - 1 of a column as f32, in the order in which dot takes them. */
CPU_INLINE void cpu_gemm_column(const cpu_gemm *g, int64_t c, int64_t k0, int64_t kc, float *out)
{
    if (g->b_type == ENG_TYPE_F32)
        memcpy(out, (const float *)g->b[c] + k0, (size_t)kc * sizeof *out);
    else
        cpu_formats[g->b_type].decode(g->b[c], k0, kc, out);
    if (cpu_gemm_ordered(g))
        CPU_V(cpu_dot_order)(out, out, kc);
}
/* The same of n elements in their own order, where they lie or in `buffer`; zeros behind the last. */
CPU_INLINE const float *cpu_gemm_elements(const cpu_gemm *g, int64_t c, int64_t k0, int64_t n, float *buffer)
{
    const int64_t there = g->k - k0 < n ? g->k - k0 : n;
    if (g->b_type != ENG_TYPE_F32) {
        cpu_formats[g->b_type].decode(g->b[c], k0, there, buffer);
    } else {
        const float *x = (const float *)g->b[c] + k0;
        if (there == n)
            return x;
        memcpy(buffer, x, (size_t)there * sizeof *x);
    }
    memset(buffer + there, 0, (size_t)(n - there) * sizeof *buffer);
    return buffer;
}
/* Scratch that both need for k elements and at most n columns. */
size_t CPU_V(cpu_gemm_scratch)(int64_t k, int64_t n);

/* Are products of that type with n columns faster when these are rounded to int8 (gemm_fast.c)?  k: elements of a
 * row. */
bool CPU_V(cpu_gemm_fast)(uint32_t type, int64_t k, int64_t n);
void CPU_V(cpu_gemm_rows_fast)(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch);
size_t CPU_V(cpu_gemm_fast_scratch)(int64_t k);

/* Up to `columns` of the type, cpu_format, at most CPU_DOT_COLS (gemm_few.c). */
void CPU_V(cpu_gemm_few)(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch);
size_t CPU_V(cpu_gemm_few_scratch)(int64_t k);

/* Rows of few elements with columns c0 .. c1 - 1, which are packed (gemm_short.c); so many at once.  Scratch: so many
 * rows. */
#define CPU_GEMM_SHORT 512
#define CPU_GEMM_SHORT_ROWS 8
#define CPU_GEMM_SHORT_COLUMNS 96 /* they stay in the second-level cache */
bool CPU_V(cpu_gemm_is_short)(const cpu_gemm *g);
void CPU_V(cpu_gemm_short)(const cpu_gemm *g, int64_t m0, int64_t m1, int64_t c0, int64_t c1, float *lines);

#define CPU_PANEL 8 /* rows: what threads share out                         */
#if CPU_REGISTERS == 32
#define CPU_TILE 6  /* columns of a register tile: 24 sums in 32 registers   */
#else
#define CPU_TILE 3  /* 12 sums in 16 registers                               */
#endif

#endif
