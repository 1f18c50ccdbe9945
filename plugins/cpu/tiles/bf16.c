/*
 * Weights of bf16 with rows side by side (EU_STRIP) times columns, by tiles (tiles.h): 16 lines of a strip, two elements of
 * 16 rows in each, are a tile as they lie.  In precision fast columns are rounded to bf16: two tiles of a strip's 32 rows
 * meet two of 16 columns each, four products of 16 cycles for four tiles loaded.  In exact an element is a sum of three
 * numbers of bf16, each of which has the next eight bits of what those before leave: all 24 of a float, but for what lies
 * below the least normal number, which tiles take for zero.  Products are exact; those of the smallest parts are added
 * first: six products for five tiles loaded, 16 columns at a time.
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

/* -- columns ------------------------------------------------------------------------------------- */

/* A column: 32 elements after another, of these each part, a line of a tile. */
size_t cpu_tiles_bf16_column(int64_t k, int parts)
{
    return (size_t)(parts * ((k + GROUP - 1) / GROUP) * TILE_LINE + APART);
}

size_t cpu_tiles_bf16_packed(int64_t k, int64_t n, int parts)
{
    return cpu_aligned((size_t)n * cpu_tiles_bf16_column(k, parts));
}

CPU_INLINE void round_line(const float *x, uint8_t *out)
{
    _mm512_storeu_si512(out, (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + 16), _mm512_loadu_ps(x)));
}

/* The upper halves of 16 floats, as numbers of bf16; what they leave of *x goes back to it.  Of what is not finite nothing is
 * left, and what is no number stays none. */
CPU_INLINE __m256i take_part(__m512 *x)
{
    const __mmask16 none = _mm512_cmp_ps_mask(*x, *x, _CMP_UNORD_Q);
    __m512i bits = _mm512_and_si512(_mm512_castps_si512(*x), _mm512_set1_epi32((int)0xffff0000));
    bits = _mm512_mask_or_epi32(bits, none, bits, _mm512_set1_epi32(0x00400000));
    const __m512 left = _mm512_sub_ps(*x, _mm512_castsi512_ps(bits));
    *x = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(left, left, _CMP_ORD_Q), left); /* infinity less itself is none, too */
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(bits, 16));
}

CPU_INLINE void cut_line(const float *x, uint8_t *out)
{
    __m512 lo = _mm512_loadu_ps(x), hi = _mm512_loadu_ps(x + 16);
    CPU_UNROLL
    for (int p = 0; p < TILES_EXACT; p++) {
        _mm256_storeu_si256((__m256i *)(out + p * TILE_LINE), take_part(&lo));
        _mm256_storeu_si256((__m256i *)(out + p * TILE_LINE + 32), take_part(&hi));
    }
}

void cpu_tiles_bf16_pack(const cpu_gemm *g, int64_t c0, int64_t c1, int parts, uint8_t *packed)
{
    for (int64_t c = c0; c < c1; c++) {
        uint8_t *out = packed + (size_t)c * cpu_tiles_bf16_column(g->k, parts);
        for (int64_t k = 0; k < g->k; k += GROUP, out += parts * TILE_LINE) {
            float buffer[GROUP];
            const float *x = cpu_gemm_elements(g, c, k, GROUP, buffer);
            if (parts == 1)
                round_line(x, out);
            else
                cut_line(x, out);
        }
    }
}

/* -- tiles ----------------------------------------------------------------------------------------- */

/* A chunk of a strip's rows, 16 or 32, times up to 32 columns, or in exact 16. */
typedef struct bf16_tile {
    const uint8_t *w, *x; /* the strip's lines; the first column            */
    int64_t stride;       /* bytes from column to column                    */
    int64_t words;        /* of the chunk: a multiple of WORDS, or fewer     */
    bool asks;            /* for what comes behind the chunk's lines         */
} bf16_tile;

/* Of the thread: 0, or how large tiles are. */
static _Thread_local int shaped;

/* Tiles 0 and 1 are sums of the first 16 columns, 6 and 7 lines.  One part: 2 and 3 are sums of further columns, 4 and 5 both
 * tiles' columns; three: 2 to 4 are the columns' parts. */
