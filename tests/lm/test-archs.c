/*
 * Random models of every architecture: on one device and split, a prompt and the
 * most likely tokens after it must have the logits of the plain forward in double
 * precision.
 *
 *     test-archs [--slow] [--only TEXT] [--random N] [--seed S]
 *
 * --slow: all models on every device, on OpenCL too.  --only: models whose options have the text.
 * --random: instead of the table, N models of random shapes on random splits, from
 * number S on; each is told with its number.
 */
#include "config.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../reference/model.h"
#include "../tap.h"
#include "subject.h"

#define N_PROMPT 13   /* of the table; random models have 1 to MAX_PROMPT */
#define MAX_PROMPT 80
#define N_STEPS 5
#define N_CELLS 128
#define N_ROWS (1 + N_STEPS) /* of logits */
#define MOST 1e-4            /* largest error, of the logits' root mean square */
#define MOST_HALF 0.02       /* of caches in half precision, */
#define MOST_CACHE 0.2       /* in blocks of 8 bits, */
#define MOST_CACHE_EXPERTS 1.5 /* whose error may be that another expert was chosen */
#define N_STRAY 3            /* tokens that are taken back */

/* Options of make-model, and whether OpenCL devices run it in a short test too. */
static const struct {
    const char *options;
    bool everywhere;
} models[] = {
    /* rope over neighbours, frequencies of the file; heads of an odd size */
    {"--arch llama --seed 31 --heads 6 --kv-heads 2 --head 10 --embd 60 --freqs --biases", true},
    {"--arch llama --seed 32 --heads 40 --kv-heads 40 --head 6 --embd 96 --tied --fused-qkv --scales", false},
    {"--arch llama --seed 33 --heads 5 --kv-heads 1 --head 48 --type q8_0 --embd 160 --linear 3 --biases --fused-qkv",
     false},
    {"--arch llama --seed 34 --experts 3 --used 1 --ffn 72 --yarn 4 --context 128 --type f16", true},
    /* keys that may be absent, or written in an older way */
    {"--arch llama --seed 47 --kv-heads 4 --without attention.head_count_kv --without rope.dimension_count "
     "--key rope.scale_linear=4", false},
    {"--arch qwen2 --seed 48 --heads 4 --head 32 --embd 128 --without attention.key_length --linear 3 "
     "--without attention.value_length --without rope.freq_base --without rope.scaling.type", false},
    {"--arch qwen3 --seed 49 --yarn 4 --context 512 --key rope.scaling.attn_factor=1.3 --key rope.freq_base=1000000 "
     "--key attention.layer_norm_rms_epsilon=1e-4", false},
    {"--arch qwen3moe --seed 50 --experts 6 --used 3 --ffn 96 --expert-ffn 32 --without expert_feed_forward_length "
     "--key expert_weights_scale=2.5", false},
    {"--arch qwen35moe --seed 51 --rope 8 --without rope.dimension_count --without full_attention_interval "
     "--without ssm.inner_size --without vocab_size --without feed_forward_length", false},
    /* YaRN with numbers of the file's own */
    {"--arch llama --seed 52 --yarn 8 --context 4096 --head 64 --freqs --key rope.scaling.yarn_beta_fast=6 "
     "--key rope.scaling.yarn_beta_slow=2.5 --key rope.scaling.yarn_attn_factor=1.1", true},
    {"--arch qwen2 --seed 53 --yarn 4 --context 2048 --head 48 --key rope.scaling.yarn_beta_fast=3 "
     "--key rope.scaling.yarn_log_multiplier=0.707 --key rope.scaling.attn_factor=1.2 --key rope.scaling.finetuned=1", false},
    {"--arch qwen3 --seed 54 --yarn 16 --context 8192 --head 32 --key rope.scaling.yarn_ext_factor=0.6 "
     "--key rope.scaling.yarn_beta_slow=0.25", false},
    {"--arch qwen3moe --seed 55 --experts 4 --yarn 4 --context 64 --key rope.scaling.yarn_ext_factor=0 "
     "--key rope.scaling.yarn_attn_factor=1.4", false},
    {"--arch qwen35 --seed 56 --rope 16 --yarn 5 --context 5120 --key rope.scaling.yarn_beta_fast=2 "
     "--key rope.scaling.yarn_log_multiplier=1", true},
    {"--arch llama --seed 57 --linear 3 --key rope.scaling.attn_factor=1.25 --key rope.scaling.yarn_log_multiplier=0", false},
    /* q and k of recurrent layers that are so small that their normalisation does not make them of unit length */
    {"--arch qwen35 --seed 58 --small-conv --interval 2 --k-heads 3 --v-heads 6", true},
    /* biases */
    {"--arch qwen2 --seed 35 --heads 7 --kv-heads 1 --head 18 --embd 126 --vocab 509 --ffn 331", true},
    {"--arch qwen2 --seed 36 --heads 12 --kv-heads 4 --head 16 --embd 192 --type q8_0 --fused-qkv --tied", false},
    {"--arch qwen2 --seed 37 --heads 3 --kv-heads 3 --head 40 --type f16 --linear 2 --layers 2", false},
    /* norms of heads */
    {"--arch qwen3 --seed 38 --heads 40 --kv-heads 8 --head 20 --embd 128 --type q8_0 --yarn 8 --context 256", true},
    {"--arch qwen3 --seed 39 --heads 16 --kv-heads 16 --head 8 --embd 100 --ffn 97 --tied --fused-qkv", false},
    {"--arch qwen3 --seed 40 --heads 4 --kv-heads 1 --head 64 --type f16 --scales --biases", false},
    /* experts */
    {"--arch qwen3moe --seed 41 --experts 16 --used 4 --expert-ffn 24 --type f16 --layers 3", true},
    {"--arch qwen3moe --seed 42 --experts 5 --used 2 --expert-ffn 33 --fused-experts --scales --embd 96", false},
    {"--arch qwen3moe --seed 43 --experts 3 --used 3 --expert-ffn 64 --type q8_0 --heads 9 --kv-heads 3 --head 32",
     false},
    {"--arch qwen35moe --seed 44 --experts 8 --used 3 --expert-ffn 40 --shared-ffn 56 --fused-experts --mtp 1", true},
    {"--arch qwen35moe --seed 45 --experts 6 --used 2 --type q8_0 --expert-ffn 64 --shared-ffn 96 --interval 2 --scales",
     false},
    {"--arch qwen35moe --seed 46 --experts 11 --used 1 --type f16 --k-heads 1 --v-heads 3 --kv-heads 1 --heads 5 --tied",
     false},
    /* gemma2: windows and softcaps; the 27B's scale, known by its layers */
    {"--arch gemma2 --seed 101 --heads 6 --kv-heads 2 --head 24 --embd 96", true},
    {"--arch gemma2 --seed 102 --tied --window 3 --period 3 --layers 6 --type q8_0", false},
    {"--arch gemma2 --seed 103 --layers 46 --embd 48 --heads 2 --kv-heads 1 --head 40 --ffn 32 --vocab 300", false},
    /* gemma3: two ropes */
    {"--arch gemma3 --seed 104 --layers 7 --heads 4 --kv-heads 1 --head 20 --key rope.freq_base=1000000 --linear 8", true},
    {"--arch gemma3 --seed 105 --period 2 --window 4 --tied --key final_logit_softcapping=6 --key rope.freq_base_swa=5000",
     false},
    {"--arch gemma3 --seed 106 --layers 62 --embd 48 --heads 2 --kv-heads 1 --head 40 --ffn 32 --vocab 300", false},
    {"--arch glm4 --seed 107 --heads 8 --kv-heads 2 --head 16 --biases", true},
    {"--arch glm4 --seed 108 --type q8_0 --tied --head 64 --rope 24", false},
    /* glm4moe: dense layers first, biased sigmoids, with and without head norms, a block that drafts */
    {"--arch glm4moe --seed 109 --dense-lead 1 --experts 8 --used 3 --mtp 1 --layers 3", true},
    {"--arch glm4moe --seed 110 --head-norms --shared-count 2 --experts 6 --groups 1 --type q8_0 "
     "--without expert_gating_func", false},
    {"--arch glm4moe --seed 111 --int expert_weights_norm=0 --int expert_gating_func=1 --experts 5 --used 2", false},
    {"--arch glm4moe --seed 112 --experts 12 --used 3 --groups 4 --groups-used 2 --shared-count 0 "
     "--without expert_shared_count --int expert_shared_count=0", false},
    /* gpt-oss: sinks, windows, biases of experts, YaRN between pairs that are no whole numbers */
    {"--arch gpt-oss --seed 113 --experts 6 --used 2 --yarn 32 --context 4096 --key rope.freq_base=150000 --head 64", true},
    {"--arch gpt-oss --seed 114 --experts 8 --used 4 --ffn-type mxfp4 --embd 64 --expert-ffn 64 --heads 8 --kv-heads 2",
     true},
    {"--arch gpt-oss --seed 115 --fused-experts --window 3 --period 1 --experts 4 --layers 2", false},
    {"--arch qwen2moe --seed 116 --experts 7 --used 3", true},
    {"--arch qwen2moe --seed 117 --experts 4 --used 4 --type q8_0 --shared-ffn 160 --key expert_weights_scale=1.5", false},
    {"--arch smollm3 --seed 118 --layers 5 --tied", true},
    {"--arch phi3 --seed 119 --head 24 --rope 18 --heads 6 --kv-heads 3 --int attention.sliding_window=4", true},
    {"--arch phi3 --seed 120 --long-factors --context 4096 --int rope.scaling.original_context_length=64 "
     "--key rope.scaling.attn_factor=1.19", false},
    {"--arch phi3 --seed 121 --long-factors --context 131072 --int rope.scaling.original_context_length=4096 --type q8_0",
     false},
    {"--arch olmo2 --seed 122 --heads 6 --kv-heads 3 --head 16", true},
    {"--arch olmo2 --seed 123 --layers 5 --int attention.sliding_window=4 --yarn 8 --context 8192 --type q8_0", false},
    {"--arch granite --seed 124", true},
    {"--arch granite --seed 125 --experts 5 --used 2 --freqs --tied --without attention.scale --without residual_scale",
     false},
    {"--arch command-r --seed 126 --heads 6 --kv-heads 3 --head 16", true},
    {"--arch command-r --seed 127 --own-norms --type q8_0 --without logit_scale", false},
    {"--arch cohere2 --seed 128 --layers 5 --window 4", true},
    {"--arch mistral3 --seed 129 --yarn 4 --context 32 --key attention.temperature_scale=0.4 "
     "--key rope.scaling.yarn_log_multiplier=1", true},
    {"--arch mistral3 --seed 130 --head 48 --biases", false},
    /* llama4: every fourth layer not rotated, experts in every second layer; chunks shorter than the prompt */
    {"--arch llama4 --seed 131 --layers 5 --moe-step 2 --experts 6 --used 1", true},
    {"--arch llama4 --seed 132 --layers 4 --experts 5 --used 2 --freqs --int attention.sliding_window=4 --type q8_0", true},
    {"--arch llama4 --seed 133 --layers 4 --experts 128 --used 1 --expert-ffn 32 --embd 32", false},
    {"--arch minimax-m2 --seed 134 --experts 8 --used 3 --heads 6 --kv-heads 2 --head 16 --rope 8", true},
    {"--arch minimax-m2 --seed 135 --experts 5 --used 2 --type q8_0", false},
    /* latent attention, with and without a short vector of queries; groups of experts */
    {"--arch deepseek2 --seed 138 --experts 8 --used 3 --groups 4 --groups-used 2 --q-lora 48 --kv-lora 32 --choice-bias "
     "--dense-lead 1 --heads 6 --head 24", true},
    {"--arch deepseek2 --seed 139 --experts 6 --used 2 --head 48 --type q8_0 --value 32 --int expert_gating_func=1 "
     "--int expert_weights_norm=0 --groups 3 --groups-used 1 --yarn 4 --context 256 "
     "--key rope.scaling.yarn_log_multiplier=0.0707", false},
    {"--arch deepseek2 --seed 140 --experts 4 --used 2 --shared-count 2 --heads 3 --kv-heads 1 --head 20 --kv-lora 40 --value 12 --tied "
     "--without expert_gating_func", false},
    /* glm5next: streams of a token; pools of cells, fewer than there are or all; bounded forgetting, clamped gates */
    {"--arch glm5next --seed 208 --layers 4 --interval 2 --heads 6 --head 24 --kv-lora 40 --value 20 --index-top 4 --pool 2 "
     "--experts 6 --used 2 --dense-lead 1 --state 20", true},
    {"--arch glm5next --seed 209 --key hyper_connection.epsilon=0.02 --layers 4 --interval 3 --streams 3 --sinkhorn 20 --index-top 8 --pool 4 --experts 5 --used 2 "
     "--type q8_0 --heads 4 --state 32 --kv-lora 64 --index-head 32 --index-heads 3", false},
    {"--arch glm5next --seed 210 --layers 2 --interval 1 --streams 1 --sinkhorn 1 --index-top 3 --pool 3 --experts 4 --used 1 "
     "--tied --key attention.layer_norm_rms_epsilon=1e-3", false}, /* all layers attend */
    {"--arch glm5next --seed 211 --layers 3 --interval 2 --index-top 128 --pool 16 --fused-experts --experts 4 --groups 2 "
     "--groups-used 1 --shared-count 2 --int expert_weights_norm=0 --type f16", false},
    {"--arch gemma --seed 141 --tied --heads 3 --kv-heads 1 --head 40", true},
    {"--arch phimoe --seed 204 --experts 12 --used 2 --heads 6 --kv-heads 2 --head 24 --ffn 64 --biases --window 6 --key rope.scaling.attn_factor=1.1",
     true},
    {"--arch phimoe --seed 205 --experts 5 --used 2 --long-factors --context 4096 "
     "--int rope.scaling.original_context_length=64 --key rope.scaling.attn_factor=1.19 --type q8_0", false},
    {"--arch olmoe --seed 142 --experts 7 --used 3", true},
    {"--arch granitemoe --seed 143 --experts 6 --used 2 --type q8_0", true},
    /* gemma4: heads, K/V heads and widths by layer, caches that later layers read, per-layer embeddings, experts beside */
    {"--arch gemma4 --seed 144 --layers 6 --period 3 --heads 6 --kv-heads 3 --full-kv-heads 1 --head 48 --local-head 24 "
     "--keys-are-values --layer-scales --freqs --tied --key final_logit_softcapping=5", false},
    {"--arch gemma4 --seed 145 --layers 7 --period 2 --heads 4 --kv-heads 2 --head 40 --local-head 20 --shared-caches 4 "
     "--wide-shared --input 12 --embd 96 --ffn 64 --window 4 --layer-scales", true},
    {"--arch gemma4 --seed 146 --layers 4 --period 2 --heads 4 --kv-heads 4 --full-kv-heads 2 --head 64 --local-head 32 "
     "--experts 6 --used 2 --expert-ffn 32 --freqs --key rope.freq_base=1000000 --type q8_0", false},
    {"--arch gemma4 --seed 147 --layers 3 --period 3 --shared-caches 0 --input 32 --experts 4 --used 1 --fused-experts "
     "--ffn 96 --linear 4", false},
    {"--arch gemma4 --seed 148 --layers 2 --period 2 --heads 2 --kv-heads 1 --head 512 --local-head 256 --embd 64 --ffn 64",
     true},
    /* gemma3n: several hidden states, a way around the mixer, sparse gates */
    {"--arch gemma3n --seed 149 --layers 5 --period 2 --heads 4 --kv-heads 2 --head 24 --shared-caches 2 --input 12 --embd 96 "
     "--ffn 80 --key final_logit_softcapping=5 --tied", true},
    {"--arch gemma3n --seed 150 --layers 3 --period 3 --altup 2 --sparse 0 --laurel 5 --wide-shared --type q8_0 --scales", false},
    {"--arch gemma3n --seed 151 --layers 2 --shared-caches 0 --altup 3 --int altup.active_idx=1 --sparse 1 --ffn 64", false},
    /* lfm2: short convolutions with gates */
    {"--arch lfm2 --seed 152 --layers 5 --interval 3 --conv 3 --heads 6 --kv-heads 3 --head 16 --embd 96 --tied", true},
    {"--arch lfm2 --seed 153 --layers 3 --interval 2 --conv 4 --embd 101 --type f16 --scales --fused-qkv", false},
    {"--arch lfm2 --seed 154 --layers 2 --interval 3 --type q8_0", false}, /* no attention at all */
    {"--arch lfm2moe --seed 155 --layers 4 --interval 2 --dense-lead 1 --experts 6 --used 2 --choice-bias --conv 3 --type q8_0",
     true},
    {"--arch lfm2moe --seed 156 --layers 3 --interval 1 --experts 5 --used 3 --fused-experts --tied "
     "--key expert_weights_scale=1.5", false},
    {"--arch seed_oss --seed 157 --heads 6 --kv-heads 2 --head 24 --type q8_0", true},
    {"--arch ernie4_5 --seed 158 --heads 6 --kv-heads 2 --head 24 --tied", true},
    {"--arch exaone4 --seed 159 --layers 5 --int attention.sliding_window=4 --freqs", true},
    {"--arch exaone4 --seed 160 --layers 3 --tied --linear 2", false}, /* no windows: all layers are rotated */
    /* layers that scan: of one group and several, heads of few channels, between layers that attend or feed forward */
    {"--arch mamba2 --seed 169 --k-heads 1 --v-heads 6 --scan-head 20 --state 24", true},
    {"--arch mamba2 --seed 170 --k-heads 3 --v-heads 6 --scan-head 32 --state 16 --type q8_0 --tied --biases --conv 3", false},
    {"--arch mamba2 --seed 171 --k-heads 1 --v-heads 5 --scan-head 7 --state 5 --layers 2 --embd 48", false},
    {"--arch mamba --seed 191 --k-heads 7 --v-heads 14 --scan-head 6 --state 16", true},
    {"--arch mamba --seed 192 --k-heads 4 --v-heads 4 --scan-head 32 --state 9 --type q8_0 --tied --conv 3 --scan-norms --layers 2", true},
    {"--arch nemotron_h --seed 172 --layers 8 --interval 2 --k-heads 2 --v-heads 8 --heads 6 --kv-heads 2 --head 24", true},
    {"--arch nemotron_h --seed 173 --layers 7 --interval 3 --k-heads 1 --v-heads 3 --type q8_0 --tied", false},
    {"--arch granitehybrid --seed 174 --interval 3 --k-heads 1 --v-heads 4 --experts 6 --used 2 --shared-ffn 48", true},
    {"--arch granitehybrid --seed 175 --interval 2 --k-heads 2 --v-heads 6 --int rope.scaling.finetuned=1 --type q8_0", false},
    {"--arch falcon-h1 --seed 176 --k-heads 1 --v-heads 6 --heads 6 --kv-heads 2 --head 20 --state 24", true},
    {"--arch falcon-h1 --seed 177 --k-heads 2 --v-heads 4 --scan-norms --type q8_0 --layers 2 --linear 3 --tied", false},
    /* where an indexer may choose as many tokens as there are cells */
    {"--arch deepseek32 --seed 193 --experts 8 --used 3 --groups 4 --groups-used 2 --q-lora 48 --kv-lora 32 --dense-lead 1 "
     "--heads 6 --kv-heads 1 --head 24 --yarn 4 --context 256 --key rope.scaling.yarn_log_multiplier=0.1", false},
    {"--arch glm-dsa --seed 194 --experts 4 --used 2 --q-lora 40 --heads 3 --kv-heads 1 --head 20 --type q8_0", false},
    /* and fewer: heads that are no power of two, layers that see what an earlier one chose, one token alone */
    {"--arch deepseek32 --seed 203 --experts 8 --used 3 --q-lora 48 --kv-lora 32 --dense-lead 1 --heads 6 --kv-heads 1 "
     "--head 24 --index-top 5 --index-heads 7 --index-head 20 --yarn 4 --context 256 --key rope.scaling.yarn_log_multiplier=0.1",
     true},
    {"--arch glm-dsa --seed 197 --experts 4 --used 2 --q-lora 40 --heads 3 --kv-heads 1 --head 20 --index-top 4 "
     "--index-heads 8 --index-head 32 --index-period 3 --layers 5 --type q8_0", true},
    {"--arch glm-dsa --seed 198 --experts 4 --used 2 --heads 4 --kv-heads 1 --index-top 1 --index-heads 1 --index-period 4 "
     "--layers 4 --tied", false},
    {"--arch deepseek32 --seed 199 --experts 4 --used 2 --heads 2 --kv-heads 1 --head 40 --index-top 8 --index-heads 4 "
     "--index-head 64 --type f16", false},
    {"--arch qwen2vl --seed 195 --heads 6 --kv-heads 2 --head 22", true},
    /* kimi-linear: channels that forget by themselves, between layers of latent attention without rope */
    {"--arch kimi-linear --seed 178 --experts 6 --used 2 --heads 6 --head 24 --kv-lora 32 --state 20 --dense-lead 1", true},
    {"--arch kimi-linear --seed 179 --experts 8 --used 3 --groups 4 --groups-used 2 --heads 3 --kv-heads 1 --head 20 --value 12 --q-lora 40 "
     "--layers 5 --interval 2 --conv 3 --type q8_0 --small-conv --key attention.layer_norm_rms_epsilon=1e-2 --shared-count 2 --tied --without expert_gating_func", false},
    {"--arch kimi-linear --seed 180 --experts 4 --used 2 --heads 5 --kv-heads 1 --head 32 --state 33 --layers 3 --interval 3 "
     "--int expert_weights_norm=0 --shared-count 0 --embd 96", false},
    {"--arch qwen3vl --seed 181 --heads 6 --kv-heads 2 --head 22 --tied", true},
    {"--arch qwen3vl --seed 182 --head 40 --type q8_0 --yarn 4 --context 256", false},
    {"--arch qwen3vlmoe --seed 183 --experts 6 --used 2 --head 26", true},
    {"--arch hunyuan-dense --seed 184 --heads 6 --kv-heads 2 --head 24 --tied", true},
    {"--arch hunyuan-dense --seed 185 --type q8_0 --fused-qkv --linear 2 --biases", false},
    {"--arch hunyuan-moe --seed 186 --experts 6 --used 3 --shared-ffn 56", true},
    /* norms with biases, feed-forwards without gates */
    {"--arch starcoder2 --seed 187 --heads 6 --kv-heads 2 --head 24 --tied --int attention.sliding_window=4", true},
    {"--arch starcoder2 --seed 188 --type q8_0 --ffn 160", false},
    {"--arch stablelm --seed 189 --heads 6 --kv-heads 2 --head 24 --biases --int use_parallel_residual=1", false},
    {"--arch stablelm --seed 190 --own-norms --parallel --head 32 --rope 8 --type q8_0", true},
    {"--arch qwen3next --seed 136 --experts 6 --used 2 --k-heads 3 --v-heads 6", true},
    {"--arch qwen3next --seed 137 --experts 5 --used 2 --k-heads 2 --v-heads 8 --type q8_0 --interval 2", false},
    /* deepseek4: layers without entries, with those an indexer chooses of, with all; experts by a table, by routers */
    {"--arch deepseek4 --seed 212 --layers 6 --heads 6 --head 24 --out-groups 3 --ratio 2 --long-ratio 3 --window 4 --index-top 2 "
     "--hashed 2", true},
    {"--arch deepseek4 --seed 213 --layers 4 --heads 4 --ratio 4 --long-ratio 5 --window 3 --index-top 1 --hashed 0 --streams 3 "
     "--sinkhorn 20 --experts 5 --used 3 --shared-count 2 --yarn 4 --context 64 --scales --fused-experts", true},
    {"--arch deepseek4 --seed 214 --layers 3 --heads 2 --head 40 --rope 6 --out-groups 1 --out-rank 10 --ratio 3 --long-ratio 7 "
     "--window 2 --index-top 128 --hashed 3 --experts 4 --used 1 --key hyper_connection.epsilon=0.02", false},
    {"--arch deepseek4 --seed 215 --layers 3 --embd 64 --heads 8 --head 32 --out-groups 4 --out-rank 32 --ratio 4 --long-ratio 64 "
     "--window 8 --index-top 2 --hashed 1 --type q8_0 --key swiglu_clamp_shexp=0.5", false},
    /* qwen4exp: streams mixed channel by channel, pools by means, rows of a table of n-grams; a text's end in the prompt */
    {"--arch qwen4exp --seed 216 --layers 4 --interval 2 --experts 6 --used 2 --index-top 4 --pool 2 --index-heads 5 --index-head 20 "
     "--heads 6 --kv-heads 2 --head 24 --k-heads 2 --v-heads 6 --int ple.eos_token_id=206", true},
    {"--arch qwen4exp --seed 217 --layers 6 --interval 3 --experts 5 --used 3 --index-top 8 --pool 4 --streams 3 --mix-rank 20 "
     "--ngrams 4 --ngram-each 3 --ngram-width 5 --ngram-taps 3 --scales --fused-experts --key attention.layer_norm_rms_epsilon=0.02 "
     "--int ple.eos_token_id=156", true},
    {"--arch qwen4exp --seed 218 --layers 3 --interval 3 --experts 4 --used 1 --index-top 3 --pool 3 --ngrams 2 --type q8_0 --embd 64 "
     "--mix-rank 32 --ngram-width 32 --streams 2", false},
    {"--arch qwen4exp --seed 219 --layers 2 --interval 2 --experts 4 --used 2 --index-top 128 --pool 8 --ngrams 0 --tied --streams 1",
     false},
    /* latent attention with queries that grow: Mistral Large 3 and Mistral Small 4 */
    {"--arch deepseek2 --seed 301 --experts 6 --used 2 --q-lora 40 --kv-lora 24 --dense-lead 1 --heads 3 --kv-heads 1 --head 20 --yarn 4 "
     "--context 20 --key rope.scaling.yarn_log_multiplier=0.1 --key attention.temperature_scale=0.4", false},
    {"--arch mistral4 --seed 302 --experts 8 --used 4 --fused-experts --q-lora 48 --kv-lora 32 --heads 6 --kv-heads 1 --head 24 --yarn 8 "
     "--context 40 --key rope.scaling.yarn_log_multiplier=0.1 --key attention.temperature_scale=0.4", true},
    {"--arch mistral4 --seed 303 --experts 12 --used 2 --groups 3 --groups-used 1 --dense-lead 1 --type q8_0 --tied --yarn 4 --context 12 "
     "--key rope.scaling.yarn_log_multiplier=0 --key attention.temperature_scale=1.5 --int attention.temperature_length=5", false},
    {"--arch mistral4 --seed 304 --experts 4 --used 1 --shared-count 2 --heads 2 --kv-heads 1 --kv-lora 40 --value 12", false},
};
#define N_MODELS (sizeof models / sizeof *models)

