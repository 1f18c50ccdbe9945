/* engine-generate --fit: from free memory to shares and overrides. */
#ifndef ENGINE_TOOLS_GENERATE_FIT_H
#define ENGINE_TOOLS_GENERATE_FIT_H

#include "generate.h"

#define FIT_STAGES 3 /* kinds of tensors that may move to the processor */

typedef int (*fit_context_func)(void *user, eng_lm_model *model, eng_lm_context_params *params, uint64_t *n_tokens);

typedef struct fit_member {
    char name[64];
    uint64_t free; /* bytes; 0: not known                                        */
} fit_member;

typedef struct fit_request {
    eng_context *engine; /* of the real devices                                   */
    const options *options;
    const fit_member *leaves; /* of the device asked for                         */
    uint32_t n_leaves;
    double shares[ENG_MAX_RANKS]; /* as it has them                              */
    bool shares_given;    /* by the user: they stay                              */
    bool all_logits;      /* of every token, not of the last                     */
    uint64_t reserve;     /* bytes of each device; UINT64_MAX: the rule          */
    /* Parameters of the context that will be made, but for the placement, and the tokens of
     * the text that it will read (1 or more). */
    fit_context_func context;
    void *user;
} fit_request;

typedef struct fit_result {
    char shares[ENG_MAX_RANKS * 16]; /* for -ts; "": as they are                  */
    char *patterns[FIT_STAGES];      /* of tensors that go to "cpu"; the caller frees them */
} fit_result;

/* Says on standard error what it chooses and why.  ENG_ERR_NOMEM: nothing fits. */
int fit_choose(const fit_request *request, fit_result *result);

/* --fit: changes shares and overrides so that the model fits.  context: see fit_request. */
int device_fit(eng_context *engine, options *o, fit_context_func context, void *user);

#endif
