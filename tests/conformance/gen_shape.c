/* Cases of concat, repeat, pad, views, argmax, top_k, sum_rows and rebase. */
#include "config.h"

#include "suite.h"

#include <math.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const cf_layout layouts[] = {CF_PLAIN, CF_SWAP12, CF_OFFSET, CF_INNER};

static void integers(cf_case *c, cf_operand *o)
{
    for (int64_t i = 0; (o->type == ENG_TYPE_I32 || o->type == ENG_TYPE_I64) && i < cf_elements(o); i++)
        cf_set(o, i, (double)cf_below(c, 1 << 28));
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

static void views(cf_suite *s)
{
    cf_case *c;

    cf_thin(s, 1);
    if ((c = cf_begin(s, ENG_OP_RESHAPE, "f32 12x5x4 to 60x2x2"))) {
        static const int64_t ne[ENG_MAX_RANK] = {60, 2, 2, 1, 1, 1, 1, 1};
        c->judge = CF_EXACT;
        for (int d = 0; d < ENG_MAX_RANK; d++)
            c->ip[d] = ne[d];
        cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(12, 5, 4));
        cf_run(c);
    }
    for (int l = 0; l < 4; l++) {
        if ((c = cf_begin(s, ENG_OP_PERMUTE, "f32 %s dims 2 0 3 1", cf_layout_name(layouts[l])))) {
            static const int64_t dim[ENG_MAX_RANK] = {2, 0, 3, 1, 4, 5, 6, 7};
            c->judge = CF_EXACT;
            for (int d = 0; d < ENG_MAX_RANK; d++)
                c->ip[d] = dim[d];
            cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, layouts[l], CF_SHAPE(7, 5, 4, 3));
            cf_run(c);
        }
        if ((c = cf_begin(s, ENG_OP_SLICE, "q8_0 %s dim 0", cf_layout_name(layouts[l])))) {
            c->judge = CF_EXACT;
            c->out_type = ENG_TYPE_Q8_0;
            c->ip[ENG_SLICE_BEGIN] = 32;
            c->ip[ENG_SLICE_LENGTH] = 64;
            cf_in(c, 0, "x", ENG_TYPE_Q8_0, ENG_USE_INPUT, layouts[l], CF_SHAPE(160, 5, 4));
            cf_run(c);
        }
    }
    if ((c = cf_begin(s, ENG_OP_SLICE, "f32 nothing of dim 1"))) {
        c->judge = CF_EXACT;
        c->ip[ENG_SLICE_DIM] = 1;
        c->ip[ENG_SLICE_BEGIN] = 2;
        cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(16, 5));
        cf_run(c);
    }
}

/* Rows with ties, not-a-numbers and infinities for those that choose. */
static void rows_to_choose(cf_case *c, cf_operand *x, int kind)
{
    for (int64_t i = 0; i < cf_elements(x); i++) {
        double v = kind == 1 ? (double)cf_below(c, 4) : cf_uniform(c, -1, 1);
        if (kind == 2 && cf_below(c, 5) == 0)
            v = NAN;
        if (kind == 3 && cf_below(c, 20) == 0)
            v = cf_below(c, 2) ? INFINITY : -INFINITY;
        cf_set(x, i, kind == 4 ? NAN : kind == 5 ? -INFINITY : v);
    }
}

static void cases_choose(cf_suite *s)
{
    static const char *const kinds[] = {"random", "ties", "nan", "inf", "all nan", "all -inf"};
    static const int64_t n[] = {1, 7, 64, 100, 1000, 4097};

    cf_thin(s, 3);
    for (size_t i = 0; i < COUNT(n); i++)
        for (int kind = 0; kind < 6; kind++) {
            cf_layout l = layouts[(i + (size_t)kind) % 4];
            cf_case *c = cf_begin(s, ENG_OP_ARGMAX, "n=%lld %s %s", (long long)n[i], kinds[kind], cf_layout_name(l));
            if (c) {
                c->judge = CF_EXACT;
                c->out_type = ENG_TYPE_I32;
                rows_to_choose(c, cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, l, CF_SHAPE(n[i], 5, 2)), kind);
                cf_run(c);
            }
            for (int64_t k = 1; k <= n[i] && k <= 64; k = k * 5 + 1) {
                if (!(c = cf_begin(s, ENG_OP_TOP_K, "n=%lld k=%lld %s %s", (long long)n[i], (long long)k, kinds[kind],
                                   cf_layout_name(l))))
                    continue;
                c->judge = CF_EXACT;
                c->out_type = ENG_TYPE_I32;
                c->ip[ENG_TOP_K_K] = k;
                rows_to_choose(c, cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, l, CF_SHAPE(n[i], 4, 2)), kind);
                cf_run(c);
            }
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
    for (int k = 0; k < 3; k++)
        if ((c = cf_begin(s, ENG_OP_REBASE, "%d..%d", 10 * k, 10 * k + 7))) {
            c->judge = CF_EXACT;
            c->out_type = ENG_TYPE_I32;
            c->ip[ENG_REBASE_BEGIN] = 10 * k;
            c->ip[ENG_REBASE_END] = 10 * k + 7;
            cf_operand *x = cf_in(c, 0, "x", ENG_TYPE_I32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(41, 3));
            for (int64_t i = 0; i < cf_elements(x); i++)
                cf_set(x, i, (double)(cf_below(c, 40) - 3));
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
    cases_sum(s);
}
