/* Cases of the norms and soft_max. */
#include "config.h"

#include "suite.h"

#include <math.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const cf_layout layouts[] = {CF_PLAIN, CF_SWAP12, CF_OFFSET, CF_INNER};

static void rows_norm(cf_suite *s, uint32_t op, int64_t n, int64_t rows, cf_layout l, bool w, bool bias, double size,
                      double shift, const char *split)
{
    cf_case *c = cf_begin(s, op, "n=%lld rows=%lld %s%s%s size=%g shift=%g%s%s", (long long)n, (long long)rows,
                          cf_layout_name(l), w ? " w" : "", bias ? " bias" : "", size, shift, split ? " split=" : "",
                          split ? split : "");

    if (!c)
        return;
    c->terms = (double)n;
    c->fp[ENG_NORM_EPS] = 1e-6;
    c->split = split;
    cf_operand *x = cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, l, CF_SHAPE(n, rows, 3));
    cf_fill(c, x, shift - size, shift + size);
    for (int64_t i = 0; size == 0 && i < n; i++)
        cf_set(x, i, 0); /* a row of zeros, one that is not a number */
    if (size == 0)
        cf_set(x, n + 3, NAN);
    if (split)
        cf_axis(c, x, 1, "kv_head:%lld", (long long)rows);
    if (w)
        cf_fill(c, cf_in(c, 1, "w", ENG_TYPE_F32, ENG_USE_WEIGHT, CF_PLAIN, CF_SHAPE(n)), 0.5, 2);
    if (bias)
        cf_in(c, 2, "bias", ENG_TYPE_F32, ENG_USE_WEIGHT, CF_PLAIN, CF_SHAPE(n));
    cf_run(c);
}

static void cases_rows(cf_suite *s, uint32_t op)
{
    static const int64_t n[] = {1, 7, 64, 80, 100, 256, 1000, 4096};

    if (!cf_wanted(s, op))
        return;
    cf_thin(s, 2);
    for (size_t i = 0; i < COUNT(n); i++)
        for (int l = 0; l < 4; l++)
            rows_norm(s, op, n[i], 1 + (int64_t)(i + (size_t)l) % 9, layouts[l], op != ENG_OP_L2_NORM && l != 1,
                      op == ENG_OP_NORM && l > 1, l == 2 ? 1e-5 : l == 3 ? 1e4 : 1, n[i] > 1 && l == 1 ? 0.5 : 0, NULL);
    cf_thin(s, 1);
    rows_norm(s, op, 64, 3, CF_PLAIN, false, false, 0, 0, NULL);
    rows_norm(s, op, 128, 5, CF_PLAIN, op != ENG_OP_L2_NORM, false, 1, 0, "kv_head");
}

static void cases_group(cf_suite *s)
{
    static const int64_t shape[][4] = {{8, 6, 12, 2}, {1, 1, 7, 1}, {13, 5, 10, 1}, {64, 3, 4, 3}};
    static const int64_t groups[] = {1, 2, 3, 4};

    cf_thin(s, 1);
    for (size_t i = 0; i < COUNT(shape); i++)
        for (size_t g = 0; g < COUNT(groups); g++) {
            int64_t per = shape[i][0] * shape[i][1] * ((shape[i][2] + groups[g] - 1) / groups[g]);
            cf_case *c =
                cf_begin(s, ENG_OP_GROUP_NORM, "%lldx%lldx%lldx%lld groups=%lld", (long long)shape[i][0],
                         (long long)shape[i][1], (long long)shape[i][2], (long long)shape[i][3], (long long)groups[g]);
            if (!c)
                continue;
            c->terms = (double)per;
            c->ip[ENG_GROUP_NORM_GROUPS] = groups[g];
            c->fp[ENG_NORM_EPS] = 1e-5;
            cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, g == 1 ? CF_SWAP12 : CF_PLAIN, shape[i], 4);
            cf_run(c);
        }
}

/* Many short rows of nearly equal numbers: one long chain of f32 sums would be off in one direction. */
static void case_long_group(cf_suite *s)
{
    static const int64_t shape[4] = {7, 1024, 30, 1};
    cf_case *c = cf_begin(s, ENG_OP_GROUP_NORM, "7x1024x30 groups=2, values from 0.9 to 1.1");

    if (!c)
        return;
    c->terms = 64;
    c->ip[ENG_GROUP_NORM_GROUPS] = 2;
    c->fp[ENG_NORM_EPS] = 1e-5;
    cf_operand *x = cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, CF_PLAIN, shape, 4);
    if (x)
        cf_fill(c, x, 0.9, 1.1);
    cf_run(c);
}

struct soft {
    int64_t n, t, h, b;
    int mask; /* 0 none, else its extents: bit 0 per head, bit 1 per batch */
    uint32_t mask_type;
    bool sinks, full;
    double scale, bias;
};

static void soft(cf_suite *s, struct soft x)
{
    cf_case *c = cf_begin(s, ENG_OP_SOFT_MAX, "%lldx%lldx%lldx%lld mask=%d/%s%s%s scale=%g max_bias=%g", (long long)x.n,
                          (long long)x.t, (long long)x.h, (long long)x.b, x.mask, ref_type_name(x.mask_type),
                          x.sinks ? " sinks" : "", x.full ? " full" : "", x.scale, x.bias);

    if (!c)
        return;
    c->terms = (double)x.n;
    c->fp[ENG_SOFT_MAX_SCALE] = x.scale;
    c->fp[ENG_SOFT_MAX_MAX_BIAS] = x.bias;
    cf_fill(c, cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, layouts[(x.n + x.h) % 4], CF_SHAPE(x.n, x.t, x.h, x.b)),
            -10, 10);
    if (x.mask) {
        cf_operand *m = cf_in(c, 1, "mask", x.mask_type, ENG_USE_INPUT, CF_PLAIN,
                              CF_SHAPE(x.n, x.t, x.mask & 1 ? x.h : 1, x.mask & 2 ? x.b : 1));
        for (int64_t i = 0; i < cf_elements(m); i++)
            cf_set(m, i, (x.full && i < x.n) || cf_below(c, 3) == 0 ? -INFINITY : cf_uniform(c, -2, 0));
    }
    if (x.sinks)
        cf_in(c, 2, "sinks", ENG_TYPE_F32, ENG_USE_WEIGHT, CF_PLAIN, CF_SHAPE(x.h));
    cf_run(c);
}

static void cases_soft(cf_suite *s)
{
    static const int64_t n[] = {1, 2, 33, 64, 100, 1024, 5000};
    int x = 0;

    cf_thin(s, 2);
    for (size_t i = 0; i < COUNT(n); i++)
        for (int k = 0; k < 6; k++, x++)
            soft(s, (struct soft){n[i], 1 + x % 5, 1 + x % 7, 1 + x % 2, k == 0 ? 0 : 1 + k % 3 * (k != 5),
                                  x % 2 ? ENG_TYPE_F16 : ENG_TYPE_F32, k % 3 == 1, k == 3, x % 3 ? 0.125 : 1,
                                  k > 3 ? 8 : 0});
    cf_thin(s, 1);
    soft(s, (struct soft){17, 3, 4, 1, 1, ENG_TYPE_F32, true, true, 1, 0});
    soft(s, (struct soft){17, 3, 4, 1, 2, ENG_TYPE_F32, false, true, 1, 0});
}

void cf_cases_norm(cf_suite *s)
{
    cases_rows(s, ENG_OP_RMS_NORM);
    cases_rows(s, ENG_OP_NORM);
    cases_rows(s, ENG_OP_L2_NORM);
    cases_group(s);
    case_long_group(s);
    cases_soft(s);
}
