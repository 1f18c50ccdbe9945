/*
 * Products of weights without blocks (f32, f16, bf16) whose rows lie side by side, EU_STRIP of them
 * (libengine/util/pack.h): a register has an element of each of CPU_VL rows, which meets that of a column in all lanes.
 * A lane's sum is a row's, and none is ever taken over lanes.
 *
 * Every result is formed in one order: k is cut into panels of PANEL elements, whose products are added one after
 * another to zero, and the panels' sums to one another in their order.  So it is the same bits whatever the number of
 * columns and threads, and for all variants that multiply and add in one operation.
 *
 * Compiled once per variant.
 */
#include "config.h"

#include "../cpu.h"
#include "panels.h"
#include "product.h"

#if CPU_HALVES

#define PANEL 256 /* elements of k: a strip's lines and a tile's columns of them fit the nearest cache */
#define STEP 2    /* elements of k that are met in a round: a word of bf16 */
#define VECTORS (EU_STRIP / CPU_VL)
#define CHAINS 4  /* sums, at least, that are added to in turn, for each waits for the one before */
#define AHEAD 3072 /* bytes: lines of weights that are asked for so much earlier */
#if CPU_REGISTERS == 32
#define SUMS 24   /* of a tile, in registers */
#else
#define SUMS 12
#endif
#define TILE (CPU_VL == 16 ? SUMS / 2 : 6) /* columns */
#define MOST_NOW (4 * TILE) /* columns for which weights are not written out as floats first */

/* Vectors of rows that a tile of so many columns has at once. */
#define AT_ONCE(cols) (VECTORS * (cols) <= SUMS ? VECTORS : VECTORS / 2)
/* Does one panel alone have too few sums?  Then two are met side by side. */
#define PAIRS(cols) (AT_ONCE(cols) * (cols) <= CHAINS)

/* Where elements are: in weights of a type, or written out as floats. */
enum { LINES = -1, F32 = ENG_TYPE_F32, F16 = ENG_TYPE_F16, BF16 = ENG_TYPE_BF16 };

CPU_INLINE int64_t bytes_of(const int type)
{
    return type == F16 || type == BF16 ? 2 : 4;
}

/* A panel of a strip and columns from there on. */
typedef struct strip_tile {
    const uint8_t *w, *ask; /* what is asked for meanwhile, line after line ...  */
    const float *x;
    int64_t stride;         /* floats from one column to the next                */
    int64_t kc;
    int panels;             /* 2: and that many elements of the next one as well */
    bool first;
    float *const *o;
    int64_t m;
} strip_tile;

/* Element 0 or 1 of those that begin at `w` of the rows of vector r. */
CPU_INLINE vf weights(const int type, const uint8_t *w, const int r, const int element)
{
    const int at = element * EU_STRIP + r * CPU_VL;
    if (type == F16)
        return v_f16(w + 2 * at);
    if (type != BF16)
        return v_load((const float *)w + at);
    const vu words = (vu)v_loadi(w + 4 * r * CPU_VL);
    return (vf)(element ? words & 0xffff0000 : words << 16);
}

/* Adds products of that element.  x: every third column. */
CPU_INLINE void meet(const int type, const int cols, const int vectors, const uint8_t *w, const float *const *x,
                     int64_t stride, const int first, const int element, vf sum[TILE][VECTORS])
{
    vf a[VECTORS];
    CPU_UNROLL
    for (int r = 0; r < vectors; r++)
        a[r] = weights(type, w, r, element);
    CPU_UNROLL
    for (int c = 0; c < cols; c++) {
        const vf b = v_set1(x[c / 3][c % 3 * stride + first + element]);
        CPU_UNROLL
        for (int r = 0; r < vectors; r++)
            sum[c][r] = v_fma(a[r], b, sum[c][r]);
    }
}

/* Lines that are asked for in a round: all that a round reads, or, where several tiles share what is asked for, about the half
 * of them. */
CPU_INLINE int64_t lines_of(const int type, const bool shared)
{
    const int64_t all = type == LINES ? 1 : STEP * EU_STRIP * bytes_of(type) / 64;
    return shared ? all / 2 : all;
}

/* A tile of lines has less to wait for. */
CPU_INLINE void ask(const int type, const uint8_t *p)
{
    if (type == LINES)
        __builtin_prefetch(p, 0, 3);
    else
        ask_far(p);
}

