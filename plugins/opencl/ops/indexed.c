/* See indexed.h. */
#include "indexed.h"

cl_walk cl_indexed_walk(const cl_recorder *r, int32_t matrix, int32_t ids, int32_t rows)
{
    const eng_tensor *a = eng_subgraph_tensor(r->graph, matrix), *index = eng_subgraph_tensor(r->graph, ids);
    const eng_tensor *x = eng_subgraph_tensor(r->graph, rows);
    cl_walk w = {.ne = {1, cl_ne(x, 1), cl_max(cl_ne(a, 1), 1), cl_ne(x, 2), cl_ne(x, 3), 1, 1, 1}};

    cl_walk_operand(&w, matrix, cl_ne(a, 1) ? cl_row_bytes(a) : 0);
    cl_walk_operand(&w, ids, cl_type_bytes(index->type));
    cl_walk_operand(&w, rows, cl_row_bytes(x));
    for (unsigned d = 0; d < 3; d++) {
        w.nb[0][CL_DIM_V + d] = cl_nb(a, d + 1);
        w.nb[1][d == 0 ? CL_DIM_I : CL_DIM_V + d] = cl_ne(index, d) == 1 ? 0 : cl_nb(index, d);
        w.nb[2][d == 0 ? CL_DIM_I : CL_DIM_V + d] = cl_nb(x, d + 1);
    }
    return w;
}

void cl_indexed_launch(cl_recorder *r, const cl_walk *part, const char *options)
{
    const eng_tensor *a = eng_subgraph_tensor(r->graph, part->tensor[0]);
    const bool grouped = r->node->op == ENG_OP_SET_ROWS && cl_encodes_256(a->type);
    const cl_variant *v = cl_variant_of(r->device, r->node->op, grouped ? CL_STORE_256 : CL_STORE_32);
    const int64_t n = cl_ne(a, 0), units = cl_ceil(n, v->rows ? v->rows : cl_group_elements(a->type));
    const int64_t per = cl_min(units, v->columns);

    cl_launch_variant(r, v, v->kernel, options);
    for (unsigned i = 0; i < 3; i++)
        cl_arg_walk(r, part, i);
    cl_arg_long(r, n);
    cl_arg_long(r, part->first[CL_DIM_V]);
    cl_arg_long(r, part->ne[CL_DIM_V]);
    cl_arg_long(r, per);
    cl_arg_long4(r, (int64_t[4]){part->ne[CL_DIM_I], part->ne[CL_DIM_P], part->ne[CL_DIM_Q], 1});
    cl_arg_long(r, part->nb[0][CL_DIM_V]);
    for (unsigned i = 0; i < 3; i++)
        cl_arg_long4(r, (int64_t[4]){part->nb[i][CL_DIM_I], part->nb[i][CL_DIM_P], part->nb[i][CL_DIM_Q]});
    cl_size2(r, cl_ceil(units, per), v->group,
             part->ne[CL_DIM_I] * part->ne[CL_DIM_P] * part->ne[CL_DIM_Q], 1);
}
