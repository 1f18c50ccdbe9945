/* The whole-model oracle: layers of attention. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "model_impl.h"

#define PI 3.14159265358979323846

/* Interleaved multi-section rope: a text token's time, height and width are its
 * position, its fourth coordinate is 0. */
static bool turns(const ref_model *m, int64_t pair)
{
    int64_t sum = m->sections[0] + m->sections[1] + m->sections[2] + m->sections[3];
    int64_t sector = sum > 0 ? pair % sum : 0;
    return sum == 0 || sector < 3 * m->sections[sector % 3];
}

/* The pair that turns `turns` times over the original context (Peng et al., arXiv:2309.00071, section 3.2). */
static double pair_of(const ref_model *m, double n_turns)
{
    return (double)m->n_rot * log(m->n_ctx_orig / (2 * PI * n_turns)) / (2 * log(m->rope_base));
}

/* How much of pair i keeps its angle instead of the stretched one: 1 for the fast pairs, 0 for the slow. */
static double kept(const ref_model *m, int64_t i)
{
    double lo = fmax(0, floor(pair_of(m, m->yarn_fast)));
    double hi = fmin((double)(m->n_rot - 1), ceil(pair_of(m, m->yarn_slow)));
    return m->yarn_mix * (1 - fmin(1, fmax(0, ((double)i - lo) / fmax(0.001, hi - lo))));
}

static void rope(const ref_model *m, double *x, int64_t pos)
{
    int64_t half = m->n_rot / 2;
    for (int64_t i = 0; i < half; i++) {
        double angle = turns(m, i) ? (double)pos * pow(m->rope_base, -2.0 * (double)i / (double)m->n_rot) : 0;
        double mix = m->yarn ? kept(m, i) : 0;
        if (m->rope_freqs)
            angle /= m->rope_freqs[i];
        angle = (1 - mix) * angle / m->rope_factor + mix * angle;
        double *a = m->neighbours ? x + 2 * i : x + i, *b = m->neighbours ? a + 1 : a + half;
        double p = *a, q = *b;
        *a = m->rope_size * (p * cos(angle) - q * sin(angle));
        *b = m->rope_size * (p * sin(angle) + q * cos(angle));
    }
}

static void attend(const ref_model *m, const double *q, const layer_state *s, int64_t kv, int64_t length, double *p,
                   double *o)
{
    int64_t d = m->d, step = m->kv_heads * d;
    double max = -INFINITY, sum = 0;
    for (int64_t j = 0; j < length; j++) {
        const double *k = s->k + j * step + kv * d;
        p[j] = 0;
        for (int64_t i = 0; i < d; i++)
            p[j] += q[i] * k[i];
        p[j] /= sqrt((double)d);
        max = fmax(max, p[j]);
    }
    for (int64_t j = 0; j < length; j++)
        sum += p[j] = exp(p[j] - max);
    memset(o, 0, (size_t)d * sizeof *o);
    for (int64_t j = 0; j < length; j++)
        for (int64_t i = 0; i < d; i++)
            o[i] += p[j] / sum * s->v[j * step + kv * d + i];
}

int64_t ref_attention_scratch(const ref_model *m, int64_t length)
{
    return 3 * m->heads * m->d + length;
}

void ref_attention_layer(const ref_model *m, const layer *l, layer_state *s, int64_t pos, const double *u, double *out,
                         double *t)
{
    int64_t d = m->d, group = m->heads / m->kv_heads, step = m->gated ? 2 * d : d;
    double *all = t, *o = all + m->heads * step, *p = o + m->heads * d;
    double *k = s->k + pos * m->kv_heads * d, *v = s->v + pos * m->kv_heads * d;
    ref_product(&l->q, 0, u, all);
    ref_product(&l->k, 0, u, k);
    ref_product(&l->v, 0, u, v);
    for (int64_t h = 0; h < m->kv_heads; h++) {
        if (l->k_norm)
            ref_rms(k + h * d, l->k_norm, k + h * d, d, m->eps);
        rope(m, k + h * d, pos);
    }
    for (int64_t h = 0; h < m->heads; h++) {
        double *q = all + h * step, *gate = q + d;
        if (l->q_norm)
            ref_rms(q, l->q_norm, q, d, m->eps);
        rope(m, q, pos);
        attend(m, q, s, h / group, pos + 1, p, o + h * d);
        for (int64_t i = 0; i < d && m->gated; i++)
            o[h * d + i] *= ref_logistic(gate[i]);
    }
    ref_product(&l->out, 0, o, out);
}
