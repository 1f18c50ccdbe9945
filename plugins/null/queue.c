/* The null plugin's queues: everything is done before the call returns, so there is no wait. */
#include "null.h"

#include <stdlib.h>
#include <string.h>

int null_queue_create(eng_device_state *device, eng_queue_state **result)
{
    const eng_services *s = device->services;
    eng_queue_state *queue = calloc(1, sizeof *queue);
    if (!queue)
        return null_no_memory(s, "a queue");
    queue->device = device;
    *result = queue;
    return ENG_OK;
}

void null_queue_destroy(eng_queue_state *queue)
{
    free(queue);
}

int null_run_sections(eng_queue_state *queue, eng_instance_state *instance, uint32_t first, uint32_t count,
                      const int64_t *params, uint32_t n_params, eng_run *control, uint64_t *ticket)
{
    const eng_plan_state *plan = instance->plan;
    uint32_t begin = plan->first[first], end = plan->first[first + count];
    (void)params; /* no op of this device has a plan parameter */
    (void)n_params;
    (void)ticket; /* it stays 0: the work is done when this returns */
    /* position: nodes that are done; a run that was left goes on behind them */
    for (uint32_t i = begin + (control ? (uint32_t)control->position : 0), from = i; i < end; i++) {
        uint32_t answer = control && i > from ? control->poll(control) : ENG_RUN_GO_ON;
        if (answer == ENG_RUN_CANCEL)
            return ENG_ERR_CANCELLED;
        if (answer == ENG_RUN_YIELD) {
            control->position = i - begin;
            return ENG_YIELDED;
        }
        int status = null_run(instance, eng_subgraph_node(plan->graph, i));
        if (status < 0)
            return status;
    }
    __atomic_add_fetch(&queue->device->stats.submits, 1, __ATOMIC_RELAXED);
    return ENG_OK;
}

int null_write(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n,
               uint64_t *ticket)
{
    (void)queue;
    (void)ticket;
    return null_store_upload(store, tensor, regions, n);
}

int null_read(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n,
              uint64_t *ticket)
{
    (void)queue;
    (void)ticket;
    return null_store_download(store, tensor, regions, n);
}

static unsigned char *value(eng_instance_state *instance, int32_t tensor)
{
    return null_address(instance, eng_subgraph_tensor(instance->plan->graph, tensor));
}

int null_value_read(eng_queue_state *queue, eng_instance_state *instance, int32_t tensor, const eng_region *regions,
                    uint32_t n, uint64_t *ticket)
{
    (void)ticket;
    null_move_out(queue->device, value(instance, tensor), regions, n);
    return ENG_OK;
}

int null_value_write(eng_queue_state *queue, eng_instance_state *instance, int32_t tensor, const eng_region *regions,
                     uint32_t n, uint64_t *ticket)
{
    (void)ticket;
    null_move_in(queue->device, value(instance, tensor), regions, n);
    return ENG_OK;
}

int null_value_map(eng_instance_state *instance, int32_t tensor, void **data)
{
    const eng_device_state *device = instance->plan->device;
    if (device->measures)
        return device->services->fail(device->services->host, ENG_ERR_UNSUPPORTED, "null" ENG_CAUSE
                                      "with null.accept=measure there is no memory whose address could be given");
    *data = value(instance, tensor);
    return ENG_OK;
}
