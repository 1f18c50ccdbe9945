/* Tensors and keys of random models of the architectures that are known. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

/* -- random numbers ------------------------------------------------------------ */

/* SplitMix64's output function (Steele, Lea, Flood, OOPSLA 2014) on a counter. */
uint64_t model_random(uint64_t stream, uint64_t index)
{
    uint64_t x = stream + (index + 1) * 0x9e3779b97f4a7c15u;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t model_stream(uint64_t seed, const char *name)
{
    uint64_t hash = model_random(seed, 0);

    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 0x100000001b3u;
    return model_random(hash, 1);
}

/* Normal to within what tests need: the sum of four uniform numbers, scaled. */
static float normal(uint64_t stream, uint64_t index)
{
    uint64_t r = model_random(stream, index);
    int sum = (int)(r & 0xffff) + (int)(r >> 16 & 0xffff) + (int)(r >> 32 & 0xffff) + (int)(r >> 48);

    return (float)(sum - 2 * 65535) * (1.7320508f / 65536);
}

static double uniform(uint64_t stream, uint64_t index)
{
    return (double)(model_random(stream, index) >> 11) * 0x1p-53;
}

void model_fill(const model *m, const model_tensor *t, int64_t first, int64_t n, float *to)
{
    uint64_t stream = model_stream(m->seed, t->name);
    float scale = (float)(t->gain / sqrt((double)t->ne[0]));

    for (int64_t i = 0; i < n; i++) {
        uint64_t at = (uint64_t)(first + i);
        switch (t->fill) {
        case FILL_NORMAL: to[i] = scale * normal(stream, at); break;
        case FILL_NORM: to[i] = 1 + 0.1f * normal(stream, at); break;
        case FILL_BIAS: to[i] = 0.1f * normal(stream, at); break;
        case FILL_DECAY: to[i] = (float)-exp(uniform(stream, at) * log(16)); break;
        case FILL_IDS: to[i] = (float)((model_random(stream, at / (uint64_t)t->ne[0]) % 1000 + at % (uint64_t)t->ne[0]) % (uint64_t)m->experts); break;
        case FILL_STEP: {
            double step = 0.001 * pow(100, uniform(stream, at));
            to[i] = (float)log(expm1(step));
            break;
        }
        }
    }
}

/* -- the list of tensors ---------------------------------------------------------- */

/* n1 and n2 0: fewer dimensions.  Failures show as a list without memory. */
static void append(model *m, int64_t layer, const char *name, class kind, fill how, double gain, int64_t n0, int64_t n1,
                int64_t n2)
{
    if (m->n_tensors == m->capacity) {
        uint32_t capacity = m->capacity * 2 + 64;
        model_tensor *grown = realloc(m->tensors, capacity * sizeof *grown);
        if (!grown) {
            free(m->tensors);
            m->tensors = NULL;
            m->n_tensors = m->capacity = 0;
            return;
        }
        m->tensors = grown;
        m->capacity = capacity;
    }
    model_tensor *t = &m->tensors[m->n_tensors++];
    if (layer < 0)
        snprintf(t->name, sizeof t->name, "%s", name);
    else
        snprintf(t->name, sizeof t->name, "blk.%d.%s", (int)layer, name);
    t->ne[0] = n0;
    t->ne[1] = n1 ? n1 : 1;
    t->ne[2] = n2 ? n2 : 1;
    t->rank = n2 ? 3 : n1 ? 2 : 1;
    t->kind = kind;
    t->fill = how;
    t->gain = gain;
}

/* Also the factor of a matrix, one an expert, if files of that kind are wanted. */
static void add(model *m, int64_t layer, const char *name, class kind, fill how, double gain, int64_t n0, int64_t n1,
                int64_t n2)
{
    char scale[64];
    const char *end = strstr(name, ".weight");

    append(m, layer, name, kind, how, gain, n0, n1, n2);
    if (!m->scales || !end || kind == CLASS_F32 || kind == CLASS_EMBEDDING || strstr(name, "nextn"))
        return;
    snprintf(scale, sizeof scale, "%.*s.scale", (int)(end - name), name);
    append(m, layer, scale, CLASS_F32, FILL_NORM, 1, n2 ? n2 : 1, 0, 0);
}

static void add_norm(model *m, int64_t layer, const char *name, int64_t n)
{
    add(m, layer, name, CLASS_F32, FILL_NORM, 1, n, 0, 0);
}

static void add_matrix(model *m, int64_t layer, const char *name, class kind, double gain, int64_t n0, int64_t n1)
{
    add(m, layer, name, kind, FILL_NORMAL, gain, n0, n1, 0);
}

static int is(const model *m, uint64_t flags)
{
    return (m->a->flags & flags) != 0;
}

static int hybrid(const model *m)
{
    return is(m, ARCH_HYBRID);
}

/* What is added to the residual stream is small, so that depth does not matter. */
static double residual_gain(const model *m)
{
    return 1 / sqrt(2.0 * (double)(m->layers + m->mtp));
}

static void add_bias(model *m, int64_t layer, const char *name, int64_t n)
{
    add(m, layer, name, CLASS_F32, FILL_BIAS, 1, n, 0, 0);
}

/* Every so-manieth layer, from the first on, and those for drafting. */
static int chooses(const model *m, int64_t layer)
{
    return m->index_period < 2 || layer % m->index_period == 0 || layer >= m->layers;
}

/* Queries from a short vector or not, keys and values from another; matrices of each head as the converter stores them. */
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
    add(m, layer, "attn_k_b.weight", CLASS_ATTENTION, FILL_NORMAL, 1, rest, m->kv_lora, m->heads);
    add(m, layer, "attn_v_b.weight", CLASS_ATTENTION, FILL_NORMAL, 1, m->kv_lora, m->value, m->heads);
    add_matrix(m, layer, "attn_output.weight", CLASS_ATTENTION, 2 * residual_gain(m), m->heads * m->value, m->embd);
    if (is(m, ARCH_INDEXER) && chooses(m, layer)) {
        add_matrix(m, layer, "indexer.attn_q_b.weight", CLASS_ATTENTION, 1, m->q_lora, m->index_heads * m->index_head);
        add_matrix(m, layer, "indexer.attn_k.weight", CLASS_ATTENTION, 1, m->embd, m->index_head);
        add_norm(m, layer, "indexer.k_norm.weight", m->index_head);
        add_bias(m, layer, "indexer.k_norm.bias", m->index_head);
        add_matrix(m, layer, "indexer.proj.weight", CLASS_F32, 1, m->embd, m->index_heads);
        if (is(m, ARCH_POOLS)) {
            add_matrix(m, layer, "indexer_compressor_gate.weight", CLASS_ATTENTION, 1, m->embd, m->index_head);
            add(m, layer, "indexer_compressor_ape.weight", CLASS_F32, FILL_NORMAL, sqrt((double)m->index_head), m->index_head,
                m->pool, 0);
        }
    }
}

