/* Weights as a file has them, and what products and lookups make of a store's. */
#ifndef TESTS_MEMORY_RIG_H
#define TESTS_MEMORY_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"

/* A matrix of k x m elements of a type. */
typedef struct matrix {
    uint32_t type;
    int64_t k, m;
    uint64_t bytes;
    uint8_t *data;
} matrix;

uint32_t rig_random(void);
/* Of random numbers, encoded by the cpu plugin; data: the caller's to free.  false: the reason was printed. */
bool rig_matrix(eng_context *context, uint32_t type, int64_t k, int64_t m, matrix *out);
/* As it is declared: read by products and lookups. */
eng_store_tensor rig_declare(const matrix *w, const void *data, uint32_t layout);

/* A graph, sealed and run once over these stores.  The status. */
int rig_run(eng_device *device, eng_graph *graph, eng_store *const *stores, uint32_t n_stores);

#define RIG_COLUMNS 3
#define RIG_LOOKUPS 5
/* Products with RIG_COLUMNS columns, then RIG_LOOKUPS rows looked up, of tensor 0 of the store: the same columns and
 * rows whatever the device.  results: m * RIG_COLUMNS + k * RIG_LOOKUPS floats. */
int rig_use(eng_context *context, eng_device *device, eng_store *store, const matrix *w, float *results);

#endif
