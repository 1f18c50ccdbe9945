/* add_id: a + the rows of b that indices name. */
#include "rows.h"

static eng_support supports(cl_device *device, const eng_subgraph *g, const eng_node *node, char *reason, size_t bytes)
{
    return cl_whole_supports(device, g, node, 1, 2, reason, bytes);
}

static void part(cl_recorder *r, const cl_walk *w, void *ctx)
{
    const eng_tensor *b = cl_in(r->graph, r->node, 1), *ids = cl_in(r->graph, r->node, 2);
    int64_t u = ids->nb[0], t = ids->rank > 1 ? ids->nb[1] : 0;
    (void)ctx;
    cl_launch(r, "add_id", "add_id", NULL);
    cl_arg_walk(r, w, 0);
    cl_arg_operand(r, 1);
    cl_arg_tensor(r, r->node->in[2], (uint64_t)(w->first[1] * u + w->first[2] * t));
    cl_arg_walk(r, w, 1);
    cl_arg_extents(r, w);
    cl_arg_strides(r, w, 0);
    cl_arg_strides(r, w, 1);
    cl_arg_long4(r, (int64_t[4]){u, t, b->rank > 1 ? b->nb[1] : 0, cl_extent(b, 1)});
    cl_each(r, w);
}

static int record(cl_recorder *r, const eng_node *node)
{
    cl_walk w;
    cl_walk_begin(&w, cl_out(r->graph, node, 0));
    cl_walk_add(&w, r->graph, node->in[0]);
    cl_walk_add(&w, r->graph, node->out[0]);
    return cl_walk_run(r, &w, 4, part, NULL);
}

const cl_op cl_op_add_id = {.supports = supports, .record = record};
