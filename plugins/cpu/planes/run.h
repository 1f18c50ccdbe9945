/*
 * Strips of rows times tiles of columns, panel by panel (planes.h): what is the same whatever multiplies them.  A file
 * that includes this defines a tile for each of LINES_FORMS, and run_rows(), for which PRODUCTS() makes the calls.
 */
#ifndef CPU_PLANES_RUN_H
#define CPU_PLANES_RUN_H

#include "planes.h"

#include "../cpu.h"
#include "../ops/panels.h"
#include "types.h"

/* Elements of k: a strip's lines and a tile's columns stay in the nearest cache; with SOME columns fewer gain. */
#define PANEL (24576 / STRIP)
#define PANEL_OF_SOME (16384 / STRIP)
#define SOME 32

/* Forms of lines, which types that agree in what matters share: elements with a scale, is there a bias, are there
 * minima, what factors are.  A tile of each: */
#define LINES_FORMS(X)                                                                                                 \
    X(raised_32, 32, 1, 0, OWN) X(minima_32, 32, 0, 1, OWN) X(both_32, 32, 1, 1, OWN) X(raised_16, 16, 1, 0, OWN)      \
    X(wide_raised_32, 32, 1, 0, WIDE) X(joint_raised_32, 32, 1, 0, JOINT) X(joint_both_32, 32, 1, 1, JOINT)            \
    X(joint_raised_16, 16, 1, 0, JOINT) X(joint_minima_16, 16, 0, 1, JOINT) PLAIN_FORMS(X)
#if PLANES_SIGNED
#define PLAIN_FORMS(X) X(plain_32, 32, 0, 0, OWN) X(joint_plain_32, 32, 0, 0, JOINT)
#else
#define PLAIN_FORMS(X)
#endif
typedef void tile_call(const strip_panel *w, int64_t groups, int bias, int planes, int cols, tile_columns *x,
                       const strip_ask *ask, vf sum[TILE][VECTORS]);
#define DECLARE(name, ...) static tile_call tile_##name;
LINES_FORMS(DECLARE)
#undef DECLARE
static const struct {
    planes_form form;
    tile_call *call;
} tiles_by_form[] = {
#define TILE_OF(name, group, bias, minima, factors) {FORM_OF(group, bias, minima, factors), tile_##name},
    LINES_FORMS(TILE_OF)
#undef TILE_OF
};

static tile_call *tile_of(planes_form form)
{
    size_t i = 0;
    while (tiles_by_form[i].form.parts != form.parts || tiles_by_form[i].form.minima != form.minima ||
           tiles_by_form[i].form.joint != form.joint || tiles_by_form[i].form.wide != form.wide ||
           !tiles_by_form[i].form.bias != !form.bias)
        i++;
    return tiles_by_form[i].call;
}

#define LINES_BYTES (PANEL * STRIP)
#define FACTORS_BYTES (PANEL / 16 * STRIP * (int64_t)sizeof(float)) /* of d, m, n */
#define PANEL_BYTES (LINES_BYTES + 4 * FACTORS_BYTES)

static void load_sums(const cpu_gemm *g, int64_t c0, int cols, int64_t m, int64_t rows, vf sum[TILE][VECTORS])
{
    for (int c = 0; c < cols; c++)
        for (int r = 0; r * ROWS < rows; r++)
            sum[c][r] = v_load_rows(g->o[c0 + c] + m + r * ROWS, rows - r * ROWS);
}

static void store_sums(const cpu_gemm *g, int64_t c0, int cols, int64_t m, int64_t rows, vf sum[TILE][VECTORS])
{
    for (int c = 0; c < cols; c++)
        for (int r = 0; r * ROWS < rows; r++)
            v_store_rows(g->o[c0 + c] + m + r * ROWS, sum[c][r], rows - r * ROWS);
}

/* Results that the tile after the next is added to: columns' are often so far apart that no cache keeps them. */
static void ask_results(const cpu_gemm *g, int64_t c, int cols, int64_t m)
{
    for (int64_t i = c; i < c + cols && i < g->n; i++)
        __builtin_prefetch(g->o[i] + m, 1, 3);
}

/* Columns c .. c + cols - 1 from element k0 on.  Filled in where it is read: a copy would be of more bytes at once than
 * were just written, which waits until they and all results written before are in the cache (a tenth of the time). */
static void set_columns(tile_columns *x, const cpu_gemm *g, int planes, const uint8_t *packed, int64_t c, int cols,
                        int64_t k0)
{
    const planes_form form = planes_types[g->type].form;
    const int64_t column = planes_column_bytes(form, planes, g->k);
    x->g = g;
    x->first = c;
    x->k = k0;
    for (int i = 0; i < cols; i++)
        x->packed[i] = packed + (c + i) * column + k0 / GROUP * planes_group_bytes(form, planes);
}

/* What a run by panels knows. */
typedef struct planes_run {
    const cpu_gemm *g;
    int planes;
    const uint8_t *packed;
    strip_panel panel;
    tile_call *tile;
    int64_t elements; /* of a panel */
    void (*prepare)(uint8_t *lines, int64_t bytes, int bias); /* a panel's lines for its tiles; NULL: they are */
} planes_run;

CPU_INLINE int64_t most_of(int planes)
{
    return planes == 1 ? TILE : TILE_EXACT;
}

/* How many of the columns that are left come next, if at most `most` do and each time as many, as far as that goes. */
static int even(int64_t left, int64_t most)
{
    const int64_t times = (left + most - 1) / most;
    return (int)((left + times - 1) / times);
}

