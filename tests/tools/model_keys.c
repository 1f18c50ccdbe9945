/* Keys of random models. */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "model_impl.h"

static int changed(const model *m, const char *name)
{
    for (int i = 0; i < m->n_changes; i++)
        if (strcmp(m->changes[i].key, name) == 0)
            return 1;
    return 0;
}

static int number_key(const model *m, eng_gguf_writer *w, int status, const char *name, int64_t value)
{
    char key[128];

    snprintf(key, sizeof key, "%s.%s", m->arch, name);
    return status || changed(m, name) ? status : eng_gguf_writer_integer(w, key, ENG_GGUF_U32, value);
}

static int real_key(const model *m, eng_gguf_writer *w, int status, const char *name, double value)
{
    char key[128];

    snprintf(key, sizeof key, "%s.%s", m->arch, name);
    return status || changed(m, name) ? status : eng_gguf_writer_number(w, key, value);
}

/* Rotated pairs dealt out to time, height and width. */
static int sections_key(const model *m, eng_gguf_writer *w, int status)
{
    char name[128];
    int32_t half = (int32_t)(m->rope / 2), sections[4] = {half - 2 * (half / 3), half / 3, half / 3, 0};
    int n = snprintf(name, sizeof name, "%s.rope.dimension_sections", m->arch);
    eng_gguf_key key = {{name, (uint64_t)n}, ENG_GGUF_ARRAY, ENG_GGUF_I32, 4, sections};

    return status ? status : eng_gguf_writer_key(w, &key);
}

static int hybrid_keys(const model *m, eng_gguf_writer *w, int status)
{
    status = number_key(m, w, status, "ssm.conv_kernel", m->conv);
    status = number_key(m, w, status, "ssm.state_size", m->state);
    status = number_key(m, w, status, "ssm.group_count", m->k_heads);
    status = number_key(m, w, status, "ssm.time_step_rank", m->v_heads);
    status = number_key(m, w, status, "ssm.inner_size", m->v_heads * m->state);
    status = number_key(m, w, status, "full_attention_interval", m->interval);
    return status;
}

static int expert_keys(const model *m, eng_gguf_writer *w, int status)
{
    status = number_key(m, w, status, "expert_count", m->experts);
    status = number_key(m, w, status, "expert_used_count", m->used);
    if (m->a->experts != EXPERTS_MAYBE)
        status = number_key(m, w, status, "expert_feed_forward_length", m->expert_ffn);
    if (m->a->shared == SHARED_LENGTH)
        status = number_key(m, w, status, "expert_shared_feed_forward_length", m->shared_ffn);
    if (m->a->shared == SHARED_COUNT)
        status = number_key(m, w, status, "expert_shared_count", m->shared_count);
    if (is(m, ARCH_DENSE_LEAD))
        status = number_key(m, w, status, "leading_dense_block_count", m->dense_lead);
    if (is(m, ARCH_MOE_STEP))
        status = number_key(m, w, status, "interleave_moe_layer_step", m->moe_step);
    if (m->groups > 1) {
        status = number_key(m, w, status, "expert_group_count", m->groups);
        status = number_key(m, w, status, "expert_group_used_count", m->groups_used);
    }
    return status;
}

/* A value for each layer. */
static int list_key(const model *m, eng_gguf_writer *w, int status, const char *name,
                    int64_t (*of)(const model *, int64_t))
{
    char text[128];
    int32_t values[1025];
    int n = snprintf(text, sizeof text, "%s.%s", m->arch, name);
    eng_gguf_key key = {{text, (uint64_t)n}, ENG_GGUF_ARRAY, ENG_GGUF_I32, (uint64_t)m->layers, values};

    for (int64_t i = 0; i < m->layers; i++)
        values[i] = (int32_t)of(m, i);
    return status || changed(m, name) ? status : eng_gguf_writer_key(w, &key);
}

static int size_keys(const model *m, eng_gguf_writer *w, int status)
{
    int64_t head = m->local_head ? m->local_head : m->head;

    if (!is(m, ARCH_ALTUP)) {
        status = number_key(m, w, status, "attention.key_length_swa", head);
        status = number_key(m, w, status, "attention.value_length_swa", head);
        status = number_key(m, w, status, "rope.dimension_count_swa", m->rope == m->head ? head : m->rope);
    }
    status = number_key(m, w, status, "attention.shared_kv_layers", m->shared_caches);
    return number_key(m, w, status, "embedding_length_per_layer_input", m->input);
}

