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
    double fast = pair_of(m, m->yarn_fast), slow = pair_of(m, m->yarn_slow);
    double lo = fmax(0, m->f.unrounded ? fast : floor(fast));
    double hi = fmin((double)(m->n_rot - 1), m->f.unrounded ? slow : ceil(slow));
    return m->yarn_mix * (1 - fmin(1, fmax(0, ((double)i - lo) / fmax(0.001, hi - lo))));
}

/* Of a layer with a window the base, and perhaps all else, is another. */
void ref_rope(const ref_model *m, const layer *l, double *x, int64_t pos, bool neighbours)
{
    bool plain = l->local && m->f.local_plain;
    int64_t n_rot = m->n_rot == m->d ? l->d : m->n_rot, half = n_rot / 2;
    const double *factors = plain ? NULL : m->rope_freqs;
    double base = l->local ? m->local_base : m->rope_base, size = plain ? 1 : m->rope_size;
    if (m->rope_long)
        factors = m->long_context ? m->rope_long : m->rope_short;
    for (int64_t i = 0; i < half && l->rotated; i++) {
        double angle = turns(m, i) ? (double)pos * pow(base, -2.0 * (double)i / (double)n_rot) : 0;
        double mix = m->yarn && !plain ? kept(m, i) : 0;
        if (factors)
            angle /= factors[i];
        angle = plain ? angle : (1 - mix) * angle / m->rope_factor + mix * angle;
        double *a = neighbours ? x + 2 * i : x + i, *b = neighbours ? a + 1 : a + half;
        double p = *a, q = *b;
        *a = size * (p * cos(angle) - q * sin(angle));
        *b = size * (p * sin(angle) + q * cos(angle));
    }
}

static bool sees(const ref_model *m, const layer *l, const layer_state *s, int64_t pos, int64_t j)
{
    return (!m->top_cells || s->seen[j]) && (!l->window || pos - j < l->window) &&
           (!l->chunk || pos / l->chunk == j / l->chunk);
}

/* Head h, whose keys and values are number kv, at position pos: it sees the first `length` tokens. */
static void attend(const ref_model *m, const layer *l, const double *q, const layer_state *s, int64_t h, int64_t kv,
                   int64_t pos, int64_t length, double *p, double *o)
{
    int64_t d = l->d, step = l->kv_heads * d, dv = l->dv;
    double max = l->sinks ? l->sinks[h] : -INFINITY, sum, cap = m->attn_softcap;
    for (int64_t j = 0; j < length; j++) {
        const double *k = s->k + j * step + kv * d;
        p[j] = 0;
        for (int64_t i = 0; i < d; i++)
            p[j] += q[i] * k[i];
        p[j] *= m->attn_scale;
        p[j] = cap > 0 ? cap * tanh(p[j] / cap) : p[j];
        p[j] = sees(m, l, s, pos, j) ? p[j] : -INFINITY;
        max = fmax(max, p[j]);
    }
    sum = l->sinks ? exp(l->sinks[h] - max) : 0;
    for (int64_t j = 0; j < length; j++)
        sum += p[j] = exp(p[j] - max);
    memset(o, 0, (size_t)dv * sizeof *o);
    for (int64_t j = 0; j < length; j++)
        for (int64_t i = 0; i < dv; i++)
            o[i] += p[j] / sum * s->v[(j * l->kv_heads + kv) * dv + i];
}

int64_t ref_attention_scratch(const ref_model *m, int64_t length)
{
    return 6 * m->heads * m->d_most + length + m->q_rank + m->kv_rank + m->n_rot + ref_indexer_scratch(m, length);
}

/* A head's query or key: normed, rotated, and what else is done to it before they meet. */
static void turned(const ref_model *m, const layer *l, double *x, const double *norm, int64_t head, int64_t pos)
{
    bool normed = norm && m->f.qk != WIDE_NORM;
    const double *own = normed ? norm + (m->f.qk == OWN_NORM ? head * l->d : 0) : NULL;
    if (normed && !m->f.norm_last)
        ref_norm(m, x, own, x, l->d);
    ref_rope(m, l, x, pos, m->neighbours);
    if (normed && m->f.norm_last)
        ref_norm(m, x, own, x, l->d);
    if (m->renormed && l->rotated)
        ref_rms(x, NULL, x, l->d, m->eps);
}

/* Queries, keys and values of every head as the paper has them (DeepSeek-AI, arXiv:2405.04434, section 2.1): nothing is
 * absorbed.  The short vectors are normed with the epsilon that the models' code has for norms to which it gives none.
 * A head's rotated channels are its last, and one key's are all heads'. */
