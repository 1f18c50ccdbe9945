/* mul: a * b, element by element. */
#include "rows.h"

const cl_op cl_op_mul = {cl_binary_supports, cl_binary_record};
