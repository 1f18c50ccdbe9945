/*
 * Attention's blocks of cells by tiles, in precision fast: queries, keys, weights and values rounded to bf16, sums in f32.
 * Queries and weights are tiles with a column's elements in a line, as they lie; keys are transposed by pairs of elements,
 * values by pairs of cells, both for all columns of a chunk at once.  64 cells, 96 columns and 128 elements: 192 products of
 * 16 cycles, beside some 3,000 operations that make lines; f32 has 98,000 multiply-adds of registers for them.
 */
#include "config.h"

#include "../cpu.h"
#include "../ops/attention.h"
#include "../ops/transpose.h"
#include "pairs.h"
#include "tiles.h"
#include "variant.h"

#define CELLS CPU_ATTN_CELLS
#define STEP 32                            /* elements of k in a tile */
#define TILE_BYTES_ALL (TILE_ROWS * TILE_LINE)

/* Scratch: queries, lines of keys or values, weights. */
typedef struct attn_scratch {
    uint8_t *q, *lines, *p;
    size_t bytes;
} attn_scratch;

static int64_t whole_tiles(int64_t columns)
{
    return (columns + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
}

static attn_scratch scratch_of(int64_t d, int64_t e, int64_t columns, uint8_t *at)
{
    const size_t q = (size_t)(whole_tiles(columns) * d * 2), lines = (size_t)(CELLS * (d > e ? d : e) * 2);
    return (attn_scratch){at, at + q, at + q + lines, q + lines + (size_t)(whole_tiles(columns) * CELLS * 2)};
}

static bool takes(int64_t d, int64_t e, int64_t columns)
{
    return d > 0 && e > 0 && d % STEP == 0 && e % TILE_ROWS == 0 && columns >= TILE_ROWS;
}

static size_t scratch_bytes(int64_t d, int64_t e, int64_t columns)
{
    return cpu_aligned(scratch_of(d, e, columns, NULL).bytes);
}

/* -- products ----------------------------------------------------------------------------------------- */

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

/* Tiles 0 .. 3 are sums, 4 and 5 rows, 6 and 7 lines.  All are whole. */
static void begin_tiles(void)
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

/* All rows of `columns` times `tiles` tiles of lines. */
CPU_INLINE void meet_all(tile_rows a, int64_t columns, tile_lines b, int64_t tiles, int64_t steps, float *to, const bool more)
{
    const int64_t stride = tiles * TILE_ROWS;
    begin_tiles();
    for (int64_t c = 0; c < columns; c += 2 * TILE_ROWS)
        for (int64_t t = 0; t < tiles; t += 2) {
            const tile_rows rows = {a.at + c * a.stride, a.stride, a.step};
            const tile_lines lines = {b.at + t * b.next, b.next, b.step};
            float *at = to + c * stride + t * TILE_ROWS;
            const bool two_rows = c + TILE_ROWS < columns, two_lines = t + 1 < tiles;
            if (two_rows && two_lines)
                meet(rows, lines, steps, at, stride, more, true, true);
            else if (two_rows)
                meet(rows, lines, steps, at, stride, more, true, false);
            else if (two_lines)
                meet(rows, lines, steps, at, stride, more, false, true);
            else
                meet(rows, lines, steps, at, stride, more, false, false);
        }
    tiles_release(); /* what comes between needs both units for floats */
}

/* -- a chunk's queries, a block's keys and values --------------------------------------------------------- */

static void queries(const cpu_attn_shape *s, const uint8_t *const *q, uint8_t *scratch)
{
    const attn_scratch at = scratch_of(s->d, s->e, s->columns, scratch);
    for (int64_t c = 0; c < s->columns; c++)
        for (int64_t i = 0; i < s->d; i += STEP)
            _mm512_storeu_si512(at.q + (c * s->d + i) * 2, rounded_row((const float *)q[c] + i));
    memset(at.q + s->columns * s->d * 2, 0, (size_t)((whole_tiles(s->columns) - s->columns) * s->d * 2));
}

/* 32 elements of 16 cells: in line i elements 2i and 2i + 1 of each. */
CPU_INLINE void key_lines(const float *k, int64_t d, uint8_t *to)
{
    __m512 a[TILE_ROWS];
    CPU_UNROLL
    for (int i = 0; i < TILE_ROWS; i++)
        a[i] = _mm512_castsi512_ps(rounded_row(k + i * d));
    transpose_registers(a);
    CPU_UNROLL
    for (int i = 0; i < TILE_ROWS; i++)
        _mm512_storeu_ps(to + i * TILE_LINE, a[i]);
}

static void scores(const cpu_attn_shape *s, const float *k, float *score, uint8_t *scratch)
{
    const attn_scratch at = scratch_of(s->d, s->e, s->columns, scratch);
    uint8_t *to = at.lines;
    for (int64_t i = 0; i < s->d; i += STEP)
        for (int64_t j = 0; j < CELLS; j += TILE_ROWS, to += TILE_BYTES_ALL)
            key_lines(k + j * s->d + i, s->d, to);
    meet_all((tile_rows){at.q, s->d * 2, TILE_LINE}, s->columns,
             (tile_lines){at.lines, TILE_BYTES_ALL, CELLS / TILE_ROWS * TILE_BYTES_ALL}, CELLS / TILE_ROWS, s->d / STEP, score, false);
}

static void values(const cpu_attn_shape *s, const float *v, const float *p, float *sum, uint8_t *scratch)
{
    const attn_scratch at = scratch_of(s->d, s->e, s->columns, scratch);
    const int64_t tiles = s->e / TILE_ROWS;
    uint8_t *to = at.lines;
    for (int64_t j = 0; j < CELLS; j += STEP)
        for (int64_t i = 0; i < s->e; i += TILE_ROWS)
            for (int64_t l = j; l < j + STEP; l += 2, to += TILE_LINE)
                _mm512_storeu_si512(to, rounded_pairs(_mm512_loadu_ps(v + l * s->e + i), _mm512_loadu_ps(v + (l + 1) * s->e + i)));
    for (int64_t c = 0; c < s->columns; c++)
        for (int64_t j = 0; j < CELLS; j += STEP)
            _mm512_storeu_si512(at.p + (c * CELLS + j) * 2, rounded_row(p + c * CELLS + j));
    memset(at.p + s->columns * CELLS * 2, 0, (size_t)((whole_tiles(s->columns) - s->columns) * CELLS * 2));
    meet_all((tile_rows){at.p, CELLS * 2, TILE_LINE}, s->columns, (tile_lines){at.lines, TILE_BYTES_ALL, tiles * TILE_BYTES_ALL},
             tiles, CELLS / STEP, sum, true);
}

const cpu_attn_unit cpu_tiles_attention = {takes, scratch_bytes, queries, scores, values};
