/* Rows sorted as indices (kernels/sort.cl): what top_k is made of where k is large. */
#ifndef CL_OPS_SORT_H
#define CL_OPS_SORT_H

#include "../opencl.h"

typedef struct cl_order {
    int64_t k;      /* indices of each row that are kept, of its n               */
    bool ascending; /* smallest first, else largest first; equal values: lower index first */
} cl_order;

/* Has the device memory for sorting a row of n elements? */
bool cl_sort_fits(const cl_device *device, int64_t n);
/* Records the sorting of a walk whose operand 0 are f32 rows, and operand 1 their indices: i32, k a row, dense.
 * Returns r->status. */
int cl_sort_record(cl_recorder *r, const cl_walk *w, const cl_order *order);

#endif
