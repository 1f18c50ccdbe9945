/* Products of two matrices of bf16 by tiles, for what multiplies its operands with one another: attention and the delta net. */
#ifndef CPU_TILES_MEET_H
#define CPU_TILES_MEET_H

#include "pairs.h"
#include "tiles.h"

#define TILE_STEP 32 /* elements of k in a tile */
#define TILE_BYTES_ALL (TILE_ROWS * TILE_LINE)

/* Rows of both factors: 16 lines `stride` bytes apart and the next 16; a tile of lines and, behind `next` bytes, another; `step`
 * bytes to what comes next of k. */
typedef struct tile_rows {
    const uint8_t *at;
    int64_t stride, step;
} tile_rows;
typedef struct tile_lines {
    const uint8_t *at;
    int64_t next, step;
} tile_lines;

/* Before products: tiles 0 .. 3 are sums, 4 and 5 rows, 6 and 7 lines.  All are whole.  They are given back (tiles_release)
 * before much is done with floats, which needs both units. */
CPU_INLINE void begin_tiles(void)
{
    tile_shapes s = {0};
    for (int i = 0; i < 8; i++)
        tile_shape(&s, i, TILE_ROWS, TILE_LINE);
    tiles_configure(&s);
}

/* Added to sums at `to`, `stride` floats apart, or (not `more`) in place of them. */
CPU_INLINE void meet(tile_rows a, tile_lines b, int64_t steps, float *to, int64_t stride, const bool more, const bool two_rows,
                     const bool two_lines)
{
    float *const below = to + TILE_ROWS * stride;
    const int64_t bytes = stride * (int64_t)sizeof *to;
    if (more) {
        TILE_LOAD(0, to, bytes);
        if (two_lines)
            TILE_LOAD(1, to + TILE_ROWS, bytes);
        if (two_rows)
            TILE_LOAD(2, below, bytes);
        if (two_rows && two_lines)
            TILE_LOAD(3, below + TILE_ROWS, bytes);
    } else {
        TILE_ZERO(0);
        TILE_ZERO(1);
        TILE_ZERO(2);
        TILE_ZERO(3);
    }
    for (int64_t i = 0; i < steps; i++, a.at += a.step, b.at += b.step) {
        TILE_LOAD(6, b.at, TILE_LINE);
        TILE_LOAD(4, a.at, a.stride);
        TILE_BF16(0, 4, 6);
        if (two_lines) {
            TILE_LOAD(7, b.at + b.next, TILE_LINE);
            TILE_BF16(1, 4, 7);
        }
        if (two_rows) {
            TILE_LOAD(5, a.at + TILE_ROWS * a.stride, a.stride);
            TILE_BF16(2, 5, 6);
        }
        if (two_rows && two_lines)
            TILE_BF16(3, 5, 7);
    }
    TILE_STORE(0, to, bytes);
    if (two_lines)
        TILE_STORE(1, to + TILE_ROWS, bytes);
    if (two_rows)
        TILE_STORE(2, below, bytes);
    if (two_rows && two_lines)
        TILE_STORE(3, below + TILE_ROWS, bytes);
}

/* `count` rows, whose tiles are whole, times `tiles` tiles of lines. */
CPU_INLINE void meet_all(tile_rows a, int64_t count, tile_lines b, int64_t tiles, int64_t steps, float *to, int64_t stride,
                         const bool more)
{
    for (int64_t c = 0; c < count; c += 2 * TILE_ROWS)
        for (int64_t t = 0; t < tiles; t += 2) {
            const tile_rows rows = {a.at + c * a.stride, a.stride, a.step};
            const tile_lines lines = {b.at + t * b.next, b.next, b.step};
            float *at = to + c * stride + t * TILE_ROWS;
            const bool two_rows = c + TILE_ROWS < count, two_lines = t + 1 < tiles;
            if (two_rows && two_lines)
                meet(rows, lines, steps, at, stride, more, true, true);
            else if (two_rows)
                meet(rows, lines, steps, at, stride, more, true, false);
            else if (two_lines)
                meet(rows, lines, steps, at, stride, more, false, true);
            else
                meet(rows, lines, steps, at, stride, more, false, false);
        }
}

#endif
