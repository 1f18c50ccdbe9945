/* l2_norm: x / max(sqrt(sum x^2), eps), per row. */
#include "rows.h"

const cl_op cl_op_l2_norm = {cl_norm_supports, cl_norm_record};