/* A tile's share of the next panel, the first tile's first. */
static strip_ask first_ask(const cpu_gemm *g, const cpu_panel *p, int64_t kc, int64_t tiles)
{
    const strip_rows next = rows_at(g, p->next_m, STRIP, p->next_k0);
    const int64_t bytes = kc / g->block * g->block_bytes * EU_LANES, steps = kc / GROUP * EU_LANES / STRIP;
    strip_ask ask = {.bytes = bytes / (tiles * (steps ? steps : 1)) + 1};
    for (int r = 0; r < STRIP / EU_LANES; r++)
        ask.at[r] = group_at(next.at, r);
    return ask;
}

static void next_ask(strip_ask *ask, int64_t kc)
{
    for (int r = 0; r < STRIP / EU_LANES; r++)
        ask->at[r] += kc / GROUP * EU_LANES / STRIP * ask->bytes;
}

static void run_panel(const void *what, const cpu_panel *p)
{
    const planes_run *w = what;
    const cpu_gemm *g = w->g;
    const int64_t kc = g->k - p->k0 < w->elements ? g->k - p->k0 : w->elements, most = most_of(w->planes);
    strip_ask ask = first_ask(g, p, kc, (p->c1 - p->c0 + most - 1) / most);
    planes_types[g->type].type->panel(g, p->k0, kc, rows_at(g, p->m, p->rows, p->k0), &w->panel);
    if (w->prepare)
        w->prepare(w->panel.lines, kc * STRIP, planes_types[g->type].form.bias);
    int cols;
    for (int64_t c = p->c0; c < p->c1; c += cols, next_ask(&ask, kc)) {
        vf sum[TILE][VECTORS];
        tile_columns x;
        cols = even(p->c1 - c, most);
        ask_results(g, c + 2 * cols, cols, p->m);
        zero(sum);
        if (p->k0)
            load_sums(g, c, cols, p->m, p->rows, sum);
        set_columns(&x, g, w->planes, w->packed, c, cols, p->k0);
        w->tile(&w->panel, kc / GROUP, planes_types[g->type].form.bias, w->planes, cols, &x, &ask, sum);
        store_sums(g, c, cols, p->m, p->rows, sum);
    }
}

/* A run of rows with g->n columns, whose panels and, unless they are packed, columns are in the scratch. */
static planes_run run_of(const cpu_gemm *g, int planes, uint8_t *scratch)
{
    float *d = (float *)(scratch + LINES_BYTES), *m = d + FACTORS_BYTES / sizeof *d, *by = m + FACTORS_BYTES / sizeof *d;
    vi *n = planes == 1 ? NULL : (vi *)(scratch + LINES_BYTES + 3 * FACTORS_BYTES);
    planes_run w = {.g = g, .planes = planes, .packed = g->packed, .panel = {scratch, {d, m, by, n}, false},
                    .tile = tile_of(planes_types[g->type].form),
                    .elements = g->n > SOME ? PANEL : PANEL_OF_SOME};
    if (!w.packed) {
        PLANES_V(cpu_planes_pack)(g, planes_types[g->type].form, planes, 0, g->n, scratch + PANEL_BYTES);
        w.packed = scratch + PANEL_BYTES;
    }
    return w;
}

static void run_panels(const planes_run *w, int64_t m0, int64_t m1)
{
    const int64_t bytes = w->elements / GROUP * planes_group_bytes(planes_types[w->g->type].form, w->planes);
    cpu_each_panel(w->g, m0, m1, STRIP, w->elements, bytes, TILE, run_panel, w);
}

/* Rows m0 .. m1 - 1 with all columns in so many planes. */
static void run_rows(const cpu_gemm *g, int planes, int64_t m0, int64_t m1, uint8_t *scratch);

/* Few columns are left to another way to multiply, or whatever there is, if it is not for this one; false: there are many. */
CPU_INLINE bool left_to(const cpu_interleaved *other, bool all, const cpu_gemm *g, int planes, int64_t m0, int64_t m1,
                        uint8_t *scratch)
{
    if (!all && m0 < m1 && g->n > NOW_AGAIN)
        return false;
    (planes == 1 ? &other->fast : &other->exact)->rows(g, m0, m1, scratch);
    return true;
}

/* The calls of a way to multiply (cpu_products). */
#define PRODUCTS(name, planes)                                                                                         \
    static size_t column_bytes_##name(uint32_t type, int64_t k)                                                        \
    {                                                                                                                  \
        return (size_t)planes_column_bytes(planes_types[type].form, planes, k);                                        \
    }                                                                                                                  \
    static size_t packed_bytes_##name(uint32_t type, int64_t k, int64_t n)                                             \
    {                                                                                                                  \
        return cpu_aligned((size_t)n * column_bytes_##name(type, k));                                                  \
    }                                                                                                                  \
    static size_t scratch_bytes_##name(uint32_t type, int64_t k, int64_t n)                                            \
    {                                                                                                                  \
        return PANEL_BYTES + packed_bytes_##name(type, k, n);                                                          \
    }                                                                                                                  \
    static void pack_##name(const cpu_gemm *g, int64_t c0, int64_t c1, void *out)                                      \
    {                                                                                                                  \
        PLANES_V(cpu_planes_pack)(g, planes_types[g->type].form, planes, c0, c1, out);                                 \
    }                                                                                                                  \
    static void rows_##name(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch)                               \
    {                                                                                                                  \
        run_rows(g, planes, m0, m1, scratch);                                                                          \
    }

static int64_t grain(int64_t n)
{
    (void)n;
    return STRIP;
}

#endif
