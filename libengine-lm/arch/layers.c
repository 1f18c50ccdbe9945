/* A whole model of layers, and the numbers that all of them have. */
#include "config.h"

#include "blocks.h"

/* -- numbers --------------------------------------------------------------------- */

static int heads(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    int status = lm_key_integer(l, "attention.head_count", 1, LM_MAX_EXTENT, &n->n_head);
    if (!status)
        status = lm_key_integer_or(l, "attention.head_count_kv", 1, n->n_head, n->n_head, &n->n_head_kv);
    if (!status)
        status = lm_key_integer_or(l, "attention.key_length", 1, LM_MAX_EXTENT, n->n_embd / n->n_head, &n->d_k);
    if (!status)
        status = lm_key_integer_or(l, "attention.value_length", 1, LM_MAX_EXTENT, n->n_embd / n->n_head, &n->d_v);
    if (!status && (n->n_head % n->n_head_kv || n->d_k != n->d_v || n->d_k < 1))
        status = eng_fail(ENG_ERR_FORMAT, "%s" ENG_CAUSE
                          "%lld heads over %lld of K and V, with heads of %lld and %lld, do not fit "
                          "together", l->arch_name, (long long)n->n_head, (long long)n->n_head_kv, (long long)n->d_k,
                          (long long)n->d_v);
    return status;
}

static int layers(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    int64_t blocks;
    int status = lm_key_integer(l, "block_count", 1, LM_MAX_LAYERS, &blocks);
    if (status)
        return status;
    n->n_layers = n->n_layers_file = (int)blocks;
    for (int i = 0; i < n->n_layers; i++)
        n->kind[i] = LM_LAYER_ATTENTION;
    n->attention = true;
    return ENG_OK;
}

int lm_numbers_common(lm_loader *l)
{
    eng_lm_model *m = l->model;
    lm_numbers *n = &m->n;
    int status = layers(l);
    if (!status)
        status = lm_key_integer(l, "embedding_length", 1, LM_MAX_EXTENT, &n->n_embd);
    if (!status)
        status = lm_key_integer_or(l, "context_length", 1, INT32_MAX, 4096, &n->n_ctx_train);
    if (!status)
        status = lm_key_number_or(l, "attention.layer_norm_rms_epsilon", 1e-6, &n->eps);
    if (!status)
        status = heads(l);
    if (status)
        return status;
    const eng_gguf_tensor *embd = eng_gguf_tensor_find(l->gguf, "token_embd.weight");
    if (!embd || embd->rank != 2 || embd->ne[1] < 1 || embd->ne[1] > INT32_MAX)
        return eng_fail(ENG_ERR_FORMAT, "the file has no matrix token_embd.weight, which a %s model needs",
                        l->arch_name);
    n->n_vocab = embd->ne[1];
    lm_letter_add(m, 'E', NULL, n->n_embd);
    lm_letter_add(m, 'V', "vocab", n->n_vocab);
    lm_letter_add(m, 'H', "kv_head", n->n_head_kv);
    lm_letter_add(m, 'G', "group", n->n_head / n->n_head_kv);
    lm_letter_add(m, 'D', NULL, n->d_k);
    return ENG_OK;
}

int lm_numbers_ffn(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    int status = lm_key_integer(l, "feed_forward_length", 1, LM_MAX_EXTENT, &n->n_ff);
    lm_letter_add(l->model, 'F', "ffn", n->n_ff);
    return status;
}

int lm_numbers_rope(lm_loader *l, int mode)
{
    lm_numbers *n = &l->model->n;
    int status = lm_key_rope(l, mode, n->d_k);
    if (!status && n->rope.n_dims != n->d_k)
        status = eng_fail(ENG_ERR_UNSUPPORTED, "key %s.rope.dimension_count is %lld, but only ropes over whole heads (%lld)"
                          " are known for %s", l->arch_name, (long long)n->rope.n_dims, (long long)n->d_k, l->arch_name);
    lm_letter_add(l->model, 'P', NULL, n->d_k / 2);
    return status;
}

int lm_numbers_dense(lm_loader *l)
{
    int status = lm_numbers_common(l);
    if (!status)
        status = lm_numbers_rope(l, ENG_ROPE_NEOX);
    if (!status)
        status = lm_numbers_ffn(l);
    return status;
}

/* -- the graph ----------------------------------------------------------------------- */

eng_value lm_layers(lm_build *b)
{
    const lm_numbers *n = &b->model->n;
    eng_graph *g = b->g;
    eng_value x = eng_get_rows(g, lm_weight(b, LM_LAYER_TOP, LM_EMBD), b->tokens);
    for (int il = 0; il < n->n_layers; il++) {
        eng_value u = lm_norm(b, x, il, LM_NORM);
        bool last = il == n->n_layers - 1, attention = n->kind[il] == LM_LAYER_ATTENTION;
        eng_value o = attention ? lm_attention_block(b, u, il, last) : lm_gated_delta_net(b, u, il);
        if (last) { /* from here on only the tokens that are asked for matter; to a state all do */
            o = attention ? o : lm_pick(b, o);
            x = lm_pick(b, x);
            b->live = b->live_out;
        }
        x = eng_add(g, x, o);
        eng_graph_name(g, x, "mixed.%d", il);
        u = lm_norm(b, x, il, LM_FFN_NORM);
        o = n->n_experts ? lm_moe(b, u, il) : lm_ffn_swiglu(b, u, il, LM_GATE, LM_UP, LM_DOWN);
        x = eng_add(g, x, o);
        eng_graph_name(g, x, "layer.%d", il);
    }
    x = lm_norm(b, x, LM_LAYER_TOP, LM_OUT_NORM);
    if (lm_weight(b, LM_LAYER_TOP, LM_OUT) != ENG_NO_VALUE)
        return lm_product(b, LM_LAYER_TOP, LM_OUT, x);
    return eng_mul_mat(g, lm_weight(b, LM_LAYER_TOP, LM_EMBD), x);
}
