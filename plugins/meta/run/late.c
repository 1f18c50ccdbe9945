/*
 * What runs have left behind that ended before their ranks' devices did (meta.timeout):
 * work that is not done, and threads in a call that does not return.  The devices still
 * use the instance's memory and are busy for the queue: neither runs again before they
 * are through, and neither is freed.
 *
 * A queue and an instance are each used by one thread at a time, but not by the same one.
 * So whoever waits for a queue's late work claims the queue first: nobody else waits on
 * its children then, and nobody frees it.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <time.h>

#include "run.h"

/* Which queue has late work of which instance, and who has claimed it.  Held for moments,
 * and outlives every queue: a thread may come here for one that another is freeing. */
static pthread_mutex_t links = PTHREAD_MUTEX_INITIALIZER;

#define LOOK_AGAIN 1000000u /* ns */

/* The queue `own`, or if that is NULL the one with late work of the instance; in *queue
 * NULL if there is none any more.  false: another thread kept it for all of the time. */
static bool claim(eng_queue_state *own, eng_instance_state *instance, uint64_t timeout, eng_queue_state **queue)
{
    const struct timespec pause = {.tv_nsec = LOOK_AGAIN};

    for (uint64_t waited = 0;; waited += LOOK_AGAIN) {
        pthread_mutex_lock(&links);
        eng_queue_state *q = own ? own : atomic_load(&instance->late);
        bool free_now = !q || !q->claimed;
        if (q && free_now)
            q->claimed = true;
        pthread_mutex_unlock(&links);
        *queue = free_now ? q : NULL;
        if (free_now || waited >= timeout)
            return free_now;
        nanosleep(&pause, NULL);
    }
}

/* `done`: what is no longer at work.  A thread that comes back may add its rank meanwhile. */
static void let_go(eng_queue_state *q, uint32_t done)
{
    pthread_mutex_lock(&links);
    if (!(atomic_load(&q->late) & ~done) && q->late_instance) {
        atomic_store(&q->late_instance->late, NULL);
        q->late_instance = NULL;
    }
    q->claimed = false;
    atomic_fetch_and(&q->late, ~done); /* last: its owner looks here without the lock */
    pthread_mutex_unlock(&links);
}

static int still_at_work(const eng_queue_state *q, uint32_t rank)
{
    const eng_device_state *d = q->device;
    return META_FAIL(d, ENG_ERR_TIMEOUT, "%s, rank %u of %s, is still at work for a run that was given up",
                     d->ranks[rank].name, (unsigned)rank, d->name);
}

/* The threads come back first, and add what their ranks' devices are still at. */
static int finish_claimed(eng_queue_state *q, uint64_t timeout, uint32_t *done)
{
    const eng_services *sv = q->device->plugin->services;
    uint32_t rank;

    if (atomic_load(&q->late) & META_LATE_TEAM) {
        while (!sv->parallel_wait(sv->host, &q->team, timeout))
            if (meta_held_up(q, &rank))
                return still_at_work(q, rank);
        *done |= META_LATE_TEAM;
    }
    for (uint32_t left = atomic_load(&q->late) & ~META_LATE_TEAM; left; left &= left - 1) {
        uint32_t r = meta_first(left);
        if (meta_child_wait(q, r, q->late_ticket[r], timeout) == ENG_ERR_TIMEOUT)
            return still_at_work(q, r);
        *done |= 1u << r; /* in whatever way: the run has failed already */
    }
    return ENG_OK;
}

/* What is left is given the time again. */
static int finish(eng_queue_state *own, eng_instance_state *instance, uint64_t timeout)
{
    const eng_device_state *d = own ? own->device : instance->variant->device;
    eng_queue_state *q;

    if (!claim(own, instance, timeout, &q))
        return META_FAIL(d, ENG_ERR_TIMEOUT, "a queue of %s is still at work for a run that was given up", d->name);
    if (!q)
        return ENG_OK;
    uint32_t done = 0;
    int status = finish_claimed(q, timeout, &done);
    let_go(q, done);
    return status;
}

int meta_late_finish(eng_queue_state *queue)
{
    return atomic_load(&queue->late) ? finish(queue, NULL, queue->timeout) : ENG_OK;
}

int meta_late_finish_instance(eng_instance_state *instance, uint64_t timeout)
{
    return atomic_load(&instance->late) ? finish(NULL, instance, timeout) : ENG_OK;
}

void meta_late_note(eng_queue_state *queue, uint32_t rank, uint64_t ticket)
{
    queue->late_ticket[rank] = ticket;
    atomic_fetch_or(&queue->late, 1u << rank);
}

void meta_late_team(eng_queue_state *queue)
{
    atomic_fetch_or(&queue->late, META_LATE_TEAM);
}

void meta_late_keep(eng_queue_state *queue, eng_instance_state *instance)
{
    if (!atomic_load(&queue->late))
        return;
    pthread_mutex_lock(&links);
    queue->late_instance = instance;
    atomic_store(&instance->late, queue);
    pthread_mutex_unlock(&links);
}

void meta_late_claim(eng_queue_state *queue)
{
    claim(queue, NULL, UINT64_MAX, &queue);
}

void meta_late_end(eng_queue_state *queue)
{
    let_go(queue, UINT32_MAX);
}
