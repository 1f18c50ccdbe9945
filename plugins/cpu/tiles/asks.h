/* What tiles meet next is asked for, into the second-level cache, while they meet other things. */
#ifndef CPU_TILES_ASKS_H
#define CPU_TILES_ASKS_H

#include "variant.h"

/* In each step some bytes of a row, and when all rows had their turn the next bytes of the first: more at once are more misses
 * than a core can have. */
typedef struct tile_asks {
    const uint8_t *begin, *at;
    int64_t row, rows, stride, bytes;
} tile_asks;

CPU_INLINE tile_asks asks_of(const uint8_t *at, int64_t bytes, int64_t rows, int64_t stride, int64_t steps)
{
    const int64_t lines = (bytes + 63) / 64;
    return (tile_asks){.begin = at, .at = at, .rows = rows, .stride = stride,
                       .bytes = 64 * ((int64_t)((uint32_t)(rows * lines) / (uint32_t)steps) + 1)};
}

/* Elements k0 .. k0 + kc - 1 of a strip of weights that begins with row m. */
CPU_INLINE tile_asks asks_of_strip(const cpu_gemm *g, int64_t m, int64_t k0, int64_t kc, int64_t steps)
{
    const uint32_t block = (uint32_t)g->block; /* a strip of one column is met in less time than long divisions take */
    const int64_t each = g->block_bytes * g->group; /* bytes of a block, of rows that are kept side by side */
    return asks_of(g->a + (m - g->row0) * g->stride + (uint32_t)k0 / block * each, (uint32_t)kc / block * each,
                   EU_STRIP / (uint32_t)g->group, g->group * g->stride, steps);
}

/* What comes after the strip that begins with row m, of rows m0 .. m1 - 1 that meet a chunk of elements k0 .. k1 - 1: the next
 * strip's, or the first one's next chunk, or with the last chunk what lies behind, or with further columns the first. */
CPU_INLINE tile_asks asks_of_next(const cpu_gemm *g, int64_t m0, int64_t m1, int64_t m, int64_t k0, int64_t k1, bool all_columns,
                                  int64_t steps)
{
    const bool last = m + EU_STRIP >= m1, end = last && k1 >= g->k;
    const int64_t then = !last ? m + EU_STRIP : end && all_columns ? m1 : m0;
    return asks_of_strip(g, then, end ? 0 : last ? k1 : k0, TILES_CHUNK, steps);
}

CPU_INLINE void ask_some(tile_asks *a)
{
    for (int64_t i = 0; i < a->bytes; i += 64)
        ask_far(a->at + i);
    a->at += a->stride;
    if (++a->row < a->rows)
        return;
    a->row = 0;
    a->begin += a->bytes;
    a->at = a->begin;
}

#endif