/* Without entries, with those that an indexer chooses of, with those that all are seen, by turns. */
static int64_t ratio_of(const model *m, int64_t layer)
{
    return layer % 3 == 0 ? 0 : layer % 3 == 1 ? m->ratio : m->long_ratio;
}

static void add_entries(model *m, int64_t layer, const char *base, int64_t d, int64_t parts)
{
    char name[64];

    snprintf(name, sizeof name, "%s_kv.weight", base);
    add_matrix(m, layer, name, CLASS_ATTENTION, 1, m->embd, parts * d);
    snprintf(name, sizeof name, "%s_gate.weight", base);
    add_matrix(m, layer, name, CLASS_ATTENTION, 1, m->embd, parts * d);
    snprintf(name, sizeof name, "%s_ape.weight", base);
    append(m, layer, name, CLASS_ATTENTION, FILL_NORMAL, sqrt((double)(parts * d)), parts * d, ratio_of(m, layer), 0);
    snprintf(name, sizeof name, "%s_norm.weight", base);
    add_norm(m, layer, name, d);
}

static void add_compressed(model *m, int64_t layer)
{
    int64_t all = m->heads * m->head, out = m->out_groups * m->out_rank, ratio = ratio_of(m, layer);

    add_matrix(m, layer, "attn_q_a.weight", CLASS_ATTENTION, 1, m->embd, m->q_lora);
    add_norm(m, layer, "attn_q_a_norm.weight", m->q_lora);
    add_matrix(m, layer, "attn_q_b.weight", CLASS_ATTENTION, 1, m->q_lora, all);
    add_matrix(m, layer, "attn_kv.weight", CLASS_ATTENTION, 1, m->embd, m->head);
    add_norm(m, layer, "attn_kv_a_norm.weight", m->head);
    add(m, layer, "attn_sinks.weight", CLASS_F32, FILL_NORM, 1, m->heads, 0, 0);
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

/* Layers of different kinds, as the keys say. */
static int is_local(const model *m, int64_t layer)
{
    int64_t period = m->period ? m->period : 6;
    return m->window && layer % period < period - 1;
}

static int64_t head_of(const model *m, int64_t layer)
{
    return m->local_head && is_local(m, layer) ? m->local_head : m->head;
}

static int64_t kv_heads_of(const model *m, int64_t layer)
{
    if (is(m, ARCH_CONV | ARCH_KDA) && (layer + 1) % m->interval != 0)
        return 0;
    if (is(m, ARCH_KDA)) /* all of them see one short vector */
        return 1;
    return m->full_kv_heads && !is_local(m, layer) ? m->full_kv_heads : m->kv_heads;
}

static int keeps(const model *m, int64_t layer)
{
    return layer < m->layers - m->shared_caches || layer >= m->layers; /* those for drafting do */
}

static int64_t ffn_of(const model *m, int64_t layer)
{
    return m->wide_shared && !keeps(m, layer) ? 2 * m->ffn : m->ffn;
}

/* Norms of queries and keys: each head's, all heads', or each head's with weights of its own. */
static void add_head_norms(model *m, int64_t layer)
{
    if (is(m, ARCH_HEAD_NORMS) || m->head_norms) {
        add_norm(m, layer, "attn_q_norm.weight", head_of(m, layer));
        if (keeps(m, layer))
            add_norm(m, layer, "attn_k_norm.weight", head_of(m, layer));
    } else if (is(m, ARCH_WIDE_NORMS)) {
        add_norm(m, layer, "attn_q_norm.weight", m->head * m->heads);
        add_norm(m, layer, "attn_k_norm.weight", m->head * m->kv_heads);
    } else if (m->own_norms) {
        add(m, layer, "attn_q_norm.weight", CLASS_F32, FILL_NORM, 1, m->head, m->heads, 0);
        add(m, layer, "attn_k_norm.weight", CLASS_F32, FILL_NORM, 1, m->head, m->kv_heads, 0);
    }
}

static void add_attention(model *m, int64_t layer)
{
    int64_t head = head_of(m, layer), q = (hybrid(m) ? 2 : 1) * m->heads * head, kv = kv_heads_of(m, layer) * head;
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
        if (keeps(m, layer))
            add_matrix(m, layer, "attn_k.weight", CLASS_ATTENTION, 1, m->embd, kv);
        if (keeps(m, layer) && (is_local(m, layer) || !m->keys_are_values))
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
        add(m, layer, "attn_sinks.weight", CLASS_F32, FILL_NORM, 1, m->heads, 0, 0);
    add_head_norms(m, layer);
    if (is(m, ARCH_MIX)) {
        add_matrix(m, layer, "indexer.q_proj.weight", CLASS_ATTENTION, 1, m->embd, m->index_heads * m->index_head);
        add_matrix(m, layer, "indexer.k_proj.weight", CLASS_ATTENTION, 1, m->embd, m->index_head);
        add_norm(m, layer, "indexer.q_norm.weight", m->index_head);
        add_norm(m, layer, "indexer.k_norm.weight", m->index_head);
    }
}

static void add_short_conv(model *m, int64_t layer)
{
    add_matrix(m, layer, "shortconv.in_proj.weight", CLASS_RECURRENT, 1, m->embd, 3 * m->embd);
    add(m, layer, "shortconv.conv.weight", CLASS_F32, FILL_NORMAL, 1, m->conv, m->embd, 0);
    add_matrix(m, layer, "shortconv.out_proj.weight", CLASS_RECURRENT, 2 * residual_gain(m), m->embd, m->embd);
}

/* A convolution each, with the dimension of 1 that converters leave in it. */
static void add_kda(model *m, int64_t layer)
{
    static const char *const names[] = {"q", "k", "v"};
    char name[64];
    int64_t all = m->heads * m->state;

    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "attn_%s.weight", names[i]);
        add_matrix(m, layer, name, CLASS_RECURRENT, 1, m->embd, all);
        snprintf(name, sizeof name, "ssm_conv1d_%s.weight", names[i]);
        add(m, layer, name, CLASS_F32, FILL_NORMAL, m->small_conv ? 2e-3 : 2, m->conv, 1, all);
    }
    add_matrix(m, layer, "ssm_f_a.weight", CLASS_RECURRENT, 1, m->embd, m->state);
    add_matrix(m, layer, "ssm_f_b.weight", CLASS_RECURRENT, 1, m->state, all);
    add_matrix(m, layer, "ssm_g_a.weight", CLASS_RECURRENT, 1, m->embd, m->state);
    add_matrix(m, layer, "ssm_g_b.weight", CLASS_RECURRENT, 1, m->state, all);
    add_matrix(m, layer, "ssm_beta.weight", CLASS_RECURRENT, 1, m->embd, m->heads);
    add(m, layer, "ssm_dt.bias", CLASS_F32, FILL_STEP, 1, all, 0, 0);
    add(m, layer, "ssm_a", CLASS_F32, FILL_DECAY, 1, 1, m->heads, 0);
    add_norm(m, layer, "ssm_norm.weight", m->state);
    add_matrix(m, layer, "attn_output.weight", CLASS_RECURRENT, 2 * residual_gain(m), all, m->embd);
}

