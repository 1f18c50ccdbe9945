/* quantize: see convert.c. */
#include "hot.h"

static eng_support supports(cl_device *device, const eng_subgraph *g, const eng_node *node, char *reason, size_t bytes)
{
    return cl_convert_supports(device, cl_in(g, node, 0), cl_out(g, node, 0), reason, bytes);
}

static int record(cl_recorder *r, const eng_node *node)
{
    return cl_convert_record(r, node->in[0], node->out[0], node->ip[ENG_CPY_SEARCH] != 0);
}

const cl_op cl_op_quantize = {.supports = supports, .record = record};
