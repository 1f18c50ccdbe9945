/* Who reads a tensor: asked of every node that might be fused with the next, so it is counted once for the whole graph. */
#include <stdlib.h>

#include "../host.h"

/* The first node that reads tensor `root` or a view of it, and whether another does. */
struct cl_readers { const eng_node *first; bool others; };

bool cl_is_view(const cl_device *device, const eng_node *node)
{
    const eng_op_info *info = device->sv->op_info(device->sv->host, node->op);
    return info && (info->flags & ENG_OPF_VIEW);
}

int cl_readers_count(eng_plan_state *plan)
{
    const eng_subgraph *g = plan->graph;
    plan->readers = calloc((size_t)g->n_tensors + 1, sizeof *plan->readers);
    if (!plan->readers)
        return cl_no_memory(plan->device, "a plan");
    for (uint32_t k = 0; k < g->n_nodes; k++) {
        const eng_node *node = eng_subgraph_node(g, k);
        for (unsigned i = 0; i < ENG_MAX_INPUTS && !cl_is_view(plan->device, node); i++) {
            if (node->in[i] < 0)
                continue;
            cl_readers *readers = &plan->readers[eng_subgraph_tensor(g, node->in[i])->root];
            readers->others = readers->others || (readers->first && readers->first != node);
            readers->first = readers->first ? readers->first : node;
        }
    }
    return ENG_OK;
}

bool cl_used_elsewhere(const cl_recorder *r, int32_t root, const eng_node *by)
{
    const cl_readers *readers = &r->plan->readers[root];
    return readers->first && (readers->others || readers->first != by);
}
