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
/* A row of operand 0 to a row of result 0, by the kernel of that name in the file of that name. */
int cl_rows_record(cl_recorder *r, const eng_node *node, const char *kernel);
/* options with that added; for cl_launch */
const char *cl_row_options(const cl_device *device, char *text, size_t bytes, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* -- what ops share ------------------------------------------------------------ */

/* Can the op do without walking over operands from .. to: does each that there is lie in one piece? */
eng_support cl_whole_supports(cl_device *device, const eng_subgraph *g, const eng_node *node, unsigned from, unsigned to,
                              char *reason, size_t bytes);

/* norms.c, top_k.c */
int cl_norm_record(cl_recorder *r, const eng_node *node);
eng_support cl_top_k_supports(cl_device *device, const eng_subgraph *g, const eng_node *node, char *reason,
                              size_t bytes);
int cl_top_k_record(cl_recorder *r, const eng_node *node);

/* moves.c.  cl_move_to copies all of operand tensor `in` to the part of result 0 that
 * begins at first[]; cl_zero_result fills result 0 with zeros. */
int cl_move_to(cl_recorder *r, int32_t in, const int64_t *first);
int cl_zero_result(cl_recorder *r);
const char *cl_unit_option(unsigned bytes); /* build option: copy by units of so many bytes */
int64_t cl_extent(const eng_tensor *t, unsigned dimension);

#endif
