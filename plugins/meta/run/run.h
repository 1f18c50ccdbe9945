/* Instances of compiled plans, and one run of them by a team of ranks. */
#ifndef META_RUN_H
#define META_RUN_H

#include "../plan/variant.h"

#define META_NEVER UINT32_MAX

/* One side of an exchange on the host: decided once, only read in a run. */
typedef struct meta_spot {
    char *mapped;      /* the device's own memory, or NULL: no way to it          */
    char *data;        /* source: where the others find it.  Target: where it is
                          put together: `mapped`, or staging memory              */
    bool lent;         /* source: given in place, so the others must be through
                          before the device goes on                              */
    uint32_t before;   /* source: the last exchange that gave from this staging
                          memory, or META_NEVER                                  */
} meta_spot;

/* How far a rank has come, and who sleeps until it comes further.  The counter never
 * goes back, from the queue's first run to its last. */
typedef struct meta_progress {
    eu_gate gate;          /* how far it has come                                  */
    _Atomic int waits_for; /* the rank that this one sleeps for, or one of these:   */
    _Alignas(64) uint32_t penalty, asleep, awake; /* see team.c: this rank's own  */
} meta_progress;

enum { META_NOBODY = -1, META_THROUGH = -2 }; /* at work; through with the run, or not in it */

/* Three stages an exchange: a rank has given, summed its chunk, finished. */
enum { META_GIVEN = 1, META_SUMMED = 2, META_FINISHED = 3, META_STAGES = 4 };

/* An exchange that a rank's device calls (ahead.c). */
typedef struct meta_call {
    struct meta_member *member; /* the device's side of the rank                   */
    uint32_t exchange;
    bool release;               /* the next section may write what was lent        */
} meta_call;

/* A rank whose device runs all sections and calls their exchanges as one piece of work (ahead.c). */
typedef struct meta_through {
    struct meta_member *member; /* the device's side                               */
    uint32_t stop;              /* the next                                        */
} meta_through;

/* Ranks whose devices' threads were tried together: can they wait for one another? */
typedef struct meta_ahead_set {
    uint32_t ranks;
    bool able;
    uint32_t pause, between; /* runs until it is tried again, and how many the next time */
} meta_ahead_set;
#define META_AHEAD_SETS 4

struct eng_instance_state {
    meta_variant *variant;
    eng_instance_state *child[META_MAX_RANKS];
    meta_spot *src[META_MAX_RANKS], *dst[META_MAX_RANKS]; /* by exchange         */
    char *give[META_MAX_RANKS][2]; /* staging of what a rank gives, in turns      */
    char *take[META_MAX_RANKS];    /* of what it takes, if that is not mapped      */
    char *sum[2];                  /* sums of chunks, for more than two ranks      */
    uint32_t may_ahead;            /* ranks whose devices may call exchanges       */
    meta_call *calls[META_MAX_RANKS]; /* by stop                                   */
    meta_through through[META_MAX_RANKS];
    uint64_t compute[META_MAX_RANKS];
    _Atomic(eng_queue_state *) late; /* late.c: the queue whose run of it ended before the ranks' work did */
};

/* spots.c: addresses and staging memory for one rank, and for sums by chunks; false: no memory. */
bool meta_spots_rank(eng_instance_state *inst, uint32_t rank);
bool meta_spots_sums(eng_instance_state *inst);
void meta_spots_end(eng_instance_state *inst);

struct eng_queue_state {
    eng_device_state *device;
    eng_queue_state *child[META_MAX_RANKS]; /* opened when first needed            */
    uint64_t settled[META_MAX_RANKS];      /* tickets of these: waited for, up to here */
    void *team;
    uint64_t timeout;     /* nanoseconds for any one wait; UINT64_MAX: none           */
    bool may_spin;        /* every rank has a core to itself                          */
    meta_ahead_set ahead_sets[META_AHEAD_SETS];
    uint32_t ahead_next;  /* set to be forgotten                                      */
    bool ahead_stuck;     /* in this run nobody got further for a long time           */
    bool went_through, by_sections; /* a rank of this run was given whole; none is any more */
    meta_progress progress[META_MAX_RANKS];
    /* the run in progress */
    eng_instance_state *instance;
    int64_t params[ENG_MAX_PLAN_PARAMS];
    uint32_t n_params;
    const eng_run *control; /* what the run itself is asked by, as long as it has not returned; or NULL */
    atomic_bool cancelled;  /* asked by the thread that watches it                */
    uint64_t base, next_base; /* progress before the first stage of the run, of the next */
    uint32_t members[META_MAX_RANKS], n_members; /* its ranks                       */
    uint32_t ahead;         /* those whose work is given ahead                       */
    uint32_t threads[META_MAX_RANKS], n_threads; /* the ranks of each               */
    _Alignas(64) _Atomic int failed; /* status of the first rank that failed         */
    _Atomic int blame;
    char text[512];
    /* late.c: what a failed run has left */
    _Atomic uint32_t late; /* ranks whose devices may still be at work, META_LATE_TEAM */
    uint64_t late_ticket[META_MAX_RANKS];
    eng_instance_state *late_instance;
    bool claimed;          /* by a thread that waits for them                        */
};

