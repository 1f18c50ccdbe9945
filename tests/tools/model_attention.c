/* Tensors of layers that attend. */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "model_impl.h"

/* Every so-manieth layer, from the first on, and those for drafting. */
static int chooses(const model *m, int64_t layer)
{
    return m->index_period < 2 || layer % m->index_period == 0 || layer >= m->layers;
}

/* Queries from a short vector or not, keys and values from another; matrices of each head as the
 * converter stores them. */
static void add_latent(model *m, int64_t layer)
{
    int64_t q = m->heads * m->head, rest = m->head - m->rope;

    if (m->q_lora) {
        add_matrix(m, layer, "attn_q_a.weight", CLASS_ATTENTION, 1, m->embd, m->q_lora);
        add_norm(m, layer, "attn_q_a_norm.weight", m->q_lora);
        add_matrix(m, layer, "attn_q_b.weight", CLASS_ATTENTION, 1, m->q_lora, q);
    } else {
        add_matrix(m, layer, "attn_q.weight", CLASS_ATTENTION, 1, m->embd, q);
    }
    add_matrix(m, layer, "attn_kv_a_mqa.weight", CLASS_ATTENTION, 1, m->embd, m->kv_lora + m->rope);
    add_norm(m, layer, "attn_kv_a_norm.weight", m->kv_lora);
    model_add(m, layer, "attn_k_b.weight", CLASS_ATTENTION, FILL_NORMAL, 1, rest, m->kv_lora, m->heads);
    model_add(m, layer, "attn_v_b.weight", CLASS_ATTENTION, FILL_NORMAL, 1, m->kv_lora, m->value, m->heads);
    add_matrix(m, layer, "attn_output.weight", CLASS_ATTENTION, 2 * residual_gain(m), m->heads * m->value, m->embd);
    if (is(m, ARCH_INDEXER) && chooses(m, layer)) {
        add_matrix(m, layer, "indexer.attn_q_b.weight", CLASS_ATTENTION, 1, m->q_lora, m->index_heads * m->index_head);
        add_matrix(m, layer, "indexer.attn_k.weight", CLASS_ATTENTION, 1, m->embd, m->index_head);
        add_norm(m, layer, "indexer.k_norm.weight", m->index_head);
        add_bias(m, layer, "indexer.k_norm.bias", m->index_head);
        add_matrix(m, layer, "indexer.proj.weight", CLASS_F32, 1, m->embd, m->index_heads);
        if (is(m, ARCH_POOLS)) {
            add_matrix(m, layer, "indexer_compressor_gate.weight", CLASS_ATTENTION, 1, m->embd, m->index_head);
            model_add(m, layer, "indexer_compressor_ape.weight", CLASS_F32, FILL_NORMAL, sqrt((double)m->index_head),
                      m->index_head, m->pool, 0);
        }
    }
}

static void add_entries(model *m, int64_t layer, const char *base, int64_t d, int64_t parts)
{
    char name[64];

    snprintf(name, sizeof name, "%s_kv.weight", base);
    add_matrix(m, layer, name, CLASS_ATTENTION, 1, m->embd, parts * d);
    snprintf(name, sizeof name, "%s_gate.weight", base);
    add_matrix(m, layer, name, CLASS_ATTENTION, 1, m->embd, parts * d);
    snprintf(name, sizeof name, "%s_ape.weight", base);
    model_append(m, layer, name, CLASS_ATTENTION, FILL_NORMAL, sqrt((double)(parts * d)), parts * d,
                 model_ratio(m, layer), 0);
    snprintf(name, sizeof name, "%s_norm.weight", base);
    add_norm(m, layer, name, d);
}