static void add_recurrent(model *m, int64_t layer)
{
    int64_t inner = m->v_heads * m->state, channels = 2 * m->k_heads * m->state + inner;

    add_matrix(m, layer, "attn_qkv.weight", CLASS_RECURRENT, 1, m->embd, channels);
    add_matrix(m, layer, "attn_gate.weight", CLASS_RECURRENT, 1, m->embd, inner);
    add(m, layer, "ssm_conv1d.weight", CLASS_F32, FILL_NORMAL, m->small_conv ? 2e-3 : 2, m->conv, channels, 0);
    add(m, layer, "ssm_dt.bias", CLASS_F32, FILL_STEP, 1, m->v_heads, 0, 0);
    add(m, layer, "ssm_a", CLASS_F32, FILL_DECAY, 1, m->v_heads, 0, 0);
    if (is(m, ARCH_GROUPED)) {
        add_matrix(m, layer, "ssm_ba.weight", CLASS_RECURRENT, 1, m->embd, 2 * m->v_heads);
    } else {
        add_matrix(m, layer, "ssm_beta.weight", CLASS_RECURRENT, 1, m->embd, m->v_heads);
        add_matrix(m, layer, "ssm_alpha.weight", CLASS_RECURRENT, 1, m->embd, m->v_heads);
    }
    add_norm(m, layer, "ssm_norm.weight", m->state);
    add_matrix(m, layer, "ssm_out.weight", CLASS_RECURRENT, 2 * residual_gain(m), inner, m->embd);
}

