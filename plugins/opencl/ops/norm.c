/* norm: (x - mean) / sqrt(var + eps) * w + bias, per row. */
#include "rows.h"

const cl_op cl_op_norm = {.record = cl_norm_record};
