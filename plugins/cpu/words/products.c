/* Strips of rows times tiles of columns, panel by panel (words.h). */
#include "config.h"

#include "../cpu.h"
#include "../ops/bytes.h"
#include "../ops/panels.h"
#include "words.h"

#define VECTORS 2 /* of a strip */

CPU_INLINE vb two_words(const uint8_t *p)
{
    int32_t v;
    memcpy(&v, p, 4);
    return _mm256_set1_epi32(v);
}

CPU_INLINE __m256 one_float(const uint8_t *p)
{
    return _mm256_broadcast_ss((const float *)(const void *)p);
}

/* Products of `lines` lines, from those at `line` on, with columns whose words are at x[c] + at. */
CPU_INLINE void multiply(const uint8_t *line, const int lines, const uint8_t *const *x, const int at, const int cols,
                         vb s[TILE][VECTORS])
{
    CPU_UNROLL
    for (int l = 0; l < lines; l++, line += 64) {
        const vb a[VECTORS] = {b_load(line), b_load(line + 32)};
        CPU_UNROLL
        for (int c = 0; c < cols; c++) {
            const vb b = two_words(x[c] + at + 4 * l);
            CPU_UNROLL
            for (int r = 0; r < VECTORS; r++) {
                const vb product = _mm256_madd_epi16(a[r], b);
                if (l) /* in words: the compiler adds up in another order and runs out of registers, or copies sums */
                    __asm__("vpaddd %1, %0, %0" : "+x"(s[c][r]) : "x"(product));
                else
                    s[c][r] = product;
            }
        }
    }
}

CPU_INLINE void groups_of(const words_strip *w, const uint8_t *const *columns, int64_t groups, const int cols,
                          const int parts, const bool minima, __m256 sum[TILE][VECTORS])
{
    const int64_t each = words_group_bytes(parts, minima);
    const int lines = GROUP / 2 / parts;
    const uint8_t *line = w->lines, *x[TILE];
    const float *d = w->d, *m = w->m;
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        x[c] = columns[c];
    for (int64_t i = 0; i < groups; i++) {
        CPU_UNROLL
        for (int p = 0; p < parts; p++, line += lines * 64, d += STRIP, m += STRIP) {
            vb s[TILE][VECTORS];
            multiply(line, lines, x, 4 * p * lines, cols, s);
            CPU_UNROLL
            for (int c = 0; c < cols; c++) {
                const __m256 scale = one_float(x[c] + 2 * GROUP);
                CPU_UNROLL
                for (int r = 0; r < VECTORS; r++) {
                    const __m256 by = _mm256_mul_ps(_mm256_loadu_ps(d + 8 * r), scale);
                    sum[c][r] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(s[c][r]), by, sum[c][r]);
                    if (minima)
                        sum[c][r] = _mm256_fmadd_ps(_mm256_loadu_ps(m + 8 * r), one_float(x[c] + 2 * GROUP + 4 + 4 * p),
                                                    sum[c][r]);
                }
            }
        }
        CPU_UNROLL
        for (int c = 0; c < cols; c++)
            x[c] += each;
    }
}

#define TILES_OF(name, parts, minima)                                                                                  \
    static void tile_##name(const words_strip *w, const uint8_t *const *x, int64_t groups, int cols,                   \
                            __m256 sum[TILE][VECTORS])                                                                 \
    {                                                                                                                  \
        switch (cols) {                                                                                                \
        case 1: groups_of(w, x, groups, 1, parts, minima, sum); break;                                                 \
        case 2: groups_of(w, x, groups, 2, parts, minima, sum); break;                                                 \
        case 3: groups_of(w, x, groups, 3, parts, minima, sum); break;                                                 \
        default: groups_of(w, x, groups, TILE, parts, minima, sum); break;                                             \
        }                                                                                                              \
    }
TILES_OF(raised_32, 1, false)
TILES_OF(minima_32, 1, true)
TILES_OF(raised_16, 2, false)
TILES_OF(minima_16, 2, true)

typedef void (*tile_call)(const words_strip *w, const uint8_t *const *x, int64_t groups, int cols,
                          __m256 sum[TILE][VECTORS]);

/* The results of a column's rows, of which there may be fewer than STRIP. */
CPU_INLINE void load_sums(const float *o, int64_t rows, __m256 *sum)
{
    float all[STRIP] = {0};
    if (rows < STRIP)
        o = memcpy(all, o, (size_t)rows * sizeof *o);
    sum[0] = _mm256_loadu_ps(o);
    sum[1] = _mm256_loadu_ps(o + 8);
}

