/* The whole-model oracle: weights of attention and of layers with a state. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_reader.h"

void ref_read_latent(reader *r, layer *l, int64_t il)
{
    const ref_model *m = r->m;
    int64_t e = m->n_embd, q = m->heads * m->d;
    if (m->q_rank) {
        l->q_a = ref_matrix_of(r, true, il, "attn_q_a", e, m->q_rank, 1);
        l->q_a_norm = ref_weights(r, true, m->q_rank, il, "attn_q_a_norm", ".weight");
        l->q = ref_matrix_of(r, true, il, "attn_q_b", m->q_rank, q, 1);
    } else {
        l->q = ref_matrix_of(r, true, il, "attn_q", e, q, 1);
    }
    l->index_k = m->f.index ? ref_matrix_of(r, m->f.index < 2, il, "indexer.attn_k", e, m->d_index, 1) : (matrix){0};
    l->chooses = l->index_k.w != NULL;
    if (l->chooses) {
        l->index_q = ref_matrix_of(r, true, il, "indexer.attn_q_b", m->q_rank, m->index_heads * m->d_index, 1);
        l->index_weights = ref_matrix_of(r, true, il, "indexer.proj", e, m->index_heads, 1);
        l->index_norm = ref_weights(r, true, m->d_index, il, "indexer.k_norm", ".weight");
        l->index_norm_bias = ref_weights(r, true, m->d_index, il, "indexer.k_norm", ".bias");
        if (m->f.pools) {
            l->pool_gate = ref_matrix_of(r, true, il, "indexer_compressor_gate", e, m->d_index, 1);
            l->pool_places = ref_weights(r, true, m->d_index * m->pool, il, "indexer_compressor_ape", ".weight");
        }
    }
    l->kv_a = ref_matrix_of(r, true, il, "attn_kv_a_mqa", e, m->kv_rank + m->n_rot, 1);
    l->kv_a_norm = ref_weights(r, true, m->kv_rank, il, "attn_kv_a_norm", ".weight");
    l->k_b = ref_matrix_of(r, true, il, "attn_k_b", m->d - m->n_rot, m->kv_rank, m->heads);
    l->v_b = ref_matrix_of(r, true, il, "attn_v_b", m->kv_rank, m->dv, m->heads);
    l->out = ref_matrix_of(r, true, il, "attn_output", m->heads * m->dv, e, 1);
}

/* Of a layer that sees entries of `ratio` tokens: where there is an indexer, channels for the entry's own tokens are
 * behind those for the entry that follows. */
static void read_entries(reader *r, layer *l, int64_t il)
{
    const ref_model *m = r->m;
    char name[64];
    snprintf(name, sizeof name, "blk.%d.indexer.proj.weight", (int)il);
    l->chooses = eng_gguf_tensor_find(r->gguf, name) != NULL;
    int64_t parts = l->chooses ? 2 : 1, e = m->n_embd;
    l->entry.d = m->d;
    l->entry.kv = ref_matrix_of(r, true, il, "attn_compressor_kv", e, parts * m->d, 1);
    l->entry.gate = ref_matrix_of(r, true, il, "attn_compressor_gate", e, parts * m->d, 1);
    l->entry.places = ref_weights(r, true, parts * m->d * l->ratio, il, "attn_compressor_ape", ".weight");
    l->entry.norm = ref_weights(r, true, m->d, il, "attn_compressor_norm", ".weight");
    if (!l->chooses)
        return;
    l->index_q = ref_matrix_of(r, true, il, "indexer.attn_q_b", m->q_rank, m->index_heads * m->d_index, 1);
    l->index_weights = ref_matrix_of(r, true, il, "indexer.proj", e, m->index_heads, 1);
    l->index_entry.d = m->d_index;
    l->index_entry.kv = ref_matrix_of(r, true, il, "indexer_compressor_kv", e, 2 * m->d_index, 1);
    l->index_entry.gate = ref_matrix_of(r, true, il, "indexer_compressor_gate", e, 2 * m->d_index, 1);
    l->index_entry.places = ref_weights(r, true, 2 * m->d_index * l->ratio, il, "indexer_compressor_ape", ".weight");
    l->index_entry.norm = ref_weights(r, true, m->d_index, il, "indexer_compressor_norm", ".weight");
}

