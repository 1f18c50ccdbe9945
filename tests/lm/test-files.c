/*
 * Model files that are almost right: a tensor or key that is missing, changed or
 * one too many is refused, and the text says which and what to do.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "subject.h"

typedef struct change {
    const char *options;  /* of make-model */
    const char *drop;     /* a tensor left out */
    const char *add;      /* a tensor added, or one of another shape */
    int64_t ne[2];
    uint32_t type;        /* of the added one */
    const char *key;      /* "<architecture>." is put before it */
    double number;        /* its value, */
    const char *text;     /* or this */
    int status;           /* what opening it gives */
    const char *says[2];  /* what the text must have */
} change;

#define LLAMA "--arch llama --layers 1"
#define QWEN2 "--arch qwen2 --layers 1"
#define QWEN3 "--arch qwen3 --layers 1"
#define MOE "--arch qwen3moe --layers 1"
#define HYBRID_MOE "--arch qwen35moe --layers 2"
#define GEMMA4 "--arch gemma4 --layers 4 --period 2"
#define GLM5 "--arch glm5next --layers 2 --interval 2 --kv-heads 1"
#define DEEPSEEK4 "--arch deepseek4 --layers 3 --experts 4 --used 2"
#define QWEN4 "--arch qwen4exp --layers 4 --interval 2 --experts 4 --used 2"
#define FALCON "--arch falcon-h1 --layers 1"
#define FORMAT ENG_ERR_FORMAT
#define UNSUPPORTED ENG_ERR_UNSUPPORTED