static int64_t shared_width(const model *m)
{
    switch (m->a->shared) {
    case SHARED_LENGTH: return m->shared_ffn;
    case SHARED_COUNT: return m->shared_count * m->expert_ffn;
    case SHARED_ONE: return m->expert_ffn;
    default: return 0;
    }
}

static void add_expert_biases(model *m, int64_t layer)
{
    add_bias(m, layer, "ffn_gate_inp.bias", m->experts);
    if (m->fused_experts) {
        add(m, layer, "ffn_gate_up_exps.bias", CLASS_F32, FILL_BIAS, 1, 2 * m->expert_ffn, m->experts, 0);
    } else {
        add(m, layer, "ffn_gate_exps.bias", CLASS_F32, FILL_BIAS, 1, m->expert_ffn, m->experts, 0);
        add(m, layer, "ffn_up_exps.bias", CLASS_F32, FILL_BIAS, 1, m->expert_ffn, m->experts, 0);
    }
    add(m, layer, "ffn_down_exps.bias", CLASS_F32, FILL_BIAS, 1, m->embd, m->experts, 0);
}

static void add_experts(model *m, int64_t layer)
{
    int64_t width = m->a->experts == EXPERTS_MAYBE ? m->ffn : m->expert_ffn, extra = shared_width(m);

    if (m->a->experts == EXPERTS_BESIDE) { /* its input is over the root of its width */
        append(m, layer, "ffn_gate_inp.weight", CLASS_F32, FILL_NORMAL, 2 * sqrt((double)m->embd), m->embd, m->experts, 0);
        add_norm(m, layer, "ffn_gate_inp.scale", m->embd);
        add_norm(m, layer, "post_ffw_norm_1.weight", m->embd);
        add_norm(m, layer, "pre_ffw_norm_2.weight", m->embd);
        add_norm(m, layer, "post_ffw_norm_2.weight", m->embd);
    } else {
        add_matrix(m, layer, "ffn_gate_inp.weight", CLASS_F32, 2, m->embd, m->experts);
    }
    if (m->fused_experts) {
        add(m, layer, "ffn_gate_up_exps.weight", CLASS_FFN, FILL_NORMAL, 1, m->embd, 2 * width, m->experts);
    } else {
        add(m, layer, "ffn_gate_exps.weight", CLASS_FFN, FILL_NORMAL, 1, m->embd, width, m->experts);
        add(m, layer, "ffn_up_exps.weight", CLASS_FFN, FILL_NORMAL, 1, m->embd, width, m->experts);
    }
    add(m, layer, "ffn_down_exps.weight", CLASS_FFN, FILL_NORMAL, 4 * residual_gain(m), width, m->embd, m->experts);
    if (is(m, ARCH_COMPRESSED) && layer < m->hashed)
        append(m, layer, "ffn_gate_tid2eid.weight", CLASS_F32, FILL_IDS, 1, m->used, m->vocab, 0);
    else if (is(m, ARCH_CHOICE_BIAS) || m->choice_bias)
        add_bias(m, layer, "exp_probs_b.bias", m->experts);
    if (is(m, ARCH_EXPERT_BIAS))
        add_expert_biases(m, layer);
    if (is(m, ARCH_SHARED_GATE))
        add(m, layer, "ffn_gate_inp_shexp.weight", CLASS_F32, FILL_NORMAL, 1, m->embd, 0, 0);
    if (extra) {
        add_matrix(m, layer, "ffn_gate_shexp.weight", CLASS_FFN, 1, m->embd, extra);
        add_matrix(m, layer, "ffn_up_shexp.weight", CLASS_FFN, 1, m->embd, extra);
        add_matrix(m, layer, "ffn_down_shexp.weight", CLASS_FFN, 4 * residual_gain(m), extra, m->embd);
    }
}