/* Of the first layers' gates about a tenth is left; -inf says that all are. */
static int altup_keys(const model *m, eng_gguf_writer *w, int status)
{
    char text[128];
    float values[1025];
    int n = snprintf(text, sizeof text, "%s.activation_sparsity_scale", m->arch);
    eng_gguf_key key = {{text, (uint64_t)n}, ENG_GGUF_ARRAY, ENG_GGUF_F32, (uint64_t)m->layers, values};

    for (int64_t i = 0; i < m->layers; i++)
        values[i] = i < m->sparse ? 1.25f : -INFINITY;
    status = number_key(m, w, status, "altup.num_inputs", m->altup);
    status = number_key(m, w, status, "altup.active_idx", 0);
    return status || changed(m, "activation_sparsity_scale") ? status : eng_gguf_writer_key(w, &key);
}

static int scan_keys(const model *m, eng_gguf_writer *w, int status)
{
    status = number_key(m, w, status, "ssm.conv_kernel", m->conv);
    status = number_key(m, w, status, "ssm.state_size", m->state);
    if (!is(m, ARCH_EACH))
        status = number_key(m, w, status, "ssm.group_count", m->k_heads);
    else
        status = number_key(m, w, status, "ssm.dt_b_c_rms", m->scan_norms);
    status = number_key(m, w, status, "ssm.time_step_rank", is(m, ARCH_EACH) ? m->k_heads : m->v_heads);
    status = number_key(m, w, status, "ssm.inner_size", m->v_heads * m->scan_head);
    return is(m, ARCH_ALONE | ARCH_BOTH) ? status : number_key(m, w, status, "rope.scaling.finetuned", 0);
}

static int latent_keys(const model *m, eng_gguf_writer *w, int status)
{
    if (m->q_lora)
        status = number_key(m, w, status, "attention.q_lora_rank", m->q_lora);
    if (is(m, ARCH_INDEXER)) {
        status = number_key(m, w, status, "attention.indexer.top_k", m->index_top);
        status = number_key(m, w, status, "attention.indexer.head_count", m->index_heads);
        status = number_key(m, w, status, "attention.indexer.key_length", m->index_head);
    }
    status = number_key(m, w, status, "attention.kv_lora_rank", m->kv_lora);
    status = number_key(m, w, status, "attention.key_length_mla", m->head);
    return number_key(m, w, status, "attention.value_length_mla", m->value);
}

static int compressed_keys(const model *m, eng_gguf_writer *w, int status)
{
    status = number_key(m, w, status, "attention.q_lora_rank", m->q_lora);
    status = number_key(m, w, status, "attention.output_group_count", m->out_groups);
    status = number_key(m, w, status, "attention.output_lora_rank", m->out_rank);
    status = number_key(m, w, status, "hash_layer_count", m->hashed);
    status = number_key(m, w, status, "attention.indexer.top_k", m->index_top);
    status = number_key(m, w, status, "attention.indexer.head_count", m->index_heads);
    status = number_key(m, w, status, "attention.indexer.key_length", m->index_head);
    status = real_key(m, w, status, "attention.compress_rope_freq_base", 160000);
    return list_key(m, w, status, "attention.compress_ratios", model_ratio);
}

static int64_t mean_pool(const model *m, int64_t layer)
{
    return (layer + 1) % m->interval ? 0 : m->pool;
}

static int wide_list(const model *m, eng_gguf_writer *w, int status, const char *name, uint64_t n,
                     const uint64_t *values)
{
    char text[128];
    int length = snprintf(text, sizeof text, "%s.%s", m->arch, name);
    eng_gguf_key key = {{text, (uint64_t)length}, ENG_GGUF_ARRAY, ENG_GGUF_U64, n, values};

    return status || changed(m, name) ? status : eng_gguf_writer_key(w, &key);
}

