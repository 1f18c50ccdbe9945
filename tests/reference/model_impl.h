/* What the files of the whole-model oracle share. */
#ifndef TESTS_REFERENCE_MODEL_IMPL_H
#define TESTS_REFERENCE_MODEL_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model.h"

/* y = scale W x + bias; W of m rows of k.  Of experts: n such, a factor each. */
typedef struct matrix {
    double *w, *scale, *bias; /* scale, bias: may be NULL; of experts each its own */
    int64_t k, m;
} matrix;

/* Of streams mixed channel by channel; give.w NULL: nothing is given back. */
typedef struct mix_weights {
    double *norm;
    matrix down, up, give;
} mix_weights;

typedef struct layer {
    bool full; /* full attention, else recurrent */
    bool moe, plain;    /* plain: no mixer */
    bool rotated, local;     /* by rope; by that of layers with a window */
    int64_t window, chunk;   /* tokens seen, positions of a chunk; 0: all */
    int64_t d, dv, kv_heads, owner; /* of the cache: whose it is */
    double *norm, *post_norm, *ffn_norm, *ffn_post_norm; /* each may be NULL */
    double *norm_bias, *ffn_norm_bias;
    matrix q, k, v, out;     /* attention; rows of one fused matrix are three of these */
    double *q_norm, *k_norm; /* may be NULL; see the model's norm_of */
    double *sinks;           /* may be NULL */
    matrix q_a, kv_a, k_b, v_b; /* latent attention: q is then from q_a's result, if q_a.w is not NULL */
    double *q_a_norm, *kv_a_norm;
    bool chooses;       /* which tokens it sees; else what the last layer before it did that does */
    matrix index_q, index_k, index_weights;
    double *index_norm, *index_norm_bias;
    matrix pool_gate;        /* of the keys of pools: how much of it a token's is */
    double *pool_places;     /* [pool][d_index] */
    struct { matrix says; double *base, *scale; } streams[2]; /* of hyper-connections: the mixer's, the
                                                               * feed-forward's */
    mix_weights mixes[2];            /* the same of those that are mixed channel by channel */
    /* key.w NULL: it takes no rows */
    struct { matrix key, value; double *key_norm, *query_norm, *norm, *conv; } ngrams;
    double *index_q_norm;
    matrix ba;               /* beta and alpha of recurrent layers in one; ba.w may be NULL */
    double *choice_bias;     /* may be NULL */
    int32_t *token_experts;  /* [token][used]; NULL: the router chooses */
    int64_t ratio;           /* tokens of an entry that attention sees, too; 0: there are none */
    matrix out_a;            /* of each group of heads, one behind the other */
    struct { matrix kv, gate; double *places, *norm; int64_t d; } entry, index_entry; /* places: [ratio][parts d] */
    matrix conv_in, conv_out; /* a short convolution between gates: its channels are the embedding's; conv_in.w may be
                               * NULL */
    matrix qkv, z, beta, alpha, gdn_out; /* recurrent */
    double *conv, *dt, *a, *gdn_norm;
    matrix forget_a, forget_b, gate_a, gate_b; /* of KDA: its channels' forgetting, its output's gate */
    matrix scan_in;     /* z, x, b, c, dt; of single channels x and z */
    matrix scan_x, scan_dt; /* and what x makes: steps in a short vector, b, c */
    double *conv_bias, *skip;
    matrix gate, up, down; /* dense, or each expert's */
    matrix router;
    matrix d_gate, d_up, d_down; /* a dense feed-forward beside experts; d_gate.w may be NULL */
    double *router_norm, *experts_norm, *experts_post_norm, *dense_post_norm;
    matrix in_gate, in_out;  /* how it takes what it is given of the token itself */
    matrix router_of_states, predict, correct; /* of several hidden states */
    double *states_norm, *correct_scale;
    matrix around_in, around_out; /* a way around the mixer; around_in.w may be NULL */
    double *around_norm, sparsity; /* sparsity: of gates only the largest; below -1e30: all */
    double *in_norm, *out_scale; /* out_scale: may be NULL */
    matrix s_router, s_gate, s_up, s_down; /* the shared expert; s_gate.w NULL: none; s_router.w NULL: it is not
                                            * weighed */
} layer;

