/*
 * The whole-model oracle: attention to a window of tokens and to entries of several (DeepSeek-AI, DeepSeek-V4, section
 * 2.3, and the models' code).  Entries are made anew for each query of what their tokens said; nothing is kept of
 * them.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "model_impl.h"

/* Queries, results, the short vectors, one entry, an indexer's, scores of entries and of all that is seen. */
int64_t ref_compressed_scratch(const ref_model *m, int64_t length)
{
    if (!m->f.compressed)
        return 0;
    return 2 * m->heads * m->d + m->q_rank + m->out_groups * m->out_rank + m->d_index * (m->index_heads + 1) +
           m->index_heads + length * (m->d + 3) + 16;
}

/* The last channels are turned. */
static void turn(const ref_model *m, const layer *l, double *x, int64_t d, int64_t pos)
{
    ref_rope(m, l, x + d - m->n_rot, pos, true);
}

/* What token j gives channel c of entry w, and how much it says that counts: of the entry before by the first
 * channels. */
static double part(const layer *l, const double *raw, int64_t d, const double *places, int64_t w, int64_t j, int64_t c,
                   double *value)
{
    int64_t parts = l->chooses ? 2 : 1, at = l->chooses && j / l->ratio == w ? d + c : c;
    *value = raw[j * 2 * parts * d + at];
    return raw[j * 2 * parts * d + parts * d + at] + places[j % l->ratio * parts * d + at];
}

static void entry(const ref_model *m, const layer *l, const double *raw, int64_t d, const double *places,
                  const double *norm, int64_t w, double *y)
{
    int64_t first = (l->chooses && w > 0 ? w - 1 : w) * l->ratio, end = (w + 1) * l->ratio;
    for (int64_t c = 0; c < d; c++) {
        double most = -INFINITY, sum = 0, value;
        for (int64_t j = first; j < end; j++)
            most = fmax(most, part(l, raw, d, places, w, j, c, &value));
        y[c] = 0;
        for (int64_t j = first; j < end; j++) {
            double p = exp(part(l, raw, d, places, w, j, c, &value) - most);
            y[c] += p * value;
            sum += p;
        }
        y[c] /= sum;
    }
    ref_rms(y, norm, y, d, m->eps);
    turn(m, l, y, d, w * l->ratio);
}

/* seen[w]: is entry w one of the best? */
static void choose(const ref_model *m, const layer *l, layer_state *s, int64_t pos, int64_t n, const double *u,
                   const double *short_q, double *seen, double *t)
{
    int64_t d = m->d_index;
    double *q = t, *weights = q + m->index_heads * d, *key = weights + m->index_heads, *scores = key + d;
    ref_product(&l->index_q, 0, short_q, q);
    ref_product(&l->index_weights, 0, u, weights);
    for (int64_t h = 0; h < m->index_heads; h++)
        turn(m, l, q + h * d, d, pos);
    for (int64_t w = 0; w < n; w++) {
        entry(m, l, s->index_raw, d, l->index_entry.places, l->index_entry.norm, w, key);
        scores[w] = 0;
        for (int64_t h = 0; h < m->index_heads; h++) {
            double product = 0;
            for (int64_t i = 0; i < d; i++)
                product += q[h * d + i] * key[i];
            scores[w] += weights[h] / sqrt((double)m->index_heads) * fmax(0, product) / sqrt((double)d);
        }
    }
    for (int64_t w = 0; w < n; w++) {
        int64_t better = 0;
        for (int64_t i = 0; i < n; i++)
            better += scores[i] > scores[w];
        seen[w] = better < m->top_entries;
    }
}

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* A head: its sink, the tokens first .. pos, the entries seen. */
static void attend(const ref_model *m, const layer *l, const layer_state *s, int64_t h, int64_t pos, const double *q,
                   const double *entries, const double *seen, int64_t n, double *p, double *o)
{
    int64_t d = m->d, first = pos - l->window + 1 > 0 ? pos - l->window + 1 : 0, count = pos + 1 - first;
    double most = l->sinks[h], sum;
    for (int64_t i = 0; i < count + n; i++) {
        const double *k = i < count ? s->k + (first + i) * d : entries + (i - count) * d;
        p[i] = i < count || seen[i - count] > 0 ? dot(q, k, d) / sqrt((double)d) : -INFINITY;
        most = fmax(most, p[i]);
    }
    sum = exp(l->sinks[h] - most);
    for (int64_t i = 0; i < count + n; i++)
        sum += p[i] = exp(p[i] - most);
    memset(o, 0, (size_t)d * sizeof *o);
    for (int64_t i = 0; i < count + n; i++)
        for (int64_t c = 0; c < d; c++)
            o[c] += p[i] / sum * (i < count ? s->k + (first + i) * d : entries + (i - count) * d)[c];
    turn(m, l, o, d, -pos);
}

/* What the token says for the entries that it will be a part of. */
static void say(const layer *l, layer_state *s, int64_t pos, const double *u)
{
    int64_t width = l->entry.kv.m;
    ref_product(&l->entry.kv, 0, u, s->raw + pos * 2 * width);
    ref_product(&l->entry.gate, 0, u, s->raw + pos * 2 * width + width);
    if (!l->chooses)
        return;
    width = l->index_entry.kv.m;
    ref_product(&l->index_entry.kv, 0, u, s->index_raw + pos * 2 * width);
    ref_product(&l->index_entry.gate, 0, u, s->index_raw + pos * 2 * width + width);
}

void ref_compressed_layer(const ref_model *m, const layer *l, layer_state *s, int64_t pos, const double *u, double *out,
                          double *t)
{
    int64_t d = m->d, n = l->ratio ? (pos + 1) / l->ratio : 0, in = l->out_a.k;
    double *q = t, *o = q + m->heads * d, *short_q = o + m->heads * d, *mid = short_q + m->q_rank;
    double *seen = mid + m->out_groups * m->out_rank, *entries = seen + n, *p = entries + n * d;
    ref_product(&l->q_a, 0, u, short_q);
    ref_rms(short_q, l->q_a_norm, short_q, m->q_rank, m->eps);
    ref_product(&l->q, 0, short_q, q);
    ref_product(&l->k, 0, u, s->k + pos * d);
    ref_rms(s->k + pos * d, l->k_norm, s->k + pos * d, d, m->eps);
    turn(m, l, s->k + pos * d, d, pos);
    if (l->ratio)
        say(l, s, pos, u);
    for (int64_t w = 0; w < n; w++) {
        entry(m, l, s->raw, d, l->entry.places, l->entry.norm, w, entries + w * d);
        seen[w] = 1;
    }
    if (l->chooses)
        choose(m, l, s, pos, n, u, short_q, seen, p);
    for (int64_t h = 0; h < m->heads; h++) {
        ref_rms(q + h * d, NULL, q + h * d, d, m->eps);
        turn(m, l, q + h * d, d, pos);
        attend(m, l, s, h, pos, q + h * d, entries, seen, n, p, o + h * d);
    }
    for (int64_t g = 0; g < m->out_groups; g++) {
        matrix one = {l->out_a.w + g * m->out_rank * in, l->out_a.scale, NULL, in, m->out_rank};
        ref_product(&one, 0, o + g * in, mid + g * m->out_rank);
    }
    ref_product(&l->out, 0, mid, out);
}