static void add_ffn(model *m, int64_t layer)
{
    if (m->experts > 0 && layer >= m->dense_lead && (layer + 1) % m->moe_step == 0) {
        add_experts(m, layer);
        if (m->a->experts != EXPERTS_BESIDE)
            return;
    }
    int64_t ffn = ffn_of(m, layer);
    add_matrix(m, layer, "ffn_down.weight", CLASS_FFN, 4 * residual_gain(m), ffn, m->embd);
    if (is(m, ARCH_UNGATED)) {
        add_matrix(m, layer, "ffn_up.weight", CLASS_FFN, 1, m->embd, ffn);
        add_bias(m, layer, "ffn_up.bias", ffn);
        add_bias(m, layer, "ffn_down.bias", m->embd);
        return;
    }
    if (is(m, ARCH_FUSED_FFN)) {
        add_matrix(m, layer, "ffn_up.weight", CLASS_FFN, 1, m->embd, 2 * m->ffn);
        return;
    }
    add_matrix(m, layer, "ffn_gate.weight", CLASS_FFN, 1, m->embd, ffn);
    add_matrix(m, layer, "ffn_up.weight", CLASS_FFN, 1, m->embd, ffn);
    if (m->biases) {
        add_bias(m, layer, "ffn_gate.bias", ffn);
        add_bias(m, layer, "ffn_up.bias", ffn);
        add_bias(m, layer, "ffn_down.bias", m->embd);
    }
}

/* What a layer is given of the token itself, and by what its results are multiplied. */
static void add_input(model *m, int64_t layer)
{
    if (m->input) {
        add_matrix(m, layer, "inp_gate.weight", CLASS_FFN, 1, m->embd, m->input);
        add_matrix(m, layer, "proj.weight", CLASS_FFN, 1, m->input, m->embd);
        add_norm(m, layer, "post_norm.weight", m->embd);
    }
    if (is(m, ARCH_ALTUP)) { /* the router's input is over the embedding's width */
        add_norm(m, layer, "altup_router_norm.weight", m->embd);
        add_matrix(m, layer, "altup_router.weight", CLASS_F32, (double)m->embd, m->embd, m->altup);
        add_matrix(m, layer, "altup_predict_coef.weight", CLASS_F32, 0.3, m->altup, m->altup * m->altup);
        add_matrix(m, layer, "altup_correct_coef.weight", CLASS_F32, 0.3, m->altup, m->altup);
        add_norm(m, layer, "altup_correct_scale.weight", m->embd);
        add_matrix(m, layer, "laurel_l.weight", CLASS_FFN, 1, m->embd, m->laurel);
        add_matrix(m, layer, "laurel_r.weight", CLASS_FFN, 1, m->laurel, m->embd);
        add_norm(m, layer, "laurel_post_norm.weight", m->embd);
    }
    if (m->layer_scales)
        add_norm(m, layer, "layer_output_scale.weight", 1);
}

/* Of streams that are mixed channel by channel; of one of all nothing is given back. */
static void add_mix(model *m, int64_t layer, const char *base, int gives)
{
    int64_t all = m->streams * m->embd;
    char name[64];

    snprintf(name, sizeof name, "%s_norm.weight", base);
    add_norm(m, layer, name, all);
    snprintf(name, sizeof name, "%s_down.weight", base);
    add_matrix(m, layer, name, CLASS_ATTENTION, 4, all, m->mix_rank);
    snprintf(name, sizeof name, "%s_up.weight", base);
    add_matrix(m, layer, name, CLASS_ATTENTION, 2, m->mix_rank, all);
    snprintf(name, sizeof name, "%s_inject.weight", base);
    if (gives)
        add_matrix(m, layer, name, CLASS_ATTENTION, 4, all, m->streams);
}

/* The first recurrent layer, but not the first of all, that takes rows of the table of n-grams. */
static int64_t ngram_layer(const model *m)
{
    for (int64_t i = m->layers > 2; i < m->layers && m->ngrams; i++)
        if ((i + 1) % m->interval)
            return i;
    return -1;
}

/* Of head i of the table. */
static int64_t ngram_size(int64_t i)
{
    return 41 + 6 * i;
}

static int64_t ngram_offset(int64_t i)
{
    int64_t at = 0;

    for (int64_t k = 0; k < i; k++)
        at += ngram_size(k);
    return at;
}