void ref_read_compressed(reader *r, layer *l, int64_t il)
{
    const ref_model *m = r->m;
    int64_t e = m->n_embd, all = m->heads * m->d, out = m->out_groups * m->out_rank;
    l->q_a = ref_matrix_of(r, true, il, "attn_q_a", e, m->q_rank, 1);
    l->q_a_norm = ref_weights(r, true, m->q_rank, il, "attn_q_a_norm", ".weight");
    l->q = ref_matrix_of(r, true, il, "attn_q_b", m->q_rank, all, 1);
    l->k = ref_matrix_of(r, true, il, "attn_kv", e, m->d, 1);
    l->k_norm = ref_weights(r, true, m->d, il, "attn_kv_a_norm", ".weight");
    l->sinks = ref_weights(r, true, m->heads, il, "attn_sinks", ".weight");
    l->out_a = ref_matrix_of(r, true, il, "attn_output_a", all / m->out_groups, out, 1);
    l->out = ref_matrix_of(r, true, il, "attn_output_b", out, e, 1);
    if (l->ratio)
        read_entries(r, l, il);
}

void ref_read_attention(reader *r, layer *l, int64_t il)
{
    const ref_model *m = r->m;
    int64_t q = m->heads * l->d * (m->gated ? 2 : 1), kv = l->kv_heads * l->d, e = m->n_embd;
    bool owner = l->owner == il;
    matrix all = ref_matrix_of(r, false, il, "attn_qkv", e, q + 2 * kv, 1);
    if (all.w) {
        l->q = ref_rows_of(&all, 0, q);
        l->k = ref_rows_of(&all, q, kv);
        l->v = ref_rows_of(&all, q + kv, kv);
    } else {
        l->q = ref_matrix_of(r, true, il, "attn_q", e, q, 1);
        l->k = ref_matrix_of(r, owner, il, "attn_k", e, kv, 1);
        l->v = ref_matrix_of(r, owner && !m->f.layered, il, "attn_v", e, kv, 1);
    }
    l->out = ref_matrix_of(r, true, il, "attn_output", m->heads * l->d, e, 1);
    bool needed = m->f.qk != OWN_NORM && strcmp(m->arch, "glm4moe") != 0;
    if (m->f.qk != NO_NORM) {
        l->q_norm = ref_weights(r, needed, m->f.qk == HEAD_NORM ? l->d : m->heads * l->d, il, "attn_q_norm", ".weight");
        l->k_norm = ref_weights(r, needed && owner, m->f.qk == HEAD_NORM ? l->d : kv, il, "attn_k_norm", ".weight");
    }
    l->sinks = ref_weights(r, strcmp(m->arch, "gpt-oss") == 0, m->heads, il, "attn_sinks", ".weight");
}

void ref_read_recurrent(reader *r, layer *l, int64_t il)
{
    const ref_model *m = r->m;
    if (m->f.headless) {
        l->conv_in = ref_matrix_of(r, true, il, "shortconv.in_proj", m->n_embd, 3 * m->n_embd, 1);
        l->conv = ref_weights(r, true, m->taps * m->n_embd, il, "shortconv.conv", ".weight");
        l->conv_out = ref_matrix_of(r, true, il, "shortconv.out_proj", m->n_embd, m->n_embd, 1);
        return;
    }
    int64_t channels = (2 * m->k_heads + m->v_heads) * m->size, e = m->n_embd, inner = m->v_heads * m->size;
    l->qkv = ref_matrix_of(r, true, il, "attn_qkv", e, channels, 1);
    l->z = ref_matrix_of(r, true, il, "attn_gate", e, inner, 1);
    l->conv = ref_weights(r, true, m->taps * channels, il, "ssm_conv1d", ".weight");
    l->dt = ref_weights(r, true, m->v_heads, il, "ssm_dt", ".bias");
    l->a = ref_weights(r, true, m->v_heads, il, "ssm_a", "");
    if (m->f.grouped) {
        l->ba = ref_matrix_of(r, true, il, "ssm_ba", e, 2 * m->v_heads, 1);
    } else {
        l->beta = ref_matrix_of(r, true, il, "ssm_beta", e, m->v_heads, 1);
        l->alpha = ref_matrix_of(r, true, il, "ssm_alpha", e, m->v_heads, 1);
    }
    l->gdn_norm = ref_weights(r, true, m->size, il, "ssm_norm", ".weight");
    l->gdn_out = ref_matrix_of(r, true, il, "ssm_out", inner, e, 1);
}

