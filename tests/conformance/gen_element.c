/* Cases of add, sub, mul, div, scale, unary and glu. */
#include "config.h"

#include "suite.h"

#include "libengine/util/util.h"

#include <float.h>
#include <math.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const cf_layout layouts[] = {CF_PLAIN, CF_SWAP12, CF_OFFSET, CF_INNER, CF_SWAP01};

/* Does the op work element by element, on so many operands? */
static bool takes(uint32_t op, uint8_t operands)
{
    const eng_op_info *info = eng_op_get(op);

    return info && info->expression && info->n_in == operands;
}

static void binary(cf_suite *s, uint32_t op, int which, cf_layout la, cf_layout lb, const int64_t ne[4],
                   unsigned repeat)
{
    cf_case *c = cf_begin(s, op, "a=%s b=%s %lldx%lldx%lldx%lld repeated=%u%s", cf_layout_name(la), cf_layout_name(lb),
                          (long long)ne[0], (long long)ne[1], (long long)ne[2], (long long)ne[3], repeat,
                          which ? " huge and tiny" : "");

    if (!c)
        return;
    int64_t nb[4];
    for (int d = 0; d < 4; d++)
        nb[d] = repeat >> d & 1 ? 1 : ne[d];
    cf_operand *a = cf_in(c, 0, "a", ENG_TYPE_F32, ENG_USE_INPUT, la, ne, 4);
    cf_operand *b = cf_in(c, 1, "b", ENG_TYPE_F32, ENG_USE_INPUT, lb, nb, 4);
    if (which)
        for (int64_t i = 0; i < cf_elements(a); i++)
            cf_set(a, i, cf_uniform(c, -1, 1) * pow(10, cf_uniform(c, -30, 38)));
    for (int64_t i = 0; op == ENG_OP_DIV && i < cf_elements(b); i++)
        cf_set(b, i, cf_uniform(c, 0.1, 3) * (cf_below(c, 2) ? 1 : -1));
    cf_run(c);
}

static void cases_binary(cf_suite *s)
{
    static const int64_t shapes[][4] = {{1, 1, 1, 1},   {33, 7, 3, 2},   {256, 5, 1, 1},
                                        {1, 100, 2, 3}, {1031, 3, 1, 1}, {16, 4, 3, 2}};
    static const unsigned repeats[] = {0, 1, 2, 14, 15, 13, 4, 0};

    cf_thin(s, 4);
    for (uint32_t op = 1; op < ENG_OP_LIMIT; op++)
        for (size_t i = 0; i < COUNT(shapes) && takes(op, 2) && cf_wanted(s, op); i++)
            for (size_t k = 0; k < COUNT(repeats); k++) {
                size_t x = i + k + op;
                binary(s, op, 0, layouts[x % 5], layouts[(x / 2 + k) % 5], shapes[i], repeats[k]);
            }
    cf_thin(s, 1);
    for (uint32_t op = 1; op < ENG_OP_LIMIT; op++) {
        if (!takes(op, 2))
            continue;
        binary(s, op, 1, CF_PLAIN, CF_PLAIN, shapes[1], 0);
        cf_case *c = cf_begin(s, op, "a is b");
        if (c) {
            cf_operand *a = cf_in(c, 0, "a", ENG_TYPE_F32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(100, 9));
            cf_fill(c, a, 0.5, 2);
            cf_alias(c, 1, "b", 0);
            cf_run(c);
        }
        if ((c = cf_begin(s, op, "128x6x4 split=kv_head"))) {
            c->split = "kv_head";
            cf_axis(c, cf_in(c, 0, "a", ENG_TYPE_F32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(128, 6, 4)), 1,
                    "kv_head:3 *:2");
            cf_operand *b = cf_in(c, 1, "b", ENG_TYPE_F32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(128, 6));
            cf_axis(c, b, 1, "kv_head:3 *:2");
            cf_fill(c, b, 0.5, 2);
            cf_run(c);
        }
        if ((c = cf_begin(s, op, "empty"))) {
            cf_in(c, 0, "a", ENG_TYPE_F32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(16, 0));
            cf_in(c, 1, "b", ENG_TYPE_F32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(16, 0));
            cf_run(c);
        }
    }
}

