/*
 * Products in precision fast on a processor's units for small numbers: dot products of bytes (AVX-512 VNNI) for weights
 * of blocks, of bf16 (AVX-512 BF16) for weights of bf16.  The columns are rounded, to int8 in blocks of 32 or to bf16,
 * the weights never.
 *
 * 16 rows of weights are a strip: a panel of them is laid out so that a vector has what all 16 rows have at the same
 * four elements of k (bf16: two), and meets those of a column in every lane.  So a lane's sum is a row's, no sum has to
 * be taken over lanes, and 12 columns share what is loaded of a strip.  scales.h has what blocks mean.  Weights of bf16 whose
 * rows lie so already (EU_STRIP) are read where they are (bf16.c).
 *
 * Compiled once, with flags for these units, with the suffix of the variant whose formats it uses.
 */
#ifndef CPU_UNITS_H
#define CPU_UNITS_H

#include "../ops/gemm.h"
#include "lines.h"

#define TILE 12    /* columns: 12 sums, 12 of a group, and what they need, in 32 registers         */
#define PANEL 1024 /* elements of k: a strip and a tile of them stay in the nearest cache           */
#define FEW 2      /* columns for which strips do not pay                                   */

/* What a type's rows become: bytes with scales for 32 or 16 of them, which are raised numbers or have minima. */
typedef enum units_form {
    UNITS_NONE, UNITS_RAISED_32, UNITS_RAISED_16, UNITS_MINIMA_32, UNITS_MINIMA_16, UNITS_BF16
} units_form;

units_form cpu_units_form(uint32_t type);
int cpu_units_bias(uint32_t type); /* by which numbers are raised */

static inline int cpu_units_parts(units_form form)
{
    return form == UNITS_RAISED_16 || form == UNITS_MINIMA_16 ? 2 : 1;
}

static inline bool cpu_units_minima(units_form form)
{
    return form == UNITS_MINIMA_32 || form == UNITS_MINIMA_16;
}

/* A panel of a strip. */
typedef struct units_strip {
    uint8_t *lines;      /* 64 bytes for each four elements of k (bf16: two)                     */
    float *scale, *minimum; /* 16 of each for each group of 32 or 16; not for bf16               */
} units_strip;

/* Rows m .. m + rows - 1 (at most 16; the rest are zeros), elements k0 .. k0 + kc - 1; `room` is
 * for their numbers before they are exchanged. */
void cpu_units_strip(const cpu_gemm *g, int64_t m, int64_t rows, int64_t k0, int64_t kc, uint8_t *room,
                     const units_strip *to);
#define UNITS_ROOM ((PANEL * 2 + 64) * STRIP) /* bytes of `room` */

/* Four bytes of a packed column, or two elements of bf16, in all lanes. */
CPU_INLINE __m512i units_four(const uint8_t *x)
{
    int32_t v;
    memcpy(&v, x, 4);
    return _mm512_set1_epi32(v);
}

/* Columns in tiles, as many in each as can be: where tile t begins. */
static inline int64_t cpu_units_tile(int64_t n, int64_t t)
{
    const int64_t tiles = (n + TILE - 1) / TILE, each = n / tiles, more = n % tiles;
    return t * each + (t < more ? t : more);
}

/* Bytes of a group of 32 elements of a packed column: numbers, scale, sums. */
static inline int64_t cpu_units_group_bytes(units_form form)
{
    return form == UNITS_BF16 ? 64 : 36 + 4 * cpu_units_parts(form);
}

/* Columns c0 .. c1 - 1 of g->n in tiles. */
void cpu_units_pack(const cpu_gemm *g, int64_t c0, int64_t c1, uint8_t *out);
/* A column as it is: its numbers, the groups' scales, and the sums of their numbers, times the scale, one for each
 * group of the weights. */
typedef struct units_column {
    uint8_t *q;
    float *scale, *sum;
} units_column;
void cpu_units_round(const cpu_gemm *g, int64_t c, const units_column *to);

/* Weights of bf16 with EU_STRIP rows side by side, columns packed (bf16.c). */
void cpu_units_bf16(const cpu_gemm *g, const uint8_t *packed, int64_t m0, int64_t m1);

/* Up to FEW columns and weights of bytes (few.c). */
void cpu_units_few(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch);
size_t cpu_units_few_scratch(int64_t k);

#endif