/*
 * Devices; whether the experts are dealt out; whether it is one of OpenCL; whether caches in blocks are tried there; whether all that is
 * for --slow alone, since every model has programs of its own and each takes seconds of compiling.
 */
static const struct {
    const char *device;
    bool parallel, opencl, caches, slow;
} splits[] = {
    {.device = "cpu", .caches = true},
#ifdef HAVE_META
    {.device = "cpu/2", .caches = true},
    {.device = "cpu/3@2:1:0"},
    {.device = "cpu/4@1:5:2:2"},
    {.device = "cpu/2", .parallel = true},
    {.device = "cpu/4@1:5:2:2", .parallel = true},
#endif
#if defined HAVE_OPENCL && defined HAVE_META
    {.device = "opencl:0/2", .opencl = true},
    {.device = "opencl:0", .opencl = true, .caches = true, .slow = true},
    {.device = "cpu+opencl:0@1:2", .parallel = true, .opencl = true, .slow = true},
#elif defined HAVE_OPENCL
    {.device = "opencl:0", .opencl = true, .caches = true},
#endif
};
#define N_SPLITS (sizeof splits / sizeof *splits)

/* Without --slow OpenCL devices run models of these: every kind of layer that there is.  The others have other facts, not other ops. */
static const char *const compiled[] = {"llama ", "qwen35moe", "deepseek2", "gpt-oss", "gemma3n", "gemma4", "lfm2moe", "falcon-h1", "mamba ", "kimi-linear"};

