/*
 * What a model gives on one device, for comparison with what it gives when it is
 * split: logits of a prompt, of 32 tokens fed one by one, of the last ones again after
 * they were taken back, and of a copied sequence.
 */
#ifndef TESTS_LM_WHOLE_H
#define TESTS_LM_WHOLE_H

#include <stdbool.h>

#include "subject.h"

#define N_PROMPT 11
#define N_STEPS 32
#define N_BACK 3
#define N_ROWS (1 + N_STEPS + N_BACK + 1) /* of logits: the last of the copied sequence */

typedef struct whole {
    const char *name, *options; /* of make-model; NULL: the trained model              */
    uint32_t type_k, type_v;
    double most;                /* difference, of the logits' root mean square         */
    uint32_t n_cells;           /* at least 2 (N_PROMPT + N_STEPS) + 1                 */
    char path[256];
    int32_t ids[N_PROMPT + N_STEPS + N_BACK];
    uint32_t n_vocab;
    float *logits;              /* N_ROWS rows                                         */
} whole;

/* Makes the model and runs it on the cpu device; false, and the reason as a comment of TAP: that failed. */
bool whole_begin(whole *w, eng_context *engine);
void whole_end(whole *w);
/* Opens it elsewhere, with a context as it needs it. */
int whole_open(const whole *w, eng_context *engine, const char *device, const eng_lm_placement *placement, subject *s);
/* Does what was opened give the same?  If not, a comment of TAP says where. */
bool whole_agrees(const whole *w, subject *s);
/* Both. */
bool whole_compare(const whole *w, eng_context *engine, const char *device, const eng_lm_placement *placement);

#endif
