/* sum_rows: the sum of each row. */
#include "rows.h"

static int record(cl_recorder *r, const eng_node *node)
{
    return cl_in(r->graph, node, 0)->ne[0] == 0 ? cl_zero_result(r) : cl_rows_record(r, node, "sum_rows");
}

const cl_op cl_op_sum_rows = {.record = record};