static bool is_compiled(const char *options)
{
    for (size_t i = 0; i < sizeof compiled / sizeof *compiled; i++)
        if (strncmp(options + strlen("--arch "), compiled[i], strlen(compiled[i])) == 0)
            return true;
    return false;
}

/* -- what is right -------------------------------------------------------------- */

typedef struct answer {
    int32_t ids[MAX_PROMPT + N_STEPS];
    int n_prompt;
    int64_t n_vocab;
    double *logits; /* N_ROWS rows: after the prompt and after each step */
    double margin;  /* of the experts' choice */
} answer;

/* The most likely token, and by how much it is ahead, of the logits' root mean square. */
static int32_t best(const double *logits, int64_t n, double *ahead)
{
    double first = -INFINITY, second = -INFINITY, squares = 0;
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        squares += logits[i] * logits[i];
        if (logits[i] > first) {
            second = first;
            first = logits[found = i];
        } else if (logits[i] > second) {
            second = logits[i];
        }
    }
    *ahead = (first - second) / sqrt(squares / (double)n);
    return (int32_t)found;
}

/* false: it has been told why. */
static bool answer_make(answer *a, const char *path, uint32_t seed, int n_prompt)
{
    char error[256];
    double ahead;
    ref_model *m = ref_model_open(path, error, sizeof error);
    ref_sequence *s = m ? ref_sequence_create(m) : NULL;
    if (m)
        ref_model_cells(m, N_CELLS);
    a->n_prompt = n_prompt;
    a->n_vocab = m ? ref_model_vocab(m) : 1;
    a->logits = malloc((size_t)(N_ROWS * a->n_vocab) * sizeof *a->logits);
    bool good = s && a->logits;
    for (int i = 0; i < n_prompt + N_STEPS && good; i++) {
        double *row = i + 1 < n_prompt ? NULL : a->logits + (i + 1 - n_prompt) * a->n_vocab;
        if (i < n_prompt)
            a->ids[i] = (int32_t)((seed + (uint32_t)i * 2654435761u) >> 7) & 0xff;
        good = ref_sequence_step(s, a->ids[i], row);
        if (good && row && i + 1 < n_prompt + N_STEPS)
            a->ids[i + 1] = best(row, a->n_vocab, &ahead);
    }
    if (!good)
        tap_check(false, "%s: %s", path, m ? "no memory" : error);
    a->margin = s ? ref_sequence_margin(s) : 0;
    ref_sequence_destroy(s);
    ref_model_close(m);
    return good;
}

