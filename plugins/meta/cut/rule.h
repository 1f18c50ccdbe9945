/*
 * Placements, and what an op does to them: given where one operand is cut, where
 * must the others be cut, and what comes out?  Pure functions over the op table.
 */
#ifndef META_RULE_H
#define META_RULE_H

#include "cut.h"

typedef enum meta_kind {
    META_REPLICATED = 0, /* every main rank holds all of it                   */
    META_SHARDED = 1,    /* cut along an axis                                 */
    META_PARTIAL = 2,    /* the value is the sum of what the ranks hold       */
    META_SINGLE = 3      /* one rank holds it                                 */
} meta_kind;

typedef struct meta_place {
    uint8_t kind; /* meta_kind                                                */
    uint8_t rank; /* single: which                                            */
    uint32_t ranks; /* who holds something (bits); single: see rank           */
    meta_cut cut; /* sharded                                                  */
    /* partial, of experts dealt out: see owned.c                             */
    int32_t owner; /* 1 + the value of the ids; 0: an ordinary partial sum    */
    const meta_partition *owners; /* of the experts, owner_inner to a unit    */
    int64_t owner_inner;
} meta_place;

/* One way to run a node. */
typedef struct meta_strategy {
    meta_place in[ENG_MAX_INPUTS];
    meta_place out[ENG_MAX_OUTPUTS];
    uint32_t ranks;    /* who runs it                                         */
    int rebase;        /* operand whose indices become local ones, or -1      */
    int64_t rebase_inner; /* rows of the indexed operand, or cells, per unit of the axis */
    bool rebase_repeats;  /* they are the axis several times over: a rank has a range of each */
    bool lengths;      /* rows are cut: their norm is that of the ranks' parts' lengths */
    bool merge;        /* ranks see different cells: their results merge by log-sum-exp */
    const meta_partition *part; /* of the axis, if any                        */
} meta_strategy;

bool meta_place_equal(const meta_place *a, const meta_place *b);
static inline meta_place meta_place_replicated(void)
{
    return (meta_place){.kind = META_REPLICATED};
}
static inline meta_place meta_place_single(uint32_t rank)
{
    return (meta_place){.kind = META_SINGLE, .rank = (uint8_t)rank};
}
static inline meta_place meta_place_sharded(const meta_cut *cut)
{
    return (meta_place){.kind = META_SHARDED, .ranks = meta_part_mask(cut->part), .cut = *cut};
}

/*
 * The strategy that follows from cutting operand `which` as `cut`.  have[i]: how
 * operand i is cut already, or NULL (only concat asks).  False if the op
 * cannot run on such shards.
 */
bool meta_rule_apply(const eng_services *services, const eng_subgraph *graph, const eng_node *node, uint32_t which,
                     const meta_cut *cut, const meta_cut *const *have, meta_strategy *strategy);
/* The same for ops whose results' shards are the op on the operands' shards. */
bool meta_follow_apply(const eng_services *services, const eng_subgraph *graph, const eng_node *node, uint32_t which,
                       const meta_cut *cut, const meta_cut *const *have, meta_strategy *strategy);

/* Do the shapes of a node of a rank's graph agree with the op's row?  What the planner
 * makes must; a rank's device does not check it again. */
bool meta_rule_agrees(const eng_services *services, const eng_subgraph *graph, const eng_node *node);

/* May partial sums in the operands of `partial` (bits) flow through the node? */
bool meta_rule_linear(const eng_op_info *op, const eng_node *node, uint32_t partial);

#endif
