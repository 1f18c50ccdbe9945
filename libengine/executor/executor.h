/*
 * Floor 2: the order of work.
 *
 * A timeline is what stands behind a queue: work in order, each with a ticket that grows by
 * one, and the point up to which it is done.  Work is handed to the device one after the
 * other, when what it waits for - points of other timelines - is done.  On a synchronous
 * device handing over is doing it.
 *
 * Who does it.  The thread that waits for a timeline hands its work over itself, and
 * drives the timelines that this work waits for too; several threads take turns.  Nobody
 * else is woken as long as that goes well: submit and wait cost no thread switch.  A
 * context's watcher, asleep where nothing happens, looks at all timelines once a millisecond
 * and starts the timeline's own worker where work was left lying; from then on work that
 * is pushed wakes that worker at once, until a thread that waits is quicker than it again.
 * A thread whose time is up leaves at the end of a task, and the worker goes on.
 *
 * No cycle of waiting can arise: a point exists only after its work was pushed, so what a
 * timeline's next work waits for was pushed before it.
 */
#ifndef LIBENGINE_EXECUTOR_H
#define LIBENGINE_EXECUTOR_H

#include "../base/base.h"

typedef struct eng_executor eng_executor;
typedef struct eng_timeline eng_timeline;

/* A point of a timeline: passed when the work of that ticket and all before it is done. */
typedef struct eng_point {
    eng_timeline *timeline;
    uint64_t ticket;
} eng_point;

/* What is to be done; copied when it is pushed, but for the objects and the regions' data. */
typedef struct eng_work {
    uint32_t kind; /* eng_work_kind */
    uint32_t n_params, n_regions, tensor;
    eng_instance_state *instance; /* ENG_WORK_RUN */
    uint32_t n_sections;
    const int64_t *params;
    eng_store_state *store; /* ENG_WORK_WRITE, ENG_WORK_READ */
    const eng_region *regions;
} eng_work;

/* The watcher of a context.  trace may be NULL. */
int eng_executor_create(eng_trace_func trace, void *trace_user, eng_executor **executor);
void eng_executor_destroy(eng_executor *executor); /* no timeline is left in use */

/* A timeline with a queue of the device's; `queue` is for the trace.  flags: ENG_DEVICE_*. */
int eng_timeline_create(eng_executor *executor, const eng_device_calls *calls, eng_device_state *device,
                        uint32_t flags, const eng_queue *queue, eng_timeline **timeline);
/* Does what is left and ends the device's queue.  Timelines that wait for this one keep what they need of it. */
void eng_timeline_end(eng_timeline *timeline);

/* Never waits for what is waited for.  A failure of the work itself is told by whoever waits for it. */
int eng_timeline_push(eng_timeline *timeline, const eng_point *waits, uint32_t n_waits, const eng_work *work,
                      uint64_t *ticket);
/* Ticket of the last work that was pushed; 0: none. */
uint64_t eng_timeline_last(eng_timeline *timeline);
/* ENG_ERR_TIMEOUT, or what has become of the work. */
int eng_timeline_wait(eng_timeline *timeline, uint64_t ticket, uint64_t timeout);
/* All work that was pushed and is not done fails with ENG_ERR_CANCELLED. */
void eng_timeline_cancel(eng_timeline *timeline);

#endif
