/*
 * Choosing the next token from the logits.  Order: the grammar, logit biases, then the steps of the chain (penalties,
 * repetitions, top-n-sigma, top-k, typical, top-p, min-p, XTC, temperature if no other is asked for), then the draw.
 * The draws depend on the seed and the logits alone.
 *
 * A sampler belongs to one thread at a time.
 */
#ifndef ENGINE_LM_SAMPLER_H
#define ENGINE_LM_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/lm.h"
#include "../grammar/constraint.h"
#include "history.h"

typedef struct eng_sampler eng_sampler;

/* As hosts hold it. */
struct eng_lm_sampler {
    eng_sampler *sampler;
};

typedef eng_lm_sampler_params eng_sampler_settings;
#define ENG_SAMPLER_SEED_RANDOM UINT32_MAX

/* What there is to choose from.  piece may be NULL: no texts, so nothing breaks repetitions. */
typedef struct lm_words {
    uint32_t n_vocab;
    lm_piece_func piece;
    const void *owner;
} lm_words;

/* top_k 40, top_p 0.95, min_p 0.05, temperature 0.8, random seed; all else off. */
void eng_sampler_defaults(eng_sampler_settings *settings);

int eng_sampler_create(const eng_sampler_settings *settings, const lm_words *words, eng_sampler **sampler);
void eng_sampler_destroy(eng_sampler *sampler); /* takes NULL */
/* The seed in use (a random one too). */
uint32_t eng_sampler_seed(const eng_sampler *sampler);
/* Does it always take the most likely token? */
bool eng_sampler_greedy(const eng_sampler *sampler);
/* Notes a token of the prompt or an accepted one, for the penalties. */
void eng_sampler_accept(eng_sampler *sampler, int32_t token);
/* Takes the last n tokens back. */
int eng_sampler_rollback(eng_sampler *sampler, size_t n);
/* What the text from here on must follow, which the sampler takes; NULL: nothing.  And how it stands to that. */
void eng_sampler_constrain(eng_sampler *sampler, lm_constraint *constraint);
uint32_t eng_sampler_constraint_state(const eng_sampler *sampler);
/* How many tokens there are. */
uint32_t eng_sampler_vocabulary(const eng_sampler *sampler);
/* What eng_sampler_sample would draw from: p[token] of all tokens, their sum 1; one alone if it takes the most
 * likely. */
int eng_sampler_probabilities(eng_sampler *sampler, const float *logits, float *p);
/* The same for a guess some tokens on, where the grammar stands elsewhere: without it. */
int eng_sampler_proposal(eng_sampler *sampler, const float *logits, float *p);
/* The next random number, 0 <= x < 1; and a token drawn in proportion to p, of which one is above 0. */
double eng_sampler_unit(eng_sampler *sampler);
int32_t eng_sampler_pick(eng_sampler *sampler, const float *p);
/* Chooses among n tokens, the one with the largest logit first and among equals the lower token.  Does not accept
 * it. */
int eng_sampler_sample_of(eng_sampler *sampler, const int32_t *tokens, const float *logits, uint32_t n, int32_t *token);
/* Chooses a token; logits are n_vocab floats, read only.  Does not accept it. */
int eng_sampler_sample(eng_sampler *sampler, const float *logits, int32_t *token);
/* Of a most likely token that was chosen last: how far the logit of the next one is behind, as they were compared. */
double eng_sampler_lead(const eng_sampler *sampler);

#endif
