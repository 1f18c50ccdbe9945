/*
 * Products of joint blocks by tiles (joint.h).  Six tiles are sums, of three digits and either the two parts of a vector's
 * integers or the bytes of two vectors; the other two are what is multiplied.  A tile of columns meets one strip after
 * another, so that its digits stay in the nearest cache, and while a block is multiplied the sums of the block before are
 * put together.
 *
 * By count, 16 rows, 16 columns and a block: 24 products of 16 cycles, of two parts; six tiles stored, 16 cycles of another
 * port each, 28 loaded; and seven operations of floats for each column, and one for each minimum.
 */
#include "config.h"

#include "joint.h"

typedef int32_t joint_sums_of[2 * EXACT][TILE_ROWS][ROWS];

#define FEW_COLUMNS TILE_ROWS /* for which a strip stays in the nearest cache until they have met it, and its weights are from memory */

/* Results of a strip and a tile of columns. */
typedef float joint_results[VECTORS][TILE_ROWS][ROWS];

typedef struct joint_workspace {
    _Alignas(64) joint_results near[JOINT_COLUMNS / TILE_ROWS][JOINT_STRIPS];
    joint_columns columns[JOINT_COLUMNS / TILE_ROWS];
    joint_strip strips[JOINT_STRIPS];
} joint_workspace;

/* Rows m .. end - 1, columns c0 .. c1 - 1, and a block of k. */
typedef struct joint_run {
    const cpu_gemm *g;
    joint_form form;
    bool together; /* columns are packed so */
    const uint8_t *packed;
    joint_workspace *near;
    int64_t m, end, strips, c0, c1, tiles, k0;
    bool few;   /* a strip at a time, which asks for what comes next as it is laid out */
    int shaped; /* for how many columns tiles are; 0: none */
    tile_asks weights, columns;
} joint_run;

/* -- sums put together ------------------------------------------------------------------------------------------ */

/* What was multiplied: its sums, of the first of them, and where results are. */
typedef struct met_block {
    const int32_t (*sums)[TILE_ROWS][ROWS];
    const joint_columns *x;
    const joint_strip *w;
    int vector;
    float (*near)[ROWS];
} met_block;

/* Digits' sums, with the parts' together. */
CPU_INLINE vf joint_of_column(const met_block *met, const int c, const joint_form form)
{
    vi s[EXACT];
    CPU_UNROLL
    for (int p = 0; p < EXACT; p++) {
        s[p] = *(const vi *)met->sums[p][c];
        if (!form.bytes)
            s[p] += *(const vi *)met->sums[EXACT + p][c] << 8;
    }
    return p_joint(s);
}

/* A column's element that is set apart, as dot products have it (planes/meet.h): the number is the integer by the group's. */
static vf add_element(const met_block *met, const joint_form form, const cpu_gemm *g, int64_t c, int64_t k0, int i, vf sum)
{
    const int unit = i * form.units / SPAN, at = i / 4 * TILE_LINE;
    const vf n = met->w->n[unit * VECTORS + met->vector];
    const uint8_t *part = form.bytes ? met->w->parts[0][met->vector] : met->w->parts[met->vector][0];
    vi integer = (vi)(v_loadi(part + at) << (24 - 8 * (i % 4))) >> 24;
    if (!form.bytes)
        integer += (vi)(v_loadi(part + JOINT_PART + at) << (24 - 8 * (i % 4))) >> 24 << 8;
    const vf d = v_load(met->w->by + met->vector * ROWS) * n;
    const vf number = v_cvt(integer) / v_select(n == 0, v_set1(1), n) + v_set1((float)form.bias);
    const vf m = form.minima ? v_load(met->w->m + unit * STRIP + met->vector * ROWS) : d * -(float)form.bias;
    return v_fma(v_fma(number, d, m), v_set1(element(g, c, k0 + i)), sum);
}

CPU_INLINE vf add_minimum(const met_block *met, int unit, const int c, vf sum)
{
    return v_fma(v_load(met->w->least + unit * STRIP + met->vector * ROWS), v_set1(met->x->elements[unit][c]), sum);
}

