/* sum_rows: the sum of each row. */
#include "rows.h"

static void part(cl_recorder *r, const cl_walk *w, void *ctx)
{
    char options[64];
    (void)ctx;
    cl_launch(r, "sum_rows", "sum_rows", cl_row_options(r->device, options, sizeof options, " "));
    cl_arg_walk(r, w, 0);
    cl_arg_walk(r, w, 1);
    cl_arg_extents(r, w);
    cl_arg_strides(r, w, 0);
    cl_arg_strides(r, w, 1);
    cl_each_row(r, w);
}

static int record(cl_recorder *r, const eng_node *node)
{
    cl_walk w;
    const eng_tensor *x = cl_in(r->graph, node, 0);
    cl_walk_begin(&w, x);
    cl_walk_add(&w, r->graph, node->in[0]);
    cl_walk_add(&w, r->graph, node->out[0]);
    if (x->ne[0] == 0)
        return cl_zero_result(r);
    cl_walk_join(&w, 1);
    return cl_walk_run(r, &w, 4, part, NULL);
}

const cl_op cl_op_sum_rows = {NULL, record};