/* Every op of one operand, with the parameters of its row's sample. */
static void cases_single(cf_suite *s)
{
    static const int64_t shapes[][4] = {{1, 41, 1, 1}, {33, 7, 3, 2}, {1031, 3, 1, 1}};

    cf_thin(s, 1);
    for (uint32_t op = 1; op < ENG_OP_LIMIT; op++)
        for (size_t i = 0; i < COUNT(shapes) && takes(op, 1); i++) {
            cf_layout l = layouts[(i + op) % 5];
            cf_case *c = cf_begin(s, op, "%s %lldx%lldx%lldx%lld", cf_layout_name(l), (long long)shapes[i][0],
                                  (long long)shapes[i][1], (long long)shapes[i][2], (long long)shapes[i][3]);
            if (!c)
                continue;
            eu_row_sample_params(eng_op_get(op), 0, c->ip, c->fp);
            cf_fill(c, cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, l, shapes[i], 4), -5, 5);
            cf_run(c);
        }
}

static void cases_scale(cf_suite *s)
{
    static const double sb[][2] = {{1, 0}, {0.125, 0}, {-3.7, 0.5}, {0, 2}, {1e-3, -1e3}};

    cf_thin(s, 1);
    for (size_t i = 0; i < COUNT(sb); i++) {
        cf_case *c = cf_begin(s, ENG_OP_SCALE, "s=%g b=%g %s", sb[i][0], sb[i][1], cf_layout_name(layouts[i]));
        if (!c)
            continue;
        c->fp[ENG_SCALE_S] = sb[i][0];
        c->fp[ENG_SCALE_B] = sb[i][1];
        cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, layouts[i], CF_SHAPE(77, 6, 3));
        cf_run(c);
    }
}

static void cases_clamp(cf_suite *s)
{
    static const double ends[][2] = {{-0.5, 0.25}, {0, 6}, {-INFINITY, 0.1}, {-3, INFINITY}, {0.7, 0.7}};

    cf_thin(s, 1);
    for (size_t i = 0; i < COUNT(ends); i++) {
        cf_layout l = layouts[i];
        cf_case *c = cf_begin(s, ENG_OP_CLAMP, "min=%g max=%g %s", ends[i][0], ends[i][1], cf_layout_name(l));
        if (!c)
            continue;
        c->fp[ENG_CLAMP_MIN] = ends[i][0];
        c->fp[ENG_CLAMP_MAX] = ends[i][1];
        cf_operand *x = cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, l, CF_SHAPE(77, 6, 3));
        for (int64_t k = 0; k < cf_elements(x); k++)
            cf_set(x, k, k % 31 == 7 ? INFINITY : k % 31 == 9 ? -INFINITY : k % 31 == 11 ? NAN : cf_uniform(c, -8, 8));
        cf_run(c);
    }
    cf_case *c = cf_begin(s, ENG_OP_CLAMP, "empty");
    if (c) {
        c->fp[ENG_CLAMP_MAX] = 1;
        cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(16, 0));
        cf_run(c);
    }
}

/* Values where activations are special, then random ones near 0 and far from it. */
static void activations(cf_case *c, cf_operand *x, bool infinite)
{
    static const double special[] = {0,   -0.0, 1,    -1,   10,    -10, 20,   20.5, -17, 88,
                                     -88, 100,  -100, 1e-3, -1e-8, 1e4, -1e4, 5,    -5,  0.5};

    for (int64_t i = 0; i < cf_elements(x); i++) {
        double v = i < (int64_t)COUNT(special) ? special[i]
                                               : cf_uniform(c, -1, 1) * (i % 3 == 0   ? 30
                                                                         : i % 3 == 1 ? 4
                                                                                      : 0.1);
        if (i == (int64_t)COUNT(special))
            v = infinite ? INFINITY : NAN; /* which no function hides */
        cf_set(x, i, v);
    }
}

