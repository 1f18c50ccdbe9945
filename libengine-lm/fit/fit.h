/*
 * Shares and overrides with which a model fits the free memory: what the files of this folder share.
 *
 * What a composition would hold is not guessed: the model is opened, and its graphs are
 * compiled, on as many null devices that hold nothing, with the real shares and overrides.
 * Their statistics are what the real devices would need.
 */
#ifndef ENGINE_LM_FIT_H
#define ENGINE_LM_FIT_H

#include "../files/model.h"

#define FIT_STAGES 3 /* kinds of tensors that may move: ENG_LM_MOVED_* */

/* A leaf of the device, or a guest that holds overridden tensors. */
typedef struct fit_member {
    char name[64];
    uint64_t free; /* bytes; 0: not known                                        */
} fit_member;

/* What a member would hold. */
typedef struct fit_need {
    uint64_t bytes;
    uint64_t fixed; /* what a smaller share would not save                       */
} fit_need;

/* Shares that were tried, and what came of it. */
typedef struct fit_attempt {
    double shares[ENG_MAX_RANKS];
    fit_need need[ENG_MAX_RANKS]; /* of members                                  */
    uint64_t missing;             /* over all pools                              */
    unsigned stage, layers;       /* what was moved last                         */
} fit_attempt;

struct eng_lm_fit {
    /* what is asked for */
    eng_context *engine;
    const char *path;
    eng_lm_fit_params p;
    eng_lm_placement given;
    eng_lm_context_params context; /* as the host wants it, the placement apart   */
    uint64_t n_tokens;             /* in one text                                */
    uint32_t n_leaves;
    bool composed;
    double shares[ENG_MAX_RANKS];  /* as the device has them                     */
    fit_member member[ENG_MAX_RANKS]; /* leaves, then guests                      */
    uint32_t n_members;
    /* on what it is tried */
    eng_context *dry;
    eng_device *asked_device; /* as it is asked for, until the end: who knows the names of the tensors */
    eng_lm_model *asked;
    uint32_t n_layers;
    char *patterns[FIT_STAGES]; /* of the stages in force                         */
    unsigned layers[FIT_STAGES]; /* how many each has moved                       */
    /* what comes of it */
    uint64_t lacked;         /* as it was asked for                              */
    fit_attempt best;
    eng_lm_override *overrides; /* the host's, then those of the stages            */
    eng_lm_placement placement;
    char *device;            /* to be opened                                     */
    eu_arena memory;
};

/* -- memory that members have (pools.c) ------------------------------------------------ */

/* Parts of one device share its memory: its pool.  The first member of a pool speaks for all. */
bool fit_same_pool(const fit_member *a, const fit_member *b);
bool fit_speaks(const eng_lm_fit *f, uint32_t member);
/* Free memory of a member's pool; UINT64_MAX: not known. */
uint64_t fit_pool_free(const eng_lm_fit *f, uint32_t member);
/* What is left alone of it, and what may be used. */
uint64_t fit_held_back(const eng_lm_fit *f, uint32_t member);
uint64_t fit_capacity(const eng_lm_fit *f, uint32_t member);
/* What all members of the pool would hold together, and what lacks for it. */
uint64_t fit_pool_need(const eng_lm_fit *f, const fit_attempt *a, uint32_t member);
uint64_t fit_missing_in(const eng_lm_fit *f, const fit_attempt *a, uint32_t member);
void fit_sum_missing(const eng_lm_fit *f, fit_attempt *a);
/* ENG_ERR_NOMEM: which devices lack what, and what helps. */
int fit_refuse(const eng_lm_fit *f, const fit_attempt *a);

/* -- trying (trial.c) --------------------------------------------------------------------- */

/* The devices that hold nothing; ENG_ERR_NOTFOUND: there is no null plugin. */
int fit_trial_begin(eng_lm_fit *f);
void fit_trial_end(eng_lm_fit *f);
/* The number of the member of that name: a guest, if it was none. */
int fit_member_find(eng_lm_fit *f, const char *name, uint32_t *member);
/* Compiles all that the context will run, with the attempt's shares and the stages in force. */
int fit_try(eng_lm_fit *f, fit_attempt *a);

#endif
