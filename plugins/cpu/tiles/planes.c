/*
 * Weights in lanes times columns in planes by tiles (tiles.h, planes/planes.h), in exact.  A unit's lines are a tile as they
 * lie, with four elements of 16 rows of weights each, and the digits of 16 columns are one, too.  Their product is the unit's
 * sums; with these and scales it goes on as in planes/, to the same bits.  Left to dot products is what these do faster: few
 * columns.  In precision fast, of which rounded.c has many columns, one digit goes this way, too; in exact types whose factors
 * are joint have a way of their own (joint.h).
 *
 * A chunk of some columns, brought together tile by tile, meets some strips, whose results stay near until all of k was met.
 * By count, 16 rows, 16 columns and 32 elements: three products of 16 cycles, three tiles stored, 16 cycles each, and for
 * each column four operations of floats and three of integers.  While tiles are in use one of a core's two units for floats
 * is theirs, and stores take its port.  So what is done side by side is written side by side: while a unit is multiplied,
 * tiles of that before it are stored, and between those instructions the sums of that before both are put together.
 */
#include "config.h"

#include "../cpu.h"
#include "joint.h"
#include "planes.h"

extern const cpu_interleaved PLANES_V(cpu_planes);
static const cpu_interleaved *const dot = &PLANES_V(cpu_planes);


/* Sums of a unit: columns and rows of a vector. */
typedef int32_t tile_sums[EXACT][TILE_ROWS][ROWS];

/* -- tiles ------------------------------------------------------------------------------------------------ */

/* Tiles 0 .. 2 and 3 .. 5 are sums of units in turn, 6 digits, 7 lines.  `*shaped` is for how many columns they are. */
static void shape_tiles(const tile_form form, int cols, int *shaped)
{
    tile_shapes s = {0};
    if (*shaped == cols)
        return;
    *shaped = cols;
    for (int p = 0; p < 2 * EXACT; p++)
        tile_shape(&s, p, cols, TILE_LINE);
    tile_shape(&s, 6, cols, (int)unit_line(form));
    tile_shape(&s, 7, (int)unit_line(form) / 4, TILE_LINE);
    tiles_configure(&s);
}

/* What is multiplied next.  Both vectors of a strip meet a tile of columns, then come the next ones; behind the last tile it is
 * met again, for nothing. */
typedef struct coming_unit {
    const uint8_t *lines, *x;
    int64_t unit, units, next; /* bytes behind a tile's units to the next tile's */
    int64_t tiles;             /* left */
    bool second;
} coming_unit;

CPU_INLINE void go_on(coming_unit *n, const tile_form form)
{
    n->x += unit_bytes(form);
    n->lines += unit_lines(form);
    if (++n->unit < n->units)
        return;
    n->unit = 0;
    n->lines += (n->second ? -TILE_LINE : TILE_LINE) - n->units * unit_lines(form);
    n->tiles -= n->second;
    n->x += n->second && n->tiles > 0 ? n->next : -n->units * unit_bytes(form);
    n->second = !n->second;
}

/* Numbers of up to four bits without a sign are 16 times as large as those of a byte with one may be. */
#define MULTIPLY(sum, n, p, form)                                                                                      \
    do {                                                                                                               \
        TILE_LOAD(6, (n)->x + (p) * unit_tile(form), unit_line(form));                                                 \
        TILE_ZERO(sum);                                                                                                \
        if ((form).sums == TWELVE && (form).minima)                                                                    \
            TILE_BYTES_UNSIGNED(sum, 6, 7);                                                                            \
        else                                                                                                           \
            TILE_BYTES(sum, 6, 7);                                                                                     \
    } while (0)
#define STORE(sum, sums, p) TILE_STORE(sum, (sums)[p], sizeof(sums)[0][0])