CPU_INLINE void store_sums(const __m256 *sum, int64_t rows, float *o)
{
    float all[STRIP], *to = rows < STRIP ? all : o;
    _mm256_storeu_ps(to, sum[0]);
    _mm256_storeu_ps(to + 8, sum[1]);
    if (rows < STRIP)
        memcpy(o, all, (size_t)rows * sizeof *o);
}

/* What a run knows. */
typedef struct words_run {
    const cpu_gemm *g;
    tile_call tile;
    const uint8_t *packed;
    int64_t each; /* bytes of a packed group */
    words_strip strip;
    uint8_t *room;
} words_run;

static void run_panel(const void *what, const cpu_panel *p)
{
    const words_run *w = what;
    const cpu_gemm *g = w->g;
    const int64_t m = p->m, rows = p->rows, k0 = p->k0, c1 = p->c1;
    const int64_t kc = g->k - k0 < PANEL ? g->k - k0 : PANEL, column = cpu_units_groups(g->k) * w->each;
    cpu_words_strip(g, m, rows, k0, kc, w->room, &w->strip);
    for (int64_t c = p->c0; c < c1; c += TILE) {
        const int cols = c1 - c < TILE ? (int)(c1 - c) : TILE;
        const uint8_t *x[TILE];
        __m256 sum[TILE][VECTORS] = {{_mm256_setzero_ps()}};
        for (int64_t i = c + TILE; i < c + 2 * TILE && i < c1; i++) /* results that the next tile is added to */
            __builtin_prefetch(g->o[i] + m, 1, 3);
        for (int i = 0; i < cols; i++) {
            x[i] = w->packed + (c + i) * column + k0 / GROUP * w->each;
            if (k0)
                load_sums(g->o[c + i] + m, rows, sum[i]);
        }
        w->tile(&w->strip, x, kc / GROUP, cols, sum);
        for (int i = 0; i < cols; i++)
            store_sums(sum[i], rows, g->o[c + i] + m);
    }
}

/* -- a way to compute products -------------------------------------------------------------- */

#define LINES_BYTES (PANEL * 2 * STRIP)
#define FACTORS_BYTES (PANEL / 16 * STRIP * (int64_t)sizeof(float))
#define STRIP_BYTES (LINES_BYTES + 2 * FACTORS_BYTES + WORDS_ROOM)

static void run_rows(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch)
{
    static const tile_call tiles[2][2] = {{tile_raised_32, tile_minima_32}, {tile_raised_16, tile_minima_16}};
    const units_lines *type = cpu_units_lines(g->type);
    float *factors = (float *)(scratch + LINES_BYTES);
    words_run w = {.g = g, .tile = tiles[type->parts == 2][type->minima], .packed = g->packed,
                   .each = words_group_bytes(type->parts, type->minima),
                   .room = scratch + LINES_BYTES + 2 * FACTORS_BYTES,
                   .strip = {scratch, factors, factors + FACTORS_BYTES / sizeof *factors}};
    if (m0 >= m1 || g->n == 0)
        return;
    if (!w.packed) {
        cpu_words_pack(g, 0, g->n, scratch + STRIP_BYTES);
        w.packed = scratch + STRIP_BYTES;
    }
    cpu_each_panel(g, m0, m1, STRIP, PANEL, PANEL / GROUP * w.each, TILE, run_panel, &w);
}

static size_t column_bytes(uint32_t type, int64_t k)
{
    const units_lines *lines = cpu_units_lines(type);
    return (size_t)(cpu_units_groups(k) * words_group_bytes(lines->parts, lines->minima));
}

static size_t packed_bytes(uint32_t type, int64_t k, int64_t n)
{
    return cpu_aligned((size_t)n * column_bytes(type, k));
}

static size_t scratch_bytes(uint32_t type, int64_t k, int64_t n)
{
    return STRIP_BYTES + packed_bytes(type, k, n);
}

static int64_t grain(int64_t n)
{
    (void)n;
    return STRIP;
}

/* Bytes in the file's order are faster for as many columns as gemm_fast.c takes. */
static bool takes(uint32_t type, uint32_t group, int64_t n)
{
    (void)group;
    return n >= LEAST && !CPU_V(cpu_gemm_fast)(type, 0, n) && cpu_units_lines(type);
}

const cpu_units cpu_units_avx2 = {{scratch_bytes, packed_bytes, cpu_words_pack, run_rows, grain, column_bytes}, takes,
                                  NULL};
