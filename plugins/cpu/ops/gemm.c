/*
 * Rows of weights (of any type) times columns of activations, in f32.
 *
 * Up to `columns` of the type (cpu_format): gemm_few.c; rows as short as a head of attention: gemm_short.c.
 *
 * More: some rows are decoded, a panel of k at a time, into lines, and a register tile of 4 rows x CPU_TILE columns
 * with k along the lanes runs over them and over the columns, which were packed: chain by chain (gemm.h), so that what
 * is needed together lies together and eight rows of it stay in the nearest cache.  With some columns the weights are
 * read in their order; with many, all rows of a thread pass before the next panel of k comes, for then it is the
 * columns that do not fit in a cache.  With a few f32, f16 and bf16 have no lines: decoding is one instruction, and to
 * write and read lines takes longer than to read rows once for each chain.
 *
 * Compiled once per variant.
 */
#include "config.h"

#include "gemm_lines.h"

#define KC CPU_GEMM_KC
#define NC 96   /* columns at once: a chain of them stays in the second-level cache, beside ... */
#define SOME 24 /* columns of which a whole row of panels does                      */
#define ROWS 32 /* ... so many lines, with many columns                             */
#define NEAR 8  /* lines of a chain that stay in the nearest cache; so many with some columns */
#define CHAIN (KC / 4)
#define ROWS_AT_ONCE 4 /* of those that need none: a panel of them stays in the nearest cache for all four chains */
/* Twelve products a step leave time for little else: steps side by side, 1.1 times as fast. */
#if CPU_VL == 8
#define STEPS CPU_UNROLL_BY_4
#else
#define STEPS
#endif

bool CPU_V(cpu_gemm_blocked)(int64_t n)
{
    return n > SOME;
}

CPU_INLINE int64_t column_tiles(int64_t cols)
{
    return (cols + CPU_TILE - 1) / CPU_TILE;
}

static int64_t columns_at_once(int64_t n)
{
    int64_t parts = (n + NC - 1) / NC;
    int64_t each = parts ? (n + parts - 1) / parts : 0;
    return column_tiles(each) * CPU_TILE;
}

/* Room for packed rows as in the file: no type of blocks takes more than f16. */
static size_t group_bytes(int64_t k)
{
    return cpu_aligned((size_t)EU_PACKED_ROWS * (size_t)k * 2);
}

CPU_INLINE size_t room(int64_t n)
{
    return cpu_aligned((size_t)n * sizeof(float));
}

CPU_INLINE size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t short_bytes(int64_t k, int64_t n)
{
    if (k > CPU_GEMM_SHORT)
        return 0;
    return room(CPU_GEMM_SHORT_ROWS * CPU_GEMM_SHORT) +
           room(cpu_gemm_packed(k, n < CPU_GEMM_SHORT_COLUMNS ? n : CPU_GEMM_SHORT_COLUMNS));
}

size_t CPU_V(cpu_gemm_scratch)(int64_t k, int64_t n)
{
    size_t few = CPU_V(cpu_gemm_few_scratch)(k), fast = CPU_V(cpu_gemm_fast_scratch)(k);
    size_t some = room(NEAR * KC) + room(cpu_gemm_packed(k, n < SOME ? n : SOME));
    size_t many = n > SOME ? room(ROWS * KC) + room((n < NC ? n : NC) * KC) : 0; /* fewer of them may be more at once */
    return larger(larger(group_bytes(k) + larger(few, fast), short_bytes(k, n)), larger(some, many));
}

/* -- columns ------------------------------------------------------------------------ */

/* A panel of a column, its chains `chain` floats apart. */
static void pack_column(const cpu_gemm *g, int64_t c, int64_t k0, int64_t kc, float *out, int64_t chain)
{
    float x[KC];
    cpu_gemm_column(g, c, k0, kc, x);
    const int64_t padded = cpu_whole_chains(kc);
    for (int64_t i = kc; i < padded; i++)
        x[i] = 0;
    for (int64_t i = 0; i < padded; i += 4 * CPU_VL)
        CPU_UNROLL
        for (int v = 0; v < 4; v++)
            v_store(out + v * chain + i / 4, v_load(x + i + v * CPU_VL));
}

void CPU_V(cpu_gemm_pack)(const cpu_gemm *g, int64_t c0, int64_t c1, void *packed)
{
    float *out = packed;
    for (int64_t k0 = 0; k0 < g->k; k0 += KC) {
        int64_t kc = g->k - k0 < KC ? g->k - k0 : KC, length = cpu_whole_chains(kc) / 4;
        for (int64_t c = c0; c < c1; c++)
            pack_column(g, c, k0, kc, out + g->n * k0 + c * length, g->n * length);
    }
}

