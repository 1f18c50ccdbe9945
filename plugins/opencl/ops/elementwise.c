/* What unary, scale and rebase share: one operand, element by element. */
#include "rows.h"

void cl_arg_elements(cl_recorder *r, const cl_walk *w)
{
    cl_arg_walk(r, w, 0);
    cl_arg_walk(r, w, 1);
    cl_arg_extents(r, w);
    cl_arg_strides(r, w, 0);
    cl_arg_strides(r, w, 1);
}

int cl_record_elements(cl_recorder *r, const eng_node *node,
                       void (*part)(cl_recorder *r, const cl_walk *w, void *ctx))
{
    cl_walk w;
    cl_walk_begin(&w, cl_out(r->graph, node, 0));
    cl_walk_add(&w, r->graph, node->in[0]);
    cl_walk_add(&w, r->graph, node->out[0]);
    w.elements = true;
    cl_walk_flatten(r, &w);
    return cl_walk_run(r, &w, 4, part, NULL);
}

eng_support cl_takes_rows_of(uint32_t type, const eng_subgraph *g, const eng_node *node, char *reason, size_t bytes)
{
    for (unsigned i = 0; i < ENG_MAX_INPUTS; i++) {
        const eng_tensor *t = cl_in(g, node, i);
        if (t && (t->type != type || !cl_rows_contiguous(t)))
            return cl_no(reason, bytes, "operands must be %s with contiguous rows", cl_type_name(type));
    }
    return ENG_SUPPORT_YES;
}
