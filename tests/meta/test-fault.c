/*
 * A rank that fails.  Devices of the plugin `fault` (tests/meta/fault) fail, are lost or
 * hang at a chosen submission: the host gets one error that names the rank and quotes
 * its device, in bounded time, and goes on with whatever still works.
 */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault/subject.h"

#include "../tap.h"

enum { RUNS = 6, LIMIT_MS = 80, PASSES_AFTER = 5 };

typedef struct fault_case {
    const char *device, *kind;
    int index, at;
    int hold;        /* of what hangs, in limits; 0: for ever                       */
    int limit;       /* of time, ms                                                 */
    int status;      /* of the run that is hit                                     */
    bool passing;    /* the same queue and instance run afterwards                  */
    bool staged;
    const char *text; /* that the error must quote                                  */
} fault_case;

static float want[SUBJECT_WIDTH];

static bool timed(const fault_case *c)
{
    return strcmp(c->kind, "hang") == 0 || strcmp(c->kind, "stall") == 0;
}

static bool begin(subject *s, const fault_case *c)
{
    return subject_begin(s, "cpu,meta,fault") && subject_option(s, "fault.kind", c->kind) &&
           subject_number(s, "fault.index", c->index) && subject_number(s, "fault.at", c->at) &&
           subject_number(s, "fault.hold", c->hold * c->limit) && subject_number(s, "fault.staged", c->staged) &&
           subject_number(s, "fault.times", strcmp(c->kind, "lost") == 0 ? 1000000 : 1) &&
           subject_number(s, "meta.timeout", timed(c) ? c->limit : 0);
}

/* -- judging ------------------------------------------------------------------------ */

static bool no(const fault_case *c, const char *what)
{
    printf("# %s, %s at %d: %s; last error: %s\n", c->device, c->kind, c->at, what, eng_last_error());
    return false;
}

static bool names_rank(const fault_case *c, const char *error)
{
    char rank[16], name[96];
    snprintf(rank, sizeof rank, "fault:%d", c->index);
    subject_rank_name(c->device, rank, name, sizeof name);
    return strncmp(error, name, strlen(name)) == 0;
}

static bool after(const fault_case *c, subject *s)
{
    bool right = true;

    subject_sleep(c->hold * c->limit); /* what hangs for a time is over some day */
    double from = subject_now();
    int status = subject_run(s, want, &right);
    if (c->passing && (status != ENG_OK || !right))
        return no(c, "the same queue does not run again");
    if (!c->passing && status != c->status)
        return no(c, "the broken device does not say so again");
    if (subject_is_late(c->limit, from))
        return no(c, "the run after took too long");
    subject_close(s, (c->at + c->index) & 1);
    right = true;
    if (!subject_number(s, "meta.timeout", 0) || subject_open(s, "cpu/2") != ENG_OK ||
        subject_run(s, want, &right) != ENG_OK || !right)
        return no(c, "the context is of no use afterwards");
    subject_close(s, c->at & 1);
    return true;
}

static bool judge(const fault_case *c, subject *s)
{
    bool right = true;
    int status = subject_open(s, c->device), hit = 0, runs = 0;
    double from = subject_now();

    if (status != ENG_OK)
        return no(c, "does not open");
    for (; runs < RUNS && hit == ENG_OK; runs++)
        hit = subject_run(s, want, &right);
    if (hit == ENG_OK)
        return no(c, "no run was hit");
    if (hit != c->status)
        return no(c, "another status");
    if (!right)
        return no(c, "a run before was wrong");
    if (!names_rank(c, eng_last_error()) || !strstr(eng_last_error(), c->text))
        return no(c, "the error does not name the rank and quote its device");
    if (subject_is_late(c->limit, from))
        return no(c, "it took too long");
    return after(c, s);
}

static bool attempt(const void *which, int limit_ms)
{
    fault_case timed_case = *(const fault_case *)which, *c = &timed_case;
    subject s;

    c->limit = limit_ms;
    bool good = begin(&s, c);
    good = good ? judge(c, &s) : no(c, "no context");
    subject_close(&s, false);
    return subject_end(&s) ? good : no(c, "the context does not end");
}

static void test(const fault_case *c)
{
    bool good = timed(c) ? subject_in_time(attempt, c, LIMIT_MS) : attempt(c, 0);
    tap_check(good, "%s%s of fault:%d at submission %d of %s", c->kind, c->hold ? " for a time" : "", c->index, c->at,
              c->device);
}

/* -- two queues ----------------------------------------------------------------------- */

static bool says(int status, const char *text)
{
    return status == ENG_ERR_TIMEOUT && strstr(eng_last_error(), text);
}

/* What becomes of work that was queued. */
static int done(int status, const eng_fence *fence)
{
    return status == ENG_OK ? eng_fence_wait(*fence, UINT64_MAX) : status;
}

