/*
 * qwen35, dense: gated-delta-net layers (Yang, Kautz, Hatamizadeh,
 * arXiv:2412.06464) and, every few layers, full attention whose output is
 * gated.  Blocks at the end of the file that draft tokens are not run.
 *
 * Letters: E embedding, F ffn, V vocabulary, H heads of K and V, G query heads
 * for each, D head size; K heads of keys in recurrent layers, R value heads for
 * each (tiled: head r K + k belongs to k), S their size, C taps of the
 * convolution.
 */
#include "config.h"

#include "../internal.h"

enum {
    EMBD, OUT_NORM, OUT,
    NORM, POST_NORM, FFN_GATE, FFN_UP, FFN_DOWN,
    ATTN_Q, ATTN_K, ATTN_V, ATTN_OUT, Q_NORM, K_NORM,
    GDN_QKV, GDN_GATE, GDN_CONV, GDN_DT, GDN_A, GDN_BETA, GDN_ALPHA, GDN_NORM, GDN_OUT,
    ROLES
};
_Static_assert(ROLES <= LM_MAX_ROLES, "LM_MAX_ROLES is too small");

#define ATT LM_LAYER_ATTENTION
#define REC LM_LAYER_RECURRENT
#define ALL (LM_LAYER_ATTENTION | LM_LAYER_RECURRENT)
#define CHANNELS "K S | K S | R K S"

static const lm_weight_row rows[] = {
    {EMBD, "token_embd.weight", "E, V", LM_W_MATRIX, 0},
    {OUT_NORM, "output_norm.weight", "E", LM_W_F32 | LM_W_END, 0},
    {OUT, "output.weight", "E, V", LM_W_MATRIX | LM_W_OPTIONAL | LM_W_END, 0},
    {NORM, "attn_norm.weight", "E", LM_W_F32, ALL},
    {POST_NORM, "post_attention_norm.weight", "E", LM_W_F32, ALL},
    {FFN_GATE, "ffn_gate.weight", "E, F", LM_W_MATRIX, ALL},
    {FFN_UP, "ffn_up.weight", "E, F", LM_W_MATRIX, ALL},
    {FFN_DOWN, "ffn_down.weight", "F, E", LM_W_MATRIX, ALL},
    {ATTN_Q, "attn_q.weight", "E, H G 2 D", LM_W_MATRIX, ATT},
    {ATTN_K, "attn_k.weight", "E, H D", LM_W_MATRIX, ATT},
    {ATTN_V, "attn_v.weight", "E, H D", LM_W_MATRIX, ATT},
    {ATTN_OUT, "attn_output.weight", "H G D, E", LM_W_MATRIX, ATT},
    {Q_NORM, "attn_q_norm.weight", "D", LM_W_F32, ATT},
    {K_NORM, "attn_k_norm.weight", "D", LM_W_F32, ATT},
    {GDN_QKV, "attn_qkv.weight", "E, " CHANNELS, LM_W_MATRIX, REC},
    {GDN_GATE, "attn_gate.weight", "E, R K S", LM_W_MATRIX, REC},
    {GDN_CONV, "ssm_conv1d.weight", "C, " CHANNELS, LM_W_F32, REC},
    {GDN_DT, "ssm_dt.bias", "R K", LM_W_F32, REC},
    {GDN_A, "ssm_a", "R K", LM_W_F32, REC},
    {GDN_BETA, "ssm_beta.weight", "E, R K", LM_W_MATRIX, REC},
    {GDN_ALPHA, "ssm_alpha.weight", "E, R K", LM_W_MATRIX, REC},
    {GDN_NORM, "ssm_norm.weight", "S", LM_W_F32, REC},
    {GDN_OUT, "ssm_out.weight", "R K S, E", LM_W_MATRIX, REC},
};

static int layer_kinds(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    int64_t blocks, nextn, interval;
    int status = lm_key_integer(l, "block_count", 1, LM_MAX_LAYERS, &blocks);
    if (!status)
        status = lm_key_integer_or(l, "nextn_predict_layers", 0, blocks - 1, 0, &nextn);
    if (!status)
        status = lm_key_integer_or(l, "full_attention_interval", 1, LM_MAX_LAYERS, 4, &interval);
    if (status)
        return status;
    n->n_layers_file = (int)blocks;
    n->n_layers = (int)(blocks - nextn);
    for (int i = 0; i < n->n_layers; i++) {
        n->kind[i] = (i + 1) % interval == 0 ? ATT : REC;
        n->attention |= n->kind[i] == ATT;
        n->recurrent |= n->kind[i] == REC;
    }
    return ENG_OK;
}

