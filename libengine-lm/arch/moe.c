/*
 * Mixture of experts (Shazeer et al., arXiv:1701.06538): a router gives each token
 * a few of the experts and their weights; their outputs are added up.  All devices
 * need the whole router; experts are cut along their width or dealt out, and their
 * outputs are one sum over devices in either case.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "blocks.h"

/* -- numbers ------------------------------------------------------------------------------ */

/* One for all layers, or one for each; 0 or absent: none. */
static int layer_clamp(lm_loader *l, const char *name, int layer, double *value)
{
    *value = 0;
    return lm_key_is(l, name) ? lm_key_layer_number(l, name, layer, value) : ENG_OK;
}

int lm_numbers_clamps(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    int status = ENG_OK;
    for (int i = 0; i < n->n_layers && !status; i++) {
        status = layer_clamp(l, "swiglu_clamp_exp", i, &n->layer[i].clamp);
        if (!status)
            status = layer_clamp(l, "swiglu_clamp_shexp", i, &n->layer[i].clamp_shared);
        if (!status && l->model->arch->one_clamp && !lm_key_is(l, "swiglu_clamp_shexp"))
            n->layer[i].clamp_shared = n->layer[i].clamp;
        if (!status && (n->layer[i].clamp < 0 || n->layer[i].clamp_shared < 0))
            status = eng_fail(ENG_ERR_FORMAT,
                              "keys %s.swiglu_clamp_exp and swiglu_clamp_shexp must not be negative, "
                              "got %g and %g for layer %d",
                              l->arch_name, n->layer[i].clamp, n->layer[i].clamp_shared, i);
    }
    return status;
}

/* -- the choice --------------------------------------------------------------------------- */

static bool has(const lm_build *b, int layer, int role)
{
    return b->model->weights[layer + 1][role] >= 0;
}

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

/* Values of x[E, T] at ids[used, T]. */
static eng_value at_ids(lm_build *b, eng_value x, eng_value ids, const choice *c)
{
    int64_t e = b->model->n.n_experts, u = b->model->n.n_used;
    eng_value y = eng_get_rows(b->g, eng_reshape(b->g, x, (int64_t[]){1, e, c->n_tokens}, 3), ids);
    return eng_reshape(b->g, y, (int64_t[]){u, c->n_tokens}, 2);
}

/* The sum of the k best of each row. */
static eng_value best_sum(lm_build *b, eng_value x, int64_t k, int64_t size, int64_t n, int64_t t)
{
    eng_graph *g = b->g;
    eng_value ids = eng_top_k(g, x, k);
    eng_value y = eng_get_rows(g, eng_reshape(g, x, (int64_t[]){1, size, n, t}, 4), ids);
    return eng_reshape(g, eng_sum_rows(g, eng_reshape(g, y, (int64_t[]){k, n, t}, 3)), (int64_t[]){n, t}, 2);
}

/* Far below whatever a probability and its bias are. */
#define NEVER 1e30

/* Only experts of the best groups are left: those whose worth is not below the last of them. */
static eng_value of_best_groups(lm_build *b, eng_value worth, const choice *c)
{
    const lm_routing *r = &b->model->n.routing;
    eng_graph *g = b->g;
    int64_t n = r->groups, size = b->model->n.n_experts / n, t = c->n_tokens;
    if (n == 1 || r->groups_used == n)
        return worth;
    eng_value x = eng_reshape(g, worth, (int64_t[]){size, n, t}, 3);
    eng_value groups = best_sum(b, x, r->group_best, size, n, t);
    eng_value last = eng_cont(g, eng_slice(g, eng_top_k(g, groups, r->groups_used), 0, r->groups_used - 1, 1));
    last = eng_get_rows(g, eng_reshape(g, groups, (int64_t[]){1, n, t}, 3), eng_reshape(g, last, (int64_t[]){1, t}, 2));
    eng_value below = eng_scale(g, eng_sub(g, groups, eng_reshape(g, last, (int64_t[]){1, t}, 2)), -1, 0);
    below = eng_scale(g, eng_unary(g, below, ENG_UNARY_STEP), -NEVER, 0);
    x = eng_add(g, x, eng_reshape(g, below, (int64_t[]){1, n, t}, 3));
    return eng_reshape(g, x, (int64_t[]){size * n, t}, 2);
}

