/*
 * A model as its file says: its numbers, its weights with their axes, and where
 * they go.
 */
#ifndef ENGINE_LM_MODEL_H
#define ENGINE_LM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/lm.h"
#include "libengine/util/util.h"
#include "../tokenizer/tokenizer.h"

#define LM_MAX_LAYERS 1024
#define LM_MAX_ROLES 280         /* of an architecture's table                 */
#define LM_MAX_LETTERS 28        /* of its words                               */
#define LM_MOST_TEMPLATES 16     /* of conversations, in one file              */
#define LM_MOST_ALTUP 8          /* hidden states of a token                   */
#define LM_MOST_STREAMS 16       /* of a token, in hyper-connections           */
#define LM_MOST_NGRAM 8          /* tokens of an n-gram                        */
#define LM_MOST_NGRAM_ROWS 128   /* that a token takes of a table of n-grams    */
#define LM_MOST_SINKHORN 64      /* rounds in which their mixing is balanced   */
#define LM_MAX_EXTENT (1 << 24)  /* of anything a file gives as a size          */
#define LM_LAYER_TOP (-1)        /* tensors before the first layer: embeddings  */
#define LM_LAYER_END (-2)        /* and after the last: norm, head              */

typedef struct lm_arch lm_arch;
typedef struct lm_build lm_build; /* arch/arch.h */

/* -- memory with one end (memory.c) -------------------------------------------- */

