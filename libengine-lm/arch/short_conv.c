/*
 * Short convolutions with gates (Liquid AI, LFM2): the token makes a value and two gates; the gated values of the last
 * few tokens are added up, each channel by itself, and the other gate lets the sum out.
 */
#include "config.h"

#include "blocks.h"

int lm_numbers_short_conv(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    int status = n->recurrent ? lm_key_integer(l, "shortconv.l_cache", 2, 64, &n->conv) : ENG_OK;
    lm_letter_add(l->model, 'C', NULL, n->conv);
    lm_letter_add(l->model, 'h', "channel", n->n_embd);
    return status;
}

eng_value lm_short_conv(lm_build *b, eng_value u, int il)
{
    eng_graph *g = b->g;
    int64_t e = b->model->n.n_embd;
    eng_value all = lm_product(b, il, LM_CONV_IN, u), out = eng_slice(g, all, 0, e, e);
    eng_value x = eng_mul(g, eng_slice(g, all, 0, 0, e), eng_slice(g, all, 0, 2 * e, e));
    x = eng_ssm_conv(g, x, lm_weight(b, il, LM_CONV), lm_layer_memory(b, il, 0), b->src, b->dst, b->cu,
                     b->context->n_snapshots);
    return lm_product(b, il, LM_CONV_OUT, eng_mul(g, out, x));
}
