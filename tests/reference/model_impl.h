/* What the files of the whole-model oracle share. */
#ifndef TESTS_REFERENCE_MODEL_IMPL_H
#define TESTS_REFERENCE_MODEL_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model.h"

/* y = scale W x + bias; W of m rows of k.  Of experts: n such, a factor each. */
typedef struct matrix {
    double *w, *scale, *bias; /* scale, bias: may be NULL */
    int64_t k, m;
} matrix;

typedef struct layer {
    bool full; /* full attention, else recurrent */
    double *norm, *ffn_norm;
    matrix q, k, v, out;     /* attention; rows of one fused matrix are three of these */
    double *q_norm, *k_norm; /* may be NULL */
    matrix qkv, z, beta, alpha, gdn_out; /* recurrent */
    double *conv, *dt, *a, *gdn_norm;
    matrix gate, up, down; /* dense, or each expert's */
    matrix router;
    matrix s_router, s_gate, s_up, s_down; /* the shared expert; s_router.w NULL: none */
} layer;

struct ref_model {
    char arch[32];
    int64_t n_layers, n_embd, n_ff, n_vocab;
    int64_t heads, kv_heads, d;
    bool gated;          /* rows of q: each head's query, then its gate */
    bool hybrid;
    int64_t n_rot, sections[4]; /* rope */
    bool neighbours;     /* rotates channels 2i, 2i + 1; else i, i + n_rot/2 */
    bool yarn;
    double rope_base, rope_factor, n_ctx_orig;
    double rope_size;    /* that what is rotated is multiplied by */
    double yarn_fast, yarn_slow, yarn_mix; /* turns between which pairs are stretched more and more; how far at all */
    double *rope_freqs;  /* may be NULL */
    int64_t taps, size, k_heads, v_heads;
    int64_t experts, used; /* 0: dense; n_ff is then of an expert */
    int64_t n_ff_shared;
    double eps, expert_scale;
    double *embd, *out_norm;
    matrix head;
    layer *layers;
    double **owned;
    size_t n_owned, owned_capacity;
};

typedef struct layer_state {
    double *k, *v;   /* [position][kv_head][d], of the sequence's capacity */
    double *m;       /* [v_head][key][value] */
    double *window;  /* [taps - 1][channel], oldest first */
} layer_state;

struct ref_sequence {
    const ref_model *m;
    int64_t length, capacity;
    layer_state *layers;
    double *scratch;
    double margin; /* see ref_sequence_margin */
};

/* One layer's parts: u -> out, scratch t.  How much of it they need for `length` tokens. */
void ref_attention_layer(const ref_model *m, const layer *l, layer_state *s, int64_t pos, const double *u, double *out,
                         double *t);
int64_t ref_attention_scratch(const ref_model *m, int64_t length);
void ref_recurrent_layer(const ref_model *m, const layer *l, layer_state *s, const double *u, double *out, double *t);
int64_t ref_recurrent_scratch(const ref_model *m);
/* *margin: lowered to how far the last expert chosen was ahead of the first that was not, in logits. */
void ref_ffn(const ref_model *m, const layer *l, const double *u, double *out, double *t, double *margin);
int64_t ref_ffn_scratch(const ref_model *m);

/* Expert e's part of a matrix (0 of a plain one) times x. */
void ref_product(const matrix *a, int64_t e, const double *x, double *y);
void ref_rms(const double *x, const double *w, double *y, int64_t n, double eps); /* x may be y */
double ref_logistic(double x);

#endif