/* Factors as large as they may be, so that 32 bits do not do. */
static int ngram_keys(const model *m, eng_gguf_writer *w, int status)
{
    int64_t rows = (m->ngrams - 1) * m->ngram_each, layer = model_ngram_layer(m);
    uint64_t factors[8], sizes[128], offsets[128], at = (uint64_t)layer;

    if (layer < 0)
        return status;
    for (int64_t i = 0; i < m->ngrams; i++)
        factors[i] = model_random(m->seed, (uint64_t)(1000 + i)) % (uint64_t)(INT64_MAX / m->vocab) | 1;
    for (int64_t i = 0; i < rows; i++) {
        sizes[i] = (uint64_t)model_ngram_size(i);
        offsets[i] = (uint64_t)model_ngram_offset(i);
    }
    status = number_key(m, w, status, "embedding_length_per_layer_input", m->ngram_width);
    status = number_key(m, w, status, "ple.ngram_size", m->ngrams);
    status = number_key(m, w, status, "ple.heads_per_ngram", m->ngram_each);
    status = number_key(m, w, status, "ple.conv_kernel", m->ngram_taps);
    status = number_key(m, w, status, "ple.eos_token_id", 2);
    status = wide_list(m, w, status, "ple.layers", 1, &at);
    status = wide_list(m, w, status, "ple.layer_multipliers", (uint64_t)m->ngrams, factors);
    status = wide_list(m, w, status, "ple.head_vocab_sizes", (uint64_t)rows, sizes);
    return wide_list(m, w, status, "ple.head_offsets", (uint64_t)rows, offsets);
}

static int mix_keys(const model *m, eng_gguf_writer *w, int status)
{
    status = number_key(m, w, status, "hyper_connection.count", m->streams);
    status = number_key(m, w, status, "hyper_connection.low_rank", m->mix_rank);
    status = number_key(m, w, status, "attention.indexer.top_k", m->index_top);
    status = number_key(m, w, status, "attention.indexer.head_count", m->index_heads);
    status = number_key(m, w, status, "attention.indexer.key_length", m->index_head);
    status = list_key(m, w, status, "attention.compress_ratios", mean_pool);
    return ngram_keys(m, w, status);
}

/* Those of the architecture that no option is for: "NAME=NUMBER ...". */
static int own_keys(const model *m, eng_gguf_writer *w, int status)
{
    char name[64];
    double value;
    int used;

    for (const char *at = m->a->keys; at && sscanf(at, " %63[^=]=%lf%n", name, &value, &used) == 2; at += used)
        status = strstr(name, "gating") || strstr(name, "norm") ? number_key(m, w, status, name, (int64_t)value) :
                                                                   real_key(m, w, status, name, value);
    return status;
}

static int scaling_keys(const model *m, eng_gguf_writer *w, int status)
{
    char key[128];
    int64_t factor = m->yarn > 0 ? m->yarn : m->linear;

    if (factor == 0)
        return status;
    snprintf(key, sizeof key, "%s.rope.scaling.type", m->arch);
    if (!status && !changed(m, "rope.scaling.type"))
        status = eng_gguf_writer_text(w, key, m->yarn > 0 ? "yarn" : "linear");
    status = real_key(m, w, status, "rope.scaling.factor", (double)factor);
    return number_key(m, w, status, "rope.scaling.original_context_length", m->context / factor);
}

static int changed_keys(const model *m, eng_gguf_writer *w, int status)
{
    char key[128];

    for (int i = 0; i < m->n_changes && !status; i++) {
        snprintf(key, sizeof key, "%s.%s", m->arch, m->changes[i].key);
        if (m->changes[i].whole)
            status = eng_gguf_writer_integer(w, key, ENG_GGUF_U32, (int64_t)m->changes[i].value);
        else if (!m->changes[i].left_out)
            status = eng_gguf_writer_number(w, key, m->changes[i].value);
    }
    return status;
}

static int kv_heads_key(const model *m, eng_gguf_writer *w, int status)
{
    const char *name = "attention.head_count_kv";

    if (is(m, ARCH_SCANS) && !is(m, ARCH_BOTH))
        return list_key(m, w, status, name, model_scan_kv_heads);
    if (m->full_kv_heads || is(m, ARCH_CONV | ARCH_KDA))
        return list_key(m, w, status, name, model_kv_heads);
    return number_key(m, w, status, name, is(m, ARCH_LATENT) ? 1 : m->kv_heads);
}

