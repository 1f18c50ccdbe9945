/*
 * Layers of the selective scan (Dao, Gu, arXiv:2405.21060): in which layers of a model it is, its numbers, its graph.
 */
#include "config.h"

#include "blocks.h"

/* -- layers and numbers -------------------------------------------------------------- */

/* Without heads of K and V a layer scans, or has nothing but its feed-forward where only some have one. */
static int kind(lm_loader *l, int i)
{
    lm_numbers *n = &l->model->n;
    lm_scans scans = l->model->arch->scans;
    int64_t heads = 0, ff = 0;
    int status = ENG_OK;
    if (scans == LM_SCAN_BESIDE) {
        n->kind[i] = LM_LAYER_ATTENTION | LM_LAYER_RECURRENT;
        return ENG_OK;
    }
    if (scans != LM_SCAN_ONLY && scans != LM_SCAN_EACH)
        status = lm_key_layer_integer(l, "attention.head_count_kv", i, 0, LM_MAX_EXTENT, &heads);
    if (!status && scans == LM_SCAN_OR_EITHER)
        status = lm_key_layer_integer(l, "feed_forward_length", i, 0, LM_MAX_EXTENT, &ff);
    if (!status && heads && ff)
        status = eng_fail(ENG_ERR_UNSUPPORTED, "layer %d has %lld heads of K and V and a feed-forward of %lld" ENG_CAUSE
                          "layers of a %s model are known that have one or the other", i, (long long)heads,
                          (long long)ff, l->arch_name);
    n->kind[i] = heads ? LM_LAYER_ATTENTION : ff ? LM_LAYER_PLAIN : LM_LAYER_RECURRENT;
    n->layer[i].alone = !ff && scans != LM_SCAN_OR_ATTEND;
    return status;
}

int lm_scan_layers(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    int status = ENG_OK;
    for (int i = 0; i < n->n_layers && !status; i++) {
        status = kind(l, i);
        n->attention |= (n->kind[i] & LM_LAYER_ATTENTION) != 0;
        n->recurrent |= (n->kind[i] & LM_LAYER_RECURRENT) != 0;
    }
    if (!n->attention) { /* heads that nobody uses */
        n->n_head = n->n_head_kv = 1;
        n->d_k = n->d_v = 2;
    }
    return status;
}

/* Heads of a group stand side by side; those of the only group are cut where several would be. */
int lm_numbers_scan(lm_loader *l)
{
    eng_lm_model *m = l->model;
    lm_numbers *n = &m->n;
    int64_t inner;
    int status = lm_numbers_states(l);
    if (!status)
        status = lm_key_integer(l, "ssm.inner_size", 1, INT32_MAX, &inner);
    if (status)
        return status;
    if (n->v_heads % n->k_heads || inner % n->v_heads)
        return eng_fail(ENG_ERR_FORMAT, "%s" ENG_CAUSE "%lld channels of %lld heads in %lld groups do not fit together",
                        l->arch_name, (long long)inner, (long long)n->v_heads, (long long)n->k_heads);
    n->d_scan = inner / n->v_heads;
    lm_letter_add(m, 'K', n->k_heads > 1 ? "k_head" : NULL, n->k_heads);
    lm_letter_add(m, 'R', n->k_heads > 1 ? NULL : "k_head", n->v_heads / n->k_heads);
    lm_letter_add(m, 'S', NULL, n->d_scan);
    lm_letter_add(m, 'U', NULL, n->state);
    lm_letter_add(m, 'C', NULL, n->conv);
    return ENG_OK;
}

/* -- the graph ------------------------------------------------------------------------ */

/* `n` vectors of `size` of x's channels, from `first` on. */
static eng_value part(lm_build *b, eng_value x, int64_t first, int64_t size, int64_t n)
{
    return eng_reshape(b->g, eng_slice(b->g, x, 0, first, size * n), (int64_t[]){size, n, b->n_tokens}, 3);
}

/* The state, and the window before the convolution: behind the cache of a layer that has one, too. */
enum { STATE, WINDOW };

static eng_value memory(lm_build *b, int il, uint32_t which)
{
    return lm_layer_memory(b, il, b->model->n.kind[il] & LM_LAYER_ATTENTION ? 2 + which : which);
}

/* The convolution over x, b and c. */
static eng_value convolved(lm_build *b, eng_value x, int il)
{
    eng_value bias = lm_weight(b, il, LM_SCAN_CONV_BIAS);
    x = eng_ssm_conv(b->g, x, lm_weight(b, il, LM_GDN_CONV), memory(b, il, WINDOW), b->src, b->dst, b->cu,
                     b->context->n_snapshots);
    x = bias != ENG_NO_VALUE ? eng_add(b->g, x, bias) : x;
    return eng_unary(b->g, x, ENG_UNARY_SILU);
}

/* Gated, then normed, each group's channels by themselves, if the model norms. */
static eng_value gated(lm_build *b, eng_value o, eng_value z, int il)
{
    const lm_numbers *n = &b->model->n;
    eng_graph *g = b->g;
    int64_t inner = n->v_heads * n->d_scan, t = b->n_tokens;
    eng_value w = lm_weight(b, il, LM_GDN_NORM);
    o = eng_glu(g, z, o, ENG_GLU_SWIGLU, NULL);
    if (w != ENG_NO_VALUE) {
        o = eng_reshape(g, o, (int64_t[]){inner / n->k_heads, n->k_heads, t}, 3);
        o = eng_mul(g, eng_rms_norm(g, o, ENG_NO_VALUE, n->eps), w);
    }
    return eng_reshape(g, o, (int64_t[]){inner, t}, 2);
}

eng_value lm_scan(lm_build *b, eng_value u, int il)
{
    const lm_numbers *n = &b->model->n;
    eng_graph *g = b->g;
    int64_t p = n->d_scan, h = n->v_heads, s = n->state, k = n->k_heads, inner = p * h;
    eng_value all = lm_product(b, il, LM_SCAN_IN, u), z = part(b, all, 0, p, h);
    eng_value dt = eng_slice(g, all, 0, 2 * inner + 2 * k * s, h);
    eng_value c = convolved(b, eng_slice(g, all, 0, inner, inner + 2 * k * s), il), x = part(b, c, 0, p, h);
    dt = eng_unary(g, eng_add(g, dt, lm_weight(b, il, LM_GDN_DT)), ENG_UNARY_SOFTPLUS);
    eng_value o = eng_ssm_scan(g, x, dt, lm_weight(b, il, LM_GDN_A), part(b, c, inner, s, k),
                               part(b, c, inner + k * s, s, k), memory(b, il, STATE), b->src, b->dst, b->cu,
                               b->context->n_snapshots);
    o = eng_add(g, o, eng_mul(g, x, lm_weight(b, il, LM_SCAN_SKIP)));
    return lm_product(b, il, LM_GDN_OUT, gated(b, o, z, il));
}
