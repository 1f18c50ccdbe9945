/* The whole-model oracle: what a file says of sizes and factors. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model_reader.h"

static bool text_is(reader *r, const char *name, const char *wanted)
{
    char full[128];
    eng_gguf_string s;
    snprintf(full, sizeof full, "%s.%s", r->m->arch, name);
    return !eng_gguf_text(r->gguf, full, 0, &s) && s.length == strlen(wanted) && memcmp(s.data, wanted, s.length) == 0;
}

static bool read_arch(reader *r)
{
    eng_gguf_string s;
    if (eng_gguf_text(r->gguf, "general.architecture", 0, &s) || s.length >= sizeof r->m->arch) {
        ref_fail(r, "no architecture");
        return false;
    }
    memcpy(r->m->arch, s.data, s.length);
    if (ref_facts(r->m->arch, &r->m->f))
        return true;
    ref_fail(r, "architecture %s is not written here", r->m->arch);
    return false;
}

/* The paper's constants, unless the file has others; its factor of attention replaces the one that follows from the
 * stretching, as in PyPI's transformers (_compute_yarn_parameters, with mscale 1). */
static void read_yarn(reader *r)
{
    ref_model *m = r->m;
    double stretched = 0.1 * log(m->rope_factor), all = ref_number(r, "rope.scaling.yarn_log_multiplier", 0);
    m->rope_size *= ref_number(r, "rope.scaling.yarn_attn_factor", (stretched + 1) / (all * stretched + 1));
    m->yarn_fast = ref_number(r, "rope.scaling.yarn_beta_fast", 32);
    m->yarn_slow = ref_number(r, "rope.scaling.yarn_beta_slow", 1);
    m->yarn_mix = ref_number(r, "rope.scaling.yarn_ext_factor", 1);
}

static void read_rope(reader *r)
{
    ref_model *m = r->m;
    m->neighbours = m->f.neighbours;
    m->n_rot = ref_key(r, "rope.dimension_count", 0, m->hybrid ? m->d / 4 : m->d);
    for (uint64_t i = 0; i < 4 && m->hybrid && !m->f.grouped; i++)
        m->sections[i] = ref_key(r, "rope.dimension_sections", i, -1);
    m->rope_base = ref_number(r, "rope.freq_base", 10000);
    m->local_base = ref_number(r, "rope.freq_base_swa", m->f.local_base > 0 ? m->f.local_base : m->rope_base);
    m->rope_factor = ref_number(r, "rope.scaling.factor", ref_number(r, "rope.scale_linear", 1));
    m->yarn = text_is(r, "rope.scaling.type", "yarn");
    m->rope_size = ref_number(r, "rope.scaling.attn_factor", 1);
    if (m->yarn)
        read_yarn(r);
    m->n_ctx_orig = ref_number(r, "rope.scaling.original_context_length", ref_number(r, "context_length", 0));
}

/* 0 says nothing. */
static double not_zero(double value, double otherwise)
{
    return value != 0 ? value : otherwise;
}

static void read_scales(reader *r)
{
    ref_model *m = r->m;
    m->embd_scale = not_zero(ref_number(r, "embedding_scale", 0), m->f.embd_root ? sqrt((double)m->n_embd) : 1);
    m->residual_scale = not_zero(ref_number(r, "residual_scale", 0), 1);
    m->attn_scale = not_zero(ref_number(r, "attention.scale", 0), m->f.unscaled ? 1 : 1 / sqrt((double)m->d));
    m->logit_scale = not_zero(ref_number(r, "logit_scale", 0), 1);
    m->logit_scale = m->f.divides ? 1 / m->logit_scale : m->logit_scale;
    m->attn_softcap = ref_number(r, "attn_logit_softcapping", 0);
    m->logit_softcap = ref_number(r, "final_logit_softcapping", 0);
    m->temper = ref_number(r, "attention.temperature_scale", 0);
    m->temper_floor = ref_number(r, "attention.temperature_length", m->n_ctx_orig > 0 ? m->n_ctx_orig : 1);
    if ((strcmp(m->arch, "gemma2") == 0 && m->n_layers == 46) || (strcmp(m->arch, "gemma3") == 0 && m->n_layers == 62))
        m->attn_scale = 1 / sqrt((double)m->n_embd / (double)m->heads); /* query_pre_attn_scalar of the 27B models */
    if (strcmp(m->arch, "llama4") == 0) {
        m->temper = 0.1;
        m->temper_floor = 8192;
        m->temper_offset = 1;
        m->renormed = m->experts != 128;
    }
}