static void latent(const ref_model *m, const layer *l, layer_state *s, const double *u, double *q, double *k, double *v,
                   double *t, int64_t pos)
{
    int64_t rest = m->d - m->n_rot;
    double *short_q = t, *short_kv = t + m->q_rank;
    if (l->q_a.w) {
        ref_product(&l->q_a, 0, u, short_q);
        ref_rms(short_q, l->q_a_norm, short_q, m->q_rank, m->f.own_eps ? m->eps : 1e-6);
    }
    ref_product(&l->q, 0, l->q_a.w ? short_q : u, q);
    if (l->chooses)
        ref_choose(m, l, s, pos, u, short_q, short_kv + m->kv_rank + m->n_rot);
    ref_product(&l->kv_a, 0, u, short_kv);
    ref_rms(short_kv, l->kv_a_norm, short_kv, m->kv_rank, m->f.own_eps ? m->eps : 1e-6);
    ref_rope(m, l, short_kv + m->kv_rank, pos, m->neighbours);
    for (int64_t h = 0; h < m->heads; h++) {
        double *kh = k + h * m->d;
        ref_rope(m, l, q + h * m->d + rest, pos, m->neighbours);
        for (int64_t i = 0; i < rest; i++) { /* k_b is stored transposed, a column for each channel */
            kh[i] = 0;
            for (int64_t j = 0; j < m->kv_rank; j++)
                kh[i] += l->k_b.w[(h * m->kv_rank + j) * rest + i] * short_kv[j];
            kh[i] *= l->k_b.scale ? l->k_b.scale[h] : 1;
        }
        memcpy(kh + rest, short_kv + m->kv_rank, (size_t)m->n_rot * sizeof *kh);
        ref_product(&l->v_b, h, short_kv, v + h * m->dv);
    }
}

/* Without a matrix for them values are the keys before their norm. */
static void keys_and_values(const ref_model *m, const layer *l, const double *u, double *k, double *v, int64_t pos)
{
    int64_t d = l->d;
    ref_product(&l->k, 0, u, k);
    ref_product(l->v.w ? &l->v : &l->k, 0, u, v);
    if (m->f.qk == WIDE_NORM)
        ref_rms(k, l->k_norm, k, l->kv_heads * d, m->eps);
    for (int64_t h = 0; h < l->kv_heads; h++) {
        turned(m, l, k + h * d, l->k_norm, h, pos);
        if (m->f.value_norm)
            ref_rms(v + h * d, NULL, v + h * d, d, m->eps);
    }
}

static void project(const ref_model *m, const layer *l, const double *u, double *q, double *k, double *v, int64_t pos)
{
    int64_t d = l->d, step = m->gated ? 2 * d : d;
    ref_product(&l->q, 0, u, q);
    if (m->f.qk == WIDE_NORM)
        ref_rms(q, l->q_norm, q, m->heads * d, m->eps);
    if (l->owner >= 0 && &m->layers[l->owner] == l)
        keys_and_values(m, l, u, k, v, pos);
    for (int64_t h = 0; h < m->heads; h++)
        turned(m, l, q + h * step, l->q_norm, h, pos);
}

void ref_attention_layer(const ref_model *m, const layer *l, layer_state *s, int64_t pos, const double *u, double *out,
                         double *t)
{
    int64_t d = l->d, group = m->heads / l->kv_heads, step = m->gated ? 2 * d : d;
    double *all = t, *o = all + m->heads * step, *p = o + m->heads * l->dv;
    double *k = s->k + pos * l->kv_heads * d, *v = s->v + pos * l->kv_heads * l->dv;
    double grown = 1 + m->temper * log(1 + floor(((double)pos + m->temper_offset) / m->temper_floor));
    if (m->f.mix)
        ref_choose(m, l, s, pos, u, u, o);
    if (m->f.latent)
        latent(m, l, s, u, all, k, v, o, pos);
    else
        project(m, l, u, all, k, v, pos);
    for (int64_t h = 0; h < m->heads; h++) {
        double *q = all + h * step, *gate = q + d;
        for (int64_t i = 0; i < d && m->temper > 0 && !(m->f.rope_rest && l->rotated); i++)
            q[i] *= grown;
        attend(m, l, q, s, h, h / group, pos, l->owner < 0 ? pos : pos + 1, p, o + h * l->dv);
        for (int64_t i = 0; i < d && m->gated; i++)
            o[h * d + i] *= ref_logistic(gate[i]);
    }
    ref_product(&l->out, 0, o, out);
}
