/* A device whose work is what a test says: see fake.h. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <time.h>

#include "fake.h"

enum { MOST_TICKETS = 4096 };

struct eng_queue_state {
    fake *device;
    pthread_mutex_t lock;
    uint64_t tickets;
    fake_job *jobs[MOST_TICKETS];  /* of an asynchronous device, not done: done when waited for */
    uint64_t done;
};

/* -- gates ------------------------------------------------------------------------------ */

void fake_open(fake_gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->open = true;
    pthread_cond_broadcast(&gate->moved);
    pthread_mutex_unlock(&gate->lock);
}

static bool is_open(fake_gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    bool open = gate->open;
    pthread_mutex_unlock(&gate->lock);
    return open;
}

bool fake_pass(fake_gate *gate)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 10;
    pthread_mutex_lock(&gate->lock);
    bool in_time = true;
    while (!gate->open && in_time)
        in_time = pthread_cond_timedwait(&gate->moved, &gate->lock, &end) == 0;
    bool open = gate->open;
    pthread_mutex_unlock(&gate->lock);
    return open;
}

void fake_sleep(long ns)
{
    struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    nanosleep(&t, NULL);
}

/* -- work --------------------------------------------------------------------------------- */

static int outcome(const fake_job *job)
{
    int status = job->status;
    return status < 0 && !job->mute ? eng_fail(status, "planted: %s", eng_status_name(status)) : status;
}

static void begin(fake_job *job)
{
    for (int i = 0; i < 4; i++)
        if (job->after[i] && !atomic_load(&job->after[i]->done))
            atomic_store(&job->disorder, true);
    atomic_fetch_add(&job->begun, 1);
    if (job->opens)
        fake_open(job->opens);
}

static void end(fake_job *job)
{
    job->by = pthread_self();
    atomic_fetch_add(&job->done, 1);
}

static int do_steps(fake_job *job, eng_run *control, uint32_t flags)
{
    int steps = job->steps ? job->steps : 1;
    for (int i = (int)control->position; i < steps; i++) {
        uint32_t answer = i > (int)control->position ? control->poll(control) : ENG_RUN_GO_ON;
        if (answer == ENG_RUN_CANCEL)
            return ENG_ERR_CANCELLED;
        if (answer == ENG_RUN_YIELD && (flags & ENG_DEVICE_YIELDS)) {
            control->position = (uint64_t)i;
            atomic_fetch_add(&job->yields, 1);
            return ENG_YIELDED;
        }
        if (job->step_ns)
            fake_sleep(job->step_ns);
        atomic_fetch_add(&job->steps_done, 1);
    }
    return ENG_OK;
}

static int run(fake_job *job, eng_run *control, uint32_t flags)
{
    if (control->position == 0)
        begin(job);
    int status = do_steps(job, control, flags);
    if (status != ENG_OK)
        return status;
    while (job->needs && flags & ENG_DEVICE_YIELDS && !is_open(job->needs)) {
        fake_sleep(1000000);
        control->position = (uint64_t)(job->steps ? job->steps : 1); /* but for that */
        if (control->poll(control) == ENG_RUN_YIELD)
            return ENG_YIELDED;
    }
    if (job->needs && !fake_pass(job->needs))
        return eng_fail(ENG_ERR_INTERNAL, "the gate was not opened");
    end(job);
    return outcome(job);
}

static int run_synchronously(eng_queue_state *q, eng_instance_state *i, uint32_t first, uint32_t count,
                             const int64_t *params, uint32_t n, eng_run *control, uint64_t *ticket)
{
    return run((fake_job *)(void *)i, control, 0);
}

static int run_yielding(eng_queue_state *q, eng_instance_state *i, uint32_t first, uint32_t count,
                        const int64_t *params, uint32_t n, eng_run *control, uint64_t *ticket)
{
    return run((fake_job *)(void *)i, control, ENG_DEVICE_YIELDS);
}

