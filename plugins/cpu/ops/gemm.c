/*
 * Rows of weights (of any type) times columns of activations, in f32.
 *
 * Few columns: gemm_few.c.
 *
 * Many columns: a panel of rows is decoded once, a block of k at a time, with
 * the rows side by side in a vector; the columns are packed in tiles; and a
 * register tile of CPU_PANEL rows x CPU_TILE columns runs over the block (the
 * scheme of Goto and van de Geijn, "Anatomy of high-performance matrix
 * multiplication", 2008).  Every result is formed by the same operations in
 * the same order wherever it lies in a tile.
 *
 * Compiled once per variant.
 */
#include "config.h"

#include "gemm.h"
#include "transpose.h"

#include "libengine/util/util.h"

#define KC CPU_GEMM_KC
#define NC 768  /* columns packed at once: they stay in the second-level cache      */

bool CPU_V(cpu_gemm_blocked)(int64_t n)
{
#if CPU_VL == 16
    return n > 2 * CPU_DOT_COLS; /* where both take the same time */
#else
    return n > 24;
#endif
}

static int64_t columns_at_once(int64_t n)
{
    int64_t parts = (n + NC - 1) / NC;
    int64_t each = parts ? (n + parts - 1) / parts : 0;
    return (each + CPU_TILE - 1) / CPU_TILE * CPU_TILE;
}

