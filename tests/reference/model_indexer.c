/*
 * The whole-model oracle: which tokens attention sees (DeepSeek-AI, arXiv:2512.02556, equations 1 and 2).  The scores
 * are written out with all their factors; seen is a token that has fewer before it than may be chosen.
 */
#include "config.h"

#include <math.h>

#include "model_impl.h"

int64_t ref_indexer_scratch(const ref_model *m, int64_t length)
{
    return m->index_heads * (m->d_index + 1) + length + m->d_index;
}

/* The key: normed with its mean taken off. */
static void make_key(const ref_model *m, const layer *l, const double *u, double *k, int64_t pos)
{
    double mean = 0, square = 0;
    ref_product(&l->index_k, 0, u, k);
    for (int64_t i = 0; i < m->d_index; i++)
        mean += k[i] / (double)m->d_index;
    for (int64_t i = 0; i < m->d_index; i++)
        square += (k[i] - mean) * (k[i] - mean) / (double)m->d_index;
    for (int64_t i = 0; i < m->d_index; i++)
        k[i] = (k[i] - mean) / sqrt(square + 1e-6) * l->index_norm[i] + l->index_norm_bias[i];
    if (m->n_rot)
        ref_rope(m, l, k, pos, m->f.index_neighbours);
}

static double score(const ref_model *m, const double *q, const double *weights, const double *k)
{
    double sum = 0;
    for (int64_t h = 0; h < m->index_heads; h++) {
        double product = 0;
        for (int64_t i = 0; i < m->d_index; i++)
            product += q[h * m->d_index + i] * k[i];
        sum += weights[h] / sqrt((double)m->index_heads) * fmax(0, product / sqrt((double)m->d_index));
    }
    return sum;
}

/* The key of pool p: of each channel the mean over its tokens, by the softmax of what they and their places say. */
static void pool_key(const ref_model *m, const layer *l, const layer_state *s, int64_t p, double *key)
{
    int64_t d = m->d_index;
    for (int64_t i = 0; i < d; i++) {
        double most = -INFINITY, sum = 0, product = 0;
        for (int64_t j = 0; j < m->pool; j++)
            most = fmax(most, s->index_gate[(p * m->pool + j) * d + i] + l->pool_places[j * d + i]);
        for (int64_t j = 0; j < m->pool; j++) {
            double w = exp(s->index_gate[(p * m->pool + j) * d + i] + l->pool_places[j * d + i] - most);
            sum += w;
            product += w * s->index_k[(p * m->pool + j) * d + i];
        }
        key[i] = product / sum;
    }
}

/* Or the mean of its tokens', normed, and turned by its first one's place. */
static void mean_key(const ref_model *m, const layer *l, const layer_state *s, int64_t p, double *key)
{
    int64_t d = m->d_index;
    for (int64_t i = 0; i < d; i++) {
        key[i] = 0;
        for (int64_t j = 0; j < m->pool; j++)
            key[i] += s->index_k[(p * m->pool + j) * d + i] / (double)m->pool;
    }
    ref_rms(key, l->index_norm, key, d, m->eps);
    ref_rope(m, l, key, p * m->pool, false);
}

/* Of full pools the best, and what is behind them. */
static void choose_pools(const ref_model *m, const layer *l, layer_state *s, int64_t pos, const double *q,
                         const double *weights, double *scores)
{
    int64_t full = (pos + 1) / m->pool, top = m->top_cells / m->pool;
    double *key = scores + pos + 1;
    for (int64_t p = 0; p < full; p++) {
        if (m->f.mix)
            mean_key(m, l, s, p, key);
        else
            pool_key(m, l, s, p, key);
        scores[p] = score(m, q, weights, key);
    }
    for (int64_t j = 0; j <= pos; j++) {
        int64_t p = j / m->pool, better = 0;
        for (int64_t i = 0; i < full && p < full; i++)
            better += scores[i] > scores[p];
        s->seen[j] = better < top;
    }
}

void ref_choose(const ref_model *m, const layer *l, layer_state *s, int64_t pos, const double *u, const double *short_q,
                double *t)
{
    double *q = t, *weights = q + m->index_heads * m->d_index, *scores = weights + m->index_heads;
    if (m->f.mix) { /* all heads count as much */
        ref_product(&l->index_k, 0, u, s->index_k + pos * m->d_index);
        ref_product(&l->index_q, 0, u, q);
        for (int64_t h = 0; h < m->index_heads; h++) {
            ref_rms(q + h * m->d_index, l->index_q_norm, q + h * m->d_index, m->d_index, m->eps);
            ref_rope(m, l, q + h * m->d_index, pos, false);
            weights[h] = 1;
        }
        choose_pools(m, l, s, pos, q, weights, scores);
        return;
    }
    make_key(m, l, u, s->index_k + pos * m->d_index, pos);
    ref_product(&l->index_q, 0, short_q, q);
    ref_product(&l->index_weights, 0, u, weights);
    for (int64_t h = 0; h < m->index_heads && m->n_rot; h++)
        ref_rope(m, l, q + h * m->d_index, pos, m->f.index_neighbours);
    if (m->f.pools) {
        ref_product(&l->pool_gate, 0, u, s->index_gate + pos * m->d_index);
        choose_pools(m, l, s, pos, q, weights, scores);
        return;
    }
    for (int64_t j = 0; j <= pos; j++)
        scores[j] = score(m, q, weights, s->index_k + j * m->d_index);
    for (int64_t j = 0; j <= pos; j++) {
        int64_t better = 0;
        for (int64_t i = 0; i <= pos; i++)
            better += scores[i] > scores[j];
        s->seen[j] = better < m->top_cells;
    }
}
