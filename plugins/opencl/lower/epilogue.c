/* Element-wise ops that the op before applies to its result: ops whose table says so (opencl.h). */
#include "../host.h"

#include "../ops/each.h"

/* Has the engine placed the result where the node still reads? */
static bool in_the_way(const cl_recorder *r, const eng_node *node, int32_t result)
{
    const cl_covered to = cl_covered_by(r->plan, result);
    for (unsigned i = 0; i < ENG_MAX_INPUTS; i++) {
        if (node->in[i] < 0)
            continue;
        const cl_covered from = cl_covered_by(r->plan, node->in[i]);
        if (cl_overlap(&from, &to))
            return true;
    }
    return false;
}

const eng_node *cl_epilogue(const cl_recorder *r, uint32_t index, uint32_t *more)
{
    const eng_subgraph *g = r->graph;
    const eng_node *node = eng_subgraph_node(g, index), *next = NULL;
    uint32_t k = index + 1;
    while (k < g->n_nodes && cl_is_view(r->device, next = eng_subgraph_node(g, k)))
        k++;
    if (k >= g->n_nodes || next->op != ENG_OP_UNARY || next->in[0] != node->out[0] || next->section != node->section)
        return NULL;
    const eng_tensor *o = cl_out(g, node, 0), *y = cl_out(g, next, 0);
    if (o->type != ENG_TYPE_F32 || !cl_contiguous(o) || !cl_contiguous(y) || !cl_in_one_piece(r, y) ||
        cl_used_elsewhere(r, node->out[0], next) || in_the_way(r, node, next->out[0]))
        return NULL;
    *more = k - index;
    return next;
}
