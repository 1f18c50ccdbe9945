/*
 * Weights of bf16 with rows side by side (EU_STRIP) times columns, by tiles (tiles.h): 16 lines of a strip, two elements of
 * 16 rows in each, are a tile as they lie.  In precision fast columns are rounded to bf16: two tiles of a strip's 32 rows
 * meet two of 16 columns each, four products of 16 cycles for four tiles loaded.  In exact an element is a sum of three
 * numbers of bf16, each of which has the next eight bits of what those before leave: all 24 of a float, but for what lies
 * below the least normal number, which tiles take for zero.  Products are exact; those of the smallest parts are added
 * first: twelve products for eight tiles loaded.
 *
 * In exact the sums of a chunk of k are formed in tiles and added to results in f32, chunk after chunk, elements that are no
 * whole tile in a chunk of their own: the same order for any number of columns.  In fast tiles go on with the results.
 */
#include "config.h"

#include "libengine/util/util.h"

#include "../units/units.h"
#include "asks.h"
#include "pairs.h"
#include "tiles.h"
#include "variant.h"

#define WORDS 16      /* of k, two elements each: lines of a tile                          */
#define CHUNK (TILES_CHUNK / 2) /* words: a strip's lines and 32 columns of them stay in the nearest cache */
#define LINE (4 * EU_STRIP)
#define SOME_STRIPS 8    /* that meet a chunk of columns one after another */
#define SOME_COLUMNS 512 /* of which a chunk stays in the second-level cache, in exact half as many */
#define COLUMNS (2 * TILE_ROWS)
#define APART 64      /* bytes between columns one after another, which would else lie in one set of a cache, as tiles would */

/* -- columns ------------------------------------------------------------------------------------- */

/* Bytes between columns, between a column's next parts, its next 32 elements, and 16 columns and the next. */
typedef struct bf16_layout {
    int64_t column, part, step, tile;
} bf16_layout;

/* A column is 32 elements after another, of these each part, a line of a tile.  Together they are tiles of each part, one after
 * another: lines that are far apart would be in as many pages, more than a core knows by heart.  (In exact that gains nothing.) */
static bf16_layout layout_of(int64_t k, tiles_packing p)
{
    const int64_t steps = (k + GROUP - 1) / GROUP, line = p.together ? TILE_ROWS * TILE_LINE : TILE_LINE;
    const int64_t chunk = TILES_CHUNK / GROUP * p.parts * line, all = steps * p.parts * line + (p.together ? chunk + line : APART);
    return (bf16_layout){.column = p.together ? TILE_LINE : all, .part = line, .step = p.parts * line,
                         .tile = p.together ? all : TILE_ROWS * all};
}

size_t cpu_tiles_bf16_column(int64_t k, tiles_packing packing)
{
    return (size_t)(layout_of(k, packing).tile / TILE_ROWS);
}

