/*
 * Packed weights: rows of blocks in groups, the first block of each of the group's rows, then the second of
 * each, and so on, so that what reads several rows side by side reads one stretch of memory.  It is a
 * permutation of the tensor's bytes within each group.
 */
#ifndef LIBENGINE_UTIL_PACK_H
#define LIBENGINE_UTIL_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "engine/plugin.h"

/* Rows of a group; eng_layout_info.layout of these forms.  EU_STRIP: of types without blocks, whose elements are what
 * lies side by side (bf16: two of a row, a word). */
enum { EU_PACKED_ROWS = 4, EU_LANES = 8, EU_STRIP = 32 };

/* The parts of a block in lanes: `lead` runs of `run` bytes, words, and runs of two bytes behind them. */
typedef struct eu_lanes {
    uint8_t run, lead, tail; /* run 0: the type has no such form */
} eu_lanes;
/* The types that have one, by the layouts of the GGUF format: those whose numbers, without sign, are so small that 16
 * products with bytes can be summed in 16 bits, or eight (up to 32, or 64), and others. */
#define EU_LANES_SMALL(X)                                                                                              \
    X(Q4_0, 2, 1, 0) X(Q4_1, 2, 2, 0) X(Q5_0, 2, 1, 0) X(Q5_1, 2, 2, 0) X(MXFP4, 1, 1, 0) X(NVFP4, 2, 0, 0)            \
    X(Q2_K, 2, 0, 2) X(Q3_K, 2, 0, 1) X(Q4_K, 2, 2, 0) X(Q5_K, 2, 2, 0) X(Q6_K, 2, 0, 1)
#define EU_LANES_LARGE(X) X(Q8_0, 2, 1, 0) X(IQ4_NL, 2, 1, 0) X(IQ4_XS, 2, 2, 0)
#define EU_LANES_TYPES(X) EU_LANES_SMALL(X) EU_LANES_LARGE(X)
/* And those of two bits and fewer, whose numbers are as small as numbers get. */
#define EU_LANES_LEAST(X) X(TQ1_0, 2, 0, 1) X(TQ2_0, 2, 0, 1) X(Q1_0, 2, 1, 0) X(Q2_0, 2, 1, 0)
/* And those whose numbers come from tables of patterns. */
#define EU_LANES_GRID(X)                                                                                               \
    X(IQ2_XXS, 2, 1, 0) X(IQ2_XS, 2, 1, 0) X(IQ2_S, 2, 1, 0) X(IQ3_XXS, 2, 1, 0) X(IQ3_S, 2, 1, 0) X(IQ1_S, 2, 1, 0)   \
    X(IQ1_M, 2, 0, 0)
#define EU_LANES_BIT(NAME, ...) | UINT64_C(1) << ENG_TYPE_##NAME /* 0 EU_LANES_SMALL(EU_LANES_BIT): a set of types */
eu_lanes eu_lanes_of(uint32_t type);

typedef struct eu_packing {
    uint64_t row_bytes;
    uint32_t block_bytes; /* of what lies side by side                       */
    uint32_t rows;        /* of a group; 1: as in the file                   */
    eu_lanes lanes;       /* of EU_LANES rows; run 0: blocks stay whole      */
} eu_packing;
/* How rows of a type are packed in such groups. */
eu_packing eu_packing_of(uint32_t type, uint32_t block_bytes, uint64_t row_bytes, uint32_t rows);

/* Can a tensor be packed, by its type, its shape and those who read it?  They must be products and row
 * lookups. */
bool eu_packable(const eng_store_tensor *tensor, const eng_type_info *type);
/* Does operand `operand` of the op read packed rows? */
bool eu_reads_packed(uint32_t op, uint32_t operand);
/* How such a tensor is kept, for eng_layout_info: packed if that is asked for and can be. */
void eu_layout_choose(const eng_store_tensor *tensor, const eng_type_info *type, eng_layout_info *info);
/* The same in lanes if the device multiplies such rows of the type, which is in `types`, and unless the tensor is to be
 * as in the file.  False: it cannot be. */
bool eu_layout_lanes(const eng_store_tensor *tensor, const eng_type_info *type, uint64_t types, eng_layout_info *info);
/* The same in groups of EU_STRIP rows, of types without blocks. */
bool eu_layout_strips(const eng_store_tensor *tensor, const eng_type_info *type, uint64_t types, eng_layout_info *info);

/* The answer of store_layout, to a caller whose struct may be shorter. */
static inline void eu_layout_give(eng_layout_info *to, const eng_layout_info *from)
{
    const uint32_t size = to->size;
    memcpy(to, from, size < sizeof *from ? size : sizeof *from);
    to->size = size;
}

/* Bytes from..to of the tensor, of a region of one run. */
eng_region eu_region_part(const eng_region *r, uint64_t from, uint64_t to);
/* Is all that the regions bring what the tensor has in place already, its contents being at `data`? */
bool eu_regions_in_place(const void *data, const eng_region *regions, uint32_t n);

/* Blocks first .. first + n - 1 of row `row` of the packed rows at `packed`, to `out`. */
void eu_packed_row(const eu_packing *p, const void *packed, uint64_t row, uint64_t first, uint64_t n, void *out);

/* Whole groups: `bytes` of rows one after the other to blocks side by side. */
void eu_pack_groups(const eu_packing *p, const void *rows, void *packed, uint64_t bytes);

/* Memory that holds a packed tensor.  0: done. */
typedef struct eu_packed_memory {
    int (*read)(void *ctx, uint64_t at, uint64_t bytes, void *to);
    int (*write)(void *ctx, uint64_t at, uint64_t bytes, const void *from);
    void *ctx;
} eu_packed_memory;
/* A region of the tensor as a file has it, to or from that memory, some MiB at a time.  What read and write
 * return if it is not 0; -1: no memory. */
int eu_packed_move(const eu_packing *p, const eng_region *region, bool up, const eu_packed_memory *memory);

#endif
