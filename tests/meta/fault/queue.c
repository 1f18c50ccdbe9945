/* Queues: where faults happen. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fault.h"

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_for(uint64_t ns)
{
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    while (nanosleep(&t, &t) != 0)
        continue;
}

int fault_queue_create(eng_device_state *device, eng_queue_state **queue)
{
    eng_queue_state *q = calloc(1, sizeof *q);
    if (!q)
        return device->services->fail(device->host, ENG_ERR_NOMEM, "fault: out of memory");
    q->device = device;
    int status = fault_making(device);
    if (status == ENG_OK)
        status = device->child.calls->queue_create(device->child.state, &q->inner);
    if (status == ENG_OK)
        *queue = q;
    else
        free(q);
    return status;
}

/* What hangs for ever is given up; what hangs for a time is waited for. */
void fault_queue_destroy(eng_queue_state *queue)
{
    if (queue->held.there && queue->held.until != UINT64_MAX)
        fault_wait(queue, 0, queue->ticket, UINT64_MAX, NULL);
    queue->device->child.calls->queue_destroy(queue->inner);
    free(queue);
}

static int pass_on(eng_queue_state *q, eng_instance_state *instance, uint32_t first, uint32_t count,
                   const int64_t *params, uint32_t n_params, eng_run *control)
{
    return q->device->child.calls->run(q->inner, instance->inner, first, count, params, n_params, control,
                                       &q->inner_ticket);
}

/* The held work's time has come, or comes within the timeout. */
static int end_held(eng_queue_state *q, uint64_t timeout)
{
    fault_held *h = &q->held;
    if (!h->there)
        return ENG_OK;
    uint64_t from = now(), left = h->until == UINT64_MAX ? UINT64_MAX : h->until > from ? h->until - from : 0;
    while (left == UINT64_MAX && timeout == UINT64_MAX)
        sleep_for(1000000000u); /* for ever is what was asked for */
    sleep_for(left < timeout ? left : timeout);
    if (left > timeout)
        return q->device->services->fail(q->device->host, ENG_ERR_TIMEOUT, "%s: planted: the work hangs",
                                         q->device->name);
    h->there = false;
    return pass_on(q, h->instance, h->first, h->count, h->params, h->n_params, NULL);
}

static void hold(eng_queue_state *q, eng_instance_state *instance, uint32_t first, uint32_t count,
                 const int64_t *params, uint32_t n_params)
{
    uint64_t ms = q->device->hold;
    q->held = (fault_held){.there = true, .until = ms ? now() + ms * 1000000u : UINT64_MAX, .instance = instance,
                           .first = first, .count = count, .n_params = n_params};
    if (n_params)
        memcpy(q->held.params, params, n_params * sizeof *params);
}

int fault_run(eng_queue_state *q, eng_instance_state *instance, uint32_t first, uint32_t count,
              const int64_t *params, uint32_t n_params, eng_run *control, uint64_t *ticket)
{
    eng_device_state *d = q->device;
    bool hit = fault_hits(d, FAULT_AT_SUBMIT);
    int status = ENG_OK;

    if (hit && d->kind == FAULT_LOST)
        atomic_store(&d->lost, true);
    if (atomic_load(&d->lost))
        return fault_lost(d);
    status = end_held(q, UINT64_MAX); /* in order */
    if (status != ENG_OK)
        return status;
    if (hit && d->kind == FAULT_ERROR)
        return d->services->fail(d->host, ENG_ERR_DEVICE, "%s: planted: the submission has failed", d->name);
    if (hit && d->kind == FAULT_STALL)
        sleep_for(d->hold * 1000000u);
    if (hit && d->kind == FAULT_BLOCK)
        fault_block(d);
    if (hit && d->kind == FAULT_HANG)
        hold(q, instance, first, count, params, n_params);
    else if (hit && d->kind == FAULT_WAIT)
        q->failed = q->ticket + 1;
    else if (!q->dead)
        status = pass_on(q, instance, first, count, params, n_params, control);
    if (status == ENG_OK)
        *ticket = ++q->ticket;
    return status;
}

/* For what the device behind was given; a synchronous one gives no tickets. */
static int wait_behind(eng_queue_state *q, uint64_t timeout)
{
    int status = end_held(q, timeout);
    if (status != ENG_OK || q->inner_ticket <= q->inner_settled)
        return status;
    uint64_t inner = q->inner_ticket;
    status = q->device->child.calls->wait(q->inner, q->inner_settled, inner, timeout, NULL);
    if (status != ENG_ERR_TIMEOUT)
        q->inner_settled = inner;
    return status;
}

