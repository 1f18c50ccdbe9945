/*
 * The whole-model oracle: layers of the selective scan, as Mamba-2's own code has them (arXiv:2405.21060, section 7):
 * gated before the norm, the norm by groups; and as Mamba's has them.
 */
#include "config.h"

#include <math.h>

#include "model_impl.h"

int64_t ref_state_size(const ref_model *m)
{
    return m->v_heads * m->size * (m->f.scans ? m->d_scan : m->size);
}

int64_t ref_scan_scratch(const ref_model *m)
{
    return 3 * m->v_heads * m->d_scan + 2 * m->k_heads * m->size + m->v_heads + m->d_step;
}

/* The short convolution over the last inputs, its bias and its activation. */
static void convolve(const ref_model *m, const layer *l, layer_state *s, double *x)
{
    int64_t taps = m->taps, channels = ref_channels(m);
    for (int64_t c = 0; c < channels; c++) {
        double sum = l->conv[c * taps + taps - 1] * x[c] + (l->conv_bias ? l->conv_bias[c] : 0);
        for (int64_t j = 0; j + 1 < taps; j++)
            sum += l->conv[c * taps + j] * s->window[j * channels + c];
        for (int64_t j = 0; j + 2 < taps; j++)
            s->window[j * channels + c] = s->window[(j + 1) * channels + c];
        s->window[(taps - 2) * channels + c] = x[c];
        x[c] = sum * ref_logistic(sum);
    }
}

static double softplus(double r)
{
    return r > 0 ? r + log1p(exp(-r)) : log1p(exp(r));
}

/* Mamba's (arXiv:2312.00752, algorithm 2): each channel by itself, each state with a rate of its own. */
static void channel_scan(const ref_model *m, const layer *l, layer_state *s, const double *u, double *out, double *t)
{
    int64_t h = m->v_heads, n = m->size, r = m->d_step;
    double *x = t, *z = x + h, *steps = z + h, *b = steps + r, *c = b + n, *dt = c + n, *o = dt + h;
    ref_product(&l->scan_in, 0, u, t);
    convolve(m, l, s, x);
    ref_product(&l->scan_x, 0, x, steps);
    if (m->normed_scan) {
        ref_rms(steps, NULL, steps, r, 1e-6);
        ref_rms(b, NULL, b, n, 1e-6);
        ref_rms(c, NULL, c, n, 1e-6);
    }
    ref_product(&l->scan_dt, 0, steps, dt);
    for (int64_t j = 0; j < h; j++) {
        double *state = s->m + j * n, sum = l->skip[j] * x[j], step = softplus(dt[j]);
        for (int64_t i = 0; i < n; i++) {
            state[i] = exp(step * l->a[j * n + i]) * state[i] + step * x[j] * b[i];
            sum += state[i] * c[i];
        }
        o[j] = sum * z[j] * ref_logistic(z[j]);
    }
    ref_product(&l->gdn_out, 0, o, out);
}

void ref_scan_layer(const ref_model *m, const layer *l, layer_state *s, const double *u, double *out, double *t)
{
    int64_t p = m->d_scan, n = m->size, inner = m->v_heads * p, g = m->k_heads;
    double *z = t, *x = z + inner, *b = x + inner, *c = b + g * n, *dt = c + g * n, *o = dt + m->v_heads;
    if (m->f.each) {
        channel_scan(m, l, s, u, out, t);
        return;
    }
    ref_product(&l->scan_in, 0, u, t);
    convolve(m, l, s, x);
    for (int64_t h = 0; h < m->v_heads; h++) {
        const double *in = b + h / (m->v_heads / g) * n, *read = c + h / (m->v_heads / g) * n;
        double step = softplus(dt[h] + l->dt[h]), decay = exp(step * l->a[h]);
        for (int64_t j = h * p; j < (h + 1) * p; j++) {
            double *state = s->m + j * n, sum = l->skip[h] * x[j];
            for (int64_t i = 0; i < n; i++) {
                state[i] = decay * state[i] + step * x[j] * in[i];
                sum += state[i] * read[i];
            }
            o[j] = sum * z[j] * ref_logistic(z[j]);
        }
    }
    for (int64_t k = 0; k < g && l->gdn_norm; k++)
        ref_rms(o + k * (inner / g), l->gdn_norm + k * (inner / g), o + k * (inner / g), inner / g, m->eps);
    ref_product(&l->gdn_out, 0, o, out);
}
