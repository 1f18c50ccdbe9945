"""The cases of archs.py: an architecture of files, a configuration of transformers, what keys its file has beyond the usual, and how
tensors are called and stored.
"""
import torch


class Longs(list):
    """Whole numbers that are written as 64 bits."""


POST = {"post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
        "post_feedforward_layernorm": "post_ffw_norm"}
GEMMA4 = {**POST, "per_layer_input_gate": "inp_gate", "per_layer_projection": "proj",
          "post_per_layer_input_norm": "post_norm", "layer_scalar": "layer_output_scale",
          "router.proj": "ffn_gate_inp", "router.scale": "ffn_gate_inp.scale",
          "router.per_expert_scale": "ffn_down_exps.scale", "experts.gate_up_proj": "ffn_gate_up_exps",
          "experts.down_proj": "ffn_down_exps", "post_feedforward_layernorm_1": "post_ffw_norm_1",
          "post_feedforward_layernorm_2": "post_ffw_norm_2", "pre_feedforward_layernorm_2": "pre_ffw_norm_2"}
MIXED = {"hc_norm.weight": "norm", "input_mix_weight_down.weight": "down", "input_mix_weight_up.weight": "up",
         "block_inject_weight.weight": "inject"}
GLM4 = {"post_self_attn_layernorm": "post_attention_norm", "post_mlp_layernorm": "post_ffw_norm"}
SECOND = {"post_attention_layernorm": "post_attention_norm"}


BASE = dict(vocab_size=300, hidden_size=64, intermediate_size=96, num_hidden_layers=4, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=512, pad_token_id=None, bos_token_id=None, eos_token_id=None)
MOE = dict(num_experts_per_tok=2, moe_intermediate_size=32)
ROPE = {"rope_type": "default", "rope_theta": 10000.0}


def yarn(**more):
    return {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 32,
            "beta_fast": 32.0, "beta_slow": 1.0, **more}


YARN_KEYS = {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 32}