/* -- what a device says ------------------------------------------------------------- */

typedef struct errors {
    double most, squared; /* relative; see MOST */
    int wrong;            /* tokens that are not the most likely ones, though these are clearly ahead */
} errors;

static void compare(const float *got, const double *want, int64_t n, errors *e, double limit)
{
    double most = 0, error = 0, size = 0, ahead;
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = fabs(got[i] - want[i]);
        most = isnan(d) ? INFINITY : fmax(most, d);
        error += d * d;
        size += want[i] * want[i];
        found = got[i] > got[found] ? i : found;
    }
    e->most = fmax(e->most, most / sqrt(size / (double)n));
    e->squared = fmax(e->squared, isnan(error) ? INFINITY : error / size);
    int32_t right = best(want, n, &ahead);
    e->wrong += found != right && ahead > 2 * limit;
}

static bool has_experts(const char *options)
{
    return strstr(options, "--experts") || strstr(options, "moe");
}

/* Tokens that do not belong there, and back: the cells and states of those before must be as they were. */
static bool stray(subject *s, const answer *a)
{
    const int32_t ids[N_STRAY] = {a->ids[0] ^ 1, a->ids[0] ^ 2, a->ids[0] ^ 3};
    return subject_run(s, ids, N_STRAY) && eng_lm_sequence_rollback(s->context, 0, N_STRAY) == ENG_OK;
}