/* A run that was given up on one queue keeps its instance from another queue. */
static bool instance_is_kept(const fault_case *c, subject *s, eng_queue *other)
{
    bool right = true;
    float out[SUBJECT_WIDTH];
    eng_fence fence;

    if (!says(subject_run(s, want, &right), "meta.timeout"))
        return no(c, "the run does not end in time");
    if (!says(done(eng_queue_submit(other, NULL, 0, s->instance, NULL, 0, &fence), &fence), "still at work"))
        return no(c, "another queue takes an instance that a device is at work on");
    const eng_region all = eng_range(out, 0, sizeof out);
    if (!says(done(eng_queue_read(s->queue, NULL, 0, s->store, SUBJECT_OUT, &all, 1, &fence), &fence), "still at work"))
        return no(c, "a transfer does not wait for what a run has left");
    return true;
}

static void *destroy_instance(void *instance)
{
    eng_instance_destroy(instance);
    return NULL;
}

/* Both are freed by their own threads, while the device is at work. */
static bool freed_by_two(const fault_case *c, subject *s)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, destroy_instance, s->instance) != 0)
        return no(c, "no thread");
    eng_queue_destroy(s->queue);
    pthread_join(thread, NULL);
    s->queue = NULL;
    s->instance = NULL;
    return true;
}

static bool two_queues(const void *which, int limit_ms)
{
    bool by_two = *(const bool *)which;
    fault_case c =
        {.device = "fault:0+fault:1", .kind = "hang", .index = 1, .at = 1, .hold = PASSES_AFTER, .limit = limit_ms};
    eng_queue *other = NULL;
    subject s;
    bool good = begin(&s, &c) && subject_number(&s, "fault.times", 2) &&
                subject_open(&s, c.device) == ENG_OK && eng_queue_create(s.device, &other) == ENG_OK;

    good = good ? instance_is_kept(&c, &s, other) : no(&c, "does not open");
    if (good && by_two) {
        good = freed_by_two(&c, &s);
    } else { /* what is left on any queue is waited for */
        eng_instance_destroy(s.instance);
        s.instance = NULL;
    }
    eng_queue_destroy(other);
    subject_close(&s, false);
    return subject_end(&s) ? good : no(&c, "the context does not end");
}

/* -- a slow run ------------------------------------------------------------------------ */

/* Every submission of one rank is slow, none slower than the limit, and a guest waits for
 * all of them: nothing is wrong, however long it takes together. */
static bool slow_run(const void *unused, int limit_ms)
{
    fault_case c = {.device = "fault:0+fault:1", .kind = "hang", .index = 1, .at = 1, .hold = 1, .limit = limit_ms};
    bool right = true;
    subject s;

    bool good = begin(&s, &c) && subject_want(10, want) && subject_number(&s, "fault.times", 1000000) &&
                subject_number(&s, "fault.hold", limit_ms * 3 / 8);
    (void)unused;
    s.n_blocks = 10;
    s.out_device = "cpu";
    good = good && subject_open(&s, c.device) == ENG_OK ? true : no(&c, "does not open");
    double from = subject_now();
    if (good && (subject_run(&s, want, &right) != ENG_OK || !right))
        good = no(&c, "a run that gets on is given up, or is wrong");
    if (good && subject_now() - from < 2e-3 * limit_ms)
        good = no(&c, "too quick to be a test");
    subject_close(&s, false);
    return subject_end(&s) ? good : no(&c, "the context does not end");
}

int main(void)
{
    static const char *const devices[] = {"cpu/2.0+fault:0", "fault:0+fault:1", "fault:0+cpu/3.0+fault:1"};
    static const fault_case kinds[] = {
        {.kind = "error", .status = ENG_ERR_DEVICE, .passing = true, .text = "planted: the submission has failed"},
        {.kind = "wait", .status = ENG_ERR_DEVICE, .passing = true, .text = "planted: the work has failed"},
        {.kind = "lost", .status = ENG_ERR_LOST, .text = "planted: the device is lost"},
        {.kind = "hang", .status = ENG_ERR_TIMEOUT, .text = "meta.timeout"},
        {.kind = "hang", .hold = PASSES_AFTER, .status = ENG_ERR_TIMEOUT, .passing = true, .text = "meta.timeout"},
        {.kind = "stall", .hold = PASSES_AFTER, .status = ENG_ERR_TIMEOUT, .passing = true, .text = "meta.timeout"},
    };
    static const int at[] = {1, 2, 7};

    alarm(300); /* what hangs here is a defect, and ends */
    if (!subject_want(3, want)) {
        printf("Bail out! no result to compare with\n");
        return 1;
    }
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            for (size_t n = 0; n < sizeof at / sizeof *at; n++) {
                fault_case c = kinds[k];
                if (c.hold && n == 1)
                    continue; /* they take their time */
                c.device = devices[d];
                c.at = at[n];
                c.index = strstr(c.device, "fault:1") && (n & 1u) ? 1 : 0;
                c.staged = n == 2;
                test(&c);
            }
        }
    }
    for (int by_two = 0; by_two < 2; by_two++)
        tap_check(subject_in_time(two_queues, &(bool){by_two}, LIMIT_MS), "two queues, one instance, freed %s",
                  by_two ? "by two threads" : "first");
    /* last: with another graph */
    tap_check(subject_in_time(slow_run, NULL, 2 * LIMIT_MS),
              "a guest waits longer than the timeout while the others get on");
    return tap_end(NULL);
}
