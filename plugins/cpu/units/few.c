/* One or two columns: row after row, whose bytes meet the columns as soon as they are formed. */
#include "config.h"

#include "scales.h"
#include "units.h"

#define AHEAD 4096 /* bytes: lines of weights that are asked for so much earlier */
#define CHAINS 4   /* sums that are added to in turn, for each waits for the one before */

/* What a row's panel has with each column so far, in eight lanes. */
typedef struct sums {
    __m256 of[FEW][CHAINS];
} sums;

/* In the first four lanes what belongs to the first half of a group, in the others to the second. */
CPU_INLINE __m256 of_halves(const float *p)
{
    double two;
    memcpy(&two, p, sizeof two);
    return _mm256_permutevar_ps(_mm256_castpd_ps(_mm256_set1_pd(two)), _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1));
}

/* Scales of up to 8 or 16 groups times those of a column, to `by`; and the minima's part. */
CPU_INLINE void factors(const float *d, const float *m, const float *scale, const float *sum, int groups,
                        const int parts, float *by, __m256 *total)
{
    for (int i = 0; i < groups && parts == 2; i++) {
        by[2 * i] = d[2 * i] * scale[i];
        by[2 * i + 1] = d[2 * i + 1] * scale[i];
    }
    const __mmask8 some = (__mmask8)((1 << groups) - 1);
    if (parts == 1)
        _mm256_store_ps(by, _mm256_mul_ps(_mm256_loadu_ps(d), _mm256_maskz_loadu_ps(some, scale)));
    CPU_UNROLL
    for (int p = 0; p < parts; p++) {
        const int left = groups * parts - 8 * p;
        const __mmask8 here = (__mmask8)(left >= 8 ? 255 : left > 0 ? (1 << left) - 1 : 0);
        const __m256 minima = _mm256_maskz_loadu_ps(here, m + 8 * p);
        *total = _mm256_fmadd_ps(minima, _mm256_maskz_loadu_ps(here, sum + 8 * p), *total);
    }
}

/* A group's numbers met by a column's, times their scales of `by`, added to a sum. */
CPU_INLINE __m256 met(vb w, const units_column *x, int64_t group, const float *by, const int parts, __m256 sum)
{
    const vb q = _mm256_load_si256((const vb *)(x->q + group * GROUP));
    const __m256 products = _mm256_cvtepi32_ps(_mm256_dpbusd_epi32(_mm256_setzero_si256(), w, q));
    return _mm256_fmadd_ps(products, parts == 1 ? _mm256_set1_ps(*by) : of_halves(by), sum);
}

/* `groups` groups of a chunk. */
CPU_INLINE void chunk(const uint8_t *b, const units_column *x, int64_t group, const int groups, const int cols,
                      const int parts, numbers_of numbers, scales_of scales, sums *s)
{
    _Alignas(32) float d[16], m[16], by[FEW][16];
    scales(b, groups * parts, d, m);
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        factors(d, m, x[c].scale + group, x[c].sum + group * parts, groups, parts, by[c], &s->of[c][0]);
    CPU_UNROLL
    for (int g = 0; g < groups; g++) {
        const vb w = numbers(b, g);
        CPU_UNROLL
        for (int c = 0; c < cols; c++)
            s->of[c][g % CHAINS] = met(w, &x[c], group + g, by[c] + parts * g, parts, s->of[c][g % CHAINS]);
    }
}

/* The last groups, fewer than eight. */
CPU_INLINE void rest(const uint8_t *b, const units_column *x, int64_t group, int groups, const int cols,
                     const int parts, numbers_of numbers, scales_of scales, sums *s)
{
    _Alignas(32) float d[16], m[16], by[16];
    scales(b, groups * parts, d, m);
    for (int c = 0; c < cols; c++) {
        factors(d, m, x[c].scale + group, x[c].sum + group * parts, groups, parts, by, &s->of[c][0]);
        for (int g = 0; g < groups; g++)
            s->of[c][0] = met(numbers(b, g), &x[c], group + g, by + parts * g, parts, s->of[c][0]);
    }
}

CPU_INLINE float total(__m256 v)
{
    __m128 h = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    h = _mm_add_ps(h, _mm_movehl_ps(h, h));
    return _mm_cvtss_f32(_mm_add_ss(h, _mm_shuffle_ps(h, h, 1)));
}

CPU_INLINE void row(const cpu_gemm *g, int64_t m, const units_column *x, const int cols, const int chunk_bytes,
                    const int parts, const bool tail, numbers_of numbers, scales_of scales)
{
    sums s;
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        CPU_UNROLL
        for (int i = 0; i < CHAINS; i++)
            s.of[c][i] = _mm256_setzero_ps();
    for (int64_t k0 = 0; k0 < g->k; k0 += PANEL) {
        const int64_t kc = g->k - k0 < PANEL ? g->k - k0 : PANEL;
        uint8_t buffer[2 * PANEL];
        const uint8_t *b = cpu_units_blocks(g, m, k0, kc, buffer);
        int64_t i = 0;
        for (; i + CHUNK <= kc; i += CHUNK, b += chunk_bytes) {
            CPU_UNROLL
            for (int at = 0; at < chunk_bytes; at += 64)
                ask_far(b + AHEAD + at);
            chunk(b, x, (k0 + i) / GROUP, CHUNK / GROUP, cols, parts, numbers, scales, &s);
        }
        if (tail && i < kc)
            rest(b, x, (k0 + i) / GROUP, (int)(kc - i) / GROUP, cols, parts, numbers, scales, &s);
    }
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        g->o[c][m] = total(_mm256_add_ps(_mm256_add_ps(s.of[c][0], s.of[c][1]), _mm256_add_ps(s.of[c][2], s.of[c][3])));
}

#define ROW_OF(cols, name, elements, bytes, group)                                                                     \
    row(g, m, x, cols, CHUNK / elements * bytes, GROUP / group, elements < CHUNK, numbers_##name, scales_##name)
#define ROWS_OF(NAME, name, elements, bytes, group, bias)                                                              \
    static void rows_##name(const cpu_gemm *g, int64_t m0, int64_t m1, const units_column *x)                          \
    {                                                                                                                  \
        for (int64_t m = m0; m < m1; m++)                                                                              \
            if (g->n == 1)                                                                                             \
                ROW_OF(1, name, elements, bytes, group);                                                         \
            else                                                                                                       \
                ROW_OF(2, name, elements, bytes, group);                                                         \
    }
UNITS_TYPES(ROWS_OF)

static void (*const rows_of[CPU_TYPES])(const cpu_gemm *g, int64_t m0, int64_t m1, const units_column *x) = {
#define ROW(NAME, name, elements, bytes, group, bias) [ENG_TYPE_##NAME] = rows_##name,
    UNITS_TYPES(ROW)
#undef ROW
};

static size_t column_bytes(int64_t k)
{
    return cpu_aligned((size_t)k + (size_t)cpu_units_groups(k) * 3 * sizeof(float));
}

size_t cpu_units_few_scratch(int64_t k)
{
    return FEW * column_bytes(k);
}

void cpu_units_few(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch)
{
    units_column x[FEW];
    for (int64_t c = 0; c < g->n; c++) {
        x[c].q = scratch + (size_t)c * column_bytes(g->k);
        x[c].scale = (float *)(x[c].q + g->k);
        x[c].sum = x[c].scale + cpu_units_groups(g->k);
        cpu_units_round(g, c, &x[c]);
    }
    rows_of[g->type](g, m0, m1, x);
}