/* Some vectors of the rows, from vector `begin` on. */
CPU_INLINE void tile_vectors(const int type, const int cols, const int vectors, const int panels, const int begin,
                             const bool shared, const strip_tile *t)
{
    const int64_t step = STEP * EU_STRIP * bytes_of(type), panel = PANEL * EU_STRIP * bytes_of(type);
    const int64_t lines = lines_of(type, shared);
    const uint8_t *w = t->w + begin * CPU_VL * (type == BF16 ? 4 : bytes_of(type)), *next = t->ask;
    const float *x[TILE / 3 + 1];
    vf sum[2][TILE][VECTORS];
    CPU_UNROLL
    for (int p = 0; p < panels; p++)
        CPU_UNROLL
        for (int i = 0; i < cols * vectors; i++)
            sum[p][i / vectors][i % vectors] = (vf){0};
    CPU_UNROLL
    for (int i = 0; 3 * i < cols; i++)
        x[i] = t->x + 3 * i * t->stride;
    int64_t k = 0;
    for (; k + STEP <= t->kc; k += STEP, w += step, next += 64 * lines) {
        CPU_UNROLL
        for (int p = 0; p < panels; p++) {
            CPU_UNROLL
            for (int e = 0; e < STEP; e++)
                meet(type, cols, vectors, w + p * panel, x, t->stride, p * PANEL, e, sum[p]);
            CPU_UNROLL
            for (int64_t i = 0; i < lines; i++)
                ask(type, next + p * panel + 64 * i);
        }
        CPU_UNROLL
        for (int i = 0; 3 * i < cols; i++)
            x[i] += STEP;
    }
    if (type != BF16 && k < t->kc)
        meet(type, cols, vectors, w, x, t->stride, 0, 0, sum[0]);
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        CPU_UNROLL
        for (int r = 0; r < vectors; r++) {
            float *o = t->o[c] + t->m + (begin + r) * CPU_VL;
            vf all = t->first ? sum[0][c][r] : v_load(o) + sum[0][c][r];
            if (panels == 2)
                all += sum[1][c][r];
            v_store(o, all);
        }
}

CPU_INLINE void tile(const int type, const int cols, const bool shared, const strip_tile *t)
{
    for (int begin = 0; begin < VECTORS; begin += AT_ONCE(cols))
        if (PAIRS(cols) && t->panels == 2)
            tile_vectors(type, cols, AT_ONCE(cols), 2, begin, shared, t);
        else
            tile_vectors(type, cols, AT_ONCE(cols), 1, begin, shared, t);
}

#define FEW_TILES(X, type) X(1, type) X(2, type) X(3, type) X(4, type) X(5, type)
#if CPU_VL == 16
#define MORE_TILES(X, type) X(6, type) X(7, type) X(8, type) X(9, type) X(10, type) X(11, type) X(12, type)
#else
#define MORE_TILES(X, type) X(6, type)
#endif
#define ALONE(cols, type) case cols: tile(type, cols, false, t); break;
#define SHARED(cols, type) case cols: tile(type, cols, true, t); break;
#define TILES_OF(name, tiles)                                                                                          \
    static void tiles_##name(int cols, const strip_tile *t)                                                            \
    {                                                                                                                  \
        switch (cols) {                                                                                                \
            tiles                                                                                                      \
        default: break;                                                                                                \
        }                                                                                                              \
    }
