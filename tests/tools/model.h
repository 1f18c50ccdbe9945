/* Random GGUF models for tests: what is in them. */
#ifndef TESTS_TOOLS_MODEL_H
#define TESTS_TOOLS_MODEL_H

#include <stdint.h>

#include "engine/engine.h"

/* How a tensor is filled. */
typedef enum fill {
    FILL_NORMAL, /* normal, standard deviation `gain` / sqrt(fan-in)   */
    FILL_NORM,   /* weights of norms: 1 + 0.1 normal                   */
    FILL_BIAS,   /* 0.1 normal                                         */
    FILL_DECAY,  /* -exp(uniform in log 1 .. log 16): ssm_a            */
    FILL_IDS,    /* i32: each row different experts                    */
    FILL_STEP    /* so that softplus gives 0.001 .. 0.1: ssm_dt        */
} fill;

/* Which type option a tensor obeys. */
typedef enum class {
    CLASS_F32,
    CLASS_EMBEDDING,
    CLASS_OUTPUT,
    CLASS_ATTENTION,
    CLASS_RECURRENT,
    CLASS_FFN,
    N_CLASSES
} class;

typedef struct model_tensor {
    char name[64];
    int64_t ne[3];
    uint32_t rank;
    class kind;
    fill fill;
    double gain;
} model_tensor;

#define MODEL_CHANGES 12

/* A key of the architecture that is not as usual. */
typedef struct model_change {
    const char *key; /* without "<architecture>." */
    double value;    /* if not `left_out` */
    int left_out, whole; /* whole: an integer */
} model_change;

/* An architecture: what its models have beyond llama's (archs.c). */
/* Of the feed-forward's width, of their own, of their own beside a dense part if there are any. */
typedef enum experts { EXPERTS_NONE, EXPERTS_MAYBE, EXPERTS_OWN, EXPERTS_BESIDE } experts;
typedef enum shared { SHARED_NONE, SHARED_LENGTH, SHARED_COUNT, SHARED_ONE } shared; /* where its width comes from */
typedef struct model_arch {
    const char *name;
    const char *norm2;   /* before the feed-forward; NULL: none */
    uint64_t flags;      /* ARCH_* */
    experts experts;
    shared shared;
    int rope_part;       /* the heads' channels are so many times those that are rotated; 0: all are */
    const char *keys;    /* "NAME=NUMBER ..." unless changed */
} model_arch;
enum {
    ARCH_FREQS = 1, ARCH_QKV_BIAS = 2, ARCH_OUT_BIAS = 4, ARCH_HEAD_NORMS = 8, ARCH_WIDE_NORMS = 16, ARCH_HYBRID = 32,
    ARCH_SECTIONS = 64, ARCH_GROUPED = 128, ARCH_DRAFTS = 256, ARCH_SHARED_GATE = 512, ARCH_POST_NORMS = 1024,
    ARCH_NO_FIRST_NORM = 2048, ARCH_WINDOW = 4096, ARCH_FUSED_FFN = 8192, ARCH_FUSED_QKV = 16384,
    ARCH_CHOICE_BIAS = 32768, ARCH_CHOICE_BIAS_MAYBE = 1 << 16, ARCH_DENSE_LEAD = 1 << 17, ARCH_MOE_STEP = 1 << 18,
    ARCH_EXPERT_BIAS = 1 << 19, ARCH_SINKS = 1 << 20, ARCH_TIED = 1 << 21, ARCH_LAYER_NORM = 1 << 22,
    ARCH_LATENT = 1 << 23, ARCH_LAYER_SIZES = 1 << 24, ARCH_ALTUP = 1 << 25, ARCH_CONV = 1 << 26,
    ARCH_SCANS = 1 << 27, ARCH_BOTH = 1 << 28, /* all layers that scan attend, too */
    ARCH_ALONE = 1 << 29, ARCH_EITHER = 1 << 30 /* no feed-forward behind a mixer; in every second layer, alone */
};
/* Beyond what an enumeration can have. */
#define ARCH_KDA (UINT64_C(1) << 31)
#define ARCH_NORM_BIASES (UINT64_C(1) << 32)
#define ARCH_EACH (UINT64_C(1) << 34) /* channels scan by themselves; k_heads: what their steps are made of */
#define ARCH_INDEXER (UINT64_C(1) << 35)
#define ARCH_HYPER (UINT64_C(1) << 38) /* `streams` of a token */
#define ARCH_POOLS (UINT64_C(1) << 39) /* an indexer chooses pools of `pool` cells */
#define ARCH_COMPRESSED (UINT64_C(1) << 41) /* one key a token, which is its value; entries of several tokens */
#define ARCH_MIX (UINT64_C(1) << 42) /* `streams` that are mixed channel by channel; means of pools; maybe n-grams */
#define ARCH_NO_ROPE (UINT64_C(1) << 40) /* no channel is rotated */
#define ARCH_RMS_EPSILON (UINT64_C(1) << 37) /* its norms' epsilon has the key of the others' */
#define ARCH_ASSISTANT (UINT64_C(1) << 36) /* no layer has a cache; it is given states of `backbone` */
#define ARCH_UNGATED (UINT64_C(1) << 33) /* a feed-forward of two matrices, with biases */
const model_arch *model_arch_find(const char *name);

