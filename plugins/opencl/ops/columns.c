/* Columns of a product packed for it: in the order in which its kernel meets them, or as whole numbers. */
#include "hot.h"
#include "variant.h"

cl_packed cl_pack_columns(cl_recorder *r, const cl_variant *v, const char *options, const cl_columns *b)
{
    const int64_t groups = cl_ceil(b->k, 32), tiles = cl_ceil(b->n, CL_PACK_COLS);
    cl_packed p = {.col = groups * v->packed};
    int64_t bytes = tiles * CL_PACK_COLS * p.col;
    for (int i = 0; i < 4; i++) {
        p.nb[i] = bytes;
        bytes *= b->ext[i];
    }
    p.at = cl_temporary(r, (uint64_t)bytes);
    cl_launch_variant(r, v, "mul_mat_pack", options);
    cl_arg_tensor(r, b->tensor, b->offset);
    cl_arg_temporary(r, p.at);
    cl_arg_long(r, b->k);
    cl_arg_long(r, b->n);
    cl_arg_long(r, b->col);
    cl_arg_long(r, p.col);
    cl_arg_long4(r, b->ext);
    cl_arg_long4(r, b->nb);
    cl_arg_long4(r, p.nb);
    cl_size3(r, (uint64_t)tiles, 1, (uint64_t)cl_ceil(groups, CL_PACK_GROUPS), 1,
             (uint64_t)(b->ext[0] * b->ext[1] * b->ext[2] * b->ext[3]), 1);
    return p;
}
