/* Choosing a token where another distribution has guessed one. */
#include "config.h"

#include "verify.h"

int lm_verify(eng_sampler *sampler, const float *logits, const float *q, int32_t guess, float *p, int32_t *token)
{
    int status = eng_sampler_probabilities(sampler, logits, p);
    if (status)
        return status;
    if (eng_sampler_unit(sampler) * (double)q[guess] < (double)p[guess]) {
        *token = guess;
        return ENG_OK;
    }
    double left = 0;
    uint32_t n = eng_sampler_vocabulary(sampler);
    for (uint32_t i = 0; i < n; i++) { /* what q gives too seldom */
        p[i] = p[i] > q[i] ? p[i] - q[i] : 0;
        left += (double)p[i];
    }
    if (!(left > 0)) /* p and q are one but for rounding, which has refused the guess */
        return eng_sampler_sample(sampler, logits, token);
    *token = eng_sampler_pick(sampler, p);
    return ENG_OK;
}
