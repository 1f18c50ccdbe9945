/* Where in an instance what its launches name lies, and what a plan's parameters make of their numbers. */
#include "../host.h"

bool cl_instance_place(const eng_instance_state *instance, int32_t tensor, uint64_t offset, cl_place *place)
{
    const eng_subgraph *g = instance->plan->graph;
    const eng_tensor *t = eng_subgraph_tensor(g, tensor);
    if (!t)
        return false;
    const eng_tensor *root = eng_subgraph_tensor(g, t->root);
    offset += t->offset;
    if (root->binding >= 0) {
        const cl_bound *b = &instance->bound[root->binding];
        return cl_store_place(b->store, b->tensor, offset, place);
    }
    const cl_slot *slot = &instance->plan->slots[t->root];
    if (instance->plan->n_arena == 0 || offset > root->bytes)
        return false;
    const cl_block *block = &instance->arena[slot->block];
    *place = (cl_place){.mem = block->mem, .at = slot->at + offset, .bytes = root->bytes - offset,
                        .host = block->host ? (char *)block->host + slot->at + offset : NULL};
    return true;
}

cl_mem cl_instance_buffer(const eng_instance_state *x, const cl_recorded_arg *arg, cl_ulong *at)
{
    cl_place place;
    *at = arg->at;
    switch (arg->kind) {
    case CL_ARG_TENSOR:
        if (!cl_instance_place(x, arg->tensor, arg->at, &place))
            place = (cl_place){0}; /* nothing lies there (no elements): kernels never touch it */
        *at = place.at;
        return place.mem;
    case CL_ARG_TEMPORARY:
        return x->temporary.mem;
    case CL_ARG_CONSTANT:
        return x->plan->constant_block.mem;
    default:
        return NULL;
    }
}

int64_t cl_number_of(const int64_t *params, uint32_t n, const cl_param *p)
{
    if (p->param >= (int64_t)n)
        return p->limit;
    int64_t v = params[p->param] - p->less;
    if (v > 0 && p->period > 0) {
        int64_t rest = v % p->period;
        v = v / p->period * p->run + (rest < p->run ? rest : p->run);
    }
    return v < 0 ? 0 : v > p->limit ? p->limit : v;
}

size_t cl_size_of(const int64_t *params, uint32_t n, const cl_recorded *l, unsigned d)
{
    const cl_recorded_size *s = &l->size[d];
    if (s->number.param < 0)
        return l->global[d];
    uint64_t v = (uint64_t)cl_number_of(params, n, &s->number), parts = (v + (uint64_t)s->per - 1) / (uint64_t)s->per;
    uint64_t size = (parts ? parts : 1) * (uint64_t)s->times;
    size = (size + l->local[d] - 1) / l->local[d] * l->local[d];
    return size < l->global[d] ? (size_t)size : l->global[d];
}
