/*
 * How far a queue has come: every submission's last command has an event, kept until the
 * submission is done.  Any thread may wait while another submits.
 */
#include "../host.h"

#include <time.h>

#define LEAST_ROOM 64u

bool cl_tickets_init(cl_tickets *t)
{
    t->next = 1;
    t->room = LEAST_ROOM;
    t->events = calloc(t->room, sizeof(cl_event));
    if (t->events && pthread_mutex_init(&t->lock, NULL) == 0)
        return true;
    free(t->events);
    return false;
}

void cl_tickets_end(cl_tickets *t)
{
    pthread_mutex_destroy(&t->lock);
    free(t->events);
}

/* Under the lock. */
static void note_failure(cl_tickets *t, uint64_t ticket, cl_int code)
{
    cl_failed_run *before = t->n_failures ? &t->failures[(t->n_failures - 1) % CL_FAILURES] : NULL;
    if (before && before->last + 1 == ticket && before->code == code)
        before->last = ticket;
    else
        t->failures[t->n_failures++ % CL_FAILURES] = (cl_failed_run){ticket, ticket, code};
}

/* Under the lock: notes the outcome of the oldest submission, which is done. */
static void retire(cl_tickets *t, cl_int outcome)
{
    cl_event *event = &t->events[(t->done + 1) % t->room];
    if (*event)
        clReleaseEvent(*event);
    *event = NULL;
    t->done++;
    if (outcome < 0)
        note_failure(t, t->done, outcome);
    if (outcome < 0 && cl_error_status(outcome) == ENG_ERR_LOST)
        atomic_store(t->lost, true); /* at once: the next run may come before the wait that tells it */
}

/* Under the lock: those that are over. */
static void retire_over(cl_tickets *t)
{
    for (cl_int outcome = CL_COMPLETE; t->done + 1 < t->next; outcome = CL_COMPLETE) {
        cl_event event = t->events[(t->done + 1) % t->room];
        if (event && !cl_event_over(event, &outcome))
            return;
        retire(t, outcome);
    }
}

/* Under the lock: all up to the ticket, each as soon as it is over. */
static void retire_to(cl_tickets *t, uint64_t ticket)
{
    while (t->done < ticket) {
        cl_event event = t->events[(t->done + 1) % t->room];
        retire(t, event ? cl_event_wait(event) : CL_COMPLETE);
    }
}

/* Under the lock: a place for the next ticket. */
static void make_room(cl_tickets *t)
{
    if (t->next - t->done <= t->room)
        return;
    retire_over(t);
    if (t->next - t->done <= t->room)
        return;
    cl_event *more = calloc(2 * t->room, sizeof(cl_event));
    if (!more) { /* what there is must do */
        retire_to(t, t->done + t->room / 2);
        return;
    }
    for (uint64_t i = t->done + 1; i < t->next; i++)
        more[i % (2 * t->room)] = t->events[i % t->room];
    free(t->events);
    t->events = more;
    t->room *= 2;
}

void cl_tickets_publish(cl_tickets *t, cl_command_queue queue, cl_event event, uint64_t *ticket)
{
    /* no command: done when all before it is */
    if (!event && clEnqueueMarkerWithWaitList(queue, 0, NULL, &event) != CL_SUCCESS)
        event = NULL;
    pthread_mutex_lock(&t->lock);
    if (!event)
        retire_to(t, t->next - 1);
    make_room(t);
    t->events[t->next % t->room] = event;
    *ticket = t->next++;
    pthread_mutex_unlock(&t->lock);
    clFlush(queue);
}

/* The ticket's event, to be released; NULL: it is done.  *given: it has been given out. */
static cl_event event_of(cl_tickets *t, uint64_t ticket, bool *given)
{
    cl_event event = NULL;
    pthread_mutex_lock(&t->lock);
    *given = ticket < t->next;
    if (*given && ticket > t->done)
        event = t->events[ticket % t->room];
    if (event && clRetainEvent(event) != CL_SUCCESS) { /* without the lock it may not be there */
        retire_to(t, ticket);
        event = NULL;
    }
    pthread_mutex_unlock(&t->lock);
    return event;
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Asks until the event is over or the time is: OpenCL has no timed wait. */
static bool poll_for(cl_event event, uint64_t timeout)
{
    cl_int outcome;
    uint64_t begin = timeout ? now() : 0;
    long pause = 2000;
    while (!cl_event_over(event, &outcome)) {
        if (timeout == 0 || now() - begin >= timeout)
            return false;
        nanosleep(&(struct timespec){0, pause}, NULL);
        pause = pause < 500000 ? 2 * pause : pause;
    }
    return true;
}

cl_waited cl_tickets_wait(cl_tickets *t, uint64_t after, uint64_t ticket, uint64_t timeout, cl_failure *failure)
{
    bool given;
    cl_event event = event_of(t, ticket, &given);
    if (!given)
        return CL_WAITED_FOR_NOTHING;
    if (event) {
        /* should it fail without having waited, each command is waited for below */
        bool over = timeout == UINT64_MAX ? (clWaitForEvents(1, &event), true) : poll_for(event, timeout);
        clReleaseEvent(event);
        if (!over)
            return CL_WAITED_IN_VAIN;
    }
    *failure = (cl_failure){0};
    pthread_mutex_lock(&t->lock);
    retire_to(t, ticket);
    for (unsigned i = 0; i < CL_FAILURES; i++) {
        const cl_failed_run *f = &t->failures[i];
        const uint64_t first = f->first > after ? f->first : after + 1;
        if (first <= f->last && first <= ticket && (failure->ticket == 0 || first < failure->ticket))
            *failure = (cl_failure){first, f->code};
    }
    pthread_mutex_unlock(&t->lock);
    return CL_WAITED;
}

cl_int cl_tickets_follow(cl_tickets *t, uint64_t ticket, cl_command_queue queue, bool *done)
{
    bool given;
    cl_event event = event_of(t, ticket, &given);
    *done = !event;
    if (!event)
        return CL_SUCCESS;
    cl_int error = clEnqueueBarrierWithWaitList(queue, 1, &event, NULL);
    clReleaseEvent(event);
    return error;
}
