/* What the files of test-archs share. */
#ifndef TESTS_LM_ARCHS_H
#define TESTS_LM_ARCHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/lm.h"

#define MAX_PROMPT 80 /* tokens */
#define N_STEPS 5     /* tokens after it */
#define N_CELLS 128
#define N_ROWS (1 + N_STEPS) /* of logits */

/* Options of make-model, and whether OpenCL devices run it in a short test too. */
typedef struct archs_model {
    const char *options;
    bool everywhere;
} archs_model;
extern const archs_model archs_table[];
extern const size_t archs_table_n;

typedef struct answer {
    int32_t ids[MAX_PROMPT + N_STEPS];
    int n_prompt;
    int64_t n_vocab;
    double *logits; /* N_ROWS rows: after the prompt and after each step */
    double margin;  /* of the experts' choice */
} answer;
/* false: it has been told why. */
bool archs_answer(answer *a, const char *path, uint32_t seed, int n_prompt);
/* The most likely token, and by how much it is ahead, of the logits' root mean square. */
int32_t archs_best(const double *logits, int64_t n, double *ahead);

/* How a model is spread over a composed device. */
typedef enum manner { CUT, DEALT, LAYERS, GUEST, WEIGHTS } manner;
bool archs_has_experts(const char *options);
/* Is the model at `path`, made with `options`, right on a device?  With caches of f32, or of types k and v. */
void archs_run(eng_context *engine, const char *options, const char *device, manner how, const char *path,
               const answer *a);
void archs_run_type(eng_context *engine, const char *options, const char *device, manner how, const char *path,
                    const answer *a, uint32_t k, uint32_t v);

/* A number from least to most. */
int archs_among(uint64_t *state, int least, int most);
void archs_random(uint64_t *r, unsigned seed, char options[768]);

#endif
