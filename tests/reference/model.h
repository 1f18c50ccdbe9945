/*
 * Whole models in plain C and double precision: one token after the other, states
 * and caches as they stand in the formulas.  The architectures are
 * those of model_archs.c.  Weights are decoded by the oracle's own decoders;
 * only the file reader is the library's.
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
/* How long a text may become, by which some models choose what they rotate by; without this call it is short. */
void ref_model_cells(ref_model *m, int64_t cells);
int64_t ref_model_vocab(const ref_model *m);

/* An empty sequence; NULL: no memory. */
ref_sequence *ref_sequence_create(const ref_model *m);
void ref_sequence_destroy(ref_sequence *s);
/* One token more; logits (of the vocabulary) may be NULL.  false: no memory. */
bool ref_sequence_step(ref_sequence *s, int32_t token, double *logits);
/* What the head was given for the token before: [embedding]. */
const double *ref_sequence_state(const ref_sequence *s);
/* The block for drafting as a model of one layer, which ends with m; NULL: the file has none.  A step of its sequences
 * takes a token and the state behind the token before it, of the model or, further on, its own. */
const ref_model *ref_model_block(const ref_model *m);
bool ref_block_step(ref_sequence *s, int32_t token, const double *state, double *logits);
/* A step of an assistant's sequence, which stays empty: it sees what `text` holds, and takes the token behind that and
 * a state of the text's model, or of its own, for the token before: `next`, its own for the token, is as wide. */
bool ref_assistant_step(ref_sequence *s, const ref_sequence *text, int32_t token, const double *state, double *logits,
                        double *next);
/* The least by which an expert that was chosen was ahead of one that was not, in the router's logits; infinite if no
 * choice was made.  Where it is as small as rounding, another choice is no error. */
double ref_sequence_margin(const ref_sequence *s);

#endif
