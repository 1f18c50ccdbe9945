/* What the files that read the oracle's models share. */
#ifndef TESTS_REFERENCE_MODEL_READER_H
#define TESTS_REFERENCE_MODEL_READER_H

#include "engine/engine.h"
#include "model_impl.h"

typedef struct reader {
    ref_model *m;
    eng_gguf *gguf;
    char *error;
    size_t error_bytes;
    bool failed;
} reader;

/* Only the first failure is told. */
void ref_fail(reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Keys of the architecture; otherwise < 0: it must be there. */
int64_t ref_key(reader *r, const char *name, uint64_t index, int64_t otherwise);
double ref_number(reader *r, const char *name, double otherwise);
/* One of a list, or the one value. */
int64_t ref_layer_key(reader *r, const char *name, int64_t il, int64_t otherwise);

/* The model's, to be freed with it; NULL: there is no memory, which has been told. */
double *ref_own(reader *r, double *x);
/* The tensor's elements, decoded; `n` is how many there must be.  il < 0: outside of layers. */
double *ref_weights(reader *r, bool needed, int64_t n, int64_t il, const char *base, const char *suffix);
matrix ref_matrix_of(reader *r, bool needed, int64_t il, const char *base, int64_t k, int64_t m, int64_t n);
/* Rows first .. first + m - 1. */
matrix ref_rows_of(const matrix *a, int64_t first, int64_t m);

void ref_read_numbers(reader *r);

/* Weights of a layer. */
void ref_read_latent(reader *r, layer *l, int64_t il);
void ref_read_compressed(reader *r, layer *l, int64_t il);
void ref_read_attention(reader *r, layer *l, int64_t il);
void ref_read_recurrent(reader *r, layer *l, int64_t il);
void ref_read_kda(reader *r, layer *l, int64_t il);
void ref_read_scan(reader *r, layer *l, int64_t il);
void ref_read_experts(reader *r, layer *l, int64_t il);
void ref_read_token_experts(reader *r, layer *l, int64_t il);

#endif
