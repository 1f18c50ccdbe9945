/*
 * Tokens that may come next, with their logits, in the order of the vocabulary at first; what needs them sorted sorts
 * them (largest first, the lower token first among equals).
 */
#ifndef ENGINE_LM_CANDIDATES_H
#define ENGINE_LM_CANDIDATES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct lm_candidate {
    int32_t token;
    float logit;
} lm_candidate;

typedef struct lm_candidates {
    lm_candidate *list;
    uint32_t n; /* in use */
    bool sorted;
} lm_candidates;

/* The k best, sorted; all of them if there are no more. */
void lm_keep_best(lm_candidates *c, uint32_t k);
/* The place of the best one, of which there is one. */
uint32_t lm_best(const lm_candidates *c);
/* The largest logit. */
float lm_largest(const lm_candidates *c);

#endif