/* A column's elements that are set apart, if there are any. */
static __attribute__((noinline)) vf add_those_apart(const joint_run *w, const met_block *met, int64_t tile, int c, vf sum)
{
    vf apart = {0};
    bool any = false;
    for (int i = 0; i < SPAN; i++) {
        if (!(met->x->apart[i / GROUP][c] >> i % GROUP & 1))
            continue;
        apart = add_element(met, w->form, w->g, w->c0 + tile * TILE_ROWS + c, w->k0, i, apart);
        any = true;
    }
    return any ? sum + apart : sum;
}

CPU_INLINE void add_column(const joint_run *w, const met_block *met, int64_t tile, const int c, const joint_form form,
                           const bool apart)
{
    vf span = {0};
    if (form.minima) {
        CPU_UNROLL
        for (int unit = 0; unit < form.units; unit++)
            span = add_minimum(met, unit, c, span);
    }
    span = v_fma(joint_of_column(met, c, form), v_load(met->w->by + met->vector * ROWS), span);
    const vf sum = v_fma(span, v_set1(met->x->factor[c]), v_load(met->near[c]));
    v_store(met->near[c], apart ? add_those_apart(w, met, tile, c, sum) : sum);
}

/* Columns first .. end - 1 of a block that was met; of bytes, of both vectors. */
CPU_INLINE void add_columns(const joint_run *w, const met_block *met, int64_t tile, const int first, const int end,
                            const joint_form form, const bool apart)
{
    CPU_UNROLL
    for (int c = first; c < end; c++)
        add_column(w, met, tile, c, form, apart);
    if (!form.bytes)
        return;
    const met_block second = {met->sums + EXACT, met->x, met->w, met->vector + 1, met->near + TILE_ROWS};
    CPU_UNROLL
    for (int c = first; c < end; c++)
        add_column(w, &second, tile, c, form, apart);
}

/* -- a tile of columns -------------------------------------------------------------------------------------------- */

/* The last tile of columns may be half a tile, which is stored, and put together, in half the time. */
static void shape_tiles(joint_run *w, int cols)
{
    tile_shapes s = {0};
    if (w->shaped == cols)
        return;
    w->shaped = cols;
    for (int i = 0; i < 7; i++)
        tile_shape(&s, i, cols, TILE_LINE);
    tile_shape(&s, 7, TILE_ROWS, TILE_LINE);
    tiles_configure(&s);
}

#define MULTIPLY(line, part, p, sum)                                                                                   \
    do {                                                                                                               \
        TILE_LOAD(6, x->digits[line][p], TILE_LINE);                                                                   \
        TILE_BYTES(sum, 6, 7);                                                                                         \
    } while (0)

/* 64 elements: the digit that meets both parts is loaded once. */
CPU_INLINE void multiply_line(const joint_columns *x, const uint8_t *weights, const int line, const bool second)
{
    TILE_LOAD(7, weights + (second ? JOINT_PART : 0) + line * JOINT_TILE, TILE_LINE);
    if (second) {
        TILE_BYTES(5, 6, 7);
        MULTIPLY(line, 1, 1, 4);
        MULTIPLY(line, 1, 0, 3);
    } else {
        MULTIPLY(line, 0, 0, 0);
        MULTIPLY(line, 0, 1, 1);
        MULTIPLY(line, 0, 2, 2);
    }
}

CPU_INLINE void zero_sums(void)
{
    TILE_ZERO(0);
    TILE_ZERO(1);
    TILE_ZERO(2);
    TILE_ZERO(3);
    TILE_ZERO(4);
    TILE_ZERO(5);
}

CPU_INLINE void store_sums(joint_sums_of sums)
{
    TILE_STORE(0, sums[0], TILE_LINE);
    TILE_STORE(1, sums[1], TILE_LINE);
    TILE_STORE(2, sums[2], TILE_LINE);
    TILE_STORE(3, sums[3], TILE_LINE);
    TILE_STORE(4, sums[4], TILE_LINE);
    TILE_STORE(5, sums[5], TILE_LINE);
}

CPU_INLINE bool any_apart(const joint_columns *x)
{
    vu any = {0};
    for (int i = 0; i < JOINT_GROUPS; i++)
        any |= (vu)v_loadi(x->apart[i]);
    return _mm512_test_epi32_mask((__m512i)any, (__m512i)any) != 0;
}