/* team.c: ranks waiting for one another; false: the run has failed. */
bool meta_await(eng_queue_state *q, uint32_t self, uint32_t rank, uint64_t stage);
void meta_advance(eng_queue_state *q, uint32_t rank, uint64_t stage);
/* The calling thread's last error is the reason. */
void meta_run_fail(eng_queue_state *q, uint32_t rank, int status);
/* How far all have come together: it grows whenever one of them gets further. */
uint64_t meta_progress_of_all(const eng_queue_state *q);
/* Is the run to be left, for good?  (A rank alone could not go on later, so none ever yields.) */
bool meta_run_is_over(const eng_queue_state *q);
/* A rank that is neither through nor waits for another; false: there is none. */
bool meta_held_up(const eng_queue_state *q, uint32_t *rank);
/* The error of a run in which none has got further for too long. */
int meta_no_progress(const eng_queue_state *q);
int meta_progress_init(eng_queue_state *q);
void meta_progress_end(eng_queue_state *q);

/* Where a rank's progress is at a stage of an exchange of the run. */
static inline uint64_t meta_stage_of(const eng_queue_state *q, uint32_t exchange, uint32_t stage)
{
    return q->base + (uint64_t)exchange * META_STAGES + stage;
}

/* One rank in a run. */
typedef struct meta_member {
    eng_queue_state *queue;
    uint32_t rank;
    uint32_t sums;       /* sums of chunks so far, for the turns of their memory   */
    uint64_t pending;    /* the child's last ticket                                */
    bool busy;           /* the child may not be idle                              */
    uint32_t lent;       /* ranks that may still read this rank's own memory ...   */
    uint64_t lent_until[META_MAX_RANKS]; /* ... until they are there               */
    uint64_t last_sum_at[2];
    uint64_t sent;       /* bytes given to others                                  */
} meta_member;

/* collective.c: one rank's part of an exchange. */
bool meta_exchange_run(meta_member *m, uint32_t index);
/* Waits until nobody reads this rank's own memory any more. */
bool meta_member_release(meta_member *m);
bool meta_member_idle(meta_member *m);
/* Should a rank give in place what it could also give as a copy? */
bool meta_gives_in_place(const meta_exchange *e, uint32_t rank);

/* ahead.c: which ranks of an instance may be given ahead, and memory for their calls; false: no memory.  Which are in a run;
 * the end of that.  One exchange of such a rank, whose own side is `m` and whose device's is `ahead`. */
bool meta_ahead_find(eng_instance_state *inst);
void meta_ahead_begin(eng_queue_state *q);
void meta_ahead_end(eng_queue_state *q);
bool meta_ahead_exchange(meta_member *m, meta_member *ahead, uint32_t stop, bool release);
/* The same of all exchanges and all sections; false: they have to be given one by one. */
bool meta_ahead_through(meta_member *m, meta_member *ahead);

/* queue.c */
int meta_child_queue(eng_queue_state *q, uint32_t rank);
/* Waits for a rank's device. */
int meta_child_wait(eng_queue_state *q, uint32_t rank, uint64_t ticket, uint64_t timeout);
/* Looks whether work up to the ticket has failed; ENG_OK: none that is done, of which there is *done more. */
int meta_child_look(eng_queue_state *q, uint32_t rank, uint64_t ticket, uint64_t *done);

/* -- late.c ------------------------------------------------------------------------- */

/* Wait until a queue, or an instance, is free of what runs have left; ENG_ERR_TIMEOUT if it
 * is not within the time (the queue's own, or the one given). */
int meta_late_finish(eng_queue_state *queue);
int meta_late_finish_instance(eng_instance_state *instance, uint64_t timeout);
/* In a run: the rank's device has not finished in time. */
void meta_late_note(eng_queue_state *queue, uint32_t rank, uint64_t ticket);
/* In a run: a thread of the team is in a call of its rank's device that does not return. */
#define META_LATE_TEAM (1u << 31)
void meta_late_team(eng_queue_state *queue);
/* After a run, of an instance that is free: ties what it has left to both. */
void meta_late_keep(eng_queue_state *queue, eng_instance_state *instance);
/* Before and after a queue's children are destroyed: nobody else waits on them meanwhile. */
void meta_late_claim(eng_queue_state *queue);
void meta_late_end(eng_queue_state *queue);

#endif