/* A sum of the next unit is formed, in its tile or, every other time, in `odd` ones, and that of the unit before stored. */
CPU_INLINE void sum_of_next(const coming_unit *n, const int p, const bool odd, const tile_form form, tile_sums *stored)
{
    if (p == 0)
        TILE_LOAD(7, n->lines, LINE);
    if (odd && p == 0) {
        MULTIPLY(3, n, 0, form);
        STORE(0, *stored, 0);
    } else if (odd && p == 1) {
        MULTIPLY(4, n, 1, form);
        STORE(1, *stored, 1);
    } else if (odd) {
        MULTIPLY(5, n, 2, form);
        STORE(2, *stored, 2);
    } else if (p == 0) {
        MULTIPLY(0, n, 0, form);
        STORE(3, *stored, 0);
    } else if (p == 1) {
        MULTIPLY(1, n, 1, form);
        STORE(4, *stored, 1);
    } else {
        MULTIPLY(2, n, 2, form);
        STORE(5, *stored, 2);
    }
}

/* -- sums put together -------------------------------------------------------------------------------------- */

/* A vector's unit: columns' numbers, factors, sums. */
typedef struct met_unit {
    const unit_numbers *x;
    vf d, least;
    const tile_sums *sums;
} met_unit;

CPU_INLINE vi sum_at(const met_unit *met, const int p, const int c)
{
    return *(const vi *)(*met->sums)[p][c];
}

/*
 * The sum of all digits, rounded once, as p_whole (planes/registers.h) has it of planes.  Of these the low ones are together
 * less than 32 bits.  So is all of it if numbers are -8 .. 7: 32 products with 127 (255^2 + 255 + 1) at most; numbers of up
 * to 15 take two bits more, but each sum of twelve bits is exact as a float.
 */
CPU_INLINE vf whole_of(const met_unit *met, const int c, const tile_form form)
{
    if (form.sums == EXACT) {
        const vi next = sum_at(met, 1, c), low = (next << 8) - next + sum_at(met, 0, c); /* BASE is 255 */
        return v_fma(v_cvt(sum_at(met, 2, c)), v_set1(BASE * BASE), v_cvt(low));
    }
    if (form.sums == ONE)
        return v_cvt(sum_at(met, 0, c));
    if (form.minima)
        return v_fma(v_cvt(sum_at(met, 0, c)), v_set1(4096), v_cvt(sum_at(met, 1, c)));
    return v_cvt((vi)((vu)sum_at(met, 0, c) << 12) + sum_at(met, 1, c));
}

/* In precision fast a column's groups have a scale each; else all of a span is in units of one. */
CPU_INLINE bool has_own_scale(const tile_form form)
{
    return form.sums == ONE || form.wide;
}

/* Columns first .. end - 1.  The compiler would put all of them behind one another's tiles. */
CPU_INLINE void add_columns(const met_unit *met, const tile_form form, const int first, const int end, vf sum[TILE_ROWS])
{
    CPU_UNROLL
    for (int c = first; c < end; c++) {
        const vf d = has_own_scale(form) ? met->d * v_set1(met->x->factor[c]) : met->d;
        sum[c] = v_fma(whole_of(met, c, form), d, sum[c]);
        if (form.minima)
            sum[c] = v_fma(met->least, v_set1(met->x->elements[c]), sum[c]);
        __asm__ volatile("" : "+v"(sum[c]));
    }
}

CPU_INLINE bool any_apart(const unit_numbers *x)
{
    const __m512i apart = _mm512_load_si512(x->apart);
    return _mm512_test_epi32_mask(apart, apart) != 0;
}

/* Sums of columns' elements that are set apart, as planes/meet.h has them. */
typedef struct tile_apart {
    vf sum[TILE_ROWS];
    bool any[TILE_ROWS];
} tile_apart;

