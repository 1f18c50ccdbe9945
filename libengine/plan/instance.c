/* Instances - a plan with its memory, bound to stores - and their submission. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

/* What is bound must have the shape that the plan was compiled for. */
static int check_binding(const eng_plan *plan, uint32_t i, const eng_store *store)
{
    const eng_tensor *want = eng_subgraph_tensor(plan->placed, plan->placed->binding_tensor[i]);
    const eng_store_tensor *have = eng_store_get(store, plan->bindings[i].tensor);
    if (store->device != plan->device)
        return eng_fail(ENG_ERR_INVALID, "tensor %s is in a store of device %s, the plan is of %s%s", want->name,
                        store->device->info.name, plan->device->info.name,
                        eng_device_other(store->device, plan->device));
    if (have == NULL || have->type != want->type || memcmp(have->ne, want->ne, sizeof have->ne) != 0)
        return eng_fail(ENG_ERR_INVALID,
                        "tensor %" PRIu32 " of the store has another shape or type than %s in the plan",
                        plan->bindings[i].tensor, want->name);
    if (store->layouts[plan->bindings[i].tensor].layout != want->layout)
        return eng_fail(ENG_ERR_INVALID,
                        "tensor '%s' of the store" ENG_CAUSE "its layout is %s, and the plan was compiled for "
                        "another" ENG_ADVICE "make a plan from a graph over this store",
                        want->name, store->layouts[plan->bindings[i].tensor].name);
    return ENG_OK;
}

static int bind(eng_plan *plan, eng_store *const *stores, eng_store *kept, eng_store_state **states, uint32_t *tensors)
{
    for (uint32_t i = 0; i < plan->placed->n_bindings; i++) {
        eng_store *store = plan->bindings[i].slot == ENG_SLOT_KEPT ? kept : stores[plan->bindings[i].slot];
        if (store == NULL)
            return eng_fail(ENG_ERR_INVALID, "store %" PRIu32 " of the instance is NULL", plan->bindings[i].slot);
        int status = check_binding(plan, i, store);
        if (status != ENG_OK)
            return status;
        states[i] = store->state;
        tensors[i] = plan->bindings[i].tensor;
    }
    return ENG_OK;
}

/* Does the op write where it reads, by two slots that have been given one store?  The graph, which knew others, has copied
 * nothing.  To store elements where they are is fine. */
static bool collide(const eng_subgraph *g, const eng_node *n, int w, int i, eng_store_state *const *states,
                    const uint32_t *tensors)
{
    const eng_tensor *written = eng_subgraph_tensor(g, n->in[w]), *read = eng_subgraph_tensor(g, n->in[i]);
    if (written == NULL || read == NULL || written->root == read->root)
        return false;
    const int32_t x = eng_subgraph_tensor(g, written->root)->binding, y = eng_subgraph_tensor(g, read->root)->binding;
    if (x < 0 || y < 0 || states[x] != states[y] || tensors[x] != tensors[y] || !eng_tensors_meet(written, read))
        return false;
    return n->op != ENG_OP_STORE || written->offset != read->offset ||
           memcmp(written->nb, read->nb, sizeof read->nb) != 0;
}

static int check_written(const eng_subgraph *g, eng_store_state *const *states, const uint32_t *tensors)
{
    for (uint32_t k = 0; k < g->n_nodes; k++) {
        const eng_node *n = eng_subgraph_node(g, k);
        const eng_op_info *info = eng_op_get(n->op);
        for (int w = 0; w < info->n_in; w++)
            for (int i = 0; i < info->n_in && info->in[w].inout; i++)
                if (!info->in[i].inout && collide(g, n, w, i, states, tensors))
                    return eng_fail(ENG_ERR_INVALID,
                                    "%s" ENG_CAUSE "operands %s and %s are of two slots and must not have bytes in common, "
                                    "got one store for both" ENG_ADVICE "build the graph over one slot, or with that store "
                                    "in both: it copies then",
                                    n->name, info->in[w].name, info->in[i].name);
    }
    return ENG_OK;
}

