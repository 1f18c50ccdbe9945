/* Handing work over to the device, and waiting for it. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "timeline.h"

#define LOOK_AGAIN 5000000u /* ns: has the work been cancelled for which another timeline is waited for? */

/* -- patience ---------------------------------------------------------------------------- */

/* Has the work been cancelled for which this is done? */
static bool in_vain(const eng_patience *p)
{
    for (; p && p->timeline; p = p->outer)
        if (atomic_load_explicit(&p->timeline->cancelled, memory_order_relaxed) >= p->ticket)
            return true;
    return false;
}

/* (Who only asks runs nothing that could be left.) */
static bool at_end(const eng_patience *p)
{
    return (p->deadline != NEVER && p->deadline != 0 && eu_now() >= p->deadline) || in_vain(p);
}

static uint64_t time_left(const eng_patience *p)
{
    if (p->deadline == NEVER || p->deadline == 0)
        return p->deadline;
    uint64_t now = eu_now();
    return p->deadline > now ? p->deadline - now : 0;
}

/* Until somebody has moved the timeline; false: no longer. */
static bool sleep_patiently(eng_timeline *t, const eng_patience *p)
{
    uint64_t deadline = p->deadline;
    if (p->timeline) {
        uint64_t next = eu_now() + LOOK_AGAIN;
        deadline = next < deadline ? next : deadline;
    }
    return eng_timeline_sleep(t, deadline) || !at_end(p);
}

/* -- one item -------------------------------------------------------------------------------- */

/* What a run asks at a task's end. */
typedef struct control {
    eng_run run; /* first */
    const eng_timeline *timeline;
    uint64_t ticket;
    const eng_patience *patience;
} control;

static uint32_t poll(const eng_run *run)
{
    const control *c = (const control *)run;
    if (atomic_load_explicit(&c->timeline->cancelled, memory_order_relaxed) >= c->ticket)
        return ENG_RUN_CANCEL;
    return at_end(c->patience) ? ENG_RUN_YIELD : ENG_RUN_GO_ON;
}

/* ENG_OK, or why the work of this ticket is not to be begun. */
static int fate(const eng_timeline *t, uint64_t ticket)
{
    int status = eng_timeline_payload(t, ticket);
    if (status == ENG_OK && atomic_load(&t->cancelled) >= ticket)
        return eng_fail(ENG_ERR_CANCELLED, "the work" ENG_CAUSE "it was cancelled (eng_queue_cancel)");
    return status;
}

static int perform(const eng_timeline *t, uint64_t ticket, eng_item *item, const eng_patience *patience,
                   uint64_t *native)
{
    const eng_work *w = &item->work;
    unsigned words = eng_failure_words();
    eng_executor_trace(t, ENG_TRACE_BEGIN, w->kind, ticket, ENG_OK);
    if (w->kind != ENG_WORK_RUN && w->n_regions == 0)
        return ENG_OK; /* nothing: the point after what came before */
    if (w->kind == ENG_WORK_WRITE)
        return eng_answer(t->calls->write(t->queue, w->store, w->tensor, w->regions, w->n_regions, native), words,
                          "the work", "write");
    if (w->kind == ENG_WORK_READ)
        return eng_answer(t->calls->read(t->queue, w->store, w->tensor, w->regions, w->n_regions, native), words,
                          "the work", "read");
    control c = {.run = {.size = sizeof c.run, .poll = poll, .position = item->position}, .timeline = t,
                 .ticket = ticket, .patience = patience};
    int status = t->calls->run(t->queue, w->instance, 0, w->n_sections, w->params, w->n_params, &c.run, native);
    item->position = c.run.position;
    if (status == ENG_YIELDED && t->yields)
        return status;
    if (status == ENG_ERR_CANCELLED)
        eng_fail(status, "the work" ENG_CAUSE "it was cancelled (eng_queue_cancel)");
    return eng_answer(status, words, "the work", "run");
}

/* The device's ticket of the last work up to this point that has one; 0: all of it is done. */
static uint64_t native_of(const eng_timeline *t, uint64_t ticket)
{
    uint64_t native = 0;
    for (; ticket > t->done && native == 0; ticket--)
        native = item_of(t, ticket)->native;
    return native;
}

/* Both queues are the same device's, and it orders their work itself.  Under the other's lock. */
static bool chain(eng_timeline *t, eng_timeline *other, uint64_t ticket)
{
    if (t->no_chain || !t->asynchronous || t->device != other->device || other->handed < ticket)
        return false;
    uint64_t native = native_of(other, ticket);
    if (native == 0)
        return false;
    int status = t->calls->queue_after(t->queue, other->queue, native);
    t->no_chain = status == ENG_ERR_UNSUPPORTED; /* only who drives t comes here */
    return status == ENG_OK;
}