static int attention_numbers(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    int status = lm_key_integer(l, "attention.head_count", 1, LM_MAX_EXTENT, &n->n_head);
    if (!status)
        status = lm_key_integer_or(l, "attention.head_count_kv", 1, n->n_head, n->n_head, &n->n_head_kv);
    if (!status)
        status = lm_key_integer_or(l, "attention.key_length", 1, LM_MAX_EXTENT, n->n_embd / n->n_head, &n->d_k);
    if (!status)
        status = lm_key_integer_or(l, "attention.value_length", 1, LM_MAX_EXTENT, n->n_embd / n->n_head, &n->d_v);
    if (!status && (n->n_head % n->n_head_kv || n->d_k != n->d_v))
        status = eng_fail(ENG_ERR_FORMAT, "qwen35: %lld heads over %lld of K and V, with heads of %lld and %lld, do "
                          "not fit together", (long long)n->n_head, (long long)n->n_head_kv, (long long)n->d_k,
                          (long long)n->d_v);
    if (!status)
        status = lm_key_rope(l, ENG_ROPE_IMROPE, n->d_k / 4);
    return status;
}

static int recurrent_numbers(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    int64_t inner;
    int status = lm_key_integer(l, "ssm.conv_kernel", 2, 64, &n->conv);
    if (!status)
        status = lm_key_integer(l, "ssm.state_size", 1, 4096, &n->state);
    if (!status)
        status = lm_key_integer(l, "ssm.group_count", 1, LM_MAX_EXTENT, &n->k_heads);
    if (!status)
        status = lm_key_integer(l, "ssm.time_step_rank", 1, LM_MAX_EXTENT, &n->v_heads);
    if (!status)
        status = lm_key_integer_or(l, "ssm.inner_size", 1, INT32_MAX, n->v_heads * n->state, &inner);
    if (!status && (n->v_heads % n->k_heads || inner != n->v_heads * n->state))
        status = eng_fail(ENG_ERR_FORMAT, "qwen35: %lld value heads over %lld key heads of %lld, inner size %lld, do "
                          "not fit together", (long long)n->v_heads, (long long)n->k_heads, (long long)n->state,
                          (long long)inner);
    return status;
}

static int numbers(lm_loader *l)
{
    eng_lm_model *m = l->model;
    lm_numbers *n = &m->n;
    int status = layer_kinds(l);
    if (!status)
        status = lm_key_integer(l, "embedding_length", 1, LM_MAX_EXTENT, &n->n_embd);
    if (!status)
        status = lm_key_integer(l, "feed_forward_length", 1, LM_MAX_EXTENT, &n->n_ff);
    if (!status)
        status = lm_key_integer_or(l, "context_length", 1, INT32_MAX, 4096, &n->n_ctx_train);
    if (!status)
        status = lm_key_number_or(l, "attention.layer_norm_rms_epsilon", 1e-6, &n->eps);
    if (!status)
        status = attention_numbers(l);
    if (!status)
        status = recurrent_numbers(l);
    if (status)
        return status;
    const eng_gguf_tensor *embd = eng_gguf_tensor_find(l->gguf, "token_embd.weight");
    if (!embd || embd->rank != 2 || embd->ne[1] < 1 || embd->ne[1] > INT32_MAX)
        return eng_fail(ENG_ERR_FORMAT, "the file has no matrix token_embd.weight, which a qwen35 model needs");
    n->n_vocab = embd->ne[1];
    lm_letter_add(m, 'E', NULL, n->n_embd);
    lm_letter_add(m, 'F', "ffn", n->n_ff);
    lm_letter_add(m, 'V', "vocab", n->n_vocab);
    lm_letter_add(m, 'H', "kv_head", n->n_head_kv);
    lm_letter_add(m, 'G', "group", n->n_head / n->n_head_kv);
    lm_letter_add(m, 'D', NULL, n->d_k);
    lm_letter_add(m, 'K', "k_head", n->k_heads);
    lm_letter_add(m, 'R', NULL, n->v_heads / n->k_heads);
    lm_letter_add(m, 'S', NULL, n->state);
    lm_letter_add(m, 'C', NULL, n->conv);
    return ENG_OK;
}