static const change changes[] = {
    {LLAMA, .drop = "nothing"},
    {"--arch deepseek32 --layers 1 --kv-heads 1", .drop = "blk.0.indexer.attn_k.weight", .status = FORMAT,
     .says = {"no tensor blk.0.indexer.attn_k.weight", "deepseek32"}},
    {"--arch glm-dsa --layers 1 --kv-heads 1", .drop = "blk.0.indexer.attn_k.weight", .status = FORMAT,
     .says = {"layer 0 has no indexer"}},
    {"--arch glm-dsa --layers 2 --kv-heads 1 --index-period 2 --int attention.indexer.types=1", .drop = "nothing",
     .status = FORMAT, .says = {"no tensor blk.1.indexer."}},
    {"--arch deepseek32 --layers 1 --kv-heads 1 --without attention.indexer.head_count", .drop = "nothing",
     .status = FORMAT, .says = {"attention.indexer.head_count"}},
    {"--arch deepseek32 --layers 1 --kv-heads 1 --int attention.indexer.key_length=4", .drop = "nothing",
     .status = FORMAT, .says = {"attention.indexer.key_length"}},
    {"--arch deepseek32 --layers 1 --kv-heads 1", .add = "blk.0.indexer.wk.weight", .ne = {16}, .status = UNSUPPORTED,
     .says = {"indexer.wk.weight"}},
    {FALCON, .drop = "blk.0.ffn_norm.weight", .add = "blk.0.ffn_norm", .ne = {128}}, /* as converters call it */
    {FALCON, .drop = "blk.0.ffn_norm.weight", .status = FORMAT, .says = {"no tensor blk.0.ffn_norm"}},
    {FALCON, .drop = "blk.0.ffn_norm.weight", .add = "blk.0.ffn_norm", .ne = {96}, .status = FORMAT, .says = {"blk.0.ffn_norm is 96"}},
    {GLM5, .drop = "nothing"},
    {GLM5 " --index-top 6", .drop = "nothing", .status = FORMAT, .says = {"indexer.top_k is 6", "kpool, which is 4"}},
    {GLM5 " --without attention.indexer.kpool", .drop = "nothing", .status = FORMAT, .says = {"indexer.kpool"}},
    {GLM5 " --without kda.gate_lower_bound", .drop = "nothing", .status = FORMAT, .says = {"kda.gate_lower_bound"}},
    {GLM5 " --key kda.gate_lower_bound=2", .drop = "nothing", .status = FORMAT, .says = {"must not be positive"}},
    {GLM5 " --key swiglu_clamp_exp=-1", .drop = "nothing", .status = FORMAT, .says = {"must not be negative", "-1"}},
    {GLM5 " --without hyper_connection.count", .drop = "nothing", .status = FORMAT, .says = {"hyper_connection.count"}},
    {GLM5 " --int hyper_connection.sinkhorn_iterations=0", .drop = "nothing", .status = FORMAT, .says = {"sinkhorn"}},
    {GLM5, .drop = "blk.1.hc_ffn_base.weight", .status = FORMAT, .says = {"no tensor blk.1.hc_ffn_base.weight"}},
    {GLM5, .drop = "blk.1.indexer_compressor_ape.weight", .status = FORMAT, .says = {"indexer_compressor_ape"}},
    {DEEPSEEK4, .drop = "nothing"},
    {DEEPSEEK4 " --without attention.compress_ratios", .drop = "nothing", .status = FORMAT, .says = {"attention.compress_ratios"}},
    {DEEPSEEK4 " --without hash_layer_count", .drop = "nothing", .status = FORMAT, .says = {"hash_layer_count"}},
    {DEEPSEEK4 " --without attention.compress_rope_freq_base", .drop = "nothing", .status = FORMAT,
     .says = {"compress_rope_freq_base"}},
    {DEEPSEEK4 " --without attention.sliding_window", .drop = "nothing", .status = FORMAT, .says = {"attention.sliding_window"}},
    {DEEPSEEK4 " --without attention.indexer.top_k", .drop = "nothing", .status = FORMAT, .says = {"indexer.top_k"}},
    {DEEPSEEK4 " --int attention.output_group_count=3", .drop = "nothing", .status = FORMAT, .says = {"output_group_count is 3", "4 heads"}},
    {DEEPSEEK4 " --int attention.compress_ratios=1", .drop = "nothing", .status = UNSUPPORTED, .says = {"compress_ratios has 1"}},
    {DEEPSEEK4 " --key rope.scaling.attn_factor=1.2", .drop = "nothing", .status = UNSUPPORTED, .says = {"attn_factor is 1.2"}},
    {DEEPSEEK4 " --index-head 25", .drop = "nothing", .status = FORMAT, .says = {"indexer.key_length must be even"}},
    {DEEPSEEK4 " --int attention.head_count_kv=2", .drop = "nothing", .status = FORMAT, .says = {"head_count_kv is 2"}},
    {DEEPSEEK4, .drop = "blk.0.ffn_gate_tid2eid.weight", .status = FORMAT, .says = {"no tensor blk.0.ffn_gate_tid2eid.weight"}},
    {DEEPSEEK4, .drop = "blk.1.exp_probs_b.bias", .status = FORMAT, .says = {"no tensor blk.1.exp_probs_b.bias"}},
    {DEEPSEEK4, .drop = "blk.1.indexer.proj.weight", .status = FORMAT, .says = {"blk.1.attn_compressor_kv.weight is"}},
    {DEEPSEEK4, .drop = "blk.2.attn_compressor_ape.weight", .status = FORMAT, .says = {"no tensor blk.2.attn_compressor_ape"}},
    {DEEPSEEK4, .drop = "output_hc_base.weight", .status = FORMAT, .says = {"no tensor output_hc_base.weight"}},
    {DEEPSEEK4, .drop = "blk.0.attn_sinks.weight", .status = FORMAT, .says = {"no tensor blk.0.attn_sinks.weight"}},
    {QWEN4, .drop = "nothing"},
    {QWEN4 " --without ple.layers", .drop = "nothing"}, /* the tensors say it */
    {QWEN4 " --ngrams 0", .drop = "nothing"},
    {QWEN4 " --without hyper_connection.low_rank", .drop = "nothing", .status = FORMAT, .says = {"hyper_connection.low_rank"}},
    {QWEN4 " --without attention.compress_ratios", .drop = "nothing", .status = FORMAT, .says = {"attention.compress_ratios"}},
    {QWEN4 " --int attention.compress_ratios=4", .drop = "nothing", .status = UNSUPPORTED,
     .says = {"compress_ratios has 4 for layer 0"}},
    {QWEN4 " --index-top 6", .drop = "nothing", .status = FORMAT, .says = {"indexer.top_k is 6", "compress_ratios, which is 4"}},
    {QWEN4 " --int ple.ngram_size=9", .drop = "nothing", .status = FORMAT, .says = {"ple.ngram_size is 9"}},
    {QWEN4 " --int ple.ngram_size=4", .drop = "nothing", .status = FORMAT, .says = {"ple.layer_multipliers must be a list of 4"}},
    {QWEN4 " --int ple.eos_token_id=512", .drop = "nothing", .status = FORMAT, .says = {"ple.eos_token_id is 512"}},
    {QWEN4 " --without ple.head_offsets", .drop = "nothing", .status = FORMAT, .says = {"ple.head_offsets"}},
    {QWEN4 " --without ple.conv_kernel", .drop = "nothing", .status = FORMAT, .says = {"ple.conv_kernel"}},
    {QWEN4 " --int embedding_length_per_layer_input=9", .drop = "nothing", .status = FORMAT,
     .says = {"per_layer_token_embd.weight is 8 x", "make it 9"}},
    {QWEN4, .drop = "per_layer_token_embd.weight", .status = UNSUPPORTED, .says = {"per_layer_token_embd.weight, has 0 rows"}},
    {QWEN4, .drop = "blk.2.ple_key.weight", .status = FORMAT, .says = {"no layer has a tensor ple_key.weight"}},
    {QWEN4, .add = "blk.1.ple_key.weight", .ne = {32, 512}, .status = UNSUPPORTED, .says = {"blk.1.ple_key.weight", "one that attends"}},
    {QWEN4, .add = "blk.0.ple_key.weight", .ne = {32, 512}, .status = UNSUPPORTED, .says = {"ple_key.weight", "several layers"}},
    {QWEN4, .drop = "blk.2.ple_norm_conv.weight", .status = FORMAT, .says = {"no tensor blk.2.ple_norm_conv.weight"}},
    {QWEN4, .drop = "blk.3.indexer.k_norm.weight", .status = FORMAT, .says = {"no tensor blk.3.indexer.k_norm.weight"}},
    {QWEN4, .drop = "blk.0.hc_ffn_inject.weight", .status = FORMAT, .says = {"no tensor blk.0.hc_ffn_inject.weight"}},
    {QWEN4, .drop = "output_hc_up.weight", .status = FORMAT, .says = {"no tensor output_hc_up.weight"}},
    {QWEN4, .add = "output_norm.weight", .ne = {128}, .status = UNSUPPORTED, .says = {"a tensor output_norm.weight"}},
    {LLAMA " --int ple.ngram_size=3", .drop = "nothing", .status = UNSUPPORTED, .says = {"ple.ngram_size is 3"}},
    {LLAMA " --int hash_layer_count=3", .drop = "nothing", .status = UNSUPPORTED, .says = {"hash_layer_count"}},
    {LLAMA " --int hyper_connection.count=4", .drop = "nothing", .status = UNSUPPORTED, .says = {"hyper_connection.count"}},
    {LLAMA, .drop = "blk.0.attn_k.weight", .status = FORMAT, .says = {"no tensor blk.0.attn_k.weight", "llama"}},
    {LLAMA " --fused-qkv", .drop = "blk.0.attn_qkv.weight", .status = FORMAT, .says = {"blk.0.attn_q.weight"}},
    {LLAMA " --fused-qkv", .add = "blk.0.attn_q.weight", .ne = {128, 128}, .status = UNSUPPORTED,
     .says = {"a tensor blk.0.attn_q.weight", "wrong results"}},
    {LLAMA " --fused-qkv", .add = "blk.0.attn_q.bias", .ne = {128}, .status = UNSUPPORTED, .says = {"attn_q.bias"}},
    {LLAMA, .add = "blk.0.attn_rel_b.weight", .ne = {128, 8}, .status = UNSUPPORTED, .says = {"attn_rel_b.weight"}},
    {LLAMA, .add = "blk.0.attn_q_norm.weight", .ne = {32}, .status = UNSUPPORTED, .says = {"attn_q_norm", "llama"}},
    {LLAMA, .add = "rope_freqs.weight", .ne = {15}, .status = FORMAT, .says = {"rope_freqs.weight is 15", "16"}},
    {LLAMA, .add = "blk.0.ffn_up.scale", .ne = {2}, .status = FORMAT, .says = {"blk.0.ffn_up.scale is 2", "make it 1"}},
    {LLAMA, .add = "blk.0.ffn_up.bias", .ne = {384}, .type = ENG_TYPE_F16, .status = UNSUPPORTED,
     .says = {"ffn_up.bias", "only f32"}},
    {LLAMA, .key = "rope.dimension_count", .number = 16, .status = UNSUPPORTED, .says = {"llama.rope.dimension_count is 16"}},
    {LLAMA, .key = "rope.scaling.type", .text = "longrope"}, /* of no consequence without a factor */
    {LLAMA " --linear 2", .key = "rope.scaling.type", .text = "longrope", .status = UNSUPPORTED,
     .says = {"\"longrope\"", "yarn"}},
    {LLAMA, .key = "rope.scaling.beta_fast", .number = 32, .status = UNSUPPORTED,
     .says = {"key llama.rope.scaling.beta_fast is not known"}},
    /* layers of different sizes, and those that read earlier ones' caches */
    {GEMMA4 " --shared-caches 2 --local-head 16", .drop = "nothing"},
    /* some files have what nobody needs */
    {GEMMA4 " --shared-caches 2", .add = "blk.3.attn_k.weight", .ne = {128, 64}},
    {GEMMA4 " --shared-caches 1", .drop = "blk.2.attn_k.weight", .status = FORMAT, .says = {"no tensor blk.2.attn_k.weight"}},
    {GEMMA4 " --shared-caches 3", .status = FORMAT, .drop = "nothing",
     .says = {"gemma4.attention.shared_kv_layers is 3", "layer 1 could read, with no window"}},
    {GEMMA4 " --shared-caches 1 --full-kv-heads 1", .drop = "nothing"},
    {GEMMA4, .key = "attention.value_length_swa", .number = 31, .status = FORMAT, .says = {"attention.value_length_swa is 31"}},
    {GEMMA4, .key = "rope.dimension_count_swa", .number = 16, .status = UNSUPPORTED,
     .says = {"gemma4.rope.dimension_count_swa is 16", "only 32 is known"}},
    {GEMMA4, .key = "attention.head_count_kv", .number = 3, .status = FORMAT, .says = {"gemma4", "4 heads over 3"}},
    {GEMMA4 " --input 8", .key = "embedding_length_per_layer_input", .number = 4, .status = FORMAT,
     .says = {"per_layer_token_embd.weight is 32 x 512", "make it 16"}},
    {GEMMA4 " --input 8", .drop = "per_layer_model_proj.weight", .status = FORMAT, .says = {"per_layer_model_proj"}},
    {GEMMA4 " --input 8", .drop = "blk.2.proj.weight", .status = FORMAT, .says = {"blk.2.proj.weight"}},
    {"--arch gemma3n --layers 2", .drop = "nothing"},
    {"--arch gemma3n --layers 2 --without attention.shared_kv_layers", .drop = "nothing", .status = FORMAT,
     .says = {"no key gemma3n.attention.shared_kv_layers"}},
    {"--arch gemma3n --layers 2 --without activation_sparsity_scale", .drop = "nothing", .status = FORMAT,
     .says = {"no key gemma3n.activation_sparsity_scale"}},
    {"--arch gemma3n --layers 2", .key = "altup.num_inputs", .number = 1, .status = FORMAT, .says = {"gemma3n.altup.num_inputs is 1"}},
    {"--arch gemma3n --layers 2", .key = "altup.active_idx", .number = 4, .status = FORMAT, .says = {"gemma3n.altup.active_idx is 4"}},
    {"--arch gemma3n --layers 2", .key = "altup.num_inputs", .number = 3, .status = FORMAT, .says = {"altup_proj.weight is", "x 2"}},
    {"--arch gemma3n --layers 2", .drop = "blk.0.laurel_l.weight", .status = FORMAT, .says = {"blk.0.laurel_l.weight"}},
    {"--arch lfm2 --layers 3 --interval 2", .drop = "nothing"},
    {"--arch lfm2 --layers 3 --interval 2", .drop = "blk.0.shortconv.conv.weight", .status = FORMAT, .says = {"shortconv.conv"}},
    {"--arch lfm2 --layers 3 --interval 2 --without shortconv.l_cache", .drop = "nothing", .status = FORMAT,
     .says = {"no key lfm2.shortconv.l_cache"}},
    {"--arch lfm2 --layers 3 --interval 2 --without attention.head_count_kv", .drop = "nothing", .status = FORMAT,
     .says = {"no key lfm2.attention.head_count_kv"}},
    {"--arch lfm2 --layers 3 --interval 2", .add = "blk.0.shortconv.conv.bias", .ne = {128}, .status = UNSUPPORTED,
     .says = {"a tensor blk.0.shortconv.conv.bias", "wrong results"}},
    {"--arch lfm2 --layers 3 --interval 2", .key = "attention.sliding_window", .number = 8, .status = UNSUPPORTED,
     .says = {"lfm2.attention.sliding_window is 8"}},
    {LLAMA, .key = "attention.shared_kv_layers", .number = 1, .status = UNSUPPORTED, .says = {"attention.shared_kv_layers is 1"}},
    {LLAMA, .key = "attention.key_length_swa", .number = 16, .status = UNSUPPORTED, .says = {"attention.key_length_swa is 16"}},
    {LLAMA, .key = "rope.freq_base_swa", .number = 10000, .status = UNSUPPORTED, .says = {"rope.freq_base_swa is not known"}},
    {LLAMA, .key = "rope.dimension_sections", .number = 8, .status = UNSUPPORTED, .says = {"several position streams", "llama"}},
    {LLAMA, .key = "rope.scaling.finetuned", .number = 1},
    {LLAMA, .key = "rope.scaling.yarn_beta_fast", .number = 16, .status = UNSUPPORTED,
     .says = {"llama.rope.scaling.yarn_beta_fast is of YaRN", "llama.rope.scaling.type"}},
    {LLAMA, .key = "rope.scaling.yarn_log_multiplier", .number = 0}, /* says nothing */
    {QWEN3, .key = "rope.scaling.type", .text = "yarn", .status = FORMAT, .says = {"no key qwen3.rope.scaling.factor"}},
    {QWEN3 " --yarn 4", .key = "rope.scaling.yarn_beta_slow", .number = 40, .status = FORMAT,
     .says = {"yarn_beta_fast must be at least yarn_beta_slow, got 32 and 40"}},
    {QWEN3 " --yarn 4", .key = "rope.scaling.yarn_attn_factor", .number = 0, .status = FORMAT,
     .says = {"qwen3.rope.scaling.yarn_attn_factor must be positive, got 0"}},
    /* keys that change what is computed, of architectures that do not read them */
    {LLAMA, .key = "attention.sliding_window", .number = 64, .status = UNSUPPORTED,
     .says = {"key llama.attention.sliding_window is 64", "not known for llama"}},
    {LLAMA, .key = "attention.sliding_window", .number = 0},
    {QWEN2, .key = "embedding_scale", .number = 12, .status = UNSUPPORTED, .says = {"key qwen2.embedding_scale is 12"}},
    {QWEN2, .key = "residual_scale", .number = 1},
    {QWEN3, .key = "attn_logit_softcapping", .number = 50, .status = UNSUPPORTED, .says = {"qwen3.attn_logit_softcapping"}},
    {LLAMA, .key = "attention.causal", .number = 0, .status = UNSUPPORTED, .says = {"llama.attention.causal is false"}},
    {"--arch qwen3moe --layers 1 --experts 4", .key = "expert_weights_norm", .number = 0, .status = UNSUPPORTED,
     .says = {"expert_weights_norm is false", "always normed"}},
    /* what a graph depends on must be there, once, and possible */
    {"--arch llama --layers 1 --without attention.layer_norm_rms_epsilon", .drop = "nothing", .status = FORMAT,
     .says = {"no key llama.attention.layer_norm_rms_epsilon"}},
    {"--arch gemma2 --layers 1 --without attention.sliding_window", .drop = "nothing", .status = FORMAT,
     .says = {"no key gemma2.attention.sliding_window", "present-day converter"}},
    {"--arch gemma2 --layers 1 --without attn_logit_softcapping", .drop = "nothing", .status = FORMAT,
     .says = {"no key gemma2.attn_logit_softcapping"}},
    {"--arch gpt-oss --layers 1", .drop = "blk.0.attn_sinks.weight", .status = FORMAT, .says = {"blk.0.attn_sinks.weight"}},
    {"--arch gpt-oss --layers 1", .key = "attention.sliding_window", .number = 0, .status = FORMAT,
     .says = {"gpt-oss.attention.sliding_window is 0"}},
    {"--arch granite --layers 1 --without logit_scale", .drop = "nothing", .status = FORMAT,
     .says = {"no key granite.logit_scale"}},
    {"--arch glm4 --layers 1 --without rope.dimension_count", .drop = "nothing", .status = FORMAT,
     .says = {"no key glm4.rope.dimension_count"}},
    /* of the block that drafts */
    {"--arch glm4moe --layers 2 --mtp 1 --experts 4", .drop = "blk.2.nextn.enorm.weight"},
    {"--arch glm4moe --layers 2 --experts 4", .key = "expert_gating_func", .number = 5, .status = UNSUPPORTED,
     .says = {"glm4moe.expert_gating_func is 5"}},
    {"--arch glm4moe --layers 2 --experts 6 --groups 4 --groups-used 2", .drop = "nothing", .status = FORMAT,
     .says = {"glm4moe.expert_group_count is 4", "6 experts"}},
    {"--arch mistral3 --layers 1", .key = "attention.temperature_scale", .number = 0.1, .status = FORMAT,
     .says = {"no key mistral3.rope.scaling.original_context_length"}},
    {"--arch llama4 --layers 1", .key = "attention.sliding_window", .number = 0, .status = UNSUPPORTED,
     .says = {"llama4.attention.sliding_window is 0"}},
    {"--arch deepseek2 --layers 1 --experts 4 --choice-bias --without expert_gating_func", .drop = "nothing",
     .status = FORMAT, .says = {"no key deepseek2.expert_gating_func", "blk.0.exp_probs_b.bias"}},
    {"--arch deepseek2 --layers 1 --experts 4 --yarn 4", .drop = "nothing", .status = FORMAT,
     .says = {"no key deepseek2.rope.scaling.yarn_log_multiplier"}},
    {"--arch deepseek2 --layers 1 --experts 4", .key = "attention.value_length", .number = 32, .status = FORMAT,
     .says = {"deepseek2.attention.value_length is 32"}},
    {"--arch deepseek2 --layers 1 --experts 4", .key = "attention.temperature_scale", .number = 0.1, .status = FORMAT,
     .says = {"no key deepseek2.rope.scaling.original_context_length"}},
    {"--arch mistral4 --layers 1 --experts 4", .key = "attention.temperature_scale", .number = -0.1, .status = FORMAT,
     .says = {"mistral4.attention.temperature_scale must not be negative"}},
    {"--arch mistral4 --layers 1 --experts 4 --key attention.temperature_scale=0.1", .key = "attention.temperature_length", .number = 0,
     .status = FORMAT, .says = {"mistral4.attention.temperature_length is 0"}},
    {"--arch mistral4 --layers 1 --experts 4 --without attention.kv_lora_rank", .drop = "nothing", .status = FORMAT,
     .says = {"no key mistral4.attention.kv_lora_rank"}},
    {"--arch mistral4 --layers 1 --experts 4", .key = "nextn_predict_layers", .number = 1, .status = UNSUPPORTED,
     .says = {"mistral4.nextn_predict_layers is 1"}},
    {"--arch llama --layers 1", .key = "attention.temperature_scale", .number = 0.1, .status = UNSUPPORTED,
     .says = {"llama.attention.temperature_scale"}},
    {LLAMA, .key = "attention.head_count", .number = 3, .status = FORMAT, .says = {"3 heads over 2", "llama"}},
    {LLAMA, .key = "attention.head_count", .number = 0, .status = FORMAT, .says = {"attention.head_count is 0"}},
    {LLAMA, .key = "feed_forward_length", .number = 400, .status = FORMAT, .says = {"ffn_gate.weight is 128 x 384",
                                                                                     "128 x 400"}},
    {LLAMA, .key = "embedding_length", .number = 1.5, .status = FORMAT, .says = {"embedding_length", "whole number"}},
    {LLAMA, .key = "expert_count", .number = 4, .status = FORMAT, .says = {"llama.expert_used_count"}},
    {LLAMA " --experts 4", .drop = "blk.0.ffn_gate_exps.weight", .status = FORMAT, .says = {"ffn_gate_exps.weight"}},
    {LLAMA " --experts 4", .key = "expert_count", .number = 0, .status = FORMAT, .says = {"blk.0.ffn_gate.weight"}},
    {QWEN2, .drop = "blk.0.attn_v.bias", .status = FORMAT, .says = {"no tensor blk.0.attn_v.bias", "qwen2"}},
    {QWEN2, .drop = "output_norm.weight", .status = FORMAT, .says = {"output_norm.weight"}},
    {QWEN2, .drop = "token_embd.weight", .status = FORMAT, .says = {"token_embd.weight", "qwen2"}},
    {QWEN2, .drop = "output.weight"}, /* the embeddings are the head then */
    {QWEN2, .add = "rope_freqs.weight", .ne = {16}, .status = UNSUPPORTED, .says = {"rope_freqs.weight", "qwen2"}},
    {QWEN3, .drop = "blk.0.attn_q_norm.weight", .status = FORMAT, .says = {"blk.0.attn_q_norm.weight"}},
    {QWEN3, .key = "block_count", .number = 2, .status = FORMAT, .says = {"blk.1.attn_norm.weight"}},
    {MOE, .drop = "blk.0.ffn_gate_inp.weight", .status = FORMAT, .says = {"ffn_gate_inp.weight"}},
    {MOE, .add = "blk.0.ffn_gate_up_exps.weight", .ne = {128, 192}, .status = FORMAT, .says = {"ffn_gate_up_exps"}},
    {MOE, .add = "blk.0.exp_probs_b.bias", .ne = {8}, .status = UNSUPPORTED, .says = {"exp_probs_b.bias", "qwen3moe"}},
    {MOE, .add = "blk.0.ffn_down_exps.scale", .ne = {7}, .status = FORMAT, .says = {"ffn_down_exps.scale is 7"}},
    {MOE, .key = "expert_used_count", .number = 9, .status = FORMAT, .says = {"expert_used_count is 9", "1 and 8"}},
    {MOE, .key = "expert_count", .number = 0, .status = FORMAT, .says = {"expert_count is 0"}},
    {MOE, .key = "expert_gating_func", .number = 2, .status = UNSUPPORTED, .says = {"expert_gating_func is 2"}},
    {MOE, .key = "expert_gating_func", .number = 1},
    {MOE, .key = "expert_group_count", .number = 4, .status = UNSUPPORTED, .says = {"expert_group_count is 4"}},
    {MOE, .key = "expert_feed_forward_length", .number = 64, .status = FORMAT, .says = {"is 128 x 96 x 8", "128 x 64 x 8"}},
    {HYBRID_MOE, .drop = "blk.1.ffn_up_shexp.weight", .status = FORMAT, .says = {"blk.1.ffn_up_shexp.weight"}},
    {HYBRID_MOE, .key = "expert_shared_feed_forward_length", .number = 32, .status = FORMAT, .says = {"ffn_gate_shexp"}},
    {HYBRID_MOE " --mtp 1", .key = "nextn_predict_layers", .number = 3, .status = FORMAT, .says = {"nextn_predict_layers"}},
    {HYBRID_MOE, .key = "ssm.inner_size", .number = 96, .status = FORMAT, .says = {"qwen35moe", "96"}},
};

