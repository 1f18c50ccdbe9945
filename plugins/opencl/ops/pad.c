/* pad: x with zeros around it. */
#include "rows.h"

static int record(cl_recorder *r, const eng_node *node)
{
    if (cl_zero_result(r) == ENG_OK && cl_elements(cl_in(r->graph, node, 0)) > 0)
        cl_move_to(r, node->in[0], &node->ip[ENG_PAD_LEFT0]);
    return r->status;
}

const cl_op cl_op_pad = {.record = record};