static void add_compressed(model *m, int64_t layer)
{
    int64_t all = m->heads * m->head, out = m->out_groups * m->out_rank, ratio = model_ratio(m, layer);

    add_matrix(m, layer, "attn_q_a.weight", CLASS_ATTENTION, 1, m->embd, m->q_lora);
    add_norm(m, layer, "attn_q_a_norm.weight", m->q_lora);
    add_matrix(m, layer, "attn_q_b.weight", CLASS_ATTENTION, 1, m->q_lora, all);
    add_matrix(m, layer, "attn_kv.weight", CLASS_ATTENTION, 1, m->embd, m->head);
    add_norm(m, layer, "attn_kv_a_norm.weight", m->head);
    model_add(m, layer, "attn_sinks.weight", CLASS_F32, FILL_NORM, 1, m->heads, 0, 0);
    add_matrix(m, layer, "attn_output_a.weight", CLASS_ATTENTION, 1, all / m->out_groups, out);
    add_matrix(m, layer, "attn_output_b.weight", CLASS_ATTENTION, 2 * residual_gain(m), out, m->embd);
    if (!ratio)
        return;
    add_entries(m, layer, "attn_compressor", m->head, layer % 3 == 1 ? 2 : 1);
    if (layer % 3 == 2)
        return;
    add_matrix(m, layer, "indexer.attn_q_b.weight", CLASS_ATTENTION, 1, m->q_lora, m->index_heads * m->index_head);
    add_matrix(m, layer, "indexer.proj.weight", CLASS_F32, 1, m->embd, m->index_heads);
    add_entries(m, layer, "indexer_compressor", m->index_head, 2);
}

/* Norms of queries and keys: each head's, all heads', or each head's with weights of its own. */
static void add_head_norms(model *m, int64_t layer)
{
    if (is(m, ARCH_HEAD_NORMS) || m->head_norms) {
        add_norm(m, layer, "attn_q_norm.weight", model_head(m, layer));
        if (model_keeps(m, layer))
            add_norm(m, layer, "attn_k_norm.weight", model_head(m, layer));
    } else if (is(m, ARCH_WIDE_NORMS)) {
        add_norm(m, layer, "attn_q_norm.weight", m->head * m->heads);
        add_norm(m, layer, "attn_k_norm.weight", m->head * m->kv_heads);
    } else if (m->own_norms) {
        model_add(m, layer, "attn_q_norm.weight", CLASS_F32, FILL_NORM, 1, m->head, m->heads, 0);
        model_add(m, layer, "attn_k_norm.weight", CLASS_F32, FILL_NORM, 1, m->head, m->kv_heads, 0);
    }
}

void model_add_attention(model *m, int64_t layer)
{
    int64_t head = model_head(m, layer), q = (hybrid(m) ? 2 : 1) * m->heads * head;
    int64_t kv = model_kv_heads(m, layer) * head;
    int biases = m->biases || is(m, ARCH_QKV_BIAS);

    if (is(m, ARCH_LATENT)) {
        add_latent(m, layer);
        return;
    }
    if (is(m, ARCH_COMPRESSED)) {
        add_compressed(m, layer);
        return;
    }

    if (m->fused_qkv) {
        add_matrix(m, layer, "attn_qkv.weight", CLASS_ATTENTION, 1, m->embd, q + 2 * kv);
        if (biases)
            add_bias(m, layer, "attn_qkv.bias", q + 2 * kv);
    } else {
        add_matrix(m, layer, "attn_q.weight", CLASS_ATTENTION, 1, m->embd, q);
        if (model_keeps(m, layer))
            add_matrix(m, layer, "attn_k.weight", CLASS_ATTENTION, 1, m->embd, kv);
        if (model_keeps(m, layer) && (model_is_local(m, layer) || !m->keys_are_values))
            add_matrix(m, layer, "attn_v.weight", CLASS_ATTENTION, 1, m->embd, kv);
        if (biases) {
            add_bias(m, layer, "attn_q.bias", q);
            add_bias(m, layer, "attn_k.bias", kv);
            add_bias(m, layer, "attn_v.bias", kv);
        }
    }
    add_matrix(m, layer, "attn_output.weight", CLASS_ATTENTION, 2 * residual_gain(m), m->heads * head, m->embd);
    if (m->biases || is(m, ARCH_OUT_BIAS))
        add_bias(m, layer, "attn_output.bias", m->embd);
    if (is(m, ARCH_SINKS))
        model_add(m, layer, "attn_sinks.weight", CLASS_F32, FILL_NORM, 1, m->heads, 0, 0);
    add_head_norms(m, layer);
    if (is(m, ARCH_MIX)) {
        add_matrix(m, layer, "indexer.q_proj.weight", CLASS_ATTENTION, 1, m->embd, m->index_heads * m->index_head);
        add_matrix(m, layer, "indexer.k_proj.weight", CLASS_ATTENTION, 1, m->embd, m->index_head);
        add_norm(m, layer, "indexer.q_norm.weight", m->index_head);
        add_norm(m, layer, "indexer.k_norm.weight", m->index_head);
    }
}
