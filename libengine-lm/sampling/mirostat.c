/* Mirostat. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "libengine/util/util.h"
#include "mirostat.h"

#define FITTED 100u /* tokens that Zipf's exponent comes of                        */

void lm_mirostat_init(lm_mirostat *m, uint32_t version, float tau, float eta)
{
    *m = (lm_mirostat){.version = version, .tau = tau, .eta = eta, .mu = 2 * tau};
}

void lm_mirostat_free(lm_mirostat *m)
{
    free(m->before);
}

static double total(const lm_candidates *c, float most)
{
    double sum = 0;
    for (uint32_t i = 0; i < c->n; i++)
        sum += exp((double)(c->list[i].logit - most));
    return sum;
}

/* The exponent with which p falls with the rank, by least squares of logarithms between neighbours; 0: there is
 * none. */
static double exponent(const lm_candidates *c)
{
    double products = 0, squares = 0;
    for (uint32_t i = 0; i + 1 < FITTED && i + 1 < c->n; i++) {
        const double step = log((i + 2.0) / (i + 1.0)), fall = (double)c->list[i].logit - (double)c->list[i + 1].logit;
        products += step * fall;
        squares += step * step;
    }
    return squares > 0 ? products / squares : 0;
}

static void keep_ranks(lm_mirostat *m, lm_candidates *c, uint32_t n_vocab)
{
    const double s = exponent(c), above = s - 1;
    if (!(s > 0) || above == 0)
        return;
    const double k = pow(above * pow(2, (double)m->mu) / (1 - pow(n_vocab, -above)), 1 / s);
    if (k < c->n)
        c->n = k > 1 ? (uint32_t)k : 1;
}

/* A larger mu than that of the last candidate keeps all. */
static void keep_expected(lm_mirostat *m, lm_candidates *c)
{
    const float most = c->list[0].logit;
    const double sum = total(c, most);
    uint32_t kept = 1;
    while (kept < c->n && -log2(exp((double)(c->list[kept].logit - most)) / sum) <= (double)m->mu)
        kept++;
    c->n = kept;
}

void lm_mirostat_filter(lm_mirostat *m, lm_candidates *c, uint32_t n_vocab)
{
    lm_keep_best(c, c->n);
    if (m->version == 1)
        keep_ranks(m, c, n_vocab);
    else
        keep_expected(m, c);
}

void lm_mirostat_accept(lm_mirostat *m, const lm_candidates *c, int32_t token)
{
    const float before = m->mu;
    for (uint32_t i = 0; m->known && i < c->n; i++)
        if (c->list[i].token == token) {
            const float most = lm_largest(c);
            const double surprise = -log2(exp((double)(c->list[i].logit - most)) / total(c, most));
            m->mu -= m->eta * ((float)surprise - m->tau);
            break;
        }
    m->known = false;
    if (eu_reserve(m->before, m->room, m->n + 1))
        m->before[m->n++] = before;
    else
        m->failed = true;
}

void lm_mirostat_rollback(lm_mirostat *m, size_t n)
{
    m->known = false;
    if (n == 0 || n > m->n)
        return;
    m->n -= n;
    m->mu = m->before[m->n];
}
