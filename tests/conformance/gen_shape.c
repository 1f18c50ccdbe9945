/* Cases of concat, repeat, pad, views, argmax, top_k, sum_rows and rebase. */
#include "config.h"

#include "suite.h"

#include <math.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const cf_layout layouts[] = {CF_PLAIN, CF_SWAP12, CF_OFFSET, CF_INNER};

static void integers(cf_case *c, cf_operand *o)
{
    for (int64_t i = 0; (o->type == ENG_TYPE_I32 || o->type == ENG_TYPE_I64) && i < cf_elements(o); i++)
        cf_set(o, i, (double)cf_below(c, 1 << 28));
}

/* More dimensions than a kernel may walk over at once, which lie so that few of them are one. */
static void concat_many(cf_suite *s)
{
    const int64_t a[ENG_MAX_RANK] = {5, 2, 3, 2, 3, 2, 2, 2};

    cf_thin(s, 1);
    for (int dim = 1; dim < ENG_MAX_RANK; dim += 2) {
        int64_t b[ENG_MAX_RANK];
        cf_case *c = cf_begin(s, ENG_OP_CONCAT, "f32 rank=%d dim=%d a=%s b=%s", ENG_MAX_RANK, dim,
                              cf_layout_name(CF_SWAP12), cf_layout_name(layouts[dim % 4]));
        if (!c)
            continue;
        memcpy(b, a, sizeof b);
        b[dim] = 1;
        c->judge = CF_EXACT;
        c->out_type = ENG_TYPE_F32;
        c->ip[ENG_CONCAT_DIM] = dim;
        cf_in(c, 0, "a", ENG_TYPE_F32, ENG_USE_INPUT, CF_SWAP12, a, ENG_MAX_RANK);
        cf_in(c, 1, "b", ENG_TYPE_F32, ENG_USE_INPUT, layouts[dim % 4], b, ENG_MAX_RANK);
        cf_run(c);
    }
}

static void cases_concat(cf_suite *s)
{
    static const uint32_t types[] = {ENG_TYPE_F32,  ENG_TYPE_F16, ENG_TYPE_I32, ENG_TYPE_Q8_0,
                                     ENG_TYPE_Q4_K, ENG_TYPE_I64, ENG_TYPE_BF16};
    int x = 0;

    cf_thin(s, 3);
    for (size_t t = 0; t < COUNT(types); t++)
        for (int dim = 0; dim < 4; dim++)
            for (int l = 0; l < 3; l++, x++) {
                int64_t block = ref_block(types[t]);
                int64_t a[4] = {block > 1 ? block : 21, 4, 3, 2}, b[4] = {a[0], 4, 3, 2};
                b[dim] = dim ? 1 + x % 4 : block > 1 ? 2 * block : 1 + x % 13;
                cf_case *c = cf_begin(s, ENG_OP_CONCAT, "%s dim=%d a=%s b=%s %lld+%lld", ref_type_name(types[t]), dim,
                                      cf_layout_name(layouts[l]), cf_layout_name(layouts[(l + x) % 4]),
                                      (long long)a[dim], (long long)b[dim]);
                if (!c)
                    continue;
                c->judge = CF_EXACT;
                c->out_type = types[t];
                c->ip[ENG_CONCAT_DIM] = dim;
                integers(c, cf_in(c, 0, "a", types[t], ENG_USE_INPUT, layouts[l], a, 4));
                integers(c, cf_in(c, 1, "b", types[t], ENG_USE_INPUT, layouts[(l + x) % 4], b, 4));
                cf_run(c);
            }
    concat_many(s);
}

static void cases_repeat(cf_suite *s)
{
    static const uint32_t types[] = {ENG_TYPE_F32, ENG_TYPE_F16, ENG_TYPE_BF16, ENG_TYPE_I32};
    static const int64_t times[][4] = {{1, 1, 1, 1}, {3, 1, 1, 1}, {1, 4, 1, 2}, {2, 3, 2, 1}, {1, 1, 5, 1}};

    cf_thin(s, 2);
    for (size_t t = 0; t < COUNT(types); t++)
        for (size_t k = 0; k < COUNT(times); k++) {
            int64_t ne[4] = {k == 1 ? 1 : 9, 2, 3, 1};
            cf_layout l = layouts[(t + k) % 4];
            cf_case *c = cf_begin(s, ENG_OP_REPEAT, "%s %s times %lldx%lldx%lldx%lld", ref_type_name(types[t]),
                                  cf_layout_name(l), (long long)times[k][0], (long long)times[k][1],
                                  (long long)times[k][2], (long long)times[k][3]);
            if (!c)
                continue;
            c->judge = CF_EXACT;
            c->out_type = types[t];
            for (int d = 0; d < ENG_MAX_RANK; d++)
                c->ip[ENG_RESHAPE_NE0 + d] = d < 4 ? ne[d] * times[k][d] : 1;
            integers(c, cf_in(c, 0, "x", types[t], ENG_USE_INPUT, l, ne, 4));
            cf_run(c);
        }
}