int fault_wait(eng_queue_state *q, uint64_t after, uint64_t ticket, uint64_t timeout, uint64_t *failed)
{
    eng_device_state *d = q->device;

    (void)after;
    (void)ticket; /* all there is: more than asked, never less */
    if (fault_hits(d, FAULT_AT_WAIT))
        fault_block(d);
    if (failed)
        *failed = q->failed ? q->failed : q->ticket;
    int status = wait_behind(q, timeout);
    if (atomic_load(&d->lost))
        return fault_lost(d);
    if (q->failed) {
        q->failed = 0;
        q->dead = false;
        return d->services->fail(d->host, ENG_ERR_DEVICE, "%s: planted: the work has failed", d->name);
    }
    return status;
}

int fault_host_call(eng_queue_state *q, void (*function)(void *ctx), void *ctx, uint64_t *ticket)
{
    eng_device_state *d = q->device;
    int status = ENG_OK;

    if (atomic_load(&d->lost))
        return fault_lost(d);
    const bool hit = fault_hits(d, FAULT_AT_CALL);
    if (hit && d->kind == FAULT_CALL)
        return d->services->fail(d->host, ENG_ERR_DEVICE, "%s: planted: the call has failed", d->name);
    if (hit) {
        q->dead = true;
        q->failed = q->ticket + 1;
    }
    if (q->dead)
        ;
    else if (d->child.info->flags & ENG_DEVICE_HOST_CALLS)
        status = d->child.calls->host_call(q->inner, function, ctx, &q->inner_ticket);
    else
        function(ctx);
    if (status == ENG_OK)
        *ticket = ++q->ticket;
    return status;
}

int fault_run_through(eng_queue_state *q, eng_instance_state *instance, const int64_t *params, uint32_t n_params,
                      void (*after)(void *ctx, uint32_t section), void *ctx, uint64_t *ticket)
{
    eng_device_state *d = q->device;
    int status = ENG_OK;

    if (atomic_load(&d->lost))
        return fault_lost(d);
    if (d->site == FAULT_AT_SUBMIT || d->site == FAULT_AT_CALL || q->dead) /* theirs go one by one */
        return ENG_ERR_UNSUPPORTED;
    const bool hit = fault_hits(d, FAULT_AT_THROUGH);
    if (hit && d->kind == FAULT_THROUGH)
        return d->services->fail(d->host, ENG_ERR_DEVICE, "%s: planted: the run has failed", d->name);
    if (hit && d->kind == FAULT_THROUGH_REFUSED)
        return ENG_ERR_UNSUPPORTED;
    if (hit)
        q->failed = q->ticket + 1;
    else
        status = d->child.calls->run_through(q->inner, instance->inner, params, n_params, after, ctx, &q->inner_ticket);
    if (status == ENG_OK)
        *ticket = ++q->ticket;
    return status;
}

/* Transfers come after what was submitted; after what never ends they are never done. */
static int ready(eng_queue_state *q, bool *never)
{
    *never = q->held.there && q->held.until == UINT64_MAX;
    if (atomic_load(&q->device->lost))
        return fault_lost(q->device);
    return *never ? ENG_OK : end_held(q, UINT64_MAX);
}

static int passed(eng_queue_state *q, int status, uint64_t *ticket)
{
    if (status == ENG_OK)
        *ticket = ++q->ticket;
    return status;
}

int fault_write(eng_queue_state *q, eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n,
                uint64_t *ticket)
{
    bool never;
    int status = fault_transfer(q->device);
    if (status == ENG_OK)
        status = ready(q, &never);
    if (status == ENG_OK && !never)
        status = q->device->child.calls->write(q->inner, store->inner, tensor, regions, n, &q->inner_ticket);
    return passed(q, status, ticket);
}

int fault_read(eng_queue_state *q, eng_store_state *store, uint32_t tensor, const eng_region *regions, uint32_t n,
               uint64_t *ticket)
{
    bool never;
    int status = fault_transfer(q->device);
    if (status == ENG_OK)
        status = ready(q, &never);
    if (status == ENG_OK && !never)
        status = q->device->child.calls->read(q->inner, store->inner, tensor, regions, n, &q->inner_ticket);
    return passed(q, status, ticket);
}

int fault_value_read(eng_queue_state *q, eng_instance_state *instance, int32_t tensor, const eng_region *regions,
                     uint32_t n, uint64_t *ticket)
{
    const eng_device_calls *c = q->device->child.calls;
    bool never;
    if (fault_hits(q->device, FAULT_AT_VALUE))
        fault_block(q->device);
    int status = ready(q, &never);
    if (status == ENG_OK && !never)
        status = c->value_read(q->inner, instance->inner, tensor, regions, n, &q->inner_ticket);
    return passed(q, status, ticket);
}

int fault_value_write(eng_queue_state *q, eng_instance_state *instance, int32_t tensor, const eng_region *regions,
                      uint32_t n, uint64_t *ticket)
{
    const eng_device_calls *c = q->device->child.calls;
    bool never;
    if (fault_hits(q->device, FAULT_AT_VALUE))
        fault_block(q->device);
    int status = ready(q, &never);
    if (status == ENG_OK && !never)
        status = c->value_write(q->inner, instance->inner, tensor, regions, n, &q->inner_ticket);
    return passed(q, status, ticket);
}
