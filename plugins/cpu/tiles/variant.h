/* What the files of the variant amx have for one another. */
#ifndef CPU_TILES_VARIANT_H
#define CPU_TILES_VARIANT_H

#include "libengine/util/util.h"

#include "../cpu.h"
#include "../ops/gemm.h"

#define TILES_EXACT 3   /* numbers of bf16, whose sum an element of a column is in exact */
#define TILES_CHUNK 256 /* elements of a strip of EU_STRIP rows that are met by all columns before the next */

/* How columns are packed for products of bf16: each element a sum of so many numbers, 1 or TILES_EXACT; and one column
 * after another, or, where all rows meet all of them, 16 together, tile after tile. */
typedef struct tiles_packing {
    int parts;
    bool together;
} tiles_packing;

/*
 * Products by tiles of bf16 (bf16.c): columns c0 .. c1 - 1; their bytes, of one and of n; rows m0 .. m1 - 1 times all of
 * them, packed or, in scratch behind what rows need, not.  Rows are given as lines, two elements of each of EU_STRIP rows,
 * so many from `word` on, at most half a chunk of them: `lines` says where they lie, or makes them at `to`, where there are
 * TILES_LINES_BYTES.
 */
#define TILES_LINES_BYTES (32 * 1024)
typedef const uint8_t *tiles_lines(const cpu_gemm *g, int64_t m, int64_t rows, int64_t word, int64_t words, uint8_t *to);
void cpu_tiles_bf16_pack(const cpu_gemm *g, int64_t c0, int64_t c1, tiles_packing packing, uint8_t *packed);
size_t cpu_tiles_bf16_column(int64_t k, tiles_packing packing);
size_t cpu_tiles_bf16_packed(int64_t k, int64_t n, tiles_packing packing);
size_t cpu_tiles_bf16_scratch(void);
void cpu_tiles_bf16_rows(const cpu_gemm *g, tiles_packing packing, tiles_lines *lines, int64_t m0, int64_t m1, uint8_t *scratch);
tiles_lines cpu_tiles_bf16_lines; /* of weights of bf16 with EU_STRIP rows side by side, which are such lines */

/* Precision fast with that many columns or more, of types other than bf16 (rounded.c), where planes.c has no digit: weights are
 * rounded to bf16.  One after another; together. */
#define TILES_ROUNDED 40
extern const cpu_products cpu_tiles_rounded[2];

#endif
