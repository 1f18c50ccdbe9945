/* kernels/mul_mat_id_matrix.cl - mul_mat_id (see mul_mat_id.cl) of weights in lanes and few tokens by a matrix unit (matrix_rows.clh). */
#include "matrix_rows.clh"

#include "experts_pairs.clh"