/* -- lines ---------------------------------------------------------------------------- */

/* kc elements of `rows` rows, each chain's lines one after another, `most` of them; lines of the last tile that have no
 * row are zero. */
static void decode_lines(const cpu_gemm *g, int64_t m, int64_t rows, int64_t most, int64_t k0, int64_t kc, float *lines)
{
    for (int64_t r = 0; r < rows; r++)
        decode_line(g, m + r, k0, kc, lines + r * CHAIN, most * CHAIN);
    for (int64_t r = rows; r % 4; r++)
        for (int v = 0; v < 4; v++)
            memset(lines + (v * most + r) * CHAIN, 0, (size_t)cpu_whole_chains(kc) / 4 * sizeof *lines);
}

/*
 * Rows of weights that the next panel is made of, asked for a few lines of the cache with each tile: the machine does
 * not guess that each row goes on, and asked for all at once they are waited for, since some two dozen are on the way
 * at most.  Into the second-level cache, for such rows often collide in the nearest one.
 */
typedef struct asking {
    later_rows later;
    int64_t lines, each; /* that are left, and with a tile */
} asking;

CPU_INLINE void ask_some(asking *a)
{
    for (int64_t i = 0; i < a->each && a->lines > 0; i++, a->lines--)
        ask_for_line(&a->later, false);
}

/* Of `rows` rows from m on, kc elements, while `tiles` tiles are computed. */
static asking asking_for(const cpu_gemm *g, int64_t m, int64_t rows, int64_t k0, int64_t kc, int64_t tiles)
{
    const int64_t bytes = kc / g->block * g->block_bytes, lines = rows * ((bytes + 63) / 64);
    return (asking){.later = {cpu_gemm_row(g, m) + k0 / g->block * g->block_bytes, g->stride, bytes, 0},
                    .lines = g->group > 1 ? 0 : lines,
                    .each = (lines + tiles - 1) / tiles};
}

/* A chain of weights: lines, or vectors of rows, of which every fourth is the chain's. */
typedef struct weights {
    const uint8_t *at;
    int64_t stride; /* of rows, in bytes */
    int64_t last;   /* row that stands for those that are not there */
} weights;

/* Vector l / CPU_VL of row r of a chain. */
CPU_INLINE vf weight(const uint8_t *const *row, int r, int64_t l, const source from)
{
    return from == LINES ? v_load((const float *)row[0] + r * CHAIN + l) : v_plain(row[r], 4 * l, from);
}

/* Four sums to four results, or to zeros. */
CPU_INLINE void add_four(float *y, const float *sum, bool first)
{
    typedef float four __attribute__((vector_size(16)));
    four a = {0}, b;
    if (!first)
        memcpy(&a, y, sizeof a);
    memcpy(&b, sum, sizeof b);
    a += b;
    memcpy(y, &a, sizeof a);
}

/* A chain of `lines4` times four rows with one of `cols` columns, of `length` elements, added to what is there or, if
 * it is the first, to zero. */
CPU_INLINE void tile(const weights *a, const float *x, int64_t length, const int lines4, const int cols,
                     float *const *o, int64_t row, int64_t rows, bool first, const source from)
{
    vf acc[CPU_TILE][8];
    const uint8_t *at[8];
    CPU_UNROLL
    for (int r = 0; r < 4 * lines4; r++)
        at[r] = a->at + (from == LINES ? 0 : (r < a->last ? r : a->last) * a->stride);
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        CPU_UNROLL
        for (int r = 0; r < 4 * lines4; r++)
            acc[c][r] = (vf){0};
    STEPS
    for (int64_t l = 0; l < length; l += CPU_VL) {
        vf b[CPU_TILE];
        CPU_UNROLL
        for (int c = 0; c < cols; c++)
            b[c] = v_load(x + c * length + l);
        CPU_UNROLL
        for (int r = 0; r < 4 * lines4; r++) {
            vf w = weight(at, r, l, from);
            CPU_UNROLL
            for (int c = 0; c < cols; c++)
                acc[c][r] = v_fma(w, b[c], acc[c][r]);
        }
    }
    CPU_UNROLL
    for (int c = 0; c < cols; c++) {
        float sum[8], *y = o[c] + row;
        CPU_UNROLL
        for (int r = 0; r < 4 * lines4; r += 4)
            v_sum4(acc[c] + r, sum + r);
        if (rows == 4 * lines4) {
            CPU_UNROLL
            for (int r = 0; r < 4 * lines4; r += 4)
                add_four(y + r, sum + r, first);
        } else {
            for (int64_t r = 0; r < rows; r++)
                y[r] = (first ? 0 : y[r]) + sum[r];
        }
    }
}

