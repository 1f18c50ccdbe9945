/* Element by element: the shapes of all such ops, and each one's function in double precision. */
#include "config.h"

#include "ref.h"

#include <math.h>

/* -- one function an op: x, y the elements; *mag: what its rounding is measured by --------- */

static double exactly(double v, double *mag)
{
    *mag = fabs(v);
    return v;
}

double ref_each_add(const ref_call *c, double x, double y, double *mag)
{
    (void)c;
    return exactly(x + y, mag);
}

double ref_each_sub(const ref_call *c, double x, double y, double *mag)
{
    (void)c;
    return exactly(x - y, mag);
}

double ref_each_mul(const ref_call *c, double x, double y, double *mag)
{
    (void)c;
    return exactly(x * y, mag);
}

double ref_each_div(const ref_call *c, double x, double y, double *mag)
{
    (void)c;
    return exactly(x / y, mag);
}

double ref_each_scale(const ref_call *c, double x, double y, double *mag)
{
    (void)y;
    *mag = fabs(c->fp[ENG_SCALE_S] * x) + fabs(c->fp[ENG_SCALE_B]);
    return c->fp[ENG_SCALE_S] * x + c->fp[ENG_SCALE_B];
}

double ref_each_clamp(const ref_call *c, double x, double y, double *mag)
{
    (void)y;
    return exactly(isnan(x) ? x : fmax(c->fp[ENG_CLAMP_MIN], fmin(c->fp[ENG_CLAMP_MAX], x)), mag);
}

/* -- functions of unary --------------------------------------------------------------------- */

static double sigmoid(double x)
{
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

/* x times a sigmoid-like factor: 0 where the factor has reached 0. */
static double gated(double x, double s)
{
    return s == 0 && !isnan(x) ? 0 * (x < 0 ? -1.0 : 1.0) : x * s;
}

/* Of a function with an exponential: the exponent's rounding. */
static double exponential(double v, double x, double *mag)
{
    *mag = fabs(v) * (1 + (isfinite(x) ? fabs(x) : 0));
    return v;
}

/* Where 1 + tanh or erf cancels. */
static double cancelling(double v, double x, double *mag)
{
    *mag = fabs(v) + (x < 0 && isfinite(x) ? fabs(x) : 0);
    return v;
}

double ref_unary_silu(double x, double *mag)
{
    return exponential(gated(x, sigmoid(x)), x, mag);
}

double ref_unary_gelu(double x, double *mag)
{
    return cancelling(gated(x, 0.5 * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)))), x, mag);
}

double ref_unary_gelu_erf(double x, double *mag)
{
    return cancelling(gated(x, 0.5 * erfc(-x / sqrt(2))), x, mag);
}

double ref_unary_gelu_quick(double x, double *mag)
{
    return exponential(gated(x, sigmoid(1.702 * x)), x, mag);
}

double ref_unary_sigmoid(double x, double *mag)
{
    return exponential(sigmoid(x), x, mag);
}

double ref_unary_softplus(double x, double *mag)
{
    double v = x > 20 ? x : log1p(exp(x));

    *mag = fabs(v) + 1; /* ln(1 + small) in f32 is absolute */
    return v;
}

double ref_unary_exp(double x, double *mag)
{
    return exponential(exp(x), x, mag);
}

double ref_unary_tanh(double x, double *mag)
{
    double v = tanh(x);

    *mag = fabs(v) + fmin(fabs(x), 1);
    return v;
}

double ref_unary_relu(double x, double *mag)
{
    return exactly(x > 0 || isnan(x) ? x : 0, mag);
}

double ref_unary_neg(double x, double *mag)
{
    return exactly(-x, mag);
}

double ref_unary_sqrt(double x, double *mag)
{
    return exactly(sqrt(x), mag);
}

double ref_unary_sqr(double x, double *mag)
{
    return exactly(pow(x, 2), mag);
}

double ref_unary_log(double x, double *mag)
{
    return exactly(log(x), mag);
}

double ref_unary_sin(double x, double *mag)
{
    return exactly(sin(x), mag);
}

double ref_unary_cos(double x, double *mag)
{
    return exactly(cos(x), mag);
}

double ref_unary_abs(double x, double *mag)
{
    return exactly(copysign(x, 1), mag);
}

double ref_unary_step(double x, double *mag)
{
    return exactly(x > 0, mag);
}

