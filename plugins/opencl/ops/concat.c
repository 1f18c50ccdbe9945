/* concat: a followed by b along a dimension. */
#include "rows.h"

static int record(cl_recorder *r, const eng_node *node)
{
    int64_t first[ENG_MAX_RANK] = {0};
    int64_t dim = node->ip[ENG_CONCAT_DIM];
    if (cl_move_to(r, node->in[0], first) == ENG_OK) {
        first[dim] = cl_extent(cl_in(r->graph, node, 0), (unsigned)dim);
        cl_move_to(r, node->in[1], first);
    }
    return r->status;
}

const cl_op cl_op_concat = {.record = record};