static void cases_pad(cf_suite *s)
{
    static const int pads[][8] = {
        {0, 0, 0, 0, 0, 0, 0, 0}, {3, 0, 0, 0, 1, 0, 0, 0}, {0, 2, 0, 1, 5, 0, 1, 0}, {1, 1, 1, 1, 1, 1, 1, 1}};

    cf_thin(s, 1);
    for (size_t k = 0; k < COUNT(pads); k++) {
        cf_case *c =
            cf_begin(s, ENG_OP_PAD, "%s left=%d,%d,%d,%d right=%d,%d,%d,%d", cf_layout_name(layouts[k]), pads[k][0],
                     pads[k][1], pads[k][2], pads[k][3], pads[k][4], pads[k][5], pads[k][6], pads[k][7]);
        if (!c)
            continue;
        c->judge = CF_EXACT;
        for (int d = 0; d < 4; d++) {
            c->ip[ENG_PAD_LEFT0 + d] = pads[k][d];
            c->ip[ENG_PAD_RIGHT0 + d] = pads[k][4 + d];
        }
        cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, layouts[k], CF_SHAPE(13, 4, 3, 2));
        cf_run(c);
    }
}

/* Dimensions joined, split, both, and across one another. */
static void reshapes(cf_suite *s)
{
    static const struct {
        uint32_t type;
        int64_t from[4], to[4];
    } shapes[] = {
        {ENG_TYPE_F32, {12, 5, 4, 1}, {60, 2, 2, 1}},  {ENG_TYPE_F32, {16, 6, 5, 1}, {96, 5, 1, 1}},
        {ENG_TYPE_F32, {96, 5, 1, 1}, {16, 6, 5, 1}},  {ENG_TYPE_F16, {8, 6, 5, 2}, {8, 2, 3, 10}},
        {ENG_TYPE_Q8_0, {64, 6, 4, 1}, {64, 2, 12, 1}}, {ENG_TYPE_Q8_0, {128, 6, 1, 1}, {32, 4, 6, 1}},
        {ENG_TYPE_I32, {7, 10, 1, 1}, {10, 7, 1, 1}},  {ENG_TYPE_F32, {6, 35, 1, 1}, {10, 21, 1, 1}},
    };

    for (size_t i = 0; i < COUNT(shapes); i++) {
        const int64_t *a = shapes[i].from, *b = shapes[i].to;
        cf_case *c = cf_begin(s, ENG_OP_RESHAPE, "%s %lldx%lldx%lldx%lld to %lldx%lldx%lldx%lld",
                              ref_type_name(shapes[i].type), (long long)a[0], (long long)a[1], (long long)a[2],
                              (long long)a[3], (long long)b[0], (long long)b[1], (long long)b[2], (long long)b[3]);
        if (!c)
            continue;
        c->judge = CF_EXACT;
        c->out_type = shapes[i].type;
        for (int d = 0; d < ENG_MAX_RANK; d++)
            c->ip[ENG_RESHAPE_NE0 + d] = d < 4 ? b[d] : 1;
        integers(c, cf_in(c, 0, "x", shapes[i].type, ENG_USE_INPUT, CF_PLAIN, a, 4));
        cf_run(c);
    }
}

static void permutes(cf_suite *s)
{
    static const int64_t orders[][4] = {{2, 0, 3, 1}, {0, 2, 1, 3}, {1, 0, 2, 3}, {3, 1, 2, 0}};

    for (int k = 0; k < 16; k++) {
        const int64_t *o = orders[k / 4];
        cf_case *c = cf_begin(s, ENG_OP_PERMUTE, "f32 %s dims %d %d %d %d", cf_layout_name(layouts[k % 4]), (int)o[0],
                              (int)o[1], (int)o[2], (int)o[3]);
        if (!c)
            continue;
        c->judge = CF_EXACT;
        for (int d = 0; d < ENG_MAX_RANK; d++)
            c->ip[ENG_PERMUTE_DIM0 + d] = d < 4 ? o[d] : d;
        cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, layouts[k % 4], CF_SHAPE(7, 5, 4, 3));
        cf_run(c);
    }
    for (int k = 0; k < 4; k++) { /* all dimensions there can be, from the last to the first or turned */
        static const int64_t ne[ENG_MAX_RANK] = {3, 2, 4, 2, 1, 3, 2, 2};
        cf_case *c = cf_begin(s, ENG_OP_PERMUTE, "f32 %s of rank %d %s by %d", cf_layout_name(layouts[k]), ENG_MAX_RANK,
                              k % 2 ? "turned" : "reversed", k);
        if (!c)
            continue;
        c->judge = CF_EXACT;
        for (int d = 0; d < ENG_MAX_RANK; d++)
            c->ip[ENG_PERMUTE_DIM0 + d] = k % 2 ? (d + k) % ENG_MAX_RANK : (ENG_MAX_RANK - 1 - d + k) % ENG_MAX_RANK;
        cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, layouts[k], ne, ENG_MAX_RANK);
        cf_run(c);
    }
}

