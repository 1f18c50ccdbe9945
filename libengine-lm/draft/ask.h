/*
 * What a model that guesses is asked for.
 */
#ifndef ENGINE_LM_DRAFT_ASK_H
#define ENGINE_LM_DRAFT_ASK_H

#include "../sampling/sampler.h"

/*
 * Up to `most` tokens after the text.  If the sampler draws, so does the guess, and q[i] are the probabilities that
 * guess i was drawn with, [most][vocabulary].  It ends before a token of less probability than p_min.
 */
typedef struct lm_ask {
    const int32_t *tokens;
    size_t n_tokens;
    uint32_t most;
    float p_min;
    eng_sampler *sampler;
    float *q;
} lm_ask;

/* A token by the logits of n: the most likely, or with q drawn from these probabilities; -1: the guess ends. */
int lm_ask_choose(const lm_ask *ask, const float *logits, int64_t n, float *q, int32_t *token);

#endif
