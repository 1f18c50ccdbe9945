/*
 * The whole-model oracle: which tokens attention sees (DeepSeek-AI, arXiv:2512.02556, equations 1 and 2).  The scores
 * are written out with all their factors; seen is a token that has fewer before it than may be chosen.
 */
#include "config.h"

#include <math.h>

#include "model_impl.h"

int64_t ref_indexer_scratch(const ref_model *m, int64_t length)
{
    return m->index_heads * (m->d_index + 1) + length;
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

void ref_choose(const ref_model *m, const layer *l, layer_state *s, int64_t pos, const double *u, const double *short_q,
                double *t)
{
    double *q = t, *weights = q + m->index_heads * m->d_index, *scores = weights + m->index_heads;
    make_key(m, l, u, s->index_k + pos * m->d_index, pos);
    ref_product(&l->index_q, 0, short_q, q);
    ref_product(&l->index_weights, 0, u, weights);
    for (int64_t h = 0; h < m->index_heads; h++)
        ref_rope(m, l, q + h * m->d_index, pos, m->f.index_neighbours);
    for (int64_t j = 0; j <= pos; j++)
        scores[j] = score(m, q, weights, s->index_k + j * m->d_index);
    for (int64_t j = 0; j <= pos; j++) {
        int64_t better = 0;
        for (int64_t i = 0; i <= pos; i++)
            better += scores[i] > scores[j];
        s->seen[j] = better < m->top_cells;
    }
}
