/*
 * One run of an instance: a thread for each rank, but for those that are given ahead (ahead.c), which share one.
 *
 * Without a limit of time the caller's thread is one of them.  With one (meta.timeout) all
 * ranks are on threads of the queue and the caller watches: a call of a device that does not
 * return keeps its thread, but not the run.  Such a thread is left where it is, and waited
 * for like a device that is still at work (late.c).
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "run.h"

#define LOOKS 8              /* of the watching caller in the time that meta.timeout allows */
#define ASKS_EVERY 5000000u  /* ns: whether the run is still wanted */

/* -- leaving early ------------------------------------------------------------------------ */

/* What the ranks' devices ask. */
typedef struct rank_control {
    eng_run run; /* first */
    eng_queue_state *queue;
} rank_control;

/* Where the run's caller watches, a rank may be at work when the run has returned: then it is the
 * caller that asks, and the ranks look here. */
bool meta_run_is_over(const eng_queue_state *q)
{
    if (atomic_load_explicit(&q->failed, memory_order_relaxed))
        return true;
    if (q->timeout != UINT64_MAX)
        return atomic_load_explicit(&q->cancelled, memory_order_relaxed);
    return q->control && q->control->poll(q->control) == ENG_RUN_CANCEL;
}

static uint32_t poll(const eng_run *run)
{
    const rank_control *control = (const rank_control *)run;
    eng_queue_state *q = control->queue;
    if (!meta_run_is_over(q))
        return ENG_RUN_GO_ON;
    if (q->ahead) /* calls that wait are let go: the device may wait for them before its run returns */
        meta_run_fail(q, meta_first(q->ahead), ENG_ERR_CANCELLED);
    return ENG_RUN_CANCEL;
}

/* -- one rank --------------------------------------------------------------------------- */

/* Sections from..to of a rank; those that hold nothing but barriers are passed over. */
static bool submit_sections(meta_member *m, int32_t from, int32_t to)
{
    eng_queue_state *q = m->queue;
    const meta_part *part = &q->instance->variant->parts[m->rank];
    const eng_child *c = &q->device->ranks[m->rank].child;
    bool work = false;

    if (!meta_member_release(m))
        return false;
    for (int32_t s = from; s <= to; s++)
        work |= part->work[s];
    if (!work)
        return true;
    rank_control control = {.run = {.size = sizeof control.run, .poll = poll}, .queue = q};
    int status = c->calls->run(q->child[m->rank], q->instance->child[m->rank], (uint32_t)from,
                               (uint32_t)(to - from + 1), q->params, q->n_params, &control.run, &m->pending);
    if (status != ENG_OK) {
        meta_run_fail(q, m->rank, status);
        return false;
    }
    m->busy = true;
    return true;
}

static bool goes_on(const meta_member *m)
{
    if (!meta_run_is_over(m->queue))
        return true;
    meta_run_fail(m->queue, m->rank, ENG_ERR_CANCELLED); /* unless another has failed */
    return false;
}

/* How far it is; `ahead`: what its device's calls know of it (ahead.c). */
typedef struct rank_run {
    meta_member own, ahead;
    uint32_t stop;
    int32_t section;
} rank_run;

/* The exchange at a stop, by this thread or by the device's. */
static bool exchange_at(meta_member *m, meta_member *ahead, uint32_t s)
{
    const meta_part *part = &m->queue->instance->variant->parts[m->rank];
    const bool last = s + 1 == part->n_stops, section = last || part->stops[s + 1].section > part->stops[s].section;
    return m->queue->ahead >> m->rank & 1u ? meta_ahead_exchange(m, ahead, s, section)
                                           : meta_exchange_run(m, part->stops[s].exchange);
}

/* A rank's next stop and what comes before it; false: it has no more to do. */
static bool step(rank_run *run)
{
    meta_member *m = &run->own;
    const meta_part *part = &m->queue->instance->variant->parts[m->rank];
    const int32_t end = run->stop < part->n_stops ? part->stops[run->stop].section + 1 : (int32_t)part->n_sections;

    if (run->section < end) {
        if (!goes_on(m) || !submit_sections(m, run->section, end - 1))
            return false;
        run->section = end;
    }
    return run->stop < part->n_stops && exchange_at(m, &run->ahead, run->stop++);
}

/* Which of them is next: the one whose next exchange comes first, so that a call that waits for work of its own queue waits
 * for exchanges that all ranks have been given. */