int eng_instance_create(eng_plan *plan, eng_store *const *stores, uint32_t n_stores, eng_instance **instance)
{
    if (plan == NULL || instance == NULL || (n_stores > 0 && stores == NULL))
        return eng_fail(ENG_ERR_INVALID, "eng_instance_create" ENG_CAUSE "an argument is NULL");
    if (n_stores < plan->n_slots)
        return eng_fail(ENG_ERR_INVALID,
                        "the plan binds stores in slots up to %" PRIu32 ", but %" PRIu32 " stores are given",
                        plan->n_slots - 1, n_stores);
    int status = eng_device_check(plan->device);
    if (status < 0)
        return status;
    uint32_t n = plan->placed->n_bindings;
    eng_store_state **states = calloc((size_t)n + 1, sizeof *states);
    uint32_t *tensors = calloc((size_t)n + 1, sizeof *tensors);
    eng_instance *made = calloc(1, sizeof *made);
    eng_store **kept = calloc((size_t)plan->n_slots + 1, sizeof *kept);
    if (states == NULL || tensors == NULL || made == NULL || kept == NULL)
        status = eng_fail_code(EU_NO_MEMORY("an instance"));
    if (status == ENG_OK)
        status = eng_kept_create(plan, &made->kept);
    if (status == ENG_OK)
        status = bind(plan, stores, made->kept, states, tensors);
    if (status == ENG_OK)
        status = check_written(plan->placed, states, tensors);
    unsigned words = eng_failure_words();
    if (status == ENG_OK)
        status = eng_answer(plan->device->calls->instance_create(plan->state, states, tensors, &made->state), words,
                            plan->device->info.name, "instance_create");
    free(states);
    free(tensors);
    if (status != ENG_OK) {
        eng_store_destroy(made ? made->kept : NULL);
        free(made);
        free(kept);
        return status;
    }
    for (uint32_t i = 0; i < plan->n_slots; i++) {
        kept[i] = stores[i];
        if (kept[i] != NULL)
            eng_store_retain(kept[i]);
    }
    eng_plan_retain(plan);
    made->plan = plan;
    made->stores = kept;
    *instance = made;
    return ENG_OK;
}

void eng_instance_destroy(eng_instance *instance)
{
    if (instance == NULL || eng_inherited(instance->plan->device->context))
        return;
    instance->plan->device->calls->instance_destroy(instance->state);
    for (uint32_t i = 0; i < instance->plan->n_slots; i++)
        eng_store_destroy(instance->stores[i]);
    eng_store_destroy(instance->kept);
    free(instance->stores);
    eng_plan_release(instance->plan);
    free(instance);
}

int eng_queue_submit(eng_queue *queue, const eng_fence *waits, uint32_t n_waits, eng_instance *instance,
                     const int64_t *params, uint32_t n_params, eng_fence *fence)
{
    if (queue == NULL || instance == NULL || (n_params > 0 && params == NULL))
        return eng_fail(ENG_ERR_INVALID, "eng_queue_submit" ENG_CAUSE "an argument is NULL");
    if (queue->device != instance->plan->device)
        return eng_fail(ENG_ERR_INVALID, "the instance is of device %s, the queue of %s%s",
                        instance->plan->device->info.name, queue->device->info.name,
                        eng_device_other(instance->plan->device, queue->device));
    if (n_params != instance->plan->placed->n_params)
        return eng_fail(ENG_ERR_INVALID, "the plan takes %" PRIu32 " parameters, %" PRIu32 " given",
                        instance->plan->placed->n_params, n_params);
    const eng_work work = {.kind = ENG_WORK_RUN, .instance = instance->state, .params = params, .n_params = n_params,
                           .n_sections = instance->plan->placed->n_sections};
    return eng_queue_push(queue, waits, n_waits, &work, fence);
}