static eng_value attention(lm_build *b, eng_value u, int il)
{
    const lm_numbers *n = &b->model->n;
    eng_graph *g = b->g;
    /* each head's rows: query, then gate */
    eng_value qg = eng_reshape(g, eng_mul_mat(g, lm_weight(b, il, ATTN_Q), u),
                               (int64_t[]){2 * n->d_k, n->n_head, b->n_tokens}, 3);
    eng_value q = eng_slice(g, qg, 0, 0, n->d_k);
    eng_value gate = eng_slice(g, qg, 0, n->d_k, n->d_k);
    int64_t heads_kv[] = {n->d_k, n->n_head_kv, b->n_tokens};
    eng_value k = eng_reshape(g, eng_mul_mat(g, lm_weight(b, il, ATTN_K), u), heads_kv, 3);
    eng_value v = eng_reshape(g, eng_mul_mat(g, lm_weight(b, il, ATTN_V), u), heads_kv, 3);
    q = lm_rope(b, lm_norm(b, q, il, Q_NORM));
    k = lm_rope(b, lm_norm(b, k, il, K_NORM));
    eng_value o = lm_attention(b, q, k, v, il);
    o = eng_mul(g, o, eng_unary(g, gate, ENG_UNARY_SIGMOID));
    o = eng_reshape(g, o, (int64_t[]){n->d_k * n->n_head, b->n_tokens}, 2);
    return eng_mul_mat(g, lm_weight(b, il, ATTN_OUT), o);
}

/* Heads `first` .. first + heads - 1 of the convolution's channels: q, k and v are segments of them. */
static eng_value channels(lm_build *b, eng_value c, int64_t first, int64_t heads)
{
    int64_t s = b->model->n.state;
    return eng_reshape(b->g, eng_slice(b->g, c, 0, first * s, heads * s), (int64_t[]){s, heads, b->n_tokens}, 3);
}

static eng_value gated_delta_net(lm_build *b, eng_value u, int il)
{
    const lm_numbers *n = &b->model->n;
    eng_graph *g = b->g;
    int64_t s = n->state, kh = n->k_heads, vh = n->v_heads, t = b->n_tokens, slots = b->context->p.n_snapshots;
    eng_value qkv = eng_mul_mat(g, lm_weight(b, il, GDN_QKV), u);
    eng_value z = eng_mul_mat(g, lm_weight(b, il, GDN_GATE), u);
    eng_value beta = eng_unary(g, eng_mul_mat(g, lm_weight(b, il, GDN_BETA), u), ENG_UNARY_SIGMOID);
    eng_value a = eng_mul_mat(g, lm_weight(b, il, GDN_ALPHA), u);
    a = eng_unary(g, eng_add(g, a, lm_weight(b, il, GDN_DT)), ENG_UNARY_SOFTPLUS);
    eng_value decay = eng_reshape(g, eng_mul(g, a, lm_weight(b, il, GDN_A)), (int64_t[]){1, vh, t}, 3);

    eng_value c = eng_ssm_conv(g, qkv, lm_weight(b, il, GDN_CONV), lm_window_pool(b, il), b->src, b->dst, b->cu, slots);
    c = eng_unary(g, c, ENG_UNARY_SILU);
    eng_value q = eng_l2_norm(g, channels(b, c, 0, kh), n->eps);
    eng_value k = eng_l2_norm(g, channels(b, c, kh, kh), n->eps);
    eng_value v = channels(b, c, 2 * kh, vh);
    eng_value o = eng_gated_delta_net(g, q, k, v, decay, beta, lm_state_pool(b, il), b->src, b->dst, b->cu, 0, slots);

    z = eng_reshape(g, z, (int64_t[]){s, vh, t}, 3);
    o = eng_glu(g, z, lm_norm(b, o, il, GDN_NORM), ENG_GLU_SWIGLU);
    o = eng_reshape(g, o, (int64_t[]){s * vh, t}, 2);
    return eng_mul_mat(g, lm_weight(b, il, GDN_OUT), o);
}

static eng_value build(lm_build *b)
{
    const lm_numbers *n = &b->model->n;
    eng_graph *g = b->g;
    eng_value x = eng_get_rows(g, lm_weight(b, -1, EMBD), b->tokens);
    for (int il = 0; il < n->n_layers; il++) {
        eng_value u = lm_norm(b, x, il, NORM);
        eng_value o = n->kind[il] == ATT ? attention(b, u, il) : gated_delta_net(b, u, il);
        if (il == n->n_layers - 1) { /* from here on only the tokens that are asked for matter */
            o = lm_pick(b, o);
            x = lm_pick(b, x);
        }
        x = eng_add(g, x, o);
        eng_graph_name(g, x, "mixed.%d", il);
        x = eng_add(g, x, lm_ffn_swiglu(b, lm_norm(b, x, il, POST_NORM), il, FFN_GATE, FFN_UP, FFN_DOWN));
        eng_graph_name(g, x, "layer.%d", il);
    }
    x = lm_norm(b, x, -1, OUT_NORM);
    eng_value head = lm_weight(b, -1, OUT);
    return eng_mul_mat(g, head != ENG_NO_VALUE ? head : lm_weight(b, -1, EMBD), x);
}

const lm_arch lm_arch_qwen35 = {
    .name = "qwen35",
    .numbers = numbers,
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .build = build,
    .conv_words = CHANNELS,
    .head_words = "R K",
};
