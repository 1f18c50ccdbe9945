/* Strips of rows times tiles of columns, panel by panel (units.h). */
#include "config.h"

#include "libengine/util/util.h"

#include "../cpu.h"
#include "units.h"

/* `groups` groups of bytes, with `parts` scales each, and minima or numbers that are raised. */
CPU_INLINE void bytes_groups(const units_strip *w, const uint8_t *x, int64_t groups, const int cols, const int parts,
                             const bool minima, __m512 *sum)
{
    const uint8_t *line = w->lines;
    const float *scale = w->scale, *minimum = w->minimum;
    for (int64_t g = 0; g < groups; g++, x += cols * (36 + 4 * parts)) {
        const uint8_t *factor = x + cols * GROUP, *other = factor + 4 * cols;
        CPU_UNROLL
        for (int p = 0; p < parts; p++, scale += STRIP, minimum += STRIP, other += 4 * cols) {
            __m512i s[TILE];
            CPU_UNROLL
            for (int c = 0; c < cols; c++)
                s[c] = minima ? _mm512_setzero_si512() : units_four(other + 4 * c);
            CPU_UNROLL
            for (int i = 0; i < 8 / parts; i++, line += 64) {
                const __m512i a = _mm512_load_si512(line);
                CPU_UNROLL
                for (int c = 0; c < cols; c++)
                    s[c] = _mm512_dpbusd_epi32(s[c], a, units_four(x + 4 * (cols * (p * 8 / parts + i) + c)));
            }
            const __m512 d = _mm512_load_ps(scale), m = minima ? _mm512_load_ps(minimum) : d;
            CPU_UNROLL
            for (int c = 0; c < cols; c++) {
                const __m512 by = _mm512_mul_ps(d, _mm512_castsi512_ps(units_four(factor + 4 * c)));
                sum[c] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(s[c]), by, sum[c]);
                if (minima)
                    sum[c] = _mm512_fmadd_ps(m, _mm512_castsi512_ps(units_four(other + 4 * c)), sum[c]);
            }
        }
    }
}

CPU_INLINE void bf16_groups(const units_strip *w, const uint8_t *x, int64_t groups, const int cols, __m512 *sum)
{
    const uint8_t *line = w->lines;
    for (int64_t i = 0; i < groups * GROUP / 2; i++, line += 64, x += 4 * cols) {
        const __m512bh a = (__m512bh)_mm512_load_si512(line);
        CPU_UNROLL
        for (int c = 0; c < cols; c++)
            sum[c] = _mm512_dpbf16_ps(sum[c], a, (__m512bh)units_four(x + 4 * c));
    }
}

/* A strip's panel times a tile, added to what is there unless it is the first. */
CPU_INLINE void tile(const units_strip *w, const uint8_t *x, int64_t groups, const int cols, const units_form form,
                     float *const *o, int64_t row, __mmask16 rows, bool first)
{
    __m512 sum[TILE];
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        sum[c] = first ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(rows, o[c] + row);
    if (form == UNITS_BF16)
        bf16_groups(w, x, groups, cols, sum);
    else
        bytes_groups(w, x, groups, cols, cpu_units_parts(form), cpu_units_minima(form), sum);
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        _mm512_mask_storeu_ps(o[c] + row, rows, sum[c]);
}

#define TILES_OF(form)                                                                                                 \
    static void tile_##form(const units_strip *w, const uint8_t *x, int64_t groups, int64_t cols, float *const *o,     \
                            int64_t row, __mmask16 rows, bool first)                                                   \
    {                                                                                                                  \
        switch (cols) {                                                                                                \
            CASE(1, form) CASE(2, form) CASE(3, form) CASE(4, form) CASE(5, form) CASE(6, form)                        \
            CASE(7, form) CASE(8, form) CASE(9, form) CASE(10, form) CASE(11, form) CASE(12, form)                     \
        default: break;                                                                                                \
        }                                                                                                              \
    }
#define CASE(n, form) case n: tile(w, x, groups, n, form, o, row, rows, first); break;
TILES_OF(UNITS_RAISED_32)
TILES_OF(UNITS_RAISED_16)
TILES_OF(UNITS_MINIMA_32)
TILES_OF(UNITS_MINIMA_16)
TILES_OF(UNITS_BF16)

static void (*const tiles[])(const units_strip *, const uint8_t *, int64_t, int64_t, float *const *, int64_t, __mmask16,
                             bool) = {
    [UNITS_RAISED_32] = tile_UNITS_RAISED_32, [UNITS_RAISED_16] = tile_UNITS_RAISED_16, [UNITS_BF16] = tile_UNITS_BF16,
    [UNITS_MINIMA_32] = tile_UNITS_MINIMA_32, [UNITS_MINIMA_16] = tile_UNITS_MINIMA_16};

/* -- what pays ---------------------------------------------------------------------------------- */

#define TRIES 5
#define ROUNDS 256

/* Nanoseconds of rounds of multiplications and additions of floats, or of products of as many bf16. */
static uint64_t duration(bool bf16)
{
    float x = 1;
    __asm__("" : "+r"(x)); /* a number that the compiler does not know ... */
    __m512 sum[TILE], one = _mm512_set1_ps(x);
    CPU_UNROLL
    for (int i = 0; i < TILE; i++)
        sum[i] = _mm512_set1_ps((float)i);
    const uint64_t begin = eu_now();
    for (int r = 0; r < ROUNDS; r++)
        CPU_UNROLL
        for (int i = 0; i < TILE; i++)
            sum[i] = bf16 ? _mm512_dpbf16_ps(sum[i], (__m512bh)one, (__m512bh)one)
                          : _mm512_fmadd_ps(one, one, _mm512_fmadd_ps(one, one, sum[i]));
    const uint64_t end = eu_now();
    CPU_UNROLL
    for (int i = 1; i < TILE; i++)
        sum[0] = _mm512_add_ps(sum[0], sum[i]);
    __asm__ volatile("" : : "v"(sum[0])); /* ... and that somebody wants */
    return end - begin;
}

