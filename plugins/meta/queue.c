/* Queues: one queue of every device, and a team with a thread for each. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

/* meta.timeout in nanoseconds. */
static int read_timeout(eng_device_state *device, uint64_t *timeout)
{
    const eng_plugin_state *plugin = device->plugin;
    const char *text = plugin->services->option(plugin->host, "timeout");
    char *end;
    unsigned long long ms = strtoull(text, &end, 10);

    if (*text < '0' || *text > '9' || *end)
        return META_FAIL(device, ENG_ERR_INVALID,
                         "option meta.timeout is '%s'; give a whole number of milliseconds, or 0 for no limit", text);
    *timeout = ms == 0 || ms > UINT64_MAX / 8000000u ? UINT64_MAX : (uint64_t)ms * 1000000u;
    return ENG_OK;
}

int meta_queue_create(eng_device_state *device, eng_queue_state **queue)
{
    size_t align = _Alignof(eng_queue_state);
    eng_queue_state *q = aligned_alloc(align, (sizeof *q + align - 1) / align * align);

    if (!q)
        return META_FAIL(device, ENG_ERR_NOMEM, "out of host memory for a queue");
    memset(q, 0, sizeof *q);
    q->device = device;
    q->base = 1;
    int status = read_timeout(device, &q->timeout);
    if (status == ENG_OK)
        status = meta_progress_init(q);
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

int meta_child_wait(eng_queue_state *q, uint32_t rank, uint64_t ticket, uint64_t timeout)
{
    const eng_child *c = &q->device->ranks[rank].child;
    int status = c->calls->wait(q->child[rank], ticket, timeout);

    if (status != ENG_ERR_TIMEOUT || timeout == UINT64_MAX)
        return status;
    return META_FAIL(q->device, status, "it has not finished within the time that meta.timeout allows (%llu ms)",
                     (unsigned long long)(timeout / 1000000u));
}

void meta_queue_destroy(eng_queue_state *queue)
{
    const eng_services *sv;

    if (!queue)
        return;
    sv = queue->device->plugin->services;
    sv->parallel_end(sv->host, &queue->team);
    meta_late_claim(queue);
    for (uint32_t r = 0; r < META_MAX_RANKS; r++) /* waits for what a failed run has left */
        if (queue->child[r])
            queue->device->ranks[r].child.calls->queue_destroy(queue->child[r]);
    meta_late_end(queue);
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

    if (!meta_member_release(m))
        return false;
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
        if (stop->section >= next) {
            good = !atomic_load_explicit(&q->failed, memory_order_relaxed) && submit_sections(&m, next, stop->section);
            next = stop->section + 1;
        }
        good = good && meta_exchange_run(&m, stop->exchange);
    }
    if (good && next < (int32_t)part->n_sections)
        submit_sections(&m, next, (int32_t)part->n_sections - 1);
    meta_member_idle(&m);
    atomic_fetch_add_explicit(&q->device->ranks[m.rank].sent, m.sent, memory_order_relaxed);
}

/* What a run needs of the queue. */
static int begin_run(eng_queue_state *q, eng_instance_state *instance, const int64_t *params, uint32_t n_params)
{
    int status = meta_late_finish(q);

    if (status == ENG_OK)
        status = meta_late_finish_instance(instance, q->timeout);
    q->instance = instance;
    q->params = params;
    q->n_params = n_params;
    q->n_members = 0;
    atomic_store(&q->failed, 0);
    atomic_store(&q->blame, -1);
    for (uint32_t left = instance->variant->ranks; left && status == ENG_OK; left &= left - 1) {
        uint32_t r = meta_first(left);
        status = meta_child_queue(q, r);
        q->members[q->n_members++] = r;
    }
    return status;
}

static int end_run(eng_queue_state *q)
{
    eng_device_state *d = q->device;
    int status = atomic_load(&q->failed);

    q->base += ((uint64_t)q->instance->variant->n_exchanges + 1) * META_STAGES;
    atomic_fetch_add(&d->submits, 1);
    if (status == ENG_OK)
        return ENG_OK;
    meta_late_keep(q, q->instance);
    int blame = atomic_load(&q->blame);
    return META_FAIL(d, status, "%s, rank %d of %s: %s", d->ranks[blame].name, blame, d->name, q->text);
}

int meta_queue_submit(eng_queue_state *queue, eng_instance_state *instance, uint32_t first, uint32_t count,
                      const int64_t *params, uint32_t n_params, uint64_t *ticket)
{
    const eng_services *sv = queue->device->plugin->services;

    (void)first;
    (void)count; /* the whole graph is one section */
    int status = begin_run(queue, instance, params, n_params);
    if (status == ENG_OK && queue->n_members)
        status = sv->parallel(sv->host, &queue->team, queue->n_members, run_rank, queue);
    if (status == ENG_OK)
        status = end_run(queue);
    if (status == ENG_OK)
        *ticket = ++queue->tickets;
    return status;
}

int meta_queue_wait(eng_queue_state *queue, uint64_t ticket, uint64_t timeout)
{
    (void)queue; /* all work is done before its call returns */
    (void)ticket;
    (void)timeout;
    return ENG_OK;
}

/* -- moving data -------------------------------------------------------------------------- */

/* Says which rank an error is of. */
static int blamed(const eng_queue_state *q, uint32_t rank, int status)
{
    const eng_device_state *d = q->device;
    const eng_services *sv = d->plugin->services;
    char text[512];

    if (status == ENG_OK)
        return ENG_OK;
    snprintf(text, sizeof text, "%s", sv->last_error(sv->host));
    return META_FAIL(d, status, "%s, rank %u of %s: %s", d->ranks[rank].name, (unsigned)rank, d->name, text);
}

/* Straight through the ranks' own queues where they hold the tensor whole.  They are idle,
 * so only the transfer itself is waited for: without limit, as the memory is the host's. */
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
            status = blamed(q, r, c->calls->write(q->child[r], store->child[r], t->child[r], offset, bytes, data,
                                                  &tickets[r]));
        if (status == ENG_OK)
            started |= 1u << r;
    }
    for (uint32_t r = 0; r < META_MAX_RANKS; r++) {
        if (!(started >> r & 1u))
            continue;
        int done = meta_child_wait(q, r, tickets[r], UINT64_MAX);
        status = status == ENG_OK ? blamed(q, r, done) : status;
    }
    return status;
}

int meta_queue_write(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, uint64_t offset, uint64_t bytes,
                     const void *data, uint64_t *ticket)
{
    /* data are only read */
    eng_region region = {.data = (void *)(uintptr_t)data, .tensor_offset = offset, .bytes = bytes, .count = 1};
    int status = meta_late_finish(queue);
    if (status == ENG_OK && store->tensors[tensor].place.kind == META_SHARDED)
        status = meta_store_upload(store, tensor, &region, 1);
    else if (status == ENG_OK)
        status = write_whole(queue, store, tensor, offset, bytes, data);
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
    int status = meta_late_finish(queue);

    if (status != ENG_OK)
        return status;
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
            status = meta_child_wait(queue, r, own, UINT64_MAX);
        status = blamed(queue, r, status);
    }
    if (status == ENG_OK)
        *ticket = ++queue->tickets;
    return status;
}
