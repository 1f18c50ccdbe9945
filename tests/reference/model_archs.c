/*
 * The whole-model oracle: what the files of an architecture do not say, from the
 * models' own code (PyPI's transformers, the papers).
 */
#include "config.h"

#include <string.h>

#include "model_impl.h"

#define NO_WINDOWS .window_period = -1
#define FFN .norm2 = "ffn_norm"
#define POST .norm2 = "post_attention_norm"

static const facts known[] = {
    {"llama", FFN, .neighbours = true, NO_WINDOWS},
    {"qwen2", FFN, NO_WINDOWS},
    {"qwen3", FFN, .qk = HEAD_NORM, NO_WINDOWS},
    {"qwen3moe", FFN, .qk = HEAD_NORM, .own_width = true, NO_WINDOWS},
    {"qwen35", POST, .qk = HEAD_NORM, NO_WINDOWS},
    {"qwen35moe", POST, .qk = HEAD_NORM, .own_width = true, .shared = 1, NO_WINDOWS},
    {"gemma2", FFN, .post_norms = true, .act = GELU, .embd_root = true, .window_period = 2},
    {"gemma3", FFN, .post_norms = true, .act = GELU, .embd_root = true, .qk = HEAD_NORM, .window_period = 6,
     .local_plain = true, .local_base = 10000},
    {"glm4", FFN, .neighbours = true, .post_norms = true, NO_WINDOWS},
    {"glm4moe", POST, .qk = HEAD_NORM, .sigmoid = true, .norm_key = true, .own_width = true, .shared = 2, NO_WINDOWS},
    {"gpt-oss", POST, .act = SWIGLU_OAI, .unrounded = true, .own_width = true, .window_period = 2},
    {"qwen2moe", FFN, .plain_weights = true, .own_width = true, .shared = 1, NO_WINDOWS},
    {"smollm3", FFN, .neighbours = true, .rope_rest = 4, NO_WINDOWS},
    {"phi3", FFN, .window_period = 0},
    {"olmo2", .no_norm1 = true, .post_norms = true, .qk = WIDE_NORM, .window_period = 4, .local_plain = true},
    {"granite", FFN, .neighbours = true, .divides = true, NO_WINDOWS},
    {"command-r", .neighbours = true, .layer_norm = true, .parallel = true, .qk = OWN_NORM, NO_WINDOWS},
    {"cohere2", .neighbours = true, .layer_norm = true, .parallel = true, .window_period = 4, .local_alone = true},
    {"mistral3", FFN, .neighbours = true, NO_WINDOWS},
    {"llama4", FFN, .neighbours = true, .rope_rest = 4, .sigmoid = true, .plain_weights = true, .weigh_first = true,
     .own_width = true, .shared = 3, NO_WINDOWS},
    {"minimax-m2", FFN, .qk = WIDE_NORM, .sigmoid = true, .own_width = true, NO_WINDOWS},
    {"qwen3next", POST, .qk = HEAD_NORM, .grouped = true, .own_width = true, .shared = 1, NO_WINDOWS},
    {"gemma", FFN, .act = GELU, .embd_root = true, NO_WINDOWS},
    {"phimoe", FFN, .layer_norm = true, .norm_biases = true, .mixer = true, .rms_epsilon = true, .window_period = 0},
    {"olmoe", FFN, .qk = WIDE_NORM, .plain_weights = true, NO_WINDOWS},
    {"granitemoe", FFN, .neighbours = true, .divides = true, .shared = 4, NO_WINDOWS},
    {"seed_oss", POST, NO_WINDOWS},
    {"ernie4_5", FFN, .neighbours = true, NO_WINDOWS},
    {"exaone4", .no_norm1 = true, .post_norms = true, .qk = HEAD_NORM, .window_period = 4, .local_alone = true},
    {"lfm2", FFN, .qk = HEAD_NORM, .headless = true, NO_WINDOWS},
    {"lfm2moe", FFN, .qk = HEAD_NORM, .headless = true, .own_width = true, .sigmoid = true, .weights_least = 1e-6, NO_WINDOWS},
    {"gemma3n", FFN, .post_norms = true, .act = GELU, .embd_root = true, .qk = HEAD_NORM, .window_period = 5,
     .local_plain = true, .local_base = 10000, .layered = true, .value_norm = true, .unscaled = true},
    {"gemma4", FFN, .post_norms = true, .act = GELU, .embd_root = true, .qk = HEAD_NORM, .window_period = 6,
     .local_plain = true, .local_base = 10000, .own_width = true, .beside = true, .layered = true, .value_norm = true,
     .unscaled = true},
    {"gemma4-assistant", FFN, .post_norms = true, .act = GELU, .qk = HEAD_NORM, .window_period = 6, .local_plain = true,
     .local_base = 10000, .layered = true, .unscaled = true},
    {"mamba2", .scans = true, .alone = true, NO_WINDOWS},
    {"mamba", .scans = true, .alone = true, .each = true, NO_WINDOWS},
    {"nemotron_h", .scans = true, .alone = true, .either = true, .layered = true, .rope_rest = 1, NO_WINDOWS},
    {"falcon-h1", FFN, .scans = true, .both = true, NO_WINDOWS},
    {"granitehybrid", FFN, .neighbours = true, .divides = true, .shared = 4, .scans = true, .layered = true, NO_WINDOWS},
    {"qwen3vl", FFN, .qk = HEAD_NORM, NO_WINDOWS},
    {"qwen3vlmoe", FFN, .qk = HEAD_NORM, .own_width = true, NO_WINDOWS},
    {"hunyuan-dense", FFN, .qk = HEAD_NORM, .norm_last = true, NO_WINDOWS},
    {"hunyuan-moe", FFN, .qk = HEAD_NORM, .norm_last = true, .own_width = true, .shared = 4, NO_WINDOWS},
    {"starcoder2", FFN, .layer_norm = true, .norm_biases = true, .ungated = true, .act = GELU, .window_period = 0},
    {"stablelm", FFN, .layer_norm = true, .norm_biases = true, .parallel = true, .qk = OWN_NORM, NO_WINDOWS},
    {"kimi-linear", FFN, .latent = true, .kda = true, .rope_rest = 1, .sigmoid = true, .own_width = true, .shared = 2, NO_WINDOWS},
    {"glm5next", FFN, .latent = true, .kda = true, .index = 1, .pools = true, .own_eps = true, .rope_rest = 1, .sigmoid = true,
     .own_width = true, .shared = 2, NO_WINDOWS},
    {"deepseek4", FFN, .neighbours = true, .compressed = true, .root = true, .local_plain = true, .own_width = true, .shared = 2,
     .window_period = 0},
    {"qwen4exp", .norm2 = NULL, .no_norm1 = true, .qk = HEAD_NORM, .own_width = true, .shared = 1, .mix = true, NO_WINDOWS},
    {"deepseek32", FFN, .neighbours = true, .latent = true, .index = 1, .sigmoid = true, .own_width = true, .shared = 2, NO_WINDOWS},
    {"glm-dsa", FFN, .neighbours = true, .latent = true, .index = 2, .index_neighbours = true, .sigmoid = true, .own_width = true, .shared = 2, NO_WINDOWS},
    {"qwen2vl", FFN, NO_WINDOWS},
    {"deepseek2", FFN, .neighbours = true, .latent = true, .norm_key = true, .own_width = true, .shared = 2, NO_WINDOWS},
    {"mistral4", FFN, .pairs = true, .neighbours = true, .latent = true, .norm_key = true, .own_width = true, .shared = 2, NO_WINDOWS},
};

bool ref_facts(const char *name, facts *f)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0) {
            *f = known[i];
            return true;
        }
    return false;
}
