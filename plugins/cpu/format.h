/*
 * Operands and the formats of their rows: all that the code knows which is compiled once per
 * instruction set and takes longest.  It does not include plugin.h, so that a new call of
 * the plugin interface leaves its objects as they are.
 */
#ifndef CPU_FORMAT_H
#define CPU_FORMAT_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <engine/types.h>

#define CPU_ALIGN 64 /* of scratch tensors and of everything we allocate */
#define CPU_TYPES 64

#define CPU_INLINE static inline __attribute__((always_inline, unused))

/* Bytes to the next address that is aligned. */
CPU_INLINE uint64_t cpu_aligned(uint64_t bytes)
{
    return (bytes + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
}

/* -- tensors as the ops see them ------------------------------------------- */

/* An operand of one instance: its address is known. */
typedef struct cpu_tensor {
    uint8_t *data;
    uint32_t type;
    uint32_t block;       /* elements per block                              */
    uint32_t block_bytes;
    uint32_t rank;
    int64_t ne[ENG_MAX_RANK];
    int64_t nb[ENG_MAX_RANK];
    int64_t rows;         /* product of ne[1..]                              */
    uint32_t group;       /* rows that are packed together; 1: as in the file */
    bool contiguous;
} cpu_tensor;

#define CPU_DOT_ROWS 4 /* at most in one call of cpu_format.dot                */
#define CPU_GEMM_KC 2048 /* elements of k whose sum is formed at once: a whole number of blocks of every type */
#define CPU_GEMM_PART 1024 /* of these, so many of a few columns stay in the nearest cache */

/* Which part of a panel it is: a sum of both if it is the whole. */
typedef enum cpu_part { CPU_PART_INNER, CPU_PART_FIRST, CPU_PART_LAST } cpu_part;

/* How rows of a type are read. */
typedef struct cpu_format {
    /* Elements begin .. begin + n - 1 of a row as f32; both multiples of the
     * type's block. */
    void (*decode)(const uint8_t *row, int64_t begin, int64_t n, float *out);
    /* To out[r] adds row r times a column, panel by panel (gemm.h); 1 .. CPU_DOT_ROWS rows, k elements.  Columns are in
     * the order of cpu_dot_order. */
    void (*dot)(int64_t k, const uint8_t *a, int64_t stride, int rows, const float *b, float *out);
    /* The same for a row and 2 .. `columns` columns, of a part of a panel that begins at a multiple of CPU_GEMM_PART.
     * Chains, vectors sums[column][chain], begin from zero with the first part and are added to out[column] after the
     * last one.  The row behind the next one is `ahead` bytes from this one. */
    void (*dots)(int64_t k, const uint8_t *a, int64_t ahead, const float *const *b, int cols, cpu_part part,
                 float *sums, float *out);
    int columns; /* at most CPU_DOT_COLS; beyond them lines are faster */
    /* As `decode`, but in the order in which `dot` takes columns, at most CPU_GEMM_KC, vectors v, v + 4 .. side by side
     * from out + v * chain on, filled up with zeros to four times as many whole vectors. */
    void (*lines)(const uint8_t *row, int64_t begin, int64_t n, float *out, int64_t chain);
} cpu_format;

#endif
