/*
 * Guesses of the model's own block for drafting (MTP), which follows the text by the states that the model's head was
 * given: of pairs of a token and the state behind the token before it, it makes the state for the token after.
 */
#ifndef ENGINE_LM_DRAFT_BLOCK_H
#define ENGINE_LM_DRAFT_BLOCK_H

#include "../run/run.h"
#include "ask.h"

typedef struct lm_block {
    eng_lm_context *context; /* of the block: its cache                                        */
    const eng_lm_context *first;
    int32_t *tokens;         /* pairs that the block has not seen yet                          */
    float *states;           /* [n][n_embd]                                                    */
    size_t n, token_room, state_room;
    uint32_t n_guessed;      /* of the tokens that the block holds: with states of its own, not of the model */
} lm_block;

int lm_block_begin(lm_block *b, const eng_lm_context *first);
void lm_block_end(lm_block *b);
/* The text is another one. */
int lm_block_forget(lm_block *b);
/* What the model's context ran last of a sequence that holds all of tokens[n] but the last: as far as its states are
 * there. */
int lm_block_follow(lm_block *b, uint32_t sequence, const int32_t *tokens, size_t n);
/* Of a step's batch the first n tokens, each with the token that was chosen after it. */
int lm_block_note(lm_block *b, const int32_t *chosen, uint32_t n);
int lm_block_guess(lm_block *b, const lm_ask *ask, int32_t *guess, uint32_t *n, bool *drawn);

#endif
