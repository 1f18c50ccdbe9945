/* cumsum: sums of the elements up to each one, along the rows. */
#include "rows.h"

static int record(cl_recorder *r, const eng_node *node)
{
    return cl_rows_record(r, node, "cumsum");
}

const cl_op cl_op_cumsum = {.record = record};
