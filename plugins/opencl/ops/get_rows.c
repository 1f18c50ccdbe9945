/* get_rows. */
#include "indexed.h"

static void launch(cl_recorder *r, const cl_walk *part, void *ctx)
{
    const eng_tensor *a = cl_in(r->graph, r->node, 0), *ids = cl_in(r->graph, r->node, 1);
    char matrix[CL_OPTIONS] = "-DAT=f32", options[CL_OPTIONS + 64]; /* i32 rows are copied as f32: same bits */
    (void)ctx;

    if (a->type != ENG_TYPE_I32)
        cl_matrix_options(r->device, a, matrix);
    snprintf(options, sizeof options, "%s -DLOCAL=%zu%s", matrix, cl_group(r->device),
             ids->type == ENG_TYPE_I64 ? " -DWIDE" : "");
    cl_indexed_launch(r, part, options);
    cl_arg_long(r, cl_ne(a, 1));
}

static int record(cl_recorder *r, const eng_node *node)
{
    cl_walk w = cl_indexed_walk(r, node->in[0], node->in[1], node->out[0]);
    return cl_walk_run(r, &w, ENG_MAX_RANK, launch, NULL);
}

const cl_op cl_op_get_rows = {.record = record};