/* A chain of up to NEAR rows with columns: as many columns as a tile has.  Where one column is left, there are eight
 * rows or two times two columns, for four sums would wait for one another. */
CPU_INLINE void tiles_from(weights a, const float *x, int64_t length, int64_t cols, float *const *o, int64_t row,
                           int64_t rows, bool first, asking *next, const source from)
{
    const int64_t four = 4 * (from == LINES ? CHAIN * (int64_t)sizeof(float) : a.stride);
    const uint8_t *const begin = a.at;
    int now;
    for (int64_t c = 0; c < cols; c += now) {
        const float *at = x + c * length;
        now = from != LINES && CPU_TILE == 3 && cols - c == 4 ? 2 : cols - c < CPU_TILE ? (int)(cols - c) : CPU_TILE;
        a.at = begin;
        a.last = rows - 1;
        ask_some(next);
        if (now == 1 && rows > 4) {
            tile(&a, at, length, 2, 1, o + c, row, rows, first, from);
            continue;
        }
        for (int64_t r = 0; r < rows; r += 4, a.at += four, a.last -= 4) {
            const int64_t here = rows - r < 4 ? rows - r : 4;
            switch (now) {
#define CASE(n) case n: tile(&a, at, length, 1, n, o + c, row + r, here, first, from); break;
            CASE(1) CASE(2) CASE(3)
#if CPU_TILE > 3
            CASE(4) CASE(5) CASE(6)
#endif
#undef CASE
            default: break;
            }
        }
    }
}

static void tiles(const float *lines, const float *x, int64_t length, int64_t cols, float *const *o, int64_t row,
                  int64_t rows, bool first, asking *next)
{
    tiles_from((weights){.at = (const uint8_t *)lines}, x, length, cols, o, row, rows, first, next, LINES);
}

