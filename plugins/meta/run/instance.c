/* Instances: a plan's variant bound to stores, with an instance of every rank's device. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "run.h"

/* The variant was compiled for where these stores have their tensors: what it binds on a rank
 * is in that rank's store. */
static int child_instance(eng_instance_state *inst, uint32_t rank, eng_store_state *const *stores,
                          const uint32_t *tensors)
{
    const meta_part *part = &inst->variant->parts[rank];
    const eng_child *c = &inst->variant->device->ranks[rank].child;
    eng_store_state **bound = calloc(part->n_bindings + 1u, sizeof *bound);
    uint32_t *index = calloc(part->n_bindings + 1u, sizeof *index);
    int status = ENG_OK;

    if (!bound || !index)
        status = meta_no_memory(inst->variant->device, "an instance");
    for (uint32_t b = 0; b < part->n_bindings && status == ENG_OK; b++) {
        uint32_t whole = part->bound_to[b];
        bound[b] = stores[whole]->child[rank];
        index[b] = stores[whole]->tensors[tensors[whole]].child[rank];
    }
    if (status == ENG_OK)
        status = meta_blame(inst->variant->device, rank,
                            c->calls->instance_create(part->plan, bound, index, &inst->child[rank]));
    free(bound);
    free(index);
    return status;
}

static int prepare(eng_instance_state *inst, eng_store_state *const *stores, const uint32_t *tensors)
{
    eng_device_state *d = inst->variant->device;
    int status = ENG_OK;
    bool room = true;

    for (uint32_t r = 0; r < META_MAX_RANKS && status == ENG_OK; r++) {
        if (!(inst->variant->ranks >> r & 1u))
            continue;
        status = child_instance(inst, r, stores, tensors);
        room = room && (status != ENG_OK || meta_spots_rank(inst, r));
        if (status == ENG_OK) {
            inst->compute[r] = inst->variant->parts[r].placed->arena_bytes;
            atomic_fetch_add(&d->ranks[r].compute_bytes, inst->compute[r]);
        }
    }
    if (status == ENG_OK && (!room || !meta_spots_sums(inst) || !meta_ahead_find(inst)))
        status = meta_no_memory(d, "the exchange of values between devices");
    return status;
}

/* A tensor of a store, and a binding of it. */
typedef struct binding_of {
    const meta_tensor *tensor;
    uint32_t binding;
} binding_of;

static int by_tensor(const void *a, const void *b)
{
    const binding_of *x = a, *y = b;
    uintptr_t s = (uintptr_t)x->tensor, t = (uintptr_t)y->tensor;

    if (s != t)
        return s < t ? -1 : 1;
    return x->binding < y->binding ? -1 : x->binding > y->binding;
}

/* Where the bound tensors are, and which of them are one; false: no memory. */
static bool look_at(const eng_plan_state *plan, eng_store_state *const *stores, const uint32_t *tensors,
                    meta_bound *bound)
{
    uint32_t n = plan->graph->n_bindings;
    binding_of *list = calloc(n + (size_t)1, sizeof *list);

    for (uint32_t b = 0; list && b < n; b++) {
        list[b] = (binding_of){&stores[b]->tensors[tensors[b]], b};
        bound->places[b] = list[b].tensor->place;
        bound->why[b] = list[b].tensor->why;
        bound->layouts[b] = list[b].tensor->layouts;
    }
    if (list && n)
        qsort(list, n, sizeof *list, by_tensor);
    for (uint32_t i = 1; list && i < n; i++)
        if (list[i].tensor == list[i - 1].tensor)
            bound->first[list[i].binding] = bound->first[list[i - 1].binding];
    free(list);
    return list != NULL;
}

int meta_instance_create(eng_plan_state *plan, eng_store_state *const *stores, const uint32_t *tensors,
                         eng_instance_state **instance)
{
    meta_bound bound;
    bool room = meta_bound_begin(&bound, plan->graph->n_bindings) && look_at(plan, stores, tensors, &bound);
    eng_instance_state *inst = calloc(1, sizeof *inst);
    int status = room && inst ? ENG_OK : meta_no_memory(plan->device, "an instance");

    if (status == ENG_OK)
        status = meta_plan_variant(plan, &bound, &inst->variant);
    if (status == ENG_OK)
        status = prepare(inst, stores, tensors);
    meta_bound_end(&bound);
    if (status != ENG_OK) {
        meta_instance_destroy(inst);
        return status;
    }
    *instance = inst;
    return ENG_OK;
}

void meta_instance_destroy(eng_instance_state *inst)
{
    if (!inst)
        return;
    meta_late_finish_instance(inst, UINT64_MAX); /* the devices use its memory */
    for (uint32_t r = 0; r < META_MAX_RANKS; r++) {
        if (inst->child[r]) {
            meta_rank *rank = &inst->variant->device->ranks[r];
            rank->child.calls->instance_destroy(inst->child[r]);
            atomic_fetch_sub(&rank->compute_bytes, inst->compute[r]);
        }
    }
    meta_spots_end(inst);
    free(inst);
}