static void add_ngrams(model *m, int64_t layer)
{
    int64_t all = m->streams * m->embd, rows = (m->ngrams - 1) * m->ngram_each * m->ngram_width;

    add_matrix(m, layer, "ple_key.weight", CLASS_FFN, 1, rows, all);
    add_matrix(m, layer, "ple_value.weight", CLASS_FFN, 1, rows, m->embd);
    add_norm(m, layer, "ple_norm_key.weight", all);
    add_norm(m, layer, "ple_norm_query.weight", all);
    add_norm(m, layer, "ple_norm_conv.weight", all);
    append(m, layer, "ple_conv1d.weight", CLASS_F32, FILL_NORMAL, 1, m->ngram_taps, all, 0);
}

/* What is said of a token's streams, before and behind mixer and feed-forward. */
static void add_hyper(model *m, int64_t layer, const char *block)
{
    int64_t n = m->streams, says = n * (n + 2);
    char name[64];

    snprintf(name, sizeof name, "hc_%s_fn.weight", block);
    add_matrix(m, layer, name, CLASS_F32, 1, n * m->embd, says);
    snprintf(name, sizeof name, "hc_%s_base.weight", block);
    add_bias(m, layer, name, says);
    snprintf(name, sizeof name, "hc_%s_scale.weight", block);
    add_norm(m, layer, name, 3);
}

static void add_channel_scan(model *m, int64_t layer)
{
    int64_t inner = m->v_heads * m->scan_head;

    add_matrix(m, layer, "ssm_in.weight", CLASS_RECURRENT, 1, m->embd, 2 * inner);
    add(m, layer, "ssm_conv1d.weight", CLASS_F32, FILL_NORMAL, 2, m->conv, inner, 0);
    add_bias(m, layer, "ssm_conv1d.bias", inner);
    add_matrix(m, layer, "ssm_x.weight", CLASS_RECURRENT, 0.5, inner, m->k_heads + 2 * m->state);
    add_matrix(m, layer, "ssm_dt.weight", CLASS_RECURRENT, 1, m->k_heads, inner);
    add(m, layer, "ssm_dt.bias", CLASS_F32, FILL_STEP, 1, inner, 0, 0);
    add(m, layer, "ssm_a", CLASS_F32, FILL_DECAY, 1, m->state, inner, 0);
    add(m, layer, "ssm_d", CLASS_F32, FILL_NORM, 1, inner, 0, 0);
    add_matrix(m, layer, "ssm_out.weight", CLASS_RECURRENT, 2 * residual_gain(m), inner, m->embd);
}

static void add_scan(model *m, int64_t layer)
{
    int64_t inner = m->v_heads * m->scan_head, channels = inner + 2 * m->k_heads * m->state;

    add_matrix(m, layer, "ssm_in.weight", CLASS_RECURRENT, 1, m->embd, inner + channels + m->v_heads);
    add(m, layer, "ssm_conv1d.weight", CLASS_F32, FILL_NORMAL, 2, m->conv, channels, 0);
    add_bias(m, layer, "ssm_conv1d.bias", channels);
    add(m, layer, "ssm_dt.bias", CLASS_F32, FILL_STEP, 1, m->v_heads, 0, 0);
    add(m, layer, "ssm_a", CLASS_F32, FILL_DECAY, 1, 1, m->v_heads, 0);
    add(m, layer, "ssm_d", CLASS_F32, FILL_NORM, 1, 1, m->v_heads, 0);
    if (!is(m, ARCH_BOTH) || m->scan_norms)
        add(m, layer, "ssm_norm.weight", CLASS_F32, FILL_NORM, 1, inner / m->k_heads, m->k_heads, 0);
    add_matrix(m, layer, "ssm_out.weight", CLASS_RECURRENT, 2 * residual_gain(m), inner, m->embd);
    if (m->biases) {
        add_bias(m, layer, "ssm_in.bias", inner + channels + m->v_heads);
        add_bias(m, layer, "ssm_out.bias", m->embd);
    }
}

/* Layers of models that scan: every `interval`-th mixer attends, unless nothing does. */
static int64_t scan_kv_heads(const model *m, int64_t layer)
{
    int64_t mixer = is(m, ARCH_EITHER) ? layer / 2 : layer;

    if (is(m, ARCH_BOTH))
        return m->kv_heads;
    return (is(m, ARCH_EITHER) && layer % 2) || (mixer + 1) % m->interval ? 0 : m->kv_heads;
}

static int64_t scan_ffn(const model *m, int64_t layer)
{
    return layer % 2 ? m->ffn : 0;
}

