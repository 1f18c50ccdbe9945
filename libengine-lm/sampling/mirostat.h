/*
 * Mirostat: the candidates that keep a text's surprise, -log2 p of its tokens, near a target (S. Basu et al.,
 * arXiv:2007.14966).  mu is the surprise allowed, 2 tau at first; each token moves it by eta (tau - what the token's
 * was).  It goes back with tokens.
 */
#ifndef ENGINE_LM_MIROSTAT_H
#define ENGINE_LM_MIROSTAT_H

#include <stddef.h>

#include "candidates.h"

typedef struct lm_mirostat {
    uint32_t version; /* 0: off                                                */
    float tau, eta, mu;
    float *before; /* mu, before each token that was noted                     */
    size_t n, room;
    bool known;  /* the candidates are those that the next token is one of      */
    bool failed; /* mu could not be kept: no memory                            */
} lm_mirostat;

void lm_mirostat_init(lm_mirostat *m, uint32_t version, float tau, float eta);
void lm_mirostat_free(lm_mirostat *m);
/* Version 1: the k most likely, k by Zipf's law fitted to the first 100, of which the mean surprise would be mu in a
 * vocabulary of n_vocab; version 2: those whose own is mu at most.  One at least. */
void lm_mirostat_filter(lm_mirostat *m, lm_candidates *c, uint32_t n_vocab);
/* A token of these candidates, if they are known. */
void lm_mirostat_accept(lm_mirostat *m, const lm_candidates *c, int32_t token);
void lm_mirostat_rollback(lm_mirostat *m, size_t n);

#endif
