/*
 * The whole-model oracle: several streams of a token (hyper-connections, arXiv:2409.19606; their mixing balanced,
 * arXiv:2512.24880, equations 7 to 9, with the epsilons of the models' code).
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "model_impl.h"

void ref_streams_begin(const ref_model *m, const double *x, double *streams)
{
    for (int64_t i = 0; i < m->n_streams; i++)
        memcpy(streams + i * m->n_embd, x, (size_t)m->n_embd * sizeof *x);
}

/* The scratch: [to give], [from][to], what is said, the normed streams. */
int64_t ref_streams_scratch(const ref_model *m)
{
    int64_t n = m->n_streams;
    return n + n * n + n * (n + 2) + n * m->n_embd;
}

static void say(const ref_model *m, const matrix *says, const double *streams, double *said, double *normed)
{
    ref_rms(streams, NULL, normed, m->n_streams * m->n_embd, m->eps);
    ref_product(says, 0, normed, said);
}

static void collapse(const ref_model *m, const double *said, double scale, const double *base, const double *streams,
                     double *x)
{
    memset(x, 0, (size_t)m->n_embd * sizeof *x);
    for (int64_t i = 0; i < m->n_streams; i++)
        for (int64_t k = 0; k < m->n_embd; k++)
            x[k] += (ref_logistic(said[i] * scale + base[i]) + m->streams_eps) * streams[i * m->n_embd + k];
}

/* Rows or columns of a[n][n], by the steps from one to the next and within one. */
static void divide(double *a, int64_t n, int64_t outer, int64_t inner, double eps)
{
    for (int64_t i = 0; i < n; i++) {
        double sum = eps;
        for (int64_t j = 0; j < n; j++)
            sum += a[i * outer + j * inner];
        for (int64_t j = 0; j < n; j++)
            a[i * outer + j * inner] /= sum;
    }
}

static void balance(const ref_model *m, double *a)
{
    int64_t n = m->n_streams;
    for (int64_t i = 0; i < n; i++) {
        double most = -INFINITY, sum = 0;
        for (int64_t j = 0; j < n; j++)
            most = fmax(most, a[i * n + j]);
        for (int64_t j = 0; j < n; j++)
            sum += a[i * n + j] = exp(a[i * n + j] - most);
        for (int64_t j = 0; j < n; j++)
            a[i * n + j] = a[i * n + j] / sum + m->streams_eps;
    }
    for (int64_t round = 0; round < m->sinkhorn; round++) {
        if (round)
            divide(a, n, n, 1, m->streams_eps);
        divide(a, n, 1, n, m->streams_eps);
    }
}

void ref_streams_take(const ref_model *m, const layer *l, int which, const double *streams, double *x, double *t)
{
    int64_t n = m->n_streams;
    double *mixing = t + n, *said = mixing + n * n, *normed = said + n * (n + 2);
    const double *scale = l->streams[which].scale, *base = l->streams[which].base;
    say(m, &l->streams[which].says, streams, said, normed);
    for (int64_t i = 0; i < n; i++)
        t[i] = 2 * ref_logistic(said[n + i] * scale[1] + base[n + i]);
    for (int64_t i = 0; i < n * n; i++)
        mixing[i] = said[2 * n + i] * scale[2] + base[2 * n + i];
    balance(m, mixing);
    collapse(m, said, scale[0], base, streams, x);
}

void ref_streams_give(const ref_model *m, double *streams, const double *out, double *t)
{
    int64_t n = m->n_streams, e = m->n_embd;
    double *mixing = t + n, *old = mixing + n * n;
    for (int64_t k = 0; k < e; k++) {
        for (int64_t i = 0; i < n; i++)
            old[i] = streams[i * e + k];
        for (int64_t to = 0; to < n; to++) {
            streams[to * e + k] = t[to] * out[k];
            for (int64_t from = 0; from < n; from++)
                streams[to * e + k] += mixing[from * n + to] * old[from];
        }
    }
}

void ref_streams_end(const ref_model *m, const double *streams, double *x, double *t)
{
    int64_t n = m->n_streams, e = m->n_embd;
    if (m->streams_out.w) {
        say(m, &m->streams_out, streams, t, t + n);
        collapse(m, t, m->streams_out_scale[0], m->streams_out_base, streams, x);
        return;
    }
    memset(x, 0, (size_t)e * sizeof *x);
    for (int64_t i = 0; i < n * e; i++)
        x[i % e] += streams[i] / (double)n;
}