/* Are products of bf16 faster by half at least?  Their units differ: some have twice the rate of floats, some half of
 * it, and then columns are rounded in vain.  Tried once. */
static bool bf16_pays(void)
{
    static atomic_int known;
    return eu_trial(&known, duration, TRIES, 4);
}

/* Processors with dot products of bytes may lack those of bf16. */
static bool takes(uint32_t type, uint32_t group, int64_t n)
{
    (void)group, (void)n;
    const units_form form = cpu_units_form(type);
    return form == UNITS_BF16 ? __builtin_cpu_supports("avx512bf16") && bf16_pays() : form != UNITS_NONE;
}

static size_t packed_bytes(uint32_t type, int64_t k, int64_t n)
{
    return cpu_aligned((size_t)(n * cpu_units_groups(k) * cpu_units_group_bytes(cpu_units_form(type))));
}

#define LINES_BYTES (PANEL * 2 * STRIP)
#define FACTORS_BYTES (PANEL / 16 * STRIP * (int64_t)sizeof(float))

static size_t scratch_bytes(uint32_t type, int64_t k, int64_t n)
{
    const size_t strips = LINES_BYTES + 2 * FACTORS_BYTES + UNITS_ROOM + packed_bytes(type, k, n);
    const size_t rows = cpu_units_form(type) == UNITS_BF16 ? CPU_V(cpu_gemm_few_scratch)(k) : cpu_units_few_scratch(k);
    return strips > rows ? strips : rows;
}

static const uint8_t *packed_columns(const cpu_gemm *g, uint8_t *room)
{
    if (g->packed)
        return g->packed;
    cpu_units_pack(g, 0, g->n, room);
    return room;
}

static void run_strips(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch)
{
    const units_form form = cpu_units_form(g->type);
    const int64_t group_bytes = cpu_units_group_bytes(form), column = cpu_units_groups(g->k) * group_bytes;
    const units_strip w = {scratch, (float *)(scratch + LINES_BYTES), (float *)(scratch + LINES_BYTES + FACTORS_BYTES)};
    uint8_t *room = scratch + LINES_BYTES + 2 * FACTORS_BYTES;
    const uint8_t *packed = packed_columns(g, room + UNITS_ROOM);
    for (int64_t m = m0; m < m1; m += STRIP) {
        const int64_t rows = m1 - m < STRIP ? m1 - m : STRIP;
        for (int64_t k0 = 0; k0 < g->k; k0 += PANEL) {
            const int64_t kc = g->k - k0 < PANEL ? g->k - k0 : PANEL;
            cpu_units_strip(g, m, rows, k0, kc, room, &w);
            for (int64_t t = 0, c = 0, end; c < g->n; t++, c = end) {
                end = cpu_units_tile(g->n, t + 1);
                const uint8_t *x = packed + c * column + k0 / GROUP * group_bytes * (end - c);
                tiles[form](&w, x, cpu_units_groups(kc), end - c, g->o + c, m, (__mmask16)((1u << rows) - 1), k0 == 0);
            }
        }
    }
}

/* One or two columns of bf16 in rows take no longer than these take to be read, rounded or not. */
static void run_rows(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch)
{
    const bool bf16 = cpu_units_form(g->type) == UNITS_BF16;
    if (m0 >= m1 || g->n == 0)
        return;
    if (bf16 && g->group == EU_STRIP)
        cpu_units_bf16(g, packed_columns(g, scratch), m0, m1);
    else if (!bf16 && g->n <= FEW)
        cpu_units_few(g, m0, m1, scratch);
    else if (bf16 && g->n <= FEW)
        CPU_V(cpu_gemm_few)(g, m0, m1, scratch);
    else
        run_strips(g, m0, m1, scratch);
}

static void pack(const cpu_gemm *g, int64_t c0, int64_t c1, void *out)
{
    cpu_units_pack(g, c0, c1, out);
}

/* Operations of so many rounds of nothing but dot products of bytes. */
static double dot(int64_t rounds, float *sum)
{
    const __m512i one = _mm512_set1_epi8(1), two = _mm512_set1_epi8((char)(2 + (*sum > 0)));
    __m512i s[TILE];
    CPU_UNROLL
    for (int i = 0; i < TILE; i++)
        s[i] = _mm512_set1_epi32(i);
    for (int64_t r = 0; r < rounds; r++)
        CPU_UNROLL
        for (int i = 0; i < TILE; i++)
            s[i] = _mm512_dpbusd_epi32(s[i], one, two);
    CPU_UNROLL
    for (int i = 1; i < TILE; i++)
        s[0] = _mm512_add_epi32(s[0], s[i]);
    *sum = (float)_mm512_reduce_add_epi32(s[0]);
    return 2.0 * 64 * TILE * (double)rounds;
}

static int64_t grain(int64_t n)
{
    (void)n;
    return STRIP;
}

const cpu_units cpu_units_avx512vnni = {{scratch_bytes, packed_bytes, pack, run_rows, grain, NULL}, takes, dot};
