/*
 * Ranks waiting for one another.  Every rank has a counter that only grows within
 * a run; whoever needs something of it waits until the counter is there: for a
 * moment by looking again, then asleep.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

static inline void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

int meta_progress_init(eng_queue_state *q)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    /* looking again only pays where every rank has a core to itself */
    q->spins = cores > (long)q->device->n_leaves ? 2000 : 50;
    for (uint32_t r = 0; r < META_MAX_RANKS; r++) {
        if (pthread_mutex_init(&q->progress[r].lock, NULL) == 0) {
            if (pthread_cond_init(&q->progress[r].moved, NULL) == 0)
                continue;
            pthread_mutex_destroy(&q->progress[r].lock);
        }
        while (r-- > 0) {
            pthread_cond_destroy(&q->progress[r].moved);
            pthread_mutex_destroy(&q->progress[r].lock);
        }
        return META_FAIL(q->device, ENG_ERR_NOMEM, "out of resources for the locks of a queue");
    }
    return ENG_OK;
}

void meta_progress_end(eng_queue_state *q)
{
    for (uint32_t r = 0; r < META_MAX_RANKS; r++) {
        pthread_cond_destroy(&q->progress[r].moved);
        pthread_mutex_destroy(&q->progress[r].lock);
    }
}

static void wake(meta_progress *p)
{
    pthread_mutex_lock(&p->lock);
    pthread_cond_broadcast(&p->moved);
    pthread_mutex_unlock(&p->lock);
}

bool meta_await(eng_queue_state *q, uint32_t rank, uint64_t stage)
{
    meta_progress *p = &q->progress[rank];

    for (uint32_t i = 0; i < q->spins; i++) {
        if (atomic_load(&p->at) >= stage)
            return true;
        if (atomic_load(&q->failed))
            return false;
        pause_briefly();
    }
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->sleepers, 1);
    while (atomic_load(&p->at) < stage && !atomic_load(&q->failed))
        pthread_cond_wait(&p->moved, &p->lock);
    atomic_fetch_sub(&p->sleepers, 1);
    pthread_mutex_unlock(&p->lock);
    return atomic_load(&p->at) >= stage;
}

void meta_advance(eng_queue_state *q, uint32_t rank, uint64_t stage)
{
    meta_progress *p = &q->progress[rank];

    atomic_store(&p->at, stage);
    if (atomic_load(&p->sleepers))
        wake(p);
}

void meta_run_fail(eng_queue_state *q, uint32_t rank, int status)
{
    const eng_services *sv = q->device->plugin->services;
    int none = -1;

    if (atomic_compare_exchange_strong(&q->blame, &none, (int)rank)) {
        const char *text = sv->last_error(sv->host);
        snprintf(q->text, sizeof q->text, "%s", text ? text : "");
        atomic_store(&q->failed, status);
    }
    for (uint32_t r = 0; r < META_MAX_RANKS; r++)
        wake(&q->progress[r]);
}
