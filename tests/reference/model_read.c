/* Models of the whole-model oracle: numbers and weights from a file. */
#include "config.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "model_impl.h"
#include "ref.h"

typedef struct reader {
    ref_model *m;
    eng_gguf *gguf;
    char *error;
    size_t error_bytes;
    bool failed;
} reader;

static void fail(reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail(reader *r, const char *format, ...)
{
    va_list args;
    if (r->failed)
        return;
    r->failed = true;
    va_start(args, format);
    vsnprintf(r->error, r->error_bytes, format, args);
    va_end(args);
}

/* -- keys --------------------------------------------------------------------------- */

/* otherwise < 0: it must be there. */
static int64_t key(reader *r, const char *name, uint64_t index, int64_t otherwise)
{
    char full[128];
    int64_t value = otherwise;
    snprintf(full, sizeof full, "%s.%s", r->m->arch, name);
    if (eng_gguf_integer(r->gguf, full, index, &value) && otherwise < 0)
        fail(r, "key %s: %s", full, eng_last_error());
    return value;
}

static double number(reader *r, const char *name, double otherwise)
{
    char full[128];
    double value = otherwise;
    snprintf(full, sizeof full, "%s.%s", r->m->arch, name);
    if (eng_gguf_number(r->gguf, full, 0, &value))
        value = otherwise;
    return value;
}

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
        fail(r, "no architecture");
        return false;
    }
    memcpy(r->m->arch, s.data, s.length);
    if (ref_facts(r->m->arch, &r->m->f))
        return true;
    fail(r, "architecture %s is not written here", r->m->arch);
    return false;
}

/* The paper's constants, unless the file has others; its factor of attention replaces the one that follows from the
 * stretching, as in PyPI's transformers (_compute_yarn_parameters, with mscale 1). */
static void read_yarn(reader *r)
{
    ref_model *m = r->m;
    double stretched = 0.1 * log(m->rope_factor), all = number(r, "rope.scaling.yarn_log_multiplier", 0);
    m->rope_size *= number(r, "rope.scaling.yarn_attn_factor", (stretched + 1) / (all * stretched + 1));
    m->yarn_fast = number(r, "rope.scaling.yarn_beta_fast", 32);
    m->yarn_slow = number(r, "rope.scaling.yarn_beta_slow", 1);
    m->yarn_mix = number(r, "rope.scaling.yarn_ext_factor", 1);
}

static void read_rope(reader *r)
{
    ref_model *m = r->m;
    m->neighbours = m->f.neighbours;
    m->n_rot = key(r, "rope.dimension_count", 0, m->hybrid ? m->d / 4 : m->d);
    for (uint64_t i = 0; i < 4 && m->hybrid && !m->f.grouped; i++)
        m->sections[i] = key(r, "rope.dimension_sections", i, -1);
    m->rope_base = number(r, "rope.freq_base", 10000);
    m->local_base = number(r, "rope.freq_base_swa", m->f.local_base > 0 ? m->f.local_base : m->rope_base);
    m->rope_factor = number(r, "rope.scaling.factor", number(r, "rope.scale_linear", 1));
    m->yarn = text_is(r, "rope.scaling.type", "yarn");
    m->rope_size = number(r, "rope.scaling.attn_factor", 1);
    if (m->yarn)
        read_yarn(r);
    m->n_ctx_orig = number(r, "rope.scaling.original_context_length", number(r, "context_length", 0));
}

/* 0 says nothing. */
static double not_zero(double value, double otherwise)
{
    return value != 0 ? value : otherwise;
}

static void read_scales(reader *r)
{
    ref_model *m = r->m;
    m->embd_scale = not_zero(number(r, "embedding_scale", 0), m->f.embd_root ? sqrt((double)m->n_embd) : 1);
    m->residual_scale = not_zero(number(r, "residual_scale", 0), 1);
    m->attn_scale = not_zero(number(r, "attention.scale", 0), m->f.unscaled ? 1 : 1 / sqrt((double)m->d));
    m->logit_scale = not_zero(number(r, "logit_scale", 0), 1);
    m->logit_scale = m->f.divides ? 1 / m->logit_scale : m->logit_scale;
    m->attn_softcap = number(r, "attn_logit_softcapping", 0);
    m->logit_softcap = number(r, "final_logit_softcapping", 0);
    m->temper = number(r, "attention.temperature_scale", 0);
    m->temper_floor = number(r, "attention.temperature_length", m->n_ctx_orig > 0 ? m->n_ctx_orig : 1);
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
    m->q_rank = key(r, "attention.q_lora_rank", 0, 0);
    m->kv_rank = key(r, "attention.kv_lora_rank", 0, -1);
    m->d = key(r, "attention.key_length_mla", 0, -1);
    m->dv = key(r, "attention.value_length_mla", 0, -1);
    if (!m->f.index)
        return;
    m->top_cells = key(r, "attention.indexer.top_k", 0, -1);
    m->index_heads = key(r, "attention.indexer.head_count", 0, -1);
    m->d_index = key(r, "attention.indexer.key_length", 0, -1);
    m->pool = m->f.pools ? key(r, "attention.indexer.kpool", 0, -1) : 0;
}

/* V2's code multiplies the products by mscale^2 instead of what is rotated, both with mscale_all_dim: the file has a
 * tenth of it (mscale_all_dim / 10) as yarn_log_multiplier. */
static void stretch_latent(reader *r)
{
    ref_model *m = r->m;
    double all = number(r, "rope.scaling.yarn_log_multiplier", 0);
    m->rope_size = 1;
    if (m->yarn)
        m->attn_scale *= pow(1 + all * log(m->rope_factor), 2);
}