/* Those of a unit of columns from c on. */
static __attribute__((noinline)) void add_those_apart(const tile_run *w, const unit_numbers *x, int64_t c, int64_t unit,
                                                      int vector, tile_apart *to)
{
    const int64_t factors = unit * STRIP + vector * ROWS, group = unit * w->form.elements / GROUP;
    const vf d = v_load(w->near->d + factors);
    const vf m = w->form.minima ? v_load(w->near->m + factors) : d * -(float)w->given.bias;
    uint8_t lines[GROUP * STRIP];
    cpu_tiles_lines_as_met(w, group, lines);
    for (int i = 0; i < TILE_ROWS; i++) {
        if (!x->apart[i])
            continue;
        to->sum[i] = meet_apart(x->apart[i], 0, GROUP, lines + 4 * ROWS * vector, d, m, w->g, c + i, w->k0 + group * GROUP,
                                to->any[i] ? to->sum[i] : (vf){0});
        to->any[i] = true;
    }
}

/* -- strips --------------------------------------------------------------------------------------------------- */

/* A step: the next unit is multiplied, that before it stored, and the sums of that before both put together. */
CPU_INLINE void step(coming_unit *n, const bool odd, tile_sums sums[2], met_unit *met, const tile_form form, const int cols,
                     vf sum[TILE_ROWS])
{
    met->sums = &sums[!odd];
    CPU_UNROLL
    for (int p = 0; p < form.sums; p++) {
        sum_of_next(n, p, odd, form, &sums[odd]);
        add_columns(met, form, cols * p / form.sums, cols * (p + 1) / form.sums, sum);
    }
    go_on(n, form);
}

/* Before anything can be put together: two units are multiplied, and the first stored. */
CPU_INLINE void begin(coming_unit *n, tile_sums sums[2], const tile_form form)
{
    CPU_UNROLL
    for (int i = 0; i < 2; i++, go_on(n, form))
        CPU_UNROLL
        for (int p = 0; p < form.sums; p++)
            sum_of_next(n, p, i, form, &sums[i]);
}

/* A chunk, which is a span, is added to a vector's results; or it was, from the begin. */
CPU_INLINE void end_chunk(const tile_run *w, const vf sum[TILE_ROWS], const tile_apart *apart, const unit_numbers *x, int vector,
                          const tile_form form, const int cols, results *near)
{
    CPU_UNROLL
    for (int c = 0; c < cols; c++) {
        const vf before = form.sums != ONE && w->k0 ? v_load(near[c] + vector * ROWS) : (vf){0};
        v_store(near[c] + vector * ROWS, form.sums == ONE ? sum[c]
                                         : form.wide      ? before + sum[c]
                                                          : v_fma(sum[c], v_set1(x->factor[c]), before));
    }
    for (int c = 0; c < cols && apart; c++)
        if (apart->any[c])
            v_store(near[c] + vector * ROWS, v_load(near[c] + vector * ROWS) + apart->sum[c]);
}

/* A vector of a strip times a tile of columns: the chunk's units. */
CPU_INLINE void meet_vector(const tile_run *w, coming_unit *n, bool *odd, tile_sums sums[2], int64_t tile, int vector,
                            const tile_form form, const int cols, results *near)
{
    const uint8_t *x = w->x + tile * w->next;
    tile_apart apart;
    bool any = false;
    vf sum[TILE_ROWS];
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        sum[c] = form.sums == ONE && w->k0 ? v_load(near[c] + vector * ROWS) : (vf){0};
    for (int64_t unit = 0; unit < w->units; unit++, x += unit_bytes(form), *odd = !*odd) {
        const float *const m = w->near->m + unit * STRIP + vector * ROWS;
        met_unit met = {.x = numbers_of(x, form), .d = v_load(w->near->d + unit * STRIP + vector * ROWS)};
        if (form.minima)
            met.least = form.raised ? v_fma(met.d, v_set1((float)w->given.bias), v_load(m)) : v_load(m);
        if (*odd)
            step(n, true, sums, &met, form, cols, sum);
        else
            step(n, false, sums, &met, form, cols, sum);
        ask_some(&w->asks[0]);
        ask_some(&w->asks[1]);
        if (form.sums != ONE && __builtin_expect(any_apart(met.x), 0)) {
            if (!any)
                memset(apart.any, 0, sizeof apart.any);
            any = true;
            add_those_apart(w, met.x, w->c0 + tile * TILE_ROWS, unit, vector, &apart);
        }
    }
    end_chunk(w, sum, any ? &apart : NULL, numbers_of(x - unit_bytes(form), form), vector, form, cols, near);
}

