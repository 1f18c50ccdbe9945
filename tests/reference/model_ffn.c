/* The whole-model oracle: feed-forward, dense and of experts. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "model_impl.h"

int64_t ref_ffn_scratch(const ref_model *m)
{
    int64_t wide = m->n_ff > m->n_ff_shared ? m->n_ff : m->n_ff_shared;
    return 2 * wide + 2 * m->experts + m->n_embd;
}

/* out = down(silu(gate u) * (up u)); t is scratch for two widths. */
static void swiglu(const matrix *gate, const matrix *up, const matrix *down, int64_t e, const double *u, double *out,
                   double *t)
{
    int64_t f = gate->m;
    ref_product(gate, e, u, t);
    ref_product(up, e, u, t + f);
    for (int64_t j = 0; j < f; j++)
        t[j] = t[j] * ref_logistic(t[j]) * t[f + j];
    ref_product(down, e, t, out);
}

/* The largest logit that is not taken; of equals the first. */
static int64_t best(const double *logits, const double *taken, int64_t n)
{
    int64_t found = -1;
    for (int64_t i = 0; i < n; i++)
        if (!taken[i] && (found < 0 || logits[i] > logits[found]))
            found = i;
    return found;
}

static void experts(const ref_model *m, const layer *l, const double *u, double *out, double *t, double *margin)
{
    int64_t n = m->experts, e = m->n_embd, last = -1;
    double *logits = t, *taken = logits + n, *one = taken + n, *more = one + e, sum = 0, all = 0;
    ref_product(&l->router, 0, u, logits);
    double top = logits[0];
    for (int64_t i = 0; i < n; i++)
        top = fmax(top, logits[i]);
    for (int64_t i = 0; i < n; i++)
        all += exp(logits[i] - top);
    memset(taken, 0, (size_t)n * sizeof *taken);
    for (int64_t i = 0; i < m->used; i++) {
        last = best(logits, taken, n);
        taken[last] = 1;
        sum += exp(logits[last] - top) / all;
    }
    if (m->used < n)
        *margin = fmin(*margin, logits[last] - logits[best(logits, taken, n)]);
    memset(out, 0, (size_t)e * sizeof *out);
    for (int64_t i = 0; i < n; i++) {
        if (!taken[i])
            continue;
        double weight = exp(logits[i] - top) / all / fmax(sum, 0x1p-14);
        if (m->expert_scale != 0)
            weight *= m->expert_scale;
        swiglu(&l->gate, &l->up, &l->down, i, u, one, more);
        for (int64_t j = 0; j < e; j++)
            out[j] += weight * one[j];
    }
    if (!l->s_router.w)
        return;
    double gate;
    ref_product(&l->s_router, 0, u, &gate);
    swiglu(&l->s_gate, &l->s_up, &l->s_down, 0, u, one, more);
    for (int64_t j = 0; j < e; j++)
        out[j] += ref_logistic(gate) * one[j];
}

void ref_ffn(const ref_model *m, const layer *l, const double *u, double *out, double *t, double *margin)
{
    if (m->experts > 0)
        experts(m, l, u, out, t, margin);
    else
        swiglu(&l->gate, &l->up, &l->down, 0, u, out, t);
}
