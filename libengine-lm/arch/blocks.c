/* Blocks of graph that architectures are made of. */
#include "config.h"

#include "blocks.h"

eng_value lm_weight(lm_build *b, int layer, int role)
{
    int32_t tensor = b->model->weights[layer + 1][role];
    return tensor < 0 ? ENG_NO_VALUE : eng_graph_tensor(b->g, LM_SLOT_WEIGHTS, b->model->store, (uint32_t)tensor);
}

eng_value lm_product(lm_build *b, int layer, int role, eng_value x)
{
    enum { BIAS = LM_OUT_BIAS - LM_OUT, SCALE = LM_OUT_SCALE - LM_OUT };
    eng_value scale = lm_weight(b, layer, role + SCALE), bias = lm_weight(b, layer, role + BIAS);
    eng_value y = eng_mul_mat(b->g, lm_weight(b, layer, role), x);
    if (scale != ENG_NO_VALUE)
        y = eng_mul(b->g, y, scale);
    return bias != ENG_NO_VALUE ? eng_add(b->g, y, bias) : y;
}

eng_value lm_norm(lm_build *b, eng_value x, int layer, int role)
{
    return eng_rms_norm(b->g, x, lm_weight(b, layer, role), b->model->n.eps);
}

eng_value lm_ffn_swiglu(lm_build *b, eng_value x, int layer, int gate, int up, int down)
{
    eng_value h = eng_glu(b->g, lm_product(b, layer, gate, x), lm_product(b, layer, up, x), ENG_GLU_SWIGLU, NULL);
    return lm_product(b, layer, down, h);
}

static eng_value rope(lm_build *b, eng_value x, eng_value pos)
{
    return eng_rope(b->g, x, pos, lm_weight(b, LM_LAYER_TOP, LM_ROPE_FREQS), &b->model->n.rope);
}

eng_value lm_pick(lm_build *b, eng_value x)
{
    return eng_get_rows(b->g, x, b->out);
}

eng_value lm_layer_memory(lm_build *b, int layer, uint32_t which)
{
    return eng_graph_tensor(b->g, LM_SLOT_MEMORY, b->memory,
                            (uint32_t)b->layer_memory[layer] + which);
}

/* Heads as rows of a cache: zeros change no product. */
static eng_value widened(eng_graph *g, eng_value x, int64_t d, uint32_t type)
{
    const int64_t none = 0, more = lm_cache_row(type, d) - d;
    return more ? eng_pad(g, x, &none, &more, 1) : x;
}

/* q[d, heads, T], k[d, kv, T], v[e, kv, T] -> [e, heads, T]: rotates as the context asks, stores K and V in the
 * layer's cache and attends.  q and the result of the wanted tokens, if so asked for. */
static eng_value attend(lm_build *b, eng_value q, eng_value k, eng_value v, int layer, bool wanted)
{
    const eng_lm_context_params *p = b->context;
    eng_graph *g = b->g;
    eng_value cache_k = lm_layer_memory(b, layer, 0), cache_v = lm_layer_memory(b, layer, 1);
    int64_t d_k = b->model->n.d_k, d_v = b->model->n.d_v;
    q = widened(g, q, d_k, p->type_k);
    k = widened(g, k, d_k, p->type_k);
    v = widened(g, v, d_v, p->type_v);
    if (p->rotate_k > 1) {
        q = eng_hadamard(g, q, p->rotate_k);
        k = eng_hadamard(g, k, p->rotate_k);
    }
    if (p->rotate_v > 1)
        v = eng_hadamard(g, v, p->rotate_v);
    static const int by_head[] = {0, 2, 1}; /* [d, heads, T] seen as [d, T, heads], as the cache is */
    eng_set_rows(g, cache_k, eng_permute(g, k, by_head, 3), b->cells);
    eng_set_rows(g, cache_v, eng_permute(g, v, by_head, 3), b->cells);
    eng_attention_params a;
    eng_attention_defaults(&a);
    a.kv_param = LM_PARAM_CELLS;
    a.causal = 1;
    a.scale = 1 / __builtin_sqrt((double)d_k);
    a.pos = wanted ? b->out_pos : b->pos;
    a.seq = wanted ? b->out_seq : b->seq;
    a.cpos = b->cpos;
    a.cseq = b->cseq;
    a.clast = b->clast;
    eng_value o = eng_attention(g, q, cache_k, cache_v, &a);
    o = p->rotate_v > 1 ? eng_hadamard(g, o, p->rotate_v) : o;
    return lm_cache_row(p->type_v, d_v) == d_v ? o : eng_cont(g, eng_slice(g, o, 0, 0, d_v));
}

/* Channels of one matrix as heads. */
static eng_value heads(lm_build *b, eng_value x, int64_t d, int64_t n, int64_t t)
{
    return eng_reshape(b->g, x, (int64_t[]){d, n, t}, 3);
}

static eng_value normed(lm_build *b, eng_value x, int layer, int role)
{
    return lm_weight(b, layer, role) == ENG_NO_VALUE ? x : lm_norm(b, x, layer, role);
}

eng_value lm_attention_block(lm_build *b, eng_value u, int layer, bool wanted)
{
    const lm_numbers *n = &b->model->n;
    eng_graph *g = b->g;
    int64_t d = n->d_k, kv = n->n_head_kv, t = b->n_tokens, t_q = wanted ? b->n_out : t, d_q = n->gated ? 2 * d : d;
    eng_value q, k, v, gate = ENG_NO_VALUE;
    if (lm_weight(b, layer, LM_QKV) != ENG_NO_VALUE) {
        eng_value all = lm_product(b, layer, LM_QKV, u);
        q = eng_slice(g, all, 0, 0, d_q * n->n_head);
        q = wanted ? lm_pick(b, q) : q;
        k = eng_slice(g, all, 0, d_q * n->n_head, d * kv);
        v = eng_slice(g, all, 0, d_q * n->n_head + d * kv, n->d_v * kv);
    } else {
        q = lm_product(b, layer, LM_Q, wanted ? lm_pick(b, u) : u);
        k = lm_product(b, layer, LM_K, u);
        v = lm_product(b, layer, LM_V, u);
    }
    q = heads(b, q, d_q, n->n_head, t_q);
    k = heads(b, k, d, kv, t);
    v = heads(b, v, n->d_v, kv, t);
    if (n->gated) {
        gate = eng_slice(g, q, 0, d, d);
        q = eng_slice(g, q, 0, 0, d);
    }
    q = rope(b, normed(b, q, layer, LM_Q_NORM), wanted ? b->out_rope_pos : b->rope_pos);
    k = rope(b, normed(b, k, layer, LM_K_NORM), b->rope_pos);
    eng_value o = attend(b, q, k, v, layer, wanted);
    if (n->gated)
        o = eng_mul(g, o, eng_unary(g, gate, ENG_UNARY_SIGMOID));
    return lm_product(b, layer, LM_ATTN_OUT, eng_reshape(g, o, (int64_t[]){n->d_v * n->n_head, t_q}, 2));
}
