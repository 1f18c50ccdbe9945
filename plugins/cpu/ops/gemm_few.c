/*
 * Rows of weights times few columns: rows are decoded in registers and multiplied at once
 * (cpu_format), one with several columns, or one or some with one.  Several columns are taken a part of a panel at a
 * time, and some rows' sums wait for the next part, so that the part stays in the nearest cache.
 *
 * Compiled once per variant.
 */
#include "config.h"

#include "gemm.h"

#define KC CPU_GEMM_KC
#define ROWS 16 /* that meet a part of the columns before the next part comes */

/* One column in the order in which dot takes it. */
static void one_column(const cpu_gemm *g, int64_t m0, int64_t m1, float *buffer)
{
    const cpu_format *f = &cpu_formats[g->type];
    const float *b = (const float *)g->b[0];
    if (g->b_type != ENG_TYPE_F32 || cpu_gemm_ordered(g)) {
        cpu_gemm_column(g, 0, 0, g->k, buffer);
        b = buffer;
    }
    for (int64_t i = m0; i < m1; i += CPU_DOT_ROWS) {
        int64_t rows = m1 - i < CPU_DOT_ROWS ? m1 - i : CPU_DOT_ROWS;
        float out[CPU_DOT_ROWS] = {0};
        f->dot(g->k, cpu_gemm_row(g, i), g->stride, (int)rows, b, out);
        memcpy(g->o[0] + i, out, (size_t)rows * sizeof *out);
    }
}

/* A part of a panel of a row with all columns, at x. */
static void row_part(const cpu_gemm *g, int64_t m, int64_t k0, int64_t n, const float *const *x, cpu_part part,
                     float *sums)
{
    const uint8_t *row = cpu_gemm_row(g, m) + k0 / g->block * g->block_bytes;
    float out[CPU_DOT_COLS];
    for (int c = 0; c < g->n; c++)
        out[c] = k0 < KC ? 0 : g->o[c][m];
    cpu_formats[g->type].dots(n, row, 2 * g->stride, x, (int)g->n, part, sums, out);
    for (int c = 0; c < g->n && part & CPU_PART_LAST; c++)
        g->o[c][m] = out[c];
}

/* Some rows, a panel of k, with all columns, which are KC apart at x. */
static void some_rows(const cpu_gemm *g, int64_t m, int64_t rows, int64_t k0, int64_t kc, const float *x)
{
    const int64_t most = g->n == 2 ? 2 * CPU_GEMM_PART : CPU_GEMM_PART;
    float sums[ROWS][CPU_DOT_COLS * 4 * CPU_VL];
    for (int64_t i = 0; i < kc; i += most) {
        const bool last = kc - i <= most;
        const cpu_part part = (i ? 0 : CPU_PART_FIRST) | (last ? CPU_PART_LAST : 0);
        const float *columns[CPU_DOT_COLS];
        for (int c = 0; c < g->n; c++)
            columns[c] = x + c * KC + i;
        for (int64_t r = 0; r < rows; r++)
            row_part(g, m + r, k0 + i, last ? kc - i : most, columns, part, sums[r]);
    }
}

static void several_columns(const cpu_gemm *g, int64_t m0, int64_t m1, float *x)
{
    for (int64_t k0 = 0; k0 < g->k; k0 += KC) {
        const int64_t kc = g->k - k0 < KC ? g->k - k0 : KC;
        for (int c = 0; c < g->n; c++)
            cpu_gemm_column(g, c, k0, kc, x + c * KC);
        for (int64_t m = m0; m < m1; m += ROWS)
            some_rows(g, m, m1 - m < ROWS ? m1 - m : ROWS, k0, kc, x);
    }
}

size_t CPU_V(cpu_gemm_few_scratch)(int64_t k)
{
    return (size_t)(k > CPU_DOT_COLS * KC ? k : CPU_DOT_COLS * KC) * sizeof(float) + CPU_ALIGN;
}

void CPU_V(cpu_gemm_few)(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch)
{
    (g->n == 1 ? one_column : several_columns)(g, m0, m1, (float *)scratch);
}
