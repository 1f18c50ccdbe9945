/* A text that grows by tokens and follows a grammar. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "engine/grammar.h"
#include "constraint.h"
#include "matcher.h"

/* Masks that are kept: texts come back to few states. */
#define MASKS 128u

typedef struct mask {
    uint32_t state; /* 0: none */
    uint64_t *bits;
} mask;

struct lm_constraint {
    const lm_spellings *spellings;
    lm_matcher matcher;
    EU_ARRAY(uint32_t) states; /* before the text, and behind each token             */
    size_t lost;               /* tokens that could not be noted                     */
    int lost_status;
    uint32_t *path;            /* states behind each byte of a token                 */
    mask masks[MASKS];
};

int lm_constraint_create(const lm_rules *rules, const lm_spellings *spellings, lm_constraint **constraint)
{
    lm_constraint *c = calloc(1, sizeof *c);
    if (!c)
        return eng_fail_code(EU_NO_MEMORY("the state of a grammar"));
    c->spellings = spellings;
    int status = lm_matcher_init(&c->matcher, rules);
    const uint32_t begin = status ? 0 : lm_matcher_begin(&c->matcher);
    c->path = eu_zeroed((size_t)spellings->longest + 1, sizeof *c->path);
    if (!status && begin == LM_STATE_FAILED)
        status = c->matcher.status;
    if (!status && (!c->path || !eu_array_add(&c->states, begin)))
        status = eng_fail_code(EU_NO_MEMORY("the state of a grammar"));
    if (status)
        lm_constraint_destroy(c);
    else
        *constraint = c;
    return status;
}

static void forget_masks(lm_constraint *c)
{
    for (uint32_t i = 0; i < MASKS; i++)
        c->masks[i].state = 0;
}

void lm_constraint_destroy(lm_constraint *c)
{
    if (!c)
        return;
    for (uint32_t i = 0; i < MASKS; i++)
        free(c->masks[i].bits);
    lm_matcher_free(&c->matcher);
    eu_array_free(&c->states);
    free(c->path);
    free(c);
}

/* -- the text --------------------------------------------------------------------------- */

static uint32_t state_behind(lm_constraint *c, uint32_t state, int32_t token)
{
    size_t length = 0;
    if (token < 0 || (uint32_t)token >= c->spellings->n_vocab)
        return LM_STATE_DEAD;
    if (lm_bit(c->spellings->ends, (uint32_t)token))
        return lm_matcher_may_end(&c->matcher, state) ? lm_matcher_end(&c->matcher) : LM_STATE_DEAD;
    const char *bytes = c->spellings->spell(c->spellings->owner, token, &length);
    return bytes && length ? lm_matcher_text(&c->matcher, state, bytes, length) : LM_STATE_DEAD;
}

void lm_constraint_accept(lm_constraint *c, int32_t token)
{
    int status = ENG_OK;
    uint32_t next = LM_STATE_FAILED;
    if (!c->lost && lm_matcher_full(&c->matcher)) {
        forget_masks(c);
        status = lm_matcher_trim(&c->matcher, c->states.at, c->states.n);
    }
    if (!c->lost && !status) {
        next = state_behind(c, c->states.at[c->states.n - 1], token);
        status = next == LM_STATE_FAILED           ? c->matcher.status :
                 eu_array_add(&c->states, next) ? ENG_OK :
                                                  ENG_ERR_NOMEM;
    }
    if (c->lost || status) {
        c->lost_status = c->lost ? c->lost_status : status;
        c->lost++;
    }
}

void lm_constraint_rollback(lm_constraint *c, size_t n)
{
    size_t lost = n < c->lost ? n : c->lost;
    c->lost -= lost;
    n -= lost;
    c->states.n = n < c->states.n - 1 ? c->states.n - n : 1;
}

/* -- what may come next -------------------------------------------------------------------- */

/* The bits of all tokens that the state allows.  Tokens that begin alike share the way. */
static bool find_allowed(lm_constraint *c, uint32_t state, uint64_t *bits)
{
    const lm_spellings *s = c->spellings;
    uint32_t reached = 0; /* bytes of the token before that could be read */
    c->path[0] = state;
    if (lm_matcher_may_end(&c->matcher, state))
        memcpy(bits, s->ends, LM_BIT_WORDS(s->n_vocab) * sizeof *bits);
    else
        memset(bits, 0, LM_BIT_WORDS(s->n_vocab) * sizeof *bits);
    if (lm_matcher_must_end(&c->matcher, state))
        return true;
    for (uint32_t i = 0; i < s->n; i++) {
        const lm_spelling *own = &s->list[i];
        if (own->alike > reached) /* it goes on where the one before came to nothing */
            continue;
        uint32_t k = own->alike, next = c->path[k];
        for (; k < own->length; k++) {
            next = lm_matcher_next(&c->matcher, next, (uint8_t)own->bytes[k]);
            if (next == LM_STATE_FAILED)
                return false;
            if (next == LM_STATE_DEAD)
                break;
            c->path[k + 1] = next;
        }
        reached = k;
        if (k == own->length)
            bits[own->token / 64] |= (uint64_t)1 << own->token % 64;
    }
    return true;
}

static int none_left(const lm_constraint *c, uint32_t state)
{
    if (lm_matcher_must_end(&c->matcher, state))
        return eng_fail(ENG_ERR_STATE, "the text of the grammar is complete" ENG_CAUSE
                                       "the model has no token that ends a text" ENG_ADVICE "stop here");
    return eng_fail(ENG_ERR_STATE,
                    "the text cannot go on as the grammar says" ENG_CAUSE "no token of the vocabulary begins with what "
                    "may follow");
}

int lm_constraint_allowed(lm_constraint *c, const uint64_t **bits)
{
    const size_t words = LM_BIT_WORDS(c->spellings->n_vocab);
    if (c->lost)
        return c->lost_status == ENG_ERR_NOMEM ?
                   eng_fail_code(EU_NO_MEMORY("the state of a grammar")) :
                   eng_fail(c->lost_status, "the grammar can be read in too many ways at once");
    const uint32_t state = c->states.at[c->states.n - 1];
    mask *m = &c->masks[state % MASKS];
    if (state == LM_STATE_DEAD)
        return eng_fail(ENG_ERR_STATE, "the text does not follow the grammar" ENG_CAUSE
                                       "a token was noted that it does not allow" ENG_ADVICE "take it back");
    if (!m->bits && !(m->bits = malloc(words * sizeof *m->bits)))
        return eng_fail_code(EU_NO_MEMORY("the state of a grammar"));
    if (m->state != state) {
        m->state = 0;
        if (!find_allowed(c, state, m->bits))
            return c->matcher.status;
        m->state = state;
    }
    *bits = m->bits;
    for (size_t i = 0; i < words; i++)
        if (m->bits[i])
            return ENG_OK;
    return none_left(c, state);
}

uint32_t lm_constraint_state(const lm_constraint *c)
{
    const uint32_t state = c->lost ? LM_STATE_DEAD : c->states.at[c->states.n - 1];
    return state == LM_STATE_DEAD                      ? ENG_LM_GRAMMAR_LEFT :
           lm_matcher_must_end(&c->matcher, state) ? ENG_LM_GRAMMAR_MUST_END :
           lm_matcher_may_end(&c->matcher, state)  ? ENG_LM_GRAMMAR_MAY_END :
                                                     ENG_LM_GRAMMAR_OPEN;
}
