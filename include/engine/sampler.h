/*
 * engine/sampler.h - the next token from the logits: samplers of engine/lm.h, which includes this.
 */
#ifndef ENGINE_SAMPLER_H
#define ENGINE_SAMPLER_H

#include "lm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is added to the logit of a token before all else; minus infinity: it is never chosen. */
typedef struct eng_lm_logit_bias {
    int32_t token;
    float bias;
} eng_lm_logit_bias;

/*
 * The logits go through, in this order: biases; penalties, dry, top_n_sigma, top_k, typ_p, top_p, min_p, xtc,
 * temperature (or those that `samplers` names); the draw.  p is a token's probability among those that the steps before
 * have left, as their logits then say.  With temperature 0 only biases, penalties and dry count.
 */
typedef struct eng_lm_sampler_params {
    uint32_t size;
    uint32_t seed;           /* UINT32_MAX: another one every time               */
    float temperature;       /* 0: the most likely token                        */
    int32_t top_k;           /* 0: off                                          */
    float top_p;             /* 1: off                                          */
    float min_p;             /* 0: off                                          */
    int32_t penalty_last;    /* tokens looked back on; 0: no penalties          */
    float repeat_penalty;    /* 1: off                                          */
    float frequency_penalty; /* 0: off                                          */
    float presence_penalty;  /* 0: off                                          */
    /* since 3.1 */
    float typical_p;         /* 1: off; the fewest tokens of this probability, those first whose -log p is nearest to
                                the entropy (arXiv:2202.00666)                  */
    float top_n_sigma;       /* 0: off; those at most so many standard deviations of all logits below the largest
                                (arXiv:2411.07641)                              */
    float xtc_probability;   /* 0: off; how often all but the least likely of those with p of */
    float xtc_threshold;     /* at least this (0.1; above 0.5: none) are left out: "exclude top choices" */
    float dynatemp_range;    /* 0: off; the temperature is low + (high - low) * (entropy / its most)^exponent, where */
    float dynatemp_exponent; /* low and high are so much below (not below 0) and above `temperature`; 1 */
    float dry_multiplier;    /* 0: off; "don't repeat yourself": what would follow where the last n tokens stood */
    float dry_base;          /* before loses multiplier * base^(n - allowed length); 1.75 */
    int32_t dry_allowed_length; /* where n is at least this; 2                  */
    int32_t dry_penalty_last; /* tokens looked back on; -1: all; 0: off         */
    const char *const *dry_breakers; /* texts that no repetition reaches over; NULL: newline, colon, quote, asterisk.
                                They need the model's tokenizer, and without it are none */
    uint32_t n_dry_breakers;
    uint32_t n_logit_bias;
    const eng_lm_logit_bias *logit_bias;
    const char *samplers;    /* the steps and their order, such as "top_k;top_p;temperature"; NULL: all, as above */
    uint32_t mirostat;       /* 0: off; 1, 2: in the place of all steps but penalties, dry and temperature, mirostat */
    float mirostat_tau;      /* 1.0 or 2.0 (arXiv:2007.14966): it aims at this surprise, -log2 p, of tokens noted, */
    float mirostat_eta;      /* and learns at this rate; 5 and 0.1              */
} eng_lm_sampler_params;
/* temperature 0.8, top_k 40, top_p 0.95, min_p 0.05, random seed, all else off.  What pointers lead to is copied when a
 * sampler is made. */
ENG_API void eng_lm_sampler_defaults(eng_lm_sampler_params *params);
/* The same, for a struct of so many bytes, as eng_lm_context_init. */
ENG_API void eng_lm_sampler_init(eng_lm_sampler_params *params, size_t size);
#define eng_lm_sampler_defaults(params) eng_lm_sampler_init(params, sizeof *(params))

ENG_API int eng_lm_sampler_create(const eng_lm_model *model, const eng_lm_sampler_params *params,
                                  eng_lm_sampler **sampler);
ENG_API void eng_lm_sampler_destroy(eng_lm_sampler *sampler);
ENG_API uint32_t eng_lm_sampler_seed(const eng_lm_sampler *sampler);
/* Chooses from n_vocab logits. */
ENG_API int eng_lm_sampler_choose(eng_lm_sampler *sampler, const float *logits, int32_t *token);
/* Chooses from the n largest logits, as eng_lm_top gives them.  As of all, if the temperature is 0, or if top_k is n at
 * most, not off, and among the steps.  But penalties and biases move tokens only among these, and top_n_sigma knows only
 * these, as typ_p, top_p, xtc and a dynamic temperature do where `samplers` has them before top_k. */
ENG_API int eng_lm_sampler_choose_top(eng_lm_sampler *sampler, const int32_t *tokens, const float *logits, uint32_t n,
                                      int32_t *token);
/* Notes a token for the penalties and dry.  What needs memory and gets none makes the next choice fail. */
ENG_API void eng_lm_sampler_accept(eng_lm_sampler *sampler, int32_t token);
/* Takes the last n of the tokens noted back, as if they had not been (random numbers go on); ENG_ERR_STATE if there are
 * fewer. */
ENG_API int eng_lm_sampler_rollback(eng_lm_sampler *sampler, size_t n);

#ifdef __cplusplus
}
#endif
#endif
