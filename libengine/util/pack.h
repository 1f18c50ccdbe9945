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

enum { EU_PACKED_ROWS = 4 }; /* of a group; eng_layout_info.layout of this form */

typedef struct eu_packing {
    uint64_t row_bytes;
    uint32_t block_bytes;
    uint32_t rows;        /* of a group; 1: as in the file                   */
} eu_packing;

/* Can a tensor be packed, by its type, its shape and those who read it?  They must be products and row
 * lookups. */
bool eu_packable(const eng_store_tensor *tensor, const eng_type_info *type);
/* Does operand `operand` of the op read packed rows? */
bool eu_reads_packed(uint32_t op, uint32_t operand);
/* How such a tensor is kept, for eng_layout_info: packed if that is asked for and can be. */
void eu_layout_choose(const eng_store_tensor *tensor, const eng_type_info *type, eng_layout_info *info);

/* The answer of store_layout, to a caller whose struct may be shorter. */
static inline void eu_layout_give(eng_layout_info *to, const eng_layout_info *from)
{
    const uint32_t size = to->size;
    memcpy(to, from, size < sizeof *from ? size : sizeof *from);
    to->size = size;
}

/* Is all that the regions bring what the tensor has in place already, its contents being at `data`? */
bool eu_regions_in_place(const void *data, const eng_region *regions, uint32_t n);

/* Blocks first .. first + n - 1 of row `row` of the packed rows at `packed`, to `out`. */
void eu_packed_row(const eu_packing *p, const void *packed, uint64_t row, uint64_t first, uint64_t n, void *out);

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
