/*
 * Rows in lanes times columns in planes (planes.h): strips of rows times tiles of some columns, panel by panel.  With
 * few columns a strip's numbers go from the weights' words into products; with more they are written out as lines
 * first, once for all columns.
 */
#include "config.h"

#include "run.h"

#define TILES(name, group, raised, minima, factors)                                                                    \
    static void tile_##name(const strip_panel *w, int64_t groups, int bias, int planes, int cols, tile_columns *x,     \
                            const strip_ask *ask, vf sum[TILE][VECTORS])                                               \
    {                                                                                                                  \
        EACH_WAY(EXACT_COLS, FAST_COLS,                                                                                \
                 panel_tile(w, groups, FORM_OF(group, raised, minima, factors), bias, P, C, x, ask, sum));             \
    }
LINES_FORMS(TILES)

/* Rows m .. m + rows - 1 with all columns, NOW at a time. */
static void run_now(const cpu_gemm *g, int planes, const uint8_t *packed, int64_t m, int64_t rows, bool first)
{
    const int64_t times = (g->n + NOW - 1) / NOW;
    int cols;
    for (int64_t c = 0, time = 0; c < g->n; c += cols, time++) {
        vf sum[TILE][VECTORS];
        tile_columns x;
        cols = even(g->n - c, NOW);
        set_columns(&x, g, planes, packed, c, cols, 0);
        planes_types[g->type].type->now(planes, cols, rows_at(g, m, rows, 0), far_of(g, time, times, first), &x, sum);
        store_sums(g, c, cols, m, rows, sum);
    }
}

static void run_rows(const cpu_gemm *g, int planes, int64_t m0, int64_t m1, uint8_t *scratch)
{
    if (m0 >= m1 || g->n == 0)
        return;
    const planes_run w = run_of(g, planes, scratch);
    if (g->n > NOW_AGAIN)
        run_panels(&w, m0, m1);
    for (int64_t m = m0; m < m1 && g->n <= NOW_AGAIN; m += STRIP)
        run_now(g, planes, w.packed, m, m1 - m < STRIP ? m1 - m : STRIP, m == m0);
}

PRODUCTS(exact, EXACT)
PRODUCTS(fast, 1)

const cpu_interleaved PLANES_V(cpu_planes) = {
    .exact = {scratch_bytes_exact, packed_bytes_exact, pack_exact, rows_exact, grain, column_bytes_exact},
    .fast = {scratch_bytes_fast, packed_bytes_fast, pack_fast, rows_fast, grain, column_bytes_fast},
    .types = 0 LANES_TYPES(EU_LANES_BIT),
#if PLANES_DOT && !defined(CPU_NEON) /* which looks words up one by one in any layout */
    .tried = 0 GRID_TYPES(EU_LANES_BIT),
    .pays = eu_gathers_pay,
#endif
};
