/* Blocks of graph that architectures are made of. */
#include "config.h"

#include "internal.h"

eng_value lm_weight(lm_build *b, int layer, int role)
{
    int32_t tensor = b->model->weights[layer + 1][role];
    return tensor < 0 ? ENG_NO_VALUE : eng_graph_tensor(b->g, LM_SLOT_WEIGHTS, b->model->store, (uint32_t)tensor);
}

eng_value lm_norm(lm_build *b, eng_value x, int layer, int role)
{
    return eng_rms_norm(b->g, x, lm_weight(b, layer, role), b->model->n.eps);
}

eng_value lm_ffn_swiglu(lm_build *b, eng_value x, int layer, int gate, int up, int down)
{
    eng_value h = eng_glu(b->g, eng_mul_mat(b->g, lm_weight(b, layer, gate), x),
                          eng_mul_mat(b->g, lm_weight(b, layer, up), x), ENG_GLU_SWIGLU);
    return eng_mul_mat(b->g, lm_weight(b, layer, down), h);
}

eng_value lm_rope(lm_build *b, eng_value x)
{
    return eng_rope(b->g, x, b->rope_pos, ENG_NO_VALUE, &b->model->n.rope);
}

eng_value lm_pick(lm_build *b, eng_value x)
{
    return eng_get_rows(b->g, x, b->out);
}

static eng_value memory(lm_build *b, int layer, uint32_t which)
{
    return eng_graph_tensor(b->g, LM_SLOT_MEMORY, b->context->memory,
                            (uint32_t)b->context->layer_memory[layer] + which);
}

eng_value lm_state_pool(lm_build *b, int layer)
{
    return memory(b, layer, 0);
}

eng_value lm_window_pool(lm_build *b, int layer)
{
    return memory(b, layer, 1);
}

eng_value lm_attention(lm_build *b, eng_value q, eng_value k, eng_value v, int layer)
{
    const eng_lm_context_params *p = &b->context->p;
    eng_graph *g = b->g;
    eng_value cache_k = memory(b, layer, 0), cache_v = memory(b, layer, 1);
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
    a.scale = 1 / __builtin_sqrt((double)b->model->n.d_k);
    a.pos = b->pos;
    a.seq = b->seq;
    a.cpos = b->cpos;
    a.cseq = b->cseq;
    eng_value o = eng_attention(g, q, cache_k, cache_v, &a);
    return p->rotate_v > 1 ? eng_hadamard(g, o, p->rotate_v) : o;
}
