/* What get_rows and set_rows share: rows of a matrix that indices name (indexed.c). */
#ifndef CL_INDEXED_H
#define CL_INDEXED_H

#include "hot.h"
#include "variant.h"

/* The space of these ops: index, row of the matrix, and the two dimensions that all have.
 * The matrix's rows are cut where its pieces end, the others where the operands' do. */
enum { CL_DIM_I = 1, CL_DIM_V, CL_DIM_P, CL_DIM_Q };

/* `rows`: what is read or written for each index, indices along its dimension 1.  Operands
 * of the walk: the matrix, the indices, the rows. */
cl_walk cl_indexed_walk(const cl_recorder *r, int32_t matrix, int32_t ids, int32_t rows);
/* The launch, the operands, the arguments of INDEXED_ARGS and the sizes. */
void cl_indexed_launch(cl_recorder *r, const cl_walk *part, const char *options);

#endif
