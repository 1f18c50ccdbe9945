/* rebase: global indices as the owner of one range, or of that range of every period, sees them. */
#include "rows.h"

static void part(cl_recorder *r, const cl_walk *w, void *ctx)
{
    (void)ctx;
    cl_launch(r, "rebase", "rebase", NULL);
    cl_arg_elements(r, w);
    cl_arg_long(r, r->node->ip[ENG_REBASE_BEGIN]);
    cl_arg_long(r, r->node->ip[ENG_REBASE_END]);
    cl_arg_long(r, r->node->ip[ENG_REBASE_PERIOD]);
    cl_each(r, w);
}

static eng_support supports(cl_device *device, const eng_subgraph *g, const eng_node *node, char *reason, size_t bytes)
{
    (void)device;
    return cl_takes_rows_of(ENG_TYPE_I32, g, node, reason, bytes);
}

static int record(cl_recorder *r, const eng_node *node)
{
    return cl_record_elements(r, node, part);
}

const cl_op cl_op_rebase = {supports, record};