/* A tile of columns times all strips. */
CPU_INLINE void meet_tile(joint_run *w, const joint_columns *x, int64_t tile, const joint_form form, const int cols, const bool apart)
{
    _Alignas(64) joint_sums_of sums[2];
    const int each = form.bytes ? VECTORS : 1;
    met_block before = {0};
    shape_tiles(w, cols);
    for (int64_t i = 0; i < w->strips * VECTORS; i += each) {
        joint_strip *strip = &w->near->strips[i / VECTORS];
        const int vector = (int)(i % VECTORS);
        zero_sums();
        CPU_UNROLL
        for (int step = 0; step < 2 * JOINT_LINES; step++) {
            multiply_line(x, strip->parts[vector][0], step / 2, step % 2);
            if (before.x)
                add_columns(w, &before, tile, cols * step / (2 * JOINT_LINES), cols * (step + 1) / (2 * JOINT_LINES), form, apart);
        }
        store_sums(sums[i / each % 2]);
        ask_some(&w->columns);
        ask_some(&w->weights);
        before = (met_block){sums[i / each % 2], x, strip, vector, w->near->near[tile][i / VECTORS][vector]};
    }
    add_columns(w, &before, tile, 0, cols, form, apart);
}

/* All forms: units, are integers bytes, are there minima. */
#define JOINT_FORMS(X) X(8, 0, 0) X(8, 0, 1) X(8, 1, 0) X(16, 0, 0) X(16, 1, 0) X(16, 1, 1)
#define MEET(units, bytes, minima)                                                                                     \
    static __attribute__((noinline)) void meet_##units##_##bytes##minima(joint_run *w, const joint_columns *x, int64_t tile) \
    {                                                                                                                  \
        const joint_form form = {units, bytes, minima, 0};                                                             \
        if (any_apart(x))                                                                                              \
            meet_tile(w, x, tile, form, TILE_ROWS, true);                                                              \
        else if (w->c1 - w->c0 - tile * TILE_ROWS <= TILE_ROWS / 2)                                                    \
            meet_tile(w, x, tile, form, TILE_ROWS / 2, false);                                                         \
        else                                                                                                           \
            meet_tile(w, x, tile, form, TILE_ROWS, false);                                                             \
    }
JOINT_FORMS(MEET)

static void meet_by_form(joint_run *w, const joint_columns *x, int64_t tile)
{
    const joint_form f = w->form;
#define MEET_IF(u, b, min)                                                                                             \
    if (f.units == (u) && f.bytes == (b) && f.minima == (min))                                                         \
        meet_##u##_##b##min(w, x, tile);
    JOINT_FORMS(MEET_IF)
}

/* -- all -------------------------------------------------------------------------------------------------------- */

/* The tiles of columns' blocks, which are all there, or brought together. */
static const joint_columns *columns_of(const joint_run *w, int64_t tile)
{
    const int64_t blocks = w->g->k / SPAN;
    if (!w->together)
        return w->near->columns + tile;
    return (const joint_columns *)w->packed + (w->c0 / TILE_ROWS + tile) * blocks + w->k0 / SPAN;
}

/* What is met next: the next tile of columns, or with the last the first of the next block. */
static tile_asks ask_columns(const joint_run *w, int64_t tile)
{
    const int64_t steps = w->strips * VECTORS;
    if (!w->together)
        return (tile_asks){0};
    const joint_columns *next = tile + 1 < w->tiles ? columns_of(w, tile + 1) : columns_of(w, 0) + 1;
    return asks_of((const uint8_t *)next, sizeof *next, 1, 0, steps);
}

/* And the next block of these strips, or the first of the next ones. */
static tile_asks ask_weights(const joint_run *w)
{
    const cpu_gemm *g = w->g;
    const int64_t k = w->k0 + SPAN < g->k ? w->k0 + SPAN : 0, m = k ? w->m : w->c1 < g->n ? w->m : w->end;
    return asks_of(g->a + (m - g->row0) * g->stride + k / SPAN * g->block_bytes * g->group, g->block_bytes * g->group,
                   w->strips * STRIP / g->group, g->group * g->stride, w->tiles * w->strips * VECTORS);
}

