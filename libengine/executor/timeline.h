/* What the files of this floor share. */
#ifndef LIBENGINE_TIMELINE_H
#define LIBENGINE_TIMELINE_H

#include "executor.h"

#define NEVER EU_FOREVER

/* Work that was pushed.  Items are kept and used again, with the room that they have got. */
typedef struct eng_item {
    eng_work work; /* params and regions are the item's own */
    int64_t params[ENG_MAX_PLAN_PARAMS];
    eng_region *regions;
    eng_point *waits; /* each holds a reference */
    uint32_t n_waits, region_room, wait_room;
    uint64_t native;   /* the device's ticket; 0: it was done when the call returned */
    uint64_t position; /* where a run that was left goes on */
} eng_item;

/* Work of tickets first .. last failed, or was not done because what was before it had. */
typedef struct eng_failed {
    struct eng_failed *next; /* it happened before */
    uint64_t first, last;    /* last NEVER: the host has not been told yet */
    int status;
    eng_failure why;
} eng_failed;

struct eng_patience;

struct eng_timeline {
    eng_executor *executor;
    const eng_device_calls *calls;
    eng_device_state *device;
    eng_queue_state *queue;
    const eng_queue *traced;
    bool asynchronous, yields;
    int (*hand_one)(struct eng_timeline *t, const struct eng_patience *patience); /* drive.c's, for the worker */
    atomic_int references;

    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t moved; /* it has come further, or nobody drives it any more */
    uint32_t sleepers;    /* threads that wait for that */
    uint64_t pushed;      /* tickets: given out, ... */
    uint64_t handed;      /* ... handed to the device, ... */
    uint64_t done;        /* ... done, ... */
    uint64_t cleaned;     /* ... and their items used again */
    uint64_t native_done; /* the device's ticket of what is done */
    _Atomic uint64_t cancelled; /* all up to here is to be; read without the lock by what runs */
    eng_item **ring;      /* item of ticket t: ring[t % room] */
    uint64_t room;
    eng_failed *failures; /* the newest first */
    eng_failed *spare;    /* for the failure that is met when there is no memory */
    uint64_t forgotten;    /* tickets up to here may have failed without a trace left */
    bool driven;           /* a thread is at the next item ... */
    bool held_up;          /* ... and waits for other timelines, so that it can be overtaken: */
    uint64_t overtaken;    /* how often that was; it is then no longer the one that drives */
    uint32_t inside;       /* threads in the device's wait */
    bool no_chain;         /* the device cannot wait for another queue of its own */

    /* the worker (watcher.c) */
    bool has_worker, worker_stops;
    bool wanted;      /* the worker is to look for work */
    bool by_worker;   /* who has taken the last item */
    pthread_t worker;
    pthread_cond_t work;
    /* of the executor, under its lock */
    eng_timeline *next, *before;
    bool seen_left;          /* what the watcher has seen the last time */
    uint64_t seen_handed, seen_pushed;
};

/* How long a thread is ready to stay, and what it does it for. */
typedef struct eng_patience {
    uint64_t deadline; /* nanoseconds of the monotonic clock; NEVER: without limit; 0: only asks */
    bool quiet;        /* only asks, and has nobody woken */
    bool worker;
    const eng_timeline *timeline; /* the work for which another timeline is driven, or NULL ... */
    uint64_t ticket;
    const struct eng_patience *outer; /* ... and what that is done for */
} eng_patience;

static inline eng_item *item_of(const eng_timeline *t, uint64_t ticket)
{
    return t->ring[ticket % t->room];
}

/* -- state.c */

/* Under the lock, false: the deadline has passed. */
bool eng_timeline_sleep(eng_timeline *t, uint64_t deadline);
void eng_timeline_retain(eng_timeline *t);
void eng_timeline_release(eng_timeline *t);
/* Items of done work are free again.  Under the lock. */
void eng_timeline_clean(eng_timeline *t);

/* -- drive.c: under the timeline's lock, which they let go in between */

/* Brings the timeline to the ticket: ENG_OK, or ENG_YIELDED if patience has ended before. */
int eng_timeline_reach(eng_timeline *t, uint64_t ticket, const eng_patience *patience);
/* Hands over the next item: ENG_OK, or ENG_YIELDED if it is not yet. */
int eng_timeline_hand_one(eng_timeline *t, const eng_patience *patience);
/* Hands over what can be without waiting. */
void eng_timeline_hand_ready(eng_timeline *t);
/* A thread leaves the timeline: who goes on with what is left. */
void eng_timeline_pass_on(eng_timeline *t);

/* -- payload.c: under the lock */

/* ENG_OK, or the failure that the ticket's work carries; its text becomes the thread's. */
int eng_timeline_payload(const eng_timeline *t, uint64_t ticket);
/* The thread's last error is what has become of the work of this ticket and all after it,
 * until the host is told. */
void eng_timeline_fail(eng_timeline *t, uint64_t first, int status);
/* The host knows what the payload of this ticket is: work after `last` is done again. */
void eng_timeline_told(eng_timeline *t, uint64_t ticket, uint64_t last);
/* All that is not handed over has failed: it was cancelled. */
void eng_timeline_drop(eng_timeline *t);
void eng_timeline_forget(eng_timeline *t);

/* -- watcher.c */

/* Under the timeline's lock: the worker looks for work; it is started if there is none.  false: that cannot be. */
bool eng_timeline_wake_worker(eng_timeline *t);
void eng_timeline_end_worker(eng_timeline *t); /* without the lock */
void eng_executor_add(eng_executor *executor, eng_timeline *t);
void eng_executor_remove(eng_executor *executor, eng_timeline *t);
/* Without any lock: there may be work that nobody takes. */
void eng_executor_poke(eng_executor *executor);
void eng_executor_trace(const eng_timeline *t, uint32_t phase, uint32_t kind, uint64_t ticket, int status);

#endif
