/* What random models of each architecture consist of: tensors by their converter's names, and keys. */
#include "config.h"

#include <string.h>

#include "model.h"

#define LLAMA_LIKE .norm2 = "ffn_norm"
#define HYBRID (ARCH_HYBRID | ARCH_HEAD_NORMS)

static const model_arch archs[] = {
    {"llama", LLAMA_LIKE, .experts = EXPERTS_MAYBE, .flags = ARCH_FREQS},
    {"qwen2", LLAMA_LIKE, .flags = ARCH_QKV_BIAS},
    {"qwen3", LLAMA_LIKE, .flags = ARCH_HEAD_NORMS},
    {"qwen3moe", LLAMA_LIKE, .experts = EXPERTS_OWN, .flags = ARCH_HEAD_NORMS},
    {"qwen35", .norm2 = "post_attention_norm", .flags = HYBRID | ARCH_SECTIONS | ARCH_DRAFTS, .rope_part = 2},
    {"qwen35moe", .norm2 = "post_attention_norm", .flags = HYBRID | ARCH_SECTIONS | ARCH_DRAFTS | ARCH_SHARED_GATE,
     .experts = EXPERTS_OWN, .shared = SHARED_LENGTH, .rope_part = 2},
    {"gemma2", LLAMA_LIKE, .flags = ARCH_POST_NORMS | ARCH_WINDOW,
     .keys = "attn_logit_softcapping=4 final_logit_softcapping=5"},
    {"gemma3", LLAMA_LIKE, .flags = ARCH_POST_NORMS | ARCH_HEAD_NORMS | ARCH_WINDOW},
    {"glm4", LLAMA_LIKE, .flags = ARCH_POST_NORMS | ARCH_FUSED_FFN, .rope_part = 2},
    {"glm4moe", .norm2 = "post_attention_norm", .experts = EXPERTS_OWN, .shared = SHARED_COUNT,
     .flags = ARCH_QKV_BIAS | ARCH_CHOICE_BIAS | ARCH_DENSE_LEAD | ARCH_DRAFTS, .rope_part = 2,
     .keys = "expert_gating_func=2 expert_weights_norm=1 expert_weights_scale=1.5"},
    {"gpt-oss", .norm2 = "post_attention_norm", .experts = EXPERTS_OWN,
     .flags = ARCH_QKV_BIAS | ARCH_EXPERT_BIAS | ARCH_SINKS | ARCH_WINDOW | ARCH_OUT_BIAS},
    {"qwen2moe", LLAMA_LIKE, .experts = EXPERTS_OWN, .shared = SHARED_LENGTH,
     .flags = ARCH_QKV_BIAS | ARCH_SHARED_GATE},
    {"smollm3", LLAMA_LIKE},
    {"phi3", LLAMA_LIKE, .flags = ARCH_FUSED_FFN | ARCH_FUSED_QKV},
    {"olmo2", .norm2 = NULL, .flags = ARCH_POST_NORMS | ARCH_WIDE_NORMS | ARCH_NO_FIRST_NORM},
    {"granite", LLAMA_LIKE, .flags = ARCH_FREQS, .experts = EXPERTS_MAYBE,
     .keys = "embedding_scale=2.5 residual_scale=0.4 attention.scale=0.15 logit_scale=1.7"},
    {"command-r", .norm2 = NULL, .flags = ARCH_TIED | ARCH_LAYER_NORM, .keys = "logit_scale=0.6"},
    {"cohere2", .norm2 = NULL, .flags = ARCH_TIED | ARCH_LAYER_NORM | ARCH_WINDOW, .keys = "logit_scale=0.6"},
    {"mistral3", LLAMA_LIKE},
    {"llama4", LLAMA_LIKE, .experts = EXPERTS_OWN, .shared = SHARED_ONE, .flags = ARCH_FREQS | ARCH_MOE_STEP},
    {"minimax-m2", LLAMA_LIKE, .experts = EXPERTS_OWN, .flags = ARCH_WIDE_NORMS | ARCH_CHOICE_BIAS, .rope_part = 2,
     .keys = "expert_gating_func=2"},
    {"qwen3next", .norm2 = "post_attention_norm", .flags = HYBRID | ARCH_GROUPED | ARCH_DRAFTS | ARCH_SHARED_GATE,
     .experts = EXPERTS_OWN, .shared = SHARED_LENGTH, .rope_part = 2},
    {"gemma", LLAMA_LIKE},
    {"olmoe", LLAMA_LIKE, .experts = EXPERTS_MAYBE, .flags = ARCH_WIDE_NORMS},
    {"granitemoe", LLAMA_LIKE, .flags = ARCH_FREQS, .experts = EXPERTS_MAYBE, .shared = SHARED_LENGTH,
     .keys = "embedding_scale=2.5 residual_scale=0.4 attention.scale=0.15 logit_scale=1.7"},
    {"seed_oss", .norm2 = "post_attention_norm", .flags = ARCH_QKV_BIAS},
    {"ernie4_5", LLAMA_LIKE},
    {"exaone4", .norm2 = NULL, .flags = ARCH_POST_NORMS | ARCH_HEAD_NORMS | ARCH_NO_FIRST_NORM | ARCH_FREQS},
    {"lfm2", LLAMA_LIKE, .flags = ARCH_HEAD_NORMS | ARCH_CONV},
    {"lfm2moe", LLAMA_LIKE, .experts = EXPERTS_OWN, .keys = "expert_gating_func=2",
     .flags = ARCH_HEAD_NORMS | ARCH_CONV | ARCH_DENSE_LEAD | ARCH_CHOICE_BIAS_MAYBE},
    {"gemma3n", LLAMA_LIKE,
     .flags = ARCH_POST_NORMS | ARCH_HEAD_NORMS | ARCH_WINDOW | ARCH_LAYER_SIZES | ARCH_ALTUP},
    {"gemma4", LLAMA_LIKE, .experts = EXPERTS_BESIDE,
     .flags = ARCH_POST_NORMS | ARCH_HEAD_NORMS | ARCH_WINDOW | ARCH_FREQS | ARCH_LAYER_SIZES},
    {"gemma4-assistant", LLAMA_LIKE,
     .flags = ARCH_POST_NORMS | ARCH_HEAD_NORMS | ARCH_WINDOW | ARCH_FREQS | ARCH_LAYER_SIZES | ARCH_ASSISTANT | ARCH_TIED},
    {"mamba2", .flags = ARCH_SCANS | ARCH_ALONE},
    {"mamba", .flags = ARCH_SCANS | ARCH_ALONE | ARCH_EACH},
    {"nemotron_h", .flags = ARCH_SCANS | ARCH_ALONE | ARCH_EITHER},
    {"falcon-h1", LLAMA_LIKE, .flags = ARCH_SCANS | ARCH_BOTH},
    {"granitehybrid", LLAMA_LIKE, .flags = ARCH_SCANS, .experts = EXPERTS_MAYBE, .shared = SHARED_LENGTH,
     .keys = "embedding_scale=2.5 residual_scale=0.4 attention.scale=0.15 logit_scale=1.7"},
    {"qwen3vl", LLAMA_LIKE, .flags = ARCH_HEAD_NORMS | ARCH_SECTIONS},
    {"qwen3vlmoe", LLAMA_LIKE, .experts = EXPERTS_OWN, .flags = ARCH_HEAD_NORMS | ARCH_SECTIONS},
    {"hunyuan-dense", LLAMA_LIKE, .flags = ARCH_HEAD_NORMS},
    {"hunyuan-moe", LLAMA_LIKE, .experts = EXPERTS_OWN, .shared = SHARED_LENGTH, .flags = ARCH_HEAD_NORMS},
    {"starcoder2", LLAMA_LIKE, .flags = ARCH_LAYER_NORM | ARCH_NORM_BIASES | ARCH_QKV_BIAS | ARCH_OUT_BIAS | ARCH_UNGATED},
    {"phimoe", LLAMA_LIKE, .experts = EXPERTS_MAYBE,
     .flags = ARCH_LAYER_NORM | ARCH_NORM_BIASES | ARCH_RMS_EPSILON | ARCH_QKV_BIAS | ARCH_OUT_BIAS | ARCH_WINDOW},
    {"stablelm", LLAMA_LIKE, .flags = ARCH_LAYER_NORM | ARCH_NORM_BIASES, .rope_part = 2},
    {"kimi-linear", LLAMA_LIKE, .rope_part = 2, .experts = EXPERTS_OWN, .shared = SHARED_COUNT,
     .flags = ARCH_KDA | ARCH_LATENT | ARCH_DENSE_LEAD | ARCH_CHOICE_BIAS,
     .keys = "expert_gating_func=2 expert_weights_scale=2.446"},
    {"glm5next", LLAMA_LIKE, .rope_part = 2, .experts = EXPERTS_OWN, .shared = SHARED_COUNT,
     .flags = ARCH_KDA | ARCH_LATENT | ARCH_DENSE_LEAD | ARCH_CHOICE_BIAS | ARCH_INDEXER | ARCH_POOLS | ARCH_HYPER | ARCH_NO_ROPE,
     .keys = "expert_gating_func=2 expert_weights_scale=2.5 kda.gate_lower_bound=-5 swiglu_clamp_exp=1.5 swiglu_clamp_shexp=1"},
    {"deepseek4", LLAMA_LIKE, .rope_part = 2, .experts = EXPERTS_OWN, .shared = SHARED_COUNT,
     .flags = ARCH_COMPRESSED | ARCH_CHOICE_BIAS | ARCH_HYPER | ARCH_WINDOW,
     .keys = "expert_gating_func=4 expert_weights_norm=1 expert_weights_scale=1.5 swiglu_clamp_exp=1.5"},
    {"qwen4exp", .norm2 = NULL, .flags = HYBRID | ARCH_SECTIONS | ARCH_SHARED_GATE | ARCH_NO_FIRST_NORM | ARCH_MIX,
     .experts = EXPERTS_OWN, .shared = SHARED_LENGTH, .rope_part = 2},
    {"deepseek32", LLAMA_LIKE, .rope_part = 2, .experts = EXPERTS_OWN, .shared = SHARED_COUNT,
     .flags = ARCH_LATENT | ARCH_DENSE_LEAD | ARCH_CHOICE_BIAS | ARCH_INDEXER | ARCH_DRAFTS,
     .keys = "expert_gating_func=2 expert_weights_norm=1 expert_weights_scale=2.5"},
    {"glm-dsa", LLAMA_LIKE, .rope_part = 2, .experts = EXPERTS_OWN, .shared = SHARED_COUNT,
     .flags = ARCH_LATENT | ARCH_DENSE_LEAD | ARCH_CHOICE_BIAS | ARCH_INDEXER | ARCH_DRAFTS,
     .keys = "expert_gating_func=2 expert_weights_norm=1 expert_weights_scale=2.5"},
    {"qwen2vl", LLAMA_LIKE, .flags = ARCH_QKV_BIAS | ARCH_SECTIONS},
    {"mistral4", LLAMA_LIKE, .rope_part = 2, .experts = EXPERTS_OWN, .shared = SHARED_COUNT, .flags = ARCH_LATENT | ARCH_DENSE_LEAD,
     .keys = "expert_gating_func=1 expert_weights_norm=1 expert_weights_scale=1.5"},
    {"deepseek2", LLAMA_LIKE, .rope_part = 2, .experts = EXPERTS_OWN, .shared = SHARED_COUNT,
     .flags = ARCH_LATENT | ARCH_DENSE_LEAD | ARCH_CHOICE_BIAS_MAYBE | ARCH_DRAFTS,
     .keys = "expert_gating_func=2 expert_weights_norm=1 expert_weights_scale=2.5"},
};

const model_arch *model_arch_find(const char *name)
{
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        if (strcmp(archs[i].name, name) == 0)
            return &archs[i];
    return NULL;
}
