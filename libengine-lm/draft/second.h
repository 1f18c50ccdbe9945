/*
 * Guesses of a second model: a smaller one, in a context of its own that follows the text.
 */
#ifndef ENGINE_LM_SECOND_H
#define ENGINE_LM_SECOND_H

#include "../run/run.h"
#include "ask.h"
#include "vocabulary.h"

typedef struct lm_second {
    eng_lm_context *context;
    lm_vocabulary_map map;
    const eng_lm_model *first;
    int32_t *text;           /* the text in the second model's tokens                          */
    size_t n_text, text_room;
    size_t n_translated;     /* tokens of the first model's text that are in `text`            */
    float *logits;           /* [first's vocabulary]                                           */
} lm_second;

int lm_second_begin(lm_second *s, const eng_lm_context *first, eng_lm_model *model, uint32_t max);
void lm_second_end(lm_second *s);
/* The text is another one. */
void lm_second_forget(lm_second *s);

/* *drawn says whether by q.  It ends also where a token has no counterpart. */
int lm_second_guess(lm_second *s, const lm_ask *ask, int32_t *guess, uint32_t *n, bool *drawn);

#endif
