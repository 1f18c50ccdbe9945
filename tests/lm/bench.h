/* What the end-to-end tests share: a model on a device, and the reference's prompts. */
#ifndef TESTS_LM_BENCH_H
#define TESTS_LM_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/lm.h"
#include "subject.h"

#define MAX_PROMPTS 8
#define N_GREEDY 32

typedef struct reference_prompt {
    char text[128];
    int32_t ids[64], greedy[N_GREEDY], top[5];
    int32_t drafts[N_GREEDY]; /* what the block for drafting gives after each of greedy */
    double logits[5];
    int n_ids;
} reference_prompt;

/* The prompts that tests/data/reference.txt has for a file; how many. */
int reference_read(const char *file, reference_prompt prompts[MAX_PROMPTS]);
/* A number of that file's section; NAN: it has none. */
double reference_number(const char *file, const char *name);

typedef struct bench {
    eng_context *engine;
    eng_device *device;
    eng_lm_model *model;
    eng_lm_context *context;
} bench;

/* Opens all of it; a failure ends the test.  params may be NULL. */
void bench_open(bench *b, const char *device, const char *model, const eng_lm_context_params *params);
void bench_context(bench *b, const eng_lm_context_params *params); /* another context on the same model */
void bench_close(bench *b);

/* Runs tokens of sequence 0 as one batch; the last one's logits. */
const float *bench_run(bench *b, const int32_t *ids, uint32_t n);
/* n tokens after a prompt, each the most likely. */
void bench_greedy(bench *b, const int32_t *ids, uint32_t n_ids, int32_t *out, uint32_t n);

/* The devices that this build has, by the name that the end-to-end tests use. */
extern const char *const bench_devices[];
extern const int bench_n_devices;

#endif