static void read_experts_numbers(reader *r)
{
    ref_model *m = r->m;
    int64_t gating = key(r, "expert_gating_func", 0, 0);
    m->used = key(r, "expert_used_count", 0, -1);
    m->expert_scale = number(r, "expert_weights_scale", 0);
    m->n_ff_expert = m->n_ff;
    if (m->f.own_width)
        m->n_ff_expert = key(r, "expert_feed_forward_length", 0, m->used > 0 && !m->f.beside ? m->n_ff / m->used : -1);
    if (m->f.shared == 1 || m->f.shared == 4)
        m->n_ff_shared = key(r, "expert_shared_feed_forward_length", 0, -1);
    else if (m->f.shared)
        m->n_ff_shared = m->n_ff_expert * (m->f.shared == 2 ? key(r, "expert_shared_count", 0, -1) : 1);
    m->f.sigmoid = gating ? gating == 2 : m->f.sigmoid;
    m->normed_weights = m->f.kda ? key(r, "expert_weights_norm", 0, 1) != 0 : m->f.norm_key ? key(r, "expert_weights_norm", 0, 0) != 0 : !m->f.plain_weights;
    m->groups = key(r, "expert_group_count", 0, 1);
    m->groups_used = key(r, "expert_group_used_count", 0, 1);
    m->dense_lead = key(r, "leading_dense_block_count", 0, 0);
    m->moe_step = key(r, "interleave_moe_layer_step", 0, 1);
}

/* One of a list, or the one value. */
static int64_t layer_key(reader *r, const char *name, int64_t il, int64_t otherwise)
{
    int64_t first = key(r, name, 0, otherwise);
    return r->m->f.layered ? key(r, name, (uint64_t)il, first) : first;
}

static void read_mix_numbers(reader *r)
{
    ref_model *m = r->m;
    m->top_cells = key(r, "attention.indexer.top_k", 0, -1);
    m->index_heads = key(r, "attention.indexer.head_count", 0, -1);
    m->d_index = key(r, "attention.indexer.key_length", 0, -1);
    for (int64_t i = 0; i < m->n_layers; i++) {
        int64_t pool = key(r, "attention.compress_ratios", (uint64_t)i, -1);
        m->pool = pool ? pool : m->pool;
    }
    m->longest = key(r, "ple.ngram_size", 0, 0);
    if (!m->longest)
        return;
    m->each = key(r, "ple.heads_per_ngram", 0, -1);
    m->ngram_width = key(r, "embedding_length_per_layer_input", 0, -1);
    m->ngram_taps = key(r, "ple.conv_kernel", 0, -1);
    m->ngram_end = key(r, "ple.eos_token_id", 0, -1);
    for (int64_t i = 0; i < m->longest; i++)
        m->factors[i] = key(r, "ple.layer_multipliers", (uint64_t)i, -1);
    for (int64_t i = 0; i < (m->longest - 1) * m->each; i++) {
        m->sizes[i] = key(r, "ple.head_vocab_sizes", (uint64_t)i, -1);
        m->offsets[i] = key(r, "ple.head_offsets", (uint64_t)i, -1);
        m->ngram_rows = m->offsets[i] + m->sizes[i];
    }
}

