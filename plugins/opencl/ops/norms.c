/* What rms_norm, norm and l2_norm share: a norm of each row. */
#include "rows.h"

static void part(cl_recorder *r, const cl_walk *w, void *ctx)
{
    const eng_node *node = r->node;
    char options[96];
    (void)ctx;
    cl_row_options(r->device, options, sizeof options, "-D%s=1%s%s",
                   node->op == ENG_OP_RMS_NORM ? "RMS" : node->op == ENG_OP_NORM ? "MEAN" : "L2",
                   w->tensor[1] >= 0 ? " -DWEIGHT=1" : "", w->tensor[2] >= 0 ? " -DBIAS=1" : "");
    cl_launch(r, "norm", "norm", options);
    for (unsigned i = 0; i < 4; i++)
        cl_arg_walk(r, w, i);
    cl_arg_extents(r, w);
    cl_arg_strides(r, w, 0);
    cl_arg_strides(r, w, 3);
    cl_arg_float(r, (float)node->fp[ENG_NORM_EPS]);
    cl_each_row(r, w);
}

int cl_norm_record(cl_recorder *r, const eng_node *node)
{
    cl_walk w;
    cl_walk_begin(&w, cl_out(r->graph, node, 0));
    cl_walk_add(&w, r->graph, node->in[0]);
    cl_walk_add(&w, r->graph, node->op == ENG_OP_L2_NORM ? -1 : node->in[1]);
    cl_walk_add(&w, r->graph, node->op == ENG_OP_NORM ? node->in[2] : -1);
    cl_walk_add(&w, r->graph, node->out[0]);
    cl_walk_join(&w, 1);
    return cl_walk_run(r, &w, 4, part, NULL);
}
