/*
 * Results made where they are stored.  A store whose operand nobody else reads, right behind the node that makes it, copies
 * what could have been written there at once: the result becomes a view of the stored tensor, and the store goes.
 *
 * Outputs alone, which no node reads: what a plan reads, too, may be read under another name (a host may bind a tensor in
 * several slots) between the two nodes, or by the first.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "../graph/graph.h"
#include "build.h"

/* Does the tensor's memory belong to an output of a store? */
static bool is_output(const eng_subgraph *g, int32_t tensor)
{
    const eng_tensor *t = eng_subgraph_tensor(g, tensor), *owner = t != NULL ? eng_subgraph_tensor(g, t->root) : NULL;
    return owner != NULL && owner->binding >= 0 && (owner->use & ENG_USE_MASK) == ENG_USE_OUTPUT && owner->layout == 0;
}

/* As many elements of the same type, and each where it would be. */
static bool lies_alike(const eng_tensor *a, const eng_tensor *b)
{
    for (uint32_t d = 0; d < ENG_MAX_RANK; d++) {
        const int64_t n = d < a->rank ? a->ne[d] : 1;
        if (n != (d < b->rank ? b->ne[d] : 1) || (n > 1 && a->nb[d] != b->nb[d]))
            return false;
    }
    return a->type == b->type;
}

/* The last node before `store` that is more than a view, or NULL. */
static const eng_node *node_before(const eng_subgraph *g, uint32_t store)
{
    for (uint32_t i = store; i-- > 0;) {
        const eng_node *n = eng_subgraph_node(g, i);
        const eng_op_info *info = eng_op_get(n->op);
        if (info == NULL || (info->flags & ENG_OPF_BARRIER))
            return NULL;
        if (!(info->flags & ENG_OPF_VIEW))
            return n;
    }
    return NULL;
}

/* Is the node a store that need not be? */
static bool may_go(const eng_subgraph *g, uint32_t index, const uint32_t *readers)
{
    const eng_node *store = eng_subgraph_node(g, index);
    if (store->op != ENG_OP_STORE || !is_output(g, store->in[0]))
        return false;
    const int32_t x = store->in[1];
    const eng_tensor *t = eng_subgraph_tensor(g, x);
    const eng_node *maker = node_before(g, index);
    if (t->root != x || t->binding >= 0 || readers[x] != 1 || maker == NULL || maker->section != store->section ||
        !lies_alike(t, eng_subgraph_tensor(g, store->in[0])))
        return false;
    bool makes = false, reads = false;
    for (uint32_t k = 0; k < ENG_MAX_OUTPUTS; k++)
        makes |= maker->out[k] == x;
    for (uint32_t k = 0; k < ENG_MAX_INPUTS; k++)
        reads |= is_output(g, maker->in[k]);
    return makes && !reads;
}

bool eng_make_direct(eng_subgraph *g, eng_tensor *tensors, eng_node *nodes)
{
    uint32_t n = 0, *readers = calloc((size_t)g->n_tensors + 1, sizeof *readers);
    if (readers == NULL)
        return false;
    for (uint32_t i = 0; i < g->n_nodes; i++) /* views read what they are of */
        for (uint32_t k = 0; k < ENG_MAX_INPUTS; k++)
            if (nodes[i].in[k] >= 0)
                readers[nodes[i].in[k]]++;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (!may_go(g, i, readers)) {
            nodes[n++] = nodes[i];
            continue;
        }
        const eng_tensor *to = &tensors[nodes[i].in[0]];
        eng_tensor *x = &tensors[nodes[i].in[1]];
        x->root = to->root;
        x->offset = to->offset;
    }
    g->n_nodes = n;
    free(readers);
    return true;
}
