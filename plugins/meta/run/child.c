/* The queues of the ranks' devices. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "run.h"

/* Guests may join after the queue was made. */
int meta_child_queue(eng_queue_state *q, uint32_t rank)
{
    const eng_child *c = &q->device->ranks[rank].child;
    return q->child[rank] ? ENG_OK : meta_blame(q->device, rank, c->calls->queue_create(c->state, &q->child[rank]));
}

/* Tickets one by one: what comes after work that has failed may never be done. */
int meta_child_look(eng_queue_state *q, uint32_t rank, uint64_t ticket, uint64_t *done)
{
    const eng_child *c = &q->device->ranks[rank].child;
    int status = ENG_OK;
    for (uint64_t t = q->settled[rank] + 1; t <= ticket && status == ENG_OK; t++) {
        status = c->calls->wait(q->child[rank], q->settled[rank], t, 0, NULL);
        *done += status == ENG_OK;
    }
    return status == ENG_ERR_TIMEOUT ? ENG_OK : status;
}

int meta_child_wait(eng_queue_state *q, uint32_t rank, uint64_t ticket, uint64_t timeout)
{
    const eng_child *c = &q->device->ranks[rank].child;
    if (ticket <= q->settled[rank])
        return ENG_OK; /* a synchronous device's is always 0 */
    int status = c->calls->wait(q->child[rank], q->settled[rank], ticket, timeout, NULL);

    if (status != ENG_ERR_TIMEOUT || timeout == UINT64_MAX)
        q->settled[rank] = ticket; /* in whatever way */
    if (status != ENG_ERR_TIMEOUT || timeout == UINT64_MAX)
        return status;
    return META_FAIL(q->device, status, "it has not finished within the time that meta.timeout allows (%llu ms)",
                     (unsigned long long)(timeout / 1000000u));
}
