/* What each layer of a model is. */
#include "config.h"

#include "model_impl.h"

/* Layers of different kinds, as the keys say. */
int model_is_local(const model *m, int64_t layer)
{
    int64_t period = m->period ? m->period : 6;
    return m->window && layer % period < period - 1;
}

int64_t model_head(const model *m, int64_t layer)
{
    return m->local_head && model_is_local(m, layer) ? m->local_head : m->head;
}

int64_t model_kv_heads(const model *m, int64_t layer)
{
    if (is(m, ARCH_CONV | ARCH_KDA) && (layer + 1) % m->interval != 0)
        return 0;
    if (is(m, ARCH_KDA)) /* all of them see one short vector */
        return 1;
    return m->full_kv_heads && !model_is_local(m, layer) ? m->full_kv_heads : m->kv_heads;
}

int model_keeps(const model *m, int64_t layer)
{
    return layer < m->layers - m->shared_caches || layer >= m->layers; /* those for drafting do */
}

int64_t model_ffn(const model *m, int64_t layer)
{
    return m->wide_shared && !model_keeps(m, layer) ? 2 * m->ffn : m->ffn;
}

/* Without entries, with those that an indexer chooses of, with those that all are seen, by turns. */
int64_t model_ratio(const model *m, int64_t layer)
{
    return layer % 3 == 0 ? 0 : layer % 3 == 1 ? m->ratio : m->long_ratio;
}

/* Layers of models that scan: every `interval`-th mixer attends, unless nothing does. */
int64_t model_scan_kv_heads(const model *m, int64_t layer)
{
    int64_t mixer = is(m, ARCH_EITHER) ? layer / 2 : layer;

    if (is(m, ARCH_BOTH))
        return m->kv_heads;
    return (is(m, ARCH_EITHER) && layer % 2) || (mixer + 1) % m->interval ? 0 : m->kv_heads;
}

int64_t model_scan_ffn(const model *m, int64_t layer)
{
    return layer % 2 ? m->ffn : 0;
}

/* The first recurrent layer, but not the first of all, that takes rows of the table of n-grams. */
int64_t model_ngram_layer(const model *m)
{
    for (int64_t i = m->layers > 2; i < m->layers && m->ngrams; i++)
        if ((i + 1) % m->interval)
            return i;
    return -1;
}

/* Of head i of the table. */
int64_t model_ngram_size(int64_t i)
{
    return 41 + 6 * i;
}

int64_t model_ngram_offset(int64_t i)
{
    int64_t at = 0;

    for (int64_t k = 0; k < i; k++)
        at += model_ngram_size(k);
    return at;
}
