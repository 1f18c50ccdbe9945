/* Queues and fences; submitting an instance is floor 4's (plan/instance.c). */
#include "config.h"

#include <stdlib.h>

#include "device.h"

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
    status = device->calls->queue_create(device->state, &queue->state);
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
    queue->device->calls->queue_destroy(queue->state);
    eng_device_release(queue->device);
    free(queue);
}

static int check(const eng_queue *queue, const eng_store *store, uint32_t tensor, uint64_t offset, uint64_t bytes,
                 const void *data)
{
    if (!queue)
        return eng_fail(ENG_ERR_INVALID, "the queue is NULL");
    int status = eng_store_check(store, tensor, offset, bytes, data);
    if (status < 0)
        return status;
    if (store->device != queue->device)
        return eng_fail(ENG_ERR_INVALID, "tensor '%s' is in a store of device '%s', but the queue is of device '%s'%s; "
                        "use a queue of the store's device", store->tensors[tensor].name, store->device->info.name,
                        queue->device->info.name, eng_device_other(store->device, queue->device));
    return ENG_OK;
}

void eng_queue_passed(eng_queue *queue, uint64_t ticket, eng_fence *fence)
{
    queue->last = ticket;
    if (fence)
        *fence = (eng_fence){queue, ticket};
}

int eng_queue_write(eng_queue *queue, eng_store *store, uint32_t tensor, uint64_t offset, uint64_t bytes,
                    const void *data, eng_fence *fence)
{
    int status = check(queue, store, tensor, offset, bytes, data);
    if (status < 0)
        return status;
    uint64_t ticket = queue->last; /* of nothing: the point after what came before */
    if (bytes)
        status = queue->device->calls->write(queue->state, store->state, tensor, offset, bytes, data, &ticket);
    if (status >= 0)
        eng_queue_passed(queue, ticket, fence);
    return status;
}

int eng_queue_read(eng_queue *queue, eng_store *store, uint32_t tensor, uint64_t offset, uint64_t bytes, void *data,
                   eng_fence *fence)
{
    int status = check(queue, store, tensor, offset, bytes, data);
    if (status < 0)
        return status;
    uint64_t ticket = queue->last; /* of nothing: the point after what came before */
    if (bytes)
        status = queue->device->calls->read(queue->state, store->state, tensor, offset, bytes, data, &ticket);
    if (status >= 0)
        eng_queue_passed(queue, ticket, fence);
    return status;
}

int eng_fence_wait(eng_fence fence, uint64_t timeout)
{
    if (!fence.queue)
        return ENG_OK; /* the fence of nothing */
    if (fence.ticket > fence.queue->last)
        return eng_fail(ENG_ERR_INVALID, "eng_fence_wait" ENG_CAUSE
                        "this is no fence of device %s's queue: it has not come to "
                        "number %llu yet", fence.queue->device->info.name, (unsigned long long)fence.ticket);
    int status = eng_device_check(fence.queue->device);
    return status < 0 ? status : fence.queue->device->calls->wait(fence.queue->state, fence.ticket, timeout);
}