static void add_scan_layer(model *m, int64_t layer)
{
    add_norm(m, layer, "attn_norm.weight", m->embd);
    if (is(m, ARCH_EITHER) && scan_ffn(m, layer)) {
        add_matrix(m, layer, "ffn_up.weight", CLASS_FFN, 1, m->embd, m->ffn);
        add_matrix(m, layer, "ffn_down.weight", CLASS_FFN, 4 * residual_gain(m), m->ffn, m->embd);
        return;
    }
    if (scan_kv_heads(m, layer) && !(is(m, ARCH_ALONE) && !is(m, ARCH_EITHER)))
        add_attention(m, layer);
    else if (is(m, ARCH_EACH))
        add_channel_scan(m, layer);
    else
        add_scan(m, layer);
    if (is(m, ARCH_BOTH))
        add_scan(m, layer);
    if (is(m, ARCH_ALONE))
        return;
    add_norm(m, layer, "ffn_norm.weight", m->embd);
    add_ffn(m, layer);
}

static void add_layer(model *m, int64_t layer)
{
    int draft = layer >= m->layers;

    if (is(m, ARCH_SCANS)) {
        add_scan_layer(m, layer);
        return;
    }

    char second[64];

    if (!is(m, ARCH_NO_FIRST_NORM))
        add_norm(m, layer, "attn_norm.weight", m->embd);
    snprintf(second, sizeof second, "%s.weight", m->a->norm2 ? m->a->norm2 : "");
    if (m->a->norm2 && !m->parallel)
        add_norm(m, layer, second, m->embd);
    if (is(m, ARCH_NORM_BIASES))
        add_bias(m, layer, "attn_norm.bias", m->embd);
    if (is(m, ARCH_NORM_BIASES) && !m->parallel)
        add_bias(m, layer, "ffn_norm.bias", m->embd);
    if (is(m, ARCH_POST_NORMS)) {
        add_norm(m, layer, "post_attention_norm.weight", m->embd);
        add_norm(m, layer, "post_ffw_norm.weight", m->embd);
    }
    if (kv_heads_of(m, layer) == 0 && is(m, ARCH_KDA))
        add_kda(m, layer);
    else if (kv_heads_of(m, layer) == 0)
        add_short_conv(m, layer);
    else if (hybrid(m) && !draft && (layer + 1) % m->interval != 0)
        add_recurrent(m, layer);
    else
        add_attention(m, layer);
    add_ffn(m, layer);
    add_input(m, layer);
    if (is(m, ARCH_HYPER) && !draft) {
        add_hyper(m, layer, "attn");
        add_hyper(m, layer, "ffn");
    }
    if (is(m, ARCH_MIX) && !draft) {
        add_mix(m, layer, "hc_attn", 1);
        add_mix(m, layer, "hc_ffn", 1);
        if (layer == ngram_layer(m))
            add_ngrams(m, layer);
    }
    if (draft) {
        add_matrix(m, layer, "nextn.eh_proj.weight", CLASS_ATTENTION, 1, 2 * m->embd, m->embd);
        add_norm(m, layer, "nextn.enorm.weight", m->embd);
        add_norm(m, layer, "nextn.hnorm.weight", m->embd);
        add_norm(m, layer, "nextn.shared_head_norm.weight", m->embd);
        if (m->own_ends) {
            add_matrix(m, layer, "nextn.embed_tokens.weight", CLASS_EMBEDDING, 1, m->embd, m->vocab);
            add_matrix(m, layer, "nextn.shared_head_head.weight", CLASS_OUTPUT, 4, m->embd, m->vocab);
        }
    }
}

