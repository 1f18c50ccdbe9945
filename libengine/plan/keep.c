/* Values that are kept: each instance has a store of its own for them, and reads them as any stored tensor. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "plan.h"

int eng_kept_create(const eng_plan *plan, eng_store **kept)
{
    uint32_t n = 0;
    eng_store_tensor *tensors = calloc((size_t)plan->placed->n_bindings + 1, sizeof *tensors);
    if (tensors == NULL)
        return eng_fail_code(EU_NO_MEMORY("kept values"));
    for (uint32_t i = 0; i < plan->placed->n_bindings; i++) { /* they are numbered in the order of bindings */
        if (plan->bindings[i].slot != ENG_SLOT_KEPT)
            continue;
        const eng_tensor *t = eng_subgraph_tensor(plan->placed, plan->placed->binding_tensor[i]);
        tensors[n] = (eng_store_tensor){.size = sizeof *tensors, .type = t->type, .rank = t->rank ? t->rank : 1,
                                        .use = ENG_USE_OUTPUT, .dims = t->rank ? t->dims : NULL, .name = t->name, .layer = -1};
        memcpy(tensors[n].ne, t->ne, sizeof tensors[n].ne);
        n++;
    }
    *kept = NULL;
    int status = n > 0 ? eng_store_create(plan->device, tensors, n, kept) : ENG_OK;
    free(tensors);
    return status;
}

/* The binding that has the value, or a copy of it; NULL, and the failure told. */
static const eng_graph_binding *find(const eng_instance *instance, eng_value value)
{
    const eng_plan *plan = instance->plan;
    for (uint32_t i = 0; i < plan->placed->n_bindings; i++) {
        const eng_graph_binding *b = &plan->bindings[i];
        if (b->slot == ENG_SLOT_KEPT ? b->keeps == value : b->value == value)
            return b;
    }
    const eng_tensor *t = value >= 0 && (uint32_t)value < plan->placed->n_tensors ?
                              eng_subgraph_tensor(plan->placed, value) :
                              NULL;
    eng_fail(ENG_ERR_NOTFOUND,
             "value %s" ENG_CAUSE "it is neither kept nor a bound tensor, and its memory is used for others" ENG_ADVICE
             "call eng_graph_keep for it before the graph is sealed",
             t != NULL ? t->name : "(not of this plan)");
    return NULL;
}

int eng_instance_read(eng_queue *queue, const eng_fence *waits, uint32_t n_waits, eng_instance *instance,
                      eng_value value, const eng_region *regions, uint32_t n_regions, eng_fence *fence)
{
    if (instance == NULL)
        return eng_fail(ENG_ERR_INVALID, "eng_instance_read" ENG_CAUSE "instance must not be NULL");
    const eng_graph_binding *b = find(instance, value);
    if (b == NULL)
        return ENG_ERR_NOTFOUND;
    eng_store *store = b->slot == ENG_SLOT_KEPT ? instance->kept : instance->stores[b->slot];
    return eng_queue_read(queue, waits, n_waits, store, b->tensor, regions, n_regions, fence);
}

int eng_instance_map(eng_instance *instance, eng_value value, void **data)
{
    if (instance == NULL || data == NULL)
        return eng_fail(ENG_ERR_INVALID, "eng_instance_map" ENG_CAUSE "instance and data must not be NULL");
    int status = eng_device_check(instance->plan->device);
    const eng_graph_binding *b = status == ENG_OK ? find(instance, value) : NULL;
    if (b == NULL)
        return status == ENG_OK ? ENG_ERR_NOTFOUND : status;
    return instance->plan->device->calls->value_map(instance->state, b->value, data);
}