static uint32_t next_of(const eng_queue_state *q, const rank_run *runs, uint32_t ranks)
{
    uint32_t next = meta_first(ranks), least = UINT32_MAX;
    for (uint32_t left = ranks; left; left &= left - 1) {
        const uint32_t r = meta_first(left);
        const meta_part *part = &q->instance->variant->parts[r];
        const uint32_t exchange = runs[r].stop < part->n_stops ? part->stops[runs[r].stop].exchange : UINT32_MAX;
        next = exchange < least ? r : next;
        least = exchange < least ? exchange : least;
    }
    return next;
}

#define LOOK_FOR_FAULTS 50000000u /* ns */
#define STUCK 2400                /* looks, at work that takes some milliseconds, without any that is done */

/* How much is done, in stages and in tickets. */
static uint64_t look_for_faults(eng_queue_state *q, const rank_run *runs, uint32_t ranks)
{
    uint64_t done = meta_progress_of_all(q);
    for (; ranks; ranks &= ranks - 1) {
        const meta_member *m = &runs[meta_first(ranks)].own;
        const int status = m->busy ? meta_child_look(q, m->rank, m->pending, &done) : ENG_OK;
        if (status != ENG_OK)
            meta_run_fail(q, m->rank, status);
    }
    return done;
}

/*
 * Until the last exchanges of ranks given ahead are through.  A device whose work fails may never call the next one, and
 * the others wait for that.  Should calls wait for one another, whatever was tried, nothing can be done for this run, but it
 * ends.
 */
static void see_through(eng_queue_state *q, const rank_run *runs, uint32_t ranks)
{
    uint64_t seen = 0;
    int still = 0;
    for (uint32_t left = ranks; left; left &= left - 1) {
        const uint32_t r = meta_first(left);
        const meta_part *part = &q->instance->variant->parts[r];
        const uint64_t stage = meta_stage_of(q, part->stops[part->n_stops - 1].exchange, META_FINISHED);
        while (!atomic_load(&q->failed) &&
               !eu_gate_sleep(&q->progress[r].gate, stage, eu_deadline(LOOK_FOR_FAULTS), &q->failed)) {
            const uint64_t done = look_for_faults(q, runs, ranks);
            still = done == seen ? still + 1 : 0;
            seen = done;
            if (still == STUCK) {
                q->ahead_stuck = true;
                meta_run_fail(q, r, META_FAIL(q->device, ENG_ERR_TIMEOUT, "nothing has been done for two minutes: devices that call the host may wait for "
                                              "one another" ENG_ADVICE "set meta.ahead=no, which does without their calls"));
            }
        }
    }
}

/* One thread's ranks: one, or those that are given ahead, by turns. */
static void run_ranks(void *ctx, uint32_t i)
{
    eng_queue_state *q = ctx;
    rank_run runs[META_MAX_RANKS];

    for (uint32_t left = q->threads[i]; left; left &= left - 1) {
        const uint32_t r = meta_first(left);
        runs[r] = (rank_run){.own = {.queue = q, .rank = r}, .ahead = {.queue = q, .rank = r}};
    }
    uint32_t at_work = q->threads[i];
    for (uint32_t left = at_work & q->ahead; left; left &= left - 1) {
        const uint32_t r = meta_first(left);
        if (goes_on(&runs[r].own) && meta_ahead_through(&runs[r].own, &runs[r].ahead))
            at_work &= ~(1u << r);
    }
    while (at_work) {
        const uint32_t r = next_of(q, runs, at_work);
        if (!step(&runs[r]))
            at_work &= ~(1u << r);
    }
    if (meta_several(q->threads[i]))
        see_through(q, runs, q->threads[i]);
    for (uint32_t left = q->threads[i]; left; left &= left - 1) {
        rank_run *run = &runs[meta_first(left)];
        meta_member_idle(&run->own);
        atomic_fetch_add_explicit(&q->device->ranks[run->own.rank].sent, run->own.sent + run->ahead.sent, memory_order_relaxed);
        atomic_store(&q->progress[run->own.rank].waits_for, META_THROUGH);
    }
}

/* -- all of them ------------------------------------------------------------------------- */