/* The short vectors; a head's own sizes are those that the file gives for it. */
static void read_latent(reader *r)
{
    ref_model *m = r->m;
    m->kv_heads = m->heads;
    m->q_rank = ref_key(r, "attention.q_lora_rank", 0, 0);
    m->kv_rank = ref_key(r, "attention.kv_lora_rank", 0, -1);
    m->d = ref_key(r, "attention.key_length_mla", 0, -1);
    m->dv = ref_key(r, "attention.value_length_mla", 0, -1);
    if (!m->f.index)
        return;
    m->top_cells = ref_key(r, "attention.indexer.top_k", 0, -1);
    m->index_heads = ref_key(r, "attention.indexer.head_count", 0, -1);
    m->d_index = ref_key(r, "attention.indexer.key_length", 0, -1);
    m->pool = m->f.pools ? ref_key(r, "attention.indexer.kpool", 0, -1) : 0;
}

/* V2's code multiplies the products by mscale^2 instead of what is rotated, both with mscale_all_dim: the file has a
 * tenth of it (mscale_all_dim / 10) as yarn_log_multiplier. */
static void stretch_latent(reader *r)
{
    ref_model *m = r->m;
    double all = ref_number(r, "rope.scaling.yarn_log_multiplier", 0);
    m->rope_size = 1;
    if (m->yarn)
        m->attn_scale *= pow(1 + all * log(m->rope_factor), 2);
}

static void read_experts_numbers(reader *r)
{
    ref_model *m = r->m;
    int64_t gating = ref_key(r, "expert_gating_func", 0, 0);
    m->used = ref_key(r, "expert_used_count", 0, -1);
    m->expert_scale = ref_number(r, "expert_weights_scale", 0);
    m->n_ff_expert = m->n_ff;
    if (m->f.own_width)
        m->n_ff_expert =
            ref_key(r, "expert_feed_forward_length", 0, m->used > 0 && !m->f.beside ? m->n_ff / m->used : -1);
    if (m->f.shared == 1 || m->f.shared == 4)
        m->n_ff_shared = ref_key(r, "expert_shared_feed_forward_length", 0, -1);
    else if (m->f.shared)
        m->n_ff_shared = m->n_ff_expert * (m->f.shared == 2 ? ref_key(r, "expert_shared_count", 0, -1) : 1);
    m->f.sigmoid = gating ? gating == 2 : m->f.sigmoid;
    m->normed_weights = m->f.kda        ? ref_key(r, "expert_weights_norm", 0, 1) != 0
                        : m->f.norm_key ? ref_key(r, "expert_weights_norm", 0, 0) != 0
                                        : !m->f.plain_weights;
    m->groups = ref_key(r, "expert_group_count", 0, 1);
    m->groups_used = ref_key(r, "expert_group_used_count", 0, 1);
    m->dense_lead = ref_key(r, "leading_dense_block_count", 0, 0);
    m->moe_step = ref_key(r, "interleave_moe_layer_step", 0, 1);
}

static void read_mix_numbers(reader *r)
{
    ref_model *m = r->m;
    m->top_cells = ref_key(r, "attention.indexer.top_k", 0, -1);
    m->index_heads = ref_key(r, "attention.indexer.head_count", 0, -1);
    m->d_index = ref_key(r, "attention.indexer.key_length", 0, -1);
    for (int64_t i = 0; i < m->n_layers; i++) {
        int64_t pool = ref_key(r, "attention.compress_ratios", (uint64_t)i, -1);
        m->pool = pool ? pool : m->pool;
    }
    m->longest = ref_key(r, "ple.ngram_size", 0, 0);
    if (!m->longest)
        return;
    m->each = ref_key(r, "ple.heads_per_ngram", 0, -1);
    m->ngram_width = ref_key(r, "embedding_length_per_layer_input", 0, -1);
    m->ngram_taps = ref_key(r, "ple.conv_kernel", 0, -1);
    m->ngram_end = ref_key(r, "ple.eos_token_id", 0, -1);
    for (int64_t i = 0; i < m->longest; i++)
        m->factors[i] = ref_key(r, "ple.layer_multipliers", (uint64_t)i, -1);
    for (int64_t i = 0; i < (m->longest - 1) * m->each; i++) {
        m->sizes[i] = ref_key(r, "ple.head_vocab_sizes", (uint64_t)i, -1);
        m->offsets[i] = ref_key(r, "ple.head_offsets", (uint64_t)i, -1);
        m->ngram_rows = m->offsets[i] + m->sizes[i];
    }
}

