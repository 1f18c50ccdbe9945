/* The whole-model oracle: layers of the gated delta rule (arXiv:2412.06464), short convolutions. */
#include "config.h"

#include <math.h>

#include "model_impl.h"

/* As the models' own code has it: what is tiny stays shorter than 1. */
static void unit_length(double *x, int64_t n)
{
    double sum = 1e-6;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    for (int64_t i = 0; i < n; i++)
        x[i] /= sqrt(sum);
}

int64_t ref_channels(const ref_model *m)
{
    if (m->f.each)
        return m->v_heads;
    if (m->f.scans)
        return m->v_heads * m->d_scan + 2 * m->k_heads * m->size;
    return m->f.headless ? m->n_embd : (2 * m->k_heads + m->v_heads) * m->size;
}

/* The short convolution: qkv is replaced. */
static void convolve(const ref_model *m, const layer *l, layer_state *s, double *qkv, int64_t channels)
{
    int64_t taps = m->taps;
    for (int64_t c = 0; c < channels; c++) {
        double now = qkv[c], sum = l->conv[c * taps + taps - 1] * now;
        for (int64_t j = 0; j + 1 < taps; j++)
            sum += l->conv[c * taps + j] * s->window[j * channels + c];
        for (int64_t j = 0; j + 2 < taps; j++)
            s->window[j * channels + c] = s->window[(j + 1) * channels + c];
        s->window[(taps - 2) * channels + c] = now;
        qkv[c] = sum;
    }
}

/* Gate, convolution, gate; the second gate is the second of the three that the token makes. */
static void short_conv(const ref_model *m, const layer *l, layer_state *s, const double *u, double *out, double *t)
{
    int64_t e = m->n_embd;
    ref_product(&l->conv_in, 0, u, t);
    for (int64_t i = 0; i < e; i++)
        t[i] *= t[2 * e + i];
    convolve(m, l, s, t, e);
    for (int64_t i = 0; i < e; i++)
        t[i] *= t[e + i];
    ref_product(&l->conv_out, 0, t, out);
}

/* g: of each channel of the key. */
static void delta_rule(double *state, int64_t n, const double *q, const double *k, const double *v, const double *g,
                       double beta, double *o)
{
    for (int64_t j = 0; j < n; j++) { /* column j: the value's channel */
        double got = 0, sum = 0;
        for (int64_t i = 0; i < n; i++) {
            state[i * n + j] *= exp(g[i]);
            got += k[i] * state[i * n + j];
        }
        double change = beta * (v[j] - got);
        for (int64_t i = 0; i < n; i++) {
            state[i * n + j] += k[i] * change;
            sum += q[i] / sqrt((double)n) * state[i * n + j];
        }
        o[j] = sum;
    }
}

static double softplus(double x)
{
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

/* Kimi Delta Attention (arXiv:2510.26692, section 4): each channel of a key forgets by itself, as a projection of low
 * rank says, and another, through a logistic function, lets the normed results out. */
static void kimi_delta_attention(const ref_model *m, const layer *l, layer_state *s, const double *u, double *out,
                                 double *t)
{
    int64_t n = m->size, heads = m->heads, all = heads * n;
    double *qkv = t, *g = qkv + 3 * all, *z = g + all, *o = z + all, *beta = o + all, *low = beta + heads;
    ref_product(&l->q, 0, u, qkv);
    ref_product(&l->k, 0, u, qkv + all);
    ref_product(&l->v, 0, u, qkv + 2 * all);
    convolve(m, l, s, qkv, 3 * all);
    for (int64_t i = 0; i < 3 * all; i++)
        qkv[i] *= ref_logistic(qkv[i]);
    for (int64_t h = 0; h < 2 * heads; h++)
        unit_length(qkv + h * n, n);
    ref_product(&l->forget_a, 0, u, low);
    ref_product(&l->forget_b, 0, low, g);
    for (int64_t i = 0; i < all; i++)
        g[i] = m->forget_least < 0 ? m->forget_least * ref_logistic(-l->a[i / n] * (g[i] + l->dt[i])) :
                                     l->a[i / n] * softplus(g[i] + l->dt[i]);
    ref_product(&l->beta, 0, u, beta);
    ref_product(&l->gate_a, 0, u, low);
    ref_product(&l->gate_b, 0, low, z);
    for (int64_t h = 0; h < heads; h++) {
        double *p = o + h * n;
        delta_rule(s->m + h * n * n, n, qkv + h * n, qkv + all + h * n, qkv + 2 * all + h * n, g + h * n,
                   ref_logistic(beta[h]), p);
        ref_rms(p, l->gdn_norm, p, n, m->eps);
        for (int64_t i = 0; i < n; i++)
            p[i] *= ref_logistic(z[h * n + i]);
    }
    ref_product(&l->gdn_out, 0, o, out);
}

int64_t ref_recurrent_scratch(const ref_model *m)
{
    return (2 * m->k_heads + 5 * m->v_heads + 2) * m->size + 2 * m->v_heads + (m->f.headless ? 3 * m->n_embd : 0);
}

void ref_recurrent_layer(const ref_model *m, const layer *l, layer_state *s, const double *u, double *out, double *t)
{
    int64_t n = m->size, kh = m->k_heads, vh = m->v_heads, channels = (2 * kh + vh) * n;
    double *qkv = t, *z = qkv + channels, *o = z + vh * n, *beta = o + vh * n, *alpha = beta + vh, *g = alpha + vh;
    if (m->f.kda) {
        kimi_delta_attention(m, l, s, u, out, t);
        return;
    }
    if (l->conv_in.w) {
        short_conv(m, l, s, u, out, t);
        return;
    }
    ref_product(&l->qkv, 0, u, qkv);
    ref_product(&l->z, 0, u, z);
    if (l->ba.w) {
        ref_product(&l->ba, 0, u, o);
        for (int64_t h = 0; h < vh; h++) { /* of each key head first beta, then alpha */
            int64_t r = vh / kh, at = h / r * 2 * r + h % r;
            beta[h] = o[at];
            alpha[h] = o[at + r];
        }
    } else {
        ref_product(&l->beta, 0, u, beta);
        ref_product(&l->alpha, 0, u, alpha);
    }
    convolve(m, l, s, qkv, channels);
    for (int64_t i = 0; i < channels; i++)
        qkv[i] *= ref_logistic(qkv[i]);
    for (int64_t h = 0; h < 2 * kh; h++)
        unit_length(qkv + h * n, n);
    for (int64_t h = 0; h < vh; h++) {
        for (int64_t i = 0; i < n; i++)
            g[i] = l->a[h] * softplus(alpha[h] + l->dt[h]);
        int64_t key = m->f.grouped ? h / (vh / kh) : h % kh;
        delta_rule(s->m + h * n * n, n, qkv + key * n, qkv + (kh + key) * n, qkv + (2 * kh + h) * n, g,
                   ref_logistic(beta[h]), o + h * n);
        ref_rms(o + h * n, l->gdn_norm, o + h * n, n, m->eps);
        for (int64_t i = 0; i < n; i++)
            o[h * n + i] *= (m->f.mix ? 1 : z[h * n + i]) * ref_logistic(z[h * n + i]);
    }
    ref_product(&l->gdn_out, 0, o, out);
}
