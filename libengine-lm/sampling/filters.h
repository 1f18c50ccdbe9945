/*
 * What takes candidates away or changes their logits, a function each.  p is a candidate's share of the sum of
 * exp(logit) over those that are left.  `off` values leave everything as it is; at least one candidate stays.
 */
#ifndef ENGINE_LM_FILTERS_H
#define ENGINE_LM_FILTERS_H

#include "candidates.h"

/* The k most likely; 0 and less: off. */
void lm_filter_top_k(lm_candidates *c, int32_t k);
/* The fewest most likely whose p together reach `p` (A. Holtzman et al., arXiv:1904.09751); 1: off. */
void lm_filter_top_p(lm_candidates *c, float p);
/* Those with p of at least `p` times the best one's (N. N. Minh et al., arXiv:2407.01082); 0: off. */
void lm_filter_min_p(lm_candidates *c, float p);
/* Those whose logit is at most n standard deviations of all logits below the largest (C. Tang et al.,
 * arXiv:2411.07641); 0 and less: off. */
void lm_filter_top_n_sigma(lm_candidates *c, float n);
/* The fewest whose p together reach `p`, taken in the order of how near -log p is to the entropy (C. Meister et al.,
 * arXiv:2202.00666); 1: off.  `room`: for as many as there are candidates. */
typedef struct lm_typical {
    double off;
    lm_candidate candidate;
} lm_typical;
void lm_filter_typical(lm_candidates *c, float p, lm_typical *room);
/* Without all but the least likely of those with p of at least `threshold`, where these are two or more (P. E.
 * Weidmann, "Exclude Top Choices", 2024); a threshold above 0.5 takes none. */
void lm_filter_xtc(lm_candidates *c, float threshold);
/* Divides the logits by the temperature; where that is more than a float holds, the best stays alone.  range not 0:
 * the temperature is low + (high - low) (H / log n)^exponent, low and high `range` below (not below 0) and above it and
 * H the entropy of the n candidates (kalomaze, "dynamic temperature", 2024). */
void lm_filter_temperature(lm_candidates *c, float temperature, float range, float exponent);

#endif
