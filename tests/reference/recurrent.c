/* Gated delta net, selective scan and causal convolution, token by token. */
#include "config.h"

#include "ref.h"

#include <math.h>
#include <stdlib.h>

static int64_t integer(const ref_tensor *t, int64_t i0, int64_t i1)
{
    return (int64_t)t->data[ref_at4(t, i0, i1, 0, 0)];
}

/* Writes a state after the token that is `back` tokens before the last one.
 * rows: elements of the state of one (sequence, head). */
static void snapshot(const ref_tensor *state, const ref_tensor *dst, int64_t slots, int64_t seq, int64_t back,
                     int64_t h, const double *m, const double *mag)
{
    if (back >= slots || back >= dst->ne[0])
        return;
    int64_t row = ref_index((double)integer(dst, back, seq), state->ne[3]);
    if (row < 0)
        return;
    for (int64_t j = 0; j < state->ne[1]; j++)
        for (int64_t i = 0; i < state->ne[0]; i++) {
            int64_t at = ref_at4(state, i, j, h, row), n = j * state->ne[0] + i;
            state->data[at] = m[n];
            if (state->mag)
                state->mag[at] = mag[n];
            if (state->touched)
                state->touched[at] = 1;
        }
}

struct gdn {
    const ref_tensor *q, *k, *v, *g, *beta;
    ref_tensor *o;
    int64_t s, h, hk;       /* value head, key head */
    double *m, *a;          /* state [j][i] and its magnitude */
    double *kt, *qt, *decay; /* of one token */
};

/* One token of one value head. */
static void gdn_token(const struct gdn *x, int64_t t)
{
    int64_t s = x->s;
    double beta = x->beta->data[ref_at4(x->beta, x->h, t, 0, 0)];

    for (int64_t i = 0; i < s; i++) {
        x->kt[i] = x->k->data[ref_at4(x->k, i, x->hk, t, 0)];
        x->qt[i] = x->q->data[ref_at4(x->q, i, x->hk, t, 0)];
        x->decay[i] = exp(x->g->data[ref_at4(x->g, i % x->g->ne[0], x->h, t, 0)]);
    }
    for (int64_t j = 0; j < s; j++) {
        double *m = x->m + j * s, *a = x->a + j * s;
        double dot = 0, dot_mag = 0, out = 0, out_mag = 0;
        for (int64_t i = 0; i < s; i++) {
            m[i] *= x->decay[i];
            a[i] *= x->decay[i];
            dot += m[i] * x->kt[i];
            dot_mag += fabs(m[i] * x->kt[i]);
        }
        double v = x->v->data[ref_at4(x->v, j, x->h, t, 0)];
        double d = beta * (v - dot), d_mag = fabs(beta) * (fabs(v) + dot_mag);
        for (int64_t i = 0; i < s; i++) {
            m[i] += d * x->kt[i];
            a[i] += d_mag * fabs(x->kt[i]);
            out += m[i] * x->qt[i];
            out_mag += a[i] * fabs(x->qt[i]);
        }
        int64_t at = ref_at4(x->o, j, x->h, t, 0);
        x->o->data[at] = out / sqrt((double)s);
        x->o->mag[at] = out_mag / sqrt((double)s);
        x->o->touched[at] = 1;
    }
}

/* Tokens, which dimension `last` counts, that belong to no sequence give zeros. */
static void no_sequence(ref_tensor *o, int last, const ref_tensor *cu)
{
    const int64_t n = cu->ne[0] - 1, first = integer(cu, 0, 0), end = integer(cu, n, 0);
    for (int64_t t = 0; t < o->ne[last]; t++)
        for (int64_t i = 0; i < o->ne[0] && (t < first || t >= end); i++)
            for (int64_t h = 0; h < (last == 2 ? o->ne[1] : 1); h++) {
                const int64_t at = last == 2 ? ref_at4(o, i, h, t, 0) : ref_at4(o, i, t, 0, 0);
                o->data[at] = o->mag[at] = 0;
                o->touched[at] = 1;
            }
}