/* What is written nowhere in a file: see model_archs.c. */
typedef enum { SILU, GELU, SWIGLU_OAI } activation;
typedef enum { NO_NORM, HEAD_NORM, WIDE_NORM, OWN_NORM } norm_of; /* each head's, over all, each head's own weights */
typedef struct facts {
    const char *name, *norm2;
    bool pairs; /* of a softmax's groups the two best experts count */
    bool neighbours, no_norm1, post_norms, layer_norm, parallel, grouped, latent;
    norm_of qk;
    activation act;
    bool norm_biases, ungated;
    bool each;      /* channels scan by themselves */
    bool norm_last; /* queries and keys are normed when they are rotated */
    bool headless; /* layers without heads of K and V are short convolutions */
    bool pools, own_eps; /* an indexer chooses pools; norms of short vectors have the model's epsilon */
    bool mix;      /* streams mixed channel by channel; pools' keys are means; gates of recurrent layers are logistic */
    bool kda;      /* or Kimi Delta Attention */
    bool compressed, root; /* attention sees entries of several tokens, too; experts by the root of the softplus */
    double weights_least; /* the sum of experts' weights is so much more */
    bool embd_root, divides, sigmoid, plain_weights, norm_key, weigh_first, own_width;
    bool mixer, rms_epsilon; /* experts are weighed by SparseMixer; the epsilon's key */
    int64_t window_period; /* -1: no windows; 0: all layers have one */
    bool local_plain, local_alone, unrounded; /* unrounded: YaRN's two pairs */
    double local_base;
    int index;             /* 1: an indexer chooses what attention sees; 2: not in every layer */
    bool index_neighbours; /* how it is rotated */
    int64_t rope_rest;     /* every so-manieth layer is not rotated; 0: all are */
    bool beside, layered, value_norm, unscaled; /* experts beside a dense part; sizes by layer; of attention */
    bool scans, both, alone, either; /* both: all layers attend, too; alone: nothing follows a mixer; either: some
                                      * layers have no mixer */
    int shared;            /* 0: none; 1: by length; 2: by count; 3: as an expert; 4: by length, and not weighed */
} facts;

struct ref_model {
    char arch[32];
    facts f;
    int64_t dv, q_rank, kv_rank;
    int64_t top_cells, index_heads, d_index; /* 0: all are seen */
    int64_t top_entries, out_groups, out_rank;
    double embd_scale, residual_scale, attn_scale, attn_softcap, logit_scale, logit_softcap, local_base;
    double temper; /* queries of layers without a chunk grow: 0: not */
    double temper_floor, temper_offset;
    int64_t groups, groups_used, dense_lead, moe_step;
    bool normed_weights, renormed; /* of experts; queries and keys once more when rotated */
    double *rope_long, *rope_short; /* factors of pairs for contexts beyond the original length, or not; may be NULL */
    bool long_context;
    int64_t n_layers, n_embd, n_ff, n_vocab;
    int64_t heads, kv_heads, d; /* of layers that say nothing else */
    int64_t d_most;      /* of any layer */
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
    int64_t d_step;      /* of single channels: the short vector of steps */
    bool normed_scan;
    int64_t d_scan;      /* channels of a head that scans, of `size` states each; v_heads in k_heads groups */
    int64_t experts, used; /* 0: dense */
    int64_t n_ff_expert, n_ff_shared;
    double eps, expert_scale;
    double *embd, *out_norm, *out_norm_bias;
    int64_t pool;        /* tokens that are chosen together */
    int64_t n_streams, sinkhorn; /* of a token, in hyper-connections; 0: none */
    double streams_eps, forget_least, clamp, clamp_shared; /* forget_least, clamps: 0: none */
    mix_weights mix_out;
    int64_t longest, each, ngram_width, ngram_taps, ngram_end, ngram_rows; /* of a table of n-grams; longest 0: there is
                                                                            * none */
    int64_t factors[8], sizes[128], offsets[128];
    double *ngram_table;
    matrix streams_out;  /* one of all; w NULL: their mean */
    double *streams_out_base, *streams_out_scale;
    int64_t n_states, active; /* hidden states of a token, and the one that goes through layers; 0: one */
    matrix states_begin, states_end;
    int64_t d_input;     /* of what each layer is given of a token; 0: nothing */
    double *input_embd, *input_norm;
    matrix input;
    matrix head;
    layer *layers;
    ref_model *block;    /* NULL: none */
    matrix draft_in;     /* of the block, or an assistant */
    matrix draft_out;    /* of an assistant: its state as the other model's are */
    int64_t n_given;     /* and their width; 0: it is none */
    double *token_norm, *state_norm;
    double **owned;
    size_t n_owned, owned_capacity;
};

typedef struct layer_state {
    double *k, *v;   /* [position][kv_head][d], of the sequence's capacity */
    double *m;       /* [v_head][key][value]; of scans [v_head][channel][state] */
    double *window;  /* [taps - 1][channel], oldest first */
    double *index_k; /* [position][d_index] */
    double *index_gate; /* the same, of models with pools */
    double *raw, *index_raw; /* [position][kv, gate][parts d]: what entries are made of */
    bool *seen;      /* [position], all layers': what the last one that chooses has chosen for the token */
} layer_state;