size_t cpu_tiles_bf16_packed(int64_t k, int64_t n, tiles_packing packing)
{
    return cpu_aligned((size_t)((n + TILE_ROWS - 1) / TILE_ROWS * layout_of(k, packing).tile));
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

CPU_INLINE void cut_line(const float *x, uint8_t *out, int64_t part)
{
    __m512 lo = _mm512_loadu_ps(x), hi = _mm512_loadu_ps(x + 16);
    CPU_UNROLL
    for (int p = 0; p < TILES_EXACT; p++) {
        _mm256_storeu_si256((__m256i *)(out + p * part), take_part(&lo));
        _mm256_storeu_si256((__m256i *)(out + p * part + 32), take_part(&hi));
    }
}

/* Columns c0 .. c1 - 1 of a tile. */
static void pack_tile(const cpu_gemm *g, int64_t c0, int64_t c1, int parts, const bf16_layout *l, uint8_t *out)
{
    for (int64_t k = 0; k < g->k; k += GROUP, out += l->step)
        for (int64_t c = c0; c < c1; c++) {
            float buffer[GROUP];
            const float *x = cpu_gemm_elements(g, c, k, GROUP, buffer);
            if (parts == 1)
                _mm512_storeu_si512(out + c % TILE_ROWS * l->column, rounded_row(x));
            else
                cut_line(x, out + c % TILE_ROWS * l->column, l->part);
        }
}

void cpu_tiles_bf16_pack(const cpu_gemm *g, int64_t c0, int64_t c1, tiles_packing packing, uint8_t *packed)
{
    const bf16_layout l = layout_of(g->k, packing);
    for (int64_t c = c0, end; c < c1; c = end) {
        end = packing.together ? c / TILE_ROWS * TILE_ROWS + TILE_ROWS : c + 1; /* one by one lines go to one page */
        end = end < c1 ? end : c1;
        pack_tile(g, c, end, packing.parts, &l, packed + c / TILE_ROWS * l.tile);
    }
}

/* -- tiles ----------------------------------------------------------------------------------------- */

/* A chunk of a strip's rows times up to 32 columns. */
typedef struct bf16_tile {
    const uint8_t *w, *x; /* the strip's lines; the first column            */
    const bf16_layout *layout;
    int64_t words;        /* of the chunk: a multiple of WORDS, or fewer     */
    tile_asks *asks, *ask_columns; /* for what comes after the chunk's lines and columns */
} bf16_tile;

/* Of the thread: 0, or how large tiles are. */
static _Thread_local int shaped;

/* Tiles 0 and 1 are sums of the first 16 columns, 2 and 3 of further ones, 4 and 5 both tiles' columns, 6 and 7 lines. */
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

/* A part's columns times lines.  Each sum waits for its last product, which takes as long as three others. */
CPU_INLINE void multiply_part(const uint8_t *x, const uint8_t *behind, int64_t stride, const bool two_tiles)
{
    TILE_LOAD(4, x, stride);
    TILE_BF16(0, 4, 6);
    TILE_BF16(1, 4, 7);
    if (two_tiles) {
        TILE_LOAD(5, behind, stride);
        TILE_BF16(2, 5, 6);
        TILE_BF16(3, 5, 7);
    }
}

/* Lines times columns, added to tiles of sums.  The least parts come first. */
CPU_INLINE void multiply_chunk(const bf16_tile *t, const int parts, const bool two_tiles)
{
    const bf16_layout l = *t->layout;
    const uint8_t *w = t->w, *x = t->x, *behind = t->x + l.tile;
    for (int64_t i = 0; i < t->words; i += WORDS, w += WORDS * LINE) {
        TILE_LOAD(6, w, LINE);
        TILE_LOAD(7, w + TILE_LINE, LINE);
        CPU_UNROLL
        for (int p = parts - 1; p >= 0; p--)
            multiply_part(x + p * l.part, behind + p * l.part, l.column, two_tiles);
        ask_some(t->asks);
        if (parts == 1) /* in exact there are three times as many, and three times as long to bring them */
            ask_some(t->ask_columns);
        x += l.step;
        behind += l.step;
    }
}

/* -- strips ------------------------------------------------------------------------------------------ */

/* Of results: until all of k was met they are one after another, for those of columns are often so far apart that no cache
 * keeps them. */
typedef float results[EU_STRIP];

/* Some strips, rows m .. end - 1, and columns c0 .. c1 - 1. */
typedef struct bf16_run {
    const cpu_gemm *g;
    const uint8_t *x;
    tiles_packing packing;
    bf16_layout layout;
    tiles_lines *lines;
    results *near; /* of each strip some_columns(), without gaps, which would leave sets of a cache to nobody */
    uint8_t *scratch;              /* for lines     */
    int64_t m, end, c0, c1;
} bf16_run;

static int64_t some_columns(const bf16_run *w)
{
    return w->packing.parts == 1 ? SOME_COLUMNS : SOME_COLUMNS / 2;
}

static results *near_of(const bf16_run *w, int64_t strip)
{
    return w->near + strip * some_columns(w);
}

static int64_t rows_of(const bf16_run *w, int64_t strip)
{
    const int64_t left = w->end - w->m - strip * EU_STRIP;
    return left < EU_STRIP ? left : EU_STRIP;
}

CPU_INLINE void zero_tiles(const bool two_tiles)
{
    TILE_ZERO(0);
    TILE_ZERO(1);
    if (two_tiles) {
        TILE_ZERO(2);
        TILE_ZERO(3);
    }
}

CPU_INLINE void load_tiles(results *from, const bool two_tiles)
{
    TILE_LOAD(0, from, sizeof *from);
    TILE_LOAD(1, from[0] + TILE_ROWS, sizeof *from);
    if (two_tiles) {
        TILE_LOAD(2, from + TILE_ROWS, sizeof *from);
        TILE_LOAD(3, from[TILE_ROWS] + TILE_ROWS, sizeof *from);
    }
}

CPU_INLINE void store_tiles(results *to, const bool two_tiles)
{
    TILE_STORE(0, to, sizeof *to);
    TILE_STORE(1, to[0] + TILE_ROWS, sizeof *to);
    if (two_tiles) {
        TILE_STORE(2, to + TILE_ROWS, sizeof *to);
        TILE_STORE(3, to[TILE_ROWS] + TILE_ROWS, sizeof *to);
    }
}

/* In fast tiles go on with the results that there are; in exact a chunk's sums are added to them, so that there are fewer
 * additions one after another. */
CPU_INLINE void add_chunk(const bf16_tile *t, const int parts, const int64_t cols, bool first, results *near)
{
    const bool two_tiles = cols > TILE_ROWS, apart = parts > 1 && !first;
    _Alignas(64) results sums[COLUMNS];
    if (first || apart)
        zero_tiles(two_tiles);
    else
        load_tiles(near, two_tiles);
    if (two_tiles)
        multiply_chunk(t, parts, true);
    else
        multiply_chunk(t, parts, false);
    store_tiles(apart ? sums : near, two_tiles);
    for (int64_t i = 0; i < cols && apart; i++)
        CPU_UNROLL
        for (int r = 0; r < EU_STRIP; r += TILE_ROWS)
            _mm512_store_ps(near[i] + r, _mm512_add_ps(_mm512_load_ps(near[i] + r), _mm512_load_ps(sums[i] + r)));
}

/* A strip's lines from `word` on. */
static const uint8_t *lines_at(const cpu_gemm *g, int64_t m, int64_t word)
{
    return g->a + (m - g->row0) * g->stride + word * LINE;
}

const uint8_t *cpu_tiles_bf16_lines(const cpu_gemm *g, int64_t m, int64_t rows, int64_t word, int64_t words, uint8_t *to)
{
    (void)rows;
    (void)words;
    (void)to;
    return lines_at(g, m, word);
}

/* So many words of a strip's rows from `word` on times the columns, added to their results.  Meanwhile the lines that come next are
 * asked for. */
static void run_chunk(const bf16_run *w, int64_t strip, int64_t word, int64_t words, tile_asks *ask_columns)
{
    const int64_t steps = (words + WORDS - 1) / WORDS * ((w->c1 - w->c0 + COLUMNS - 1) / COLUMNS), m = w->m + strip * EU_STRIP;
    tile_asks asks = asks_of_next(w->g, w->m, w->end, m, 2 * word, 2 * (word + words), w->c1 >= w->g->n, steps);
    bf16_tile t = {.w = w->lines(w->g, m, rows_of(w, strip), word, words, w->scratch), .words = words,
                   .layout = &w->layout, .asks = &asks, .ask_columns = ask_columns};
    for (int64_t c = w->c0; c < w->c1; c += COLUMNS) {
        const int64_t cols = w->c1 - c < COLUMNS ? w->c1 - c : COLUMNS;
        shape_tiles(cols, words);
        t.x = w->x + c / TILE_ROWS * w->layout.tile + word / WORDS * w->layout.step;
        if (w->packing.parts == 1)
            add_chunk(&t, 1, cols, word == 0, near_of(w, strip) + (c - w->c0));
        else
            add_chunk(&t, TILES_EXACT, cols, word == 0, near_of(w, strip) + (c - w->c0));
    }
}

/* The next chunk of columns, or further columns, or again the first. */
static tile_asks ask_columns(const bf16_run *w, int64_t word, int64_t words, int64_t strips)
{
    const bool more = word + words < w->g->k / 2;
    const int64_t c = more ? w->c0 : w->c1 < w->g->n ? w->c1 : 0, left = w->g->n - c, n = left < some_columns(w) ? left : some_columns(w);
    const int64_t steps = strips * ((w->c1 - w->c0 + COLUMNS - 1) / COLUMNS) * ((words + WORDS - 1) / WORDS);
    const uint8_t *at = w->x + c / TILE_ROWS * w->layout.tile + (more ? (word + words) / WORDS * w->layout.step : 0);
    const int64_t bytes = CHUNK / WORDS * w->layout.step;
    if (w->packing.together)
        return asks_of(at, bytes, (n + TILE_ROWS - 1) / TILE_ROWS, w->layout.tile, steps);
    return asks_of(at, bytes, n, w->layout.column, steps);
}

/* A chunk of all strips, one after another: columns of it stay in a cache, those of all k would not. */
static void run_strips(const bf16_run *w)
{
    const int64_t all = w->g->k / 2, whole = all / WORDS * WORDS, strips = (w->end - w->m + EU_STRIP - 1) / EU_STRIP;
    int64_t words;
    for (int64_t word = 0; word < all; word += words) {
        const int64_t until = word < whole ? whole : all; /* elements that are no whole tile are a chunk of their own */
        words = until - word < CHUNK ? until - word : CHUNK;
        tile_asks asks = {0};
        if (w->packing.parts == 1)
            asks = ask_columns(w, word, words, strips);
        for (int64_t s = 0; s < strips; s++)
            run_chunk(w, s, word, words, &asks);
    }
    for (int64_t c = w->c0; c < w->c1; c++)
        for (int64_t s = 0; s < strips; s++)
            memcpy(w->g->o[c] + w->m + s * EU_STRIP, near_of(w, s)[c - w->c0], (size_t)rows_of(w, s) * sizeof(float));
}

#define RESULTS_BYTES (SOME_STRIPS * SOME_COLUMNS * (int)sizeof(results))

size_t cpu_tiles_bf16_scratch(void)
{
    return RESULTS_BYTES + TILES_LINES_BYTES;
}

void cpu_tiles_bf16_rows(const cpu_gemm *g, tiles_packing packing, tiles_lines *lines, int64_t m0, int64_t m1, uint8_t *scratch)
{
    const int64_t each = (g->n > COLUMNS ? SOME_STRIPS : 1) * EU_STRIP; /* few columns are near as they are */
    bf16_run w = {.g = g, .x = g->packed, .packing = packing, .layout = layout_of(g->k, packing), .lines = lines,
                  .near = (results *)scratch,
                  .scratch = scratch + RESULTS_BYTES};
    if (m0 >= m1 || g->n == 0)
        return;
    if (!w.x) {
        cpu_tiles_bf16_pack(g, 0, g->n, packing, scratch + cpu_tiles_bf16_scratch());
        w.x = scratch + cpu_tiles_bf16_scratch();
    }
    for (w.m = m0; w.m < m1; w.m = w.end) {
        w.end = m1 - w.m < each ? m1 : w.m + each;
        for (w.c0 = 0; w.c0 < g->n; w.c0 = w.c1) {
            w.c1 = g->n - w.c0 < some_columns(&w) ? g->n : w.c0 + some_columns(&w);
            run_strips(&w);
        }
    }
    shaped = 0;
    tiles_release();
}
