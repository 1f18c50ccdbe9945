/* pad: x with zeros around it. */
#include "rows.h"

static int record(cl_recorder *r, const eng_node *node)
{
    if (cl_zero_result(r) == ENG_OK && cl_elements(cl_in(r->graph, node, 0)) > 0)
        cl_move_to(r, node->in[0], &node->ip[ENG_PAD_LEFT0]);
    return r->status;
}

static eng_support supports(cl_device *device, const eng_subgraph *g, const eng_node *node, char *reason, size_t bytes)
{
    (void)device;
    return cl_takes_rows_of(ENG_TYPE_F32, g, node, reason, bytes);
}

const cl_op cl_op_pad = {supports, record};