/* Room for packed rows as in the file: no type of blocks takes more than f16. */
static size_t group_bytes(int64_t k)
{
    return ((size_t)EU_PACKED_ROWS * (size_t)k * 2 + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
}

size_t CPU_V(cpu_gemm_scratch)(int64_t k, int64_t n)
{
    size_t few = CPU_V(cpu_gemm_few_scratch)(k, n) + group_bytes(k);
    size_t many = ((size_t)columns_at_once(n) * KC + 2 * CPU_PANEL * KC + CPU_TILE * KC) * 4 + 4 * CPU_ALIGN;
    return few > many ? few : many;
}

/* -- many columns ------------------------------------------------------------------- */

#if CPU_VL == 16
/* 16 elements of up to 16 columns, side by side. */
CPU_INLINE void interleave(const float *const *x, int cols, float *out)
{
    __m512 a[16];
    CPU_UNROLL
    for (int i = 0; i < 16; i++)
        a[i] = i < cols ? _mm512_loadu_ps(x[i]) : _mm512_setzero_ps();
    transpose_registers(a);
    __mmask16 mask = (__mmask16)((1u << cols) - 1);
    CPU_UNROLL
    for (int i = 0; i < 16; i++)
        _mm512_mask_storeu_ps(out + i * cols, mask, a[i]);
}
#endif

/* kc elements of `cols` columns, element by element side by side; buffer: room
 * for CPU_TILE * KC floats. */
static void pack_tile(const cpu_gemm *g, int64_t c0, int cols, int64_t k0, int64_t kc, float *buffer, float *out)
{
    const float *x[CPU_TILE];
    for (int c = 0; c < cols; c++) {
        x[c] = (const float *)g->b[c0 + c] + k0;
        if (g->b_type != ENG_TYPE_F32) {
            cpu_formats[g->b_type].decode(g->b[c0 + c], k0, kc, buffer + c * KC);
            x[c] = buffer + c * KC;
        }
    }
    int64_t l = 0;
#if CPU_VL == 16
    for (; l + 16 <= kc; l += 16) {
        interleave(x, cols, out + l * cols);
        for (int c = 0; c < cols; c++)
            x[c] += 16;
    }
    for (int c = 0; c < cols; c++)
        x[c] -= l;
#endif
    for (int c = 0; c < cols; c++)
        for (int64_t i = l; i < kc; i++)
            out[i * cols + c] = x[c][i];
}

void CPU_V(cpu_gemm_pack)(const cpu_gemm *g, int64_t c0, int64_t c1, float *out, uint8_t *scratch)
{
    for (int64_t k0 = 0; k0 < g->k; k0 += KC) {
        int64_t kc = g->k - k0 < KC ? g->k - k0 : KC;
        for (int64_t c = c0; c < c1; c += CPU_TILE)
            pack_tile(g, c, (int)(c1 - c < CPU_TILE ? c1 - c : CPU_TILE), k0, kc, (float *)scratch,
                      out + g->n * k0 + c * kc);
    }
}

/* Asks for the next block of a row: rows are far apart, and the machine does
 * not guess that each goes on. */
CPU_INLINE void prefetch(const cpu_gemm *g, const uint8_t *row, int64_t k0)
{
    if (k0 >= g->k)
        return;
    const uint8_t *p = row + k0 / g->block * g->block_bytes;
    int64_t n = g->k - k0 < KC ? g->k - k0 : KC, bytes = n / g->block * g->block_bytes;
    for (int64_t i = 0; i < bytes; i += 64)
        __builtin_prefetch(p + i, 0, 2); /* not into the first level: such rows often collide there */
}

CPU_INLINE eu_packing packing(const cpu_gemm *g)
{
    return (eu_packing){.row_bytes = (uint64_t)g->stride, .block_bytes = (uint32_t)g->block_bytes, .rows = g->group};
}

/* kc elements of a row as floats. */
CPU_INLINE void decode_line(const cpu_gemm *g, int64_t row, int64_t k0, int64_t kc, float *line)
{
    uint8_t blocks[2 * KC];
    if (g->group <= 1) {
        prefetch(g, cpu_gemm_row(g, row), k0 + KC);
        cpu_formats[g->type].decode(cpu_gemm_row(g, row), k0, kc, line);
        return;
    }
    const eu_packing p = packing(g);
    eu_packed_row(&p, g->a, (uint64_t)(row - g->row0), (uint64_t)(k0 / g->block), (uint64_t)(kc / g->block), blocks);
    cpu_formats[g->type].decode(blocks, 0, kc, line);
}

/* kc elements of up to CPU_PANEL rows, side by side; missing rows are zero. */
static void decode_panel(const cpu_gemm *g, int64_t row, int64_t rows, int64_t k0, int64_t kc, float *lines, float *panel)
{
    for (int64_t r = 0; r < CPU_PANEL; r++)
        if (r < rows)
            decode_line(g, row + r, k0, kc, lines + r * KC);
        else
            memset(lines + r * KC, 0, (size_t)kc * sizeof *lines);
    for (int64_t half = 0; half < 2; half++) {
        const float *x = lines + half * CPU_VL * KC;
        float *y = panel + half * CPU_VL;
        int64_t l = 0;
        for (; l + CPU_VL <= kc; l += CPU_VL)
            transpose_vl(x + l, KC, y + l * CPU_PANEL, CPU_PANEL);
        for (; l < kc; l++)
            CPU_UNROLL
            for (int i = 0; i < CPU_VL; i++)
                y[l * CPU_PANEL + i] = x[i * KC + l];
    }
}

/* CPU_PANEL rows x cols columns over one block of k; added to what is there
 * unless it is the first block. */
CPU_INLINE void tile(const float *panel, const float *b, int64_t kc, const int cols, float *const *o, int64_t row,
                     int64_t rows, bool first)
{
    vf s0[CPU_TILE], s1[CPU_TILE];
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        s0[c] = s1[c] = (vf){0};
    for (int64_t l = 0; l < kc; l++) {
        vf a0 = v_load(panel + l * CPU_PANEL), a1 = v_load(panel + l * CPU_PANEL + CPU_VL);
        CPU_UNROLL
        for (int c = 0; c < cols; c++) {
            vf x = v_set1(b[l * cols + c]);
            s0[c] = v_fma(a0, x, s0[c]);
            s1[c] = v_fma(a1, x, s1[c]);
        }
    }
    CPU_UNROLL
    for (int c = 0; c < cols; c++) {
        float *y = o[c] + row;
        if (rows == CPU_PANEL) {
            v_store(y, first ? s0[c] : s0[c] + v_load(y));
            v_store(y + CPU_VL, first ? s1[c] : s1[c] + v_load(y + CPU_VL));
        } else {
            float t[CPU_PANEL];
            v_store(t, s0[c]);
            v_store(t + CPU_VL, s1[c]);
            for (int64_t i = 0; i < rows; i++)
                y[i] = first ? t[i] : t[i] + y[i];
        }
    }
}

static void tile_any(const float *panel, const float *b, int64_t kc, int cols, float *const *o, int64_t row,
                     int64_t rows, bool first)
{
    switch (cols) {
#define CASE(n) case n: tile(panel, b, kc, n, o, row, rows, first); break;
    CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6)
#if CPU_TILE > 6
    CASE(7) CASE(8) CASE(9) CASE(10) CASE(11) CASE(12)
#endif
#undef CASE
    default: break;
    }
}