void ref_read_numbers(reader *r)
{
    ref_model *m = r->m;
    if (!read_arch(r))
        return;
    m->hybrid = m->gated = strncmp(m->arch, "qwen35", 6) == 0 || m->f.grouped || m->f.mix;
    m->n_layers = ref_key(r, "block_count", 0, -1);
    m->n_given = ref_key(r, "embedding_length_out", 0, 0);
    if (!m->n_given) /* an assistant does nothing else */
        m->n_layers -= ref_key(r, "nextn_predict_layers", 0, 0);
    m->n_embd = ref_key(r, "embedding_length", 0, -1);
    m->n_ff = ref_key(r, "feed_forward_length", 0, 0);
    m->heads = ref_key(r, "attention.head_count", 0, -1);
    m->kv_heads = m->f.headless ? 1 : ref_key(r, "attention.head_count_kv", 0, m->heads);
    m->taps = m->f.headless ? ref_key(r, "shortconv.l_cache", 0, -1) : 0;
    m->d = ref_key(r, "attention.key_length", 0, m->heads > 0 ? m->n_embd / m->heads : 0);
    m->dv = m->d;
    m->d_input = m->f.mix ? 0 : ref_key(r, "embedding_length_per_layer_input", 0, 0);
    m->n_states = ref_key(r, "altup.num_inputs", 0, 0);
    m->active = ref_key(r, "altup.active_idx", 0, 0);
    if (m->f.scans && !m->f.layered && !m->f.both) { /* nothing attends */
        m->heads = m->kv_heads = 1;
        m->d = m->dv = 2;
    }
    for (int64_t i = 0; m->f.scans && m->f.layered && i < m->n_layers && !r->failed; i++)
        m->kv_heads = m->kv_heads ? m->kv_heads : ref_layer_key(r, "attention.head_count_kv", i, -1);
    m->kv_heads = m->kv_heads || !m->f.scans ? m->kv_heads : 1; /* none attends */
    const bool own_epsilon = m->f.layer_norm && !m->f.rms_epsilon;
    m->eps = ref_number(r, own_epsilon ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon", 1e-6);
    if (m->f.latent)
        read_latent(r);
    m->n_streams = ref_key(r, "hyper_connection.count", 0, 0);
    if (m->f.mix)
        read_mix_numbers(r);
    m->sinkhorn = ref_key(r, "hyper_connection.sinkhorn_iterations", 0, 0);
    m->streams_eps = ref_number(r, "hyper_connection.epsilon", 0);
    m->clamp = ref_number(r, "swiglu_clamp_exp", 0);
    m->clamp_shared = ref_number(r, "swiglu_clamp_shexp", 0);
    m->forget_least = ref_number(r, "kda.gate_lower_bound", 0);
    if (m->f.kda) {
        m->taps = ref_key(r, "ssm.conv_kernel", 0, -1);
        m->size = ref_key(r, "kda.head_dim", 0, -1);
        m->k_heads = m->v_heads = m->heads;
    }
    read_rope(r);
    if (m->hybrid || m->f.scans) {
        m->taps = ref_key(r, "ssm.conv_kernel", 0, -1);
        m->size = ref_key(r, "ssm.state_size", 0, -1);
        m->k_heads = m->f.each ? 1 : ref_key(r, "ssm.group_count", 0, -1);
        m->v_heads = ref_key(r, m->f.each ? "ssm.inner_size" : "ssm.time_step_rank", 0, -1);
        m->d_step = m->f.each ? ref_key(r, "ssm.time_step_rank", 0, -1) : 0;
        m->normed_scan = ref_key(r, "ssm.dt_b_c_rms", 0, 0) != 0;
        m->d_scan = m->f.scans && m->v_heads > 0 ? ref_key(r, "ssm.inner_size", 0, -1) / m->v_heads : 0;
    }
    m->experts = ref_key(r, "expert_count", 0, 0);
    if (m->experts > 0)
        read_experts_numbers(r);
    read_scales(r);
    if (m->f.latent)
        stretch_latent(r);
    if (m->f.compressed) { /* those without entries have the usual base; stretching changes no sizes */
        m->rope_base = ref_number(r, "attention.compress_rope_freq_base", 0);
        m->rope_size = 1;
        m->q_rank = ref_key(r, "attention.q_lora_rank", 0, -1);
        m->out_groups = ref_key(r, "attention.output_group_count", 0, -1);
        m->out_rank = ref_key(r, "attention.output_lora_rank", 0, -1);
        m->top_entries = ref_key(r, "attention.indexer.top_k", 0, 0);
        m->index_heads = ref_key(r, "attention.indexer.head_count", 0, 0);
        m->d_index = ref_key(r, "attention.indexer.key_length", 0, 0);
        m->clamp_shared = ref_number(r, "swiglu_clamp_shexp", m->clamp);
    }
    const eng_gguf_tensor *embd = eng_gguf_tensor_find(r->gguf, "token_embd.weight");
    if (!embd)
        ref_fail(r, "no token_embd.weight");
    else
        m->n_vocab = embd->ne[1];
    if (!r->failed &&
        (m->n_layers < 1 || m->heads < 1 || m->kv_heads < 1 || (m->n_ff + m->n_ff_expert < 1 && !m->f.alone) ||
         m->groups > 512 || m->used > m->experts || ((m->hybrid || m->f.scans || m->f.kda) && m->k_heads < 1)))
        ref_fail(r, "sizes that cannot be");
}
