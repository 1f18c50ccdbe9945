/* In what order strips of rows meet columns, panel of k by panel, so that what is read again lies near. */
#ifndef CPU_PANELS_H
#define CPU_PANELS_H

#include "gemm.h"

#define CPU_NEAR_BYTES (384 * 1024) /* of columns that stay in the second-level cache */

/* Rows m .. m + rows - 1, elements from k0 on, of a panel at most, times columns c0 .. c1 - 1; and the row and element at
 * which the panel after that begins, if there is one. */
typedef struct cpu_panel {
    int64_t m, rows, k0, c0, c1, next_m, next_k0;
} cpu_panel;
typedef void (*cpu_panel_run)(const void *what, const cpu_panel *p);

/*
 * All columns, row after row; or where they do not fit the second-level cache, some of a panel for all rows: what lies
 * in the third one is there for all cores, and other programs'.  Strips of `strip` rows, panels of `panel` elements, of
 * which a packed column takes `bytes`; columns are cut at multiples of `tile`.
 */
CPU_INLINE void cpu_each_panel(const cpu_gemm *g, int64_t m0, int64_t m1, const int64_t strip, const int64_t panel,
                               int64_t bytes, const int64_t tile, cpu_panel_run run, const void *what)
{
    const bool fit = g->n * ((g->k + panel - 1) / panel) * bytes <= CPU_NEAR_BYTES;
    const int64_t some = fit ? g->n : CPU_NEAR_BYTES / bytes / tile * tile;
    const int64_t most = fit ? g->k : panel;
    for (int64_t c = 0; c < g->n; c += some)
        for (int64_t first = 0; first < g->k; first += most)
            for (int64_t m = m0; m < m1; m += strip)
                for (int64_t k0 = first; k0 < first + most && k0 < g->k; k0 += panel) {
                    const bool last = k0 + panel >= first + most || k0 + panel >= g->k;
                    const cpu_panel p = {.m = m, .rows = m1 - m < strip ? m1 - m : strip, .k0 = k0,
                                         .c0 = c, .c1 = c + some < g->n ? c + some : g->n,
                                         .next_m = last ? m + strip : m, .next_k0 = last ? first : k0 + panel};
                    run(what, &p);
                }
}

#endif
