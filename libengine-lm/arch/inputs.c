/*
 * What layers are given of a token itself, beside what the layers before them made of it (the per-layer embeddings of
 * Gemma 3n and 4): a vector for each layer, from a table and from the model's own embedding of the token.
 */
#include "config.h"

#include <math.h>

#include "blocks.h"

eng_value lm_inputs_make(lm_build *b, eng_value x)
{
    const lm_numbers *n = &b->model->n;
    eng_graph *g = b->g;
    int64_t d = n->d_input, layers = n->n_layers, t = b->n_tokens;
    eng_value listed = eng_get_rows(g, lm_weight(b, LM_LAYER_TOP, LM_INPUT_EMBD), b->tokens);
    eng_value made = eng_scale(g, lm_product(b, LM_LAYER_TOP, LM_INPUT, x), 1 / sqrt((double)n->n_embd), 0);
    made = lm_norm(b, eng_reshape(g, made, (int64_t[]){d, layers, t}, 3), LM_LAYER_TOP, LM_INPUT_NORM);
    made = eng_reshape(g, made, (int64_t[]){d * layers, t}, 2);
    return eng_scale(g, eng_add(g, made, eng_scale(g, listed, sqrt((double)d), 0)), sqrt(0.5), 0);
}

eng_value lm_inputs_take(lm_build *b, eng_value x, int layer)
{
    int64_t d = b->model->n.d_input;
    eng_value u = lm_glu_of(b, lm_product(b, layer, LM_INPUT_GATE, x), eng_slice(b->g, b->inputs, 0, layer * d, d), 0);
    return lm_norm(b, lm_product(b, layer, LM_INPUT_OUT, u), layer, LM_INPUT_POST_NORM);
}
