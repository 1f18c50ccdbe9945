/* What becomes of values: found backwards, before anything is placed. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "planner.h"

/* Where a node is likely to run, and so its operands are wanted. */
typedef struct where {
    bool everywhere; /* on shards                                               */
    uint32_t ranks;  /* else on these                                           */
} where;

/* Bound tensors among the operands tie a node to where they are.  What is replicated does not. */
static where tied_to(const meta_planner *p, const eng_node *n)
{
    where w = {false, 0};

    for (uint32_t i = 0; i < ENG_MAX_INPUTS; i++) {
        if (n->in[i] < 0)
            continue;
        int32_t root = meta_tensor_of(p, n->in[i])->root;
        int32_t binding = meta_tensor_of(p, root)->binding;
        if (binding < 0)
            continue;
        w.everywhere |= p->places[binding].kind == META_SHARDED;
        if (p->places[binding].kind == META_SINGLE)
            w.ranks |= 1u << p->places[binding].rank;
    }
    return w;
}

/* A node that nothing ties goes where its result is wanted. */
static where runs_at(const meta_planner *p, uint32_t index, const eng_node *n)
{
    where w = tied_to(p, n);

    if (p->forced && p->forced[index] >= 0)
        return (where){false, 1u << p->forced[index]};
    if (w.everywhere || w.ranks)
        return w;
    for (uint32_t i = 0; i < ENG_MAX_OUTPUTS; i++) {
        if (n->out[i] < 0)
            continue;
        const meta_value *v = &p->values[n->out[i]];
        w.everywhere |= v->everywhere || v->wish;
        w.ranks |= v->wanted;
    }
    return w;
}

/* Who reads the operand, and could they read a partial sum? */
static void note_reader(meta_planner *p, const eng_op_info *op, const eng_node *n, uint32_t operand)
{
    meta_value *v = &p->values[n->in[operand]];
    const meta_value *out = n->out[0] >= 0 ? &p->values[n->out[0]] : NULL;
    bool linear = op->linear_together ? operand < 2 : meta_rule_linear(op, n, 1u << operand);
    bool passes = n->op == ENG_OP_RESHAPE || n->op == ENG_OP_PERMUTE;

    v->n_slices += n->op == ENG_OP_SLICE;
    v->n_readers += op->flags & ENG_OPF_VIEW && out ? out->n_readers : 1;
    v->full_use |= !linear || (passes && out && out->full_use);
}

void meta_find_uses(meta_planner *p)
{
    for (uint32_t k = p->graph->n_nodes; k-- > 0;) {
        const eng_node *n = eng_subgraph_node(p->graph, k);
        const eng_op_info *op = meta_op_info(p->device, n->op);
        where w = runs_at(p, k, n);
        for (uint32_t i = 0; op && i < op->n_in; i++) {
            if (n->in[i] < 0)
                continue;
            note_reader(p, op, n, i);
            p->values[n->in[i]].everywhere |= w.everywhere;
            p->values[n->in[i]].wanted |= w.ranks;
        }
        for (uint32_t i = 0; op && i < op->n_out; i++)
            if (n->out[i] >= 0)
                p->values[n->out[i]].maker = (int32_t)k;
    }
}
