/* Timelines: creation and end, and the work that is pushed. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "timeline.h"

/* -- creation and end ------------------------------------------------------------------ */

static bool init_locks(eng_timeline *t)
{
    pthread_condattr_t monotonic;
    bool good = false;
    if (pthread_mutex_init(&t->lock, NULL) != 0)
        return false;
    if (pthread_condattr_init(&monotonic) == 0) {
        good = pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0 &&
               pthread_cond_init(&t->moved, &monotonic) == 0;
        pthread_condattr_destroy(&monotonic);
    }
    if (good && pthread_cond_init(&t->work, NULL) != 0) {
        pthread_cond_destroy(&t->moved);
        good = false;
    }
    if (!good)
        pthread_mutex_destroy(&t->lock);
    return good;
}

int eng_timeline_create(eng_executor *executor, const eng_device_calls *calls, eng_device_state *device,
                        uint32_t flags, const eng_queue *queue, eng_timeline **timeline)
{
    eng_timeline *t = calloc(1, sizeof *t);
    if (!t || !(t->spare = malloc(sizeof *t->spare)) || !init_locks(t)) {
        free(t ? t->spare : NULL);
        free(t);
        return eng_fail_memory();
    }
    t->executor = executor;
    t->calls = calls;
    t->device = device;
    t->traced = queue;
    t->asynchronous = flags & ENG_DEVICE_ASYNCHRONOUS;
    t->yields = flags & ENG_DEVICE_YIELDS;
    t->hand_one = eng_timeline_hand_one;
    atomic_init(&t->references, 1);
    atomic_init(&t->cancelled, 0);
    unsigned words = eng_failure_words();
    int status = eng_answer(calls->queue_create(device, &t->queue), words, "a queue", "queue_create");
    if (status < 0) {
        eng_timeline_release(t);
        return status;
    }
    eng_executor_add(executor, t);
    *timeline = t;
    return ENG_OK;
}

void eng_timeline_end(eng_timeline *t)
{
    const eng_patience all = {.deadline = NEVER};
    pthread_mutex_lock(&t->lock);
    eng_timeline_reach(t, t->pushed, &all);
    while (t->inside || t->driven) /* threads of other timelines, on their way out */
        eng_timeline_sleep(t, NEVER);
    eng_timeline_clean(t);
    pthread_mutex_unlock(&t->lock);
    eng_executor_remove(t->executor, t);
    eng_timeline_end_worker(t);
    t->calls->queue_destroy(t->queue);
    eng_timeline_release(t);
}

/* -- pushing ----------------------------------------------------------------------------- */

/* Room for one more ticket in the ring, which never grows once it is as long as it needs to be. */
static bool make_room(eng_timeline *t)
{
    eng_timeline_clean(t);
    if (t->pushed - t->cleaned < t->room)
        return true;
    uint64_t room = t->room ? 2 * t->room : 8, n = 0;
    eng_item **ring = calloc(room, sizeof *ring), **more = calloc(room, sizeof *more);
    while (ring && more && n < room - t->room && (more[n] = calloc(1, sizeof **more)))
        n++;
    bool good = n == room - t->room;
    for (uint64_t i = 0, ticket = t->pushed + 1 - t->room; good && i < t->room; i++, ticket++)
        ring[ticket % room] = item_of(t, ticket);
    for (uint64_t i = 0; i < room && good; i++)
        if (!ring[i])
            ring[i] = more[--n];
    while (n > 0)
        free(more[--n]);
    free(more);
    free(good ? t->ring : ring);
    if (good) {
        t->ring = ring;
        t->room = room;
    }
    return good;
}

static bool grow(void **array, uint32_t n, uint32_t *room, size_t size)
{
    if (n <= *room)
        return true;
    void *more = realloc(*array, n * size);
    if (!more)
        return false;
    *array = more;
    *room = n;
    return true;
}

/* The item of the next ticket, filled; NULL: no memory. */
static eng_item *next_item(eng_timeline *t, const eng_point *waits, uint32_t n_waits, const eng_work *work)
{
    if (!make_room(t))
        return NULL;
    eng_item *item = item_of(t, t->pushed + 1);
    if (!grow((void **)&item->regions, work->n_regions, &item->region_room, sizeof *item->regions) ||
        !grow((void **)&item->waits, n_waits, &item->wait_room, sizeof *item->waits))
        return NULL;
    item->work = *work;
    item->native = item->position = 0;
    if (work->n_params)
        memcpy(item->params, work->params, work->n_params * sizeof *item->params);
    item->work.params = item->params;
    item->work.regions = item->regions;
    item->work.n_regions = 0;
    for (uint32_t i = 0; i < work->n_regions; i++)
        if (work->regions[i].bytes && work->regions[i].count)
            item->regions[item->work.n_regions++] = work->regions[i];
    for (uint32_t i = 0; i < n_waits; i++) {
        item->waits[i] = waits[i];
        eng_timeline_retain(waits[i].timeline);
    }
    item->n_waits = n_waits;
    return item;
}

int eng_timeline_push(eng_timeline *t, const eng_point *waits, uint32_t n_waits, const eng_work *work,
                      uint64_t *ticket)
{
    pthread_mutex_lock(&t->lock);
    if (!next_item(t, waits, n_waits, work)) {
        pthread_mutex_unlock(&t->lock);
        return eng_fail_memory();
    }
    *ticket = ++t->pushed;
    if (t->asynchronous)
        eng_timeline_hand_ready(t);
    else if (t->by_worker && !t->driven)
        eng_timeline_wake_worker(t);
    bool left = t->handed < t->pushed;
    pthread_mutex_unlock(&t->lock);
    if (left)
        eng_executor_poke(t->executor);
    return ENG_OK;
}

uint64_t eng_timeline_last(eng_timeline *t)
{
    pthread_mutex_lock(&t->lock);
    uint64_t last = t->pushed;
    pthread_mutex_unlock(&t->lock);
    return last;
}

void eng_timeline_cancel(eng_timeline *t)
{
    pthread_mutex_lock(&t->lock);
    atomic_store(&t->cancelled, t->pushed);
    if (!t->driven || t->held_up)
        eng_timeline_drop(t);
    pthread_mutex_unlock(&t->lock);
}
