/*
 * A text that grows by tokens and follows a grammar: which tokens may come next, and tokens taken back.
 */
#ifndef ENGINE_LM_CONSTRAINT_H
#define ENGINE_LM_CONSTRAINT_H

#include "byte_rules.h"
#include "spellings.h"

typedef struct lm_constraint lm_constraint;

/* Rules and spellings must outlive it. */
int lm_constraint_create(const lm_rules *rules, const lm_spellings *spellings, lm_constraint **constraint);
void lm_constraint_destroy(lm_constraint *c); /* takes NULL */
/* Notes a token; one that the grammar does not allow leaves it.  What fails makes the next question fail. */
void lm_constraint_accept(lm_constraint *c, int32_t token);
/* Takes the last n back, or all. */
void lm_constraint_rollback(lm_constraint *c, size_t n);
/* Bits of the tokens that may come next, valid until the next call; ENG_ERR_STATE if there are none. */
int lm_constraint_allowed(lm_constraint *c, const uint64_t **bits);
/* ENG_LM_GRAMMAR_* (engine/grammar.h). */
uint32_t lm_constraint_state(const lm_constraint *c);

#endif