static void read_numbers(reader *r)
{
    ref_model *m = r->m;
    if (!read_arch(r))
        return;
    m->hybrid = m->gated = strncmp(m->arch, "qwen35", 6) == 0 || m->f.grouped || m->f.mix;
    m->n_layers = key(r, "block_count", 0, -1);
    m->n_given = key(r, "embedding_length_out", 0, 0);
    if (!m->n_given) /* an assistant does nothing else */
        m->n_layers -= key(r, "nextn_predict_layers", 0, 0);
    m->n_embd = key(r, "embedding_length", 0, -1);
    m->n_ff = key(r, "feed_forward_length", 0, 0);
    m->heads = key(r, "attention.head_count", 0, -1);
    m->kv_heads = m->f.headless ? 1 : key(r, "attention.head_count_kv", 0, m->heads);
    m->taps = m->f.headless ? key(r, "shortconv.l_cache", 0, -1) : 0;
    m->d = key(r, "attention.key_length", 0, m->heads > 0 ? m->n_embd / m->heads : 0);
    m->dv = m->d;
    m->d_input = m->f.mix ? 0 : key(r, "embedding_length_per_layer_input", 0, 0);
    m->n_states = key(r, "altup.num_inputs", 0, 0);
    m->active = key(r, "altup.active_idx", 0, 0);
    if (m->f.scans && !m->f.layered && !m->f.both) { /* nothing attends */
        m->heads = m->kv_heads = 1;
        m->d = m->dv = 2;
    }
    for (int64_t i = 0; m->f.scans && m->f.layered && i < m->n_layers && !r->failed; i++)
        m->kv_heads = m->kv_heads ? m->kv_heads : layer_key(r, "attention.head_count_kv", i, -1);
    m->kv_heads = m->kv_heads || !m->f.scans ? m->kv_heads : 1; /* none attends */
    m->eps = number(r, m->f.layer_norm && !m->f.rms_epsilon ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon", 1e-6);
    if (m->f.latent)
        read_latent(r);
    m->n_streams = key(r, "hyper_connection.count", 0, 0);
    if (m->f.mix)
        read_mix_numbers(r);
    m->sinkhorn = key(r, "hyper_connection.sinkhorn_iterations", 0, 0);
    m->streams_eps = number(r, "hyper_connection.epsilon", 0);
    m->clamp = number(r, "swiglu_clamp_exp", 0);
    m->clamp_shared = number(r, "swiglu_clamp_shexp", 0);
    m->forget_least = number(r, "kda.gate_lower_bound", 0);
    if (m->f.kda) {
        m->taps = key(r, "ssm.conv_kernel", 0, -1);
        m->size = key(r, "kda.head_dim", 0, -1);
        m->k_heads = m->v_heads = m->heads;
    }
    read_rope(r);
    if (m->hybrid || m->f.scans) {
        m->taps = key(r, "ssm.conv_kernel", 0, -1);
        m->size = key(r, "ssm.state_size", 0, -1);
        m->k_heads = m->f.each ? 1 : key(r, "ssm.group_count", 0, -1);
        m->v_heads = key(r, m->f.each ? "ssm.inner_size" : "ssm.time_step_rank", 0, -1);
        m->d_step = m->f.each ? key(r, "ssm.time_step_rank", 0, -1) : 0;
        m->normed_scan = key(r, "ssm.dt_b_c_rms", 0, 0) != 0;
        m->d_scan = m->f.scans && m->v_heads > 0 ? key(r, "ssm.inner_size", 0, -1) / m->v_heads : 0;
    }
    m->experts = key(r, "expert_count", 0, 0);
    if (m->experts > 0)
        read_experts_numbers(r);
    read_scales(r);
    if (m->f.latent)
        stretch_latent(r);
    if (m->f.compressed) { /* those without entries have the usual base; stretching changes no sizes */
        m->rope_base = number(r, "attention.compress_rope_freq_base", 0);
        m->rope_size = 1;
        m->q_rank = key(r, "attention.q_lora_rank", 0, -1);
        m->out_groups = key(r, "attention.output_group_count", 0, -1);
        m->out_rank = key(r, "attention.output_lora_rank", 0, -1);
        m->top_entries = key(r, "attention.indexer.top_k", 0, 0);
        m->index_heads = key(r, "attention.indexer.head_count", 0, 0);
        m->d_index = key(r, "attention.indexer.key_length", 0, 0);
        m->clamp_shared = number(r, "swiglu_clamp_shexp", m->clamp);
    }
    const eng_gguf_tensor *embd = eng_gguf_tensor_find(r->gguf, "token_embd.weight");
    if (!embd)
        fail(r, "no token_embd.weight");
    else
        m->n_vocab = embd->ne[1];
    if (!r->failed && (m->n_layers < 1 || m->heads < 1 || m->kv_heads < 1 || (m->n_ff + m->n_ff_expert < 1 && !m->f.alone) || m->groups > 512 || m->used > m->experts ||
                       ((m->hybrid || m->f.scans || m->f.kda) && m->k_heads < 1)))
        fail(r, "sizes that cannot be");
}

/* -- tensors -------------------------------------------------------------------------- */

static double *own(reader *r, double *x)
{
    ref_model *m = r->m;
    if (x && m->n_owned == m->owned_capacity) {
        size_t more = m->owned_capacity ? 2 * m->owned_capacity : 64;
        double **owned = realloc(m->owned, more * sizeof *owned);
        if (!owned) {
            free(x);
            x = NULL;
        } else {
            m->owned = owned;
            m->owned_capacity = more;
        }
    }
    if (!x) {
        fail(r, "no memory");
        return NULL;
    }
    return m->owned[m->n_owned++] = x;
}

/* The tensor's elements, decoded; `n` is how many there must be.  il < 0: outside of layers. */
static double *tensor(reader *r, bool needed, int64_t n, int64_t il, const char *base, const char *suffix)
{
    char name[128];
    if (il < 0)
        snprintf(name, sizeof name, "%s%s", base, suffix);
    else
        snprintf(name, sizeof name, "blk.%d.%s%s", (int)il, base, suffix);
    if (r->failed)
        return NULL;
    const eng_gguf_tensor *t = eng_gguf_tensor_find(r->gguf, name);
    if (!t && !needed)
        return NULL;
    int64_t have = 1;
    for (uint32_t i = 0; t && i < t->rank; i++)
        have *= t->ne[i];
    if (!t || have != n) {
        fail(r, "tensor %s: %lld elements, %lld are needed", name, t ? (long long)have : 0, (long long)n);
        return NULL;
    }
    double *x = own(r, malloc((size_t)n * sizeof *x));
    if (x)
        ref_decode(t->type, t->data, x, n);
    return x;
}

static matrix read_matrix(reader *r, bool needed, int64_t il, const char *base, int64_t k, int64_t m, int64_t n)
{
    matrix a = {.k = k, .m = m};
    a.w = tensor(r, needed, k * m * n, il, base, ".weight");
    if (a.w) {
        a.scale = tensor(r, false, n, il, base, ".scale");
        a.bias = tensor(r, false, m * n, il, base, ".bias");
    }
    return a;
}

/* Rows first .. first + m - 1. */
static matrix rows_of(const matrix *a, int64_t first, int64_t m)
{
    return (matrix){a->w + first * a->k, a->scale, a->bias ? a->bias + first : NULL, a->k, m};
}

static void read_latent_layer(reader *r, layer *l, int64_t il)
{
    const ref_model *m = r->m;
    int64_t e = m->n_embd, q = m->heads * m->d;
    if (m->q_rank) {
        l->q_a = read_matrix(r, true, il, "attn_q_a", e, m->q_rank, 1);
        l->q_a_norm = tensor(r, true, m->q_rank, il, "attn_q_a_norm", ".weight");
        l->q = read_matrix(r, true, il, "attn_q_b", m->q_rank, q, 1);
    } else {
        l->q = read_matrix(r, true, il, "attn_q", e, q, 1);
    }
    l->index_k = m->f.index ? read_matrix(r, m->f.index < 2, il, "indexer.attn_k", e, m->d_index, 1) : (matrix){0};
    l->chooses = l->index_k.w != NULL;
    if (l->chooses) {
        l->index_q = read_matrix(r, true, il, "indexer.attn_q_b", m->q_rank, m->index_heads * m->d_index, 1);
        l->index_weights = read_matrix(r, true, il, "indexer.proj", e, m->index_heads, 1);
        l->index_norm = tensor(r, true, m->d_index, il, "indexer.k_norm", ".weight");
        l->index_norm_bias = tensor(r, true, m->d_index, il, "indexer.k_norm", ".bias");
        if (m->f.pools) {
            l->pool_gate = read_matrix(r, true, il, "indexer_compressor_gate", e, m->d_index, 1);
            l->pool_places = tensor(r, true, m->d_index * m->pool, il, "indexer_compressor_ape", ".weight");
        }
    }
    l->kv_a = read_matrix(r, true, il, "attn_kv_a_mqa", e, m->kv_rank + m->n_rot, 1);
    l->kv_a_norm = tensor(r, true, m->kv_rank, il, "attn_kv_a_norm", ".weight");
    l->k_b = read_matrix(r, true, il, "attn_k_b", m->d - m->n_rot, m->kv_rank, m->heads);
    l->v_b = read_matrix(r, true, il, "attn_v_b", m->kv_rank, m->dv, m->heads);
    l->out = read_matrix(r, true, il, "attn_output", m->heads * m->dv, e, 1);
}

/* Of a layer that sees entries of `ratio` tokens: where there is an indexer, channels for the entry's own tokens are behind
 * those for the entry that follows. */
static void read_entries(reader *r, layer *l, int64_t il)
{
    const ref_model *m = r->m;
    char name[64];
    snprintf(name, sizeof name, "blk.%d.indexer.proj.weight", (int)il);
    l->chooses = eng_gguf_tensor_find(r->gguf, name) != NULL;
    int64_t parts = l->chooses ? 2 : 1, e = m->n_embd;
    l->entry.d = m->d;
    l->entry.kv = read_matrix(r, true, il, "attn_compressor_kv", e, parts * m->d, 1);
    l->entry.gate = read_matrix(r, true, il, "attn_compressor_gate", e, parts * m->d, 1);
    l->entry.places = tensor(r, true, parts * m->d * l->ratio, il, "attn_compressor_ape", ".weight");
    l->entry.norm = tensor(r, true, m->d, il, "attn_compressor_norm", ".weight");
    if (!l->chooses)
        return;
    l->index_q = read_matrix(r, true, il, "indexer.attn_q_b", m->q_rank, m->index_heads * m->d_index, 1);
    l->index_weights = read_matrix(r, true, il, "indexer.proj", e, m->index_heads, 1);
    l->index_entry.d = m->d_index;
    l->index_entry.kv = read_matrix(r, true, il, "indexer_compressor_kv", e, 2 * m->d_index, 1);
    l->index_entry.gate = read_matrix(r, true, il, "indexer_compressor_gate", e, 2 * m->d_index, 1);
    l->index_entry.places = tensor(r, true, 2 * m->d_index * l->ratio, il, "indexer_compressor_ape", ".weight");
    l->index_entry.norm = tensor(r, true, m->d_index, il, "indexer_compressor_norm", ".weight");
}

static void read_compressed_layer(reader *r, layer *l, int64_t il)
{
    const ref_model *m = r->m;
    int64_t e = m->n_embd, all = m->heads * m->d, out = m->out_groups * m->out_rank;
    l->q_a = read_matrix(r, true, il, "attn_q_a", e, m->q_rank, 1);
    l->q_a_norm = tensor(r, true, m->q_rank, il, "attn_q_a_norm", ".weight");
    l->q = read_matrix(r, true, il, "attn_q_b", m->q_rank, all, 1);
    l->k = read_matrix(r, true, il, "attn_kv", e, m->d, 1);
    l->k_norm = tensor(r, true, m->d, il, "attn_kv_a_norm", ".weight");
    l->sinks = tensor(r, true, m->heads, il, "attn_sinks", ".weight");
    l->out_a = read_matrix(r, true, il, "attn_output_a", all / m->out_groups, out, 1);
    l->out = read_matrix(r, true, il, "attn_output_b", out, e, 1);
    if (l->ratio)
        read_entries(r, l, il);
}

/* i32, of each token of the vocabulary. */
static void read_token_experts(reader *r, layer *l, int64_t il)
{
    char name[64];
    int64_t n = r->m->used * r->m->n_vocab;
    snprintf(name, sizeof name, "blk.%d.ffn_gate_tid2eid.weight", (int)il);
    const eng_gguf_tensor *t = eng_gguf_tensor_find(r->gguf, name);
    if (!t || t->type != ENG_TYPE_I32 || t->ne[0] * t->ne[1] != n) {
        fail(r, "no table %s of %lld", name, (long long)n);
        return;
    }
    l->token_experts = (int32_t *)own(r, malloc((size_t)n * sizeof(double)));
    if (l->token_experts)
        memcpy(l->token_experts, t->data, (size_t)n * sizeof(int32_t));
}

static void read_attention(reader *r, layer *l, int64_t il)
{
    const ref_model *m = r->m;
    int64_t q = m->heads * l->d * (m->gated ? 2 : 1), kv = l->kv_heads * l->d, e = m->n_embd;
    bool owner = l->owner == il;
    matrix all = read_matrix(r, false, il, "attn_qkv", e, q + 2 * kv, 1);
    if (all.w) {
        l->q = rows_of(&all, 0, q);
        l->k = rows_of(&all, q, kv);
        l->v = rows_of(&all, q + kv, kv);
    } else {
        l->q = read_matrix(r, true, il, "attn_q", e, q, 1);
        l->k = read_matrix(r, owner, il, "attn_k", e, kv, 1);
        l->v = read_matrix(r, owner && !m->f.layered, il, "attn_v", e, kv, 1);
    }
    l->out = read_matrix(r, true, il, "attn_output", m->heads * l->d, e, 1);
    bool needed = m->f.qk != OWN_NORM && strcmp(m->arch, "glm4moe") != 0;
    if (m->f.qk != NO_NORM) {
        l->q_norm = tensor(r, needed, m->f.qk == HEAD_NORM ? l->d : m->heads * l->d, il, "attn_q_norm", ".weight");
        l->k_norm = tensor(r, needed && owner, m->f.qk == HEAD_NORM ? l->d : kv, il, "attn_k_norm", ".weight");
    }
    l->sinks = tensor(r, strcmp(m->arch, "gpt-oss") == 0, m->heads, il, "attn_sinks", ".weight");
}

static void read_recurrent(reader *r, layer *l, int64_t il)
{
    const ref_model *m = r->m;
    if (m->f.headless) {
        l->conv_in = read_matrix(r, true, il, "shortconv.in_proj", m->n_embd, 3 * m->n_embd, 1);
        l->conv = tensor(r, true, m->taps * m->n_embd, il, "shortconv.conv", ".weight");
        l->conv_out = read_matrix(r, true, il, "shortconv.out_proj", m->n_embd, m->n_embd, 1);
        return;
    }
    int64_t channels = (2 * m->k_heads + m->v_heads) * m->size, e = m->n_embd, inner = m->v_heads * m->size;
    l->qkv = read_matrix(r, true, il, "attn_qkv", e, channels, 1);
    l->z = read_matrix(r, true, il, "attn_gate", e, inner, 1);
    l->conv = tensor(r, true, m->taps * channels, il, "ssm_conv1d", ".weight");
    l->dt = tensor(r, true, m->v_heads, il, "ssm_dt", ".bias");
    l->a = tensor(r, true, m->v_heads, il, "ssm_a", "");
    if (m->f.grouped) {
        l->ba = read_matrix(r, true, il, "ssm_ba", e, 2 * m->v_heads, 1);
    } else {
        l->beta = read_matrix(r, true, il, "ssm_beta", e, m->v_heads, 1);
        l->alpha = read_matrix(r, true, il, "ssm_alpha", e, m->v_heads, 1);
    }
    l->gdn_norm = tensor(r, true, m->size, il, "ssm_norm", ".weight");
    l->gdn_out = read_matrix(r, true, il, "ssm_out", inner, e, 1);
}

/* The three convolutions are one, side by side. */
static void read_kda(reader *r, layer *l, int64_t il)
{
    static const char *const names[] = {"ssm_conv1d_q", "ssm_conv1d_k", "ssm_conv1d_v"};
    const ref_model *m = r->m;
    int64_t e = m->n_embd, n = m->size, all = m->heads * n;
    l->q = read_matrix(r, true, il, "attn_q", e, all, 1);
    l->k = read_matrix(r, true, il, "attn_k", e, all, 1);
    l->v = read_matrix(r, true, il, "attn_v", e, all, 1);
    l->conv = own(r, malloc((size_t)(3 * m->taps * all) * sizeof *l->conv));
    for (int64_t i = 0; i < 3; i++) {
        double *w = tensor(r, true, m->taps * all, il, names[i], ".weight");
        if (w && l->conv)
            memcpy(l->conv + i * m->taps * all, w, (size_t)(m->taps * all) * sizeof *w);
    }
    l->forget_a = read_matrix(r, true, il, "ssm_f_a", e, n, 1);
    l->forget_b = read_matrix(r, true, il, "ssm_f_b", n, all, 1);
    l->gate_a = read_matrix(r, true, il, "ssm_g_a", e, n, 1);
    l->gate_b = read_matrix(r, true, il, "ssm_g_b", n, all, 1);
    l->beta = read_matrix(r, true, il, "ssm_beta", e, m->heads, 1);
    l->dt = tensor(r, true, all, il, "ssm_dt", ".bias");
    l->a = tensor(r, true, m->heads, il, "ssm_a", "");
    l->gdn_norm = tensor(r, true, n, il, "ssm_norm", ".weight");
    l->gdn_out = read_matrix(r, true, il, "attn_output", all, e, 1);
}

static void read_channel_scan(reader *r, layer *l, int64_t il)
{
    const ref_model *m = r->m;
    int64_t h = m->v_heads, n = m->size;
    l->scan_in = read_matrix(r, true, il, "ssm_in", m->n_embd, 2 * h, 1);
    l->conv = tensor(r, true, m->taps * h, il, "ssm_conv1d", ".weight");
    l->conv_bias = tensor(r, false, h, il, "ssm_conv1d", ".bias");
    l->scan_x = read_matrix(r, true, il, "ssm_x", h, m->d_step + 2 * n, 1);
    l->scan_dt = read_matrix(r, true, il, "ssm_dt", m->d_step, h, 1);
    l->a = tensor(r, true, h * n, il, "ssm_a", "");
    l->skip = tensor(r, true, h, il, "ssm_d", "");
    l->gdn_out = read_matrix(r, true, il, "ssm_out", h, m->n_embd, 1);
}

static void read_scan(reader *r, layer *l, int64_t il)
{
    const ref_model *m = r->m;
    int64_t inner = m->v_heads * m->d_scan, channels = ref_channels(m);
    if (m->f.each) {
        read_channel_scan(r, l, il);
        return;
    }
    l->scan_in = read_matrix(r, true, il, "ssm_in", m->n_embd, inner + channels + m->v_heads, 1);
    l->conv = tensor(r, true, m->taps * channels, il, "ssm_conv1d", ".weight");
    l->conv_bias = tensor(r, false, channels, il, "ssm_conv1d", ".bias");
    l->dt = tensor(r, true, m->v_heads, il, "ssm_dt", ".bias");
    l->a = tensor(r, true, m->v_heads, il, "ssm_a", "");
    l->skip = tensor(r, true, m->v_heads, il, "ssm_d", "");
    l->gdn_norm = tensor(r, !m->f.both, inner, il, "ssm_norm", ".weight");
    l->gdn_out = read_matrix(r, true, il, "ssm_out", inner, m->n_embd, 1);
}

/* Gate and up of all experts out of the tensor that holds both, gate's rows first. */
static void unfuse(reader *r, layer *l, const matrix *both)
{
    int64_t part = both->k * both->m / 2, n = r->m->experts;
    int64_t half = both->m / 2;
    l->gate = (matrix){own(r, malloc((size_t)(n * part) * sizeof(double))), both->scale, NULL, both->k, half};
    l->up = l->gate;
    if (both->bias) {
        l->gate.bias = own(r, malloc((size_t)(n * half) * sizeof(double)));
        l->up.bias = own(r, malloc((size_t)(n * half) * sizeof(double)));
    }
    for (int64_t i = 0; i < n * half && l->gate.bias && l->up.bias; i++) {
        l->gate.bias[i] = both->bias[i / half * 2 * half + i % half];
        l->up.bias[i] = both->bias[i / half * 2 * half + half + i % half];
    }
    l->up.w = own(r, malloc((size_t)(n * part) * sizeof(double)));
    for (int64_t e = 0; e < n && l->gate.w && l->up.w; e++) {
        memcpy(l->gate.w + e * part, both->w + 2 * e * part, (size_t)part * sizeof(double));
        memcpy(l->up.w + e * part, both->w + (2 * e + 1) * part, (size_t)part * sizeof(double));
    }
}

static void read_experts(reader *r, layer *l, int64_t il)
{
    const ref_model *m = r->m;
    int64_t e = m->n_embd, f = m->n_ff_expert, n = m->experts;
    l->choice_bias = tensor(r, false, n, il, "exp_probs_b", ".bias");
    l->router = (matrix){.w = m->f.beside ? tensor(r, true, e * n, il, "ffn_gate_inp", ".weight") : NULL, .k = e, .m = n};
    if (!m->f.beside) /* there the file's "scale" is that of its norm */
        l->router = read_matrix(r, true, il, "ffn_gate_inp", e, n, 1);
    matrix both = read_matrix(r, false, il, "ffn_gate_up_exps", e, 2 * f, n);
    if (both.w) {
        unfuse(r, l, &both);
    } else {
        l->gate = read_matrix(r, true, il, "ffn_gate_exps", e, f, n);
        l->up = read_matrix(r, true, il, "ffn_up_exps", e, f, n);
    }
    l->down = read_matrix(r, true, il, "ffn_down_exps", f, e, n);
    if (m->n_ff_shared == 0)
        return;
    l->s_router = read_matrix(r, m->f.shared == 1, il, "ffn_gate_inp_shexp", e, 1, 1);
    l->s_gate = read_matrix(r, true, il, "ffn_gate_shexp", e, m->n_ff_shared, 1);
    l->s_up = read_matrix(r, true, il, "ffn_up_shexp", e, m->n_ff_shared, 1);
    l->s_down = read_matrix(r, true, il, "ffn_down_shexp", m->n_ff_shared, e, 1);
}

/* How far a layer's tokens see, and whether they know where they are. */
static void read_sight(reader *r, layer *l, int64_t il)
{
    const ref_model *m = r->m;
    bool any = m->f.window_period >= 0;
    int64_t period = any ? key(r, "attention.sliding_window_pattern", 0, m->f.window_period) : 1;
    int64_t window = any ? key(r, "attention.sliding_window", 0, m->f.ungated ? 4096 : 0) : 0;
    l->local = window > 0 && (period == 0 || il % period < period - 1);
    l->window = l->local ? window : 0;
    bool nowhere = strcmp(m->arch, "granitehybrid") == 0 && !key(r, "rope.scaling.finetuned", 0, -1);
    l->rotated = !nowhere && (!m->f.rope_rest || (il + 1) % m->f.rope_rest != 0) && (l->local || !m->f.local_alone || window == 0);
    if (strcmp(m->arch, "llama4") == 0 && l->rotated)
        l->chunk = key(r, "attention.sliding_window", 0, 8192);
}

/* Whose cache it reads: of the layers that keep nothing, the last before them all that is of its kind. */
static void read_cache(reader *r, layer *l, int64_t il)
{
    ref_model *m = r->m;
    int64_t shared = m->f.layered ? key(r, "attention.shared_kv_layers", 0, 0) : 0;
    l->d = l->local && m->f.layered ? key(r, "attention.key_length_swa", 0, m->d) : m->d;
    l->dv = l->d == m->d ? m->dv : l->d;
    l->kv_heads = m->f.layered ? layer_key(r, "attention.head_count_kv", il, m->heads) : m->kv_heads;
    l->kv_heads = l->kv_heads ? l->kv_heads : 1;
    l->owner = m->n_given ? -1 : il < m->n_layers ? il : 0;
    for (int64_t k = 0; il < m->n_layers && il >= m->n_layers - shared && k < m->n_layers - shared; k++)
        l->owner = m->layers[k].local == l->local ? k : l->owner;
    m->d_most = l->d > m->d_most ? l->d : m->d_most;
    m->d_most = l->dv > m->d_most ? l->dv : m->d_most;
}

/* Of a matrix of the layer. */
static int64_t rows(reader *r, int64_t il, const char *base)
{
    char name[128];
    snprintf(name, sizeof name, "blk.%d.%s.weight", (int)il, base);
    const eng_gguf_tensor *t = eng_gguf_tensor_find(r->gguf, name);
    return t ? t->ne[1] : 0;
}

static double layer_number(reader *r, const char *name, int64_t il)
{
    char full[128];
    double value = -INFINITY;
    snprintf(full, sizeof full, "%s.%s", r->m->arch, name);
    if (eng_gguf_number(r->gguf, full, (uint64_t)il, &value) && eng_gguf_number(r->gguf, full, 0, &value))
        fail(r, "key %s: %s", full, eng_last_error());
    return value;
}

/* What gemma's later models have beside the rest. */
static void read_extras(reader *r, layer *l, int64_t il)
{
    ref_model *m = r->m;
    int64_t e = m->n_embd;
    l->sparsity = -INFINITY;
    l->out_scale = m->f.beside || m->n_given ? tensor(r, false, 1, il, "layer_output_scale", ".weight") : NULL;
    if (m->d_input) {
        l->in_gate = read_matrix(r, true, il, "inp_gate", e, m->d_input, 1);
        l->in_out = read_matrix(r, true, il, "proj", m->d_input, e, 1);
        l->in_norm = tensor(r, true, e, il, "post_norm", ".weight");
    }
    if (m->n_states) {
        int64_t n = m->n_states;
        l->states_norm = tensor(r, true, e, il, "altup_router_norm", ".weight");
        l->router_of_states = read_matrix(r, true, il, "altup_router", e, n, 1);
        l->predict = read_matrix(r, true, il, "altup_predict_coef", n, n * n, 1);
        l->correct = read_matrix(r, true, il, "altup_correct_coef", n, n, 1);
        l->correct_scale = tensor(r, true, e, il, "altup_correct_scale", ".weight");
        l->around_in = read_matrix(r, true, il, "laurel_l", e, rows(r, il, "laurel_l"), 1);
        l->around_out = read_matrix(r, true, il, "laurel_r", l->around_in.m, e, 1);
        l->around_norm = tensor(r, true, e, il, "laurel_post_norm", ".weight");
        l->sparsity = layer_number(r, "activation_sparsity_scale", il);
    }
    if (l->moe && m->f.beside) {
        int64_t f = layer_key(r, "feed_forward_length", il, -1);
        m->n_ff = f > m->n_ff ? f : m->n_ff;
        l->d_gate = read_matrix(r, true, il, "ffn_gate", e, f, 1);
        l->d_up = read_matrix(r, true, il, "ffn_up", e, f, 1);
        l->d_down = read_matrix(r, true, il, "ffn_down", f, e, 1);
        l->router_norm = tensor(r, true, e, il, "ffn_gate_inp", ".scale");
        l->experts_norm = tensor(r, true, e, il, "pre_ffw_norm_2", ".weight");
        l->experts_post_norm = tensor(r, true, e, il, "post_ffw_norm_2", ".weight");
        l->dense_post_norm = tensor(r, true, e, il, "post_ffw_norm_1", ".weight");
    }
}

/* il < 0: outside of layers. */
static mix_weights read_mix(reader *r, int64_t il, const char *base)
{
    const ref_model *m = r->m;
    int64_t all = m->n_streams * m->n_embd, low = key(r, "hyper_connection.low_rank", 0, -1);
    char name[64];
    mix_weights w;
    snprintf(name, sizeof name, "%s_norm", base);
    w.norm = tensor(r, true, all, il, name, ".weight");
    snprintf(name, sizeof name, "%s_down", base);
    w.down = read_matrix(r, true, il, name, all, low, 1);
    snprintf(name, sizeof name, "%s_up", base);
    w.up = read_matrix(r, true, il, name, low, all, 1);
    snprintf(name, sizeof name, "%s_inject", base);
    w.give = read_matrix(r, il >= 0, il, name, all, m->n_streams, 1);
    return w;
}

static void read_mix_layer(reader *r, layer *l, int64_t il)
{
    const ref_model *m = r->m;
    int64_t all = m->n_streams * m->n_embd, taken = (m->longest - 1) * m->each * m->ngram_width;
    l->mixes[0] = read_mix(r, il, "hc_attn");
    l->mixes[1] = read_mix(r, il, "hc_ffn");
    if (l->full) {
        l->chooses = true;
        l->index_q = read_matrix(r, true, il, "indexer.q_proj", m->n_embd, m->index_heads * m->d_index, 1);
        l->index_k = read_matrix(r, true, il, "indexer.k_proj", m->n_embd, m->d_index, 1);
        l->index_q_norm = tensor(r, true, m->d_index, il, "indexer.q_norm", ".weight");
        l->index_norm = tensor(r, true, m->d_index, il, "indexer.k_norm", ".weight");
    }
    if (!m->longest || rows(r, il, "ple_key") == 0)
        return;
    l->ngrams.key = read_matrix(r, true, il, "ple_key", taken, all, 1);
    l->ngrams.value = read_matrix(r, true, il, "ple_value", taken, m->n_embd, 1);
    l->ngrams.key_norm = tensor(r, true, all, il, "ple_norm_key", ".weight");
    l->ngrams.query_norm = tensor(r, true, all, il, "ple_norm_query", ".weight");
    l->ngrams.norm = tensor(r, true, all, il, "ple_norm_conv", ".weight");
    l->ngrams.conv = tensor(r, true, m->ngram_taps * all, il, "ple_conv1d", ".weight");
}

static void read_layer(reader *r, int64_t il)
{
    ref_model *m = r->m;
    layer *l = &r->m->layers[il];
    if (m->f.headless && key(r, "attention.head_count_kv", (uint64_t)il, -1) > 0)
        m->kv_heads = key(r, "attention.head_count_kv", (uint64_t)il, -1);
    l->full = m->f.headless ? key(r, "attention.head_count_kv", (uint64_t)il, -1) > 0 : !m->hybrid || il >= m->n_layers || (il + 1) % key(r, "full_attention_interval", 0, 4) == 0;
    if (m->f.kda)
        l->full = key(r, "attention.head_count_kv", (uint64_t)il, -1) > 0;
    if (m->f.scans) { /* a layer without heads of K and V scans, or is plain */
        l->full = m->f.both || (m->f.layered && layer_key(r, "attention.head_count_kv", il, -1) > 0);
        l->plain = m->f.either && layer_key(r, "feed_forward_length", il, -1) > 0;
    }
    l->moe = m->experts > 0 && il >= m->dense_lead && (il + 1) % m->moe_step == 0;
    if (!m->f.no_norm1)
        l->norm = tensor(r, true, m->n_embd, il, "attn_norm", ".weight");
    if (m->f.norm2)
        l->ffn_norm = tensor(r, !m->f.parallel, m->n_embd, il, m->f.norm2, ".weight");
    if (m->f.post_norms) {
        l->post_norm = tensor(r, true, m->n_embd, il, "post_attention_norm", ".weight");
        l->ffn_post_norm = tensor(r, true, m->n_embd, il, "post_ffw_norm", ".weight");
    }
    if (m->f.norm_biases)
        l->norm_bias = tensor(r, true, m->n_embd, il, "attn_norm", ".bias");
    if (m->f.norm_biases && l->ffn_norm)
        l->ffn_norm_bias = tensor(r, true, m->n_embd, il, "ffn_norm", ".bias");
    if (m->f.mix)
        read_mix_layer(r, l, il);
    for (int i = 0; i < 2 && m->n_streams && !m->f.mix && il < m->n_layers; i++) {
        static const char *const names[2][3] = {{"hc_attn_fn", "hc_attn_base", "hc_attn_scale"},
                                                {"hc_ffn_fn", "hc_ffn_base", "hc_ffn_scale"}};
        int64_t says = m->n_streams * (m->n_streams + 2);
        l->streams[i].says = read_matrix(r, true, il, names[i][0], m->n_streams * m->n_embd, says, 1);
        l->streams[i].base = tensor(r, true, says, il, names[i][1], ".weight");
        l->streams[i].scale = tensor(r, true, 3, il, names[i][2], ".weight");
    }
    read_sight(r, l, il);
    read_cache(r, l, il);
    if (m->f.compressed) {
        l->ratio = key(r, "attention.compress_ratios", (uint64_t)il, -1);
        l->local = l->ratio == 0;
        read_compressed_layer(r, l, il);
        if (il < key(r, "hash_layer_count", 0, -1))
            read_token_experts(r, l, il);
    } else if (l->full && m->f.latent)
        read_latent_layer(r, l, il);
    else if (l->full)
        read_attention(r, l, il);
    else if (m->f.kda)
        read_kda(r, l, il);
    else if (!l->plain && !m->f.scans)
        read_recurrent(r, l, il);
    if (m->f.scans && !l->plain && (m->f.both || !l->full))
        read_scan(r, l, il);
    if (m->f.alone && !l->plain)
        return;
    if (l->moe) {
        read_experts(r, l, il);
        read_extras(r, l, il);
        return;
    }
    if (strcmp(m->arch, "glm4") == 0 || strcmp(m->arch, "phi3") == 0) {
        matrix both = read_matrix(r, true, il, "ffn_up", m->n_embd, 2 * m->n_ff, 1);
        l->gate = rows_of(&both, 0, m->n_ff);
        l->up = rows_of(&both, m->n_ff, m->n_ff);
        l->down = read_matrix(r, true, il, "ffn_down", m->n_ff, m->n_embd, 1);
    } else {
        int64_t f = layer_key(r, "feed_forward_length", il, -1);
        m->n_ff = f > m->n_ff ? f : m->n_ff;
        l->gate = l->plain || m->f.ungated ? (matrix){0} : read_matrix(r, true, il, "ffn_gate", m->n_embd, f, 1);
        l->up = read_matrix(r, true, il, "ffn_up", m->n_embd, f, 1);
        l->down = read_matrix(r, true, il, "ffn_down", f, m->n_embd, 1);
    }
    read_extras(r, l, il);
}

/* -- the whole ---------------------------------------------------------------------------- */

/* The first block behind the layers. */
static void read_block(reader *r)
{
    ref_model *m = r->m;
    int64_t il = m->n_layers, e = m->n_embd;
    matrix in = read_matrix(r, false, il, "nextn.eh_proj", 2 * e, e, 1);
    if (!in.w || r->failed)
        return;
    read_layer(r, il);
    double *out_norm = tensor(r, false, e, il, "nextn.shared_head_norm", ".weight");
    ref_model *b = m->block = malloc(sizeof *b);
    if (!b) {
        fail(r, "no memory");
        return;
    }
    *b = *m;
    b->n_layers = 1;
    b->layers = &m->layers[il];
    b->draft_in = in;
    b->token_norm = tensor(r, true, e, il, "nextn.enorm", ".weight");
    b->state_norm = tensor(r, true, e, il, "nextn.hnorm", ".weight");
    b->out_norm = out_norm ? out_norm : m->out_norm;
    double *embd = tensor(r, false, e * m->n_vocab, il, "nextn.embed_tokens", ".weight");
    matrix head = read_matrix(r, false, il, "nextn.shared_head_head", e, m->n_vocab, 1);
    b->embd = embd ? embd : m->embd;
    b->head = head.w ? head : m->head;
}

static void read_model(reader *r)
{
    ref_model *m = r->m;
    read_numbers(r);
    if (!r->failed && !(m->layers = calloc((size_t)m->n_layers + 1, sizeof *m->layers)))
        fail(r, "no memory");
    if (r->failed)
        return;
    m->embd = tensor(r, true, m->n_embd * m->n_vocab, -1, "token_embd", ".weight");
    if (!m->f.mix)
        m->out_norm = tensor(r, true, m->n_embd, -1, m->f.headless ? "token_embd_norm" : "output_norm", ".weight");
    if (m->f.norm_biases)
        m->out_norm_bias = tensor(r, true, m->n_embd, -1, "output_norm", ".bias");
    m->head = read_matrix(r, false, -1, "output", m->n_embd, m->n_vocab, 1);
    if (!m->head.w)
        m->head.w = m->embd;
    if (m->n_states) {
        m->states_begin = read_matrix(r, true, -1, "altup_proj", m->n_embd, m->n_embd, m->n_states - 1);
        m->states_end = read_matrix(r, true, -1, "altup_unembd_proj", m->n_embd, m->n_embd, m->n_states - 1);
    }
    if (m->f.mix)
        m->mix_out = read_mix(r, -1, "output_hc");
    if (m->longest) {
        const eng_gguf_tensor *t = eng_gguf_tensor_find(r->gguf, "per_layer_token_embd.weight");
        m->ngram_table = tensor(r, true, t && t->ne[1] >= m->ngram_rows ? t->ne[1] * m->ngram_width : 0, -1, "per_layer_token_embd", ".weight");
    }
    if (m->n_streams && !m->f.mix) {
        m->streams_out = read_matrix(r, false, -1, "output_hc_fn", m->n_streams * m->n_embd, m->n_streams, 1);
        m->streams_out_base = tensor(r, m->streams_out.w, m->n_streams, -1, "output_hc_base", ".weight");
        m->streams_out_scale = tensor(r, m->streams_out.w, 1, -1, "output_hc_scale", ".weight");
    }
    if (m->d_input) {
        m->input_embd = tensor(r, true, m->d_input * m->n_layers * m->n_vocab, -1, "per_layer_token_embd", ".weight");
        m->input = read_matrix(r, true, -1, "per_layer_model_proj", m->n_embd, m->d_input * m->n_layers, 1);
        m->input_norm = tensor(r, true, m->d_input, -1, "per_layer_proj_norm", ".weight");
    }
    m->rope_long = tensor(r, false, m->n_rot / 2, -1, "rope_factors_long", ".weight");
    if (strcmp(m->arch, "phimoe") == 0 && m->rope_long) /* as its models' configurations have it */
        m->rope_size = 1.243163121016122;
    m->rope_short = tensor(r, false, m->n_rot / 2, -1, "rope_factors_short", ".weight");
    m->rope_freqs = tensor(r, false, m->n_rot / 2, -1, "rope_freqs", ".weight");
    for (int64_t i = 0; i < m->n_layers && !r->failed; i++)
        read_layer(r, i);
    if (m->n_given) {
        m->draft_in = read_matrix(r, true, -1, "nextn.pre_projection", 2 * m->n_given, m->n_embd, 1);
        m->draft_out = read_matrix(r, true, -1, "nextn.post_projection", m->n_embd, m->n_given, 1);
    } else if (!r->failed && key(r, "nextn_predict_layers", 0, 0) > 0)
        read_block(r);
}

ref_model *ref_model_open(const char *path, char *error, size_t error_bytes)
{
    reader r = {.error = error, .error_bytes = error_bytes};
    if (eng_gguf_open(path, &r.gguf)) {
        fail(&r, "%s", eng_last_error());
        return NULL;
    }
    r.m = calloc(1, sizeof *r.m);
    if (r.m)
        read_model(&r);
    else
        fail(&r, "no memory");
    eng_gguf_close(r.gguf);
    if (r.failed) {
        ref_model_close(r.m);
        return NULL;
    }
    return r.m;
}

void ref_model_close(ref_model *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->n_owned; i++)
        free(m->owned[i]);
    free(m->owned);
    free(m->layers);
    free(m->block);
    free(m);
}

void ref_model_cells(ref_model *m, int64_t cells)
{
    m->long_context = (double)cells > m->n_ctx_orig;
}

int64_t ref_model_vocab(const ref_model *m)
{
    return m->n_vocab;
}