struct ref_sequence {
    const ref_model *m;
    int64_t length, capacity;
    int32_t token;
    layer_state *layers;
    double *scratch, *state;
    bool *seen;
    int32_t *history;    /* its tokens */
    double *ngram_past;  /* [position][stream][channel]: what the n-grams' convolution sees */
    double *inputs, *states; /* of the token: parts of scratch */
    double margin; /* see ref_sequence_margin */
};

/* One layer's parts: u -> out, scratch t.  How much of it they need for `length` tokens. */
void ref_attention_layer(const ref_model *m, const layer *l, layer_state *s, int64_t pos, const double *u, double *out,
                         double *t);
int64_t ref_attention_scratch(const ref_model *m, int64_t length);
/* Fills s->seen for the token at pos, whose normed short vector of queries is short_q. */
void ref_choose(const ref_model *m, const layer *l, layer_state *s, int64_t pos, const double *u, const double *short_q,
                double *t);
int64_t ref_indexer_scratch(const ref_model *m, int64_t length);
/* A head, as the layer rotates them, over neighbouring channels or halves. */
void ref_rope(const ref_model *m, const layer *l, double *x, int64_t pos, bool neighbours);
/* Attention to a window and to entries (model_compressed.c). */
void ref_compressed_layer(const ref_model *m, const layer *l, layer_state *s, int64_t pos, const double *u, double *out,
                          double *t);
int64_t ref_compressed_scratch(const ref_model *m, int64_t length);
void ref_recurrent_layer(const ref_model *m, const layer *l, layer_state *s, const double *u, double *out, double *t);
int64_t ref_recurrent_scratch(const ref_model *m);
int64_t ref_channels(const ref_model *m); /* of the convolution */
void ref_scan_layer(const ref_model *m, const layer *l, layer_state *s, const double *u, double *out, double *t);
int64_t ref_scan_scratch(const ref_model *m);
int64_t ref_state_size(const ref_model *m); /* elements */
/* x: what u was normed from; ids: of the token's experts, NULL: the router chooses.  *margin: lowered to how far the
 * last expert chosen was ahead of the first that was not, in logits. */
void ref_ffn(const ref_model *m, const layer *l, const double *x, const double *u, const int32_t *ids, double *out,
             double *t, double *margin);
int64_t ref_ffn_scratch(const ref_model *m);

/* Several hidden states of a token (model_altup.c): n_states times the embedding; out of x, and back to one; t:
 * scratch. */
void ref_states_begin(const ref_model *m, const double *x, double *states);
void ref_states_end(const ref_model *m, double *states, double *x, double *t);
void ref_states_predict(const ref_model *m, const layer *l, double *states, double *t);
/* With the layer's result x. */
void ref_states_correct(const ref_model *m, const layer *l, double *states, const double *x, double *t);
int64_t ref_states_scratch(const ref_model *m);

/* Hyper-connections (model_hyper.c): n_streams times the embedding; what mixer (which = 0) or feed-forward (1) is given
 * of them, x; its result taken in; one of all, x.  t: scratch, which must stay as it is between the second and the
 * third. */
void ref_streams_begin(const ref_model *m, const double *x, double *streams);
void ref_streams_take(const ref_model *m, const layer *l, int which, const double *streams, double *x, double *t);
void ref_streams_give(const ref_model *m, double *streams, const double *out, double *t);
void ref_streams_end(const ref_model *m, const double *streams, double *x, double *t);
int64_t ref_streams_scratch(const ref_model *m);

/* The same where they are mixed channel by channel (model_mix.c): x of the streams, and how much of a result each gets,
 * t[n_streams], which the second takes. */
void ref_mix_take(const ref_model *m, const mix_weights *w, const double *streams, double *x, double *t);
void ref_mix_give(const ref_model *m, double *streams, const double *out, const double *t);
int64_t ref_mix_scratch(const ref_model *m);
/* Streams x, each normed by itself. */
void ref_mix_norm(const ref_model *m, const double *x, const double *w, double *y);
/* What the layer adds to the streams by the n-grams that end with the last token of s (model_ngrams.c). */
void ref_ngrams(ref_sequence *s, const layer *l, double *streams, double *t);
int64_t ref_ngrams_scratch(const ref_model *m);

/* Expert e's part of a matrix (0 of a plain one) times x. */
void ref_product(const matrix *a, int64_t e, const double *x, double *y);
void ref_rms(const double *x, const double *w, double *y, int64_t n, double eps); /* x may be y, w NULL */
/* The model's kind of norm. */
void ref_norm(const ref_model *m, const double *x, const double *w, double *y, int64_t n);
/* x plus a bias that may be NULL. */
void ref_add(double *x, const double *bias, int64_t n);
/* What the file's architecture is; false: not written here. */
bool ref_facts(const char *name, facts *f);
double ref_logistic(double x);
double ref_gelu(double x);

#endif
