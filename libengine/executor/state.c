/* Timelines as memory: references, items, and sleeping until something has moved. */
#include "config.h"

#include <stdlib.h>

#include "timeline.h"

bool eng_timeline_sleep(eng_timeline *t, uint64_t deadline)
{
    bool in_time = true;
    if (deadline != NEVER && deadline <= eu_now())
        return false;
    t->sleepers++;
    if (deadline == NEVER) {
        pthread_cond_wait(&t->moved, &t->lock);
    } else {
        struct timespec at = eu_timespec(deadline);
        in_time = pthread_cond_timedwait(&t->moved, &t->lock, &at) == 0;
    }
    t->sleepers--;
    return in_time;
}

void eng_timeline_retain(eng_timeline *t)
{
    atomic_fetch_add(&t->references, 1);
}

static void item_free(eng_item *item)
{
    free(item->regions);
    free(item->waits);
    free(item);
}

void eng_timeline_release(eng_timeline *t)
{
    if (atomic_fetch_sub(&t->references, 1) > 1)
        return;
    for (uint64_t i = 0; i < t->room; i++)
        item_free(t->ring[i]);
    free(t->ring);
    eng_timeline_forget(t);
    pthread_cond_destroy(&t->work);
    pthread_cond_destroy(&t->moved);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

void eng_timeline_clean(eng_timeline *t)
{
    while (t->cleaned < t->done) {
        eng_item *item = item_of(t, ++t->cleaned);
        for (uint32_t i = 0; i < item->n_waits; i++)
            eng_timeline_release(item->waits[i].timeline);
        item->n_waits = 0;
    }
}