/* What an expert is chosen by, and what its weight is made of: the softmax has the order of the logits. */
static eng_value probabilities(lm_build *b, eng_value logits, int layer, eng_value *worth)
{
    const lm_routing *r = &b->model->n.routing;
    eng_value bias = lm_weight(b, layer, LM_CHOICE_BIAS), p = logits;
    if (r->gate == LM_GATE_SIGMOID)
        p = eng_unary(b->g, logits, ENG_UNARY_SIGMOID);
    else if (r->gate == LM_GATE_ROOT)
        p = eng_unary(b->g, eng_unary(b->g, logits, ENG_UNARY_SOFTPLUS), ENG_UNARY_SQRT);
    else if (!r->normed || bias != ENG_NO_VALUE || r->groups > 1)
        p = eng_soft_max(b->g, logits, ENG_NO_VALUE, ENG_NO_VALUE, 1, 0);
    *worth = bias == ENG_NO_VALUE ? p : eng_add(b->g, p, bias);
    return p;
}

/*
 * Weights of SparseMixer (Liu et al., arXiv:2409.12136, section 2.2): of each expert chosen its probability among those
 * that come after the ones chosen before it, and are not worse than it by more than a part of the larger of the two
 * logits' sizes.  Of what is better than it nothing is left but 1 each, which is taken off.
 */
static eng_value mixer_weights(lm_build *b, eng_value logits, eng_value ids, const choice *c)
{
    eng_graph *g = b->g;
    eng_value chosen = at_ids(b, logits, ids, c), size = eng_unary(g, logits, ENG_UNARY_ABS), all = ENG_NO_VALUE;
    for (int64_t i = 0; i < b->model->n.n_used; i++) {
        eng_value best = eng_cont(g, eng_slice(g, chosen, 0, i, 1));
        eng_value worse = eng_unary(g, eng_scale(g, eng_sub(g, logits, best), -1, 0), ENG_UNARY_RELU);
        eng_value larger = eng_add(g, eng_unary(g, eng_sub(g, size, best), ENG_UNARY_RELU), best);
        eng_value out = eng_sub(g, worse, eng_scale(g, larger, b->model->arch->router_gap, 0));
        out = eng_scale(g, eng_unary(g, out, ENG_UNARY_STEP), -1, 1);
        eng_value part = eng_mul(g, out, eng_unary(g, eng_scale(g, worse, -1, 0), ENG_UNARY_EXP));
        eng_value w = eng_scale(g, eng_sum_rows(g, part), 1, -(double)i);
        w = eng_div(g, eng_scale(g, w, 0, 1), w);
        all = i ? eng_concat(g, all, w, 0) : w;
    }
    return all;
}

/* What a table has for the tokens themselves. */
static eng_value of_tokens(lm_build *b, int layer, int64_t t)
{
    eng_graph *g = b->g;
    eng_value tokens = b->tokens;
    if (b->picked) {
        tokens = lm_pick(b, eng_reshape(g, tokens, (int64_t[]){1, b->n_tokens}, 2));
        tokens = eng_reshape(g, tokens, (int64_t[]){t}, 1);
    }
    return eng_get_rows(g, lm_weight(b, layer, LM_TOKEN_EXPERTS), tokens);
}

/*
 * Normed weights of a softmax are the probabilities divided by the sum of those of the
 * chosen experts, which is the softmax over their logits alone.
 */
static choice route(lm_build *b, eng_value x, eng_value u, int layer)
{
    const lm_numbers *n = &b->model->n;
    const lm_routing *r = &n->routing;
    eng_graph *g = b->g;
    choice c = {.n_tokens = eng_graph_get(g, u) ? eng_graph_get(g, u)->ne[1] : 1};
    if (has(b, layer, LM_ROUTER_NORM))
        u = eng_scale(g, lm_norm(b, x, layer, LM_ROUTER_NORM), 1 / sqrt((double)n->n_embd), 0);
    eng_value logits = lm_product(b, layer, LM_ROUTER, u), worth, w;
    eng_value p = probabilities(b, logits, layer, &worth);
    eng_value ids = has(b, layer, LM_TOKEN_EXPERTS) ? of_tokens(b, layer, c.n_tokens) :
                                                      eng_top_k(g, of_best_groups(b, worth, &c), n->n_used);
    c.ids = of_live_tokens(b, ids);
    eng_graph_name(g, c.ids, "experts.%d", layer);
    if (b->model->arch->router_gap > 0)
        w = mixer_weights(b, logits, ids, &c);
    else if (r->normed && r->gate == LM_GATE_SOFTMAX)
        w = eng_soft_max(g, at_ids(b, logits, c.ids, &c), ENG_NO_VALUE, ENG_NO_VALUE, 1, 0);
    else
        w = at_ids(b, p, c.ids, &c);
    if (r->normed && r->gate) /* the models' own code adds so much; padding has no weight at all */
        w = eng_div(g, w, eng_scale(g, eng_sum_rows(g, w), 1, r->least));
    if (r->scale != 1)
        w = eng_scale(g, w, r->scale, 0);
    c.weights = eng_reshape(g, w, (int64_t[]){1, n->n_used, c.n_tokens}, 3);
    return c;
}