# arch: of the file; config; keys beyond the usual; how tensors are stored
CASES = {
    "llama": dict(arch="llama", config="LlamaConfig", paired=True, tie_word_embeddings=False),
    "qwen2": dict(arch="qwen2", config="Qwen2Config"),
    "qwen3": dict(arch="qwen3", config="Qwen3Config", head_dim=24),
    "qwen3moe": dict(arch="qwen3moe", config="Qwen3MoeConfig", head_dim=24, num_experts=6, norm_topk_prob=True, **MOE),
    "gemma2": dict(arch="gemma2", config="Gemma2Config", head_dim=24, query_pre_attn_scalar=24, sliding_window=5,
                   attn_logit_softcapping=2.0, final_logit_softcapping=3.0, names=POST, plus1=True,
                   keys={"attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0}),
    "gemma3": dict(arch="gemma3", config="Gemma3TextConfig", head_dim=24, query_pre_attn_scalar=24, sliding_window=5,
                   num_hidden_layers=7, names=POST, plus1=True,
                   rope_parameters={"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
                                    "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6}},
                   keys={"rope.freq_base": 1e6, "rope.scaling.type": "linear", "rope.scaling.factor": 8.0}),
    "gemma": dict(arch="gemma", config="GemmaConfig", head_dim=24, plus1=True),
    "olmoe": dict(arch="olmoe", config="OlmoeConfig", num_experts=6, num_experts_per_tok=2, norm_topk_prob=False),
    "granitemoe": dict(arch="granitemoe", config="GraniteMoeConfig", paired=True, num_local_experts=6,
                       num_experts_per_tok=2, embedding_multiplier=2.5, residual_multiplier=0.4,
                       attention_multiplier=0.15, logits_scaling=1.7,
                       keys={"embedding_scale": 2.5, "residual_scale": 0.4, "attention.scale": 0.15,
                             "logit_scale": 1.7}),
    "glm4": dict(arch="glm4", config="Glm4Config", head_dim=32, attention_bias=True,
                 names={**GLM4, "post_attention_layernorm": "ffn_norm"}, keys={"rope.dimension_count": 16}),
    "glm4moe": dict(arch="glm4moe", config="Glm4MoeConfig", head_dim=32, n_routed_experts=8, n_shared_experts=1,
                    first_k_dense_replace=1, routed_scaling_factor=1.5, use_qk_norm=True, n_group=2, topk_group=1,
                    attention_bias=True, names=SECOND, **MOE,
                    keys={"rope.dimension_count": 16, "expert_gating_func": 2, "expert_weights_norm": True,
                          "expert_weights_scale": 1.5, "expert_group_count": 2, "expert_group_used_count": 1,
                          "leading_dense_block_count": 1}),
    "gpt-oss": dict(arch="gpt-oss", config="GptOssConfig", head_dim=32, num_local_experts=6, num_experts_per_tok=2,
                    sliding_window=5, columns="woven", names=SECOND,
                    rope_parameters=yarn(truncate=False, rope_theta=150000.0, factor=32.0,
                                         original_max_position_embeddings=4096),
                    keys={**YARN_KEYS, "rope.scaling.factor": 32.0, "rope.scaling.original_context_length": 4096,
                          "rope.freq_base": 150000.0, "expert_feed_forward_length": 96}),
    "qwen2moe": dict(arch="qwen2moe", config="Qwen2MoeConfig", num_experts=6, shared_expert_intermediate_size=48,
                     **MOE),
    "smollm3": dict(arch="smollm3", config="SmolLM3Config", paired=True, tie_word_embeddings=False),
    "phi3": dict(arch="phi3", config="Phi3Config", sliding_window=5, names={}),
    "olmo2": dict(arch="olmo2", config="Olmo2Config", names=POST),
    "olmo3": dict(arch="olmo2", config="Olmo3Config", names=POST, sliding_window=5, num_hidden_layers=5,
                  rope_parameters={"sliding_attention": ROPE, "full_attention": yarn()},
                  keys={**YARN_KEYS, "attention.sliding_window_pattern": [True, True, True, False, True]}),
    "granite": dict(arch="granite", config="GraniteConfig", paired=True, embedding_multiplier=2.5,
                    residual_multiplier=0.4, attention_multiplier=0.15, logits_scaling=1.7,
                    keys={"embedding_scale": 2.5, "residual_scale": 0.4, "attention.scale": 0.15, "logit_scale": 1.7}),
    "command-r": dict(arch="command-r", config="CohereConfig", use_qk_norm=True, logit_scale=0.6,
                      keys={"logit_scale": 0.6}),
    "cohere2": dict(arch="cohere2", config="Cohere2Config", sliding_window=5, logit_scale=0.6, num_hidden_layers=5,
                    keys={"logit_scale": 0.6}),
    "mistral3": dict(arch="mistral3", config="Ministral3Config", head_dim=24, paired=True, tie_word_embeddings=False,
                     original=16,
                     rope_parameters=yarn(original_max_position_embeddings=16, mscale=1.0, mscale_all_dim=1.0,
                                          llama_4_scaling_beta=0.3),
                     keys={**YARN_KEYS, "rope.scaling.original_context_length": 16,
                           "rope.scaling.yarn_log_multiplier": 1.0, "attention.temperature_scale": 0.3}),
    "llama4": dict(arch="llama4", config="Llama4TextConfig", head_dim=24, num_local_experts=6, num_experts_per_tok=1,
                   intermediate_size=32, intermediate_size_mlp=96, interleave_moe_layer_step=2, num_hidden_layers=5,
                   attention_chunk_size=8, columns="halves", tie_word_embeddings=False, rope_parameters=ROPE,
                   keys={"interleave_moe_layer_step": 2, "feed_forward_length": 96, "expert_feed_forward_length": 32,
                         "attention.sliding_window": 8}),
    "minimax-m2": dict(arch="minimax-m2", config="MiniMaxM2Config", head_dim=32, num_local_experts=6,
                       num_experts_per_tok=2, rope_parameters={**ROPE, "partial_rotary_factor": 0.5},
                       keys={"rope.dimension_count": 16, "expert_gating_func": 2, "expert_feed_forward_length": 96}),
    "qwen3next": dict(arch="qwen3next", config="Qwen3NextConfig", head_dim=32, num_experts=6, linear_num_key_heads=2,
                      linear_num_value_heads=6, linear_key_head_dim=16, linear_value_head_dim=16,
                      shared_expert_intermediate_size=48, plus1=True, names=SECOND, **MOE,
                      keys={"rope.dimension_count": 8, "ssm.conv_kernel": 4, "ssm.state_size": 16, "ssm.group_count": 2,
                            "ssm.time_step_rank": 6, "ssm.inner_size": 96, "full_attention_interval": 4}),
}
CASES["phimoe"] = dict(arch="phimoe", config="PhimoeConfig", num_local_experts=12, num_experts_per_tok=2, attention_bias=True,
                       lm_head_bias=True, columns=None, rope_parameters=ROPE, keys={"attention.layer_norm_rms_epsilon": 1e-5})
LATENT = dict(config="DeepseekV3Config", num_key_value_heads=4, n_routed_experts=8, n_shared_experts=1,
              first_k_dense_replace=1, kv_lora_rank=32, qk_rope_head_dim=8, qk_nope_head_dim=16, v_head_dim=12,
              routed_scaling_factor=2.5, n_group=2, topk_group=1, norm_topk_prob=True, **MOE)
LATENT_KEYS = {"attention.head_count_kv": 1, "attention.key_length": 40, "attention.value_length": 32,
               "attention.key_length_mla": 24, "attention.value_length_mla": 12, "attention.kv_lora_rank": 32,
               "rope.dimension_count": 8, "leading_dense_block_count": 1, "expert_gating_func": 2,
               "expert_weights_norm": True, "expert_weights_scale": 2.5, "expert_group_count": 2,
               "expert_group_used_count": 1}
CASES["deepseek3"] = dict(arch="deepseek2", q_lora_rank=24, **LATENT, keys={**LATENT_KEYS, "attention.q_lora_rank": 24})
CASES["deepseek3-yarn"] = dict(arch="deepseek2", q_lora_rank=None, **LATENT,
                               rope_parameters=yarn(mscale=0.7, mscale_all_dim=0.7),
                               keys={**LATENT_KEYS, **YARN_KEYS, "rope.scaling.yarn_log_multiplier": 0.07})
CASES["deepseek2"] = dict(arch="deepseek2", q_lora_rank=24, **{
    **LATENT, "config": "DeepseekV2Config", "topk_method": "group_limited_greedy", "norm_topk_prob": False},
    keys={**LATENT_KEYS, "attention.q_lora_rank": 24, "expert_gating_func": 1, "expert_weights_norm": False})

GROWN = {**LATENT_KEYS, **YARN_KEYS, "rope.scaling.original_context_length": 16, "attention.q_lora_rank": 24,
         "expert_gating_func": 1, "rope.scaling.yarn_log_multiplier": 0.1, "attention.temperature_scale": 0.3,
         "attention.temperature_length": 16}
CASES["mistral4"] = dict(arch="mistral4", q_lora_rank=24, **{**LATENT, "config": "Mistral4Config", "body": "Mistral4Model", "first_k_dense_replace": 0},
                         rope_parameters=yarn(original_max_position_embeddings=16, mscale=1.0, mscale_all_dim=1.0,
                                              llama_4_scaling_beta=0.3), keys={**GROWN, "leading_dense_block_count": 0})
CASES["mistral4-dense"] = dict(arch="mistral4", q_lora_rank=24, **{
    **LATENT, "config": "Mistral4Config", "body": "Mistral4Model", "n_group": 4, "topk_group": 2, "n_shared_experts": 2, "rms_norm_eps": 1e-2},
    rope_parameters=yarn(original_max_position_embeddings=8, mscale=0.7, mscale_all_dim=0.7, llama_4_scaling_beta=1.2),
    keys={**GROWN, "rope.scaling.original_context_length": 8, "rope.scaling.yarn_log_multiplier": 0.07,
          "attention.temperature_length": 8,
          "attention.temperature_scale": 1.2, "expert_group_count": 4, "expert_group_used_count": 2})

INDEXED = dict(num_key_value_heads=4, n_routed_experts=8, n_shared_experts=1, first_k_dense_replace=1, q_lora_rank=24,
               kv_lora_rank=32, qk_rope_head_dim=8, qk_nope_head_dim=16, v_head_dim=12, routed_scaling_factor=2.5, n_group=2,
               topk_group=1, norm_topk_prob=True, index_topk=5, index_head_dim=20, index_n_heads=12, **MOE,
               names={"self_attn.indexer.wq_b": "indexer.attn_q_b", "self_attn.indexer.wk": "indexer.attn_k",
                      "self_attn.indexer.k_norm": "indexer.k_norm", "self_attn.indexer.weights_proj": "indexer.proj"},
               keys={**LATENT_KEYS, "attention.q_lora_rank": 24, "attention.indexer.top_k": 5,
                     "attention.indexer.key_length": 20, "attention.indexer.head_count": 12})
INDEXED_YARN = {**INDEXED["keys"], **YARN_KEYS, "rope.scaling.yarn_log_multiplier": 0.07}
CASES["deepseek32"] = dict(arch="deepseek32", config="DeepseekV32Config", **INDEXED)
CASES["deepseek32-yarn"] = dict(arch="deepseek32", config="DeepseekV32Config",
                                rope_parameters=yarn(mscale=0.7, mscale_all_dim=0.7), **{**INDEXED, "keys": INDEXED_YARN})
CASES["deepseek32-all"] = dict(arch="deepseek32", config="DeepseekV32Config", **{
    **INDEXED, "index_topk": 8192, "keys": {**INDEXED["keys"], "attention.indexer.top_k": 8192}})
CASES["glm-dsa"] = dict(arch="glm-dsa", config="GlmMoeDsaConfig", mlp_layer_types=["dense"] + 3 * ["sparse"], **INDEXED)
CASES["glm-dsa-shared"] = dict(arch="glm-dsa", config="GlmMoeDsaConfig", mlp_layer_types=["dense"] + 3 * ["sparse"],
                               indexer_types=["full", "shared", "full", "shared"], **{
    **INDEXED, "keys": {**INDEXED["keys"], "attention.indexer.types": [1, 0, 1, 0]}})

KDA = {"self_attn.forget_gate.f_a_proj": "ssm_f_a", "self_attn.forget_gate.f_b_proj": "ssm_f_b",
       "self_attn.forget_gate.dt_bias": "ssm_dt.bias", "self_attn.b_proj": "ssm_beta", "self_attn.g_a_proj": "ssm_g_a",
       "self_attn.g_b_proj": "ssm_g_b", "self_attn.o_norm": "ssm_norm"}
KIMI_KEYS = {**LATENT_KEYS, "attention.head_count_kv": [0, 0, 1, 0, 1], "ssm.conv_kernel": 3, "kda.head_dim": 20}
KIMI = dict(arch="kimi-linear", config="KimiLinearConfig", num_key_value_heads=4, num_local_experts=8, n_shared_experts=1,
            kv_lora_rank=32, qk_rope_head_dim=8, qk_nope_head_dim=16, v_head_dim=12, routed_scaling_factor=2.5, n_group=2,
            topk_group=1, linear_num_heads=4, linear_head_dim=20, linear_conv_kernel_dim=3, num_hidden_layers=5, names=KDA,
            layer_types=["linear_attention" if i in (0, 1, 3) else "full_attention" for i in range(5)], **MOE)
CASES["kimi-linear"] = dict(**KIMI, keys=KIMI_KEYS)
CASES["kimi-linear-q"] = dict(**KIMI, q_lora_rank=24, norm_topk_prob=False, rms_norm_eps=1e-2,
                              keys={**KIMI_KEYS, "attention.q_lora_rank": 24, "expert_weights_norm": False})

POOLED = {**KDA, **INDEXED["names"], "self_attn.indexer.index_kpool_compress_gate": "indexer_compressor_gate",
          "self_attn.indexer.index_kpool_compress_ape": "indexer_compressor_ape",
          **{"%s_hc.%s" % (b, x): "hc_%s_%s" % (b, x) for b in ("attn", "ffn") for x in ("fn", "base", "scale")}}
GLM5 = dict(arch="glm5next", config="Glm5NextTextConfig", body="Glm5NextTextModel", names=POOLED, num_key_value_heads=4,
            n_routed_experts=8, n_shared_experts=1, kv_lora_rank=32, q_lora_rank=24, qk_nope_head_dim=24, v_head_dim=12,
            routed_scaling_factor=2.5, n_group=2, topk_group=1, linear_num_heads=4, linear_head_dim=20, linear_conv_kernel_dim=3,
            num_hidden_layers=5, index_head_dim=20, index_n_heads=12, index_topk=8, index_kpool=4, swiglu_limit=0.5,
            mlp_layer_types=["dense"] + 4 * ["sparse"], hc_mult=3, hc_sinkhorn_iters=5,
            layer_types=["linear_attention" if i in (0, 2, 3) else "indexed_attention" for i in range(5)], **MOE)
GLM5_KEYS = {**KIMI_KEYS, "attention.head_count_kv": [0, 1, 0, 0, 1], "attention.q_lora_rank": 24, "attention.key_length": 32,
             "rope.dimension_count": 0, "kda.gate_lower_bound": -5.0, "attention.indexer.top_k": 8,
             "attention.indexer.key_length": 20, "attention.indexer.head_count": 12, "attention.indexer.kpool": 4,
             "hyper_connection.count": 3, "hyper_connection.sinkhorn_iterations": 5, "hyper_connection.epsilon": 1e-6,
             "swiglu_clamp_exp": [0.5] * 5, "swiglu_clamp_shexp": [0.5] * 5}
CASES["glm5next"] = dict(**GLM5, keys=GLM5_KEYS)
CASES["glm5next-all"] = {**GLM5, "index_topk": 2048, "rms_norm_eps": 1e-2, "hc_eps": 1e-2, "hc_mult": 4, "keys": {
    **GLM5_KEYS, "attention.indexer.top_k": 2048, "hyper_connection.epsilon": 1e-2, "hyper_connection.count": 4}}

ENTRIES = {"self_attn.q_a_norm": "attn_q_a_norm", "self_attn.kv_proj": "attn_kv", "self_attn.kv_norm": "attn_kv_a_norm",
           "self_attn.o_a_proj": "attn_output_a", "self_attn.o_b_proj": "attn_output_b", "mlp.gate.tid2eid": "ffn_gate_tid2eid",
           "self_attn.compressor.indexer.q_b_proj": "indexer.attn_q_b",
           "self_attn.compressor.indexer.scorer.weights_proj": "indexer.proj",
           **{"%s_hc.%s" % (b, x): "hc_%s_%s" % (b, x) for b in ("attn", "ffn") for x in ("fn", "base", "scale")},
           **{"self_attn.compressor.%s%s" % (b, x): "%s_compressor_%s" % (a, y) for b, a in (("", "attn"), ("indexer.", "indexer"))
              for x, y in (("kv_proj", "kv"), ("gate_proj", "gate"), ("position_bias", "ape"), ("kv_norm", "norm"))}}
SIGHTS = {0: "sliding_attention", 2: "compressed_sparse_attention", 4: "compressed_sparse_attention", 5: "heavily_compressed_attention",
          128: "heavily_compressed_attention"}


def deepseek4(ratios, hashed, top=3, rope=None, keys=None, **more):
    return dict(arch="deepseek4", config="DeepseekV4Config", names=ENTRIES, head_dim=24, intermediate_size=32, qk_rope_head_dim=8, q_lora_rank=20,
                num_key_value_heads=1, n_routed_experts=6, n_shared_experts=1, o_groups=2, o_lora_rank=12, index_n_heads=12,
                index_head_dim=16, index_topk=top, sliding_window=4, swiglu_limit=0.5, hc_mult=3, hc_sinkhorn_iters=5,
                num_hidden_layers=len(ratios), layer_types=[SIGHTS[r] for r in ratios], num_hash_layers=hashed,
                compress_rates={SIGHTS[2]: 2, SIGHTS[5]: 5, **{SIGHTS[r]: r for r in ratios if r}}, rope_parameters=rope, **MOE, **more,
                keys={"attention.compress_ratios": ratios + [0], "attention.compress_rope_freq_base": 160000.0,
                      "attention.q_lora_rank": 20, "attention.output_group_count": 2, "attention.output_lora_rank": 12,
                      "hash_layer_count": hashed, "attention.indexer.head_count": 12, "attention.indexer.key_length": 16,
                      "attention.indexer.top_k": top, "rope.dimension_count": 8, "expert_gating_func": 4,
                      "expert_weights_norm": True, "expert_weights_scale": 1.5, "hyper_connection.count": 3,
                      "hyper_connection.sinkhorn_iterations": 5, "hyper_connection.epsilon": 1e-6,
                      "swiglu_clamp_exp": [0.5] * len(ratios), **(keys or {})})


CASES["deepseek4"] = deepseek4([0, 2, 5, 2], 1)
CASES["deepseek4-four"] = deepseek4([0, 4, 128, 4], 1, 64)  # sizes as published models have them
CASES["deepseek4-four"].update(hc_mult=4, index_n_heads=4, index_head_dim=64, keys={
    **CASES["deepseek4-four"]["keys"], "hyper_connection.count": 4, "attention.indexer.head_count": 4, "attention.indexer.key_length": 64})
CASES["deepseek4-yarn"] = deepseek4([5, 2, 0], 2, 64, {**yarn(), "type": "yarn"}, YARN_KEYS)
CASES["deepseek4-eps"] = deepseek4([2, 5, 2], 0, 1, None, {"hyper_connection.epsilon": 1e-2}, hc_eps=1e-2, rms_norm_eps=1e-2)

HYBRID = dict(head_dim=32, linear_num_key_heads=2, linear_num_value_heads=6, linear_key_head_dim=16,
              linear_value_head_dim=16, plus1=True, tiled=True, names=SECOND,
              keys={"rope.dimension_count": 8, "rope.dimension_sections": [2, 1, 1, 0], "ssm.conv_kernel": 4,
                    "ssm.state_size": 16, "ssm.group_count": 2, "ssm.time_step_rank": 6, "ssm.inner_size": 96,
                    "full_attention_interval": 4})
CASES["qwen35"] = dict(arch="qwen35", config="Qwen3_5TextConfig", **HYBRID)
CASES["qwen35moe"] = dict(arch="qwen35moe", config="Qwen3_5MoeTextConfig", num_experts=6,
                          shared_expert_intermediate_size=48, **MOE, **HYBRID)

NGRAMS = {"self_attn.indexer.q_layernorm": "indexer.q_norm", "self_attn.indexer.k_layernorm": "indexer.k_norm",
          **{"ple." + a: "ple_" + b for a, b in (("key_proj", "key"), ("value_proj", "value"), ("norm_key", "norm_key"),
                                                 ("norm_query", "norm_query"), ("norm_conv", "norm_conv"))},
          **{"%s_hyper_connection.%s" % (m, a[:-7]): "hc_%s_%s" % (n, b) for m, n in (("attn", "attn"), ("mlp", "ffn"))
             for a, b in MIXED.items()}}


def primes(least, n):
    found = []
    while len(found) < n:
        found += [least] if all(least % d for d in range(2, int(least ** 0.5) + 1)) else []
        least += 1
    return found


def qwen4exp(layer, longest, each, end, budget, ratio, width=6, **more):
    """Factors of the hash are what the model's own code makes of its seed, and are taken from there."""
    n = (longest - 1) * each
    sizes = primes(50, n)
    return dict(arch="qwen4exp", config="Qwen4ExpTextConfig", head_dim=32, linear_num_key_heads=2, linear_num_value_heads=6,
                linear_key_head_dim=16, linear_value_head_dim=16, plus1=True, tiled=True, names=NGRAMS,
                norms=("norm_key.weight", "norm_query.weight", "norm_conv.weight", "layernorm.weight"), output_gate_type="sigmoid",
                hc_count=3, hc_lowrank=20, indexer_n_heads=12, indexer_kv_heads=1, indexer_head_dim=20, indexer_budget=budget,
                indexer_compress_ratio=ratio, ple_layer_ids=[layer + 1], ple_embed_dim=n * width, ngram_size=longest,
                heads_per_ngram=each, ngram_vocab_size_base=50, make_ngram_vocab_size_divisible_by=8, num_experts=6,
                shared_expert_intermediate_size=48, num_hidden_layers=6, full_attention_interval=3, eos_token_id=end,
                rope_parameters={**ROPE, "partial_rotary_factor": 0.25, "mrope_section": [2, 1, 1], "mrope_interleaved": True},
                factors="layer_multipliers", **{**MOE, **more},
                keys={**HYBRID["keys"], "full_attention_interval": 3, "hyper_connection.count": 3, "hyper_connection.low_rank": 20,
                      "attention.indexer.head_count": 12, "attention.indexer.key_length": 20, "attention.indexer.top_k": budget,
                      "attention.compress_ratios": 2 * [0, 0, ratio], "embedding_length_per_layer_input": width,
                      "ple.layers": [layer], "ple.ngram_size": longest, "ple.heads_per_ngram": each, "ple.conv_kernel": 4,
                      "ple.eos_token_id": end, "ple.head_vocab_sizes": Longs(sizes),
                      "ple.head_offsets": Longs(sum(sizes[:i]) for i in range(n))})


# tokens of the text are (37 i + 11) % 300: 159 ends one in the middle of it
CASES["qwen4exp"] = qwen4exp(1, 3, 2, 159, 8, 4, 16)
CASES["qwen4exp-4"] = qwen4exp(0, 4, 3, 85, 6, 2, 5)
CASES["qwen4exp-all"] = qwen4exp(3, 2, 1, 299, 512, 8, 16, rms_norm_eps=1e-2, ple_conv_kernel_size=2)
CASES["qwen4exp-all"]["keys"]["ple.conv_kernel"] = 2

SCAN_KEYS = {"ssm.conv_kernel": 4, "ssm.state_size": 16, "ssm.group_count": 2, "ssm.time_step_rank": 8,
             "ssm.inner_size": 128, "attention.layer_norm_rms_epsilon": 1e-5}
CASES["mamba2"] = dict(arch="mamba2", config="Mamba2Config", state_size=16, head_dim=16, num_heads=8, n_groups=2,
                       names={"norm": "attn_norm"},
                       keys={**SCAN_KEYS, "attention.head_count": 0, "feed_forward_length": 0})
CHANNELS = dict(arch="mamba", config="MambaConfig", state_size=16, time_step_rank=6, names={"norm": "attn_norm"},
                keys={"ssm.conv_kernel": 4, "ssm.state_size": 16, "ssm.time_step_rank": 6, "ssm.inner_size": 96,
                      "attention.layer_norm_rms_epsilon": 1e-5, "attention.head_count": 0, "feed_forward_length": 0})
CASES["mamba"] = CHANNELS
CASES["falcon-mamba"] = {**CHANNELS, "config": "FalconMambaConfig", "keys": {**CHANNELS["keys"], "ssm.dt_b_c_rms": True}}
CASES["mamba2-one"] = {**CASES["mamba2"], "n_groups": 1, "keys": {**CASES["mamba2"]["keys"], "ssm.group_count": 1}}
CASES["nemotron_h"] = dict(arch="nemotron_h", config="NemotronHConfig", ssm_state_size=16, mamba_num_heads=8,
                           mamba_head_dim=16, n_groups=2, head_dim=24, time_step_min=1e-30, names={"norm": "attn_norm"},
                           layers_block_type=["linear_attention", "mlp", "full_attention", "linear_attention", "mlp"],
                           keys={**SCAN_KEYS, "block_count": 5, "attention.head_count_kv": [0, 0, 2, 0, 0],
                                 "feed_forward_length": [0, 96, 0, 0, 96]})
GRANITE = dict(arch="granitehybrid", config="GraniteMoeHybridConfig", paired=True, mamba_n_heads=8, mamba_d_state=16,
               mamba_d_head=16, mamba_n_groups=1, shared_intermediate_size=96, embedding_multiplier=2.5,
               residual_multiplier=0.4, attention_multiplier=0.15, logits_scaling=1.7,
               layer_types=["linear_attention", "full_attention", "linear_attention", "full_attention"],
               keys={**SCAN_KEYS, "ssm.group_count": 1, "embedding_scale": 2.5, "residual_scale": 0.4,
                     "attention.scale": 0.15, "logit_scale": 1.7, "rope.scaling.finetuned": False,
                     "attention.head_count_kv": [0, 2, 0, 2], "attention.layer_norm_rms_epsilon": 1e-6})
CASES["granitehybrid"] = dict(**GRANITE, num_local_experts=0)
CASES["granitehybrid-moe"] = {**GRANITE, "num_local_experts": 6, "num_experts_per_tok": 2, "keys": {
    **GRANITE["keys"], "expert_shared_feed_forward_length": 96, "rope.scaling.finetuned": True},
    "position_embedding_type": "rope"}

CASES["falcon-h1"] = dict(arch="falcon-h1", config="FalconH1Config", mamba_n_heads=8, mamba_d_state=16, mamba_d_head=16,
                          mamba_d_ssm=128, mamba_n_groups=2, head_dim=24, names={"pre_ff_layernorm": "ffn_norm"},
                          keys={**SCAN_KEYS})
# the tensor's name as converters write it
CASES["falcon-h1-norm"] = {**CASES["falcon-h1"], "names": {"pre_ff_layernorm": "ffn_norm."}, "mamba_rms_norm": True, "mamba_norm_before_gate": False}

STARCODER = {"mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}
CASES["starcoder2"] = dict(arch="starcoder2", config="Starcoder2Config", sliding_window=5, names=STARCODER,
                           rope_parameters=ROPE)
CASES["starcoder2-open"] = dict(arch="starcoder2", config="Starcoder2Config", sliding_window=4096, names=STARCODER,
                                rope_parameters=ROPE, keys={"attention.sliding_window": 4096})
STABLE = dict(arch="stablelm", config="StableLmConfig", rope_parameters={**ROPE, "partial_rotary_factor": 0.25})
CASES["stablelm"] = dict(**STABLE, use_qkv_bias=True, keys={"rope.dimension_count": 4, "use_parallel_residual": False})
CASES["stablelm-parallel"] = dict(**STABLE, use_parallel_residual=True, qk_layernorm=True,
                                  keys={"rope.dimension_count": 4, "use_parallel_residual": True})
SECTIONS = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [5, 4, 3], "mrope_interleaved": True}
CASES["qwen2vl"] = dict(arch="qwen2vl", config="Qwen2VLTextConfig", body="Qwen2VLTextModel",
                        rope_parameters={**ROPE, "mrope_section": [4, 2, 2]}, keys={"rope.dimension_sections": [4, 2, 2, 0]})
CASES["qwen3vl"] = dict(arch="qwen3vl", config="Qwen3VLTextConfig", body="Qwen3VLTextModel", head_dim=24,
                        rope_parameters=SECTIONS, keys={"rope.dimension_sections": [5, 4, 3, 0]})
CASES["qwen3vlmoe"] = dict(arch="qwen3vlmoe", config="Qwen3VLMoeTextConfig", body="Qwen3VLMoeTextModel", head_dim=24,
                           num_experts=6, rope_parameters=SECTIONS, keys={"rope.dimension_sections": [5, 4, 3, 0]}, **MOE)
HUNYUAN = {"self_attn.query_layernorm": "attn_q_norm", "self_attn.key_layernorm": "attn_k_norm", "mlp.gate.wg": "ffn_gate_inp",
           "mlp.shared_mlp.gate_proj": "ffn_gate_shexp", "mlp.shared_mlp.up_proj": "ffn_up_shexp",
           "mlp.shared_mlp.down_proj": "ffn_down_shexp"}
CASES["hunyuan-dense"] = dict(arch="hunyuan-dense", config="HunYuanDenseV1Config", head_dim=24, names=HUNYUAN,
                              rope_parameters=ROPE)
CASES["hunyuan-moe"] = dict(arch="hunyuan-moe", config="HunYuanMoEV1Config", head_dim=24, num_experts=6, moe_topk=2,
                            names=HUNYUAN, rope_parameters=ROPE,
                            keys={"expert_feed_forward_length": 96, "expert_shared_feed_forward_length": 96})

WINDOWS = {"sliding_attention": ROPE, "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25,
                                                         "rope_theta": 1e6}}


def gemma4(pattern, kv=None, heads=2, shared=0, wide=False, width=8, keys=None, **more):
    """pattern: a letter for each layer, l with a window, g without."""
    n, rows = len(pattern), {"attention.head_count_kv": [kv or heads if c == "g" else heads for c in pattern]}
    if wide:
        rows["feed_forward_length"] = [96 if i < n - shared else 192 for i in range(n)]
    return dict(arch="gemma4", config="Gemma4TextConfig", head_dim=24, global_head_dim=48, num_hidden_layers=n,
                sliding_window=5, names=GEMMA4, tie_word_embeddings=True, num_key_value_heads=heads, proportional=0.25,
                layer_types=[{"l": "sliding_attention", "g": "full_attention"}[c] for c in pattern],
                rope_parameters=WINDOWS, num_kv_shared_layers=shared, use_double_wide_mlp=wide,
                num_global_key_value_heads=kv, attention_k_eq_v=kv is not None, final_logit_softcapping=3.0,
                hidden_size_per_layer_input=width, vocab_size_per_layer_input=300, **more,
                keys={"attention.key_length": 48, "attention.value_length": 48, "attention.key_length_swa": 24,
                      "attention.value_length_swa": 24, "rope.dimension_count": 48, "rope.dimension_count_swa": 24,
                      "rope.freq_base": 1e6, "rope.freq_base_swa": 10000.0, "final_logit_softcapping": 3.0,
                      "attention.sliding_window_pattern": [c == "l" for c in pattern],
                      "attention.shared_kv_layers": shared, "embedding_length_per_layer_input": width, **rows, **(keys or {})})


CASES["seed_oss"] = dict(arch="seed_oss", config="SeedOssConfig", head_dim=24, names=SECOND, rope_parameters=ROPE)
CASES["ernie4_5"] = dict(arch="ernie4_5", config="Ernie4_5Config", head_dim=24, rope_parameters=ROPE)
CASES["exaone4"] = dict(arch="exaone4", config="Exaone4Config", names=POST, sliding_window=5, num_hidden_layers=5,
                        rope_parameters=ROPE)
CASES["exaone4-full"] = dict(arch="exaone4", config="Exaone4Config", names=POST, sliding_window=None,
                             layer_types=["full_attention"] * 4, rope_parameters=ROPE)
LFM2 = {"operator_norm": "attn_norm", "ffn_norm": "ffn_norm", "self_attn.out_proj": "attn_output",
        "self_attn.q_layernorm": "attn_q_norm", "self_attn.k_layernorm": "attn_k_norm", "mlp.w1": "ffn_gate",
        "mlp.w3": "ffn_up", "mlp.w2": "ffn_down", "conv.conv": "shortconv.conv", "conv.in_proj": "shortconv.in_proj",
        "conv.out_proj": "shortconv.out_proj", "mlp.expert_bias": "exp_probs_b.bias"}
CONV = dict(layer_types=["conv", "conv", "full_attention", "conv", "full_attention"], num_hidden_layers=5, names=LFM2,
            rope_parameters=ROPE, conv_L_cache=3, tie_word_embeddings=True)
CONV_KEYS = {"attention.head_count_kv": [0, 0, 2, 0, 2], "shortconv.l_cache": 3, "attention.layer_norm_rms_epsilon": 1e-5}
CASES["lfm2"] = dict(arch="lfm2", config="Lfm2Config", block_auto_adjust_ff_dim=False, keys=CONV_KEYS, **CONV)
CASES["lfm2moe"] = dict(arch="lfm2moe", config="Lfm2MoeConfig", num_experts=6, num_dense_layers=1, **CONV, **MOE,
                        keys={**CONV_KEYS, "leading_dense_block_count": 1, "expert_gating_func": 2})
GEMMA3N = {**GEMMA4, "altup.correct_output_scale": "altup_correct_scale", "altup.correction_coefs": "altup_correct_coef",
           "altup.prediction_coefs": "altup_predict_coef", "altup.modality_router": "altup_router",
           "altup.router_norm": "altup_router_norm", "laurel.linear_left": "laurel_l", "laurel.linear_right": "laurel_r",
           "laurel.post_laurel_norm": "laurel_post_norm"}
SPARSE = [0.95, 0.8, 0.0, 0.0, 0.0, 0.0, 0.0]
CASES["gemma3n"] = dict(
    arch="gemma3n", config="Gemma3nTextConfig", head_dim=24, num_hidden_layers=7, sliding_window=5, names=GEMMA3N,
    tie_word_embeddings=True, num_key_value_heads=2, final_logit_softcapping=3.0, laurel_rank=12,
    layer_types=[{"l": "sliding_attention", "g": "full_attention"}[c] for c in "llglglg"], num_kv_shared_layers=3,
    hidden_size_per_layer_input=8, vocab_size_per_layer_input=300, activation_sparsity_pattern=SPARSE,
    rope_parameters={"sliding_attention": ROPE, "full_attention": {"rope_type": "default", "rope_theta": 1e6}},
    keys={"rope.freq_base": 1e6, "final_logit_softcapping": 3.0, "feed_forward_length": [96] * 7,
          "attention.sliding_window_pattern": [c == "l" for c in "llglglg"], "attention.shared_kv_layers": 3,
          "embedding_length_per_layer_input": 8, "altup.num_inputs": 4, "altup.active_idx": 0,
          "activation_sparsity_scale": [torch.distributions.Normal(0, 1).icdf(torch.tensor(x)).item() for x in SPARSE]})
CASES["gemma4"] = gemma4("llllg", kv=1, width=0)
CASES["gemma4-e"] = gemma4("llglglg", shared=3, wide=True)
CASES["gemma4-e2"] = gemma4("lllglg", shared=2, wide=True)  # the last own caches: one with a window, one without
CASES["gemma4-moe"] = gemma4("llgllg", kv=1, width=0, enable_moe_block=True, num_experts=6, top_k_experts=2,
                             moe_intermediate_size=32)
