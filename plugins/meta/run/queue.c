/* Queues: one queue of every device, and a team with a thread for each (run.c). */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

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
                         "option meta.timeout is '%s'" ENG_ADVICE
                         "give a whole number of milliseconds, or 0 for no limit", text);
    *timeout = ms == 0 || ms > UINT64_MAX / 8000000u ? UINT64_MAX : (uint64_t)ms * 1000000u;
    return ENG_OK;
}

int meta_queue_create(eng_device_state *device, eng_queue_state **queue)
{
    size_t align = _Alignof(eng_queue_state);
    eng_queue_state *q = aligned_alloc(align, (sizeof *q + align - 1) / align * align);

    if (!q)
        return meta_no_memory(device, "a queue");
    memset(q, 0, sizeof *q);
    q->device = device;
    q->base = q->next_base = 1;
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

void meta_queue_destroy(eng_queue_state *queue)
{
    const eng_services *sv;

    if (!queue)
        return;
    sv = queue->device->plugin->services;
    meta_late_claim(queue);
    sv->parallel_end(sv->host, &queue->team);
    for (uint32_t r = 0; r < META_MAX_RANKS; r++) /* waits for what a failed run has left */
        if (queue->child[r])
            queue->device->ranks[r].child.calls->queue_destroy(queue->child[r]);
    meta_late_end(queue);
    meta_progress_end(queue);
    free(queue);
}

/* -- moving data -------------------------------------------------------------------------- */

/* Nobody is at work: where the host shares a rank's memory, its store takes and gives at once. */
static bool at_once(const eng_queue_state *q, uint32_t rank)
{
    return q->device->ranks[rank].child.info->flags & ENG_DEVICE_HOST_MEMORY;
}

/* Straight through the ranks' own queues where they hold the tensor whole.  They are idle,
 * so only the transfer itself is waited for: without limit, as the memory is the host's. */
static int write_whole(eng_queue_state *q, eng_store_state *store, uint32_t tensor, const eng_region *regions,
                       uint32_t n)
{
    const meta_tensor *t = &store->tensors[tensor];
    uint64_t tickets[META_MAX_RANKS] = {0};
    uint32_t started = 0;
    int status = ENG_OK;

    for (uint32_t r = 0; r < META_MAX_RANKS && status == ENG_OK; r++) {
        if (t->child[r] == META_NONE)
            continue;
        const eng_child *c = &q->device->ranks[r].child;
        if (at_once(q, r)) {
            status = meta_blame(q->device, r, c->calls->store_upload(store->child[r], t->child[r], regions, n));
            continue;
        }
        status = meta_child_queue(q, r);
        if (status == ENG_OK)
            status = meta_blame(q->device, r, c->calls->write(q->child[r], store->child[r], t->child[r], regions, n,
                                                              &tickets[r]));
        if (status == ENG_OK)
            started |= 1u << r;
    }
    for (uint32_t r = 0; r < META_MAX_RANKS; r++) {
        if (!(started >> r & 1u))
            continue;
        int done = meta_child_wait(q, r, tickets[r], UINT64_MAX);
        status = status == ENG_OK ? meta_blame(q->device, r, done) : status;
    }
    return status;
}

int meta_queue_write(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, const eng_region *regions,
                     uint32_t n, uint64_t *ticket)
{
    int status = meta_late_finish(queue);
    (void)ticket; /* all work is done before its call returns */
    if (status != ENG_OK)
        return status;
    return store->tensors[tensor].place.kind == META_SHARDED ? meta_store_upload(store, tensor, regions, n)
                                                             : write_whole(queue, store, tensor, regions, n);
}

int meta_queue_read(eng_queue_state *queue, eng_store_state *store, uint32_t tensor, const eng_region *regions,
                    uint32_t n, uint64_t *ticket)
{
    const meta_tensor *t = &store->tensors[tensor];
    uint64_t own = 0;
    uint32_t r = 0;
    int status = meta_late_finish(queue);

    (void)ticket;
    if (status != ENG_OK)
        return status;
    while (r < META_MAX_RANKS && t->child[r] == META_NONE)
        r++;
    if (t->place.kind == META_SHARDED || r == META_MAX_RANKS || at_once(queue, r))
        return meta_store_download(store, tensor, regions, n);
    const eng_child *c = &queue->device->ranks[r].child;
    status = meta_child_queue(queue, r);
    if (status == ENG_OK)
        status = meta_blame(queue->device, r, c->calls->read(queue->child[r], store->child[r], t->child[r], regions, n,
                                                             &own));
    return status == ENG_OK ? meta_blame(queue->device, r, meta_child_wait(queue, r, own, UINT64_MAX)) : status;
}
