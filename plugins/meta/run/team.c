/*
 * Ranks waiting for one another.  Every rank has a counter that only grows;
 * whoever needs something of it waits until the counter is there: for a moment by
 * looking again, then asleep.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "run.h"

/* Pauses before sleeping, 10 to 50 nanoseconds each by processor.  The least is about what
 * sleeping and being woken costs; where ranks share cores, each pause keeps one away. */
#define MOST_SPINS 4000
#define LEAST_SPINS 300
#define SHARED_SPINS 50
/* A sleep longer than this means that the rank waited for is slow, or that others use the
 * cores: then threads that sleep are woken at once, and threads that always run are the
 * ones that wait for a core.  So the rank's next waits go to sleep early, twice as many
 * each time, and fewer again when looking has served well. */
#define LONG_SLEEP 500000 /* ns */
#define LEAST_PENALTY 256 /* waits */
#define MOST_PENALTY 16384

static inline void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static long core_count(void)
{
#ifdef HAVE_SCHED_SETAFFINITY
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
#endif
    return sysconf(_SC_NPROCESSORS_ONLN);
}

static bool progress_init(meta_progress *p)
{
    pthread_condattr_t attributes;
    bool good = false;

    if (pthread_mutex_init(&p->lock, NULL) != 0)
        return false;
    if (pthread_condattr_init(&attributes) == 0) {
        atomic_init(&p->waits_for, META_THROUGH);
        good = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
               pthread_cond_init(&p->moved, &attributes) == 0;
        pthread_condattr_destroy(&attributes);
    }
    if (!good)
        pthread_mutex_destroy(&p->lock);
    return good;
}

static void progress_end(meta_progress *p)
{
    pthread_cond_destroy(&p->moved);
    pthread_mutex_destroy(&p->lock);
}

int meta_progress_init(eng_queue_state *q)
{
    q->may_spin = core_count() >= (long)q->device->n_leaves;
    for (uint32_t r = 0; r < META_MAX_RANKS; r++) {
        if (progress_init(&q->progress[r]))
            continue;
        while (r-- > 0)
            progress_end(&q->progress[r]);
        return META_FAIL(q->device, ENG_ERR_NOMEM, "out of resources for the locks of a queue");
    }
    return ENG_OK;
}

void meta_progress_end(eng_queue_state *q)
{
    for (uint32_t r = 0; r < META_MAX_RANKS; r++)
        progress_end(&q->progress[r]);
}

static void wake(meta_progress *p)
{
    pthread_mutex_lock(&p->lock);
    pthread_cond_broadcast(&p->moved);
    pthread_mutex_unlock(&p->lock);
}

static uint64_t nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* false: the deadline has passed. */
static bool sleep_until(meta_progress *p, uint64_t deadline)
{
    if (deadline == UINT64_MAX)
        return pthread_cond_wait(&p->moved, &p->lock) == 0;
    struct timespec t = {.tv_sec = (time_t)(deadline / 1000000000u), .tv_nsec = (long)(deadline % 1000000000u)};
    return pthread_cond_timedwait(&p->moved, &p->lock, &t) == 0 || nanoseconds() < deadline;
}

uint64_t meta_progress_of_all(const eng_queue_state *q)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < q->n_members; i++)
        sum += atomic_load(&q->progress[q->members[i]].at);
    return sum;
}

/* Who keeps those that wait for `rank` waiting: it, or whoever it waits for itself. */
static uint32_t held_up_by(const eng_queue_state *q, uint32_t rank)
{
    for (uint32_t i = 0; i < q->n_members; i++) {
        int next = atomic_load(&q->progress[rank].waits_for);
        if (next < 0)
            break;
        rank = (uint32_t)next;
    }
    return rank;
}

bool meta_held_up(const eng_queue_state *q, uint32_t *rank)
{
    for (uint32_t i = 0; i < q->n_members; i++) {
        *rank = q->members[i];
        if (atomic_load(&q->progress[*rank].waits_for) == META_NOBODY)
            return true;
    }
    return false;
}

int meta_no_progress(const eng_queue_state *q)
{
    return META_FAIL(q->device, ENG_ERR_TIMEOUT,
                     "it has been waited for longer than meta.timeout (%llu ms) allows, and nobody has got further",
                     (unsigned long long)(q->timeout / 1000000u));
}

/* Until the counter is there, or the run has failed, or (false) nobody has got further for a
 * time.  A rank's own device is given the timeout and started later: whoever waits for ranks
 * waits twice as long, so that the rank can tell what it knows.  Nor is a long wait a fault:
 * a rank that takes part at the end of a run waits for all that the others do before. */
static bool sleep_for_stage(const eng_queue_state *q, meta_progress *p, uint64_t stage)
{
    uint64_t limit = q->timeout < UINT64_MAX / 4 ? 2 * q->timeout : UINT64_MAX;
    uint64_t deadline = limit < UINT64_MAX ? nanoseconds() + limit : UINT64_MAX;
    uint64_t seen = limit < UINT64_MAX ? meta_progress_of_all(q) : 0;
    bool in_time = true;

    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->sleepers, 1);
    while (atomic_load(&p->at) < stage && !atomic_load(&q->failed) && in_time) {
        if (sleep_until(p, deadline))
            continue;
        uint64_t all = meta_progress_of_all(q);
        in_time = all != seen;
        seen = all;
        deadline = nanoseconds() + limit;
    }
    atomic_fetch_sub(&p->sleepers, 1);
    pthread_mutex_unlock(&p->lock);
    return in_time;
}

static bool await_asleep(eng_queue_state *q, meta_progress *own, uint32_t rank, uint64_t stage)
{
    meta_progress *p = &q->progress[rank];
    uint64_t from = nanoseconds();

    atomic_store(&own->waits_for, (int)rank);
    bool in_time = sleep_for_stage(q, p, stage);
    atomic_store(&own->waits_for, META_NOBODY);
    if (atomic_load(&p->at) >= stage) {
        if (own->asleep == 0 && nanoseconds() - from > LONG_SLEEP) {
            own->penalty = own->penalty == 0 ? LEAST_PENALTY : own->penalty < MOST_PENALTY ? own->penalty * 2 : own->penalty;
            own->asleep = own->penalty;
            own->awake = 0;
        }
        return true;
    }
    if (!in_time)
        meta_run_fail(q, held_up_by(q, rank), meta_no_progress(q));
    return false;
}

/* How often this wait looks again before it sleeps. */
static uint32_t spins(const eng_queue_state *q, meta_progress *own)
{
    if (!q->may_spin)
        return SHARED_SPINS;
    if (own->asleep > 0) {
        own->asleep--;
        return LEAST_SPINS;
    }
    if (own->penalty > 0 && ++own->awake > MOST_PENALTY) {
        own->penalty /= 2;
        own->awake = 0;
    }
    return MOST_SPINS;
}

bool meta_await(eng_queue_state *q, uint32_t self, uint32_t rank, uint64_t stage)
{
    meta_progress *p = &q->progress[rank], *own = &q->progress[self];

    if (atomic_load_explicit(&p->at, memory_order_acquire) >= stage)
        return true;
    for (uint32_t n = spins(q, own), i = 0; i < n; i++) {
        if (atomic_load_explicit(&p->at, memory_order_acquire) >= stage)
            return true;
        if (atomic_load_explicit(&q->failed, memory_order_relaxed))
            return false;
        pause_briefly();
    }
    return await_asleep(q, own, rank, stage);
}

/* The sleeper announces itself, then looks at the counter; here the counter is moved,
 * then sleepers are looked for.  Both in one order for all: one of them sees the other. */
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