#define TILES_OF(type)                                                                                                 \
    static void tiles_##type(weights a, const float *x, int64_t length, int64_t cols, float *const *o, int64_t row,    \
                             int64_t rows, bool first, asking *next)                                                   \
    {                                                                                                                  \
        tiles_from(a, x, length, cols, o, row, rows, first, next, ROWS_##type);                                        \
    }
TILES_OF(F32)
TILES_OF(F16)
TILES_OF(BF16)

/* A panel of up to ROWS_AT_ONCE rows as they are, with columns that are packed at x. */
static void panel_of_rows(const cpu_gemm *g, source from, int64_t m, int64_t rows, int64_t k0, int64_t kc,
                          const float *x)
{
    const int64_t length = kc / 4, begin = k0 * g->block_bytes;
    const uint8_t *row = cpu_gemm_row(g, m) + begin;
    asking next = asking_for(g, m + ROWS_AT_ONCE, rows, k0, kc, 4 * column_tiles(g->n));
    for (int v = 0; v < 4; v++) {
        const weights a = {.at = row + v * CPU_VL * g->block_bytes, .stride = g->stride};
        const bool first = k0 == 0 && v == 0;
        (from == ROWS_F32 ? tiles_F32 : from == ROWS_F16 ? tiles_F16 : tiles_BF16)(a, x + v * g->n * length, length,
                                                                                   g->n, g->o, m, rows, first, &next);
    }
}

/* A panel of `rows` rows with `cols` columns, which are packed at x, chains `chain` floats apart; there is room for
 * `most` lines.  Results lie far apart, where each chain would wait for them: sums are formed beside one another. */
static void panel(const cpu_gemm *g, int64_t m, int64_t rows, int64_t most, int64_t k0, int64_t kc, const float *x,
                  int64_t chain, int64_t cols, float *const *o, float *lines)
{
    const int64_t length = cpu_whole_chains(kc) / 4;
    const size_t bytes = (size_t)rows * sizeof(float);
    float sums[NC][ROWS], *near[NC];
    asking next = asking_for(g, m + most, rows, k0, kc, 4 * ((rows + NEAR - 1) / NEAR) * column_tiles(cols));
    decode_lines(g, m, rows, most, k0, kc, lines);
    for (int64_t c = 0; c < cols; c++) {
        near[c] = sums[c];
        if (k0)
            memcpy(sums[c], o[c] + m, bytes);
    }
    for (int v = 0; v < 4; v++)
        for (int64_t r = 0; r < rows; r += NEAR)
            tiles(lines + (v * most + r) * CHAIN, x + v * chain, length, cols, near, r,
                  rows - r < NEAR ? rows - r : NEAR, k0 == 0 && v == 0, &next);
    for (int64_t c = 0; c < cols; c++)
        memcpy(o[c] + m, sums[c], bytes);
}

static void some_columns(const cpu_gemm *g, int64_t m0, int64_t m1, float *lines)
{
    float *own = lines + NEAR * KC;
    const source from = source_of(g);
    if (!g->packed)
        CPU_V(cpu_gemm_pack)(g, 0, g->n, own);
    const int64_t each = from == LINES ? NEAR : ROWS_AT_ONCE;
    for (int64_t m = m0; m < m1; m += each)
        for (int64_t k0 = 0; k0 < g->k; k0 += KC) {
            const int64_t kc = g->k - k0 < KC ? g->k - k0 : KC, rows = m1 - m < each ? m1 - m : each;
            const float *x = (g->packed ? (const float *)g->packed : own) + g->n * k0;
            if (from == LINES)
                panel(g, m, rows, NEAR, k0, kc, x, g->n * cpu_whole_chains(kc) / 4, g->n, g->o, lines);
            else
                panel_of_rows(g, from, m, rows, k0, kc, x);
        }
}

static void many_columns(const cpu_gemm *g, int64_t m0, int64_t m1, float *lines)
{
    float *own = lines + ROWS * KC;
    int64_t nc = columns_at_once(g->n);
    for (int64_t c0 = 0; c0 < g->n; c0 += nc) {
        int64_t cols = g->n - c0 < nc ? g->n - c0 : nc;
        for (int64_t k0 = 0; k0 < g->k; k0 += KC) {
            int64_t kc = g->k - k0 < KC ? g->k - k0 : KC, length = cpu_whole_chains(kc) / 4;
            int64_t chain = (g->packed ? g->n : cols) * length;
            for (int64_t c = 0; c < cols && !g->packed; c++)
                pack_column(g, c0 + c, k0, kc, own + c * length, chain);
            const float *x = g->packed ? (const float *)g->packed + g->n * k0 + c0 * length : own;
            for (int64_t m = m0; m < m1; m += ROWS)
                panel(g, m, m1 - m < ROWS ? m1 - m : ROWS, ROWS, k0, kc, x, chain, cols, g->o + c0, lines);
        }
    }
}

/* -- all ------------------------------------------------------------------------------ */

static void rows_as_in_file(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch)
{
    if (g->fast && CPU_V(cpu_gemm_fast)(g->type, g->k, g->n))
        CPU_V(cpu_gemm_rows_fast)(g, m0, m1, scratch);
    else
        CPU_V(cpu_gemm_few)(g, m0, m1, scratch);
}

/* A group of rows at a time, as in the file. */
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
        rows_as_in_file(&part, m, m + rows, scratch + group_bytes(g->k));
    }
}

/* Columns that were packed, or some at a time that are packed here. */
static void short_rows(const cpu_gemm *g, int64_t m0, int64_t m1, float *lines)
{
    float *own = lines + CPU_GEMM_SHORT_ROWS * CPU_GEMM_SHORT;
    for (int64_t c0 = 0; c0 < g->n; c0 += CPU_GEMM_SHORT_COLUMNS) {
        const int64_t cols = g->n - c0 < CPU_GEMM_SHORT_COLUMNS ? g->n - c0 : CPU_GEMM_SHORT_COLUMNS;
        if (g->packed) {
            CPU_V(cpu_gemm_short)(g, m0, m1, c0, c0 + cols, lines);
            continue;
        }
        cpu_gemm some = *g;
        some.n = cols;
        some.b += c0;
        some.o += c0;
        CPU_V(cpu_gemm_pack)(&some, 0, cols, own);
        some.packed = own;
        CPU_V(cpu_gemm_short)(&some, m0, m1, 0, cols, lines);
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
    bool fast = g->fast && CPU_V(cpu_gemm_fast)(g->type, g->k, g->n);
    if (CPU_V(cpu_gemm_is_short)(g) && !fast)
        short_rows(g, m0, m1, (float *)scratch);
    else if (g->blocked)
        many_columns(g, m0, m1, (float *)scratch);
    else if (g->n > cpu_formats[g->type].columns && !fast)
        some_columns(g, m0, m1, (float *)scratch);
    else if (g->group > 1)
        packed_rows(g, m0, m1, scratch);
    else
        rows_as_in_file(g, m0, m1, scratch);
}