/* A strip times tiles first .. end - 1 of columns. */
CPU_INLINE void meet_tiles(const tile_run *w, int64_t strip, int64_t first, int64_t end, const tile_form form, const int cols)
{
    _Alignas(64) tile_sums sums[2];
    coming_unit n = {.lines = w->near->lines, .x = w->x + first * w->next, .units = w->units,
                     .next = w->next - w->units * unit_bytes(form), .tiles = end - first};
    bool odd = false;
    if (first == end)
        return;
    shape_tiles(form, cols, w->shaped);
    begin(&n, sums, form);
    for (int64_t tile = first; tile < end; tile++)
        for (int vector = 0; vector < VECTORS; vector++)
            meet_vector(w, &n, &odd, sums, tile, vector, form, cols, w->near->near[strip] + tile * TILE_ROWS);
}

/* Half a tile is put together in half the time, which with one sum is less than it takes to shape tiles anew. */
CPU_INLINE void meet_strip(const tile_run *w, int64_t strip, const tile_form form)
{
    const int64_t n = w->c1 - w->c0, left = n % TILE_ROWS, half = form.sums != ONE && left > 0 && left <= TILE_ROWS / 2;
    const int64_t tiles = (n + TILE_ROWS - 1) / TILE_ROWS;
    meet_tiles(w, strip, 0, tiles - half, form, TILE_ROWS);
    meet_tiles(w, strip, tiles - half, tiles, form, TILE_ROWS / 2);
}

/* All forms: elements of a unit, sums, are there minima, of raised numbers, are scales wide. */
#define TILE_FORMS(X)                                                                                                  \
    X(32, EXACT, 0, 0, 0) X(32, EXACT, 0, 0, 1) X(32, EXACT, 1, 1, 0) X(16, EXACT, 0, 0, 0) X(32, TWELVE, 0, 0, 0)     \
    X(32, TWELVE, 1, 0, 0) X(32, ONE, 0, 0, 0) X(32, ONE, 1, 0, 0) X(32, ONE, 1, 1, 0)
#define MEET(elements, sums, minima, raised, wide)                                                                     \
    static __attribute__((noinline)) void meet_##elements##_##sums##minima##raised##wide(const tile_run *w, int64_t strip) \
    {                                                                                                                  \
        meet_strip(w, strip, (tile_form){elements, sums, minima, raised, wide});                                       \
    }
TILE_FORMS(MEET)

static void meet_by_form(const tile_run *w, int64_t strip)
{
    const tile_form f = w->form;
#define MEET_IF(e, s, min, up, any)                                                                                    \
    if (f.elements == (e) && f.sums == (s) && f.minima == (min) && f.raised == (up) && f.wide == (any))                \
        meet_##e##_##s##min##up##any(w, strip);
    TILE_FORMS(MEET_IF)
}

static void meet_chunk(tile_run *w)
{
    cpu_tiles_set_columns(w);
    w->asks[0] = cpu_tiles_ask_columns(w);
    for (int64_t strip = 0, m = w->m; m < w->end; strip++, m += STRIP) {
        cpu_tiles_make_lines(w, m);
        w->asks[1] = cpu_tiles_ask_lines(w, m);
        meet_by_form(w, strip);
    }
}

/* A strip's rows, `left` of them, or all. */
CPU_INLINE void give_results(const float *near, int64_t left, float *to)
{
    for (int r = 0; r < VECTORS && left > 0; r++, left -= ROWS)
        v_store_rows(to + r * ROWS, v_load(near + r * ROWS), left);
}

