/*
 * Hyper-connections (Zhu et al., arXiv:2409.19606) held to a manifold (Xie et al., arXiv:2512.24880): a token has
 * several streams instead of one hidden state.  Before a block one input is made of them; behind it the block's result
 * goes into each, and the streams are mixed by a matrix whose rows and columns are all but of sum 1.  By how much, the
 * token says.
 */
#include "config.h"

#include "blocks.h"

/* -- numbers ------------------------------------------------------------------------------ */

int lm_numbers_hyper(lm_loader *l)
{
    lm_numbers *n = &l->model->n;
    int64_t rounds;
    int status = lm_key_integer(l, "hyper_connection.count", 1, LM_MOST_STREAMS, &n->streams);
    if (!status)
        status = lm_key_integer(l, "hyper_connection.sinkhorn_iterations", 1, LM_MOST_SINKHORN, &rounds);
    if (!status)
        status = lm_key_number_or(l, "hyper_connection.epsilon", 1e-6, &n->hyper_eps);
    n->sinkhorn = status ? 0 : (int)rounds;
    lm_letter_add(l->model, 'J', NULL, n->streams);
    return status;
}

/* -- the graph ------------------------------------------------------------------------------ */

static int64_t n_tokens(const lm_build *b)
{
    return b->picked ? b->n_out : b->n_tokens;
}

/* What the token says: the product of the role's matrix with all its streams, normed as one. */
static eng_value said(lm_build *b, int layer, int role)
{
    const lm_numbers *n = &b->model->n;
    eng_value all = eng_reshape(b->g, b->streams, (int64_t[]){n->n_embd * n->streams, n_tokens(b)}, 2);
    return lm_product(b, layer, role, eng_rms_norm(b->g, all, ENG_NO_VALUE, n->eps));
}

/* Numbers first .. first + count - 1 of those, scaled by factor `which` of the file and with its base added. */
static eng_value part(lm_build *b, eng_value x, int layer, const lm_hyper_roles *roles, int which, int64_t first,
                      int64_t count)
{
    eng_graph *g = b->g;
    eng_value scale = eng_slice(g, lm_weight(b, layer, roles->scale), 0, which, 1);
    eng_value base = eng_slice(g, lm_weight(b, layer, roles->base), 0, first, count);
    return eng_add(g, eng_mul(g, eng_cont(g, eng_slice(g, x, 0, first, count)), scale), base);
}

/* x / (sums + epsilon) */
static eng_value divided(lm_build *b, eng_value x, eng_value sums)
{
    return eng_div(b->g, x, eng_scale(b->g, sums, 1, b->model->n.hyper_eps));
}

/* x[n, n, T] with the sums over its second dimension made 1. */
static eng_value columns(lm_build *b, eng_value x)
{
    return divided(b, x, lm_sum_second(b, x, b->model->n.streams));
}

/* Of mixing matrices [to, from, T] (Sinkhorn, Knopp 1967): all but doubly stochastic. */
static eng_value balanced(lm_build *b, eng_value x)
{
    x = eng_scale(b->g, eng_soft_max(b->g, x, ENG_NO_VALUE, ENG_NO_VALUE, 1, 0), 1, b->model->n.hyper_eps);
    x = columns(b, x);
    for (int i = 1; i < b->model->n.sinkhorn; i++) {
        x = divided(b, x, eng_sum_rows(b->g, x));
        x = columns(b, x);
    }
    return x;
}

/* The streams, each as much as w[n, T] says, added up: [E, T]. */
static eng_value collapsed(lm_build *b, eng_value w)
{
    const lm_numbers *n = &b->model->n;
    int64_t t = n_tokens(b);
    eng_value x = eng_mul(b->g, b->streams, eng_reshape(b->g, w, (int64_t[]){1, n->streams, t}, 3));
    x = lm_sum_second(b, x, n->streams);
    return eng_reshape(b->g, eng_cont(b->g, x), (int64_t[]){n->n_embd, t}, 2);
}

