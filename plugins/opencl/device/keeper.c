/*
 * Compiled programs are kept on disk by a thread of its own, while nothing else compiles: a driver may compile every
 * kernel once more to make a binary of a program (PoCL does: for any size of groups, where a launch compiles for one), and
 * nobody shall wait for that.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* SCHED_IDLE */
#endif
#include "../host.h"

#include <sched.h>
#include <signal.h>

#define QUIET UINT64_C(500000000)  /* ns since anything was compiled */

static void wait_until(cl_keeper *k, pthread_mutex_t *lock, uint64_t moment)
{
    const struct timespec t = eu_timespec(moment);
    if (moment == UINT64_MAX)
        pthread_cond_wait(&k->change, lock);
    else
        pthread_cond_timedwait(&k->change, lock, &t);
}

/* Is the first run of an instance, the last that began, not over yet? */
static bool is_running(cl_keeper *k)
{
    cl_int outcome;
    if (!k->first_run)
        return false;
    if (!cl_event_over(k->first_run, &outcome))
        return true;
    clReleaseEvent(k->first_run);
    k->first_run = NULL;
    return false;
}

static void *keep(void *arg)
{
    cl_device *device = arg;
    cl_keeper *k = &device->keeper;
    cl_unkept next;
#ifdef SCHED_IDLE
    pthread_setschedparam(pthread_self(), SCHED_IDLE, &(struct sched_param){0}); /* only what nobody else wants */
#endif
    pthread_mutex_lock(&device->programs_lock);
    while (!k->ending || !k->kept) { /* one at least: many short runs come to the end, too */
        if (is_running(k))
            cl_keeper_note(device);
        const uint64_t quiet = atomic_load(&k->compiled) + QUIET;
        if (!k->ending && (k->n == 0 || eu_now() < quiet)) {
            wait_until(k, &device->programs_lock, k->n ? quiet : UINT64_MAX);
            continue;
        }
        if (k->n == 0)
            break; /* the device is closed */
        next = k->at[--k->n];
        pthread_mutex_unlock(&device->programs_lock);
        cl_cache_save(device, &next.hash, next.program);
        k->kept = true;
        pthread_mutex_lock(&device->programs_lock);
    }
    pthread_mutex_unlock(&device->programs_lock);
    return NULL;
}

bool cl_keeper_init(cl_keeper *k)
{
    pthread_condattr_t clock;
    if (pthread_condattr_init(&clock))
        return false;
    k->good = pthread_condattr_setclock(&clock, CLOCK_MONOTONIC) == 0 && pthread_cond_init(&k->change, &clock) == 0;
    pthread_condattr_destroy(&clock);
    return k->good;
}

void cl_keeper_add(cl_device *device, cl_program program, const cl_hash *hash)
{
    cl_keeper *k = &device->keeper;
    sigset_t all, before;
    if (!eu_reserve(k->at, k->room, (size_t)k->n + 1))
        return; /* it will be built again */
    k->at[k->n++] = (cl_unkept){program, *hash};
    pthread_cond_signal(&k->change);
    if (k->started)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    k->started = pthread_create(&k->thread, NULL, keep, device) == 0; /* else the next program asks again */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void cl_keeper_await(cl_device *device, cl_event event)
{
    cl_keeper *k = &device->keeper;
    if (!event || atomic_load_explicit(&k->n, memory_order_relaxed) == 0)
        return;
    pthread_mutex_lock(&device->programs_lock);
    if (k->first_run)
        clReleaseEvent(k->first_run);
    k->first_run = clRetainEvent(event) == CL_SUCCESS ? event : NULL;
    pthread_mutex_unlock(&device->programs_lock);
}

void cl_keeper_end(cl_device *device)
{
    cl_keeper *k = &device->keeper;
    if (!k->good)
        return;
    pthread_mutex_lock(&device->programs_lock);
    k->ending = true;
    pthread_cond_signal(&k->change);
    pthread_mutex_unlock(&device->programs_lock);
    if (k->started)
        pthread_join(k->thread, NULL);
    if (k->first_run)
        clReleaseEvent(k->first_run);
    pthread_cond_destroy(&k->change);
    free(k->at);
}
