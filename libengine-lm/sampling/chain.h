/*
 * The steps between the logits and the draw, and their order.
 */
#ifndef ENGINE_LM_CHAIN_H
#define ENGINE_LM_CHAIN_H

#include <stdint.h>

typedef enum lm_step {
    LM_STEP_PENALTIES, LM_STEP_DRY, LM_STEP_TOP_N_SIGMA, LM_STEP_TOP_K, LM_STEP_TYPICAL, LM_STEP_TOP_P, LM_STEP_MIN_P,
    LM_STEP_XTC, LM_STEP_TEMPERATURE, LM_STEPS
} lm_step;

typedef struct lm_chain {
    uint8_t steps[LM_STEPS];
    uint32_t n;
} lm_chain;

/* "top_k;top_p;temperature"; NULL: all of them, in the order of lm_step.  Fails with a sentence about a name that is no
 * step's, or comes twice. */
int lm_chain_parse(const char *text, lm_chain *chain);

#endif