/* Some strips times some columns. */
static void meet_all(tile_run *w)
{
    for (w->k0 = 0; w->k0 < w->g->k; w->k0 += TILES_CHUNK) {
        const int64_t left = w->g->k - w->k0;
        w->units = planes_groups(left < TILES_CHUNK ? left : TILES_CHUNK) * (GROUP / w->form.elements);
        meet_chunk(w);
    }
    for (int64_t c = w->c0; c < w->c1; c++)
        for (int64_t strip = 0, m = w->m; m < w->end; strip++, m += STRIP)
            give_results(w->near->near[strip][c - w->c0], w->end - m, w->g->o[c] + m);
}

/* -- all -------------------------------------------------------------------------------------------------------- */

static tile_form form_of(uint32_t type, bool fast)
{
    const planes_form given = planes_types[type].form;
    return (tile_form){GROUP / given.parts, fast ? ONE : planes_is_narrow(type) ? TWELVE : EXACT, given.minima,
                       given.minima && given.bias, given.wide && !fast};
}

static bool is_joint(uint32_t type, bool fast)
{
    return !fast && planes_types[type].form.joint;
}

/* Bytes of what is near while rows are met. */
static size_t near_bytes(uint32_t type, bool fast)
{
    return is_joint(type, fast) ? cpu_joint_scratch() : cpu_aligned(sizeof(workspace));
}

/* Is that faster than dot products?  With two scales in a group half a tile, which any further columns take, is not; nor are
 * of one digit tiles with many zeros, and more than three of them. */
