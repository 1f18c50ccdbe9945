/* The whole-model oracle: feed-forward, dense and of experts. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "model_impl.h"

int64_t ref_ffn_scratch(const ref_model *m)
{
    int64_t wide = m->n_ff > m->n_ff_shared ? m->n_ff : m->n_ff_shared;
    wide = wide > m->n_ff_expert ? wide : m->n_ff_expert;
    return 2 * wide + 4 * m->experts + 5 * m->n_embd;
}

/* gpt-oss's constants are those of its code. */
static double activated(const ref_model *m, double gate, double up, double limit)
{
    if (m->f.act == SWIGLU_OAI) {
        gate = fmin(gate, 7);
        return gate * ref_logistic(1.702 * gate) * (fmax(-7, fmin(up, 7)) + 1);
    }
    if (m->f.act == GELU)
        return ref_gelu(gate) * up;
    if (limit > 0) {
        gate = fmin(gate, limit);
        up = fmax(-limit, fmin(up, limit));
    }
    return gate * ref_logistic(gate) * up;
}

/* out = down(act(gate u) * (up u)); t is scratch for two widths. */
/* Gates that are below their mean and so many of their deviations are 0, the others what they are above it. */
static void largest(double *t, int64_t n, double deviations)
{
    double mean = 0, squares = 0;
    for (int64_t j = 0; j < n; j++)
        mean += t[j] / (double)n;
    for (int64_t j = 0; j < n; j++)
        squares += (t[j] - mean) * (t[j] - mean) / (double)n;
    for (int64_t j = 0; j < n; j++)
        t[j] = fmax(0, t[j] - mean - deviations * sqrt(squares));
}

static void glu_of(const ref_model *m, const matrix *gate, const matrix *up, const matrix *down, int64_t e,
                   const double *u, double *out, double *t, double sparsity, double limit)
{
    int64_t f = gate->m;
    ref_product(gate, e, u, t);
    if (sparsity > -1e30)
        largest(t, f, sparsity);
    ref_product(up, e, u, t + f);
    for (int64_t j = 0; j < f; j++)
        t[j] = activated(m, t[j], t[f + j], limit);
    ref_product(down, e, t, out);
}

static void glu(const ref_model *m, const matrix *gate, const matrix *up, const matrix *down, int64_t e,
                const double *u, double *out, double *t, double limit)
{
    glu_of(m, gate, up, down, e, u, out, t, -INFINITY, limit);
}

/* out = down(relu(up u)^2), or of GELU */
static void ungated(const ref_model *m, const layer *l, const double *u, double *out, double *t)
{
    ref_product(&l->up, 0, u, t);
    for (int64_t j = 0; j < l->up.m; j++)
        t[j] = m->f.act == GELU ? ref_gelu(t[j]) : fmax(t[j], 0) * fmax(t[j], 0);
    ref_product(&l->down, 0, t, out);
}

/* The largest logit that is not taken; of equals the first. */
static int64_t best(const double *logits, const double *taken, int64_t n)
{
    int64_t found = -1;
    for (int64_t i = 0; i < n; i++)
        if (!taken[i] && (found < 0 || logits[i] > logits[found]))
            found = i;
    return found;
}

/* The sum of a group's k best. */
static double group_worth(const double *worth, int64_t n, int64_t k)
{
    double first = -INFINITY, second = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        second = fmax(second, fmin(first, worth[i]));
        first = fmax(first, worth[i]);
    }
    return k == 2 ? first + second : first;
}

/* Takes all experts but those of the best groups. */
static void leave_groups(const ref_model *m, const double *worth, double *taken, double *margin)
{
    int64_t n = m->groups, size = m->experts / n;
    double groups[512], left[512] = {0}, last = INFINITY, next = -INFINITY;
    for (int64_t g = 0; g < n; g++)
        groups[g] = group_worth(worth + g * size, size, m->f.sigmoid || m->f.pairs ? 2 : 1);
    for (int64_t i = 0; i < m->groups_used; i++) {
        int64_t g = best(groups, left, n);
        last = fmin(last, groups[g]);
        left[g] = 1;
    }
    for (int64_t g = 0; g < n; g++) {
        if (!left[g])
            next = fmax(next, groups[g]);
        for (int64_t i = 0; i < size; i++)
            taken[g * size + i] = !left[g];
    }
    *margin = fmin(*margin, last - next);
}

/* What each expert is chosen by, and its probability: p. */
static void rate(const ref_model *m, const layer *l, const double *logits, double *p, double *worth)
{
    int64_t n = m->experts;
    double top = logits[0], all = 0;
    for (int64_t i = 0; i < n; i++)
        top = fmax(top, logits[i]);
    for (int64_t i = 0; i < n; i++)
        all += exp(logits[i] - top);
    for (int64_t i = 0; i < n; i++) {
        p[i] = m->f.root    ? sqrt(log1p(exp(logits[i]))) :
               m->f.sigmoid ? ref_logistic(logits[i]) :
                              exp(logits[i] - top) / all;
        worth[i] = p[i] + (l->choice_bias ? l->choice_bias[i] : 0);
        if (!m->f.sigmoid && !m->f.root && !l->choice_bias && m->groups < 2)
            worth[i] = logits[i]; /* the same order, and the margin is in logits */
    }
}

