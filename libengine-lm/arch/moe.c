/*
 * Mixture of experts (Shazeer et al., arXiv:1701.06538): a router gives each token
 * a few of the experts and their weights; their outputs are added up.  All devices
 * need the whole router; experts are cut along their width or dealt out, and their
 * outputs are one sum over devices in either case.
 */
#include "config.h"

#include <string.h>

#include "blocks.h"

/* -- numbers ----------------------------------------------------------------------- */

#define MOST_EXPERTS (1 << 14) /* see route */
#define SOFTMAX 1 /* expert_gating_func; absent or 0: the architecture's own, which is the same */

/* Keys of routers that compute something else. */
static int check_router(lm_loader *l)
{
    int64_t gating, groups;
    int status = lm_key_integer_or(l, "expert_gating_func", 0, 1 << 16, SOFTMAX, &gating);
    if (!status)
        status = lm_key_integer_or(l, "expert_group_count", 0, LM_MAX_EXTENT, 1, &groups);
    if (!status && gating != 0 && gating != SOFTMAX)
        status = eng_fail(ENG_ERR_UNSUPPORTED, "key %s.expert_gating_func is %lld" ENG_CAUSE
                          "of routers only softmax (%d) is known "
                          "for %s", l->arch_name, (long long)gating, SOFTMAX, l->arch_name);
    if (!status && groups > 1)
        status = eng_fail(ENG_ERR_UNSUPPORTED, "key %s.expert_group_count is %lld" ENG_CAUSE
                          "experts in groups are not known for %s",
                          l->arch_name, (long long)groups, l->arch_name);
    return status;
}

int lm_numbers_experts(lm_loader *l, bool own)
{
    lm_numbers *n = &l->model->n;
    int64_t ff = 0;
    int status = lm_key_integer(l, "expert_count", 1, MOST_EXPERTS, &n->n_experts);
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
    eng_value part_ids; /* as experts part_begin .. part_end - 1 see them         */
    int64_t part_begin, part_end;
} choice;

/* The experts of padding become -1, so that no device looks at theirs. */
static eng_value of_live_tokens(lm_build *b, eng_value ids)
{
    if (b->live == ENG_NO_VALUE)
        return ids;
    return eng_get_rows(b->g, eng_concat(b->g, b->no_experts, ids, 1), b->live);
}

/*
 * The weights are the router's probabilities, divided by the sum of those of the
 * chosen experts, or by 2^-14 if that is larger.  The largest of MOST_EXPERTS
 * probabilities is never smaller than that, so they are the softmax over the chosen
 * experts' logits alone.
 */
static choice route(lm_build *b, eng_value x, int layer)
{
    const lm_numbers *n = &b->model->n;
    eng_graph *g = b->g;
    int64_t e = n->n_experts, u = n->n_used, t = eng_graph_get(g, x) ? eng_graph_get(g, x)->ne[1] : 1;
    eng_value logits = lm_product(b, layer, LM_ROUTER, x);
    eng_value ids = of_live_tokens(b, eng_top_k(g, logits, u));
    eng_graph_name(g, ids, "experts.%d", layer);
    eng_value w = eng_get_rows(g, eng_reshape(g, logits, (int64_t[]){1, e, t}, 3), ids);
    w = eng_soft_max(g, eng_reshape(g, w, (int64_t[]){u, t}, 2), ENG_NO_VALUE, ENG_NO_VALUE, 1, 0);
    if (n->expert_scale != 1)
        w = eng_scale(g, w, n->expert_scale, 0);
    return (choice){.ids = ids, .weights = eng_reshape(g, w, (int64_t[]){1, u, t}, 3), .n_tokens = t};
}

/*
 * A role's matrices may lie in parts, runs of experts that have a home of their own
 * (weights.c).  Each part sees the ids of its own experts alone; the others', -1 to
 * it, give zeros, so that the parts' products are addends.
 */
typedef struct part {
    uint32_t tensor; /* of the store of weights                                */
    int64_t begin, end;
} part;

static bool has(const lm_build *b, int layer, int role)
{
    return b->model->weights[layer + 1][role] >= 0;
}

static part part_at(const lm_build *b, uint32_t tensor, int64_t begin)
{
    return (part){tensor, begin, begin + eng_store_get(b->model->store, tensor)->ne[2]};
}

static part first_part(const lm_build *b, int layer, int role)
{
    return part_at(b, (uint32_t)b->model->weights[layer + 1][role], 0);
}

static eng_value ids_of(lm_build *b, choice *c, const part *p)
{
    if (p->end - p->begin == b->model->n.n_experts)
        return c->ids;
    if (c->part_begin != p->begin || c->part_end != p->end) { /* gate, up and down ask one after another */
        c->part_ids = eng_graph_op(b->g, ENG_OP_REBASE, &c->ids, 1, (int64_t[]){p->begin, p->end}, 2, NULL, 0, NULL);
        c->part_begin = p->begin;
        c->part_end = p->end;
    }
    return c->part_ids;
}

/* Products of the chosen experts' matrices: of all, or of the experts of one part. */
static eng_value products(lm_build *b, int layer, int role, eng_value x, choice *c, const part *only)
{
    eng_value y = ENG_NO_VALUE;
    for (part p = first_part(b, layer, role);; p = part_at(b, p.tensor + 1, p.end)) {
        if (!only || only->begin == p.begin) {
            eng_value w = eng_graph_tensor(b->g, LM_SLOT_WEIGHTS, b->model->store, p.tensor);
            eng_value z = eng_mul_mat_id(b->g, w, x, ids_of(b, c, &p));
            y = y == ENG_NO_VALUE ? z : eng_add(b->g, y, z);
        }
        if (p.end == b->model->n.n_experts)
            return y;
    }
}

