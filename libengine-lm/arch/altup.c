/*
 * Alternating updates (Baykal et al., arXiv:2301.13310): a token has several hidden states, of which one goes through a
 * layer.  Before it all are predicted from all, and behind it each is corrected by how wrong the prediction of that one
 * was; by how much, the token says.
 */
#include "config.h"

#include <math.h>

#include "blocks.h"

/* The root of the mean square of each token's elements; `least`: of the mean. */
static eng_value magnitude(lm_build *b, eng_value x, double least)
{
    eng_graph *g = b->g;
    eng_value mean = eng_scale(g, eng_sum_rows(g, eng_unary(g, x, ENG_UNARY_SQR)), 1 / (double)b->model->n.n_embd, 0);
    return eng_unary(g, least > 0 ? eng_clamp(g, mean, least, INFINITY) : mean, ENG_UNARY_SQRT);
}

/* State i + 1 out of the others, made as large as `like`. */
static eng_value another(lm_build *b, eng_value all, int64_t i, eng_value like)
{
    eng_graph *g = b->g;
    int64_t e = b->model->n.n_embd, t = b->picked ? b->n_out : b->n_tokens;
    eng_value x = eng_reshape(g, eng_cont(g, eng_slice(g, all, 2, i, 1)), (int64_t[]){e, t}, 2);
    return eng_div(g, eng_mul(g, x, magnitude(b, like, 0)), magnitude(b, x, 1e-5));
}

void lm_altup_begin(lm_build *b, eng_value x)
{
    eng_graph *g = b->g;
    int64_t e = b->model->n.n_embd, n = b->model->n.altup, t = b->n_tokens;
    eng_value same = eng_repeat(g, eng_reshape(g, x, (int64_t[]){e, t, 1}, 3), (int64_t[]){e, t, n - 1}, 3);
    eng_value all = eng_mul_mat(g, lm_weight(b, LM_LAYER_TOP, LM_ALTUP_BEGIN), same);
    b->altup[0] = x;
    for (int64_t i = 1; i < n; i++)
        b->altup[i] = another(b, all, i - 1, x);
}

eng_value lm_altup_end(lm_build *b)
{
    eng_graph *g = b->g;
    int64_t e = b->model->n.n_embd, n = b->model->n.altup, t = b->picked ? b->n_out : b->n_tokens;
    eng_value all = ENG_NO_VALUE, y = b->altup[0];
    for (int64_t i = 1; i < n; i++) {
        eng_value x = eng_reshape(g, b->altup[i], (int64_t[]){e, t, 1}, 3);
        all = i == 1 ? x : eng_concat(g, all, x, 2);
    }
    all = eng_mul_mat(g, lm_weight(b, LM_LAYER_TOP, LM_ALTUP_END), all);
    for (int64_t i = 1; i < n; i++)
        y = eng_add(g, y, another(b, all, i - 1, b->altup[0]));
    return eng_scale(g, y, 1 / (double)n, 0);
}

/* Numbers of the token that x is a hidden state of: the product of the role's matrix with what its router says. */
static eng_value numbers(lm_build *b, eng_value x, int layer, int role)
{
    eng_value r = eng_scale(b->g, lm_norm(b, x, layer, LM_ALTUP_NORM), 1 / (double)b->model->n.n_embd, 0);
    r = eng_unary(b->g, lm_product(b, layer, LM_ALTUP_ROUTER, r), ENG_UNARY_TANH);
    return lm_product(b, layer, role, r);
}

eng_value lm_altup_predict(lm_build *b, int layer)
{
    eng_graph *g = b->g;
    const lm_numbers *m = &b->model->n;
    int64_t n = m->altup;
    eng_value c = numbers(b, b->altup[m->altup_active], layer, LM_ALTUP_PREDICT), next[LM_MOST_ALTUP];
    for (int64_t i = 0; i < n; i++) {
        next[i] = b->altup[i];
        for (int64_t j = 0; j < n; j++)
            next[i] = eng_add(g, next[i], eng_mul(g, b->altup[j], eng_slice(g, c, 0, i * n + j, 1)));
    }
    for (int64_t i = 0; i < n; i++)
        b->altup[i] = next[i];
    return b->altup[m->altup_active];
}

/* What the layer is given of the token itself goes into all but the first. */
void lm_altup_correct(lm_build *b, eng_value x, int layer)
{
    eng_graph *g = b->g;
    const lm_numbers *m = &b->model->n;
    eng_value c = eng_scale(g, numbers(b, x, layer, LM_ALTUP_CORRECT), 1, 1);
    eng_value wrong = eng_sub(g, x, b->altup[m->altup_active]);
    for (int64_t i = 0; i < m->altup; i++)
        b->altup[i] = eng_add(g, b->altup[i], eng_mul(g, wrong, eng_slice(g, c, 0, i, 1)));
    if (b->inputs == ENG_NO_VALUE)
        return;
    eng_value first = eng_mul(g, b->altup[m->altup_active], lm_weight(b, layer, LM_ALTUP_SCALE));
    first = lm_inputs_take(b, first, layer);
    for (int64_t i = 1; i < m->altup; i++)
        b->altup[i] = eng_add(g, b->altup[i], first);
}
