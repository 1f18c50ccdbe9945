/*
 * Rows of weights times few columns: rows are decoded in registers and multiplied at once
 * (cpu_format.dot), one with two columns, or one or some with one.  Two columns are taken a panel at a time so that they
 * stay in the nearest cache.
 *
 * Compiled once per variant.
 */
#include "config.h"

#include "gemm.h"

#define KC CPU_GEMM_KC

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
        f->dot(g->k, cpu_gemm_row(g, i), g->stride, (int)rows, &b, 1, out);
        memcpy(g->o[0] + i, out, (size_t)rows * sizeof *out);
    }
}

static void two_columns(const cpu_gemm *g, int64_t m0, int64_t m1, float *buffer)
{
    const cpu_format *f = &cpu_formats[g->type];
    const float *const x[2] = {buffer, buffer + KC};
    for (int64_t k0 = 0; k0 < g->k; k0 += KC) {
        const int64_t kc = g->k - k0 < KC ? g->k - k0 : KC, at = k0 / g->block * g->block_bytes;
        for (int c = 0; c < 2; c++)
            cpu_gemm_column(g, c, k0, kc, buffer + c * KC);
        for (int64_t i = m0; i < m1; i++) {
            float out[2 * CPU_DOT_ROWS] = {0};
            for (int c = 0; c < 2 && k0; c++)
                out[c * CPU_DOT_ROWS] = g->o[c][i];
            f->dot(kc, cpu_gemm_row(g, i) + at, g->stride, 1, x, 2, out);
            for (int c = 0; c < 2; c++)
                g->o[c][i] = out[c * CPU_DOT_ROWS];
        }
    }
}

size_t CPU_V(cpu_gemm_few_scratch)(int64_t k)
{
    return (size_t)(k > 2 * KC ? k : 2 * KC) * sizeof(float) + CPU_ALIGN;
}

void CPU_V(cpu_gemm_few)(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch)
{
    (g->n == 1 ? one_column : two_columns)(g, m0, m1, (float *)scratch);
}
