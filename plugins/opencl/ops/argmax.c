/* argmax: the index of the largest element of each row (top_k.c does it). */
#include "rows.h"

const cl_op cl_op_argmax = {.supports = cl_top_k_supports, .record = cl_top_k_record};
