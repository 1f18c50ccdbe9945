/*
 * Choosing a token where another distribution has guessed one: the choice follows the sampler's distribution
 * exactly, and is the guess as often as can be (Y. Leviathan, M. Kalman, Y. Matias, arXiv:2211.17192).
 */
#ifndef ENGINE_LM_VERIFY_H
#define ENGINE_LM_VERIFY_H

#include "../sampling/sampler.h"

/* `guess` was drawn with the probabilities q; p is room for as many. */
int lm_verify(eng_sampler *sampler, const float *logits, const float *q, int32_t guess, float *p, int32_t *token);

#endif