typedef struct model {
    const char *arch;
    const model_arch *a;
    uint64_t seed;
    int64_t embd, layers, vocab, ffn, heads, kv_heads, head, rope, context;
    int64_t interval, conv, state, k_heads, v_heads; /* qwen35 */
    int64_t scan_head;                               /* channels of a head that scans */
    int64_t mtp;                                     /* blocks for drafting after the layers */
    int64_t experts, used, expert_ffn, shared_ffn;   /* mixture of experts */
    int64_t linear, yarn;                            /* factors of rope scaling; 0: none */
    int64_t split;                                   /* files */
    int64_t window, period;                          /* attention; 0: none, not said */
    int64_t local_head, full_kv_heads;               /* of layers with a window, without; 0: as the others */
    int64_t altup, laurel, sparse;                   /* hidden states of a token; sizes; layers whose gates are
                                                      * sparse */
    int64_t streams, sinkhorn, pool;                 /* of hyper-connections, rounds; tokens of a pool */
    int64_t ratio, long_ratio, out_groups, out_rank,
        hashed; /* tokens of an entry with an indexer and without; groups of
           heads, size of what each gives; layers whose experts a table has */
    int64_t mix_rank, ngrams, ngram_each, ngram_width, ngram_taps; /* of streams; of n-grams: the longest (0: none),
                                                        rows of each length, their width, taps */
    int64_t backbone;                                /* of an assistant: the other model's embedding */
    int64_t shared_caches, input;                    /* layers without caches; width of what each is given of a token */
    int64_t dense_lead, moe_step, shared_count;      /* layers without experts */
    int64_t groups, groups_used;                     /* of experts */
    int64_t q_lora, kv_lora, value;                  /* latent attention: sizes; q_lora 0: none */
    int64_t index_heads, index_head, index_top,
        index_period;                                /* an indexer's heads, how many cells it chooses, and
                                               every which layer has one; index_head 0: 8 more than are rotated */
    int long_factors;                                /* two lists of factors of rope */
    int choice_bias, head_norms, own_norms, scan_norms, parallel;          /* what some models of an architecture
                                                                            * have */
    int wide_shared, keys_are_values, layer_scales;  /* layers without caches are twice as wide; no attn_v where
                                                        there is no window */
    int own_ends;                                    /* of blocks for drafting: embeddings and head */
    int tied;                                        /* no output.weight */
    int fused_qkv, fused_experts;                    /* Q, K, V in one tensor; gate and up of experts */
    int freqs, biases, scales;                       /* rope_freqs; all biases; a .scale for each matrix */
    int small_conv;                                  /* recurrent q, k and v tiny before they are normalised */
    model_change changes[MODEL_CHANGES];
    int n_changes;
    uint32_t types[N_CLASSES];
    model_tensor *tensors;
    uint32_t n_tensors, capacity;
} model;

/* The same sequence on every machine: number `index` of stream `stream`. */
uint64_t model_random(uint64_t stream, uint64_t index);
uint64_t model_stream(uint64_t seed, const char *name);

/* Lists the tensors of the architecture. */
int model_list(model *m);
int model_keys(const model *m, eng_gguf_writer *w);
int model_vocabulary(const model *m, eng_gguf_writer *w);
/* Elements first .. first + n of a tensor. */
void model_fill(const model *m, const model_tensor *t, int64_t first, int64_t n, float *to);

#endif