/* The three convolutions are one, side by side. */
void ref_read_kda(reader *r, layer *l, int64_t il)
{
    static const char *const names[] = {"ssm_conv1d_q", "ssm_conv1d_k", "ssm_conv1d_v"};
    const ref_model *m = r->m;
    int64_t e = m->n_embd, n = m->size, all = m->heads * n;
    l->q = ref_matrix_of(r, true, il, "attn_q", e, all, 1);
    l->k = ref_matrix_of(r, true, il, "attn_k", e, all, 1);
    l->v = ref_matrix_of(r, true, il, "attn_v", e, all, 1);
    l->conv = ref_own(r, malloc((size_t)(3 * m->taps * all) * sizeof *l->conv));
    for (int64_t i = 0; i < 3; i++) {
        double *w = ref_weights(r, true, m->taps * all, il, names[i], ".weight");
        if (w && l->conv)
            memcpy(l->conv + i * m->taps * all, w, (size_t)(m->taps * all) * sizeof *w);
    }
    l->forget_a = ref_matrix_of(r, true, il, "ssm_f_a", e, n, 1);
    l->forget_b = ref_matrix_of(r, true, il, "ssm_f_b", n, all, 1);
    l->gate_a = ref_matrix_of(r, true, il, "ssm_g_a", e, n, 1);
    l->gate_b = ref_matrix_of(r, true, il, "ssm_g_b", n, all, 1);
    l->beta = ref_matrix_of(r, true, il, "ssm_beta", e, m->heads, 1);
    l->dt = ref_weights(r, true, all, il, "ssm_dt", ".bias");
    l->a = ref_weights(r, true, m->heads, il, "ssm_a", "");
    l->gdn_norm = ref_weights(r, true, n, il, "ssm_norm", ".weight");
    l->gdn_out = ref_matrix_of(r, true, il, "attn_output", all, e, 1);
}

static void read_channel_scan(reader *r, layer *l, int64_t il)
{
    const ref_model *m = r->m;
    int64_t h = m->v_heads, n = m->size;
    l->scan_in = ref_matrix_of(r, true, il, "ssm_in", m->n_embd, 2 * h, 1);
    l->conv = ref_weights(r, true, m->taps * h, il, "ssm_conv1d", ".weight");
    l->conv_bias = ref_weights(r, false, h, il, "ssm_conv1d", ".bias");
    l->scan_x = ref_matrix_of(r, true, il, "ssm_x", h, m->d_step + 2 * n, 1);
    l->scan_dt = ref_matrix_of(r, true, il, "ssm_dt", m->d_step, h, 1);
    l->a = ref_weights(r, true, h * n, il, "ssm_a", "");
    l->skip = ref_weights(r, true, h, il, "ssm_d", "");
    l->gdn_out = ref_matrix_of(r, true, il, "ssm_out", h, m->n_embd, 1);
}

void ref_read_scan(reader *r, layer *l, int64_t il)
{
    const ref_model *m = r->m;
    int64_t inner = m->v_heads * m->d_scan, channels = ref_channels(m);
    if (m->f.each) {
        read_channel_scan(r, l, il);
        return;
    }
    l->scan_in = ref_matrix_of(r, true, il, "ssm_in", m->n_embd, inner + channels + m->v_heads, 1);
    l->conv = ref_weights(r, true, m->taps * channels, il, "ssm_conv1d", ".weight");
    l->conv_bias = ref_weights(r, false, channels, il, "ssm_conv1d", ".bias");
    l->dt = ref_weights(r, true, m->v_heads, il, "ssm_dt", ".bias");
    l->a = ref_weights(r, true, m->v_heads, il, "ssm_a", "");
    l->skip = ref_weights(r, true, m->v_heads, il, "ssm_d", "");
    l->gdn_norm = ref_weights(r, !m->f.both, inner, il, "ssm_norm", ".weight");
    l->gdn_out = ref_matrix_of(r, true, il, "ssm_out", inner, m->n_embd, 1);
}
