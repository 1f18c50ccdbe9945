/* soft_max: per row, with mask and sinks. */
#include "rows.h"

static void part(cl_recorder *r, const cl_walk *w, void *ctx)
{
    const eng_node *node = r->node;
    const eng_tensor *mask = cl_in(r->graph, node, 1), *x = cl_in(r->graph, node, 0);
    char options[96];
    (void)ctx;
    cl_row_options(r->device, options, sizeof options, "-DALIBI=%d %s%s", (float)node->fp[ENG_SOFT_MAX_MAX_BIAS] > 0,
                   !mask ? "" : mask->type == ENG_TYPE_F16 ? "-DMASK=1 -DMASK_HALF=1" : "-DMASK=1",
                   node->in[2] >= 0 ? " -DSINKS=1" : "");
    cl_launch(r, "soft_max", "soft_max", options);
    cl_arg_walk(r, w, 0);
    cl_arg_walk(r, w, 1);
    if (node->in[2] < 0)
        cl_arg_none(r);
    else
        cl_arg_tensor(r, node->in[2], (uint64_t)w->first[2] * 4);
    cl_arg_walk(r, w, 2);
    cl_arg_extents(r, w);
    for (unsigned i = 0; i < 3; i++)
        cl_arg_strides(r, w, i);
    cl_arg_float(r, (float)node->fp[ENG_SOFT_MAX_SCALE]);
    cl_arg_float(r, (float)node->fp[ENG_SOFT_MAX_MAX_BIAS]);
    cl_arg_int(r, (int32_t)w->first[2]);
    cl_arg_int(r, (int32_t)(x->rank > 2 ? x->ne[2] : 1));
    cl_each_row(r, w);
}

/* Sinks. */
static eng_support supports(cl_device *device, const eng_subgraph *g, const eng_node *node, char *reason, size_t bytes)
{
    return cl_whole_supports(device, g, node, 2, 2, reason, bytes);
}

static int record(cl_recorder *r, const eng_node *node)
{
    cl_walk w;
    cl_walk_begin(&w, cl_out(r->graph, node, 0));
    cl_walk_add(&w, r->graph, node->in[0]);
    cl_walk_add(&w, r->graph, node->in[1]);
    cl_walk_add(&w, r->graph, node->out[0]);
    return cl_walk_run(r, &w, 4, part, NULL);
}

const cl_op cl_op_soft_max = {.supports = supports, .record = record};
