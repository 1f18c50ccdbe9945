/*
 * The tokens that a sampler has noted, for what looks back on them: the penalties count the last ones, "DRY" (P. E.
 * Weidmann, "Don't Repeat Yourself", 2024) looks for what they repeat.  The last ones can be taken back.
 */
#ifndef ENGINE_LM_HISTORY_H
#define ENGINE_LM_HISTORY_H

#include <stddef.h>

#include "candidates.h"

/* The bytes of a token. */
typedef const char *(*lm_piece_func)(const void *owner, int32_t token, size_t *length);

typedef struct lm_history_params {
    uint32_t n_vocab;
    int32_t penalty_last;    /* tokens that are counted; 0: none                 */
    float repeat_penalty, frequency_penalty, presence_penalty;
    float dry_multiplier;    /* 0: off                                           */
    float dry_base;
    int32_t dry_allowed_length, dry_penalty_last; /* last: -1: all               */
    const char *const *dry_breakers; /* no repetition reaches over these: copied */
    uint32_t n_dry_breakers;
    lm_piece_func piece;
    const void *piece_owner;
} lm_history_params;

typedef struct lm_history {
    lm_history_params p;
    char **breakers;
    size_t longest;          /* of them, bytes                                   */
    int32_t *tokens;
    uint8_t *breaks;         /* one a token: a breaker ends in its text          */
    uint32_t *alike;         /* one a token: room for DRY                        */
    size_t n, tokens_room, breaks_room, alike_room;
    uint32_t *counts;        /* occurrences among the last, by token             */
    uint32_t *repeats;       /* [n_vocab] of DRY: all 0 between calls            */
    bool kept;               /* does anything look back?                         */
    bool failed;             /* a token could not be noted: no memory            */
} lm_history;

/* false: no memory; lm_history_free is due in any case. */
bool lm_history_init(lm_history *h, const lm_history_params *p);
void lm_history_free(lm_history *h);
void lm_history_accept(lm_history *h, int32_t token);
/* Takes the last n back, of which there are as many. */
void lm_history_rollback(lm_history *h, size_t n);

/* A logit above 0 is divided by the repeat penalty, another multiplied; then the presence penalty goes off, and the
 * frequency penalty for each occurrence (N. S. Keskar et al., arXiv:1909.05858; OpenAI's API). */
void lm_penalise(const lm_history *h, lm_candidates *c);
/* multiplier * base^(n - allowed length) goes off a token's logit that would be one more of a repetition of n
 * tokens. */
void lm_penalise_repetitions(lm_history *h, lm_candidates *c);

#endif
