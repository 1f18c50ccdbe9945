/* l2_norm: x / max(sqrt(sum x^2), eps), per row. */
#include "rows.h"

const cl_op cl_op_l2_norm = {.record = cl_norm_record};