static void shape_tiles(int64_t cols, int64_t words, int parts)
{
    const int first = cols < TILE_ROWS ? (int)cols : TILE_ROWS, second = (int)cols - first;
    const int tile_words = words < WORDS ? (int)words : WORDS, shape = ((int)cols * 64 + tile_words) * 4 + parts;
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
    for (int i = 2; parts == TILES_EXACT && i < 4; i++)
        tile_shape(&s, i, first, 4 * tile_words);
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

/* The same of 16 columns in three parts. */
CPU_INLINE void multiply_parts(const bf16_tile *t, const bool two_vectors, float sums[2][COLUMNS][TILE_ROWS])
{
    const uint8_t *w = t->w, *x = t->x;
    TILE_ZERO(0);
    if (two_vectors)
        TILE_ZERO(1);
    for (int64_t i = 0; i < t->words; i += WORDS, w += WORDS * LINE, x += TILES_EXACT * TILE_LINE) {
        TILE_LOAD(6, w, LINE);
        TILE_LOAD(4, x + 2 * TILE_LINE, t->stride);
        TILE_BF16(0, 4, 6);
        if (two_vectors) {
            TILE_LOAD(7, w + TILE_LINE, LINE);
            TILE_BF16(1, 4, 7);
        }
        TILE_LOAD(3, x + TILE_LINE, t->stride);
        TILE_BF16(0, 3, 6);
        if (two_vectors)
            TILE_BF16(1, 3, 7);
        TILE_LOAD(2, x, t->stride);
        TILE_BF16(0, 2, 6);
        if (two_vectors)
            TILE_BF16(1, 2, 7);
        if (t->asks)
            ask(w + AHEAD);
    }
    TILE_STORE(0, sums[0][0], TILE_LINE);
    if (two_vectors)
        TILE_STORE(1, sums[1][0], TILE_LINE);
}

static void multiply(const bf16_tile *t, int vectors, int64_t cols, int parts, float sums[2][COLUMNS][TILE_ROWS])
{
    if (parts == TILES_EXACT && vectors == 2)
        multiply_parts(t, true, sums);
    else if (parts == TILES_EXACT)
        multiply_parts(t, false, sums);
    else if (vectors == 2 && cols > TILE_ROWS)
        multiply_chunk(t, true, true, sums);
    else if (vectors == 2)
        multiply_chunk(t, true, false, sums);
    else if (cols > TILE_ROWS)
        multiply_chunk(t, false, true, sums);
    else
        multiply_chunk(t, false, false, sums);
}

/* A chunk times all columns, added to their results. */
static void run_chunk(const cpu_gemm *g, const uint8_t *packed, int parts, int64_t m, int vectors, int64_t word,
                      int64_t words)
{
    const int64_t first = (m - g->row0) % EU_STRIP, most = parts == 1 ? COLUMNS : TILE_ROWS;
    bf16_tile t = {.w = g->a + (m - g->row0 - first) * g->stride + word * LINE + 4 * first, .words = words,
                   .stride = (int64_t)cpu_tiles_bf16_column(g->k, parts), .asks = true};
    _Alignas(64) float sums[2][COLUMNS][TILE_ROWS];
    for (int64_t c = 0; c < g->n; c += most, t.asks = false) {
        const int64_t cols = g->n - c < most ? g->n - c : most;
        shape_tiles(cols, words, parts);
        t.x = packed + c * t.stride + word / WORDS * parts * TILE_LINE;
        multiply(&t, vectors, cols, parts, sums);
        for (int64_t i = 0; i < cols; i++)
            for (int r = 0; r < vectors; r++) {
                float *o = g->o[c + i] + m + TILE_ROWS * r;
                const __m512 sum = _mm512_load_ps(sums[r][i]);
                _mm512_storeu_ps(o, word ? _mm512_add_ps(_mm512_loadu_ps(o), sum) : sum);
            }
    }
}

void cpu_tiles_bf16(const cpu_gemm *g, const uint8_t *packed, int parts, int64_t m0, int64_t m1)
{
    const int64_t whole = g->k / 2 / WORDS * WORDS;
    int64_t rows;
    for (int64_t m = m0; m < m1; m += rows) {
        rows = m1 - m < EU_STRIP || (m - g->row0) % EU_STRIP ? STRIP : EU_STRIP;
        for (int64_t word = 0; word < whole; word += CHUNK)
            run_chunk(g, packed, parts, m, (int)(rows / STRIP), word, whole - word < CHUNK ? whole - word : CHUNK);
        if (whole < g->k / 2)
            run_chunk(g, packed, parts, m, (int)(rows / STRIP), whole, g->k / 2 - whole);
    }
    shaped = 0;
    tiles_release();
}