#define TILES_ALONE(type) TILES_OF(type, FEW_TILES(ALONE, type) MORE_TILES(ALONE, type))
#define TILES_SHARED(type)                                                                                             \
    TILES_OF(type##_shared, EVEN_TILES(SHARED, type) MORE_TILES(SHARED, type))
#if CPU_VL == 16 /* what even() gives of more columns than a tile has */
#define EVEN_TILES(X, type)
#else
#define EVEN_TILES(X, type) X(3, type) X(4, type) X(5, type)
#endif
TILES_ALONE(LINES)
TILES_ALONE(F32)
TILES_ALONE(F16)
TILES_ALONE(BF16)
TILES_SHARED(F32)
TILES_SHARED(F16)
TILES_SHARED(BF16)

typedef void (*tiles_of)(int cols, const strip_tile *t);
static tiles_of tiles_for(uint32_t type, bool shared)
{
    switch (type) {
    case ENG_TYPE_F32: return shared ? tiles_F32_shared : tiles_F32;
    case ENG_TYPE_F16: return shared ? tiles_F16_shared : tiles_F16;
    default: return shared ? tiles_BF16_shared : tiles_BF16;
    }
}

/* -- columns ----------------------------------------------------------------------------------- */

/* Floats from one packed column to the next: so that elements of several are not in one set of the cache. */
static int64_t column_floats(int64_t k)
{
    return (k + 15) / 16 * 16 + 16;
}

static size_t column_bytes(uint32_t type, int64_t k)
{
    (void)type;
    return (size_t)column_floats(k) * sizeof(float);
}

static size_t packed_bytes(uint32_t type, int64_t k, int64_t n)
{
    return (size_t)n * column_bytes(type, k);
}

static void pack(const cpu_gemm *g, int64_t c0, int64_t c1, void *out)
{
    for (int64_t c = c0; c < c1; c++) {
        float *to = (float *)out + c * column_floats(g->k);
        if (g->b_type == ENG_TYPE_F32)
            memcpy(to, g->b[c], (size_t)g->k * sizeof *to);
        else
            cpu_formats[g->b_type].decode(g->b[c], 0, g->k, to);
    }
}

/* -- rows --------------------------------------------------------------------------------------- */

#define LINES_BYTES (PANEL * EU_STRIP * sizeof(float))

typedef struct strips_run {
    const cpu_gemm *g;
    const float *x;
    float *lines;
} strips_run;

static const uint8_t *strip_at(const cpu_gemm *g, int64_t m, int64_t k0)
{
    return g->a + (m - g->row0) * g->stride + k0 * EU_STRIP * bytes_of((int)g->type);
}

/* How many of the columns that are left come next: each time as many, as far as that goes. */
static int even(int64_t left)
{
    const int64_t times = (left + TILE - 1) / TILE;
    return (int)((left + times - 1) / times);
}

/* Rows m .. m + EU_STRIP - 1 with all columns.  A single tile asks for what is little later, several share the next panel
 * among them: all asked for by the first of them, the others would wait for nothing, and it for the memory. */
static void run_now(const strips_run *w, int64_t m)
{
    const cpu_gemm *g = w->g;
    const bool pairs = PAIRS(g->n), shared = g->n > TILE;
    const int64_t stride = column_floats(g->k), panel = PANEL * EU_STRIP * bytes_of((int)g->type);
    const tiles_of tiles = tiles_for(g->type, shared);
    for (int64_t k0 = 0, some; k0 < g->k; k0 += some) {
        strip_tile t = {.w = strip_at(g, m, k0), .stride = stride, .m = m, .first = k0 == 0, .panels = 1};
        t.kc = g->k - k0 < PANEL ? g->k - k0 : PANEL;
        if (pairs && g->k - k0 >= 2 * PANEL)
            t.panels = 2;
        some = t.panels * PANEL;
        t.ask = t.w + (shared ? panel : AHEAD);
        int cols;
        for (int64_t c = 0; c < g->n; c += cols, t.ask += panel / 2) {
            cols = even(g->n - c);
            t.x = w->x + c * stride + k0;
            t.o = g->o + c;
            tiles(cols, &t);
        }
    }
}

/* kc elements of a strip as floats. */
CPU_INLINE void write_lines(const int type, const uint8_t *w, int64_t kc, float *out)
{
    for (int64_t k = 0; k < kc; k++, out += EU_STRIP) {
        const uint8_t *of = w + k / STEP * STEP * EU_STRIP * bytes_of(type);
        for (int r = 0; r < VECTORS; r++)
            v_store(out + r * CPU_VL, k % STEP ? weights(type, of, r, 1) : weights(type, of, r, 0));
    }
}

/* Results that the tile after the next is added to: columns' are often so far apart that no cache keeps them. */
static void ask_results(const cpu_gemm *g, int64_t c, int cols, int64_t m)
{
    for (int64_t i = c; i < c + cols && i < g->n; i++) {
        __builtin_prefetch(g->o[i] + m, 1, 3);
        __builtin_prefetch(g->o[i] + m + 16, 1, 3);
    }
}

static void run_panel(const void *what, const cpu_panel *p)
{
    const strips_run *w = what;
    const cpu_gemm *g = w->g;
    const int64_t stride = column_floats(g->k);
    strip_tile t = {.w = strip_at(g, p->m, p->k0), .ask = strip_at(g, p->next_m, p->next_k0), .stride = stride,
                    .kc = g->k - p->k0 < PANEL ? g->k - p->k0 : PANEL, .panels = 1, .first = p->k0 == 0, .m = p->m};
    if (g->type == ENG_TYPE_F16)
        write_lines(F16, t.w, t.kc, w->lines);
    else if (g->type == ENG_TYPE_BF16)
        write_lines(BF16, t.w, t.kc, w->lines);
    if (g->type != ENG_TYPE_F32)
        t.w = (const uint8_t *)w->lines;
    int cols;
    for (int64_t c = p->c0; c < p->c1; c += cols, t.ask += 64 * (PANEL / STEP)) {
        cols = even(p->c1 - c);
        ask_results(g, c + 2 * cols, cols, p->m);
        t.x = w->x + c * stride + p->k0;
        t.o = g->o + c;
        tiles_LINES(cols, &t);
    }
}

static void rows(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch)
{
    strips_run w = {g, g->packed, (float *)scratch};
    if (m0 >= m1 || g->n == 0)
        return;
    if (!w.x) {
        pack(g, 0, g->n, scratch + LINES_BYTES);
        w.x = (const float *)(scratch + LINES_BYTES);
    }
    if (g->n > MOST_NOW)
        cpu_each_panel(g, m0, m1, EU_STRIP, PANEL, PANEL * sizeof(float), TILE, run_panel, &w);
    for (int64_t m = m0; m < m1 && g->n <= MOST_NOW; m += EU_STRIP)
        run_now(&w, m);
}

static size_t scratch_bytes(uint32_t type, int64_t k, int64_t n)
{
    return LINES_BYTES + packed_bytes(type, k, n);
}

static int64_t grain(int64_t n)
{
    (void)n;
    return EU_STRIP;
}

#define BIT(type) (UINT64_C(1) << ENG_TYPE_##type)
const cpu_interleaved CPU_V(cpu_strips) = {
    .exact = {scratch_bytes, packed_bytes, pack, rows, grain, column_bytes},
    .types = BIT(F32) | BIT(F16) | BIT(BF16),
};

#endif
