/* Queues: one queue of every device, and a team with a thread for each. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>

#include "run.h"

int meta_queue_create(eng_device_state *device, eng_queue_state **queue)
{
    eng_queue_state *q = aligned_alloc(64, (sizeof *q + 63) & ~(size_t)63);

    if (!q)
        return META_FAIL(device, ENG_ERR_NOMEM, "out of host memory for a queue");
    memset(q, 0, sizeof *q);
    q->device = device;
    int status = meta_progress_init(q);
    if (status != ENG_OK) {
        free(q);
        return status;
    }
    for (uint32_t r = 0; r < device->n_leaves && status == ENG_OK; r++)
        status = meta_child_queue(q, r);
    if (status != ENG_OK) {
        meta_queue_destroy(q);
        return status;
    }
    *queue = q;
    return ENG_OK;
}

/* Guests may join after the queue was made. */
int meta_child_queue(eng_queue_state *q, uint32_t rank)
{
    const eng_child *c = &q->device->ranks[rank].child;
    return q->child[rank] ? ENG_OK : c->calls->queue_create(c->state, &q->child[rank]);
}

void meta_queue_destroy(eng_queue_state *queue)
{
    const eng_services *sv;

    if (!queue)
        return;
    sv = queue->device->plugin->services;
    sv->parallel_end(sv->host, &queue->team);
    for (uint32_t r = 0; r < META_MAX_RANKS; r++)
        if (queue->child[r])
            queue->device->ranks[r].child.calls->queue_destroy(queue->child[r]);
    meta_progress_end(queue);
    free(queue);
}

/* -- a run ----------------------------------------------------------------------------- */

/* Sections from..to of a rank; those that hold nothing but barriers are passed over. */
static bool submit_sections(meta_member *m, int32_t from, int32_t to)
{
    eng_queue_state *q = m->queue;
    const meta_part *part = &q->instance->variant->parts[m->rank];
    const eng_child *c = &q->device->ranks[m->rank].child;
    bool work = false;

    for (int32_t s = from; s <= to; s++)
        work |= part->work[s];
    if (!work)
        return true;
    int status = c->calls->submit(q->child[m->rank], q->instance->child[m->rank], (uint32_t)from,
                                  (uint32_t)(to - from + 1), q->params, q->n_params, &m->pending);
    if (status != ENG_OK) {
        meta_run_fail(q, m->rank, status);
        return false;
    }
    m->busy = true;
    return true;
}

static void run_rank(void *ctx, uint32_t i)
{
    eng_queue_state *q = ctx;
    meta_member m = {.queue = q, .rank = q->members[i]};
    const meta_part *part = &q->instance->variant->parts[m.rank];
    int32_t next = 0;
    bool good = true;

    for (uint32_t s = 0; s < part->n_stops && good; s++) {
        const meta_stop *stop = &part->stops[s];
        if (atomic_load(&q->failed))
            good = false;
        if (good && stop->section >= next) {
            good = submit_sections(&m, next, stop->section);
            next = stop->section + 1;
        }
        good = good && meta_exchange_run(&m, stop->exchange);
    }
    if (good && next < (int32_t)part->n_sections)
        submit_sections(&m, next, (int32_t)part->n_sections - 1);
    meta_member_idle(&m);
}

