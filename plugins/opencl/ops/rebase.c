/* rebase: global indices as the owner of one range, or of that range of every period, sees them. */
#include "rows.h"

static void part(cl_recorder *r, const cl_walk *w, void *ctx)
{
    (void)ctx;
    cl_launch(r, "rebase", "rebase", NULL);
    cl_arg_walk(r, w, 0);
    cl_arg_walk(r, w, 1);
    cl_arg_extents(r, w);
    cl_arg_strides(r, w, 0);
    cl_arg_strides(r, w, 1);
    cl_arg_long(r, r->node->ip[ENG_REBASE_BEGIN]);
    cl_arg_long(r, r->node->ip[ENG_REBASE_END]);
    cl_arg_long(r, r->node->ip[ENG_REBASE_PERIOD]);
    cl_each(r, w);
}

static int record(cl_recorder *r, const eng_node *node)
{
    cl_walk w;
    cl_walk_begin(&w, cl_out(r->graph, node, 0));
    cl_walk_add(&w, r->graph, node->in[0]);
    cl_walk_add(&w, r->graph, node->out[0]);
    w.elements = true;
    cl_walk_flatten(r, &w);
    return cl_walk_run(r, &w, 4, part, NULL);
}

const cl_op cl_op_rebase = {.record = record};
