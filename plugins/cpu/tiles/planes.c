/*
 * Weights in lanes times columns in planes by tiles (tiles.h, planes/planes.h).  A group's lines are a tile of 8 rows as
 * they lie, with four elements of 16 rows of weights each, and a plane's digits of 16 columns one whose rows are as far
 * apart as the columns.  Their product is the group's sums; with these and scales it goes on as in planes/, to the same
 * bits.  Left to dot products is what these do faster: few columns, types with two scales in a group, for each of which a
 * product of tiles takes as long, and precision fast (rounded.c has many columns of that).
 *
 * By count, 16 rows, 16 columns and 32 elements: three products of 16 cycles, three tiles stored, 16 cycles each, and 7
 * operations on vectors for each column.  Those are of floats, and while tiles are in use the second of a core's two units
 * for them is not there: 112 cycles, where 64 would be had of both.  Measured 220, for what is stored must be there before it
 * is used, and tiles that are loaded and stored take that unit's port, too (docs/performance-cpu.md).
 */
#include "config.h"

#include "../planes/run.h"
#include "tiles.h"
#include "variant.h"

extern const cpu_products cpu_tiles_rounded;
extern const cpu_interleaved PLANES_V(cpu_planes);
static const cpu_interleaved *const dot = &PLANES_V(cpu_planes);

#define SOME_GROUPS 8 /* whose columns stay near until the strip's other vector has met them */

/* A group's sums of all planes, columns and rows of a vector. */
typedef int32_t tile_sums[EXACT][TILE_ROWS][ROWS];

/* -- tiles --------------------------------------------------------------------------------------- */

/* Of the thread: 0, or columns. */
static _Thread_local int shaped;

/* Tiles 0 .. 2 are sums, 3 .. 5 digits, 6 is a group's lines. */
static void shape_tiles(int cols)
{
    if (shaped == cols)
        return;
    shaped = cols;
    tile_shapes s = {0};
    for (int p = 0; p < EXACT; p++) {
        tile_shape(&s, p, cols, TILE_LINE);
        tile_shape(&s, EXACT + p, cols, GROUP);
    }
    tile_shape(&s, 2 * EXACT, LINES_EACH, TILE_LINE);
    tiles_configure(&s);
}

static void give_tiles_back(void)
{
    shaped = 0;
    tiles_release();
}

/* A group's lines times digits of all columns, `stride` bytes apart. */
CPU_INLINE void multiply_tiles(const uint8_t *lines, const uint8_t *digits, int64_t stride, tile_sums sums)
{
    TILE_LOAD(6, lines, LINE);
    TILE_ZERO(0);
    TILE_LOAD(3, digits, stride);
    TILE_BYTES(0, 3, 6);
    TILE_STORE(0, sums[0], sizeof sums[0][0]);
    TILE_ZERO(1);
    TILE_LOAD(4, digits + GROUP, stride);
    TILE_BYTES(1, 4, 6);
    TILE_STORE(1, sums[1], sizeof sums[0][0]);
    TILE_ZERO(2);
    TILE_LOAD(5, digits + 2 * GROUP, stride);
    TILE_BYTES(2, 5, 6);
    TILE_STORE(2, sums[2], sizeof sums[0][0]);
}

/* -- a strip's panel -------------------------------------------------------------------------------- */

static void add_to_bytes(uint8_t *lines, int64_t bytes, int number)
{
    const vbytes all = (vbytes)w_all(number & 255);
    for (int64_t i = 0; i < bytes; i += sizeof(vbytes)) {
        vbytes v;
        memcpy(&v, lines + i, sizeof v);
        v += all;
        memcpy(lines + i, &v, sizeof v);
    }
}

/* Numbers without their bias, as tiles take them: bytes with a sign. */
static void lower_lines(uint8_t *lines, int64_t bytes, int bias)
{
    if (bias)
        add_to_bytes(lines, bytes, -bias);
}

/* What a tile of columns meets: some groups of one vector of a strip. */
typedef struct tile_meeting {
    const strip_panel *w;
    const tile_columns *x;
    int64_t first, stride; /* group of the panel; bytes between columns */
    int vector, cols;
} tile_meeting;

/* A group that is met: where it is in a packed column and in factors. */
CPU_INLINE const uint8_t *group_of(const tile_meeting *t, int64_t group, int c, const planes_form form)
{
    return t->x->packed[0] + c * t->stride + group * planes_group_bytes(form, EXACT);
}

CPU_INLINE vf factors_of(const tile_meeting *t, const float *factors, int64_t group)
{
    return v_load(factors + group * STRIP + t->vector * ROWS);
}

/* Elements of columns that are set apart, with the numbers as they were. */
static __attribute__((noinline)) void add_those_apart(const tile_meeting *t, int64_t group, const planes_form form, int bias,
                                                      vf sum[TILE])
{
    const vf d = factors_of(t, t->w->d, group), m = form.minima ? factors_of(t, t->w->m, group) : d * -(float)bias;
    uint8_t lines[GROUP * STRIP];
    memcpy(lines, t->w->lines + group * GROUP * STRIP, sizeof lines);
    add_to_bytes(lines, sizeof lines, bias);
    for (int c = 0; c < t->cols; c++) {
        uint32_t apart;
        memcpy(&apart, group_of(t, group, c, form) + parts_of(form, EXACT).apart, 4);
        if (apart)
            sum[c] = meet_apart(apart, 0, GROUP, lines + 4 * ROWS * t->vector, d, m, t->x->g, t->x->first + c,
                                t->x->k + group * GROUP, sum[c]);
    }
}

