/*
 * Weights of bf16 with rows side by side (EU_STRIP, two elements of each in a word): met by columns where they lie.  A
 * vector of words is 16 rows'; two of them meet each pair of a column.
 */
#include "config.h"

#include "libengine/util/util.h"

#include "units.h"

#define WORDS 256   /* of k, two elements each: what a tile reads of them and of its columns stays near */
#define AHEAD 8192  /* bytes: what a single tile asks for so much earlier */
#define LINE (4 * EU_STRIP)

/* Words of a strip from row m on and of `cols` columns packed side by side. */
typedef struct bf16_tile {
    const uint8_t *w, *ask; /* what is asked for meanwhile: two lines, or one, for each word */
    const uint8_t *x;
    int64_t words;
    float *const *o;
    int64_t m;
    bool first, shared;     /* added to nothing; other tiles ask for the rest */
} bf16_tile;

CPU_INLINE void tile(const int vectors, const int cols, const bf16_tile *t)
{
    const uint8_t *w = t->w, *x = t->x, *next = t->ask;
    const int64_t ask = t->shared ? 64 : LINE;
    __m512 sum[TILE][2];
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        CPU_UNROLL
        for (int r = 0; r < vectors; r++)
            sum[c][r] = _mm512_setzero_ps();
    for (int64_t i = 0; i < t->words; i++, w += LINE, x += 4 * cols, next += ask) {
        __m512bh a[2];
        CPU_UNROLL
        for (int r = 0; r < vectors; r++)
            a[r] = (__m512bh)_mm512_loadu_si512(w + 64 * r);
        CPU_UNROLL
        for (int c = 0; c < cols; c++) {
            const __m512bh b = (__m512bh)units_four(x + 4 * c);
            CPU_UNROLL
            for (int r = 0; r < vectors; r++)
                sum[c][r] = _mm512_dpbf16_ps(sum[c][r], a[r], b);
        }
        ask_far(next);
        if (!t->shared)
            ask_far(next + 64);
    }
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        CPU_UNROLL
        for (int r = 0; r < vectors; r++) {
            float *o = t->o[c] + t->m + 16 * r;
            _mm512_storeu_ps(o, t->first ? sum[c][r] : _mm512_add_ps(_mm512_loadu_ps(o), sum[c][r]));
        }
}

#define CASE(n) case n: if (vectors == 2) tile(2, n, t); else tile(1, n, t); break;
static void tiles(int vectors, int64_t cols, const bf16_tile *t)
{
    switch (cols) {
        CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) CASE(9) CASE(10) CASE(11) CASE(12)
    default: break;
    }
}

/* Some words of a strip with all columns.  A single tile asks for what it needs soon; of several the first two ask for what
 * comes behind these words, a half each, for one alone would be waited for. */
static void strip(const cpu_gemm *g, const uint8_t *packed, int64_t m, int vectors, int64_t word, int64_t words)
{
    const int64_t column = cpu_units_groups(g->k) * cpu_units_group_bytes(UNITS_BF16), first = (m - g->row0) % EU_STRIP;
    bf16_tile t = {.w = g->a + (m - g->row0 - first) * g->stride + word * LINE + 4 * first, .words = words, .m = m,
                   .first = word == 0, .shared = g->n > TILE};
    for (int64_t i = 0, c = 0, end; c < g->n; i++, c = end) {
        end = cpu_units_tile(g->n, i + 1);
        t.x = packed + c * column + word * 4 * (end - c);
        t.ask = t.w + (!t.shared ? AHEAD : i < 2 ? words * LINE + i * (words * LINE / 2) : 0);
        t.o = g->o + c;
        tiles(vectors, end - c, &t);
    }
}

void cpu_units_bf16(const cpu_gemm *g, const uint8_t *packed, int64_t m0, int64_t m1)
{
    int64_t rows;
    for (int64_t m = m0; m < m1; m += rows) {
        rows = m1 - m < EU_STRIP || (m - g->row0) % EU_STRIP ? STRIP : EU_STRIP;
        for (int64_t word = 0; 2 * word < g->k; word += WORDS)
            strip(g, packed, m, (int)(rows / STRIP), word, g->k / 2 - word < WORDS ? g->k / 2 - word : WORDS);
    }
}
