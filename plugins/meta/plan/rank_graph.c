/* The graph of one rank while it grows: tensors, nodes and sections. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "planner.h"

uint64_t meta_tensor_layout(const meta_planner *p, uint32_t type, const int64_t *ne, int64_t *nb)
{
    uint64_t bytes;

    /* what is planned has been checked */
    eu_shape_layout(meta_type_info(p->device, type), ne, ENG_MAX_RANK, nb, &bytes);
    return bytes;
}

bool meta_is_contiguous(const meta_planner *p, const eng_tensor *t)
{
    const eng_type_info *type = meta_type_info(p->device, t->type);

    return t->nb[0] == (int64_t)type->block_bytes && eu_shape_contiguous(type, t->ne, t->nb);
}

static eng_tensor *add_tensor(meta_planner *p, uint32_t rank, const eng_tensor *like, int32_t *index)
{
    meta_rgraph *g = &p->ranks[rank];

    *index = -1;
    if (meta_failed(p) || !eu_reserve(g->tensors, g->cap_tensors, (size_t)g->n_tensors + 1)) {
        meta_planner_nomem(p);
        return NULL;
    }
    eng_tensor *t = &g->tensors[g->n_tensors];
    memset(t, 0, sizeof *t);
    t->size = sizeof *t;
    t->type = like->type;
    t->rank = like->rank;
    t->binding = -1;
    t->root = (int32_t)g->n_tensors;
    t->name = like->name;
    *index = (int32_t)g->n_tensors++;
    return t;
}

int32_t meta_local_scratch(meta_planner *p, uint32_t rank, const eng_tensor *like, const int64_t *ne)
{
    eng_tensor own = *like; /* `like` may be in the array that grows */
    int32_t index;
    eng_tensor *t = add_tensor(p, rank, &own, &index);

    if (!t)
        return -1;
    memcpy(t->ne, ne, sizeof t->ne);
    t->bytes = meta_tensor_layout(p, t->type, t->ne, t->nb);
    return index;
}

int32_t meta_local_window(meta_planner *p, uint32_t rank, int32_t base, const int64_t *ne, const int64_t *nb,
                          uint64_t offset, const eng_tensor *like)
{
    eng_tensor own = *like;
    int32_t index;
    eng_tensor *t = add_tensor(p, rank, &own, &index);

    if (!t)
        return -1;
    const eng_tensor *b = &p->ranks[rank].tensors[base];
    t->root = b->root;
    t->binding = p->ranks[rank].tensors[b->root].binding;
    t->use = b->use;
    t->layout = b->layout;
    t->offset = b->offset + offset;
    memcpy(t->ne, ne, sizeof t->ne);
    memcpy(t->nb, nb, sizeof t->nb);
    return index;
}

int32_t meta_local_binding(meta_planner *p, uint32_t rank, const eng_tensor *like, uint32_t binding, const int64_t *ne)
{
    meta_rgraph *g = &p->ranks[rank];
    int32_t index = meta_local_scratch(p, rank, like, ne);

    if (index < 0)
        return -1;
    if (!eu_reserve(g->bindings, g->cap_bindings, (size_t)g->n_bindings + 1) ||
        !eu_reserve(g->bound_to, g->cap_bound, (size_t)g->n_bindings + 1)) {
        meta_planner_nomem(p);
        return -1;
    }
    g->tensors[index].binding = (int32_t)g->n_bindings;
    g->tensors[index].use = like->use;
    g->bindings[g->n_bindings] = index;
    g->bound_to[g->n_bindings++] = binding;
    return index;
}

eng_node *meta_local_node(meta_planner *p, uint32_t rank, uint32_t op, const char *name, int32_t origin)
{
    meta_rgraph *g = &p->ranks[rank];

    if (meta_failed(p))
        return NULL;
    if (!eu_reserve(g->nodes, g->cap_nodes, (size_t)g->n_nodes + 1) ||
        !eu_reserve(g->origin, g->cap_origin, (size_t)g->n_nodes + 1)) {
        meta_planner_nomem(p);
        return NULL;
    }
    if (g->at_barrier && op != ENG_OP_EXTERN)
        g->section++;
    g->at_barrier = op == ENG_OP_EXTERN;
    eng_node *n = &g->nodes[g->n_nodes];
    memset(n, 0, sizeof *n);
    n->size = sizeof *n;
    n->op = op;
    for (uint32_t i = 0; i < ENG_MAX_INPUTS; i++)
        n->in[i] = -1;
    for (uint32_t i = 0; i < ENG_MAX_OUTPUTS; i++)
        n->out[i] = -1;
    n->section = g->section;
    n->name = name;
    g->origin[g->n_nodes++] = origin;
    return n;
}

int32_t meta_local_copy(meta_planner *p, uint32_t rank, int32_t tensor)
{
    if (tensor < 0)
        return -1;
    eng_tensor t = p->ranks[rank].tensors[tensor];
    int32_t out = meta_local_scratch(p, rank, &t, t.ne);
    eng_node *n = out < 0 ? NULL : meta_local_node(p, rank, ENG_OP_CPY, t.name, -1);

    if (!n)
        return -1;
    n->in[0] = tensor;
    n->out[0] = out;
    n->ip[ENG_CPY_TYPE] = t.type;
    return out;
}

int32_t meta_local_contiguous(meta_planner *p, uint32_t rank, int32_t tensor)
{
    if (tensor < 0 || meta_is_contiguous(p, &p->ranks[rank].tensors[tensor]))
        return tensor;
    return meta_local_copy(p, rank, tensor);
}