static void meet_block_of_k(joint_run *w)
{
    if (!w->together)
        cpu_joint_bring(w->g, w->packed, w->k0, w->c0, w->c1, w->near->columns);
    for (int64_t i = 0, m = w->m; i < w->strips; i++, m += STRIP)
        cpu_joint_weigh(w->g, m, w->end - m < STRIP ? w->end - m : STRIP, w->k0, w->few, &w->near->strips[i]);
    w->weights = w->few ? (tile_asks){0} : ask_weights(w);
    for (int64_t tile = 0; tile < w->tiles; tile++) {
        w->columns = ask_columns(w, tile);
        meet_by_form(w, columns_of(w, tile), tile);
    }
}

static void meet_all(joint_run *w)
{
    w->strips = (w->end - w->m + STRIP - 1) / STRIP;
    w->tiles = (w->c1 - w->c0 + TILE_ROWS - 1) / TILE_ROWS;
    for (int64_t tile = 0; tile < w->tiles; tile++)
        memset(w->near->near[tile], 0, (size_t)w->strips * sizeof w->near->near[0][0]);
    for (w->k0 = 0; w->k0 < w->g->k; w->k0 += SPAN)
        meet_block_of_k(w);
    for (int64_t c = 0; c < w->c1 - w->c0; c++)
        for (int64_t i = 0; i < w->strips * VECTORS && w->m + i * ROWS < w->end; i++)
            v_store_rows(w->g->o[w->c0 + c] + w->m + i * ROWS,
                         v_load(w->near->near[c / TILE_ROWS][i / VECTORS][i % VECTORS][c % TILE_ROWS]), w->end - w->m - i * ROWS);
}

/* By how long it takes to make numbers, which dot products do for each four columns, and tiles once, to integers. */
int64_t cpu_joint_least(uint32_t type)
{
    switch (type) {
    case ENG_TYPE_Q2_K: case ENG_TYPE_Q3_K: case ENG_TYPE_TQ2_0: return 4;
    case ENG_TYPE_TQ1_0: case ENG_TYPE_Q5_K: case ENG_TYPE_Q6_K: return 5;
    case ENG_TYPE_IQ4_XS: case ENG_TYPE_IQ2_XS: case ENG_TYPE_IQ2_S: case ENG_TYPE_IQ1_M: return 6;
    default: return 7; /* looked up by gathers */
    }
}

size_t cpu_joint_scratch(void)
{
    return cpu_aligned(sizeof(joint_workspace));
}

void cpu_joint_rows(const cpu_gemm *g, const void *packed, bool together, int64_t m0, int64_t m1, uint8_t *scratch)
{
    joint_run w = {.g = g, .form = cpu_joint_form(g->type), .together = together, .packed = packed,
                   .near = (joint_workspace *)scratch, .few = g->n <= FEW_COLUMNS};
    const int64_t strips = w.few ? 1 : JOINT_STRIPS;
    for (w.m = m0; w.m < m1; w.m = w.end) {
        w.end = m1 - w.m < strips * STRIP ? m1 : w.m + strips * STRIP;
        for (w.c0 = 0; w.c0 < g->n; w.c0 = w.c1) {
            w.c1 = g->n - w.c0 < JOINT_COLUMNS ? g->n : w.c0 + JOINT_COLUMNS;
            meet_all(&w);
        }
    }
    tiles_release();
}

/* -- calls: columns that all rows meet -------------------------------------------------------------------------- */

static size_t column_bytes(uint32_t type, int64_t k)
{
    (void)type;
    return cpu_joint_packed_bytes(k, TILE_ROWS) / TILE_ROWS;
}

static size_t packed_bytes(uint32_t type, int64_t k, int64_t n)
{
    (void)type;
    return cpu_aligned(cpu_joint_packed_bytes(k, n));
}

static size_t scratch_bytes(uint32_t type, int64_t k, int64_t n)
{
    return cpu_joint_scratch() + packed_bytes(type, k, n);
}

static void rows(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch)
{
    uint8_t *own = scratch + cpu_joint_scratch();
    if (!g->packed)
        cpu_joint_pack(g, 0, g->n, own);
    cpu_joint_rows(g, g->packed ? g->packed : own, true, m0, m1, scratch);
}

static int64_t grain(int64_t n)
{
    (void)n;
    return STRIP;
}

const cpu_products cpu_tiles_joint = {scratch_bytes, packed_bytes, cpu_joint_pack, rows, grain, column_bytes};