static void slice(cf_suite *s, uint32_t type, cf_layout l, const int64_t ne[4], int dim, int64_t begin, int64_t length)
{
    cf_case *c = cf_begin(s, ENG_OP_SLICE, "%s %s %lldx%lldx%lldx%lld dim %d: %lld from %lld", ref_type_name(type),
                          cf_layout_name(l), (long long)ne[0], (long long)ne[1], (long long)ne[2],
                          (long long)ne[3], dim,
                          (long long)length, (long long)begin);

    if (!c)
        return;
    c->judge = CF_EXACT;
    c->out_type = type;
    c->ip[ENG_SLICE_DIM] = dim;
    c->ip[ENG_SLICE_BEGIN] = begin;
    c->ip[ENG_SLICE_LENGTH] = length;
    integers(c, cf_in(c, 0, "x", type, ENG_USE_INPUT, l, ne, 4));
    cf_run(c);
}

static void slices(cf_suite *s)
{
    static const int64_t plain[] = {20, 8, 6, 3}, blocks[] = {160, 5, 4, 1}, flat[] = {16, 5, 1, 1};

    for (int l = 0; l < 4; l++)
        slice(s, ENG_TYPE_Q8_0, layouts[l], blocks, 0, 32, 64);
    for (int dim = 0; dim < 4; dim++) { /* the middle, the beginning, the end, one element */
        int64_t n = plain[dim];
        slice(s, ENG_TYPE_F32, layouts[dim], plain, dim, n / 3, n / 3);
        slice(s, dim % 2 ? ENG_TYPE_I32 : ENG_TYPE_F32, layouts[(dim + 1) % 4], plain, dim, 0, n / 2);
        slice(s, ENG_TYPE_F32, layouts[(dim + 2) % 4], plain, dim, n / 2, n - n / 2);
        slice(s, ENG_TYPE_F16, layouts[(dim + 3) % 4], plain, dim, n - 1, 1);
    }
    slice(s, ENG_TYPE_F32, CF_PLAIN, flat, 1, 2, 0);
}

static void views(cf_suite *s)
{
    cf_thin(s, 1);
    reshapes(s);
    permutes(s);
    slices(s);
}

/* Rows with ties, not-a-numbers, infinities and zeros of both signs for those that choose. */
static void rows_to_choose(cf_case *c, cf_operand *x, int kind)
{
    for (int64_t i = 0; i < cf_elements(x); i++) {
        double v = kind == 1 ? (double)cf_below(c, 4) : cf_uniform(c, -1, 1);
        if (kind == 2 && cf_below(c, 5) == 0)
            v = NAN;
        if (kind == 3 && cf_below(c, 20) == 0)
            v = cf_below(c, 2) ? INFINITY : -INFINITY;
        if (kind == 6)
            v = (double)cf_below(c, 5) - 2;
        if (kind == 6 && v == 0 && cf_below(c, 2))
            v = -0.0;
        cf_set(x, i, kind == 4 ? NAN : kind == 5 ? -INFINITY : v);
    }
}

static const char *const row_kinds[] = {"random", "ties", "nan", "inf", "all nan", "all -inf", "zeros"};

static void top(cf_suite *s, int64_t n, int64_t k, int kind, cf_layout layout, int64_t rows, int64_t planes)
{
    cf_case *c = cf_begin(s, ENG_OP_TOP_K, "n=%lld k=%lld rows=%lldx%lld %s %s", (long long)n, (long long)k,
                          (long long)rows, (long long)planes, row_kinds[kind], cf_layout_name(layout));
    if (!c)
        return;
    c->judge = CF_EXACT;
    c->out_type = ENG_TYPE_I32;
    c->ip[ENG_TOP_K_K] = k;
    rows_to_choose(c, cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, layout, CF_SHAPE(n, rows, planes)), kind);
    cf_run(c);
}