/* One look: 1/LOOKS of the time.  true: all are through. */
static bool look(eng_queue_state *q)
{
    const eng_services *sv = q->device->plugin->services;

    for (uint64_t left = q->timeout / LOOKS, piece; left > 0; left -= piece) {
        piece = left < ASKS_EVERY ? left : ASKS_EVERY;
        if (sv->parallel_wait(sv->host, &q->team, piece))
            return true;
        if (q->control && q->control->poll(q->control) == ENG_RUN_CANCEL)
            atomic_store(&q->cancelled, true);
    }
    return false;
}

/* The run fails if nobody gets further, and is left if it has failed and a rank still does
 * not come back.  Both times are counted in looks: a machine that is busy with other things
 * makes them longer. */
static void watch(eng_queue_state *q)
{
    uint64_t seen = meta_progress_of_all(q);
    uint32_t rank;
    int still = 0, failed = 0;

    while (!look(q)) {
        uint64_t all = meta_progress_of_all(q);
        if (atomic_load(&q->failed) && ++failed > LOOKS) {
            meta_late_team(q);
            return;
        }
        still = all == seen ? still + 1 : 0;
        seen = all;
        if (still > 2 * LOOKS && !atomic_load(&q->failed) && meta_held_up(q, &rank))
            meta_run_fail(q, rank, meta_no_progress(q));
    }
}

/* A thread for each rank, and one for all that are given ahead. */
static void share_out(eng_queue_state *q)
{
    q->n_threads = 0;
    if (q->ahead)
        q->threads[q->n_threads++] = q->ahead;
    for (uint32_t left = q->instance->variant->ranks & ~q->ahead; left; left &= left - 1)
        q->threads[q->n_threads++] = left & -left;
}

static int run_all(eng_queue_state *q)
{
    const eng_services *sv = q->device->plugin->services;

    if (q->timeout == UINT64_MAX)
        return sv->parallel(sv->host, &q->team, q->n_threads, run_ranks, q);
    int status = sv->parallel_start(sv->host, &q->team, q->n_threads, run_ranks, q);
    if (status == ENG_OK)
        watch(q);
    return status;
}

/* What a run needs of the queue. */
static int begin_run(eng_queue_state *q, eng_instance_state *instance, const int64_t *params, uint32_t n_params,
                     const eng_run *control)
{
    int status = meta_late_finish(q);

    if (status == ENG_OK)
        status = meta_late_finish_instance(instance, q->timeout);
    for (uint32_t left = instance->variant->ranks; left && status == ENG_OK; left &= left - 1)
        status = meta_child_queue(q, meta_first(left));
    if (status != ENG_OK)
        return status;
    q->instance = instance;
    q->control = control;
    atomic_store(&q->cancelled, false);
    q->n_params = n_params;
    if (n_params) /* a copy: a device that does not return may still read them when the host goes on */
        memcpy(q->params, params, n_params * sizeof *params);
    q->base = q->next_base;
    q->next_base += ((uint64_t)instance->variant->n_exchanges + 1) * META_STAGES;
    q->n_members = 0;
    atomic_store(&q->failed, 0);
    atomic_store(&q->blame, -1);
    for (uint32_t left = instance->variant->ranks; left; left &= left - 1) {
        uint32_t r = meta_first(left);
        atomic_store(&q->progress[r].waits_for, META_NOBODY);
        q->members[q->n_members++] = r;
    }
    return ENG_OK;
}

static int end_run(eng_queue_state *q)
{
    eng_device_state *d = q->device;
    int status = atomic_load(&q->failed);

    atomic_fetch_add(&d->submits, 1);
    if (status == ENG_OK)
        return ENG_OK;
    meta_late_keep(q, q->instance);
    if (status == ENG_ERR_CANCELLED)
        return status; /* nobody's fault */
    int blame = atomic_load(&q->blame);
    return META_FAIL(d, status, "%s, rank %d of %s" ENG_CAUSE "%s", d->ranks[blame].name, blame, d->name, q->text);
}

int meta_queue_run(eng_queue_state *queue, eng_instance_state *instance, uint32_t first, uint32_t count,
                   const int64_t *params, uint32_t n_params, eng_run *control, uint64_t *ticket)
{
    (void)first;
    (void)count; /* the whole graph is one section */
    (void)ticket; /* all work is done before the call returns */
    int status = begin_run(queue, instance, params, n_params, control);
    if (status == ENG_OK && queue->n_members) {
        meta_ahead_begin(queue);
        share_out(queue);
        status = run_all(queue);
        meta_ahead_end(queue);
    }
    return status == ENG_OK ? end_run(queue) : status;
}
