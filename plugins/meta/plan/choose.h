/*
 * How one node shall run: strategy.c names the ways, price.c prices them and keeps the
 * cheapest, planner.c carries it out.
 */
#ifndef META_CHOOSE_H
#define META_CHOOSE_H

#include "planner.h"

typedef struct meta_chooser {
    meta_planner *p;
    const eng_node *node;
    const eng_op_info *op;
    uint32_t index; /* of the node                                            */
    double operations; /* of the whole node, where bytes do not tell the work */
    meta_strategy best;
    double cost;    /* of the best; HUGE_VAL: there is none yet               */
} meta_chooser;

static inline bool meta_is_inout(const meta_chooser *c, uint32_t i)
{
    return i < c->op->n_in && c->op->in[i].inout && c->node->in[i] >= 0;
}
/* The one rank that can run the node, or -1. */
static inline int meta_forced_rank(const meta_chooser *c)
{
    return c->p->forced ? c->p->forced[c->index] : -1;
}

/* Operations that a price counts: of ops that sum over an axis, for which bytes do not tell the work. */
double meta_operations(const meta_chooser *c);
/* Keeps the strategy if it is cheaper than the best so far. */
void meta_consider(meta_chooser *c, const meta_strategy *s);
/* Considers all that there are; nothing is kept of a write in place that shards do not allow. */
void meta_choose(meta_chooser *c);
/* All operands and results at `place`, run by `ranks`. */
void meta_everywhere(meta_strategy *s, const meta_place *place, uint32_t ranks);

#endif
