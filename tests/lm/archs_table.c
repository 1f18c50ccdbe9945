/* Models that test-archs runs. */
#include "config.h"

#include "archs.h"

const archs_model archs_table[] = {
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
    {"--arch qwen2 --seed 53 --yarn 4 --context 2048 --head 48 --key rope.scaling.yarn_beta_fast=3 --key "
     "rope.scaling.yarn_log_multiplier=0.707 --key rope.scaling.attn_factor=1.2 --key rope.scaling.finetuned=1", false},
    {"--arch qwen3 --seed 54 --yarn 16 --context 8192 --head 32 --key rope.scaling.yarn_ext_factor=0.6 "
     "--key rope.scaling.yarn_beta_slow=0.25", false},
    {"--arch qwen3moe --seed 55 --experts 4 --yarn 4 --context 64 --key rope.scaling.yarn_ext_factor=0 "
     "--key rope.scaling.yarn_attn_factor=1.4", false},
    {"--arch qwen35 --seed 56 --rope 16 --yarn 5 --context 5120 --key rope.scaling.yarn_beta_fast=2 "
     "--key rope.scaling.yarn_log_multiplier=1", true},
    {"--arch llama --seed 57 --linear 3 --key rope.scaling.attn_factor=1.25 --key rope.scaling.yarn_log_multiplier=0",
     false},
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
    {"--arch qwen35moe --seed 45 --experts 6 --used 2 --type q8_0 --expert-ffn 64 --shared-ffn 96 --interval 2 "
     "--scales", false},
    {"--arch qwen35moe --seed 46 --experts 11 --used 1 --type f16 --k-heads 1 --v-heads 3 --kv-heads 1 --heads 5 "
     "--tied", false},
    /* gemma2: windows and softcaps; the 27B's scale, known by its layers */
    {"--arch gemma2 --seed 101 --heads 6 --kv-heads 2 --head 24 --embd 96", true},
    {"--arch gemma2 --seed 102 --tied --window 3 --period 3 --layers 6 --type q8_0", false},
    {"--arch gemma2 --seed 103 --layers 46 --embd 48 --heads 2 --kv-heads 1 --head 40 --ffn 32 --vocab 300", false},
    /* gemma3: two ropes */
    {"--arch gemma3 --seed 104 --layers 7 --heads 4 --kv-heads 1 --head 20 --key rope.freq_base=1000000 --linear 8",
     true},
    {"--arch gemma3 --seed 105 --period 2 --window 4 --tied --key final_logit_softcapping=6 --key "
     "rope.freq_base_swa=5000", false},
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
    {"--arch gpt-oss --seed 113 --experts 6 --used 2 --yarn 32 --context 4096 --key rope.freq_base=150000 --head 64",
     true},
    {"--arch gpt-oss --seed 114 --experts 8 --used 4 --ffn-type mxfp4 --embd 64 --expert-ffn 64 --heads 8 --kv-heads 2",
     true},
    {"--arch gpt-oss --seed 115 --fused-experts --window 3 --period 1 --experts 4 --layers 2", false},
    {"--arch qwen2moe --seed 116 --experts 7 --used 3", true},
    {"--arch qwen2moe --seed 117 --experts 4 --used 4 --type q8_0 --shared-ffn 160 --key expert_weights_scale=1.5",
     false},
    {"--arch smollm3 --seed 118 --layers 5 --tied", true},
    {"--arch phi3 --seed 119 --head 24 --rope 18 --heads 6 --kv-heads 3 --int attention.sliding_window=4", true},
    {"--arch phi3 --seed 120 --long-factors --context 4096 --int rope.scaling.original_context_length=64 "
     "--key rope.scaling.attn_factor=1.19", false},
    {"--arch phi3 --seed 121 --long-factors --context 131072 --int rope.scaling.original_context_length=4096 --type "
     "q8_0", false},
    {"--arch olmo2 --seed 122 --heads 6 --kv-heads 3 --head 16", true},
    {"--arch olmo2 --seed 123 --layers 5 --int attention.sliding_window=4 --yarn 8 --context 8192 --type q8_0", false},
    {"--arch granite --seed 124", true},
    {"--arch granite --seed 126 --int rope.scaling.finetuned=0", true},
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
    {"--arch llama4 --seed 132 --layers 4 --experts 5 --used 2 --freqs --int attention.sliding_window=4 --type q8_0",
     true},
    {"--arch llama4 --seed 133 --layers 4 --experts 128 --used 1 --expert-ffn 32 --embd 32", false},
    {"--arch minimax-m2 --seed 134 --experts 8 --used 3 --heads 6 --kv-heads 2 --head 16 --rope 8", true},
    {"--arch minimax-m2 --seed 135 --experts 5 --used 2 --type q8_0", false},
    /* latent attention, with and without a short vector of queries; groups of experts */
    {"--arch deepseek2 --seed 138 --experts 8 --used 3 --groups 4 --groups-used 2 --q-lora 48 --kv-lora 32 "
     "--choice-bias --dense-lead 1 --heads 6 --head 24", true},
    {"--arch deepseek2 --seed 139 --experts 6 --used 2 --head 48 --type q8_0 --value 32 --int expert_gating_func=1 "
     "--int expert_weights_norm=0 --groups 3 --groups-used 1 --yarn 4 --context 256 "
     "--key rope.scaling.yarn_log_multiplier=0.0707", false},
    {"--arch deepseek2 --seed 140 --experts 4 --used 2 --shared-count 2 --heads 3 --kv-heads 1 --head 20 --kv-lora 40 "
     "--value 12 --tied --without expert_gating_func", false},
    /* glm5next: streams of a token; pools of cells, fewer than there are or all; bounded forgetting, clamped gates */
    {"--arch glm5next --seed 208 --layers 4 --interval 2 --heads 6 --head 24 --kv-lora 40 --value 20 --index-top 4 "
     "--pool 2 --experts 6 --used 2 --dense-lead 1 --state 20", true},
    {"--arch glm5next --seed 209 --key hyper_connection.epsilon=0.02 --layers 4 --interval 3 --streams 3 --sinkhorn 20 "
     "--index-top 8 --pool 4 --experts 5 --used 2 --type q8_0 --heads 4 --state 32 --kv-lora 64 --index-head 32 "
     "--index-heads 3", false},
    {"--arch glm5next --seed 210 --layers 2 --interval 1 --streams 1 --sinkhorn 1 --index-top 3 --pool 3 --experts 4 "
     "--used 1 --tied --key attention.layer_norm_rms_epsilon=1e-3", false}, /* all layers attend */
    {"--arch glm5next --seed 211 --layers 3 --interval 2 --index-top 128 --pool 16 --fused-experts --experts 4 "
     "--groups 2 --groups-used 1 --shared-count 2 --int expert_weights_norm=0 --type f16", false},
    {"--arch gemma --seed 141 --tied --heads 3 --kv-heads 1 --head 40", true},
    {"--arch phimoe --seed 204 --experts 12 --used 2 --heads 6 --kv-heads 2 --head 24 --ffn 64 --biases --window 6 "
     "--key rope.scaling.attn_factor=1.1", true},
    {"--arch phimoe --seed 205 --experts 5 --used 2 --long-factors --context 4096 "
     "--int rope.scaling.original_context_length=64 --key rope.scaling.attn_factor=1.19 --type q8_0", false},
    {"--arch olmoe --seed 142 --experts 7 --used 3", true},
    {"--arch granitemoe --seed 143 --experts 6 --used 2 --type q8_0", true},
    {"--arch granitemoe --seed 144 --experts 4 --used 2 --int rope.scaling.finetuned=0", true},
    /* gemma4: heads, K/V heads and widths by layer, caches that later layers read, per-layer embeddings, experts
       beside */
    {"--arch gemma4 --seed 144 --layers 6 --period 3 --heads 6 --kv-heads 3 --full-kv-heads 1 --head 48 --local-head "
     "24 --keys-are-values --layer-scales --freqs --tied --key final_logit_softcapping=5", false},
    {"--arch gemma4 --seed 145 --layers 7 --period 2 --heads 4 --kv-heads 2 --head 40 --local-head 20 --shared-caches "
     "4 --wide-shared --input 12 --embd 96 --ffn 64 --window 4 --layer-scales", true},
    {"--arch gemma4 --seed 146 --layers 4 --period 2 --heads 4 --kv-heads 4 --full-kv-heads 2 --head 64 --local-head "
     "32 --experts 6 --used 2 --expert-ffn 32 --freqs --key rope.freq_base=1000000 --type q8_0", false},
    {"--arch gemma4 --seed 147 --layers 3 --period 3 --shared-caches 0 --input 32 --experts 4 --used 1 --fused-experts "
     "--ffn 96 --linear 4", false},
    {"--arch gemma4 --seed 148 --layers 2 --period 2 --heads 2 --kv-heads 1 --head 512 --local-head 256 --embd 64 "
     "--ffn 64", true},
    /* gemma3n: several hidden states, a way around the mixer, sparse gates */
    {"--arch gemma3n --seed 149 --layers 5 --period 2 --heads 4 --kv-heads 2 --head 24 --shared-caches 2 --input 12 "
     "--embd 96 --ffn 80 --key final_logit_softcapping=5 --tied", true},
    {"--arch gemma3n --seed 150 --layers 3 --period 3 --altup 2 --sparse 0 --laurel 5 --wide-shared --type q8_0 "
     "--scales", false},
    {"--arch gemma3n --seed 151 --layers 2 --shared-caches 0 --altup 3 --int altup.active_idx=1 --sparse 1 --ffn 64",
     false},
    /* lfm2: short convolutions with gates */
    {"--arch lfm2 --seed 152 --layers 5 --interval 3 --conv 3 --heads 6 --kv-heads 3 --head 16 --embd 96 --tied", true},
    {"--arch lfm2 --seed 153 --layers 3 --interval 2 --conv 4 --embd 101 --type f16 --scales --fused-qkv", false},
    {"--arch lfm2 --seed 154 --layers 2 --interval 3 --type q8_0", false}, /* no attention at all */
    {"--arch lfm2moe --seed 155 --layers 4 --interval 2 --dense-lead 1 --experts 6 --used 2 --choice-bias --conv 3 "
     "--type q8_0", true},
    {"--arch lfm2moe --seed 156 --layers 3 --interval 1 --experts 5 --used 3 --fused-experts --tied "
     "--key expert_weights_scale=1.5", false},
    {"--arch seed_oss --seed 157 --heads 6 --kv-heads 2 --head 24 --type q8_0", true},
    {"--arch ernie4_5 --seed 158 --heads 6 --kv-heads 2 --head 24 --tied", true},
    {"--arch exaone4 --seed 159 --layers 5 --int attention.sliding_window=4 --freqs", true},
    {"--arch exaone4 --seed 160 --layers 3 --tied --linear 2", false}, /* no windows: all layers are rotated */
    /* layers that scan: of one group and several, heads of few channels, between layers that attend or feed forward */
    {"--arch mamba2 --seed 169 --k-heads 1 --v-heads 6 --scan-head 20 --state 24", true},
    {"--arch mamba2 --seed 170 --k-heads 3 --v-heads 6 --scan-head 32 --state 16 --type q8_0 --tied --biases --conv 3",
     false},
    {"--arch mamba2 --seed 171 --k-heads 1 --v-heads 5 --scan-head 7 --state 5 --layers 2 --embd 48", false},
    {"--arch mamba --seed 191 --k-heads 7 --v-heads 14 --scan-head 6 --state 16", true},
    {"--arch mamba --seed 192 --k-heads 4 --v-heads 4 --scan-head 32 --state 9 --type q8_0 --tied --conv 3 "
     "--scan-norms --layers 2", true},
    {"--arch nemotron_h --seed 172 --layers 8 --interval 2 --k-heads 2 --v-heads 8 --heads 6 --kv-heads 2 --head 24",
     true},
    {"--arch nemotron_h --seed 173 --layers 7 --interval 3 --k-heads 1 --v-heads 3 --type q8_0 --tied", false},
    {"--arch granitehybrid --seed 174 --interval 3 --k-heads 1 --v-heads 4 --experts 6 --used 2 --shared-ffn 48", true},
    {"--arch granitehybrid --seed 175 --interval 2 --k-heads 2 --v-heads 6 --int rope.scaling.finetuned=1 --type q8_0",
     false},
    {"--arch falcon-h1 --seed 176 --k-heads 1 --v-heads 6 --heads 6 --kv-heads 2 --head 20 --state 24", true},
    {"--arch falcon-h1 --seed 177 --k-heads 2 --v-heads 4 --scan-norms --type q8_0 --layers 2 --linear 3 --tied",
     false},
    /* where an indexer may choose as many tokens as there are cells */
    {"--arch deepseek32 --seed 193 --experts 8 --used 3 --groups 4 --groups-used 2 --q-lora 48 --kv-lora 32 "
     "--dense-lead 1 --heads 6 --kv-heads 1 --head 24 --yarn 4 --context 256 "
     "--key rope.scaling.yarn_log_multiplier=0.1", false},
    {"--arch glm-dsa --seed 194 --experts 4 --used 2 --q-lora 40 --heads 3 --kv-heads 1 --head 20 --type q8_0", false},
    /* and fewer: heads that are no power of two, layers that see what an earlier one chose, one token alone */
    {"--arch deepseek32 --seed 203 --experts 8 --used 3 --q-lora 48 --kv-lora 32 --dense-lead 1 --heads 6 --kv-heads 1 "
     "--head 24 --index-top 5 --index-heads 7 --index-head 20 --yarn 4 --context 256 --key "
     "rope.scaling.yarn_log_multiplier=0.1", true},
    {"--arch glm-dsa --seed 197 --experts 4 --used 2 --q-lora 40 --heads 3 --kv-heads 1 --head 20 --index-top 4 "
     "--index-heads 8 --index-head 32 --index-period 3 --layers 5 --type q8_0", true},
    {"--arch glm-dsa --seed 198 --experts 4 --used 2 --heads 4 --kv-heads 1 --index-top 1 --index-heads 1 "
     "--index-period 4 --layers 4 --tied", false},
    {"--arch deepseek32 --seed 199 --experts 4 --used 2 --heads 2 --kv-heads 1 --head 40 --index-top 8 --index-heads 4 "
     "--index-head 64 --type f16", false},
    {"--arch qwen2vl --seed 195 --heads 6 --kv-heads 2 --head 22", true},
    /* kimi-linear: channels that forget by themselves, between layers of latent attention without rope */
    {"--arch kimi-linear --seed 178 --experts 6 --used 2 --heads 6 --head 24 --kv-lora 32 --state 20 --dense-lead 1",
     true},
    {"--arch kimi-linear --seed 179 --experts 8 --used 3 --groups 4 --groups-used 2 --heads 3 --kv-heads 1 --head 20 "
     "--value 12 --q-lora 40 --layers 5 --interval 2 --conv 3 --type q8_0 --small-conv --key "
     "attention.layer_norm_rms_epsilon=1e-2 --shared-count 2 --tied --without expert_gating_func", false},
    {"--arch kimi-linear --seed 180 --experts 4 --used 2 --heads 5 --kv-heads 1 --head 32 --state 33 --layers 3 "
     "--interval 3 --int expert_weights_norm=0 --shared-count 0 --embd 96", false},
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
    {"--arch deepseek4 --seed 212 --layers 6 --heads 6 --head 24 --out-groups 3 --ratio 2 --long-ratio 3 --window 4 "
     "--index-top 2 --hashed 2", true},
    {"--arch deepseek4 --seed 213 --layers 4 --heads 4 --ratio 4 --long-ratio 5 --window 3 --index-top 1 --hashed 0 "
     "--streams 3 --sinkhorn 20 --experts 5 --used 3 --shared-count 2 --yarn 4 --context 64 --scales --fused-experts",
     true},
    {"--arch deepseek4 --seed 214 --layers 3 --heads 2 --head 40 --rope 6 --out-groups 1 --out-rank 10 --ratio 3 "
     "--long-ratio 7 --window 2 --index-top 128 --hashed 3 --experts 4 --used 1 --key hyper_connection.epsilon=0.02",
     false},
    {"--arch deepseek4 --seed 215 --layers 3 --embd 64 --heads 8 --head 32 --out-groups 4 --out-rank 32 --ratio 4 "
     "--long-ratio 64 --window 8 --index-top 2 --hashed 1 --type q8_0 --key swiglu_clamp_shexp=0.5", false},
    /* qwen4exp: streams mixed channel by channel, pools by means, rows of a table of n-grams; a text's end in the
       prompt */
    {"--arch qwen4exp --seed 216 --layers 4 --interval 2 --experts 6 --used 2 --index-top 4 --pool 2 --index-heads 5 "
     "--index-head 20 --heads 6 --kv-heads 2 --head 24 --k-heads 2 --v-heads 6 --int ple.eos_token_id=206", true},
    {"--arch qwen4exp --seed 217 --layers 6 --interval 3 --experts 5 --used 3 --index-top 8 --pool 4 --streams 3 "
     "--mix-rank 20 --ngrams 4 --ngram-each 3 --ngram-width 5 --ngram-taps 3 --scales --fused-experts --key "
     "attention.layer_norm_rms_epsilon=0.02 --int ple.eos_token_id=156", true},
    {"--arch qwen4exp --seed 218 --layers 3 --interval 3 --experts 4 --used 1 --index-top 3 --pool 3 --ngrams 2 --type "
     "q8_0 --embd 64 --mix-rank 32 --ngram-width 32 --streams 2", false},
    {"--arch qwen4exp --seed 219 --layers 2 --interval 2 --experts 4 --used 2 --index-top 128 --pool 8 --ngrams 0 "
     "--tied --streams 1", false},
    /* latent attention with queries that grow: Mistral Large 3 and Mistral Small 4 */
    {"--arch deepseek2 --seed 301 --experts 6 --used 2 --q-lora 40 --kv-lora 24 --dense-lead 1 --heads 3 --kv-heads 1 "
     "--head 20 --yarn 4 --context 20 --key rope.scaling.yarn_log_multiplier=0.1 --key attention.temperature_scale=0.4",
     false},
    {"--arch mistral4 --seed 302 --experts 8 --used 4 --fused-experts --q-lora 48 --kv-lora 32 --heads 6 --kv-heads 1 "
     "--head 24 --yarn 8 --context 40 --key rope.scaling.yarn_log_multiplier=0.1 --key attention.temperature_scale=0.4",
     true},
    {"--arch mistral4 --seed 303 --experts 12 --used 2 --groups 3 --groups-used 1 --dense-lead 1 --type q8_0 --tied "
     "--yarn 4 --context 12 --key rope.scaling.yarn_log_multiplier=0 --key attention.temperature_scale=1.5 --int "
     "attention.temperature_length=5", false},
    {"--arch mistral4 --seed 304 --experts 4 --used 1 --shared-count 2 --heads 2 --kv-heads 1 --kv-lora 40 --value 12",
     false},
};
const size_t archs_table_n = sizeof archs_table / sizeof *archs_table;
