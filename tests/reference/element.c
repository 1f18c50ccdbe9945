/* Element by element: arithmetic, activations. */
#include "config.h"

#include "ref.h"

#include <math.h>

int ref_binary(ref_call *c)
{
    const ref_tensor *a = c->in[0], *b = c->in[1];
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
        double x = a->data[ref_at(a, i)], y = b->data[ref_at_mod(b, i)];
        double v = c->op == ENG_OP_ADD ? x + y : c->op == ENG_OP_SUB ? x - y : c->op == ENG_OP_MUL ? x * y : x / y;
        o->data[n] = v;
        o->mag[n++] = fabs(v);
    } while (ref_next(a->ne, i));
    return 0;
}

static int map(ref_call *c, double (*f)(const ref_call *c, double x, double *mag))
{
    const ref_tensor *x = c->in[0];
    int64_t i[ENG_MAX_RANK] = {0}, n = 0;
    ref_tensor *o = &c->out[0];

    if (!ref_alloc(o, x->ne, ENG_MAX_RANK, true, false))
        return -1;
    c->n_out = 1;
    if (!ref_count(x))
        return 0;
    do {
        o->data[n] = f(c, x->data[ref_at(x, i)], &o->mag[n]);
        n++;
    } while (ref_next(x->ne, i));
    return 0;
}

static double scaled(const ref_call *c, double x, double *mag)
{
    *mag = fabs(c->fp[ENG_SCALE_S] * x) + fabs(c->fp[ENG_SCALE_B]);
    return c->fp[ENG_SCALE_S] * x + c->fp[ENG_SCALE_B];
}

int ref_scale(ref_call *c)
{
    return map(c, scaled);
}

static double sigmoid(double x)
{
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

/* x times a sigmoid-like factor: 0 where the factor has reached 0. */
static double gated(double x, double s)
{
    return s == 0 && !isnan(x) ? 0 * (x < 0 ? -1.0 : 1.0) : x * s;
}

static double gelu(double x)
{
    return gated(x, 0.5 * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))));
}

static double gelu_erf(double x)
{
    return gated(x, 0.5 * erfc(-x / sqrt(2)));
}

static double unary(int64_t kind, double x, double *mag)
{
    double v;

    switch (kind) {
    case ENG_UNARY_SILU: v = gated(x, sigmoid(x)); break;
    case ENG_UNARY_GELU: v = gelu(x); break;
    case ENG_UNARY_GELU_ERF: v = gelu_erf(x); break;
    case ENG_UNARY_GELU_QUICK: v = gated(x, sigmoid(1.702 * x)); break;
    case ENG_UNARY_SIGMOID: v = sigmoid(x); break;
    case ENG_UNARY_SOFTPLUS: v = x > 20 ? x : log1p(exp(x)); break;
    case ENG_UNARY_EXP: v = exp(x); break;
    case ENG_UNARY_TANH: v = tanh(x); break;
    case ENG_UNARY_RELU: v = x > 0 ? x : isnan(x) ? x : 0; break;
    default: v = -x; break;
    }
    *mag = fabs(v);
    if (kind == ENG_UNARY_EXP || kind == ENG_UNARY_SIGMOID || kind == ENG_UNARY_SILU || kind == ENG_UNARY_GELU_QUICK)
        *mag = fabs(v) * (1 + (isfinite(x) ? fabs(x) : 0)); /* the exponent's rounding */
    else if (kind == ENG_UNARY_GELU || kind == ENG_UNARY_GELU_ERF)
        *mag = fabs(v) + (x < 0 && isfinite(x) ? fabs(x) : 0); /* 1 + tanh cancels */
    else if (kind == ENG_UNARY_SOFTPLUS)
        *mag = fabs(v) + 1; /* ln(1 + small) in f32 is absolute */
    else if (kind == ENG_UNARY_TANH)
        *mag = fabs(v) + fmin(fabs(x), 1);
    return v;
}

static double unary_op(const ref_call *c, double x, double *mag)
{
    return unary(c->ip[ENG_UNARY_KIND], x, mag);
}

int ref_unary(ref_call *c)
{
    return map(c, unary_op);
}

static double glu(const ref_call *c, double a, double b, double *mag)
{
    static const int kinds[ENG_GLU_KINDS] = {
        [ENG_GLU_REGLU] = ENG_UNARY_RELU, [ENG_GLU_GEGLU] = ENG_UNARY_GELU, [ENG_GLU_SWIGLU] = ENG_UNARY_SILU,
        [ENG_GLU_GEGLU_ERF] = ENG_UNARY_GELU_ERF, [ENG_GLU_GEGLU_QUICK] = ENG_UNARY_GELU_QUICK};
    double m, limit = c->fp[ENG_GLU_LIMIT], alpha = c->fp[ENG_GLU_ALPHA];

    if (c->ip[ENG_GLU_KIND] != ENG_GLU_SWIGLU_OAI) {
        double v = unary(kinds[c->ip[ENG_GLU_KIND]], a, &m) * b;
        *mag = m * fabs(b);
        return v;
    }
    double x = fmin(a, limit), y = fmin(fmax(b, -limit), limit);
    double v = x * sigmoid(alpha * x) * (y + 1);
    *mag = fabs(x * sigmoid(alpha * x)) * (1 + fabs(alpha * x)) * (fabs(y) + 1);
    return v;
}

int ref_glu(ref_call *c)
{
    ref_tensor a = *c->in[0], b;
    int64_t i[ENG_MAX_RANK] = {0}, n = 0;
    ref_tensor *o = &c->out[0];

    if (c->in[1]) {
        b = *c->in[1];
    } else {
        ref_tensor whole = a;
        int64_t half = whole.ne[0] / 2;
        if (whole.ne[0] % 2)
            return -2;
        a = ref_slice(&whole, 0, c->ip[ENG_GLU_SWAPPED] ? half : 0, half);
        b = ref_slice(&whole, 0, c->ip[ENG_GLU_SWAPPED] ? 0 : half, half);
    }
    if (!ref_alloc(o, a.ne, ENG_MAX_RANK, true, false))
        return -1;
    c->n_out = 1;
    if (!ref_count(&a))
        return 0;
    do {
        o->data[n] = glu(c, a.data[ref_at(&a, i)], b.data[ref_at(&b, i)], &o->mag[n]);
        n++;
    } while (ref_next(a.ne, i));
    return 0;
}
