/* What takes candidates away or changes their logits. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "filters.h"

/* The sum of exp(logit - most). */
static double total(const lm_candidates *c, float most)
{
    double sum = 0;

    for (uint32_t i = 0; i < c->n; i++)
        sum += exp((double)(c->list[i].logit - most));
    return sum;
}

/* -sum p log p: with w = exp(logit - most) of sum W that is log W - sum w (logit - most) / W. */
static double entropy(const lm_candidates *c, float most, double sum)
{
    double moment = 0;

    for (uint32_t i = 0; i < c->n; i++) {
        double l = (double)(c->list[i].logit - most);
        moment += l > -INFINITY ? exp(l) * l : 0;
    }
    return log(sum) - moment / sum;
}

void lm_filter_top_k(lm_candidates *c, int32_t k)
{
    if (k > 0)
        lm_keep_best(c, (uint32_t)k);
}

void lm_filter_top_p(lm_candidates *c, float p)
{
    if (p >= 1 || c->n <= 1)
        return;
    lm_keep_best(c, c->n);
    float most = c->list[0].logit;
    double wanted = (double)p * total(c, most), sum = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        sum += exp((double)(c->list[i].logit - most));
        if (sum >= wanted) {
            c->n = i + 1;
            return;
        }
    }
}

/* Those of at least this logit; if there are none, the best. */
static void keep_from(lm_candidates *c, float least)
{
    uint32_t kept = 0;

    if (!(lm_largest(c) >= least)) {
        lm_keep_best(c, 1);
        return;
    }
    for (uint32_t i = 0; i < c->n; i++)
        if (c->list[i].logit >= least)
            c->list[kept++] = c->list[i];
    c->n = kept;
}

void lm_filter_min_p(lm_candidates *c, float p)
{
    if (p > 0 && c->n > 1)
        keep_from(c, lm_largest(c) + logf(p));
}

void lm_filter_top_n_sigma(lm_candidates *c, float n)
{
    double sum = 0, squares = 0;
    uint32_t finite = 0;

    if (n <= 0 || c->n <= 1)
        return;
    for (uint32_t i = 0; i < c->n; i++)
        if (c->list[i].logit > -INFINITY) {
            sum += (double)c->list[i].logit;
            finite++;
        }
    double mean = sum / finite;
    for (uint32_t i = 0; i < c->n; i++)
        if (c->list[i].logit > -INFINITY)
            squares += ((double)c->list[i].logit - mean) * ((double)c->list[i].logit - mean);
    keep_from(c, (float)((double)lm_largest(c) - (double)n * sqrt(squares / finite)));
}

static int nearest_first(const void *a, const void *b)
{
    const lm_typical *x = a, *y = b;

    if (x->off != y->off)
        return x->off < y->off ? -1 : 1;
    if (x->candidate.logit != y->candidate.logit)
        return x->candidate.logit > y->candidate.logit ? -1 : 1;
    return x->candidate.token < y->candidate.token ? -1 : 1;
}

void lm_filter_typical(lm_candidates *c, float p, lm_typical *room)
{
    if (p >= 1 || c->n <= 1)
        return;
    float most = lm_largest(c);
    double all = total(c, most), h = entropy(c, most, all), sum = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n; i++)
        room[i] = (lm_typical){fabs(log(all) - (double)(c->list[i].logit - most) - h), c->list[i]};
    qsort(room, c->n, sizeof *room, nearest_first);
    for (; n < c->n && (n == 0 || sum < (double)p * all); n++) {
        c->list[n] = room[n].candidate;
        sum += exp((double)(room[n].candidate.logit - most));
    }
    c->n = n;
    c->sorted = false;
}

void lm_filter_xtc(lm_candidates *c, float threshold)
{
    uint32_t above = 0;

    if (threshold > 0.5f || c->n < 2)
        return;
    lm_keep_best(c, c->n);
    float most = c->list[0].logit;
    double least = (double)threshold * total(c, most);
    while (above < c->n && exp((double)(c->list[above].logit - most)) >= least)
        above++;
    if (above < 2)
        return;
    for (uint32_t i = above - 1; i < c->n; i++)
        c->list[i - (above - 1)] = c->list[i];
    c->n -= above - 1;
}

void lm_filter_temperature(lm_candidates *c, float temperature, float range, float exponent)
{
    float most = lm_largest(c), t = temperature;

    if (range > 0) {
        double share = c->n > 1 ? entropy(c, most, total(c, most)) / log((double)c->n) : 0;
        float low = temperature > range ? temperature - range : 0, high = temperature + range;
        t = low + (high - low) * (float)pow(share > 0 ? share : 0, (double)exponent);
    }
    if (!(t > 0) || !isfinite(most / t)) {
        lm_keep_best(c, 1);
        return;
    }
    for (uint32_t i = 0; i < c->n; i++)
        c->list[i].logit /= t;
}
