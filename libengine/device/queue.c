/* Queues and fences; submitting an instance is floor 5's (plan/instance.c). */
#include "config.h"

#include <stdlib.h>

#include "device.h"

#define WAITS_AT_HAND 8 /* as many are translated without memory being asked for */

int eng_queue_create(eng_device *device, eng_queue **result)
{
    if (!device || !result)
        return eng_fail(ENG_ERR_INVALID, "eng_queue_create" ENG_CAUSE "device or queue is NULL");
    int status = eng_device_check(device);
    if (status < 0)
        return status;
    eng_queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return eng_fail_memory();
    status = eng_timeline_create(eng_base_of(device->context)->executor, device->calls, device->state,
                                 device->info.flags, queue, &queue->timeline);
    if (status < 0) {
        free(queue);
        return status;
    }
    queue->device = device;
    eng_device_retain(device);
    *result = queue;
    return ENG_OK;
}

void eng_queue_destroy(eng_queue *queue)
{
    if (!queue || eng_inherited(queue->device->context))
        return;
    eng_timeline_end(queue->timeline);
    eng_device_release(queue->device);
    free(queue);
}

int eng_queue_cancel(eng_queue *queue)
{
    if (!queue)
        return eng_fail(ENG_ERR_INVALID, "eng_queue_cancel" ENG_CAUSE "the queue is NULL");
    int status = eng_device_check(queue->device);
    if (status >= 0)
        eng_timeline_cancel(queue->timeline);
    return status;
}

/* -- giving work ------------------------------------------------------------------------- */

/* Is it a fence of its queue, of the context? */
static int check_fence(const char *call, const eng_fence *fence, const eng_context *context)
{
    const eng_device *device = fence->queue->device;
    if (context && device->context != context)
        return eng_fail(ENG_ERR_INVALID, "%s" ENG_CAUSE "the fence is of device %s in another context", call,
                        device->info.name);
    if (fence->ticket > eng_timeline_last(fence->queue->timeline))
        return eng_fail(ENG_ERR_INVALID, "%s" ENG_CAUSE "this is no fence of device %s's queue: it has not come to "
                        "number %llu yet", call, device->info.name, (unsigned long long)fence->ticket);
    return ENG_OK;
}

static int translate(const eng_queue *queue, const eng_fence *waits, uint32_t n, eng_point *points, uint32_t *n_points)
{
    *n_points = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!waits[i].queue || waits[i].ticket == 0)
            continue;
        int status = check_fence("the work's waits", &waits[i], queue->device->context);
        if (status < 0)
            return status;
        points[(*n_points)++] = (eng_point){waits[i].queue->timeline, waits[i].ticket};
    }
    return ENG_OK;
}

int eng_queue_push(eng_queue *queue, const eng_fence *waits, uint32_t n_waits, const eng_work *work, eng_fence *fence)
{
    eng_point at_hand[WAITS_AT_HAND] = {{0}}, *points = at_hand;
    uint32_t n_points;
    uint64_t ticket;

    int status = eng_device_check(queue->device);
    if (status < 0)
        return status;
    if (n_waits > 0 && !waits)
        return eng_fail(ENG_ERR_INVALID, "the work's waits" ENG_CAUSE "the array of %u fences is NULL", n_waits);
    if (n_waits > WAITS_AT_HAND && !(points = malloc(n_waits * sizeof *points)))
        return eng_fail_memory();
    status = translate(queue, waits, n_waits, points, &n_points);
    if (status >= 0)
        status = eng_timeline_push(queue->timeline, points, n_points, work, &ticket);
    if (status >= 0 && fence)
        *fence = (eng_fence){queue, ticket};
    if (points != at_hand)
        free(points);
    return status;
}

static int check(const eng_queue *queue, const eng_store *store, uint32_t tensor, const eng_region *regions, uint32_t n)
{
    if (!queue)
        return eng_fail(ENG_ERR_INVALID, "a transfer" ENG_CAUSE "the queue is NULL");
    int status = eng_store_check_regions(store, tensor, regions, n);
    if (status < 0)
        return status;
    if (store->device != queue->device)
        return eng_fail(ENG_ERR_INVALID,
                        "tensor '%s'" ENG_CAUSE
                        "it is in a store of device '%s', but the queue is of device '%s'%s" ENG_ADVICE
                        "use a queue of the store's device",
                        store->tensors[tensor].name, store->device->info.name, queue->device->info.name,
                        eng_device_other(store->device, queue->device));
    return ENG_OK;
}

static int transfer(eng_queue *queue, const eng_fence *waits, uint32_t n_waits, uint32_t kind, eng_store *store,
                    uint32_t tensor, const eng_region *regions, uint32_t n_regions, eng_fence *fence)
{
    int status = check(queue, store, tensor, regions, n_regions);
    if (status >= 0 && kind == ENG_WORK_WRITE)
        status = eng_store_check_written(store, tensor);
    if (status < 0)
        return status;
    const eng_work work = {.kind = kind, .store = store->state, .tensor = tensor, .regions = regions,
                           .n_regions = n_regions};
    return eng_queue_push(queue, waits, n_waits, &work, fence);
}

int eng_queue_write(eng_queue *queue, const eng_fence *waits, uint32_t n_waits, eng_store *store, uint32_t tensor,
                    const eng_region *regions, uint32_t n_regions, eng_fence *fence)
{
    return transfer(queue, waits, n_waits, ENG_WORK_WRITE, store, tensor, regions, n_regions, fence);
}

int eng_queue_read(eng_queue *queue, const eng_fence *waits, uint32_t n_waits, eng_store *store, uint32_t tensor,
                   const eng_region *regions, uint32_t n_regions, eng_fence *fence)
{
    return transfer(queue, waits, n_waits, ENG_WORK_READ, store, tensor, regions, n_regions, fence);
}

int eng_fence_wait(eng_fence fence, uint64_t timeout)
{
    if (!fence.queue)
        return ENG_OK; /* the fence of nothing */
    int status = eng_device_check(fence.queue->device);
    if (status >= 0)
        status = check_fence("eng_fence_wait", &fence, NULL);
    return status < 0 ? status : eng_timeline_wait(fence.queue->timeline, fence.ticket, timeout);
}