/* A column's sums of a group, with scales and minima.  `apart` gathers what is set apart. */
CPU_INLINE vf add_column(const tile_meeting *t, int64_t group, const int c, tile_sums sums, const planes_form form, int bias,
                         uint32_t *apart, vf sum)
{
    const uint8_t *packed = group_of(t, group, c, form);
    const vf d = factors_of(t, t->w->d, group), m = form.minima ? factors_of(t, t->w->m, group) : d;
    uint32_t bits;
    vi s[EXACT];
    CPU_UNROLL
    for (int i = 0; i < EXACT; i++)
        s[i] = v_loadi(sums[i][c]);
    memcpy(&bits, packed + parts_of(form, EXACT).apart, 4);
    *apart |= bits;
    return add_sum(s, packed, 0, d, m, form, bias, EXACT, sum);
}

/* Groups of a strip's vector, added to its sums.  The next is multiplied while this one's sums are put together. */
CPU_INLINE void meet_groups(const tile_meeting *t, int64_t groups, const planes_form form, int bias, const bool whole,
                            vf sum[TILE][VECTORS])
{
    _Alignas(64) tile_sums sums[2];
    const int64_t each = planes_group_bytes(form, EXACT);
    vf own[TILE];
    CPU_UNROLL
    for (int c = 0; c < TILE; c++)
        own[c] = sum[c][t->vector];
    for (int64_t i = 0; i <= groups; i++) {
        const int64_t next = t->first + i, group = next - 1;
        if (i < groups)
            multiply_tiles(t->w->lines + next * GROUP * STRIP + 4 * ROWS * t->vector, t->x->packed[0] + next * each, t->stride,
                           sums[i % 2]);
        if (i == 0)
            continue;
        uint32_t apart = 0;
        if (whole)
            CPU_UNROLL
            for (int c = 0; c < TILE; c++)
                own[c] = add_column(t, group, c, sums[(i - 1) % 2], form, bias, &apart, own[c]);
        else
            for (int c = 0; c < t->cols; c++)
                own[c] = add_column(t, group, c, sums[(i - 1) % 2], form, bias, &apart, own[c]);
        if (__builtin_expect(apart != 0, 0)) {
            vf kept[TILE]; /* a function's argument is in memory, and these are not else */
            CPU_UNROLL
            for (int c = 0; c < TILE; c++)
                kept[c] = own[c];
            add_those_apart(t, group, form, bias, kept);
            CPU_UNROLL
            for (int c = 0; c < TILE; c++)
                own[c] = kept[c];
        }
    }
    CPU_UNROLL
    for (int c = 0; c < TILE; c++)
        sum[c][t->vector] = own[c];
}

CPU_INLINE void meet_tiles(const strip_panel *w, int64_t groups, const planes_form form, int bias, int cols,
                           const tile_columns *x, const strip_ask *ask, vf sum[TILE][VECTORS])
{
    tile_meeting t = {.w = w, .x = x, .cols = cols, .stride = cols > 1 ? x->packed[1] - x->packed[0] : 0};
    shape_tiles(cols);
    for (; t.first < groups; t.first += SOME_GROUPS) {
        const int64_t some = groups - t.first < SOME_GROUPS ? groups - t.first : SOME_GROUPS;
        for (int64_t i = 0; i < some; i++)
            ask_next(ask, t.first + i);
        for (t.vector = 0; t.vector < VECTORS; t.vector++)
            if (cols == TILE)
                meet_groups(&t, some, form, bias, true, sum);
            else
                meet_groups(&t, some, form, bias, false, sum);
    }
}

#define TILES(name, group, raised, minima)                                                                             \
    static void tile_##name(const strip_panel *w, int64_t groups, int bias, int planes, int cols, tile_columns *x,     \
                            const strip_ask *ask, vf sum[TILE][VECTORS])                                               \
    {                                                                                                                  \
        (void)planes;                                                                                                  \
        meet_tiles(w, groups, FORM_OF(group, raised, minima), bias, cols, x, ask, sum);                                \
    }
LINES_FORMS(TILES)

/* -- all ---------------------------------------------------------------------------------------------- */

static void run_rows(const cpu_gemm *g, int planes, int64_t m0, int64_t m1, uint8_t *scratch)
{
    if (left_to(dot, planes == 1 || forms[g->type].parts > 1, g, planes, m0, m1, scratch))
        return;
    planes_run w = run_of(g, planes, scratch);
    w.elements = PANEL_OF_SOME; /* beside sums and 16 columns' digits */
    w.prepare = lower_lines;
    run_panels(&w, m0, m1);
    give_tiles_back();
}

PRODUCTS(exact, EXACT)
PRODUCTS(fast, 1)

const cpu_interleaved cpu_tiles_planes = {
    .exact = {scratch_bytes_exact, packed_bytes_exact, pack_exact, rows_exact, grain, column_bytes_exact},
    .fast = {scratch_bytes_fast, packed_bytes_fast, pack_fast, rows_fast, grain, column_bytes_fast},
    .types = 0 LANES_TYPES(EU_LANES_BIT),
    .tried = 0 GRID_TYPES(EU_LANES_BIT),
    .pays = eu_gathers_pay,
    .many = &cpu_tiles_rounded,
    .many_from = TILES_ROUNDED,
};