/* The same, scaled if the file has factors. */
static eng_value product(lm_build *b, int layer, int role, eng_value x, choice *c, const part *only)
{
    enum { SCALE = LM_OUT_SCALE - LM_OUT };
    eng_graph *g = b->g;
    int64_t used = b->model->n.n_used;
    eng_value y = products(b, layer, role, x, c, only);
    eng_value scale = lm_weight(b, layer, role + SCALE);
    if (scale == ENG_NO_VALUE)
        return y;
    scale = eng_reshape(g, scale, (int64_t[]){1, b->model->n.n_experts}, 2);
    scale = eng_get_rows(g, scale, eng_reshape(g, c->ids, (int64_t[]){used * c->n_tokens}, 1));
    return eng_mul(g, y, eng_reshape(g, scale, (int64_t[]){1, used, c->n_tokens}, 3));
}

/* Are both roles in the same parts?  Then a part's experts can be run to the end where they are, and only their sum
 * moves. */
static bool parts_agree(const lm_build *b, int layer, int role, int other)
{
    part p = first_part(b, layer, role), q = first_part(b, layer, other);
    while (p.end == q.end && p.end < b->model->n.n_experts) {
        p = part_at(b, p.tensor + 1, p.end);
        q = part_at(b, q.tensor + 1, q.end);
    }
    return p.end == q.end;
}

/* The weighted sum of the chosen experts' outputs. */
static eng_value mixture(lm_build *b, eng_value one, int layer, choice *c, const part *only)
{
    const lm_numbers *n = &b->model->n;
    eng_graph *g = b->g;
    eng_value h;
    if (has(b, layer, LM_GATE_UP_EXPERTS))
        h = eng_glu(g, product(b, layer, LM_GATE_UP_EXPERTS, one, c, only), ENG_NO_VALUE, ENG_GLU_SWIGLU, NULL);
    else
        h = eng_glu(g, product(b, layer, LM_GATE_EXPERTS, one, c, only),
                    product(b, layer, LM_UP_EXPERTS, one, c, only), ENG_GLU_SWIGLU, NULL);
    eng_value all = eng_mul(g, product(b, layer, LM_DOWN_EXPERTS, h, c, only), c->weights);
    eng_value y = eng_slice(g, all, 1, 0, 1);
    for (int64_t i = 1; i < n->n_used; i++)
        y = eng_add(g, y, eng_slice(g, all, 1, i, 1));
    return eng_reshape(g, y, (int64_t[]){n->n_embd, c->n_tokens}, 2);
}

/* Parts of one home are added up there, before the sums of homes are. */
static bool same_home(const lm_build *b, const part *p, const part *q)
{
    const char *a = eng_store_get(b->model->store, p->tensor)->device;
    const char *z = eng_store_get(b->model->store, q->tensor)->device;
    return a && z ? strcmp(a, z) == 0 : a == z;
}

static bool is_first_at_home(const lm_build *b, int layer, const part *p)
{
    part q = first_part(b, layer, LM_DOWN_EXPERTS);
    while (!same_home(b, &q, p))
        q = part_at(b, q.tensor + 1, q.end);
    return q.begin == p->begin;
}

/* Of the part p and all that follow it and have its home. */
static eng_value home_sum(lm_build *b, eng_value one, int layer, choice *c, part p)
{
    const part first = p;
    eng_value y = mixture(b, one, layer, c, &p);
    while (p.end < b->model->n.n_experts) {
        p = part_at(b, p.tensor + 1, p.end);
        if (same_home(b, &first, &p))
            y = eng_add(b->g, y, mixture(b, one, layer, c, &p));
    }
    return y;
}

static eng_value mixtures(lm_build *b, eng_value x, int layer, choice *c)
{
    const lm_numbers *n = &b->model->n;
    eng_value one = eng_reshape(b->g, x, (int64_t[]){n->n_embd, 1, c->n_tokens}, 3);
    bool fused = has(b, layer, LM_GATE_UP_EXPERTS);
    if (!parts_agree(b, layer, LM_DOWN_EXPERTS, fused ? LM_GATE_UP_EXPERTS : LM_GATE_EXPERTS) ||
        (!fused && !parts_agree(b, layer, LM_DOWN_EXPERTS, LM_UP_EXPERTS)))
        return mixture(b, one, layer, c, NULL);
    eng_value y = ENG_NO_VALUE;
    for (part p = first_part(b, layer, LM_DOWN_EXPERTS);; p = part_at(b, p.tensor + 1, p.end)) {
        if (is_first_at_home(b, layer, &p)) {
            eng_value z = home_sum(b, one, layer, c, p);
            y = y == ENG_NO_VALUE ? z : eng_add(b->g, y, z);
        }
        if (p.end == n->n_experts)
            return y;
    }
}

static eng_value shared(lm_build *b, eng_value x, int layer)
{
    eng_value gate = eng_unary(b->g, lm_product(b, layer, LM_SHARED_ROUTER, x), ENG_UNARY_SIGMOID);
    return eng_mul(b->g, lm_ffn_swiglu(b, x, layer, LM_GATE_SHARED, LM_UP_SHARED, LM_DOWN_SHARED), gate);
}

eng_value lm_moe(lm_build *b, eng_value x, int layer)
{
    choice c = route(b, x, layer);
    eng_value y = mixtures(b, x, layer, &c);
    return lm_weight(b, layer, LM_GATE_SHARED) != ENG_NO_VALUE ? eng_add(b->g, y, shared(b, x, layer)) : y;
}
