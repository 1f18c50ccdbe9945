/*
 * Weights of bf16 with rows side by side (EU_STRIP) times columns rounded to bf16, by tiles (tiles.h): 16 lines of a
 * strip, two elements of 16 rows in each, are a tile as they lie.  Two of them, for the strip's 32 rows, meet two of 16
 * columns each: four products of 16 cycles for four tiles loaded.
 *
 * Sums of a chunk of k are formed in tiles and added to results in f32, chunk after chunk, elements that are no whole
 * tile in a chunk of their own: the same order for any number of columns.
 */
#include "config.h"

#include "libengine/util/util.h"

#include "../units/units.h"
#include "tiles.h"
#include "variant.h"

#define WORDS 16      /* of k, two elements each: lines of a tile                          */
#define CHUNK 128     /* words: a strip's lines and 32 columns of them stay in the nearest cache */
#define LINE (4 * EU_STRIP)
#define COLUMNS (2 * TILE_ROWS)
#define AHEAD 8192    /* bytes: what is asked for so much earlier, by the first columns alone */
#define APART 64      /* bytes between columns, which would else lie in one set of a cache   */

static int64_t column_bytes(int64_t k)
{
    return (4 * ((k + 1) / 2) + TILE_LINE - 1) / TILE_LINE * TILE_LINE + APART;
}

static void pack_column(const cpu_gemm *g, int64_t c, uint8_t *out)
{
    for (int64_t k = 0; k < g->k; k += GROUP, out += 2 * GROUP) {
        float buffer[GROUP];
        const float *x = cpu_gemm_elements(g, c, k, GROUP, buffer);
        _mm512_storeu_si512(out, (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + 16), _mm512_loadu_ps(x)));
    }
}

/* A chunk of a strip's rows, 16 or 32, times up to 32 columns. */
typedef struct bf16_tile {
    const uint8_t *w, *x; /* the strip's lines; the first column            */
    int64_t stride;       /* bytes from column to column                    */
    int64_t words;        /* of the chunk: a multiple of WORDS, or fewer     */
    bool asks;            /* for what comes behind the chunk's lines         */
} bf16_tile;

/* Of the thread: columns in the first and the second tile, and words, that tiles 0 .. 3 (sums), 4 and 5 (columns), 6 and 7
 * (lines) have. */
static _Thread_local int shaped;

static void shape_tiles(int64_t cols, int64_t words)
{
    const int first = cols < TILE_ROWS ? (int)cols : TILE_ROWS, second = (int)cols - first;
    const int tile_words = words < WORDS ? (int)words : WORDS, shape = (int)cols * 64 + tile_words;
    if (shaped == shape)
        return;
    shaped = shape;
    tile_shapes s = {0};
    for (int i = 0; i < 2; i++) {
        tile_shape(&s, i, first, TILE_LINE);
        tile_shape(&s, 6 + i, tile_words, TILE_LINE);
        if (second)
            tile_shape(&s, 2 + i, second, TILE_LINE);
    }
    tile_shape(&s, 4, first, 4 * tile_words);
    if (second)
        tile_shape(&s, 5, second, 4 * tile_words);
    tiles_configure(&s);
}

CPU_INLINE void ask(const uint8_t *p)
{
    for (int64_t i = 0; i < WORDS * LINE; i += 64)
        ask_far(p + i);
}

/* sums: of vectors and columns. */
CPU_INLINE void multiply_chunk(const bf16_tile *t, const bool two_vectors, const bool two_tiles,
                               float sums[2][COLUMNS][TILE_ROWS])
{
    const uint8_t *w = t->w, *x = t->x, *behind = t->x + TILE_ROWS * t->stride;
    TILE_ZERO(0);
    if (two_vectors)
        TILE_ZERO(1);
    if (two_tiles)
        TILE_ZERO(2);
    if (two_vectors && two_tiles)
        TILE_ZERO(3);
    for (int64_t i = 0; i < t->words; i += WORDS, w += WORDS * LINE, x += TILE_LINE, behind += TILE_LINE) {
        TILE_LOAD(6, w, LINE);
        TILE_LOAD(4, x, t->stride);
        TILE_BF16(0, 4, 6);
        if (two_vectors) {
            TILE_LOAD(7, w + TILE_LINE, LINE);
            TILE_BF16(1, 4, 7);
        }
        if (two_tiles) {
            TILE_LOAD(5, behind, t->stride);
            TILE_BF16(2, 5, 6);
        }
        if (two_vectors && two_tiles)
            TILE_BF16(3, 5, 7);
        if (t->asks)
            ask(w + AHEAD);
    }
    TILE_STORE(0, sums[0][0], TILE_LINE);
    if (two_vectors)
        TILE_STORE(1, sums[1][0], TILE_LINE);
    if (two_tiles)
        TILE_STORE(2, sums[0][TILE_ROWS], TILE_LINE);
    if (two_vectors && two_tiles)
        TILE_STORE(3, sums[1][TILE_ROWS], TILE_LINE);
}

/* A chunk times all columns, added to their results. */
static void run_chunk(const cpu_gemm *g, const uint8_t *packed, int64_t m, int vectors, int64_t word, int64_t words)
{
    const int64_t first = (m - g->row0) % EU_STRIP;
    bf16_tile t = {.w = g->a + (m - g->row0 - first) * g->stride + word * LINE + 4 * first, .words = words,
                   .stride = column_bytes(g->k), .asks = true};
    _Alignas(64) float sums[2][COLUMNS][TILE_ROWS];
    for (int64_t c = 0; c < g->n; c += COLUMNS, t.asks = false) {
        const int64_t cols = g->n - c < COLUMNS ? g->n - c : COLUMNS;
        shape_tiles(cols, words);
        t.x = packed + c * t.stride + 4 * word;
        if (vectors == 2 && cols > TILE_ROWS)
            multiply_chunk(&t, true, true, sums);
        else if (vectors == 2)
            multiply_chunk(&t, true, false, sums);
        else if (cols > TILE_ROWS)
            multiply_chunk(&t, false, true, sums);
        else
            multiply_chunk(&t, false, false, sums);
        for (int64_t i = 0; i < cols; i++)
            for (int r = 0; r < vectors; r++) {
                float *o = g->o[c + i] + m + TILE_ROWS * r;
                const __m512 sum = _mm512_load_ps(sums[r][i]);
                _mm512_storeu_ps(o, word ? _mm512_add_ps(_mm512_loadu_ps(o), sum) : sum);
            }
    }
}

void cpu_tiles_bf16(const cpu_gemm *g, const uint8_t *packed, int64_t m0, int64_t m1)
{
    const int64_t whole = g->k / 2 / WORDS * WORDS;
    int64_t rows;
    for (int64_t m = m0; m < m1; m += rows) {
        rows = m1 - m < EU_STRIP || (m - g->row0) % EU_STRIP ? STRIP : EU_STRIP;
        for (int64_t word = 0; word < whole; word += CHUNK)
            run_chunk(g, packed, m, (int)(rows / STRIP), word, whole - word < CHUNK ? whole - word : CHUNK);
        if (whole < g->k / 2)
            run_chunk(g, packed, m, (int)(rows / STRIP), whole, g->k / 2 - whole);
    }
    shaped = 0;
    tiles_release();
}

void cpu_tiles_bf16_pack(const cpu_gemm *g, int64_t c0, int64_t c1, uint8_t *out)
{
    for (int64_t c = c0; c < c1; c++)
        pack_column(g, c, out + c * column_bytes(g->k));
}

size_t cpu_tiles_bf16_packed(int64_t k, int64_t n)
{
    return cpu_aligned((size_t)(n * column_bytes(k)));
}
