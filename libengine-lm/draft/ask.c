/* A guessed token of a model's logits. */
#include "config.h"

#include <math.h>

#include "ask.h"

/* The probability of the largest of n logits. */
static double share_of(const float *logits, int64_t n, float largest)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += exp((double)logits[i] - (double)largest);
    return 1 / sum;
}

static int32_t largest(const float *logits, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        best = logits[i] > logits[best] ? i : best;
    return (int32_t)best;
}

int lm_ask_choose(const lm_ask *ask, const float *logits, int64_t n, float *q, int32_t *token)
{
    int32_t best = largest(logits, n);
    *token = -1;
    if (ask->p_min > 0 && share_of(logits, n, logits[best]) < (double)ask->p_min)
        return ENG_OK;
    *token = best;
    int status = q ? eng_sampler_proposal(ask->sampler, logits, q) : ENG_OK;
    if (!status && q)
        *token = eng_sampler_pick(ask->sampler, q);
    return status;
}