static bool is(const eng_gguf_string *s, const char *text)
{
    return s->length == strlen(text) && memcmp(s->data, text, s->length) == 0;
}

static int change_keys(const eng_gguf *in, eng_gguf_writer *out, const change *c)
{
    char name[128];
    eng_gguf_string arch;
    int status = eng_gguf_text(in, "general.architecture", 0, &arch);
    snprintf(name, sizeof name, "%.*s.%s", (int)arch.length, arch.data, c->key ? c->key : "");
    for (uint64_t i = 0; i < eng_gguf_key_count(in) && !status; i++)
        if (!is(&eng_gguf_key_get(in, i)->name, name))
            status = eng_gguf_writer_key(out, eng_gguf_key_get(in, i));
    if (status || !c->key)
        return status;
    return c->text ? eng_gguf_writer_text(out, name, c->text) : eng_gguf_writer_number(out, name, c->number);
}

static int change_tensors(const eng_gguf *in, eng_gguf_writer *out, const change *c)
{
    static const float data[128 * 192];
    int status = ENG_OK;
    for (uint32_t i = 0; i < eng_gguf_tensor_count(in) && !status; i++) {
        const eng_gguf_tensor *t = eng_gguf_tensor_get(in, i);
        if (!c->drop || strcmp(c->drop, t->name) != 0)
            status = eng_gguf_writer_tensor(out, t->name, t->type, t->ne, t->rank, t->data);
    }
    if (!status && c->add)
        status = eng_gguf_writer_tensor(out, c->add, c->type, c->ne, c->ne[1] ? 2 : 1, data);
    return status;
}

