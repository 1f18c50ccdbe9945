/* The null plugin's queues: everything is done before the call returns. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "null.h"

int null_queue_create(eng_device_state *device, eng_queue_state **result)
{
    const eng_services *s = device->services;
    eng_queue_state *queue = calloc(1, sizeof *queue);
    if (!queue)
        return s->fail(s->host, ENG_ERR_NOMEM, "null" ENG_CAUSE "out of memory for a queue");
    queue->device = device;
    *result = queue;
    return ENG_OK;
}

void null_queue_destroy(eng_queue_state *queue)
{
    free(queue);
}

int null_submit(eng_queue_state *queue, eng_instance_state *instance, uint32_t first, uint32_t count,
                const int64_t *params, uint32_t n_params, uint64_t *ticket)
{
    const eng_plan_state *plan = instance->plan;
    (void)params; /* no op of this device has a plan parameter */
    (void)n_params;
    for (uint32_t i = plan->first[first]; i < plan->first[first + count]; i++) {
        int status = null_run(instance, eng_subgraph_node(plan->graph, i));
        if (status < 0)
            return status;
    }
    __atomic_add_fetch(&queue->device->stats.submits, 1, __ATOMIC_RELAXED);
    *ticket = ++queue->ticket;
    return ENG_OK;
}

int null_write(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, uint64_t offset, uint64_t bytes,
               const void *data, uint64_t *ticket)
{
    if (!queue->device->measures)
        memcpy(store->tensors[tensor].data + offset, data, bytes);
    *ticket = ++queue->ticket;
    return ENG_OK;
}

int null_read(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, uint64_t offset, uint64_t bytes,
              void *data, uint64_t *ticket)
{
    null_give(queue->device, data, store->tensors[tensor].data + offset, bytes);
    *ticket = ++queue->ticket;
    return ENG_OK;
}

int null_wait(eng_queue_state *queue, uint64_t ticket, uint64_t timeout)
{
    (void)queue;
    (void)ticket;
    (void)timeout;
    return ENG_OK; /* submit itself has waited, and has reported its failures */
}

static unsigned char *value(eng_instance_state *instance, int32_t tensor)
{
    return null_address(instance, eng_subgraph_tensor(instance->plan->graph, tensor));
}

int null_value_read(eng_queue_state *queue, eng_instance_state *instance, int32_t tensor, uint64_t offset,
                    uint64_t bytes, void *data, uint64_t *ticket)
{
    null_give(queue->device, data, value(instance, tensor) + offset, bytes);
    *ticket = ++queue->ticket;
    return ENG_OK;
}

int null_value_write(eng_queue_state *queue, eng_instance_state *instance, int32_t tensor, uint64_t offset,
                     uint64_t bytes, const void *data, uint64_t *ticket)
{
    if (!queue->device->measures)
        memcpy(value(instance, tensor) + offset, data, bytes);
    *ticket = ++queue->ticket;
    return ENG_OK;
}

int null_value_map(eng_instance_state *instance, int32_t tensor, void **data)
{
    *data = value(instance, tensor);
    return instance->plan->device->measures ? ENG_ERR_UNSUPPORTED : ENG_OK;
}
