/*
 * How many tokens of a guess are worth running: from what passes cost here and what was
 * accepted so far.  Knows no clock and no model: it is told.
 */
#ifndef ENGINE_LM_PACE_H
#define ENGINE_LM_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/lm.h"

#define LM_PACE_SURENESS 3 /* kinds of guesses, by how sure whoever guesses is            */

typedef struct lm_pace_rate {
    double tried, kept;
} lm_pace_rate;

typedef struct lm_pace {
    double pass[ENG_LM_DRAFT_MOST + 2]; /* seconds of a pass of n tokens; 0: not known    */
    uint32_t warm[ENG_LM_DRAFT_MOST + 2]; /* how often it ran                             */
    double guess;            /* seconds that a guessed token takes                        */
    lm_pace_rate rate[LM_PACE_SURENESS][ENG_LM_DRAFT_MOST]; /* of guess i, those before it accepted */
    double total;            /* seconds of all steps                                      */
    double with_seconds, with_tokens; /* of steps with guesses, as far as the account goes */
    bool off;                /* the loss is at its limit                                  */
    uint64_t turned_off;
    uint32_t since_plain, since_tried;
} lm_pace;

void lm_pace_init(lm_pace *p);
/* Tokens to run of a guess of `most`, 0: none. */
uint32_t lm_pace_choose(lm_pace *p, uint32_t sureness, uint32_t most);
/*
 * A step: `run` guesses of which `accepted` were taken; seconds of the guess (a step may guess and run
 * none), of the pass, and of the rest.  cold: they say nothing, for something was compiled meanwhile.
 */
typedef struct lm_pace_step {
    uint32_t sureness, guessed, run, accepted;
    double guess, pass, rest;
    bool cold;
} lm_pace_step;
void lm_pace_note(lm_pace *p, const lm_pace_step *step);
/* Tokens a second that a guess of n promises; n 0: of plain steps. */
double lm_pace_promise(const lm_pace *p, uint32_t sureness, uint32_t n);
/* Seconds of a pass of n tokens, guessed from others if there was none; 0: nothing is known. */
double lm_pace_pass(const lm_pace *p, uint32_t n);

#endif