/* Without t's lock: ENG_OK, ENG_YIELDED, or the failure that is waited for. */
static int await_point(eng_timeline *t, const eng_point *point, const eng_patience *patience)
{
    eng_timeline *other = point->timeline;
    int status = ENG_OK;
    pthread_mutex_lock(&other->lock);
    if (other != t && !chain(t, other, point->ticket)) {
        status = eng_timeline_reach(other, point->ticket, patience);
        if (!patience->quiet)
            eng_timeline_pass_on(other);
    }
    if (status == ENG_OK)
        status = eng_timeline_payload(other, point->ticket);
    pthread_mutex_unlock(&other->lock);
    return status;
}

/* What the item waits for is taken out of it meanwhile: who cancels it need not wait too.
 * *overtaken: that has happened, and the timeline is no longer driven from here. */
static int await_points(eng_timeline *t, uint64_t ticket, eng_item *item, const eng_patience *patience, bool *overtaken)
{
    eng_patience inner = *patience;
    eng_point *waits = item->waits;
    uint32_t n = item->n_waits, room = item->wait_room;
    uint64_t before = t->overtaken;
    int status = ENG_OK;

    inner.timeline = t;
    inner.ticket = ticket;
    inner.outer = patience;
    item->waits = NULL;
    item->n_waits = item->wait_room = 0;
    t->held_up = true;
    pthread_mutex_unlock(&t->lock);
    for (uint32_t i = 0; i < n && status == ENG_OK; i++)
        status = await_point(t, &waits[i], &inner);
    pthread_mutex_lock(&t->lock);
    *overtaken = t->overtaken != before;
    if (!*overtaken) {
        t->held_up = false;
        item->waits = waits;
        item->n_waits = n;
        item->wait_room = room;
        return status;
    }
    for (uint32_t i = 0; i < n; i++)
        eng_timeline_release(waits[i].timeline);
    free(waits);
    return status;
}

static void finish(eng_timeline *t, uint64_t ticket, eng_item *item, int status, uint64_t native)
{
    if (status < 0) {
        eng_timeline_fail(t, ticket, status);
        if (status == ENG_ERR_CANCELLED && atomic_load(&t->cancelled) >= ticket)
            eng_timeline_told(t, ticket, atomic_load(&t->cancelled)); /* whoever cancels knows */
    }
    item->native = status < 0 ? 0 : native;
    t->handed = ticket;
    if (item->native == 0) {
        if (t->done == ticket - 1)
            t->done = ticket;
        eng_executor_trace(t, ENG_TRACE_END, item->work.kind, ticket, status);
    }
}

/* The next item is handed over; ENG_YIELDED: not yet. */
int eng_timeline_hand_one(eng_timeline *t, const eng_patience *patience)
{
    uint64_t ticket = t->handed + 1, native = 0;
    eng_item *item = item_of(t, ticket);
    bool overtaken = false;

    t->driven = true;
    t->by_worker = patience->worker;
    int status = fate(t, ticket);
    if (status == ENG_OK && item->n_waits)
        status = await_points(t, ticket, item, patience, &overtaken);
    if (overtaken)
        return ENG_OK; /* it is done, in that way */
    if (status == ENG_OK)
        status = fate(t, ticket);
    if (status == ENG_OK) {
        pthread_mutex_unlock(&t->lock);
        status = perform(t, ticket, item, patience, &native);
        pthread_mutex_lock(&t->lock);
        if (status == ENG_YIELDED)
            eng_executor_trace(t, ENG_TRACE_YIELD, item->work.kind, ticket, status);
    }
    if (status != ENG_YIELDED)
        finish(t, ticket, item, status, native);
    t->driven = false;
    if (t->sleepers)
        pthread_cond_broadcast(&t->moved);
    return status == ENG_YIELDED ? status : ENG_OK;
}

void eng_timeline_drop(eng_timeline *t)
{
    if (t->handed == t->pushed)
        return;
    eng_fail(ENG_ERR_CANCELLED, "the work" ENG_CAUSE "it was cancelled (eng_queue_cancel)");
    eng_timeline_fail(t, t->handed + 1, ENG_ERR_CANCELLED);
    eng_timeline_told(t, t->handed + 1, t->pushed);
    bool all_done = t->done == t->handed;
    while (t->handed < t->pushed) {
        eng_item *item = item_of(t, ++t->handed);
        item->native = 0;
        eng_executor_trace(t, ENG_TRACE_END, item->work.kind, t->handed, ENG_ERR_CANCELLED);
    }
    if (all_done)
        t->done = t->handed;
    t->overtaken += t->driven;
    t->driven = t->held_up = false;
    if (t->sleepers)
        pthread_cond_broadcast(&t->moved);
}

void eng_timeline_hand_ready(eng_timeline *t)
{
    const eng_patience ask = {.quiet = true};
    while (!t->driven && t->handed < t->pushed)
        if (eng_timeline_hand_one(t, &ask) == ENG_YIELDED)
            return;
}

/* -- what the device does on its own --------------------------------------------------------- */