/* Many of a row, up to all: devices may sort, and cut the row or take several together. */
static void cases_choose_many(cf_suite *s)
{
    static const struct { int64_t n, k; } many[] = {{70, 65}, {100, 100}, {1024, 1024}, {1025, 700}, {4097, 4097},
                                                    {9000, 513}, {33000, 33000}};
    cf_thin(s, 2);
    for (size_t i = 0; i < COUNT(many); i++)
        for (int kind = 0; kind < 7; kind++)
            top(s, many[i].n, many[i].k, kind, layouts[(i + (size_t)kind) % 4], 3, many[i].n < 5000 ? 2 : 1);
    cf_thin(s, 1);
    top(s, 262144, 262144, 0, CF_PLAIN, 1, 1);
    top(s, 262144, 1000, 1, CF_PLAIN, 2, 1);
    top(s, 70, 65, 2, CF_PLAIN, 60000, 1);
}

static void cases_choose(cf_suite *s)
{
    static const int64_t n[] = {1, 7, 64, 100, 1000, 4097};

    cf_thin(s, 3);
    for (size_t i = 0; i < COUNT(n); i++)
        for (int kind = 0; kind < 7; kind++) {
            cf_layout l = layouts[(i + (size_t)kind) % 4];
            cf_case *c = cf_begin(s, ENG_OP_ARGMAX, "n=%lld %s %s", (long long)n[i], row_kinds[kind], cf_layout_name(l));
            if (c) {
                c->judge = CF_EXACT;
                c->out_type = ENG_TYPE_I32;
                rows_to_choose(c, cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, l, CF_SHAPE(n[i], 5, 2)), kind);
                cf_run(c);
            }
            for (int64_t k = 1; k <= n[i] && k <= 64; k = k * 5 + 1)
                top(s, n[i], k, kind, l, 4, 2);
        }
}

static void cases_sum(cf_suite *s)
{
    static const int64_t n[] = {1, 3, 32, 100, 1025, 10000};

    cf_thin(s, 1);
    for (size_t i = 0; i < COUNT(n); i++) {
        cf_case *c = cf_begin(s, ENG_OP_SUM_ROWS, "n=%lld %s", (long long)n[i], cf_layout_name(layouts[i % 4]));
        if (c) {
            c->terms = (double)n[i];
            cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, layouts[i % 4], CF_SHAPE(n[i], 4, 3));
            cf_run(c);
        }
    }
    cf_case *c = cf_begin(s, ENG_OP_SUM_ROWS, "n=0");
    if (c) {
        cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(0, 4));
        cf_run(c);
    }
    if ((c = cf_begin(s, ENG_OP_SUM_ROWS, "n=101 split=ffn"))) {
        c->terms = 101;
        c->split = "ffn";
        cf_axis(c, cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(101, 4)), 0, "ffn:101");
        cf_run(c);
    }
}

static void cases_rebase(cf_suite *s)
{
    static const int range[][3] = {{0, 7, 0},  {10, 17, 0}, {20, 27, 0}, {0, 3, 8}, {3, 8, 8}, {2, 5, 8},
                                   {0, 1, 1}, {6, 7, 7},   {0, 9, 9},   {4, 4, 9}, {5, 40, 64}};

    cf_thin(s, 1);
    for (size_t k = 0; k < COUNT(range); k++) {
        const int *r = range[k];
        cf_case *c = cf_begin(s, ENG_OP_REBASE, r[2] ? "%d..%d of every %d" : "%d..%d", r[0], r[1], r[2]);
        if (!c)
            continue;
        c->judge = CF_EXACT;
        c->out_type = ENG_TYPE_I32;
        c->ip[ENG_REBASE_BEGIN] = r[0];
        c->ip[ENG_REBASE_END] = r[1];
        c->ip[ENG_REBASE_PERIOD] = r[2];
        cf_operand *x = cf_in(c, 0, "x", ENG_TYPE_I32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(41, 3));
        for (int64_t i = 0; i < cf_elements(x); i++)
            cf_set(x, i, (double)(cf_below(c, r[2] ? 5 * r[2] + 20 : 40) - 3));
        cf_run(c);
    }
}

void cf_cases_shape(cf_suite *s)
{
    cases_concat(s);
    cases_repeat(s);
    cases_pad(s);
    views(s);
    cases_choose(s);
    cases_choose_many(s);
    cases_sum(s);
    cases_rebase(s);
}
