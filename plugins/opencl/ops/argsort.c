/* argsort: the indices that sort each row. */
#include "rows.h"
#include "sort.h"

static eng_support supports(cl_device *device, const eng_subgraph *g, const eng_node *node, char *reason, size_t bytes)
{
    const int64_t n = cl_in(g, node, 0)->ne[0];
    if (n >= INT32_MAX)
        return cl_no(reason, bytes, "rows of %lld elements are too long for i32 indices", (long long)n);
    if (!cl_sort_fits(device, n))
        return cl_no(reason, bytes, "an allocation of %llu bytes does not do for sorting a row of %lld elements",
                     (unsigned long long)device->hard_limit, (long long)n);
    return ENG_SUPPORT_YES;
}

static int record(cl_recorder *r, const eng_node *node)
{
    cl_walk w;
    cl_walk_begin(&w, cl_out(r->graph, node, 0));
    cl_walk_add(&w, r->graph, node->in[0]);
    cl_walk_add(&w, r->graph, node->out[0]);
    cl_walk_join(&w, 1);
    return cl_sort_record(r, &w, &(cl_order){.k = w.ne[0], .ascending = node->ip[ENG_ARGSORT_DESCENDING] == 0});
}

const cl_op cl_op_argsort = {.supports = supports, .record = record};
