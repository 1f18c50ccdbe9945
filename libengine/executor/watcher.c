/* The watcher of a context, the workers of its timelines, and the trace. */
#include "config.h"

#include <stdlib.h>

#include "../util/thread.h"
#include "timeline.h"

#define PERIOD 1000000u /* ns between two looks */
#define QUIET_LOOKS 16  /* without anything new, before the watcher sleeps until it is woken */

enum { NOT_STARTED = 2, ASLEEP = 1, AWAKE = 0 };

struct eng_executor {
    eng_trace_func trace;
    void *trace_user;
    atomic_int state; /* changed under the lock */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    eng_timeline *timelines;
    bool stop;
    pthread_t thread;
};

/* -- workers ------------------------------------------------------------------------------- */

static void *worker_main(void *arg)
{
    const eng_patience patience = {.deadline = NEVER, .worker = true};
    eng_timeline *t = arg;
    pthread_mutex_lock(&t->lock);
    while (!t->worker_stops) {
        if (t->wanted && !t->driven && t->handed < t->pushed) {
            t->hand_one(t, &patience);
            continue;
        }
        t->wanted = t->wanted && t->handed < t->pushed;
        pthread_cond_wait(&t->work, &t->lock);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

bool eng_timeline_wake_worker(eng_timeline *t)
{
    t->wanted = true;
    if (t->has_worker)
        pthread_cond_signal(&t->work);
    else
        t->has_worker = eu_thread_start(&t->worker, worker_main, t);
    return t->has_worker;
}

void eng_timeline_end_worker(eng_timeline *t)
{
    pthread_mutex_lock(&t->lock);
    bool there = t->has_worker;
    t->worker_stops = true;
    pthread_cond_signal(&t->work);
    pthread_mutex_unlock(&t->lock);
    if (there)
        pthread_join(t->worker, NULL);
}

/* -- the watcher ----------------------------------------------------------------------------- */

/* Work that was left lying at the last look and still is gets a worker.  true: something is going on. */
static bool look_at(eng_timeline *t)
{
    pthread_mutex_lock(&t->lock);
    bool left = !t->driven && t->handed < t->pushed;
    bool active = left || t->pushed != t->seen_pushed;
    if (left && t->seen_left && t->seen_handed == t->handed)
        eng_timeline_wake_worker(t);
    t->seen_left = left;
    t->seen_handed = t->handed;
    t->seen_pushed = t->pushed;
    pthread_mutex_unlock(&t->lock);
    return active;
}

static bool look(eng_executor *e)
{
    bool active = false;
    for (eng_timeline *t = e->timelines; t; t = t->next)
        active |= look_at(t);
    return active;
}

static void pause_until_next(eng_executor *e)
{
    struct timespec time = eu_timespec(eu_now() + PERIOD);
    pthread_cond_timedwait(&e->wake, &e->lock, &time);
}

/* Before it sleeps for good it says so, then looks once more; who pushes work looks whether
 * it sleeps when the work is there.  One of them sees the other. */
static void *watcher_main(void *arg)
{
    eng_executor *e = arg;
    pthread_mutex_lock(&e->lock);
    for (int quiet = 0; !e->stop;) {
        quiet = look(e) ? 0 : quiet + 1;
        if (quiet < QUIET_LOOKS) {
            pause_until_next(e);
            continue;
        }
        atomic_store(&e->state, ASLEEP);
        if (!look(e))
            while (!e->stop && atomic_load(&e->state) == ASLEEP)
                pthread_cond_wait(&e->wake, &e->lock);
        atomic_store(&e->state, AWAKE);
        quiet = 0;
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

void eng_executor_poke(eng_executor *e)
{
    if (atomic_load(&e->state) == AWAKE)
        return;
    pthread_mutex_lock(&e->lock);
    int state = atomic_load(&e->state);
    if (state == ASLEEP) {
        atomic_store(&e->state, AWAKE);
        pthread_cond_signal(&e->wake);
    } else if (state == NOT_STARTED && eu_thread_start(&e->thread, watcher_main, e)) {
        atomic_store(&e->state, AWAKE); /* without it, work is done when it is waited for */
    }
    pthread_mutex_unlock(&e->lock);
}

void eng_executor_add(eng_executor *e, eng_timeline *t)
{
    pthread_mutex_lock(&e->lock);
    t->next = e->timelines;
    if (t->next)
        t->next->before = t;
    e->timelines = t;
    pthread_mutex_unlock(&e->lock);
}

void eng_executor_remove(eng_executor *e, eng_timeline *t)
{
    pthread_mutex_lock(&e->lock);
    if (t->next)
        t->next->before = t->before;
    if (t->before)
        t->before->next = t->next;
    else
        e->timelines = t->next;
    pthread_mutex_unlock(&e->lock);
}

int eng_executor_create(eng_trace_func trace, void *trace_user, eng_executor **executor)
{
    pthread_condattr_t monotonic;
    eng_executor *e = calloc(1, sizeof *e);
    if (!e)
        return eng_fail_memory();
    e->trace = trace;
    e->trace_user = trace_user;
    atomic_init(&e->state, NOT_STARTED);
    pthread_mutex_init(&e->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&e->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    *executor = e;
    return ENG_OK;
}

void eng_executor_destroy(eng_executor *e)
{
    if (!e)
        return;
    pthread_mutex_lock(&e->lock);
    bool started = atomic_load(&e->state) != NOT_STARTED;
    e->stop = true;
    pthread_cond_signal(&e->wake);
    pthread_mutex_unlock(&e->lock);
    if (started)
        pthread_join(e->thread, NULL);
    pthread_cond_destroy(&e->wake);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

/* -- the trace --------------------------------------------------------------------------------- */

void eng_executor_trace(const eng_timeline *t, uint32_t phase, uint32_t kind, uint64_t ticket, int status)
{
    const eng_executor *e = t->executor;
    if (!e->trace)
        return;
    eng_trace_event event = {.size = sizeof event, .phase = phase, .kind = kind, .status = status,
                             .fence = {.queue = (eng_queue *)(uintptr_t)t->traced, .ticket = ticket}, .time = eu_now()};
    e->trace(e->trace_user, &event);
}
