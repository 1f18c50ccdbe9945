/* store: dst = x, converted as cpy does. */
#include "hot.h"

static eng_support supports(cl_device *device, const eng_subgraph *g, const eng_node *node, char *reason, size_t bytes)
{
    return cl_convert_supports(device, cl_in(g, node, 1), cl_in(g, node, 0), reason, bytes);
}

static int record(cl_recorder *r, const eng_node *node)
{
    return cl_convert_record(r, node->in[1], node->in[0], false);
}

const cl_op cl_op_store = {.supports = supports, .record = record};