/* How a model is spread over a composed device. */
typedef enum manner { CUT, DEALT, LAYERS, GUEST, WEIGHTS } manner;
static const char *const manners[] = {"", ", experts dealt out", ", whole layers", ", caches on a guest", ", every second layer's weights on a guest"};

/* What is on the guest: with GUEST as -nkvo has it, and as -ot may. */
static const eng_lm_override guests[] = {[GUEST] = {"^cache_", "cpu"}, [WEIGHTS] = {"^blk\\.[0-9]*[02468]\\.", "cpu"}};

/* What is right but for the types of K and V. */
static double most_of(const char *options, uint32_t k, uint32_t v)
{
    if (k == ENG_TYPE_F32 && v == ENG_TYPE_F32)
        return MOST;
    return has_experts(options) ? MOST_CACHE_EXPERTS : k == ENG_TYPE_Q8_0 || v == ENG_TYPE_Q8_0 ? MOST_CACHE : MOST_HALF;
}

static void run_type(eng_context *engine, const char *options, const char *device, manner how, const char *path,
                     const answer *a, uint32_t k, uint32_t v)
{
    double limit = most_of(options, k, v);
    eng_lm_placement placement = {.size = sizeof placement,
                                  .experts = how == DEALT ? ENG_LM_EXPERTS_PARALLEL : ENG_LM_EXPERTS_FFN,
                                  .split = how == LAYERS ? ENG_LM_SPLIT_LAYER : ENG_LM_SPLIT_TENSOR,
                                  .n_overrides = how >= GUEST, .overrides = &guests[how]};
    eng_lm_context_params p;
    errors e = {0};
    subject s;
    char dealt[80];
    snprintf(dealt, sizeof dealt, "%s", manners[how]);
    if (k != ENG_TYPE_F32 || v != ENG_TYPE_F32)
        snprintf(dealt, sizeof dealt, ", caches of %s and %s", eng_type_name(k), eng_type_name(v));
    eng_lm_context_defaults(&p);
    p.n_cells = N_CELLS;
    p.n_snapshots = N_STRAY + 1;
    p.type_k = k;
    p.type_v = v;
    if (subject_open(&s, engine, device, path, &placement, &p)) {
        tap_check(false, "%s on %s%s: %s", options, device, dealt, eng_last_error());
        return;
    }
    bool good = s.n_vocab == a->n_vocab;
    for (int i = 0; i < N_ROWS && good; i++) {
        const float *got = i ? subject_run(&s, &a->ids[a->n_prompt + i - 1], 1) :
                               subject_run(&s, a->ids, (uint32_t)a->n_prompt);
        good = got != NULL;
        if (got)
            compare(got, a->logits + i * a->n_vocab, a->n_vocab, &e, limit);
        good = good && (i != 0 || stray(&s, a));
    }
    if (!good)
        tap_check(false, "%s on %s%s: %s", options, device, dealt, eng_last_error());
    else
        tap_check(e.most < limit && e.squared < limit * limit / 10 && !e.wrong,
               "%s on %s%s: error %.1e, squared %.1e, %d wrong tokens%s", options, device, dealt, e.most, e.squared,
               e.wrong, a->margin < 1e-5 ? " (two experts were equally good)" : "");
    subject_close(&s);
}