int model_list(model *m)
{
    /* Embeddings of unit variance; logits wide enough for one token to stand out. */
    add_matrix(m, -1, "token_embd.weight", CLASS_EMBEDDING, sqrt((double)m->embd), m->embd, m->vocab);
    if (is(m, ARCH_MIX))
        add_mix(m, -1, "output_hc", 0);
    else
        add_norm(m, -1, is(m, ARCH_CONV) ? "token_embd_norm.weight" : "output_norm.weight", m->embd);
    if (is(m, ARCH_NORM_BIASES))
        add_bias(m, -1, "output_norm.bias", m->embd);
    if (m->freqs)
        add_norm(m, -1, "rope_freqs.weight", m->rope / 2);
    if (m->long_factors) {
        add_norm(m, -1, "rope_factors_long.weight", m->rope / 2);
        add_norm(m, -1, "rope_factors_short.weight", m->rope / 2);
    }
    if (!m->tied)
        add_matrix(m, -1, "output.weight", CLASS_OUTPUT, 4, m->embd, m->vocab);
    if (is(m, ARCH_ALTUP)) {
        append(m, -1, "altup_proj.weight", CLASS_FFN, FILL_NORMAL, 1, m->embd, m->embd, m->altup - 1);
        append(m, -1, "altup_unembd_proj.weight", CLASS_FFN, FILL_NORMAL, 1, m->embd, m->embd, m->altup - 1);
    }
    if (m->input) {
        add_matrix(m, -1, "per_layer_token_embd.weight", CLASS_EMBEDDING, 1, m->layers * m->input, m->vocab);
        add_matrix(m, -1, "per_layer_model_proj.weight", CLASS_FFN, 1, m->embd, m->layers * m->input);
        add_norm(m, -1, "per_layer_proj_norm.weight", m->input);
    }
    if (ngram_layer(m) >= 0 && is(m, ARCH_MIX))
        add_matrix(m, -1, "per_layer_token_embd.weight", CLASS_EMBEDDING, sqrt((double)m->ngram_width), m->ngram_width,
                   ngram_offset((m->ngrams - 1) * m->ngram_each) + 3);
    if (is(m, ARCH_COMPRESSED)) {
        add_matrix(m, -1, "output_hc_fn.weight", CLASS_F32, 1, m->streams * m->embd, m->streams);
        add_bias(m, -1, "output_hc_base.weight", m->streams);
        add_norm(m, -1, "output_hc_scale.weight", 1);
    }
    if (is(m, ARCH_ASSISTANT)) {
        add_matrix(m, -1, "nextn.pre_projection.weight", CLASS_ATTENTION, 1, 2 * m->backbone, m->embd);
        add_matrix(m, -1, "nextn.post_projection.weight", CLASS_ATTENTION, 1, m->embd, m->backbone);
    }
    for (int64_t layer = 0; layer < m->layers + m->mtp; layer++)
        add_layer(m, layer);
    return m->tensors ? ENG_OK : eng_fail(ENG_ERR_NOMEM, "out of memory for the list of tensors");
}

/* -- keys ------------------------------------------------------------------------------ */

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
static int list_key(const model *m, eng_gguf_writer *w, int status, const char *name, int64_t (*of)(const model *, int64_t))
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
    return list_key(m, w, status, "attention.compress_ratios", ratio_of);
}

static int64_t mean_pool(const model *m, int64_t layer)
{
    return (layer + 1) % m->interval ? 0 : m->pool;
}

static int wide_list(const model *m, eng_gguf_writer *w, int status, const char *name, uint64_t n, const uint64_t *values)
{
    char text[128];
    int length = snprintf(text, sizeof text, "%s.%s", m->arch, name);
    eng_gguf_key key = {{text, (uint64_t)length}, ENG_GGUF_ARRAY, ENG_GGUF_U64, n, values};

    return status || changed(m, name) ? status : eng_gguf_writer_key(w, &key);
}

/* Factors as large as they may be, so that 32 bits do not do. */
static int ngram_keys(const model *m, eng_gguf_writer *w, int status)
{
    int64_t rows = (m->ngrams - 1) * m->ngram_each, layer = ngram_layer(m);
    uint64_t factors[8], sizes[128], offsets[128], at = (uint64_t)layer;

    if (layer < 0)
        return status;
    for (int64_t i = 0; i < m->ngrams; i++)
        factors[i] = model_random(m->seed, (uint64_t)(1000 + i)) % (uint64_t)(INT64_MAX / m->vocab) | 1;
    for (int64_t i = 0; i < rows; i++) {
        sizes[i] = (uint64_t)ngram_size(i);
        offsets[i] = (uint64_t)ngram_offset(i);
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
    status = is(m, ARCH_EITHER) ? list_key(m, w, status, "feed_forward_length", scan_ffn) :
             only ? number_key(m, w, status, "feed_forward_length", 0) :
             m->wide_shared ? list_key(m, w, status, "feed_forward_length", ffn_of) :
                              number_key(m, w, status, "feed_forward_length", m->ffn);
    status = number_key(m, w, status, "attention.head_count", only ? 0 : m->heads);
    if (is(m, ARCH_SCANS))
        status = scan_keys(m, w, status);
    if (!only)
        status = is(m, ARCH_SCANS) && !is(m, ARCH_BOTH) ? list_key(m, w, status, "attention.head_count_kv", scan_kv_heads) :
                 m->full_kv_heads || is(m, ARCH_CONV | ARCH_KDA) ? list_key(m, w, status, "attention.head_count_kv", kv_heads_of) :
                 number_key(m, w, status, "attention.head_count_kv", is(m, ARCH_LATENT) ? 1 : m->kv_heads);
    status = number_key(m, w, status, "attention.key_length", is(m, ARCH_LATENT) ? m->kv_lora + m->rope : m->head);
    status = number_key(m, w, status, "attention.value_length", is(m, ARCH_LATENT) ? m->kv_lora : m->head);
    if (is(m, ARCH_LATENT))
        status = latent_keys(m, w, status);
    status = real_key(m, w, status, is(m, ARCH_LAYER_NORM) && !is(m, ARCH_RMS_EPSILON) ? "attention.layer_norm_epsilon" :
                      "attention.layer_norm_rms_epsilon", 1e-6);
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