int ref_op_gated_delta_net(ref_call *c)
{
    ref_tensor *state = c->in[5];
    const ref_tensor *v = c->in[2], *src = c->in[6], *dst = c->in[7], *cu = c->in[8];
    int64_t s = v->ne[0], heads = v->ne[1], hk = c->in[0]->ne[1];
    struct gdn x = {c->in[0], c->in[1], v, c->in[3], c->in[4], &c->out[0], s, 0, 0, NULL, NULL, NULL, NULL, NULL};

    if (!hk || heads % hk || state->ne[0] != s || state->ne[1] != s || state->ne[2] != heads ||
        cu->ne[0] != src->ne[0] + 1)
        return -2;
    if (!ref_alloc(&c->out[0], v->ne, 3, true, true))
        return -1;
    c->n_out = 1;
    no_sequence(&c->out[0], 2, cu);
    x.m = calloc((size_t)(2 * s * s * src->ne[0] * heads + 3 * s + 1), sizeof *x.m);
    if (!x.m)
        return -1;
    /* Every source is read before any row is written. */
    double *base = x.m;
    for (int64_t b = 0; b < src->ne[0]; b++)
        for (int64_t h = 0; h < heads; h++, base += 2 * s * s) {
            int64_t row = ref_index((double)integer(src, b, 0), state->ne[3]);
            for (int64_t n = 0; row >= 0 && n < s * s; n++) {
                base[n] = state->data[ref_at4(state, n % s, n / s, h, row)];
                base[s * s + n] = fabs(base[n]);
            }
        }
    double *all = x.m;
    x.kt = base; /* behind the last state */
    x.qt = base + s;
    x.decay = base + 2 * s;
    base = all;
    for (int64_t b = 0; b < src->ne[0]; b++)
        for (int64_t h = 0; h < heads; h++, base += 2 * s * s) {
            int64_t first = integer(cu, b, 0), end = integer(cu, b + 1, 0);
            x.h = h;
            x.hk = c->ip[ENG_GDN_GROUPED] ? h / (heads / hk) : h % hk;
            x.m = base;
            x.a = base + s * s;
            for (int64_t t = first; t < end; t++) {
                gdn_token(&x, t);
                snapshot(state, dst, c->ip[ENG_GDN_SLOTS], b, end - 1 - t, h, x.m, x.a);
            }
        }
    free(all);
    return 0;
}

int ref_op_ssm_conv(ref_call *c)
{
    const ref_tensor *x = c->in[0], *w = c->in[1], *src = c->in[3], *dst = c->in[4], *cu = c->in[5];
    ref_tensor *state = c->in[2];
    int64_t d = w->ne[0], channels = x->ne[0];

    if (w->ne[1] != channels || state->ne[0] != d - 1 || state->ne[1] != channels || cu->ne[0] != src->ne[0] + 1)
        return -2;
    if (!ref_alloc(&c->out[0], x->ne, 2, true, true))
        return -1;
    c->n_out = 1;
    no_sequence(&c->out[0], 1, cu);
    double *before = calloc((size_t)(src->ne[0] * channels * d + 1), sizeof *before);
    if (!before)
        return -1;
    for (int64_t b = 0; b < src->ne[0]; b++) { /* all windows before any write */
        int64_t row = ref_index((double)integer(src, b, 0), state->ne[2]);
        for (int64_t h = 0; row >= 0 && h < channels; h++)
            for (int64_t j = 0; j < d - 1; j++)
                before[(b * channels + h) * d + j] = state->data[ref_at4(state, j, h, row, 0)];
    }
    for (int64_t b = 0; b < src->ne[0]; b++)
        for (int64_t h = 0; h < channels; h++) {
            double *win = before + (b * channels + h) * d;
            int64_t end = integer(cu, b + 1, 0);
            for (int64_t t = integer(cu, b, 0); t < end; t++) {
                double sum = 0, mag = 0;
                win[d - 1] = x->data[ref_at4(x, h, t, 0, 0)];
                for (int64_t j = 0; j < d; j++) {
                    double p = w->data[ref_at4(w, j, h, 0, 0)] * win[j];
                    sum += p;
                    mag += fabs(p);
                }
                int64_t at = ref_at4(&c->out[0], h, t, 0, 0);
                c->out[0].data[at] = sum;
                c->out[0].mag[at] = mag;
                c->out[0].touched[at] = 1;
                for (int64_t j = 0; j < d - 1; j++)
                    win[j] = win[j + 1];
                int64_t back = end - 1 - t, slots = c->ip[ENG_CONV_SLOTS];
                int64_t row =
                    back < slots && back < dst->ne[0] ? ref_index((double)integer(dst, back, b), state->ne[2]) : -1;
                for (int64_t j = 0; row >= 0 && j < d - 1; j++) {
                    int64_t to = ref_at4(state, j, h, row, 0);
                    state->data[to] = win[j];
                    if (state->mag)
                        state->mag[to] = fabs(win[j]);
                    if (state->touched)
                        state->touched[to] = 1;
                }
            }
        }
    free(before);
    return 0;
}

