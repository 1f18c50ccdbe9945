/*
 * Streams of a token that are mixed channel by channel (the gated residual of Qwen4-Exp, as its models' code has it):
 * what a block is given is their mean, each normed by itself and each channel weighed by a sigmoid of what a short
 * vector of all says; behind the block each stream grows by its result, by how much the token says.
 */
#include "config.h"

#include "blocks.h"

/* -- numbers ------------------------------------------------------------------------------ */

int lm_numbers_mix(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    int status = lm_key_integer(l, "hyper_connection.count", 1, LM_MOST_STREAMS, &n->streams);
    if (!status)
        status = lm_key_integer(l, "hyper_connection.low_rank", 1, LM_MAX_EXTENT, &n->mix_rank);
    lm_letter_add(l->model, 'J', NULL, n->streams);
    lm_letter_add(l->model, 'O', NULL, n->mix_rank);
    return status;
}

/* -- the graph ------------------------------------------------------------------------------ */

typedef struct roles {
    int norm, down, up, give;
} roles;

static int64_t n_tokens(const lm_build *b)
{
    return b->picked ? b->n_out : b->n_tokens;
}

eng_value lm_streams_norm(lm_build *b, eng_value x, int layer, int role)
{
    const lm_numbers *n = &b->model->n;
    eng_value w = eng_reshape(b->g, lm_weight(b, layer, role), (int64_t[]){n->n_embd, n->streams, 1}, 3);
    return eng_mul(b->g, eng_rms_norm(b->g, x, ENG_NO_VALUE, n->eps), w);
}

static eng_value mixed(lm_build *b, int layer, const roles *r)
{
    const lm_numbers *n = &b->model->n;
    eng_graph *g = b->g;
    int64_t t = n_tokens(b), e = n->n_embd, s = n->streams;
    eng_value x = lm_streams_norm(b, b->streams, layer, r->norm), all = eng_reshape(g, x, (int64_t[]){s * e, t}, 2);
    eng_value w = eng_scale(g, lm_product(b, layer, r->down, all), 1 / (double)s, 0);
    w = eng_unary(g, lm_product(b, layer, r->up, eng_unary(g, w, ENG_UNARY_SILU)), ENG_UNARY_SIGMOID);
    x = lm_sum_second(b, eng_mul(g, x, eng_reshape(g, w, (int64_t[]){e, s, t}, 3)), s);
    b->mixing = ENG_NO_VALUE;
    if (r->give >= 0) {
        w = eng_scale(g, lm_product(b, layer, r->give, all), 1 / (double)s, 0);
        w = eng_scale(g, eng_unary(g, w, ENG_UNARY_SIGMOID), 2, 0);
        b->given = eng_reshape(g, w, (int64_t[]){1, s, t}, 3);
    }
    return eng_scale(g, eng_reshape(g, eng_cont(g, x), (int64_t[]){e, t}, 2), 1 / (double)s, 0);
}

eng_value lm_mix_take(lm_build *b, int layer, bool ffn)
{
    static const roles mixer = {LM_MIX_NORM, LM_MIX_DOWN, LM_MIX_UP, LM_MIX_GIVE};
    static const roles second = {LM_MIX_FFN_NORM, LM_MIX_FFN_DOWN, LM_MIX_FFN_UP, LM_MIX_FFN_GIVE};
    return mixed(b, layer, ffn ? &second : &mixer);
}

eng_value lm_mix_end(lm_build *b)
{
    static const roles out = {LM_MIX_OUT_NORM, LM_MIX_OUT_DOWN, LM_MIX_OUT_UP, -1};
    return mixed(b, LM_LAYER_TOP, &out);
}