int model_keys(const model *m, eng_gguf_writer *w)
{
    int status = eng_gguf_writer_text(w, "general.architecture", m->arch);

    if (!status)
        status = eng_gguf_writer_text(w, "general.type", "model");
    if (!status)
        status = eng_gguf_writer_text(w, "general.name", "random");
    status = number_key(m, w, status, "block_count", m->layers + m->mtp);
    status = number_key(m, w, status, "context_length", m->context);
    status = number_key(m, w, status, "embedding_length", m->embd);
    status = number_key(m, w, status, "vocab_size", m->vocab);
    int only = is(m, ARCH_ALONE) && !is(m, ARCH_EITHER); /* as converters write what has no meaning */
    status = is(m, ARCH_EITHER) ? list_key(m, w, status, "feed_forward_length", model_scan_ffn) :
             only ? number_key(m, w, status, "feed_forward_length", 0) :
             m->wide_shared ? list_key(m, w, status, "feed_forward_length", model_ffn) :
                              number_key(m, w, status, "feed_forward_length", m->ffn);
    status = number_key(m, w, status, "attention.head_count", only ? 0 : m->heads);
    if (is(m, ARCH_SCANS))
        status = scan_keys(m, w, status);
    if (!only)
        status = kv_heads_key(m, w, status);
    status = number_key(m, w, status, "attention.key_length", is(m, ARCH_LATENT) ? m->kv_lora + m->rope : m->head);
    status = number_key(m, w, status, "attention.value_length", is(m, ARCH_LATENT) ? m->kv_lora : m->head);
    if (is(m, ARCH_LATENT))
        status = latent_keys(m, w, status);
    bool own = is(m, ARCH_LAYER_NORM) && !is(m, ARCH_RMS_EPSILON);
    status = real_key(m, w, status, own ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon", 1e-6);
    if (is(m, ARCH_WINDOW))
        status = number_key(m, w, status, "attention.sliding_window", m->window);
    if (is(m, ARCH_LAYER_SIZES))
        status = size_keys(m, w, status);
    if (is(m, ARCH_ALTUP))
        status = altup_keys(m, w, status);
    if (is(m, ARCH_CONV))
        status = number_key(m, w, status, "shortconv.l_cache", m->conv);
    if (is(m, ARCH_KDA)) {
        status = number_key(m, w, status, "ssm.conv_kernel", m->conv);
        status = number_key(m, w, status, "kda.head_dim", m->state);
    }
    if (is(m, ARCH_COMPRESSED))
        status = compressed_keys(m, w, status);
    if (is(m, ARCH_POOLS))
        status = number_key(m, w, status, "attention.indexer.kpool", m->pool);
    if (is(m, ARCH_HYPER)) {
        status = number_key(m, w, status, "hyper_connection.count", m->streams);
        status = number_key(m, w, status, "hyper_connection.sinkhorn_iterations", m->sinkhorn);
        status = real_key(m, w, status, "hyper_connection.epsilon", 1e-6);
    }
    if (is(m, ARCH_MIX))
        status = mix_keys(m, w, status);
    if (m->period)
        status = number_key(m, w, status, "attention.sliding_window_pattern", m->period);
    status = real_key(m, w, status, "rope.freq_base", 10000);
    status = number_key(m, w, status, "rope.dimension_count", m->rope);
    status = scaling_keys(m, w, status);
    if (is(m, ARCH_SECTIONS))
        status = sections_key(m, w, status);
    if (hybrid(m))
        status = hybrid_keys(m, w, status);
    if (is(m, ARCH_ASSISTANT)) {
        status = number_key(m, w, status, "nextn_predict_layers", m->layers);
        status = number_key(m, w, status, "embedding_length_out", m->backbone);
    }
    if (m->mtp > 0)
        status = number_key(m, w, status, "nextn_predict_layers", m->mtp);
    if (m->experts > 0)
        status = expert_keys(m, w, status);
    status = own_keys(m, w, status);
    return changed_keys(m, w, status);
}
