/*
 * A whole qwen35 model in plain C and double precision: one token after the
 * other, states and caches as they stand in the formulas.  Weights are decoded
 * by the oracle's own decoders; only the file reader is the library's.
 */
#ifndef TESTS_REFERENCE_MODEL_H
#define TESTS_REFERENCE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ref_model ref_model;
typedef struct ref_sequence ref_sequence;

/* NULL: failed, the reason is in `error`. */
ref_model *ref_model_open(const char *path, char *error, size_t error_bytes);
void ref_model_close(ref_model *m);
int64_t ref_model_vocab(const ref_model *m);

/* An empty sequence; NULL: no memory. */
ref_sequence *ref_sequence_create(const ref_model *m);
void ref_sequence_destroy(ref_sequence *s);
/* One token more; logits (of the vocabulary) may be NULL.  false: no memory. */
bool ref_sequence_step(ref_sequence *s, int32_t token, double *logits);

#endif