int meta_queue_submit(eng_queue_state *queue, eng_instance_state *instance, uint32_t first, uint32_t count,
                      const int64_t *params, uint32_t n_params, uint64_t *ticket)
{
    eng_device_state *d = queue->device;
    const eng_services *sv = d->plugin->services;

    (void)first;
    (void)count; /* the whole graph is one section */
    queue->instance = instance;
    queue->params = params;
    queue->n_params = n_params;
    queue->n_members = 0;
    atomic_store(&queue->failed, 0);
    atomic_store(&queue->blame, -1);
    for (uint32_t r = 0; r < META_MAX_RANKS; r++) {
        atomic_store(&queue->progress[r].at, 0);
        if (!(instance->variant->ranks >> r & 1u))
            continue;
        int status = meta_child_queue(queue, r);
        if (status != ENG_OK)
            return status;
        queue->members[queue->n_members++] = r;
    }
    int status = queue->n_members ? sv->parallel(sv->host, &queue->team, queue->n_members, run_rank, queue) : ENG_OK;
    if (status != ENG_OK)
        return status;
    atomic_fetch_add(&d->submits, 1);
    status = atomic_load(&queue->failed);
    if (status != ENG_OK)
        return META_FAIL(d, status, "%s, rank %d of %s: %s", d->ranks[atomic_load(&queue->blame)].name,
                         atomic_load(&queue->blame), d->name, queue->text);
    *ticket = ++queue->tickets;
    return ENG_OK;
}

int meta_queue_wait(eng_queue_state *queue, uint64_t ticket, uint64_t timeout)
{
    (void)queue; /* all work is done before its call returns */
    (void)ticket;
    (void)timeout;
    return ENG_OK;
}

/* -- moving data -------------------------------------------------------------------------- */

/* Straight through the ranks' own queues where they hold the tensor whole. */
static int write_whole(eng_queue_state *q, eng_store_state *store, uint32_t tensor, uint64_t offset, uint64_t bytes,
                       const void *data)
{
    const meta_tensor *t = &store->tensors[tensor];
    uint64_t tickets[META_MAX_RANKS];
    uint32_t started = 0;
    int status = ENG_OK;

    for (uint32_t r = 0; r < META_MAX_RANKS && status == ENG_OK; r++) {
        if (t->child[r] == META_NONE)
            continue;
        const eng_child *c = &q->device->ranks[r].child;
        status = meta_child_queue(q, r);
        if (status == ENG_OK)
            status = c->calls->write(q->child[r], store->child[r], t->child[r], offset, bytes, data, &tickets[r]);
        if (status == ENG_OK)
            started |= 1u << r;
    }
    for (uint32_t r = 0; r < META_MAX_RANKS; r++) {
        if (!(started >> r & 1u))
            continue;
        int done = q->device->ranks[r].child.calls->wait(q->child[r], tickets[r], UINT64_MAX);
        status = status == ENG_OK ? done : status;
    }
    return status;
}

int meta_queue_write(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, uint64_t offset, uint64_t bytes,
                     const void *data, uint64_t *ticket)
{
    /* data are only read */
    eng_region region = {.data = (void *)(uintptr_t)data, .tensor_offset = offset, .bytes = bytes, .count = 1};
    int status = store->tensors[tensor].place.kind == META_SHARDED
                     ? meta_store_upload(store, tensor, &region, 1)
                     : write_whole(queue, store, tensor, offset, bytes, data);
    if (status == ENG_OK)
        *ticket = ++queue->tickets;
    return status;
}

int meta_queue_read(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, uint64_t offset, uint64_t bytes,
                    void *data, uint64_t *ticket)
{
    const meta_tensor *t = &store->tensors[tensor];
    eng_region region = {.data = data, .tensor_offset = offset, .bytes = bytes, .count = 1};
    uint32_t r = 0;
    int status;

    while (r < META_MAX_RANKS && t->child[r] == META_NONE)
        r++;
    if (t->place.kind == META_SHARDED || r == META_MAX_RANKS) {
        status = meta_store_download(store, tensor, &region, 1);
    } else {
        const eng_child *c = &queue->device->ranks[r].child;
        uint64_t own = 0;
        status = meta_child_queue(queue, r);
        if (status == ENG_OK)
            status = c->calls->read(queue->child[r], store->child[r], t->child[r], offset, bytes, data, &own);
        if (status == ENG_OK)
            status = c->calls->wait(queue->child[r], own, UINT64_MAX);
    }
    if (status == ENG_OK)
        *ticket = ++queue->tickets;
    return status;
}
