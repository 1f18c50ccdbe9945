/* rms_norm: x / sqrt(mean(x^2) + eps) * w, per row. */
#include "rows.h"

const cl_op cl_op_rms_norm = {.record = cl_norm_record};