/* Begins it: it is done when it is waited for. */
static int run_later(eng_queue_state *q, eng_instance_state *i, uint32_t first, uint32_t count, const int64_t *params,
                     uint32_t n, eng_run *control, uint64_t *ticket)
{
    fake_job *job = (fake_job *)(void *)i;
    if (job->status != ENG_OK && !job->late)
        return outcome(job);
    begin(job);
    pthread_mutex_lock(&q->lock);
    q->jobs[++q->tickets % MOST_TICKETS] = job;
    *ticket = q->tickets;
    pthread_mutex_unlock(&q->lock);
    return ENG_OK;
}

static int wait_for(eng_queue_state *q, uint64_t after, uint64_t ticket, uint64_t timeout, uint64_t *failed)
{
    for (uint64_t i = after + 1; i <= ticket; i++) {
        fake_job *job = q->jobs[i % MOST_TICKETS];
        if (job->needs && timeout != UINT64_MAX && !is_open(job->needs)) {
            fake_sleep(timeout < 2000000 ? (long)timeout : 2000000);
            return eng_fail(ENG_ERR_TIMEOUT, "not done");
        }
        if (job->needs)
            fake_pass(job->needs);
    }
    pthread_mutex_lock(&q->lock);
    for (; q->done < ticket; q->done++)
        end(q->jobs[(q->done + 1) % MOST_TICKETS]);
    pthread_mutex_unlock(&q->lock);
    for (uint64_t i = after + 1; i <= ticket; i++)
        if (q->jobs[i % MOST_TICKETS]->status != ENG_OK) {
            *failed = i;
            return outcome(q->jobs[i % MOST_TICKETS]);
        }
    return ENG_OK;
}

static int queue_after(eng_queue_state *q, eng_queue_state *other, uint64_t ticket)
{
    if (q->device->no_chain)
        return eng_fail(ENG_ERR_UNSUPPORTED, "no chain");
    pthread_mutex_lock(&other->lock);
    bool done = other->done >= ticket;
    pthread_mutex_unlock(&other->lock);
    if (done)
        return eng_fail(ENG_ERR_STATE, "done already");
    atomic_fetch_add(&q->device->chained, 1);
    return ENG_OK;
}

static int queue_create(eng_device_state *device, eng_queue_state **queue)
{
    eng_queue_state *q = calloc(1, sizeof *q);
    if (!q)
        return ENG_ERR_NOMEM;
    q->device = (fake *)(void *)device;
    pthread_mutex_init(&q->lock, NULL);
    atomic_fetch_add(&q->device->queues, 1);
    *queue = q;
    return ENG_OK;
}

static void queue_destroy(eng_queue_state *q)
{
    atomic_fetch_sub(&q->device->queues, 1);
    pthread_mutex_destroy(&q->lock);
    free(q);
}

/* -- timelines ------------------------------------------------------------------------------- */

static const eng_device_calls synchronous = {
    .size = sizeof synchronous, .queue_create = queue_create, .queue_destroy = queue_destroy, .run = run_synchronously,
};
static const eng_device_calls yielding = {
    .size = sizeof yielding, .queue_create = queue_create, .queue_destroy = queue_destroy, .run = run_yielding,
};
static const eng_device_calls asynchronous = {
    .size = sizeof asynchronous, .queue_create = queue_create, .queue_destroy = queue_destroy, .run = run_later,
    .wait = wait_for, .queue_after = queue_after,
};

eng_timeline *fake_timeline(eng_executor *executor, fake *device, uint32_t flags)
{
    const eng_device_calls *calls = flags & ENG_DEVICE_ASYNCHRONOUS ? &asynchronous
                                    : flags & ENG_DEVICE_YIELDS     ? &yielding
                                                                    : &synchronous;
    eng_timeline *t;
    ck_assert_int_eq(eng_timeline_create(executor, calls, (eng_device_state *)(void *)device, flags, NULL, &t), ENG_OK);
    return t;
}

uint64_t fake_push(eng_timeline *timeline, fake_job *job, const eng_point *waits, uint32_t n)
{
    uint64_t ticket = 0;
    const eng_work work = {.kind = ENG_WORK_RUN, .instance = (eng_instance_state *)(void *)job, .n_sections = 1};
    ck_assert_int_eq(eng_timeline_push(timeline, waits, n, &work, &ticket), ENG_OK);
    ck_assert_uint_gt(ticket, 0);
    return ticket;
}
