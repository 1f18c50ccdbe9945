/* Ops on a pool of states: which are supported, and the arguments that they have alike. */
#include "pool.h"

#include "hot.h"

#define PIECES 16 /* of a pool: as kernels/pieces.clh */

enum { SRC = 1, DST, CU }; /* operands after the pool */

eng_support cl_pool_supports(cl_device *device, const eng_subgraph *g, const eng_node *node, unsigned pool,
                             char *reason, size_t bytes)
{
    const unsigned operands = pool + CU + 1;
    for (unsigned i = 0; i <= operands; i++) {
        const eng_tensor *t = i < operands ? cl_in(g, node, i) : cl_out(g, node, 0);
        const unsigned most = i == pool ? PIECES : 1;
        cl_split s;
        if (cl_split_of(device, g, t, &s) != ENG_OK || s.n > most)
            return cl_no(reason, bytes, "'%s' lies in %u allocations, at most %u work; raise opencl.max_alloc", t->name,
                         s.n, most);
    }
    return ENG_SUPPORT_YES;
}

void cl_arg_pool(cl_recorder *r, unsigned pool, const cl_split *split)
{
    for (unsigned i = 0; i <= pool + CU; i++)
        if (i != pool)
            cl_arg_operand(r, i);
    cl_arg_result(r, 0);
    if (split->n == 1)
        cl_arg_operand(r, pool);
    for (uint32_t i = 0; split->n > 1 && i < split->n; i++)
        cl_arg_tensor(r, cl_in(r->graph, r->node, pool)->root, i * split->piece_bytes);
}

void cl_arg_pool_strides(cl_recorder *r, unsigned pool, const cl_split *split)
{
    const eng_tensor *src = cl_in(r->graph, r->node, pool + SRC), *dst = cl_in(r->graph, r->node, pool + DST);
    const eng_tensor *cu = cl_in(r->graph, r->node, pool + CU);
    cl_arg_long4(r, (int64_t[4]){cl_nb(src, 0), cl_nb(dst, 0), cl_nb(dst, 1), cl_nb(cu, 0)});
    cl_arg_long(r, split->n > 1 ? (int64_t)cl_in(r->graph, r->node, pool)->offset : 0);
    cl_arg_long(r, split->n > 1 ? (int64_t)split->piece_bytes : 1);
}

/* Some 32 elements in a work-item's registers.  Two columns of a work-item share what it reads of tokens, which pays where
 * a compute unit has enough to do without (by count). */
cl_deal cl_pool_deal(const cl_device *device, size_t group, int64_t size, int64_t columns)
{
    cl_deal deal = {.per = size <= 16 ? 4 : size <= 128 ? 8 : size <= 256 ? 16 : 32};
    deal.wide = columns * deal.per / 2 >= 192 * (int64_t)device->compute_units ? 2 : 1;
    deal.columns = (int64_t)group / deal.per * deal.wide;
    return deal;
}

int64_t cl_pool_columns(const cl_device *device, const cl_variant *v, int64_t columns, int64_t heads)
{
    int64_t each = cl_min(v->rows, cl_ceil(columns, 16) * 16);
    while (each > 32 && heads * cl_ceil(columns, each) < 2 * (int64_t)device->compute_units)
        each = cl_ceil(each, 64) * 32;
    return each;
}
