/* The whole-model oracle: streams mixed channel by channel (Qwen4-Exp, as PyPI's transformers have it). */
#include "config.h"

#include <math.h>
#include <string.h>

#include "model_impl.h"

void ref_mix_norm(const ref_model *m, const double *x, const double *w, double *y)
{
    for (int64_t i = 0; i < m->n_streams; i++)
        ref_rms(x + i * m->n_embd, w + i * m->n_embd, y + i * m->n_embd, m->n_embd, m->eps);
}

int64_t ref_mix_scratch(const ref_model *m)
{
    return m->f.mix ? m->n_streams * (1 + 2 * m->n_embd) + m->mix_out.down.m : 0;
}

void ref_mix_take(const ref_model *m, const mix_weights *w, const double *streams, double *x, double *t)
{
    int64_t n = m->n_streams, e = m->n_embd;
    double *normed = t + n, *share = normed + n * e, *low = share + n * e;
    ref_mix_norm(m, streams, w->norm, normed);
    ref_product(&w->down, 0, normed, low);
    for (int64_t i = 0; i < w->down.m; i++) {
        double y = low[i] / (double)n;
        low[i] = y * ref_logistic(y);
    }
    ref_product(&w->up, 0, low, share);
    memset(x, 0, (size_t)e * sizeof *x);
    for (int64_t i = 0; i < n * e; i++)
        x[i % e] += ref_logistic(share[i]) * normed[i] / (double)n;
    if (!w->give.w)
        return;
    ref_product(&w->give, 0, normed, t);
    for (int64_t i = 0; i < n; i++)
        t[i] = 2 * ref_logistic(t[i] / (double)n);
}

void ref_mix_give(const ref_model *m, double *streams, const double *out, const double *t)
{
    for (int64_t i = 0; i < m->n_streams; i++)
        for (int64_t k = 0; k < m->n_embd; k++)
            streams[i * m->n_embd + k] += t[i] * out[k];
}
