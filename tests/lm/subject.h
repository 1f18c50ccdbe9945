/* A model on a device, opened as a test wants it; and files. */
#ifndef TESTS_LM_SUBJECT_H
#define TESTS_LM_SUBJECT_H

#include <stddef.h>
#include <stdint.h>

#include "engine/lm.h"

typedef struct subject {
    eng_device *device;
    eng_lm_model *model;
    eng_lm_context *context;
    uint32_t n_vocab;
} subject;

/* Opens all of it; placement and params may be NULL, the placement is the context's too.  After a failure nothing is
 * open, and eng_last_error() says why. */
int subject_open(subject *s, eng_context *engine, const char *device, const char *model,
                 const eng_lm_placement *placement, const eng_lm_context_params *params);
/* The same with the model's flags (ENG_LM_DRAFTS). */
int subject_open_flags(subject *s, eng_context *engine, const char *device, const char *model, uint32_t flags,
                       const eng_lm_placement *placement, const eng_lm_context_params *params);
void subject_close(subject *s);
/* Runs tokens of sequence 0 as one batch; the last one's logits, NULL: it failed. */
const float *subject_run(subject *s, const int32_t *ids, uint32_t n);
/* What the context's plan of one token says of itself, as JSON, to be freed; NULL: it failed. */
char *subject_explain(eng_lm_context *context);
/* A random model made by tests/tools/make-model with these options; 0, or what system() answers. */
int subject_make(const char *options, const char *path);

/* A path under the source folder's tests/data; valid until the next call. */
const char *data_path(const char *name);
/* A path for a file of this process; valid until the next call with the same buffer. */
const char *scratch_path(const char *name, char path[256]);
/* The whole of a file, terminated; NULL: it cannot be read. */
char *read_file(const char *path, size_t *length);

int32_t largest(const float *logits, uint32_t n);
/* Largest difference between two rows of logits; what is not a number is infinite. */
double difference(const float *a, const float *b, uint32_t n);
/* The same in units of the root mean square of b. */
double relative(const float *a, const float *b, uint32_t n);

/* What make-model takes for models with states of all kinds. */
#define SUBJECTS_WITH_STATES                                                                                           \
    "--arch mamba --k-heads 4 --v-heads 8 --scan-head 8",                                                              \
    "--arch mamba2 --k-heads 2 --v-heads 4",                                                                           \
    "--arch nemotron_h --layers 8 --interval 2 --k-heads 1",                                                           \
    "--arch granitehybrid --interval 2 --k-heads 1 --experts 4 --used 2",                                              \
    "--arch falcon-h1 --k-heads 2 --layers 2",                                                                         \
    "--arch kimi-linear --kv-heads 1 --interval 2 --experts 4 --used 2",                                               \
    "--arch glm5next --kv-heads 1 --interval 2 --experts 4 --used 2 --index-top 8",                                    \
    "--arch deepseek4 --layers 3 --ratio 2 --long-ratio 5 --index-top 3 --experts 4 --used 2",                           \
    "--arch qwen4exp --interval 2 --experts 4 --used 2 --index-top 8 --index-heads 5",                                    \
    "--arch lfm2 --interval 2"

#endif
