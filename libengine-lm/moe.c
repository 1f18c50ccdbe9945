/*
 * Mixture of experts (Shazeer et al., arXiv:1701.06538): a router gives each token
 * a few of the experts and their weights; their outputs are added up.  All devices
 * need the whole router; experts are cut along their width or dealt out, and their
 * outputs are one sum over devices in either case.
 */
#include "config.h"

#include "blocks.h"

/* -- numbers ----------------------------------------------------------------------- */

#define SOFTMAX 1 /* expert_gating_func; absent or 0: the architecture's own, which is the same */

/* Keys of routers that compute something else. */
static int check_router(lm_loader *l)
{
    int64_t gating, groups;
    int status = lm_key_integer_or(l, "expert_gating_func", 0, 1 << 16, SOFTMAX, &gating);
    if (!status)
        status = lm_key_integer_or(l, "expert_group_count", 0, LM_MAX_EXTENT, 1, &groups);
    if (!status && gating != 0 && gating != SOFTMAX)
        status = eng_fail(ENG_ERR_UNSUPPORTED, "key %s.expert_gating_func is %lld: of routers only softmax (%d) is known "
                          "for %s", l->arch_name, (long long)gating, SOFTMAX, l->arch_name);
    if (!status && groups > 1)
        status = eng_fail(ENG_ERR_UNSUPPORTED, "key %s.expert_group_count is %lld: experts in groups are not known for %s",
                          l->arch_name, (long long)groups, l->arch_name);
    return status;
}

int lm_numbers_experts(lm_loader *l, bool own)
{
    lm_numbers *n = &l->model->n;
    int64_t ff = 0;
    int status = lm_key_integer(l, "expert_count", 1, LM_MAX_EXTENT, &n->n_experts);
    if (!status)
        status = lm_key_integer(l, "expert_used_count", 1, n->n_experts, &n->n_used);
    if (!status)
        status = lm_key_integer_or(l, "feed_forward_length", 0, LM_MAX_EXTENT, 0, &ff);
    if (status)
        return status;
    n->d_expert = ff;
    if (own)
        status = lm_key_integer_or(l, "expert_feed_forward_length", 1, LM_MAX_EXTENT, ff / n->n_used, &n->d_expert);
    if (!status)
        status = lm_key_number_or(l, "expert_weights_scale", 0, &n->expert_scale);
    if (!status)
        status = check_router(l);
    if (!status && n->d_expert < 1)
        status = eng_fail(ENG_ERR_FORMAT, "the file has no key %s.%s, which gives the width of the experts", l->arch_name,
                          own ? "expert_feed_forward_length" : "feed_forward_length");
    if (n->expert_scale == 0)
        n->expert_scale = 1;
    lm_letter_add(l->model, 'X', "expert", n->n_experts);
    lm_letter_add(l->model, 'Z', NULL, n->n_experts);
    lm_letter_add(l->model, 'M', "ffn", n->d_expert);
    return status;
}

int lm_numbers_shared_expert(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    int status = lm_key_integer_or(l, "expert_shared_feed_forward_length", 1, LM_MAX_EXTENT, n->d_expert,
                                   &n->d_shared);
    lm_letter_add(l->model, 'N', "ffn_shared", n->d_shared);
    return status;
}

/* -- the graph --------------------------------------------------------------------------- */

/* What the router chose: ids[used, T] and weights[1, used, T]. */
typedef struct choice {
    eng_value ids, weights;
    int64_t n_tokens;
} choice;

#define LEAST_SUM 0x1p-14 /* the weights are divided by no less */

static choice route(lm_build *b, eng_value x, int layer)
{
    const lm_numbers *n = &b->model->n;
    eng_graph *g = b->g;
    int64_t e = n->n_experts, u = n->n_used, t = eng_graph_get(g, x) ? eng_graph_get(g, x)->ne[1] : 1;
    eng_value p = eng_soft_max(g, lm_product(b, layer, LM_ROUTER, x), ENG_NO_VALUE, ENG_NO_VALUE, 1, 0);
    eng_value ids = eng_top_k(g, p, u);
    eng_graph_name(g, ids, "experts.%d", layer);
    eng_value w = eng_get_rows(g, eng_reshape(g, p, (int64_t[]){1, e, t}, 3), ids);
    w = eng_reshape(g, w, (int64_t[]){u, t}, 2);
    /* max(sum, least), as relu(sum - least) + least */
    eng_value sum = eng_scale(g, eng_sum_rows(g, w), 1, -LEAST_SUM);
    w = eng_div(g, w, eng_scale(g, eng_unary(g, sum, ENG_UNARY_RELU), 1, LEAST_SUM));
    if (n->expert_scale != 1)
        w = eng_scale(g, w, n->expert_scale, 0);
    return (choice){ids, eng_reshape(g, w, (int64_t[]){1, u, t}, 3), t};
}

/* Products of the chosen experts' matrices, scaled if the file has factors. */
static eng_value product(lm_build *b, int layer, int role, eng_value x, const choice *c)
{
    enum { SCALE = LM_OUT_SCALE - LM_OUT };
    eng_graph *g = b->g;
    int64_t used = b->model->n.n_used;
    eng_value y = eng_mul_mat_id(g, lm_weight(b, layer, role), x, c->ids);
    eng_value scale = lm_weight(b, layer, role + SCALE);
    if (scale == ENG_NO_VALUE)
        return y;
    scale = eng_reshape(g, scale, (int64_t[]){1, b->model->n.n_experts}, 2);
    scale = eng_get_rows(g, scale, eng_reshape(g, c->ids, (int64_t[]){used * c->n_tokens}, 1));
    return eng_mul(g, y, eng_reshape(g, scale, (int64_t[]){1, used, c->n_tokens}, 3));
}

static eng_value shared(lm_build *b, eng_value x, int layer)
{
    eng_value gate = eng_unary(b->g, lm_product(b, layer, LM_SHARED_ROUTER, x), ENG_UNARY_SIGMOID);
    return eng_mul(b->g, lm_ffn_swiglu(b, x, layer, LM_GATE_SHARED, LM_UP_SHARED, LM_DOWN_SHARED), gate);
}

eng_value lm_moe(lm_build *b, eng_value x, int layer)
{
    const lm_numbers *n = &b->model->n;
    eng_graph *g = b->g;
    choice c = route(b, x, layer);
    eng_value one = eng_reshape(g, x, (int64_t[]){n->n_embd, 1, c.n_tokens}, 3), h;
    if (lm_weight(b, layer, LM_GATE_UP_EXPERTS) != ENG_NO_VALUE)
        h = eng_glu(g, product(b, layer, LM_GATE_UP_EXPERTS, one, &c), ENG_NO_VALUE, ENG_GLU_SWIGLU);
    else
        h = eng_glu(g, product(b, layer, LM_GATE_EXPERTS, one, &c), product(b, layer, LM_UP_EXPERTS, one, &c),
                    ENG_GLU_SWIGLU);
    eng_value all = eng_mul(g, product(b, layer, LM_DOWN_EXPERTS, h, &c), c.weights);
    eng_value y = eng_slice(g, all, 1, 0, 1);
    for (int64_t i = 1; i < n->n_used; i++)
        y = eng_add(g, y, eng_slice(g, all, 1, i, 1));
    y = eng_reshape(g, y, (int64_t[]){n->n_embd, c.n_tokens}, 2);
    return lm_weight(b, layer, LM_GATE_SHARED) != ENG_NO_VALUE ? eng_add(g, y, shared(b, x, layer)) : y;
}
