/* What add, sub, mul and div share: b repeated along its dimensions of extent 1. */
#include "rows.h"

static const char *symbol(uint32_t op)
{
    return op == ENG_OP_ADD ? "+" : op == ENG_OP_SUB ? "-" : op == ENG_OP_MUL ? "*" : "/";
}

static void part(cl_recorder *r, const cl_walk *w, void *ctx)
{
    char options[64];
    bool dense = w->ne[0] == 1 || w->nb[0][0] == 4, same = w->ne[0] == 1 || w->nb[1][0] == 4, one = w->nb[1][0] == 0;
    (void)ctx;
    snprintf(options, sizeof options, "-DOP=%s%s", symbol(r->node->op),
             dense && same ? "" : dense && one ? " -DONE=1" : " -DANY=1");
    cl_launch(r, "binary", "binary", options);
    for (unsigned i = 0; i < 3; i++)
        cl_arg_walk(r, w, i);
    cl_arg_extents(r, w);
    for (unsigned i = 0; i < 3; i++)
        cl_arg_strides(r, w, i);
    cl_each(r, w);
}

eng_support cl_binary_supports(cl_device *device, const eng_subgraph *g, const eng_node *node, char *reason,
                               size_t bytes)
{
    const eng_tensor *a = cl_in(g, node, 0), *b = cl_in(g, node, 1);
    (void)device;
    if (a->type != ENG_TYPE_F32 || b->type != ENG_TYPE_F32)
        return cl_no(reason, bytes, "operands must be f32, not %s and %s", cl_type_name(a->type),
                     cl_type_name(b->type));
    return ENG_SUPPORT_YES;
}

int cl_binary_record(cl_recorder *r, const eng_node *node)
{
    cl_walk w;
    cl_walk_begin(&w, cl_out(r->graph, node, 0));
    cl_walk_add(&w, r->graph, node->in[0]);
    cl_walk_add(&w, r->graph, node->in[1]);
    cl_walk_add(&w, r->graph, node->out[0]);
    w.elements = true;
    cl_walk_flatten(r, &w);
    return cl_walk_run(r, &w, 4, part, NULL);
}
