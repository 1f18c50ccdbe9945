/*
 * Drafting: who guesses, how much of it is run, what is kept.
 */
#ifndef ENGINE_LM_DRAFT_H
#define ENGINE_LM_DRAFT_H

#include "../run/run.h"
#include "assistant.h"
#include "block.h"
#include "ngram.h"
#include "pace.h"
#include "second.h"

typedef struct lm_guess {
    int32_t *tokens;   /* room for p.max                                          */
    uint32_t n;
    uint32_t sureness; /* 0 .. LM_PACE_SURENESS - 1                                */
    bool drawn;        /* from the distributions q                                 */
} lm_guess;

struct eng_lm_draft {
    eng_lm_context *context;
    eng_lm_draft_params p;
    int32_t *text;     /* what the sequence holds, and the token chosen last       */
    size_t n_text, text_room;
    lm_ngram ngram;
    lm_second second;
    lm_block block;
    lm_assistant assistant;
    float *q, *p_room; /* [max][vocabulary], [vocabulary]; of models that guess    */
    lm_guess guess;
    lm_pace pace;
    eng_lm_draft_stats stats;
    uint8_t wanted[ENG_LM_DRAFT_MOST + 1];
};

#endif
