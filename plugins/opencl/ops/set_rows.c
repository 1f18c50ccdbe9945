/* set_rows. */
#include "indexed.h"

static eng_support supports(cl_device *device, const eng_subgraph *g, const eng_node *node, char *reason, size_t bytes)
{
    const eng_tensor *a = cl_in(g, node, 0);
    (void)device;
    if (!cl_encodes(a->type))
        return cl_no(reason, bytes, "set_rows into %s, which can be read, but not encoded",
                     cl_type_name(a->type));
    return ENG_SUPPORT_YES;
}

static void launch(cl_recorder *r, const cl_walk *part, void *ctx)
{
    const eng_tensor *a = cl_in(r->graph, r->node, 0), *b = cl_in(r->graph, r->node, 1), *ids = cl_in(r->graph, r->node, 2);
    char options[96];
    (void)ctx;

    snprintf(options, sizeof options, "-DAT=%s -DBT=%s -DLOCAL=%zu%s%s", cl_type_name(a->type), cl_type_name(b->type),
             cl_group(r->device), ids->type == ENG_TYPE_I64 ? " -DWIDE" : "",
             cl_encodes_256(a->type) ? " -DGROUPED" : "");
    cl_indexed_launch(r, part, options);
}

static int record(cl_recorder *r, const eng_node *node)
{
    if (cl_ne(cl_in(r->graph, node, 0), 0) == 0 || cl_ne(cl_in(r->graph, node, 0), 1) == 0)
        return r->status; /* nothing to write to */
    cl_walk w = cl_indexed_walk(r, node->in[0], node->in[2], node->in[1]);
    return cl_walk_run(r, &w, ENG_MAX_RANK, launch, NULL);
}

const cl_op cl_op_set_rows = {.supports = supports, .record = record};
