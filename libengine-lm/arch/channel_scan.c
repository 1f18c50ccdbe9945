/*
 * Layers of the selective scan of Mamba (Gu, Dao, arXiv:2312.00752): each channel forgets by itself, each of its states
 * at a rate of its own.
 */
#include "config.h"

#include "blocks.h"

int lm_numbers_channel_scan(lm_loader *l)
{
    eng_lm_model *m = l->model;
    lm_numbers *n = &m->n;
    int64_t normed = 0;
    int status = lm_key_integer(l, "ssm.conv_kernel", 2, 64, &n->conv);
    if (!status)
        status = lm_key_integer(l, "ssm.state_size", 1, 4096, &n->state);
    if (!status)
        status = lm_key_integer(l, "ssm.inner_size", 1, LM_MAX_EXTENT, &n->v_heads);
    if (!status)
        status = lm_key_integer(l, "ssm.time_step_rank", 1, LM_MAX_EXTENT, &n->d_step);
    if (!status)
        status = lm_key_integer_or(l, "ssm.dt_b_c_rms", 0, 1, 0, &normed);
    n->normed_scan = normed;
    n->k_heads = n->d_scan = 1;
    lm_letter_add(m, 'h', "channel", n->v_heads);
    lm_letter_add(m, 'O', NULL, n->d_step);
    lm_letter_add(m, 'S', NULL, 1);
    lm_letter_add(m, 'U', NULL, n->state);
    lm_letter_add(m, 'C', NULL, n->conv);
    return status;
}

enum { STATE, WINDOW };

static eng_value convolved(lm_build *b, eng_value x, int il)
{
    eng_value bias = lm_weight(b, il, LM_SCAN_CONV_BIAS);
    x = eng_ssm_conv(b->g, x, lm_weight(b, il, LM_GDN_CONV), lm_layer_memory(b, il, WINDOW), b->src, b->dst, b->cu,
                     b->context->n_snapshots);
    x = bias != ENG_NO_VALUE ? eng_add(b->g, x, bias) : x;
    return eng_unary(b->g, x, ENG_UNARY_SILU);
}

/* `n` of what x makes for its scan, from `first` on; the models that norm it have this constant. */
static eng_value part(lm_build *b, eng_value x, int64_t first, int64_t n)
{
    x = eng_slice(b->g, x, 0, first, n);
    return b->model->n.normed_scan ? eng_rms_norm(b->g, x, ENG_NO_VALUE, 1e-6) : x;
}

eng_value lm_channel_scan(lm_build *b, eng_value u, int il)
{
    const lm_numbers *n = &b->model->n;
    eng_graph *g = b->g;
    int64_t h = n->v_heads, r = n->d_step, s = n->state, t = b->n_tokens;
    eng_value all = lm_product(b, il, LM_SCAN_IN, u), z = eng_slice(g, all, 0, h, h);
    eng_value x = convolved(b, eng_slice(g, all, 0, 0, h), il), made = lm_product(b, il, LM_SCAN_X, x);
    eng_value dt = eng_unary(g, lm_product(b, il, LM_SCAN_DT, part(b, made, 0, r)), ENG_UNARY_SOFTPLUS);
    eng_value in = eng_reshape(g, part(b, made, r, s), (int64_t[]){s, 1, t}, 3);
    eng_value out = eng_reshape(g, part(b, made, r + s, s), (int64_t[]){s, 1, t}, 3);
    eng_value o = eng_ssm_scan(g, eng_reshape(g, x, (int64_t[]){1, h, t}, 3), dt, lm_weight(b, il, LM_GDN_A), in, out,
                               lm_layer_memory(b, il, STATE), b->src, b->dst, b->cu, b->context->n_snapshots);
    o = eng_add(g, eng_reshape(g, o, (int64_t[]){h, t}, 2), eng_mul(g, x, lm_weight(b, il, LM_SCAN_SKIP)));
    return lm_product(b, il, LM_GDN_OUT, eng_glu(g, z, o, ENG_GLU_SWIGLU, NULL));
}
