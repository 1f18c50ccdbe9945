/*
 * Importance matrices: of each column of a matrix of weights, the mean square of what it is multiplied with.
 *
 * A GGUF file as the usual tools write it (for each matrix NAME tensors NAME.in_sum2, the sums of squares, and
 * NAME.counts, of how many rows they are; both of each expert), or the older form: names and numbers one behind
 * another.
 */
#ifndef TOOLS_IMPORTANCE_H
#define TOOLS_IMPORTANCE_H

#include "engine/engine.h"

typedef struct importance importance;

int importance_open(const char *path, importance **result);
void importance_close(importance *m);
uint32_t importance_count(const importance *m);
/* For matrices of so many columns and so many experts (1: it has none): *values[*sets][columns], where sets is
 * `experts` or 1; NULL: the file has none of that name.  Fails where it has one of another shape. */
int importance_find(const importance *m, const char *name, int64_t columns, int64_t experts, const float **values,
                    int64_t *sets);

#endif