static void run(eng_context *engine, const char *options, const char *device, manner how, const char *path,
                const answer *a)
{
    run_type(engine, options, device, how, path, a, ENG_TYPE_F32, ENG_TYPE_F32);
}

/* Of K and V. */
static const uint32_t kinds[][2] = {{ENG_TYPE_Q8_0, ENG_TYPE_Q8_0}, {ENG_TYPE_F16, ENG_TYPE_F16}, {ENG_TYPE_F16, ENG_TYPE_Q8_0}};
#define N_KINDS (sizeof kinds / sizeof *kinds)

static void run_table(eng_context *engine, const char *path, const char *only, bool slow)
{
    for (size_t i = 0; i < N_MODELS; i++) {
        const char *options = models[i].options;
        answer a = {0};
        if (only && !strstr(options, only))
            continue;
        if (subject_make(options, path))
            tap_check(false, "make-model %s", options);
        else if (answer_make(&a, path, (uint32_t)i, N_PROMPT))
            for (size_t k = 0; k < N_SPLITS; k++)
                if ((has_experts(options) || !splits[k].parallel) && (slow || !splits[k].slow) &&
                    (slow || !splits[k].opencl || (models[i].everywhere && is_compiled(options))))
                    run(engine, options, splits[k].device, splits[k].parallel ? DEALT : CUT, path, &a);
#ifdef HAVE_META
        for (manner how = LAYERS; how <= WEIGHTS && a.logits && models[i].everywhere; how++)
            run(engine, options, "cpu/2", how, path, &a);
#endif
        for (size_t k = 0; k < N_SPLITS && a.logits && models[i].everywhere; k++)
            for (size_t t = 0; t < N_KINDS && splits[k].caches && (slow || !splits[k].slow); t++)
                run_type(engine, options, splits[k].device, CUT, path, &a, kinds[t][0], kinds[t][1]);
        free(a.logits);
    }
}

/* -- random models --------------------------------------------------------------------- */

/* SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). */
static uint64_t next(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static int among(uint64_t *state, int least, int most)
{
    return least + (int)(next(state) % (uint64_t)(most - least + 1));
}

__attribute__((format(printf, 2, 3))) static void add(char options[768], const char *format, ...)
{
    size_t n = strlen(options);
    va_list args;
    va_start(args, format);
    vsnprintf(options + n, 768 - n, format, args);
    va_end(args);
}

/* " --name N" */
static void add_number(char options[768], uint64_t *r, const char *name, int least, int most)
{
    add(options, " --%s %d", name, among(r, least, most));
}

static void add_flag(char options[768], uint64_t *r, const char *name, int one_in)
{
    if (among(r, 1, one_in) == 1)
        add(options, " --%s", name);
}

/* Sometimes a multiple of 32, for block types; sometimes anything. */
static void add_width(char options[768], uint64_t *r, const char *name, int most)
{
    int whole = among(r, 0, 1), blocks = among(r, 1, most / 32), any = among(r, 16, most);
    add(options, " --%s %d", name, whole ? 32 * blocks : any);
}

static void add_hybrid(char options[768], uint64_t *r)
{
    int k_heads = among(r, 1, 5), group = among(r, 1, 4);
    add(options, " --k-heads %d --v-heads %d", k_heads, k_heads * group);
    add_number(options, r, "interval", 1, 3);
    add_number(options, r, "conv", 2, 5);
    add_number(options, r, "state", 4, 48);
    add_number(options, r, "scan-head", 1, 40);
}

static void add_experts(char options[768], uint64_t *r)
{
    int experts = among(r, 2, 16);
    add(options, " --experts %d", experts);
    add_number(options, r, "used", 1, experts < 4 ? experts : 4);
    add_number(options, r, "expert-ffn", 8, 100);
    add_number(options, r, "shared-ffn", 8, 100);
    add_flag(options, r, "fused-experts", 2);
}

/* " --key rope.scaling.NAME=N", in one of two models; N in hundredths */
static void add_rope_key(char options[768], uint64_t *r, const char *name, int least, int most)
{
    int value = among(r, least, most);
    if (among(r, 0, 1))
        add(options, " --key rope.scaling.%s=%d.%02d", name, value / 100, value % 100);
}

static void add_scaling(char options[768], uint64_t *r)
{
    bool yarn = among(r, 0, 1);
    add_number(options, r, yarn ? "yarn" : "linear", 2, 16);
    add_number(options, r, "context", 64, 4096);
    add_rope_key(options, r, "attn_factor", 80, 130);
    if (!yarn)
        return;
    add_rope_key(options, r, "yarn_attn_factor", 80, 130);
    add_rope_key(options, r, "yarn_beta_fast", 400, 6400);
    add_rope_key(options, r, "yarn_beta_slow", 20, 300);
    add_rope_key(options, r, "yarn_log_multiplier", 0, 150);
    add_rope_key(options, r, "yarn_ext_factor", 0, 100);
}

/* What the options may say of an architecture. */
static const struct subject_arch {
    const char *name;
    bool hybrid, experts, some_experts, fused, scales, latent; /* of the layers; Q, K, V may be one; matrices may have factors */
} archs[] = {
    {"llama", .some_experts = true, .fused = true, .scales = true}, {"qwen2", .fused = true, .scales = true},
    {"qwen3", .fused = true, .scales = true}, {"qwen3moe", .experts = true, .fused = true, .scales = true},
    {"qwen35", .hybrid = true, .scales = true}, {"qwen35moe", .hybrid = true, .experts = true, .scales = true},
    {"gemma2", .fused = true, .scales = true}, {"gemma3", .fused = true, .scales = true},
    {"glm4", .fused = true, .scales = true}, {"glm4moe", .experts = true, .fused = true, .scales = true},
    {"gpt-oss", .experts = true, .fused = true, .scales = true}, {"qwen2moe", .experts = true, .fused = true, .scales = true},
    {"smollm3", .fused = true, .scales = true}, {"phi3", .scales = true}, {"olmo2", .fused = true, .scales = true},
    {"granite", .some_experts = true, .fused = true, .scales = true}, {"command-r", .fused = true, .scales = true},
    {"cohere2", .fused = true, .scales = true}, {"mistral3", .fused = true, .scales = true},
    {"llama4", .experts = true, .fused = true, .scales = true}, {"minimax-m2", .experts = true, .fused = true, .scales = true},
    {"gemma", .fused = true, .scales = true}, {"olmoe", .experts = true, .fused = true, .scales = true},
    {"granitemoe", .experts = true, .fused = true, .scales = true},
    {"qwen3next", .hybrid = true, .experts = true, .scales = true}, {"deepseek2", .experts = true, .latent = true},
    {"mistral4", .experts = true, .latent = true}, {"phimoe", .scales = true},
    {"deepseek32", .experts = true, .latent = true}, {"glm-dsa", .experts = true, .latent = true},
    {"deepseek4", .experts = true, .scales = true}, {"qwen2vl", .fused = true, .scales = true},
    {"gemma4", .some_experts = true, .scales = true}, {"gemma3n", .scales = true},
    {"seed_oss", .fused = true, .scales = true}, {"ernie4_5", .fused = true, .scales = true},
    {"exaone4", .fused = true, .scales = true}, {"lfm2", .fused = true, .scales = true}, {"lfm2moe", .experts = true, .fused = true, .scales = true},
    {"mamba", .hybrid = true, .scales = true}, {"mamba2", .hybrid = true, .scales = true}, {"nemotron_h", .hybrid = true, .scales = true},
    {"falcon-h1", .hybrid = true, .scales = true},
    {"qwen3vl", .fused = true, .scales = true}, {"qwen3vlmoe", .experts = true, .fused = true, .scales = true},
    {"hunyuan-dense", .fused = true, .scales = true}, {"hunyuan-moe", .experts = true, .fused = true, .scales = true},
    {"starcoder2", .fused = true}, {"stablelm", .fused = true, .scales = true},
    {"kimi-linear", .experts = true, .hybrid = true, .latent = true}, {"glm5next", .experts = true, .hybrid = true, .latent = true}, {"granitehybrid", .hybrid = true, .some_experts = true, .scales = true},
    {"qwen4exp", .hybrid = true, .experts = true, .scales = true},
};
#define N_RANDOM (int)(sizeof archs / sizeof *archs)

/* Sizes of latent attention; factors of YaRN would need one key more. */
static void add_latent(char options[768], uint64_t *r)
{
    if (among(r, 0, 1))
        add_number(options, r, "q-lora", 8, 64);
    add_number(options, r, "kv-lora", 8, 80);
    add_number(options, r, "value", 4, 48);
}

/* Of few cells, of about as many as there are tokens, or of all. */
static void add_indexer(char options[768], uint64_t *r, bool shared)
{
    add_number(options, r, "index-top", 1, among(r, 0, 1) ? 12 : N_CELLS);
    add_number(options, r, "index-heads", 1, 9);
    add_number(options, r, "index-head", 32, 80);
    if (shared)
        add_number(options, r, "index-period", 1, 3);
}

/* Whole pools of cells; and streams of a token. */
static void add_pools(char options[768], uint64_t *r)
{
    int pool = among(r, 2, 9);
    add(options, " --pool %d --index-top %d", pool, pool * among(r, 1, among(r, 0, 1) ? 3 : N_CELLS / pool));
    add_number(options, r, "index-heads", 1, 9);
    add_number(options, r, "index-head", 8, 80);
    add_number(options, r, "streams", 1, 6);
    add_number(options, r, "sinkhorn", 1, 20);
}

/* Means of pools; streams mixed channel by channel; n-grams or none. */
static void add_mix(char options[768], uint64_t *r)
{
    int pool = among(r, 2, 9);
    add(options, " --pool %d --index-top %d", pool, pool * among(r, 1, among(r, 0, 1) ? 3 : N_CELLS / pool));
    add_number(options, r, "index-heads", 1, 9);
    add_number(options, r, "index-head", 64, 90);
    add_number(options, r, "streams", 1, 6);
    add_number(options, r, "mix-rank", 1, 40);
    add(options, " --ngrams %d", among(r, 0, 3) ? among(r, 2, 6) : 0);
    add_number(options, r, "ngram-each", 1, 5);
    add_number(options, r, "ngram-width", 1, 40);
    add_number(options, r, "ngram-taps", 2, 5);
}

/* Entries of few tokens, of which few are seen, or of most; groups of heads. */
static void add_compressed(char options[768], uint64_t *r, int kv, int layers)
{
    add(options, " --out-groups %d --kv-heads 1", kv);
    add_number(options, r, "out-rank", 4, 48);
    add_number(options, r, "ratio", 2, 9);
    add_number(options, r, "long-ratio", 2, 40);
    add_number(options, r, "index-top", 1, among(r, 0, 1) ? 4 : N_CELLS);
    add_number(options, r, "index-heads", 1, 9);
    add(options, " --index-head %d", 2 * among(r, 16, 40));
    add_number(options, r, "q-lora", 8, 64);
    add_number(options, r, "hashed", 0, layers);
    if (among(r, 0, 2) == 0)
        add(options, " --yarn %d --context %d", among(r, 2, 32), among(r, 64, 4096));
    add_number(options, r, "streams", 1, 6);
    add_number(options, r, "sinkhorn", 1, 20);
}

/* Of heads with and without a window, widths, caches that later layers read; kv 0: gemma3n's, of one size. */
static void add_sizes(char options[768], uint64_t *r, int layers, int kv)
{
    int period = among(r, 1, 3);
    add(options, " --period %d", period);
    if (kv) {
        add(options, " --local-head %d", 2 * among(r, 2, 32));
        if (among(r, 0, 1))
            add(options, " --full-kv-heads %d", among(r, 0, 1) ? 1 : kv);
        add_flag(options, r, "keys-are-values", 2);
        add_flag(options, r, "layer-scales", 2);
        add_flag(options, r, "freqs", 2);
    } else {
        add_number(options, r, "altup", 2, 8);
        add_number(options, r, "laurel", 1, 40);
        add_number(options, r, "sparse", 0, layers);
    }
    if (layers > period)
        add_number(options, r, "shared-caches", 0, layers - period);
    if (among(r, 0, 1))
        add_number(options, r, "input", 1, 40);
    add_flag(options, r, "wide-shared", 2);
}

static void random_model(uint64_t *r, unsigned seed, char options[768])
{
    static const char *const types[] = {"f32", "f16", "bf16", "q8_0", "q4_0", "q4_K"};
    const struct subject_arch *a = &archs[among(r, 0, N_RANDOM - 1)];
    bool llama = strcmp(a->name, "llama") == 0, latent = a->latent;
    int kv = among(r, 1, 8), group = among(r, 1, 5), half = among(r, 2, 32);
    options[0] = 0;
    add(options, "--arch %s --seed %u --type %s", a->name, seed, types[among(r, 0, 5)]);
    add(options, " --kv-heads %d --heads %d --head %d", kv, kv * group, 2 * half);
    int layers = among(r, 1, 5);
    add(options, " --layers %d", layers);
    add_number(options, r, "window", 1, 20);
    add_number(options, r, "vocab", 258, 600);
    add_width(options, r, "embd", 200);
    add_width(options, r, "ffn", 400);
    add_flag(options, r, "tied", 3);
    if (a->scales)
        add_flag(options, r, "scales", 3);
    if (!latent && strcmp(a->name, "deepseek4") != 0 && among(r, 0, 2) == 0)
        add_scaling(options, r);
    if (a->hybrid)
        add_hybrid(options, r);
    if (a->fused) {
        add_flag(options, r, "fused-qkv", 2);
        add_flag(options, r, "biases", 3);
    }
    if (latent)
        add_latent(options, r);
    if (strcmp(a->name, "mistral4") == 0 && among(r, 0, 2))
        add(options, " --yarn %d --context %d --key rope.scaling.yarn_log_multiplier=0.%d --key attention.temperature_scale=0.%d",
            among(r, 2, 4), among(r, 8, 200), among(r, 0, 2), among(r, 1, 9));
    if (strcmp(a->name, "glm5next") == 0)
        add_pools(options, r);
    if (strcmp(a->name, "qwen4exp") == 0)
        add_mix(options, r);
    if (strcmp(a->name, "deepseek4") == 0)
        add_compressed(options, r, kv, layers);
    if (strcmp(a->name, "deepseek32") == 0 || strcmp(a->name, "glm-dsa") == 0)
        add_indexer(options, r, *a->name == 'g');
    if (llama)
        add_flag(options, r, "freqs", 2);
    if (strcmp(a->name, "gemma4") == 0)
        add_sizes(options, r, layers, kv);
    if (strcmp(a->name, "gemma3n") == 0)
        add_sizes(options, r, layers, 0);
    if (strncmp(a->name, "lfm2", 4) == 0) {
        add_number(options, r, "interval", 1, 4);
        add_number(options, r, "conv", 2, 5);
    }
    if (a->experts || (a->some_experts && among(r, 0, 1)))
        add_experts(options, r);
    if (strcmp(a->name, "phimoe") == 0)
        add(options, " --experts %d --used 2", among(r, 2, 16));
}

#ifdef HAVE_META
/* cpu/N@shares, one of which at least is not 0. */
static void random_split(uint64_t *r, char device[64])
{
    int n = among(r, 2, 5), used = snprintf(device, 64, "cpu/%d@", n);
    for (int i = 0; i < n; i++)
        used += snprintf(device + used, 64 - (size_t)used, "%s%d", i ? ":" : "", among(r, i == 0, 4));
}

/* The model on three splits; the second time, experts are dealt out. */
static void run_splits(eng_context *engine, uint64_t *r, const char *options, const char *path, const answer *a)
{
    char device[64];
    for (int i = 0; i < 3; i++) {
        random_split(r, device);
        run(engine, options, device, i == 1 && has_experts(options) ? DEALT : i == 2 ? LAYERS : CUT, path, a);
    }
    run(engine, options, "cpu/2", GUEST, path, a);
    run(engine, options, "cpu/2", WEIGHTS, path, a);
}
#endif

static void run_random(eng_context *engine, const char *path, const char *only, unsigned seed)
{
    uint64_t r = seed;
    char options[768];
    answer a = {0};
    random_model(&r, seed, options);
    if (only && !strstr(options, only))
        return;
    if (subject_make(options, path))
        tap_check(false, "make-model %s", options);
    else if (answer_make(&a, path, seed, among(&r, 1, MAX_PROMPT))) {
        run(engine, options, "cpu", CUT, path, &a);
#ifdef HAVE_META
        run_splits(engine, &r, options, path, &a);
#endif
    }
    free(a.logits);
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    bool slow = false;
    unsigned n_random = 0, seed = 1;
    char path[256];
    eng_context *engine;
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (strcmp(argv[i], "--slow") == 0)
            slow = true;
        else if (strcmp(argv[i], "--only") == 0 && more)
            only = argv[++i];
        else if (strcmp(argv[i], "--random") == 0 && more)
            n_random = (unsigned)strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0 && more)
            seed = (unsigned)strtoul(argv[++i], NULL, 10);
        else {
            fprintf(stderr, "usage: test-archs [--slow] [--only TEXT] [--random N] [--seed S]\n");
            return 64;
        }
    }
    if (!(engine = tap_begin()))
        return 1;
    scratch_path("archs", path);
    if (n_random == 0)
        run_table(engine, path, only, slow);
    for (unsigned i = 0; i < n_random; i++)
        run_random(engine, path, only, seed + i);
    remove(path);
    return tap_end(engine);
}