/* -- the experts ----------------------------------------------------------------------------- */

/*
 * A role's matrices may lie in parts, runs of experts that have a home of their own
 * (weights.c).  Each part sees the ids of its own experts alone; the others', -1 to
 * it, give zeros, so that the parts' products are addends.
 */
typedef struct part {
    uint32_t tensor; /* of the store of weights                                */
    int64_t begin, end;
} part;

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

/* Adds the chosen experts' biases, or those of the experts of one part. */
static eng_value biased(lm_build *b, eng_value y, eng_value bias, choice *c, const part *only)
{
    if (bias == ENG_NO_VALUE)
        return y;
    if (!only)
        return eng_add_id(b->g, y, bias, c->ids);
    return eng_add_id(b->g, y, eng_slice(b->g, bias, 1, only->begin, only->end - only->begin), ids_of(b, c, only));
}

/* The same, scaled and with a bias if the file has them. */
static eng_value product(lm_build *b, int layer, int role, eng_value x, choice *c, const part *only)
{
    enum { BIAS = LM_OUT_BIAS - LM_OUT, SCALE = LM_OUT_SCALE - LM_OUT };
    eng_graph *g = b->g;
    int64_t used = b->model->n.n_used;
    eng_value y = products(b, layer, role, x, c, only);
    eng_value scale = lm_weight(b, layer, role + SCALE), bias = lm_weight(b, layer, role + BIAS);
    if (scale != ENG_NO_VALUE) {
        scale = eng_reshape(g, scale, (int64_t[]){1, b->model->n.n_experts}, 2);
        scale = eng_get_rows(g, scale, eng_reshape(g, c->ids, (int64_t[]){used * c->n_tokens}, 1));
        y = eng_mul(g, y, eng_reshape(g, scale, (int64_t[]){1, used, c->n_tokens}, 3));
    }
    return biased(b, y, bias, c, only);
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
    eng_value h, up = ENG_NO_VALUE;
    if (has(b, layer, LM_GATE_UP_EXPERTS)) {
        h = product(b, layer, LM_GATE_UP_EXPERTS, one, c, only);
    } else {
        h = product(b, layer, LM_GATE_EXPERTS, one, c, only);
        up = product(b, layer, LM_UP_EXPERTS, one, c, only);
    }
    eng_value all = product(b, layer, LM_DOWN_EXPERTS, lm_glu_of(b, h, up, n->layer[layer].clamp), c, only);
    if (!n->routing.first)
        all = eng_mul(g, all, c->weights);
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
    if (n->routing.first) /* each of its experts gets another multiple of the token */
        one = eng_mul(b->g, eng_repeat(b->g, one, (int64_t[]){n->n_embd, n->n_used, c->n_tokens}, 3), c->weights);
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
    eng_value y = lm_ffn(b, x, layer, LM_GATE_SHARED, LM_UP_SHARED, LM_DOWN_SHARED);
    if (!has(b, layer, LM_SHARED_ROUTER))
        return y;
    return eng_mul(b->g, y, eng_unary(b->g, lm_product(b, layer, LM_SHARED_ROUTER, x), ENG_UNARY_SIGMOID));
}

eng_value lm_moe(lm_build *b, eng_value x, eng_value u, int layer)
{
    choice c = route(b, x, u, layer);
    eng_value y = mixtures(b, u, layer, &c);
    return has(b, layer, LM_GATE_SHARED) ? eng_add(b->g, y, shared(b, u, layer)) : y;
}