static bool takes(uint32_t type, int64_t n, bool fast)
{
    if (is_joint(type, fast))
        return n >= cpu_joint_least(type);
    const bool one_scale = planes_types[type].form.parts == 1;
    const int64_t zeros = (n + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS - n;
    if (fast)
        return one_scale && n >= 13 && n <= 3 * TILE_ROWS && zeros <= 8;
    return one_scale ? n >= 8 : n >= 22 || (n >= 14 && n <= TILE_ROWS);
}

static void run_rows(const cpu_gemm *g, bool fast, bool in_units, const void *packed, int64_t m0, int64_t m1, workspace *near)
{
    tile_asks asks[2];
    int shaped = 0;
    tile_run w = {.g = g, .given = planes_types[g->type].form, .form = form_of(g->type, fast), .in_units = in_units,
                  .packed = packed, .near = near, .asks = asks, .shaped = &shaped};
    for (w.m = m0; w.m < m1; w.m = w.end) {
        w.end = m1 - w.m < SOME_STRIPS * STRIP ? m1 : w.m + SOME_STRIPS * STRIP;
        for (w.c0 = 0; w.c0 < g->n; w.c0 = w.c1) {
            w.c1 = g->n - w.c0 < SOME_COLUMNS ? g->n : w.c0 + SOME_COLUMNS;
            meet_all(&w);
        }
    }
    tiles_release();
}

static int64_t grain(int64_t n)
{
    return dot->exact.grain(n);
}

/* Many columns, which are packed in units; and as many as there may be, packed one by one as dot products have them. */
#define PRODUCTS(name, others, fast)                                                                                   \
    static size_t column_in_units_##name(uint32_t type, int64_t k)                                                     \
    {                                                                                                                  \
        return cpu_tiles_column_bytes(form_of(type, fast), k);                                                         \
    }                                                                                                                  \
    static size_t packed_in_units_##name(uint32_t type, int64_t k, int64_t n)                                          \
    {                                                                                                                  \
        return cpu_aligned(cpu_tiles_packed_bytes(form_of(type, fast), k, n));                                         \
    }                                                                                                                  \
    static size_t scratch_for_units_##name(uint32_t type, int64_t k, int64_t n)                                        \
    {                                                                                                                  \
        return cpu_aligned(sizeof(workspace)) + packed_in_units_##name(type, k, n);                                    \
    }                                                                                                                  \
    static void pack_in_units_##name(const cpu_gemm *g, int64_t c0, int64_t c1, void *out)                             \
    {                                                                                                                  \
        cpu_tiles_pack(g, form_of(g->type, fast), c0, c1, out);                                                        \
    }                                                                                                                  \
    static void rows_in_units_##name(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch)                      \
    {                                                                                                                  \
        uint8_t *own = scratch + cpu_aligned(sizeof(workspace));                                                       \
        if (!g->packed)                                                                                                \
            pack_in_units_##name(g, 0, g->n, own);                                                                     \
        run_rows(g, fast, true, g->packed ? g->packed : own, m0, m1, (workspace *)scratch);                            \
    }                                                                                                                  \
    static const cpu_products many_##name = {scratch_for_units_##name, packed_in_units_##name, pack_in_units_##name,   \
                                             rows_in_units_##name, grain, column_in_units_##name};                     \
    static size_t column_bytes_##name(uint32_t type, int64_t k)                                                        \
    {                                                                                                                  \
        return dot->others.column_bytes(type, k);                                                                      \
    }                                                                                                                  \
    static size_t packed_bytes_##name(uint32_t type, int64_t k, int64_t n)                                             \
    {                                                                                                                  \
        return dot->others.packed_bytes(type, k, n);                                                                   \
    }                                                                                                                  \
    static size_t scratch_bytes_##name(uint32_t type, int64_t k, int64_t n)                                            \
    {                                                                                                                  \
        const size_t own = near_bytes(type, fast) + packed_bytes_##name(type, k, n);                                   \
        const size_t theirs = dot->others.scratch_bytes(type, k, n);                                                   \
        return own > theirs ? own : theirs;                                                                            \
    }                                                                                                                  \
    static void pack_##name(const cpu_gemm *g, int64_t c0, int64_t c1, void *out)                                      \
    {                                                                                                                  \
        dot->others.pack(g, c0, c1, out);                                                                              \
    }                                                                                                                  \
    static void rows_##name(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch)                               \
    {                                                                                                                  \
        uint8_t *own = scratch + near_bytes(g->type, fast);                                                            \
        if (!takes(g->type, g->n, fast)) {                                                                             \
            dot->others.rows(g, m0, m1, scratch);                                                                      \
            return;                                                                                                    \
        }                                                                                                              \
        if (!g->packed)                                                                                                \
            pack_##name(g, 0, g->n, own);                                                                              \
        if (is_joint(g->type, fast))                                                                                   \
            cpu_joint_rows(g, g->packed ? g->packed : own, false, m0, m1, scratch);                                    \
        else                                                                                                           \
            run_rows(g, fast, false, g->packed ? g->packed : own, m0, m1, (workspace *)scratch);                       \
    }
PRODUCTS(exact, exact, false)
PRODUCTS(digit, fast, true)

/* In fast many columns are others'. */
static const cpu_products *instead(uint32_t type, int64_t k, int64_t n, bool fast, bool all_meet)
{
    (void)k;
    if (takes(type, n, fast))
        return !all_meet ? NULL : fast ? &many_digit : is_joint(type, fast) ? &cpu_tiles_joint : &many_exact;
    if (fast && n >= TILES_ROUNDED)
        return &cpu_tiles_rounded[all_meet];
    return fast && all_meet ? &dot->fast : NULL; /* which need no room for tiles */
}

#define APART(name) {scratch_bytes_##name, packed_bytes_##name, pack_##name, rows_##name, grain, column_bytes_##name}
const cpu_interleaved cpu_tiles_planes = {
    .exact = APART(exact),
    .fast = APART(digit),
    .types = 0 LANES_TYPES(EU_LANES_BIT),
    .tried = 0 GRID_TYPES(EU_LANES_BIT),
    .pays = eu_gathers_pay,
    .instead = instead,
};
