/* The whole-model oracle: several hidden states of a token (AltUp, arXiv:2301.13310, as Gemma 3n's code has it). */
#include "config.h"

#include <math.h>
#include <string.h>

#include "model_impl.h"

static double mean_square(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sum / (double)n;
}

static void as_large(double *x, double target, int64_t n)
{
    double own = sqrt(fmax(mean_square(x, n), 1e-5));
    for (int64_t i = 0; i < n; i++)
        x[i] *= target / own;
}

void ref_states_begin(const ref_model *m, const double *x, double *states)
{
    int64_t e = m->n_embd;
    double size = sqrt(mean_square(x, e));
    memcpy(states, x, (size_t)e * sizeof *x);
    for (int64_t i = 1; i < m->n_states; i++) {
        ref_product(&m->states_begin, i - 1, x, states + i * e);
        as_large(states + i * e, size, e);
    }
}

void ref_states_end(const ref_model *m, double *states, double *x, double *t)
{
    int64_t e = m->n_embd, n = m->n_states;
    double size = sqrt(mean_square(states, e));
    memcpy(x, states, (size_t)e * sizeof *x);
    for (int64_t i = 1; i < n; i++) {
        ref_product(&m->states_end, i - 1, states + i * e, t);
        as_large(t, size, e);
        for (int64_t j = 0; j < e; j++)
            x[j] += t[j];
    }
    for (int64_t j = 0; j < e; j++)
        x[j] /= (double)n;
}

/* What the token's router says: [n_states] at t. */
static void route(const ref_model *m, const layer *l, const double *x, double *t)
{
    double *normed = t + m->n_states;
    ref_rms(x, l->states_norm, normed, m->n_embd, m->eps);
    for (int64_t j = 0; j < m->n_embd; j++)
        normed[j] /= (double)m->n_embd;
    ref_product(&l->router_of_states, 0, normed, t);
    for (int64_t i = 0; i < m->n_states; i++)
        t[i] = tanh(t[i]);
}

int64_t ref_states_scratch(const ref_model *m)
{
    return m->n_states * (m->n_embd + m->n_states + 2) + m->n_embd;
}

void ref_states_predict(const ref_model *m, const layer *l, double *states, double *t)
{
    int64_t e = m->n_embd, n = m->n_states;
    double *c = t + n + e, *old = c + n * n;
    route(m, l, states + m->active * e, t);
    ref_product(&l->predict, 0, t, c);
    for (int64_t k = 0; k < e; k++) {
        for (int64_t i = 0; i < n; i++)
            old[i] = states[i * e + k];
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                states[i * e + k] += c[i * n + j] * old[j];
    }
}

void ref_states_correct(const ref_model *m, const layer *l, double *states, const double *x, double *t)
{
    int64_t e = m->n_embd, n = m->n_states;
    double *c = t + n + e;
    route(m, l, x, t);
    ref_product(&l->correct, 0, t, c);
    for (int64_t k = 0; k < e; k++) {
        double wrong = x[k] - states[m->active * e + k];
        for (int64_t i = 0; i < n; i++)
            states[i * e + k] += (c[i] + 1) * wrong;
    }
}
