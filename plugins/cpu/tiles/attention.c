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
#include "meet.h"
#include "variant.h"

#define CELLS CPU_ATTN_CELLS
#define STEP TILE_STEP

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

static bool takes(const cpu_attn_shape *s)
{
    return s->d > 0 && s->e > 0 && s->d % STEP == 0 && s->e % TILE_ROWS == 0 && s->columns >= TILE_ROWS;
}

static size_t scratch_bytes(const cpu_attn_shape *s)
{
    return cpu_aligned(scratch_of(s->d, s->e, s->columns, NULL).bytes);
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

static void scores(const cpu_attn_shape *s, const cpu_rows *rows, const later_rows *next, float *score, uint8_t *scratch)
{
    (void)next;
    const float *k = (const float *)rows->at;
    const attn_scratch at = scratch_of(s->d, s->e, s->columns, scratch);
    uint8_t *to = at.lines;
    for (int64_t i = 0; i < s->d; i += STEP)
        for (int64_t j = 0; j < CELLS; j += TILE_ROWS, to += TILE_BYTES_ALL)
            key_lines(k + j * s->d + i, s->d, to);
    begin_tiles();
    meet_all((tile_rows){at.q, s->d * 2, TILE_LINE}, s->columns,
             (tile_lines){at.lines, TILE_BYTES_ALL, CELLS / TILE_ROWS * TILE_BYTES_ALL}, CELLS / TILE_ROWS, s->d / STEP, score, CELLS,
             false);
    tiles_release();
}

static void values(const cpu_attn_shape *s, const cpu_rows *rows, const later_rows *next, const float *p, float *sum, uint8_t *scratch)
{
    (void)next;
    const float *v = (const float *)rows->at;
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
    begin_tiles();
    meet_all((tile_rows){at.p, CELLS * 2, TILE_LINE}, s->columns, (tile_lines){at.lines, TILE_BYTES_ALL, tiles * TILE_BYTES_ALL},
             tiles, CELLS / STEP, sum, s->e, true);
    tiles_release();
}

const cpu_attn_unit cpu_tiles_attention = {true, takes, scratch_bytes, queries, scores, values, NULL};
