/*
 * Ops on a pool of states (kernels/states.clh, kernels/ssm_conv.cl).  Data say which rows of it are used, so the kernel
 * gets every piece of it; all other operands must lie in one piece.  Such an op's last operands are the pool, which is
 * number `pool`, and src, dst and cu.
 */
#ifndef CL_OPS_POOL_H
#define CL_OPS_POOL_H

#include "variant.h"

/* Do the node's operands and its result lie in as few allocations as that?  Else `reason` says which does not. */
eng_support cl_pool_supports(cl_device *device, const eng_subgraph *g, const eng_node *node, unsigned pool,
                             char *reason, size_t bytes);

/* The buffers of a launch: all other operands, result 0, and the pool's pieces, cut as `split` says. */
void cl_arg_pool(cl_recorder *r, unsigned pool, const cl_split *split);
/* The numbers index_nb, state_offset and piece_bytes: strides of src, dst and cu, and where the pool begins. */
void cl_arg_pool_strides(cl_recorder *r, unsigned pool, const cl_split *split);

/* Tokens of a sequence from which a card works at a few together (kernels/tokens.clh): as many as two tiles may be. */
#define CL_TOGETHER 8
/* May it, for states of so many elements?  A tile has fewer tokens where they are more. */
#define CL_TOGETHER_SIZE 256

/* How a card's variant shares columns of states, of `size` elements each and `columns` in all: work-items of a column,
 * columns of a work-item, and of a group. */
typedef struct cl_deal {
    int per, wide;
    int64_t columns;
} cl_deal;
cl_deal cl_pool_deal(const cl_device *device, size_t group, int64_t size, int64_t columns);

/* Columns of a work-item, a multiple of 16: fewer than the variant's where there are few heads, of `columns` each, for the device. */
int64_t cl_pool_columns(const cl_device *device, const cl_variant *v, int64_t columns, int64_t heads);

#endif
