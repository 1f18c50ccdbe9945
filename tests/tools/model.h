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

#define MODEL_CHANGES 8

/* A key of the architecture that is not as usual. */
typedef struct model_change {
    const char *key; /* without "<architecture>." */
    double value;    /* if not `left_out` */
    int left_out;
} model_change;

typedef struct model {
    const char *arch;
    uint64_t seed;
    int64_t embd, layers, vocab, ffn, heads, kv_heads, head, rope, context;
    int64_t interval, conv, state, k_heads, v_heads; /* qwen35 */
    int64_t mtp;                                     /* blocks for drafting after the layers */
    int64_t experts, used, expert_ffn, shared_ffn;   /* mixture of experts */
    int64_t linear, yarn;                            /* factors of rope scaling; 0: none */
    int64_t split;                                   /* files */
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
