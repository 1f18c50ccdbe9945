/*
 * Rows to blocks on the host, the error of each column weighted by its importance: what engine-quantize does with an
 * importance matrix, and the types that no device encodes.
 *
 * What is minimised is the sum of importance times the square of the difference.  Each block's scales and codes are
 * searched together: candidates for the scale of a group, its codes for each of them, the factor that
 * fits these codes best; then the scale of the block by least squares over the codes of all groups.
 */
#ifndef TOOLS_WEIGHTED_H
#define TOOLS_WEIGHTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"

/* Is it a type whose search uses importance? */
bool weighted_uses(uint32_t type);
/* Must there be importance?  Without, so few bits are worth nothing. */
bool weighted_needs(uint32_t type);
/* Is it a type that is encoded here and on no device? */
bool weighted_only(uint32_t type);

/* Makes the tables that a type's rows need; once, before any row of it.  false: no memory. */
bool weighted_prepare(uint32_t type);
void weighted_end(void);
/* n elements, whole blocks.  importance: one a column; NULL: all are as important. */
void weighted_row(uint32_t type, const float *x, const float *importance, int64_t n, uint8_t *out);

#endif
