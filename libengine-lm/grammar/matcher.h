/*
 * Which bytes may come next.  A grammar is read as by an automaton with a stack, by all its choices at once: a state is
 * a set of stacks.  Stacks and states are kept once each, as numbers, and so is what a state becomes with a byte: where
 * a text comes to a state again, nothing is computed.
 */
#ifndef ENGINE_LM_MATCHER_H
#define ENGINE_LM_MATCHER_H

#include "byte_rules.h"

#define LM_STATE_FAILED 0u /* no memory, or a limit: matcher->status and the error say  */
#define LM_STATE_DEAD 1u   /* no text of the grammar begins so                          */

/* A place in a sequence, and the stack below it. */
typedef struct lm_stack {
    uint32_t at, below; /* below 0: none */
} lm_stack;

typedef struct lm_state {
    uint32_t first, n; /* of items: stacks, ascending                                   */
    uint32_t next;     /* of nexts: [n_classes], 0: not known yet; UINT32_MAX: no place */
    bool whole;        /* a text may end here                                           */
} lm_state;

typedef struct lm_matcher {
    const lm_rules *rules;
    EU_ARRAY(lm_stack) stacks; /* the first is none                                     */
    EU_ARRAY(uint32_t) stack_slots;
    EU_ARRAY(lm_state) states;
    EU_ARRAY(uint32_t) state_slots;
    EU_ARRAY(uint32_t) items;
    EU_ARRAY(uint32_t) nexts;
    EU_ARRAY(uint32_t) seen;   /* by stack: the last closure that met it                 */
    EU_ARRAY(uint32_t) work;   /* stacks of a closure that are to be looked at           */
    EU_ARRAY(uint32_t) found;  /* and those that wait for a byte                         */
    uint32_t closure;
    size_t enough_stacks, enough_items; /* before they are given up                      */
    int status;
} lm_matcher;

int lm_matcher_init(lm_matcher *m, const lm_rules *rules);
void lm_matcher_free(lm_matcher *m);
/* The state before a text. */
uint32_t lm_matcher_begin(lm_matcher *m);
uint32_t lm_matcher_step(lm_matcher *m, uint32_t state, uint8_t byte);
/* The same where it is known already, and soon. */
static inline uint32_t lm_matcher_next(lm_matcher *m, uint32_t state, uint8_t byte)
{
    const uint32_t at = m->states.at[state].next;
    const uint32_t next = at != UINT32_MAX ? m->nexts.at[at + m->rules->class_of[byte]] : 0;
    return next ? next : lm_matcher_step(m, state, byte);
}
uint32_t lm_matcher_text(lm_matcher *m, uint32_t state, const char *text, size_t n);
/* The state behind a text that has ended. */
uint32_t lm_matcher_end(lm_matcher *m);
/* May the text end here, and must it? */
static inline bool lm_matcher_may_end(const lm_matcher *m, uint32_t state)
{
    return m->states.at[state].whole;
}
static inline bool lm_matcher_must_end(const lm_matcher *m, uint32_t state)
{
    return m->states.at[state].whole && m->states.at[state].n == 0;
}
/* Is so much kept that it should be given up?  Gives up all but these states, which get other numbers. */
bool lm_matcher_full(const lm_matcher *m);
int lm_matcher_trim(lm_matcher *m, uint32_t *states, size_t n);

#endif