void *lm_alloc(eu_arena *m, size_t count, size_t bytes); /* zeroed; NULL: the failure is told */
char *lm_format(eu_arena *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* As calloc, but a failure is told, and nothing is something. */
void *lm_calloc(size_t count, size_t bytes);
/*
 * The caller's structs may be shorter or longer than ours: both begin with their
 * size.  lm_take copies what both have into ours, which holds the defaults;
 * lm_give copies ours out and zeroes what the caller's has beyond it.
 * ENG_ERR_INVALID if the caller's has less than `least` bytes.
 */
int lm_take(const char *who, void *ours, uint32_t size, const void *given, size_t least);
int lm_give(const char *who, const void *ours, uint32_t size, void *theirs, size_t least);
/* Adds what to do about it to the failure just told. */
int lm_fail_more(int status, const char *cure);

/* -- axes from words (axes.c) ----------------------------------------------------- */

/* A letter of the words: its extent, and its axis if it has one. */
typedef struct lm_letter {
    char letter;
    const char *axis; /* "kv_head"; NULL: anonymous                             */
    int64_t extent;
} lm_letter;

/*
 * Shape and axes of a tensor from words such as "E, K S | K S | R K S":
 * dimensions separated by commas, innermost first; segments by bars; factors,
 * outermost first, by spaces; a factor is a letter of the model or a number.
 */
int lm_dims(eng_context *engine, const lm_letter *letters, uint32_t n_letters, const char *words, eu_arena *memory,
            int64_t ne[ENG_MAX_RANK], uint32_t *rank, const eng_dim **dims);

/* -- where things go (place.c) -------------------------------------------------------- */

typedef struct lm_placer {
    const eng_lm_model *model; /* its layers' sizes must be known when a device is asked for */
    uint32_t split;
    uint32_t n_patterns;
    eu_pattern **patterns;
    char **devices;      /* of the patterns                                     */
    uint32_t n_leaves;
    char (*leaves)[64];
    double *shares;      /* normalised                                          */
} lm_placer;
int lm_placer_init(lm_placer *p, const eng_lm_model *model, const eng_lm_placement *placement);
void lm_placer_end(lm_placer *p);
/* Refuses a pattern that is found in no name of the model's weights (declared by now), caches and states, or only where
 * an earlier one decides: models and contexts get the same patterns, each uses its part. */
int lm_placer_check(const lm_placer *p, const eng_lm_placement *placement, const eng_lm_model *model);
/* Does override number `index` of the placement decide where anything of the model is? */
int lm_placement_decides(const eng_lm_model *model, const eng_lm_placement *placement, uint32_t index, bool *decides);
/* Bytes of a weight that no pattern takes; n_experts: of the stack, 0 if it is none. */
uint64_t lm_placer_left(const lm_placer *p, const char *name, int64_t n_experts, uint64_t bytes);
/* Name of the device that must hold it; NULL: the composed device decides.  With layers split, all units - embeddings,
 * layers, head - stand in a row by their bytes, the devices by their shares, and a unit goes where its middle falls. */
const char *lm_placer_device(const lm_placer *p, const char *name, int layer);
/* The same of one expert of a stack: a pattern may be found in the stack's name or in the expert's. */
const char *lm_placer_expert(const lm_placer *p, const char *stack, int64_t expert, int layer);

/* -- models (weights.c, keys.c, rope.c) ---------------------------------------------------- */

typedef enum lm_layer_kind { LM_LAYER_ATTENTION = 1, LM_LAYER_RECURRENT = 2, LM_LAYER_DRAFTING = 4,
               LM_LAYER_PLAIN = 8 /* a feed-forward and no mixer */ } lm_layer_kind;

/* In what the layers of one model may differ. */
typedef struct lm_layer {
    int64_t window; /* tokens that a token sees, itself the last of them; 0: all before it */
    int64_t chunk;  /* it sees those of its own chunk of so many positions; 0: of all      */
    bool alone;     /* it is its mixer, and has no feed-forward                            */
    bool moe;       /* its feed-forward is of experts                                      */
    bool rotated;   /* its queries and keys are                                            */
    bool local;     /* by the second of the model's two ropes                              */
    bool tempered;  /* its queries grow with their position                                */
    bool normed;    /* queries and keys are normed once more, without weights, after they are rotated */
    int64_t n_head_kv, d_k, d_v; /* of its cache                                           */
    int64_t n_ff;   /* width of its dense feed-forward                                     */
    double clamp, clamp_shared; /* of experts, of the others: gates are at most, ups at most and least so much; 0:
                                 * any */
    double sparsity; /* of gates only what is above their mean by so many of their deviations; below -1e30: all */
    int owner;      /* the layer whose cache it reads: itself, or an earlier one           */
    bool chooses;   /* by an indexer of its own which cells it sees, else as the last layer before that does */
    int64_t ratio;  /* it sees one entry for so many tokens, too (compressed.c); 0: only tokens */
    bool hashed;    /* its experts are those that a table has for the token               */
} lm_layer;

typedef enum lm_gate { LM_GATE_SOFTMAX, LM_GATE_SIGMOID, LM_GATE_ROOT /* of the softplus: of each by itself, as sigmoids */ } lm_gate;

/* How a router's logits become experts and their weights. */
typedef struct lm_routing {
    lm_gate gate;      /* what probabilities are of logits                        */
    bool normed;       /* weights of the chosen are divided by their sum          */
    double least;      /* their sum is so much more                               */
    bool first;        /* weights are for what the experts get, not what they give */
    int64_t groups, groups_used; /* experts are chosen of the best groups; 1: of all */
    int64_t group_best; /* a group's worth is the sum of so many of its best      */
    double scale;      /* of the weights                                          */
} lm_routing;

/* Rows of a table that a token takes by its n-grams (arch/ngrams.c). */
typedef struct lm_ngrams {
    int layer;                             /* that is given them                  */
    int64_t rows;                          /* of a token; 0: there is no table    */
    int64_t longest, each;                 /* tokens of an n-gram; rows of each length from 2 on */
    int64_t width, taps;                   /* of a row; of the convolution, `longest` tokens from one to the next */
    int32_t end;                           /* the token behind which none before it counts */
    uint64_t factors[LM_MOST_NGRAM];       /* of the last token, the one before it and so on */
    uint64_t sizes[LM_MOST_NGRAM_ROWS], offsets[LM_MOST_NGRAM_ROWS]; /* parts of the table that rows are taken of */
} lm_ngrams;

typedef struct lm_numbers {
    int n_layers, n_layers_file;
    int n_drafting;                        /* blocks behind the layers that are loaded: 0 or 1 */
    int last_kept;                         /* the last layer that keeps something of its tokens: to those
                                              behind it only tokens whose logits are wanted matter */
    int64_t n_embd, n_ff, n_vocab, n_ctx_train;
    int64_t n_head, n_head_kv, d_k, d_v;   /* of layers that say nothing else; d: of the caches */
    int64_t altup, altup_active;           /* hidden states of a token, and the one that goes through layers; 0: one */
    int64_t streams;                       /* of a token, in hyper-connections; 0: none */
    int sinkhorn;                          /* rounds in which their mixing is balanced */
    double hyper_eps;
    int64_t mix_rank;                      /* size of the short vector by which they are mixed channel by channel; 0: by
                                            * matrices */
    lm_ngrams ngrams;
    int64_t d_input;                       /* of what each layer is given of the token itself; 0: nothing */
    int64_t d_hidden;                      /* of the hidden states that are given, or taken with tokens */
    int64_t d_head;                        /* of latent attention: of a head        */
    int64_t top_cells;                     /* that an indexer chooses for attention to see; 0: there is none */
    int64_t top_entries;                   /* the same, of compressed tokens        */
    int64_t index_heads, d_index;          /* and its heads                         */
    int64_t pool;                          /* cells that are chosen together, by one key made of theirs; 0: each by
                                            * itself */
    bool pool_means;                       /* that key is their mean, and all else comes behind that */
    double forget_least;                   /* of Kimi Delta Attention: the logarithm of the least that is kept; 0: no
                                            * bound */
    int64_t conv, state, k_heads, v_heads; /* recurrent layers                      */
    int64_t d_scan;                        /* channels of a head that scans         */
    int64_t d_step;                        /* of each channel by itself: what the sizes of their steps are made of */
    bool normed_scan;                      /* and these, what is read and what is written are normed */
    int64_t n_experts, n_used;             /* mixture of experts; 0: dense          */
    int64_t d_expert, d_shared;            /* width of an expert, of the shared one */
    lm_routing routing;
    double eps;
    double embd_scale, residual_scale;     /* of embeddings, of what a block adds   */
    double attn_scale, attn_softcap;       /* of the products of queries and keys   */
    double logit_scale, logit_softcap;
    double temper_scale, temper_offset;    /* queries times 1 + scale ln(1 + floor((pos + offset) / floor)) */
    int64_t temper_floor;
    eng_rope_params rope, local_rope;
    bool rope_streams;                     /* four position streams are needed      */
    uint8_t kind[LM_MAX_LAYERS + 1];       /* lm_layer_kind; behind the layers is the block for drafting */
    lm_layer layer[LM_MAX_LAYERS + 1];
    bool recurrent, attention;             /* it has such layers                    */
} lm_numbers;

/* A template of conversations, as the file has it. */
typedef struct lm_template {
    const char *name; /* NULL: the one for everything                         */
    char *text;
} lm_template;

struct eng_lm_model {
    eng_context *engine;
    eng_device *device;
    const lm_arch *arch;
    lm_numbers n;
    lm_letter letters[LM_MAX_LETTERS];
    uint32_t n_letters;
    eng_tokenizer *tokenizer;  /* NULL: the file has none                       */
    char *tokenizer_error;     /* why not                                       */
    int tokenizer_status;
    char *name;
    eng_store *store;
    int32_t (*weights)[LM_MAX_ROLES]; /* [layer + 1][role] -> tensor of the store, or -1;
                                         row 0: those outside of layers         */
    uint64_t weight_bytes, parameters;
    uint64_t *layer_bytes;     /* that no pattern takes: embeddings, layers, head */
    const char **unread;       /* what of the file nobody reads                  */
    uint32_t n_unread;
    lm_template templates[LM_MOST_TEMPLATES];
    uint32_t n_templates;
    const char *head_device;   /* must hold the head's matrix; NULL: none       */
    struct eng_lm_model *block; /* for drafting (block.c): a model of one layer with the same store; NULL: not loaded */
    bool drafts;               /* this is such a one: it is given hidden states, too */
    eu_arena memory;
};

/* -- roles ------------------------------------------------------------------- */

/* A matrix, what may be added to its product, and the factor of a file that scales its weights. */
#define LM_PRODUCT_ROLES(name) name, name##_BIAS, name##_SCALE
enum {
    LM_EMBD, LM_OUT_NORM, LM_ROPE_FREQS, LM_ROPE_LONG, LM_ROPE_SHORT,
    LM_OUT_NORM_BIAS, LM_NORM_BIAS, LM_FFN_NORM_BIAS,
    LM_NORM, LM_POST_NORM, LM_FFN_NORM, LM_FFN_POST_NORM, LM_Q_NORM, LM_K_NORM, LM_SINKS,
    LM_PRODUCT_ROLES(LM_ALTUP_BEGIN), LM_PRODUCT_ROLES(LM_ALTUP_END), LM_PRODUCT_ROLES(LM_ALTUP_ROUTER), LM_ALTUP_NORM,
    LM_PRODUCT_ROLES(LM_ALTUP_PREDICT), LM_PRODUCT_ROLES(LM_ALTUP_CORRECT), LM_ALTUP_SCALE,
    LM_PRODUCT_ROLES(LM_HYPER_MIXER), LM_HYPER_MIXER_BASES, LM_HYPER_MIXER_FACTORS, LM_PRODUCT_ROLES(LM_HYPER_FFN),
    LM_HYPER_FFN_BASES, LM_HYPER_FFN_FACTORS, LM_PRODUCT_ROLES(LM_HYPER_OUT), LM_HYPER_OUT_BASES, LM_HYPER_OUT_FACTORS,
    LM_MIX_NORM, LM_PRODUCT_ROLES(LM_MIX_DOWN), LM_PRODUCT_ROLES(LM_MIX_UP), LM_PRODUCT_ROLES(LM_MIX_GIVE),
    LM_MIX_FFN_NORM, LM_PRODUCT_ROLES(LM_MIX_FFN_DOWN), LM_PRODUCT_ROLES(LM_MIX_FFN_UP), LM_PRODUCT_ROLES(LM_MIX_FFN_GIVE),
    LM_MIX_OUT_NORM, LM_PRODUCT_ROLES(LM_MIX_OUT_DOWN), LM_PRODUCT_ROLES(LM_MIX_OUT_UP),
    LM_PRODUCT_ROLES(LM_NGRAM_KEY), LM_PRODUCT_ROLES(LM_NGRAM_VALUE), LM_NGRAM_KEY_NORM, LM_NGRAM_QUERY_NORM, LM_NGRAM_NORM,
    LM_NGRAM_CONV,
    LM_PRODUCT_ROLES(LM_LAUREL_IN), LM_PRODUCT_ROLES(LM_LAUREL_OUT), LM_LAUREL_NORM,
    LM_INPUT_EMBD, LM_INPUT_NORM, LM_PRODUCT_ROLES(LM_INPUT), LM_PRODUCT_ROLES(LM_INPUT_GATE),
    LM_PRODUCT_ROLES(LM_INPUT_OUT), LM_INPUT_POST_NORM, LM_LAYER_SCALE,
    LM_PRODUCT_ROLES(LM_OUT),
    LM_PRODUCT_ROLES(LM_QKV), LM_PRODUCT_ROLES(LM_Q), LM_PRODUCT_ROLES(LM_K), LM_PRODUCT_ROLES(LM_V),
    LM_PRODUCT_ROLES(LM_ATTN_OUT),
    LM_PRODUCT_ROLES(LM_Q_A), LM_Q_A_NORM, LM_PRODUCT_ROLES(LM_Q_B), LM_PRODUCT_ROLES(LM_KV_A), LM_KV_A_NORM,
    LM_K_B, LM_V_B, LM_PRODUCT_ROLES(LM_ATTN_OUT_A),
    LM_PRODUCT_ROLES(LM_ENTRY_KV), LM_PRODUCT_ROLES(LM_ENTRY_GATE), LM_ENTRY_PLACES, LM_ENTRY_NORM,
    LM_PRODUCT_ROLES(LM_INDEX_Q), LM_PRODUCT_ROLES(LM_INDEX_K), LM_INDEX_Q_NORM, LM_INDEX_K_NORM, LM_INDEX_K_NORM_BIAS,
    LM_PRODUCT_ROLES(LM_INDEX_WEIGHTS), LM_PRODUCT_ROLES(LM_POOL_GATE), LM_POOL_PLACES,
    LM_PRODUCT_ROLES(LM_GATE_UP), LM_PRODUCT_ROLES(LM_GATE), LM_PRODUCT_ROLES(LM_UP), LM_PRODUCT_ROLES(LM_DOWN),
    LM_PRODUCT_ROLES(LM_ROUTER), LM_TOKEN_EXPERTS, LM_CHOICE_BIAS, LM_ROUTER_NORM, LM_EXPERTS_NORM, LM_EXPERTS_POST_NORM, LM_DENSE_POST_NORM,
    LM_PRODUCT_ROLES(LM_GATE_UP_EXPERTS), LM_PRODUCT_ROLES(LM_GATE_EXPERTS), LM_PRODUCT_ROLES(LM_UP_EXPERTS),
    LM_PRODUCT_ROLES(LM_DOWN_EXPERTS),
    LM_PRODUCT_ROLES(LM_SHARED_ROUTER),
    LM_PRODUCT_ROLES(LM_GATE_SHARED), LM_PRODUCT_ROLES(LM_UP_SHARED), LM_PRODUCT_ROLES(LM_DOWN_SHARED),
    LM_PRODUCT_ROLES(LM_SCAN_IN), LM_PRODUCT_ROLES(LM_SCAN_X), LM_PRODUCT_ROLES(LM_SCAN_DT), LM_PRODUCT_ROLES(LM_GDN_QKV), LM_PRODUCT_ROLES(LM_GDN_GATE), LM_PRODUCT_ROLES(LM_GDN_BETA),
    LM_PRODUCT_ROLES(LM_GDN_ALPHA), LM_PRODUCT_ROLES(LM_GDN_BETA_ALPHA), LM_PRODUCT_ROLES(LM_GDN_OUT),
    LM_PRODUCT_ROLES(LM_KDA_FORGET_A), LM_PRODUCT_ROLES(LM_KDA_FORGET_B), LM_PRODUCT_ROLES(LM_KDA_GATE_A),
    LM_PRODUCT_ROLES(LM_KDA_GATE_B), LM_KDA_Q_CONV, LM_KDA_K_CONV, LM_KDA_V_CONV,
    LM_GDN_CONV, LM_GDN_DT, LM_GDN_A, LM_GDN_NORM, LM_SCAN_CONV_BIAS, LM_SCAN_SKIP,
    LM_PRODUCT_ROLES(LM_CONV_IN), LM_CONV, LM_PRODUCT_ROLES(LM_CONV_OUT),
    LM_PRODUCT_ROLES(LM_DRAFT_IN), LM_PRODUCT_ROLES(LM_DRAFT_STATE), LM_DRAFT_TOKEN_NORM, LM_DRAFT_STATE_NORM, LM_DRAFT_EMBD, LM_DRAFT_OUT_NORM, LM_DRAFT_OUT,
    LM_ROLES
};
_Static_assert(LM_ROLES <= LM_MAX_ROLES, "LM_MAX_ROLES is too small");

/* One row of an architecture's table of weights. */
typedef struct lm_weight_row {
    int role;            /* index into the architecture's own enumeration         */
    const char *name;    /* of the tensor; in layers, what follows "blk.N."        */
    const char *words;   /* shape and axes: lm_dims                               */
    uint32_t flags;      /* LM_W_*                                                */
    uint32_t layers;     /* kinds of layers that have it; 0: outside of layers    */
    int with;            /* role + 1 of a row before: only where that one is; 0   */
    int unless;          /* the same: only where that one is not; that of its own role: under another name */
} lm_weight_row;
enum {
    LM_W_MATRIX = 1,     /* used in products and lookups alone: may be packed      */
    LM_W_F32 = 2,        /* must be f32                                           */
    LM_W_OPTIONAL = 4,
    LM_W_END = 8,        /* belongs after the last layer                          */
    LM_W_DENSE = 16,     /* only in layers without experts                        */
    LM_W_MOE = 32,       /* only in layers with experts                           */
    LM_W_CACHE = 128,    /* needed by layers with a cache of their own alone      */
    LM_W_INPUTS = 256,   /* only where layers are given something of the token itself */
    LM_W_LEFT_OUT = 1024, /* known, and not needed                                */
    LM_W_CHOOSES = 512,  /* only in layers with an indexer of their own; others may have it, and do without */
    LM_W_IDS = 2048,     /* i32: numbers of experts                                */
    LM_W_HASHED = 4096,  /* only in layers whose experts such a table has          */
    LM_W_ENTRIES = 8192, /* only in layers that see compressed tokens              */
    LM_W_NGRAMS = 32768, /* only in the layer that is given rows of a table of n-grams, or where there is one */
    LM_W_STACK = 16384,  /* matrices, one behind the other in the file's one matrix */
    LM_W_EXPERTS = 64    /* a stack of experts, X its last dimension: runs of experts
                            with a home of their own become tensors of their own,
                            one after another in the store                       */
};

/* A file being loaded. */
#define LM_PLACES 16
typedef struct lm_loader {
    eng_lm_model *model;
    eng_gguf *gguf;      /* NULL: the model's store has it                        */
    const char *arch_name;
    uint8_t *read;       /* of each key: has anybody asked for it?                */
    uint64_t *places;    /* LM_PLACES of them: numbers of keys that were asked for last (unread.c) */
    bool drafts;         /* the block that drafts is wanted                       */
} lm_loader;

/* Templates of conversations (templates.c). */
int lm_templates_read(const lm_loader *l);

/* Keys of the architecture that are asked for, and a list of what is not read then (unread.c). */
#define LM_MOST_UNREAD 256
int lm_unread_begin(lm_loader *l);
void lm_unread_not(const lm_loader *l, const char *key);
int lm_unread_list(const lm_loader *l);

/* Keys "<architecture>.<name>"; `least` .. `most` is what makes sense. */
int lm_key_integer(const lm_loader *l, const char *name, int64_t least, int64_t most, int64_t *value);
int lm_key_integer_or(const lm_loader *l, const char *name, int64_t least, int64_t most, int64_t otherwise,
                      int64_t *value);
int lm_key_number_or(const lm_loader *l, const char *name, double otherwise, double *value);
/* Of one layer, of which a list has one value each. */
int lm_key_layer_integer(const lm_loader *l, const char *name, int layer, int64_t least, int64_t most, int64_t *value);
int lm_key_layer_number(const lm_loader *l, const char *name, int layer, double *value);
/* "<architecture>.<name>"; longer names than there are keys are cut. */
#define LM_KEY_BYTES 128
const char *lm_key_name(const lm_loader *l, const char *name, char text[LM_KEY_BYTES]);
int lm_key_in_range(const char *key, int64_t value, int64_t least, int64_t most);
/* Is there such a key? */
bool lm_key_is(const lm_loader *l, const char *name);
/* rope.* keys, for n_rot channels by default; one that nobody reads is refused (rope.c). */
int lm_key_rope(const lm_loader *l, int mode, int64_t n_rot);
void lm_letter_add(eng_lm_model *model, char letter, const char *axis, int64_t extent);
/* The letters as they are in a layer (LM_LAYER_TOP: outside); their number is the model's. */
void lm_layer_letters(const eng_lm_model *model, int layer, lm_letter letters[LM_MAX_LETTERS]);

/* The block for drafting as a model, once the weights are loaded (arch/block.c). */
int lm_block_model(eng_lm_model *m);

/* A tensor of f64, i8 or i16 is replaced by one of f32 in `memory` (plain.c); others stay. */
int lm_without_plain(eu_arena *memory, const eng_gguf *g, const eng_gguf_tensor **tensor);
/* Bytes of the tensor as it is used. */
uint64_t lm_plain_room(const eng_gguf_tensor *t);

/* Declares, places and uploads the table's weights for all layers. */
int lm_weights_load(lm_loader *l, const lm_weight_row *rows, uint32_t n_rows, const eng_lm_model_params *params);

/*
 * An architecture: one file of arch/, one row of arch/list.def.  Facts that its files do not tell; 0 is what most
 * have.  What a layer has beyond them - norms, biases, sinks, a shared expert - follows from its rows.
 */
typedef enum lm_glu { LM_GLU_SILU, LM_GLU_GELU, LM_GLU_OAI } lm_glu;
typedef enum lm_experts {
    LM_EXPERTS_NONE,
    LM_EXPERTS_MAYBE,    /* if there is a key; as wide as the feed-forward         */
    LM_EXPERTS_OWN,      /* of a width of their own                                */
    LM_EXPERTS_BESIDE    /* if there is a key; of a width of their own, beside a dense feed-forward */
} lm_experts;
typedef enum lm_shared {
    LM_SHARED_NONE,
    LM_SHARED_LENGTH,    /* expert_shared_feed_forward_length                      */
    LM_SHARED_COUNT,     /* so many times as wide as an expert: expert_shared_count */
    LM_SHARED_ONE        /* as wide as an expert                                   */
} lm_shared;
typedef enum lm_scans {
    LM_SCAN_NONE,
    LM_SCAN_ONLY,        /* all layers scan and have no feed-forward              */
    LM_SCAN_EACH,        /* the same, each channel by itself                       */
    LM_SCAN_OR_ATTEND,   /* those without heads of K and V scan, the others attend */
    LM_SCAN_OR_EITHER,   /* the same, and those with a feed-forward have that alone */
    LM_SCAN_BESIDE       /* all do both, side by side                             */
} lm_scans;
typedef enum lm_by_key { LM_NEVER, LM_ALWAYS, LM_BY_KEY, LM_IF_KEY_DENIES /* by a key, which most files lack */ } lm_by_key;
/* Keys that change what is computed: an architecture reads them, or refuses a file that has them (numbers.c). */
enum {
    LM_READS_EMBD_SCALE = 1, LM_READS_RESIDUAL_SCALE = 2, LM_READS_ATTN_SCALE = 4, LM_READS_LOGIT_SCALE = 8,
    LM_READS_ATTN_SOFTCAP = 16, LM_READS_LOGIT_SOFTCAP = 32, LM_READS_WINDOW = 64, LM_READS_TEMPERATURE = 128,
    LM_READS_DENSE_LEAD = 256, LM_READS_DRAFTING = 512, LM_READS_GATING = 1024, LM_READS_GROUPS = 2048,
    LM_READS_MOE_STEP = 4096, LM_READS_CHUNK = 8192, LM_READS_LATENT = 1 << 15,
    LM_READS_LAYER_SIZES = 1 << 16, LM_READS_LOCAL_HEADS = 1 << 17, LM_READS_SHARED_CACHES = 1 << 18,
    LM_READS_INPUTS = 1 << 19, LM_READS_SPARSITY = 1 << 20, LM_READS_ALTUP = 1 << 21, LM_READS_PARALLEL = 1 << 22,
    LM_READS_HYPER = 1 << 23, LM_READS_CLAMPS = 1 << 24, LM_READS_POOLS = 1 << 25,
    LM_READS_KEPT_LEAST = 1 << 26, LM_READS_COMPRESSED = 1 << 27, LM_READS_NGRAMS = 1 << 28, LM_READS_MIX = 1 << 29,
    LM_NEEDS_ROPE_PART = 1 << 14 /* how many channels of a head are rotated */
};
struct lm_arch {
    const char *name;
    const lm_weight_row *rows;
    uint32_t n_rows;
    uint32_t reads;          /* LM_READS_*                                             */
    uint32_t needs;          /* of them those without which nothing can be computed    */
    int rope;                /* ENG_ROPE_*                                             */
    bool one_stream;         /* of several position streams, which are one for text, whatever rope.dimension_sections
                              * says */
    int rope_part;           /* how many times more than that the channels of a head are, unless a key says how many
                                are rotated; 0: all are                                */
    bool rope_unrounded;     /* YaRN's two pairs, between which pairs are stretched more and more, are no whole
                              * numbers */
    int rope_rest;           /* every so-manieth layer is not rotated; 0: all are      */
    int window_period;       /* the last of so many layers has no window, unless a key says otherwise; 0: all have
                                one; 1: none                                           */
    bool local_alone;        /* layers without a window are not rotated                */
    bool local_plain;        /* those with one are, by positions that are not stretched */
    double local_base;       /* and by this base, unless a key says otherwise; 0: the other layers' */
    bool embd_root;          /* embeddings times the root of their number              */
    bool parallel;           /* the feed-forward gets what the mixer gets, unless it has a norm of its own */
    bool divided;            /* logit_scale divides                                    */
    bool layer_norm;         /* norms take the mean off                                */
    bool rms_epsilon;        /* their epsilon has the key of the others'               */
    bool norms_turned;       /* those of queries and keys are for what is rotated already */
    bool wide_norms;         /* those of queries and keys are over all heads           */
    bool value_norms;        /* values are normed, each head, without weights          */
    bool attn_plain;         /* products of queries and keys are multiplied by nothing */
    lm_scans scans;
    bool hybrid;             /* recurrent layers, with attention every few             */
    bool headless;           /* layers of which the file says that they have no heads of K and V are recurrent */
    bool kda;                /* recurrent layers forget by channels, not by heads          */
    bool paired_groups;      /* a group of experts is worth its two best with a softmax, too */
    bool grouped;            /* their value heads of one key head stand side by side   */
    bool gated;              /* attention's output has a gate, whose rows follow each head's query */
    bool sigmoid_gate;       /* that of recurrent layers is a sigmoid, not SiLU         */
    bool assistant;          /* it guesses for another model, whose caches it reads     */
    bool drafts;             /* its block for drafting is a layer of attention, given what the head is given
                              * (block.c) */
    bool latent;             /* keys and values are made of one short vector           */
    bool same_epsilon;       /* norms of short vectors have the others' epsilon        */
    int index_rope;          /* ENG_ROPE_*, of an indexer's queries and keys           */
    bool index_shared;       /* layers without one see what an earlier layer's has chosen */
    lm_glu glu;
    lm_experts experts;
    lm_shared shared;
    bool sigmoid;            /* the router's logits, unless a key says otherwise       */
    bool root_softplus;      /* the same: of them the root of the softplus             */
    bool one_clamp;          /* shared experts are clamped as the others, unless a key says otherwise */
    lm_by_key unnormed;      /* the chosen experts' weights are not divided by their sum */
    double router_gap;       /* weights of experts are among those not worse by this part of a logit; 0: among all */
    double weights_least;    /* their sum is so much more; 0: all but nothing          */
    bool weigh_first;        /* they are for what an expert is given                   */
    int (*more)(lm_loader *l); /* what is known in no other way; may be NULL             */
    const char *conv_words;  /* axes of the convolution's channels: "K S | K S | R K S" */
    const char *head_words;  /* of the recurrent heads: "R K"; NULL: only the convolution has a past */
};

/* Channels of a head that must be rotated at least. */
static inline int lm_least_turned(const lm_arch *a)
{
    return a->rope_rest == 1 ? 0 : 2;
}

#endif