/*
 * SparseMixer (Liu et al., arXiv:2409.12136), as its models' code has it when they are not trained: the best expert has
 * its probability among those whose distance from it, over the larger of their size and it, is 0.02 at most; then the
 * best of those that are left, likewise.
 */
static double mixed(const double *logits, const double *taken, int64_t n, int64_t chosen)
{
    double top = logits[chosen], sum = 0;
    for (int64_t i = 0; i < n; i++)
        if (!taken[i] && !((top - logits[i]) / fmax(fabs(logits[i]), top) > 0.02))
            sum += exp(logits[i] - top);
    return 1 / sum;
}

/* v: what the router is given. */
static void experts(const ref_model *m, const layer *l, const double *v, const double *u, const int32_t *ids,
                    double *out, double *t, double *margin)
{
    int64_t n = m->experts, e = m->n_embd, last = -1;
    double *p = t, *worth = p + n, *taken = worth + n, *one = taken + n, *in = one + e, *more = in + e, sum = 0;
    ref_product(&l->router, 0, v, taken);
    rate(m, l, taken, p, worth);
    memset(taken, 0, (size_t)n * sizeof *taken);
    if (m->groups > 1)
        leave_groups(m, worth, taken, margin);
    int64_t left = 0;
    for (int64_t i = 0; i < n; i++)
        left += !taken[i];
    for (int64_t i = 0; i < m->used; i++) {
        last = ids ? ids[i] : best(worth, taken, n);
        if (m->f.mixer)
            p[last] = mixed(worth, taken, n, last);
        taken[last] = 2;
        sum += p[last];
    }
    if (m->used < left && !ids)
        *margin = fmin(*margin, worth[last] - worth[best(worth, taken, n)]);
    memset(out, 0, (size_t)e * sizeof *out);
    for (int64_t i = 0; i < n; i++) {
        if (taken[i] != 2)
            continue;
        double weight = m->normed_weights && !m->f.mixer ? p[i] / fmax(sum + m->f.weights_least, 1e-20) : p[i];
        if (m->expert_scale != 0)
            weight *= m->expert_scale;
        for (int64_t j = 0; j < e; j++)
            in[j] = m->f.weigh_first ? weight * u[j] : u[j];
        glu(m, &l->gate, &l->up, &l->down, i, in, one, more, m->clamp);
        for (int64_t j = 0; j < e; j++)
            out[j] += (m->f.weigh_first ? 1 : weight) * one[j];
    }
    if (!l->s_gate.w)
        return;
    double gate = INFINITY;
    if (l->s_router.w)
        ref_product(&l->s_router, 0, u, &gate);
    glu(m, &l->s_gate, &l->s_up, &l->s_down, 0, u, one, more, m->clamp_shared);
    for (int64_t j = 0; j < e; j++)
        out[j] += ref_logistic(gate) * one[j];
}

/* Experts beside a dense part: each has norms of its own, and so has the router, whose input is over the root of its
 * width. */
static void both(const ref_model *m, const layer *l, const double *x, const double *u, double *out, double *t,
                 double *margin)
{
    int64_t e = m->n_embd;
    double *one = t, *in = one + e, *routed = in + e, *more = routed + e;
    glu(m, &l->d_gate, &l->d_up, &l->d_down, 0, u, one, more, m->clamp_shared);
    ref_rms(one, l->dense_post_norm, one, e, m->eps);
    ref_rms(x, l->experts_norm, in, e, m->eps);
    ref_rms(x, l->router_norm, routed, e, m->eps);
    for (int64_t j = 0; j < e; j++)
        routed[j] /= sqrt((double)e);
    experts(m, l, routed, in, NULL, out, more, margin);
    ref_rms(out, l->experts_post_norm, out, e, m->eps);
    for (int64_t j = 0; j < e; j++)
        out[j] += one[j];
}

void ref_ffn(const ref_model *m, const layer *l, const double *x, const double *u, const int32_t *ids, double *out,
             double *t, double *margin)
{
    if (l->plain || m->f.ungated)
        ungated(m, l, u, out, t);
    else if (l->moe && m->f.beside)
        both(m, l, x, u, out, t, margin);
    else if (l->moe)
        experts(m, l, u, u, ids, out, t, margin);
    else
        glu_of(m, &l->gate, &l->up, &l->down, 0, u, out, t, l->sparsity, m->clamp_shared);
}