static void cases_unary(cf_suite *s)
{
    static const int64_t shapes[][3] = {{100, 3, 2}, {1, 41, 1}, {1024, 4, 1}};

    for (int kind = 0; kind < ENG_UNARY_LIMIT; kind++)
        for (size_t i = 0; i < COUNT(shapes); i++) {
            cf_layout l = layouts[(i + (size_t)kind) % 5];
            cf_thin(s, i ? 3 : 1);
            cf_case *c = cf_begin(s, ENG_OP_UNARY, "kind=%d %s %lldx%lldx%lld", kind, cf_layout_name(l),
                                  (long long)shapes[i][0], (long long)shapes[i][1], (long long)shapes[i][2]);
            if (!c)
                continue;
            c->ip[ENG_UNARY_KIND] = kind;
            activations(c, cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, l, shapes[i], 3),
                        kind == ENG_UNARY_RELU || kind == ENG_UNARY_NEG);
            cf_run(c);
        }
}

/* Neighbours of every magnitude: a device may work on several at once, and some in another way. */
static void magnitudes(cf_suite *s)
{
    cf_thin(s, 1);
    for (int kind = 0; kind < ENG_UNARY_LIMIT; kind++) {
        const bool turns = kind == ENG_UNARY_SIN || kind == ENG_UNARY_COS;
        cf_case *c = cf_begin(s, ENG_OP_UNARY, "kind=%d every magnitude", kind);
        if (!c)
            continue;
        c->ip[ENG_UNARY_KIND] = kind;
        cf_operand *x = cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(1024, 3));
        for (int64_t i = 0; i < 3 * 1024; i++)
            cf_set(x, i, cf_uniform(c, -1, 1) * ldexp(1, (int)cf_below(c, turns ? 120 : 64) - 60));
        cf_run(c);
    }
}

static void cases_glu(cf_suite *s)
{
    cf_thin(s, 2);
    for (int kind = 0; kind < ENG_GLU_KINDS; kind++)
        for (int form = 0; form < 3; form++)
            for (int l = 0; l < 5; l++) {
                int64_t n = l % 2 ? 97 : 128;
                cf_case *c = cf_begin(s, ENG_OP_GLU, "kind=%d %s %s n=%lld", kind,
                                      form == 0   ? "pair"
                                      : form == 1 ? "halves"
                                                  : "swapped",
                                      cf_layout_name(layouts[l]), (long long)n);
                if (!c)
                    continue;
                c->ip[ENG_GLU_KIND] = kind;
                c->ip[ENG_GLU_SWAPPED] = form == 2;
                c->fp[ENG_GLU_ALPHA] = 1.702;
                c->fp[ENG_GLU_LIMIT] = 7;
                activations(c,
                            cf_in(c, 0, "a", ENG_TYPE_F32, ENG_USE_INPUT, layouts[l], CF_SHAPE(form ? 2 * n : n, 5, 2)),
                            false);
                if (!form)
                    cf_fill(c, cf_in(c, 1, "b", ENG_TYPE_F32, ENG_USE_INPUT, layouts[(l + 1) % 5], CF_SHAPE(n, 5, 2)),
                            -9, 9);
                cf_run(c);
            }
    cf_thin(s, 1);
    for (int form = 0; form < 2; form++) {
        cf_case *c = cf_begin(s, ENG_OP_GLU, "kind=2 %s n=70 split=ffn", form ? "halves" : "pair");
        if (!c)
            continue;
        c->split = "ffn";
        c->ip[ENG_GLU_KIND] = ENG_GLU_SWIGLU;
        cf_operand *a = cf_in(c, 0, "a", ENG_TYPE_F32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(form ? 140 : 70, 5));
        cf_axis(c, a, 0, form ? "ffn:70 | ffn:70" : "ffn:70");
        if (!form)
            cf_axis(c, cf_in(c, 1, "b", ENG_TYPE_F32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(70, 5)), 0, "ffn:70");
        cf_run(c);
    }
}

void cf_cases_element(cf_suite *s)
{
    cases_binary(s);
    cases_single(s);
    if (cf_wanted(s, ENG_OP_SCALE))
        cases_scale(s);
    if (cf_wanted(s, ENG_OP_CLAMP))
        cases_clamp(s);
    if (cf_wanted(s, ENG_OP_UNARY)) {
        cases_unary(s);
        magnitudes(s);
    }
    if (cf_wanted(s, ENG_OP_GLU))
        cases_glu(s);
}