/* The work has failed because what it waits for on the device has: that is what it carries. */
static int inherit(eng_timeline *t, uint64_t ticket, int status)
{
    const eng_patience ask = {.quiet = true};
    eng_failure own;
    eng_failure_save(&own);
    for (uint32_t i = 0; t->done < ticket && i < item_of(t, ticket)->n_waits; i++) {
        eng_point point = item_of(t, ticket)->waits[i];
        if (point.timeline == t)
            continue;
        eng_timeline_retain(point.timeline);
        pthread_mutex_unlock(&t->lock);
        pthread_mutex_lock(&point.timeline->lock);
        int other = eng_timeline_reach(point.timeline, point.ticket, &ask);
        if (other == ENG_OK)
            other = eng_timeline_payload(point.timeline, point.ticket);
        pthread_mutex_unlock(&point.timeline->lock);
        eng_timeline_release(point.timeline);
        pthread_mutex_lock(&t->lock);
        if (other < 0)
            return other;
    }
    eng_failure_restore(&own);
    return status;
}

/* All up to the ticket is done; `failed`: the device's ticket of the first that has failed. */
static void settled(eng_timeline *t, uint64_t ticket, int status, uint64_t native, uint64_t failed)
{
    if (status < 0) {
        uint64_t first = t->done + 1;
        while (first < ticket && item_of(t, first)->native != failed)
            first++;
        if (first <= ticket)
            eng_timeline_fail(t, first, inherit(t, first, status));
    }
    for (; t->done < ticket; t->done++)
        if (item_of(t, t->done + 1)->native)
            eng_executor_trace(t, ENG_TRACE_END, item_of(t, t->done + 1)->work.kind, t->done + 1,
                               eng_timeline_payload(t, t->done + 1));
    if (native > t->native_done)
        t->native_done = native;
}

/* Waits for what was handed over. */
static int settle(eng_timeline *t, uint64_t ticket, const eng_patience *patience)
{
    uint64_t native = native_of(t, ticket), after = t->native_done, failed = 0;
    int status = ENG_OK;

    if (native) {
        uint64_t timeout = time_left(patience);
        unsigned words = eng_failure_words();
        t->inside++;
        pthread_mutex_unlock(&t->lock);
        status = t->calls->wait(t->queue, after, native, timeout, &failed);
        pthread_mutex_lock(&t->lock);
        t->inside--;
        if (status == ENG_ERR_TIMEOUT && timeout != UINT64_MAX) {
            if (t->sleepers)
                pthread_cond_broadcast(&t->moved);
            return t->done < ticket ? ENG_YIELDED : ENG_OK;
        }
        status = eng_answer(status, words, "the work", "wait");
    }
    settled(t, ticket, status, native, failed);
    if (t->sleepers)
        pthread_cond_broadcast(&t->moved);
    return ENG_OK;
}

/* -- waiting ------------------------------------------------------------------------------------ */

/* Does a thread with this patience hand work over itself?  Not if it could not leave again in time. */
static bool may_drive(const eng_timeline *t, const eng_patience *p)
{
    return t->asynchronous || p->deadline == NEVER || (p->deadline != 0 && t->yields);
}

int eng_timeline_reach(eng_timeline *t, uint64_t ticket, const eng_patience *p)
{
    while (t->done < ticket) {
        if (t->handed >= ticket) {
            if (settle(t, ticket, p) == ENG_YIELDED)
                return ENG_YIELDED;
            continue;
        }
        if (!t->driven && (may_drive(t, p) || (!p->quiet && !eng_timeline_wake_worker(t) && p->deadline != 0))) {
            if (eng_timeline_hand_one(t, p) == ENG_YIELDED)
                return ENG_YIELDED;
            continue;
        }
        if (p->deadline == 0 || (!sleep_patiently(t, p) && t->done < ticket) || in_vain(p))
            return ENG_YIELDED;
    }
    return ENG_OK;
}

void eng_timeline_pass_on(eng_timeline *t)
{
    if (t->driven || t->handed == t->pushed)
        return;
    if (t->sleepers)
        pthread_cond_broadcast(&t->moved);
    else
        eng_timeline_wake_worker(t);
}

int eng_timeline_wait(eng_timeline *t, uint64_t ticket, uint64_t timeout)
{
    const eng_patience p = {.deadline = timeout == 0 || timeout == NEVER ? timeout : eu_deadline(timeout)};
    pthread_mutex_lock(&t->lock);
    int status = eng_timeline_reach(t, ticket, &p);
    if (status == ENG_OK && (status = eng_timeline_payload(t, ticket)) < 0)
        eng_timeline_told(t, ticket, t->pushed);
    eng_timeline_pass_on(t);
    pthread_mutex_unlock(&t->lock);
    if (status == ENG_YIELDED)
        return eng_fail(ENG_ERR_TIMEOUT, "the fence" ENG_CAUSE "its work is not done after %llu ns" ENG_ADVICE
                        "wait again, or cancel it (eng_queue_cancel)", (unsigned long long)timeout);
    return status;
}
