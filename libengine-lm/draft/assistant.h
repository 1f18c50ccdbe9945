/*
 * Guesses of an assistant: a small model that reads the caches of the one it guesses for, so it has nothing to follow.
 * All guesses of a step are made from the place of the token chosen last.
 */
#ifndef ENGINE_LM_DRAFT_ASSISTANT_H
#define ENGINE_LM_DRAFT_ASSISTANT_H

#include "../run/run.h"
#include "ask.h"

typedef struct lm_assistant {
    eng_lm_context *context; /* has the first one's caches                                      */
    eng_lm_context *first;
    uint32_t sequence;
    float *state;            /* of the model, for the token before the one chosen last           */
    bool known;              /* there is one                                                    */
} lm_assistant;

int lm_assistant_begin(lm_assistant *a, eng_lm_context *first, eng_lm_model *model, uint32_t sequence);
void lm_assistant_end(lm_assistant *a);
/* Another text, of which the sequence holds all but the last token. */
void lm_assistant_follow(lm_assistant *a);
/* Of a step's batch n tokens are held, and one was chosen after them. */
void lm_assistant_note(lm_assistant *a, uint32_t n);
int lm_assistant_guess(lm_assistant *a, const lm_ask *ask, int32_t *guess, uint32_t *n, bool *drawn);

#endif