/* from -> to */
static int apply(const change *c, const char *from, const char *to)
{
    eng_gguf *in = NULL;
    eng_gguf_writer *out = NULL;
    int status = eng_gguf_open(from, &in);
    if (!status)
        status = eng_gguf_writer_create(&out);
    if (!status)
        status = change_keys(in, out, c);
    if (!status)
        status = change_tensors(in, out, c);
    if (!status)
        status = eng_gguf_writer_save(out, to);
    eng_gguf_writer_destroy(out);
    eng_gguf_close(in);
    return status;
}

static void check(eng_context *engine, const change *c, const char *path)
{
    subject s;
    const char *what = c->drop ? c->drop : c->add ? c->add : c->key;
    int status = subject_open(&s, engine, "cpu", path, NULL, NULL);
    const char *text = status ? eng_last_error() : "it was accepted";
    bool good = status == c->status;
    for (int i = 0; i < 2 && c->status; i++)
        good = good && (!c->says[i] || strstr(text, c->says[i]));
    tap_check(good, "%s %s %s: %s", c->options, c->drop ? "without" : c->add ? "and" : "with another", what, text);
    if (!status)
        subject_close(&s);
}

/* A way to spread experts that is none; one that is, of no consequence for a model without them. */
static void check_experts(eng_context *engine, const char *path)
{
    eng_lm_placement placement = {.size = sizeof placement, .experts = 7};
    subject s;
    int made = subject_make(QWEN3, path);
    int status = subject_open(&s, engine, "cpu", path, &placement, NULL);
    tap_check(!made && status == ENG_ERR_INVALID && strstr(eng_last_error(), "experts 7"), "experts 7: %s",
              eng_last_error());
    placement.experts = ENG_LM_EXPERTS_PARALLEL;
    status = subject_open(&s, engine, "cpu", path, &placement, NULL);
    tap_check(!made && !status, "experts dealt out, without any: %s", status ? eng_last_error() : "it was accepted");
    if (!status)
        subject_close(&s);
}