static void many_columns(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch)
{
    float *panel = (float *)scratch, *lines = panel + CPU_PANEL * KC, *buffer = lines + CPU_PANEL * KC;
    float *packed = buffer + CPU_TILE * KC;
    int64_t nc = columns_at_once(g->n);
    for (int64_t c0 = 0; c0 < g->n; c0 += nc) {
        int64_t c1 = c0 + nc < g->n ? c0 + nc : g->n;
        for (int64_t k0 = 0; k0 < g->k; k0 += KC) {
            int64_t kc = g->k - k0 < KC ? g->k - k0 : KC;
            const float *b = g->packed ? g->packed + g->n * k0 + c0 * kc : packed;
            for (int64_t c = c0; c < c1 && !g->packed; c += CPU_TILE)
                pack_tile(g, c, (int)(c1 - c < CPU_TILE ? c1 - c : CPU_TILE), k0, kc, buffer, packed + (c - c0) * kc);
            for (int64_t m = m0; m < m1; m += CPU_PANEL) {
                int64_t rows = m1 - m < CPU_PANEL ? m1 - m : CPU_PANEL;
                decode_panel(g, m, rows, k0, kc, lines, panel);
                for (int64_t c = c0; c < c1; c += CPU_TILE)
                    tile_any(panel, b + (c - c0) * kc, kc, (int)(c1 - c < CPU_TILE ? c1 - c : CPU_TILE), g->o + c, m,
                             rows, k0 == 0);
            }
        }
    }
}

/* Few columns: a group of rows at a time, as in the file. */
static void packed_rows(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch)
{
    const eu_packing p = packing(g);
    cpu_gemm part = *g;
    part.a = scratch;
    part.group = 1;
    for (int64_t m = m0; m < m1; m += p.rows) {
        int64_t rows = m1 - m < p.rows ? m1 - m : p.rows;
        for (int64_t r = 0; r < rows; r++)
            eu_packed_row(&p, g->a, (uint64_t)(m + r - g->row0), 0, (uint64_t)(g->k / g->block),
                          scratch + r * g->stride);
        part.row0 = m;
        CPU_V(cpu_gemm_rows)(&part, m, m + rows, scratch + group_bytes(g->k));
    }
}

void CPU_V(cpu_gemm_rows)(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch)
{
    if (m0 >= m1)
        return;
    if (g->k == 0) {
        for (int64_t c = 0; c < g->n; c++)
            memset(g->o[c] + m0, 0, (size_t)(m1 - m0) * sizeof(float));
        return;
    }
    if (g->blocked)
        many_columns(g, m0, m1, scratch);
    else if (g->group > 1)
        packed_rows(g, m0, m1, scratch);
    else if (g->fast && CPU_V(cpu_gemm_fast)(g->type, g->k))
        CPU_V(cpu_gemm_rows_fast)(g, m0, m1, scratch);
    else
        CPU_V(cpu_gemm_few)(g, m0, m1, scratch);
}
