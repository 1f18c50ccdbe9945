/* What tiles meet next is asked for, into the second-level cache, while they meet other things. */
#ifndef CPU_TILES_ASKS_H
#define CPU_TILES_ASKS_H

#include "../ops/gemm.h"

/* Rows of cache lines, `each` of these in a step: more at once are more misses than a core can have. */
typedef struct tile_asks {
    const uint8_t *at;
    int64_t line, lines, rows, stride;
    int64_t each;
} tile_asks;

CPU_INLINE tile_asks asks_of(const uint8_t *at, int64_t bytes, int64_t rows, int64_t stride, int64_t steps)
{
    const int64_t lines = (bytes + 63) / 64;
    return (tile_asks){.at = at, .lines = lines, .rows = rows, .stride = stride, .each = rows * lines / steps + 1};
}

/* Elements k0 .. k0 + kc - 1 of a strip of weights that begins with row m. */
CPU_INLINE tile_asks asks_of_strip(const cpu_gemm *g, int64_t m, int64_t k0, int64_t kc, int64_t steps)
{
    const int64_t each = g->block_bytes * g->group; /* bytes of a block, of rows that are kept side by side */
    return asks_of(g->a + (m - g->row0) * g->stride + k0 / g->block * each, kc / g->block * each, EU_STRIP / g->group,
                   g->group * g->stride, steps);
}

CPU_INLINE void ask_some(tile_asks *a)
{
    for (int64_t left = a->each; left > 0 && a->rows > 0;) {
        const int64_t some = left < a->lines - a->line ? left : a->lines - a->line;
        for (int64_t i = 0; i < some; i++)
            ask_far(a->at + 64 * (a->line + i));
        left -= some;
        a->line += some;
        if (a->line < a->lines)
            continue;
        a->line = 0;
        a->at += a->stride;
        a->rows--;
    }
}

#endif