/* What opening a file says that has no key but its architecture. */
static int open_named(eng_context *engine, const char *path, const char *name)
{
    eng_gguf_writer *w = NULL;
    subject s;
    int status = eng_gguf_writer_create(&w);
    status = status ? status : eng_gguf_writer_text(w, "general.architecture", name);
    status = status ? status : eng_gguf_writer_save(w, path);
    eng_gguf_writer_destroy(w);
    return status ? status : subject_open(&s, engine, "cpu", path, NULL, NULL);
}

/* Architectures that are known by name alone, and one that is not: then all known ones are told, the last one, too. */
static void check_absent(eng_context *engine, const char *path)
{
    static const char *const known[] = {
#define LM_ARCH(name) #name,
#include "../../libengine-lm/arch/list.def"
#undef LM_ARCH
    };
    static const char *const absent[][2] = {
#define LM_ABSENT(name, what) {name, what},
#include "../../libengine-lm/arch/absent.def"
#undef LM_ABSENT
    };
    int missing = 0;
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        int status = open_named(engine, path, absent[i][0]);
        tap_check(status == UNSUPPORTED && strstr(eng_last_error(), absent[i][0]) &&
                      strstr(eng_last_error(), absent[i][1]),
                  "%s", eng_last_error());
    }
    int opened = open_named(engine, path, "no-such-thing");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char name[64], *at;
        snprintf(name, sizeof name, "%s", known[i]);
        const char *said = strstr(eng_last_error(), name);
        while (!said && (at = strchr(name, '_'))) { /* of some a C name is not quite theirs */
            *at = '-';
            said = strstr(eng_last_error(), name);
        }
        missing += !said;
    }
    tap_check(opened == UNSUPPORTED && strstr(eng_last_error(), "no-such-thing") && missing == 0,
              "all of %zu architectures are told but %d: %s", sizeof known / sizeof *known, missing, eng_last_error());
}

