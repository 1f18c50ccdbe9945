/*
 * Guesses from the text itself: what followed the longest of the last pieces of the text
 * where it stood before (after A. Saxena's "prompt lookup"; no model).
 */
#ifndef ENGINE_LM_NGRAM_H
#define ENGINE_LM_NGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libengine/util/util.h"

/* Shorter repetitions say nothing. */
#define LM_NGRAM_LEAST 2

/* Pairs of tokens, each with the place where it stood before: a list for each pair. */
typedef struct lm_ngram {
    uint32_t *heads;    /* n_heads, a power of two: last place of the pairs of this hash; 0: none   */
    uint32_t *before;   /* by place: the one before of the same hash; 0: none                       */
    size_t n_heads, before_room;
    size_t n;           /* tokens that are known                                 */
} lm_ngram;

/* Takes note of the text's tokens n->n .. n_tokens - 1; false: out of memory. */
bool lm_ngram_learn(lm_ngram *g, const int32_t *tokens, size_t n_tokens);
void lm_ngram_forget(lm_ngram *g);
void lm_ngram_free(lm_ngram *g);
/* Up to `most` tokens after the text that was learnt last; *matched: tokens at its end that stood there before. */
uint32_t lm_ngram_guess(const lm_ngram *g, const int32_t *tokens, uint32_t most, int32_t *guess, uint32_t *matched);

#endif