/* One token of one head: m[j][i] = exp(dt a) m + dt x b, o = m.c */
static void scan_token(const ref_call *c, int64_t h, int64_t t, double *m, double *mag)
{
    const ref_tensor *x = c->in[0], *a = c->in[2], *b = c->in[3], *read = c->in[4];
    int64_t n = b->ne[0], group = h / (x->ne[1] / b->ne[1]);
    double dt = c->in[1]->data[ref_at4(c->in[1], h, t, 0, 0)];

    for (int64_t j = 0; j < x->ne[0]; j++) {
        double in = dt * x->data[ref_at4(x, j, h, t, 0)], sum = 0, sum_mag = 0;
        for (int64_t i = 0; i < n; i++) {
            double exponent = dt * a->data[ref_at4(a, i % a->ne[0], h, 0, 0)], decay = exp(exponent);
            double add = in * b->data[ref_at4(b, i, group, t, 0)], r = read->data[ref_at4(read, i, group, t, 0)];
            /* the exponent is rounded once, which its size multiplies */
            mag[j * n + i] = decay * (mag[j * n + i] + fabs(m[j * n + i]) * fabs(exponent)) + fabs(add);
            m[j * n + i] = decay * m[j * n + i] + add;
            sum += m[j * n + i] * r;
            sum_mag += mag[j * n + i] * fabs(r);
        }
        int64_t at = ref_at4(&c->out[0], j, h, t, 0);
        c->out[0].data[at] = sum;
        c->out[0].mag[at] = sum_mag;
        c->out[0].touched[at] = 1;
    }
}

int ref_op_ssm_scan(ref_call *c)
{
    ref_tensor *state = c->in[5];
    const ref_tensor *x = c->in[0], *b = c->in[3], *src = c->in[6], *dst = c->in[7], *cu = c->in[8];
    int64_t p = x->ne[0], heads = x->ne[1], n = b->ne[0], size = n * p;

    if (!b->ne[1] || heads % b->ne[1] || state->ne[0] != n || state->ne[1] != p || state->ne[2] != heads ||
        cu->ne[0] != src->ne[0] + 1)
        return -2;
    if (!ref_alloc(&c->out[0], x->ne, 3, true, true))
        return -1;
    c->n_out = 1;
    no_sequence(&c->out[0], 2, cu);
    double *all = calloc((size_t)(2 * size * src->ne[0] * heads + 1), sizeof *all), *m = all;
    if (!all)
        return -1;
    /* Every source is read before any row is written. */
    for (int64_t s = 0; s < src->ne[0]; s++)
        for (int64_t h = 0; h < heads; h++, m += 2 * size) {
            int64_t row = ref_index((double)integer(src, s, 0), state->ne[3]);
            for (int64_t i = 0; row >= 0 && i < size; i++) {
                m[i] = state->data[ref_at4(state, i % n, i / n, h, row)];
                m[size + i] = fabs(m[i]);
            }
        }
    m = all;
    for (int64_t s = 0; s < src->ne[0]; s++)
        for (int64_t h = 0; h < heads; h++, m += 2 * size) {
            int64_t end = integer(cu, s + 1, 0);
            for (int64_t t = integer(cu, s, 0); t < end; t++) {
                scan_token(c, h, t, m, m + size);
                snapshot(state, dst, c->ip[ENG_SCAN_SLOTS], s, end - 1 - t, h, m, m + size);
            }
        }
    free(all);
    return 0;
}
