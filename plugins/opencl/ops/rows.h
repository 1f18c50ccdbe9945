/* Sizes of the kernels that include kernels/row.clh. */
#ifndef CL_OPS_ROWS_H
#define CL_OPS_ROWS_H

#include "../opencl.h"

/* The first four extents of a part, and strides of its operand i, as arguments. */
void cl_arg_extents(cl_recorder *r, const cl_walk *part);
void cl_arg_strides(cl_recorder *r, const cl_walk *part, unsigned i);

/* EACH kernels: the last two arguments, chunk and rows_per, and the size. */
void cl_each(cl_recorder *r, const cl_walk *part);
/* Row kernels: the last argument, rows_per, and the size. */
void cl_each_row(cl_recorder *r, const cl_walk *part);
/* Work-items of a group of a row kernel: its build option "-DGROUP=n" (SIMT). */
size_t cl_group_of(const cl_device *device);
/* options with that added; for cl_launch */
const char *cl_row_options(const cl_device *device, char *text, size_t bytes, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Result 0 of zeros (moves.c). */
int cl_zero_result(cl_recorder *r);

#endif