/* Of what is said: how much of each stream goes into a block. */
static eng_value taken(lm_build *b, eng_value x, int layer, const lm_hyper_roles *roles)
{
    eng_value w = part(b, x, layer, roles, 0, 0, b->model->n.streams);
    return eng_scale(b->g, eng_unary(b->g, w, ENG_UNARY_SIGMOID), 1, b->model->n.hyper_eps);
}

void lm_hyper_begin(lm_build *b, eng_value x)
{
    const lm_numbers *n = &b->model->n;
    x = eng_reshape(b->g, x, (int64_t[]){n->n_embd, 1, b->n_tokens}, 3);
    b->streams = eng_repeat(b->g, x, (int64_t[]){n->n_embd, n->streams, b->n_tokens}, 3);
}

eng_value lm_hyper_take(lm_build *b, int layer, const lm_hyper_roles *roles)
{
    eng_graph *g = b->g;
    int64_t n = b->model->n.streams, t = n_tokens(b);
    eng_value x = said(b, layer, roles->matrix), w = part(b, x, layer, roles, 1, n, n);
    b->given = eng_reshape(g, eng_scale(g, eng_unary(g, w, ENG_UNARY_SIGMOID), 2, 0), (int64_t[]){1, n, t}, 3);
    w = eng_reshape(g, part(b, x, layer, roles, 2, 2 * n, n * n), (int64_t[]){n, n, t}, 3);
    b->mixing = balanced(b, w);
    return collapsed(b, taken(b, x, layer, roles));
}

void lm_hyper_pick(lm_build *b)
{
    int64_t n = b->model->n.streams, e = b->model->n.n_embd, t = b->n_out;
    eng_graph *g = b->g;
    const struct { eng_value *x; int64_t first, second; } all[] = {
        {&b->streams, e, n}, {&b->given, 1, n}, {&b->mixing, n, n}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (*all[i].x == ENG_NO_VALUE)
            continue;
        eng_value rows = eng_reshape(g, *all[i].x, (int64_t[]){all[i].first * all[i].second, b->n_tokens}, 2);
        *all[i].x = eng_reshape(g, lm_pick(b, rows), (int64_t[]){all[i].first, all[i].second, t}, 3);
    }
}

/* Stream k is then the sum over j of mixing[k, j] times stream j, and its part of the block's result x. */
void lm_hyper_give(lm_build *b, eng_value x)
{
    static const int swapped[] = {1, 0, 2};
    const lm_numbers *m = &b->model->n;
    eng_graph *g = b->g;
    int64_t n = m->streams, e = m->n_embd, t = n_tokens(b);
    x = eng_repeat(g, eng_reshape(g, x, (int64_t[]){e, 1, t}, 3), (int64_t[]){e, n, t}, 3);
    x = eng_mul(g, x, b->given);
    if (b->mixing == ENG_NO_VALUE) {
        b->streams = eng_add(g, b->streams, x);
        return;
    }
    eng_value to = eng_cont(g, eng_permute(g, b->mixing, swapped, 3)), mixed = ENG_NO_VALUE;
    for (int64_t k = 0; k < n; k++) {
        eng_value w = eng_reshape(g, eng_cont(g, eng_slice(g, to, 1, k, 1)), (int64_t[]){1, n, t}, 3);
        eng_value y = lm_sum_second(b, eng_mul(g, b->streams, w), n);
        mixed = k ? eng_concat(g, mixed, y, 1) : y;
    }
    b->streams = eng_add(g, x, mixed);
}

eng_value lm_hyper_end(lm_build *b)
{
    static const lm_hyper_roles head = {LM_HYPER_OUT, LM_HYPER_OUT_BASES, LM_HYPER_OUT_FACTORS};
    const lm_numbers *n = &b->model->n;
    if (lm_weight(b, LM_LAYER_TOP, LM_HYPER_OUT) != ENG_NO_VALUE)
        return collapsed(b, taken(b, said(b, LM_LAYER_TOP, LM_HYPER_OUT), LM_LAYER_TOP, &head));
    eng_value x = eng_scale(b->g, lm_sum_second(b, b->streams, n->streams), 1 / (double)n->streams, 0);
    return eng_reshape(b->g, eng_cont(b->g, x), (int64_t[]){n->n_embd, n_tokens(b)}, 2);
}
