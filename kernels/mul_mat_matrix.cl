/* kernels/mul_mat_matrix.cl - mul_mat of weights in lanes and up to 32 columns by a matrix unit, exactly (matrix_rows.clh). */
#include "matrix_rows.clh"

#include "few.clh"
