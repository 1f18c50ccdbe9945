/* Rows encoded on the host by all cores (weighted.h). */
#ifndef TOOLS_WEIGH_H
#define TOOLS_WEIGH_H

#include "convert.h"

typedef struct weigher weigher;

int weigher_create(weigher **result);
void weigher_destroy(weigher *w);
/* As converter_run, which decodes (c; of f32 it is not asked).  importance: one a column, or NULL. */
int weigher_run(weigher *w, converter *c, uint32_t from, const void *source, uint32_t to, void *target, int64_t columns,
                int64_t rows, const float *importance);

#endif
