/* What the files that make random models (model_*.c) share. */
#ifndef TESTS_TOOLS_MODEL_IMPL_H
#define TESTS_TOOLS_MODEL_IMPL_H

#include <math.h>
#include <stdint.h>

#include "model.h"

/* -- what a layer is -------------------------------------------------------------------- */

static inline int is(const model *m, uint64_t flags)
{
    return (m->a->flags & flags) != 0;
}

static inline int hybrid(const model *m)
{
    return is(m, ARCH_HYBRID);
}

int model_is_local(const model *m, int64_t layer);
int64_t model_head(const model *m, int64_t layer);
int64_t model_kv_heads(const model *m, int64_t layer);
int model_keeps(const model *m, int64_t layer); /* the keys and values of its tokens */
int64_t model_ffn(const model *m, int64_t layer);
/* Tokens of an entry that is seen in their place; 0: none are. */
int64_t model_ratio(const model *m, int64_t layer);
/* Of models that scan; 0: none. */
int64_t model_scan_kv_heads(const model *m, int64_t layer);
int64_t model_scan_ffn(const model *m, int64_t layer);
/* The layer that takes rows of the table of n-grams, or -1; rows of head i of the table, and where they begin. */
int64_t model_ngram_layer(const model *m);
int64_t model_ngram_size(int64_t i);
int64_t model_ngram_offset(int64_t i);

/* -- adding to the list ------------------------------------------------------------------ */

/* n1 and n2 0: fewer dimensions.  Failures show as a list without memory. */
void model_append(model *m, int64_t layer, const char *name, class kind, fill how, double gain, int64_t n0, int64_t n1,
                  int64_t n2);
/* Also the factor of a matrix, one an expert, if files of that kind are wanted. */
void model_add(model *m, int64_t layer, const char *name, class kind, fill how, double gain, int64_t n0, int64_t n1,
               int64_t n2);

static inline void add_norm(model *m, int64_t layer, const char *name, int64_t n)
{
    model_add(m, layer, name, CLASS_F32, FILL_NORM, 1, n, 0, 0);
}

static inline void add_matrix(model *m, int64_t layer, const char *name, class kind, double gain, int64_t n0,
                              int64_t n1)
{
    model_add(m, layer, name, kind, FILL_NORMAL, gain, n0, n1, 0);
}

static inline void add_bias(model *m, int64_t layer, const char *name, int64_t n)
{
    model_add(m, layer, name, CLASS_F32, FILL_BIAS, 1, n, 0, 0);
}

/* What is added to the residual stream is small, so that depth does not matter. */
static inline double residual_gain(const model *m)
{
    return 1 / sqrt(2.0 * (double)(m->layers + m->mtp));
}

/* -- what a layer has ---------------------------------------------------------------------- */

void model_add_attention(model *m, int64_t layer);
void model_add_short_conv(model *m, int64_t layer);
void model_add_kda(model *m, int64_t layer);
void model_add_recurrent(model *m, int64_t layer);
void model_add_channel_scan(model *m, int64_t layer);
void model_add_scan(model *m, int64_t layer);
void model_add_ffn(model *m, int64_t layer);

#endif