double ref_unary_sgn(double x, double *mag)
{
    return exactly(isnan(x) ? x : (x > 0) - (x < 0), mag);
}

static double unary_value(const ref_call *c, double x, double y, double *mag)
{
    static double (*const functions[ENG_UNARY_LIMIT])(double, double *) = {
#define ENG_UNARY(id, number, name, ...) [number] = ref_unary_##name,
#include "engine/ops.def"
    };
    (void)y;
    return functions[c->ip[ENG_UNARY_KIND]](x, mag);
}

/* -- functions of glu ------------------------------------------------------------------------- */

static double times(double f, double y, double *mag)
{
    *mag *= fabs(y);
    return f * y;
}

double ref_glu_reglu(const ref_call *c, double x, double y, double *mag)
{
    (void)c;
    return times(ref_unary_relu(x, mag), y, mag);
}

double ref_glu_geglu(const ref_call *c, double x, double y, double *mag)
{
    (void)c;
    return times(ref_unary_gelu(x, mag), y, mag);
}

double ref_glu_swiglu(const ref_call *c, double x, double y, double *mag)
{
    (void)c;
    return times(ref_unary_silu(x, mag), y, mag);
}

double ref_glu_swiglu_oai(const ref_call *c, double a, double b, double *mag)
{
    double limit = c->fp[ENG_GLU_LIMIT], alpha = c->fp[ENG_GLU_ALPHA];
    double x = a > limit ? limit : a, y = b > limit ? limit : b < -limit ? -limit : b; /* NaN stays */
    double f = gated(x, sigmoid(alpha * x));

    *mag = fabs(f) * (1 + fabs(alpha * x)) * (fabs(y) + 1);
    return f * (y + 1);
}

double ref_glu_geglu_erf(const ref_call *c, double x, double y, double *mag)
{
    (void)c;
    return times(ref_unary_gelu_erf(x, mag), y, mag);
}

double ref_glu_geglu_quick(const ref_call *c, double x, double y, double *mag)
{
    (void)c;
    return times(ref_unary_gelu_quick(x, mag), y, mag);
}

static double glu_value(const ref_call *c, double x, double y, double *mag)
{
    static double (*const functions[ENG_GLU_KINDS])(const ref_call *, double, double, double *) = {
#define ENG_GLU(id, number, name, ...) [number] = ref_glu_##name,
#include "engine/ops.def"
    };
    return functions[c->ip[ENG_GLU_KIND]](c, x, y, mag);
}

/* -- shapes ------------------------------------------------------------------------------------- */

typedef double (*value_of)(const ref_call *c, double x, double y, double *mag);

/* b's extents are a's or 1. */
static int each(ref_call *c, const ref_tensor *a, const ref_tensor *b, value_of f)
{
    int64_t i[ENG_MAX_RANK] = {0}, n = 0;
    ref_tensor *o = &c->out[0];

    for (int d = 0; d < ENG_MAX_RANK; d++)
        if (b->ne[d] != a->ne[d] && b->ne[d] != 1)
            return -2;
    if (!ref_alloc(o, a->ne, ENG_MAX_RANK, true, false))
        return -1;
    c->n_out = 1;
    if (!ref_count(a))
        return 0;
    do {
        o->data[n] = f(c, a->data[ref_at(a, i)], b->data[ref_at_mod(b, i)], &o->mag[n]);
        n++;
    } while (ref_next(a->ne, i));
    return 0;
}

#define ENG_OP_EACH(id, number, name, ...)                                                                             \
    int ref_op_##name(ref_call *c)                                                                                     \
    {                                                                                                                  \
        return each(c, c->in[0], c->in[1] ? c->in[1] : c->in[0], ref_each_##name);                                     \
    }
#include "engine/ops.def"

int ref_op_unary(ref_call *c)
{
    return each(c, c->in[0], c->in[0], unary_value);
}

int ref_op_glu(ref_call *c)
{
    const ref_tensor *whole = c->in[0];
    int64_t half = whole->ne[0] / 2;

    if (c->in[1])
        return each(c, c->in[0], c->in[1], glu_value);
    if (whole->ne[0] % 2)
        return -2;
    ref_tensor a = ref_slice(whole, 0, c->ip[ENG_GLU_SWAPPED] ? half : 0, half);
    ref_tensor b = ref_slice(whole, 0, c->ip[ENG_GLU_SWAPPED] ? 0 : half, half);
    return each(c, &a, &b, glu_value);
}
