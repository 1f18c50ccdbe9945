/*
 * Choosing the next token from the logits.  Order: penalties, top-k, top-p,
 * min-p, temperature, draw.  The draws depend on the seed and the logits alone.
 *
 * A sampler belongs to one thread at a time.
 */
#ifndef ENGINE_LM_SAMPLER_H
#define ENGINE_LM_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/lm.h"

typedef struct eng_sampler eng_sampler;

/* As hosts hold it. */
struct eng_lm_sampler {
    eng_sampler *sampler;
};

typedef struct eng_sampler_settings {
    float temperature;       /* <= 0: the most likely token, always          */
    int32_t top_k;           /* <= 0: off                                    */
    float top_p;             /* >= 1: off                                    */
    float min_p;             /* <= 0: off                                    */
    int32_t penalty_last;    /* tokens looked back on; 0: off                */
    float repeat_penalty;    /* 1: off                                       */
    float frequency_penalty; /* 0: off                                       */
    float presence_penalty;  /* 0: off                                       */
    uint32_t seed;           /* ENG_SAMPLER_SEED_RANDOM: another every time  */
} eng_sampler_settings;
#define ENG_SAMPLER_SEED_RANDOM UINT32_MAX

/* top_k 40, top_p 0.95, min_p 0.05, temperature 0.8, random seed, no penalties. */
void eng_sampler_defaults(eng_sampler_settings *settings);

int eng_sampler_create(const eng_sampler_settings *settings, uint32_t n_vocab, eng_sampler **sampler);
void eng_sampler_destroy(eng_sampler *sampler); /* takes NULL */
/* The seed in use (a random one too). */
uint32_t eng_sampler_seed(const eng_sampler *sampler);
/* Does it always take the most likely token? */
bool eng_sampler_greedy(const eng_sampler *sampler);
/* Notes a token of the prompt or an accepted one, for the penalties. */
void eng_sampler_accept(eng_sampler *sampler, int32_t token);
/* How many tokens there are. */
uint32_t eng_sampler_vocabulary(const eng_sampler *sampler);
/* What eng_sampler_sample would draw from: p[token] of all tokens, their sum 1; one alone if it takes the most
 * likely. */
int eng_sampler_probabilities(eng_sampler *sampler, const float *logits, float *p);
/* The next random number, 0 <= x < 1; and a token drawn in proportion to p, of which one is above 0. */
double eng_sampler_unit(eng_sampler *sampler);
int32_t eng_sampler_pick(eng_sampler *sampler, const float *p);
/* Chooses among n tokens, the one with the largest logit first and among equals the lower token.  Does not accept it. */
int eng_sampler_sample_of(eng_sampler *sampler, const int32_t *tokens, const float *logits, uint32_t n, int32_t *token);
/* Chooses a token; logits are n_vocab floats, read only.  Does not accept it. */
int eng_sampler_sample(eng_sampler *sampler, const float *logits, int32_t *token);

#endif