/* As many layers as others have places for, one more, and more than anybody has. */
static void check_layers(eng_context *engine, const char *path)
{
    static const struct {
        const char *options;
        int layers, status;
        const char *says;
    } cases[] = {{"--arch llama --layers 513", 513, ENG_OK, ""},
                 {"--arch qwen35 --layers 513 --interval 100", 513, ENG_OK, ""},
                 {"--arch llama --layers 1024", 1024, ENG_OK, ""},
                 {"--arch llama --layers 1025", 1025, FORMAT, "llama.block_count is 1025"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char options[256];
        subject s;
        int32_t token = 5;
        snprintf(options, sizeof options, "%s --embd 16 --ffn 16 --heads 1 --kv-heads 1 --head 16 --vocab 300",
                 cases[i].options);
        int made = subject_make(options, path),
            status = made ? ENG_OK : subject_open(&s, engine, "cpu", path, NULL, NULL);
        const char *text = status ? eng_last_error() : "it was accepted";
        const float *logits = made || status ? NULL : subject_run(&s, &token, 1);
        tap_check(!made && status == cases[i].status && (status ? strstr(text, cases[i].says) != NULL : logits != NULL),
                  "%s: %s%s", cases[i].options, text, logits ? ", and runs" : "");
        if (!made && !status)
            subject_close(&s);
    }
}

int main(void)
{
    char from[256], to[256];
    const char *made = "";
    eng_context *engine = tap_begin();
    if (!engine)
        return 1;
    scratch_path("files", from);
    scratch_path("files-changed", to);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        const change *c = &changes[i];
        if (strcmp(made, c->options) != 0 && subject_make(c->options, from)) {
            tap_check(false, "make-model %s", c->options);
            continue;
        }
        made = c->options;
        if (apply(c, from, to))
            tap_check(false, "%s: %s", c->options, eng_last_error());
        else
            check(engine, c, to);
    }
    check_experts(engine, from);
    check_absent(engine, from);
    check_layers(engine, from);
    remove(from);
    remove(to);
    return tap_end(engine);
}
