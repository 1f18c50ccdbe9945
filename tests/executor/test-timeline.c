/* Timelines: order, who does the work, time, failures, cancelling - with devices that do what is said. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake.h"

static eng_executor *executor;
static fake device;

static const uint32_t kinds[] = {0, ENG_DEVICE_YIELDS, ENG_DEVICE_ASYNCHRONOUS};
enum { KINDS = 3, FOREVER = -1 };

static void setup(void)
{
    memset(&device, 0, sizeof device);
    ck_assert_int_eq(eng_executor_create(NULL, NULL, &executor), ENG_OK);
}

static void teardown(void)
{
    ck_assert_int_eq(device.queues, 0);
    eng_executor_destroy(executor);
}

static int wait_for(eng_timeline *t, uint64_t ticket, int ms)
{
    return eng_timeline_wait(t, ticket, ms == FOREVER ? UINT64_MAX : (uint64_t)ms * 1000000u);
}

/* Until it holds, for ten seconds at most. */
#define EVENTUALLY(what)                                                                                             \
    do {                                                                                                             \
        for (int i_ = 0; i_ < 10000 && !(what); i_++)                                                                \
            fake_sleep(1000000);                                                                                     \
        ck_assert_msg(what, "%s", #what);                                                                            \
    } while (0)

/* -- order ---------------------------------------------------------------------------------- */

START_TEST(in_order)
{
    eng_timeline *t = fake_timeline(executor, &device, kinds[_i]);
    fake_job jobs[40] = {{0}};
    uint64_t last = 0;
    for (int i = 0; i < 40; i++) {
        jobs[i].after[0] = i && kinds[_i] != ENG_DEVICE_ASYNCHRONOUS ? &jobs[i - 1] : NULL;
        last = fake_push(t, &jobs[i], NULL, 0);
        ck_assert_uint_eq(last, (uint64_t)i + 1);
    }
    ck_assert_int_eq(wait_for(t, last, FOREVER), ENG_OK);
    ck_assert_int_eq(wait_for(t, 1, 0), ENG_OK);
    for (int i = 0; i < 40; i++)
        ck_assert(jobs[i].done == 1 && !jobs[i].disorder);
    eng_timeline_end(t);
}
END_TEST

/* What a plugin must not answer is its fault, and what it does not explain is not explained by an older failure. */
START_TEST(bad_answers)
{
    for (int late = 0; late <= (kinds[_i] == ENG_DEVICE_ASYNCHRONOUS); late++) {
        fake_job positive = {.status = 7, .late = late},
                 silent = {.status = ENG_ERR_TIMEOUT, .mute = true, .late = late};
        eng_timeline *t = fake_timeline(executor, &device, kinds[_i]);
        eng_fail(ENG_ERR_IO, "of long ago");
        ck_assert_int_eq(wait_for(t, fake_push(t, &positive, NULL, 0), FOREVER), ENG_ERR_INTERNAL);
        ck_assert_msg(strstr(eng_last_error(), "gave the status 7, expected 0 or a negative one"), "%s",
                      eng_last_error());
        eng_timeline_end(t);
        t = fake_timeline(executor, &device, kinds[_i]);
        eng_fail(ENG_ERR_IO, "of long ago");
        ck_assert_int_eq(wait_for(t, fake_push(t, &silent, NULL, 0), FOREVER), ENG_ERR_TIMEOUT);
        ck_assert_msg(strstr(eng_last_error(), "failed without a word: timed out"), "%s", eng_last_error());
        eng_timeline_end(t);
    }
}
END_TEST

/* Work that waits for another timeline is pushed at once, and done after it. */
START_TEST(across)
{
    for (int b_kind = 0; b_kind < KINDS; b_kind++) {
        eng_timeline *a = fake_timeline(executor, &device, kinds[_i]),
                     *b = fake_timeline(executor, &device, kinds[b_kind]);
        fake_gate gate = FAKE_GATE;
        fake_job first = {.needs = &gate}, second = {.after = {&first}}, third = {.after = {&first, &second}};
        bool chained = kinds[_i] == ENG_DEVICE_ASYNCHRONOUS && kinds[b_kind] == ENG_DEVICE_ASYNCHRONOUS;
        if (kinds[b_kind] == ENG_DEVICE_ASYNCHRONOUS) /* its own order is its affair ... */
            third.after[1] = NULL;
        if (chained) /* ... and what it was told to wait for */
            second.after[0] = third.after[0] = NULL;
        eng_point p = {a, fake_push(a, &first, NULL, 0)};
        uint64_t mine = fake_push(b, &second, &p, 1);
        uint64_t last = fake_push(b, &third, NULL, 0);
        ck_assert(chained || wait_for(b, mine, 30) == ENG_ERR_TIMEOUT);
        ck_assert_int_eq(second.begun, chained);
        ck_assert_int_eq(atomic_load(&device.chained) > 0, chained);
        fake_open(&gate);
        ck_assert_int_eq(wait_for(b, last, FOREVER), ENG_OK);
        ck_assert_int_eq(wait_for(a, p.ticket, chained ? FOREVER : 0), ENG_OK);
        ck_assert(first.done == 1 && second.done == 1 && third.done == 1);
        ck_assert(!second.disorder && !third.disorder);
        eng_timeline_end(a); /* what waits for it keeps what it needs */
        eng_timeline_end(b);
        device.chained = 0;
    }
}
END_TEST

/* The timeline that is waited for ends first. */
START_TEST(ended_first)
{
    eng_timeline *a = fake_timeline(executor, &device, kinds[_i]), *b = fake_timeline(executor, &device, kinds[_i]);
    fake_job first = {0}, second = {0};
    eng_point p = {a, fake_push(a, &first, NULL, 0)};
    uint64_t mine = fake_push(b, &second, &p, 1);
    eng_timeline_end(a);
    ck_assert_int_eq(wait_for(b, mine, FOREVER), ENG_OK);
    eng_timeline_end(b);
}
END_TEST

/* -- who does it ------------------------------------------------------------------------------- */

START_TEST(waiter_does_it)
{
    eng_timeline *t = fake_timeline(executor, &device, kinds[_i]);
    int mine = 0;
    for (int i = 0; i < 200; i++) {
        fake_job job = {0};
        uint64_t ticket = fake_push(t, &job, NULL, 0);
        ck_assert_int_eq(wait_for(t, ticket, FOREVER), ENG_OK);
        mine += pthread_equal(job.by, pthread_self()) != 0;
    }
    ck_assert_int_gt(mine, 190); /* a thread may lose its processor between the two */
    eng_timeline_end(t);
}
END_TEST

START_TEST(nobody_waits)
{
    eng_timeline *t = fake_timeline(executor, &device, kinds[_i]);
    fake_job jobs[20] = {{0}};
    for (int i = 0; i < 20; i++) {
        fake_push(t, &jobs[i], NULL, 0);
        EVENTUALLY(jobs[i].done == 1);
        ck_assert(!pthread_equal(jobs[i].by, pthread_self()));
        fake_sleep(i == 10 ? 60000000 : 0); /* the watcher has gone to sleep meanwhile */
    }
    eng_timeline_end(t);
}
END_TEST

/* Each ends only when the other has begun: they run at once. */
START_TEST(overlap)
{
    eng_timeline *a = fake_timeline(executor, &device, kinds[_i]), *b = fake_timeline(executor, &device, kinds[_i]);
    fake_gate gates[20][2];
    fake_job jobs[20][2];
    for (int i = 0; i < 20; i++) {
        gates[i][0] = gates[i][1] = (fake_gate)FAKE_GATE;
        jobs[i][0] = (fake_job){.opens = &gates[i][0], .needs = &gates[i][1]};
        jobs[i][1] = (fake_job){.opens = &gates[i][1], .needs = &gates[i][0]};
        uint64_t x = fake_push(a, &jobs[i][0], NULL, 0), y = fake_push(b, &jobs[i][1], NULL, 0);
        if (i & 1) {
            ck_assert_int_eq(wait_for(a, x, FOREVER), ENG_OK);
            ck_assert_int_eq(wait_for(b, y, FOREVER), ENG_OK);
        } else {
            EVENTUALLY(jobs[i][0].done && jobs[i][1].done); /* and beside the host */
        }
    }
    eng_timeline_end(a);
    eng_timeline_end(b);
}
END_TEST

/* -- time ------------------------------------------------------------------------------------------ */

/* The work is handed on to another thread, and each of its tasks is done once. */
START_TEST(timeout)
{
    eng_timeline *t = fake_timeline(executor, &device, kinds[_i]);
    fake_gate gate = FAKE_GATE;
    bool asynchronous = kinds[_i] == ENG_DEVICE_ASYNCHRONOUS;
    fake_job job = {.steps = 300, .step_ns = 1000000, .needs = &gate}, next = {.after = {asynchronous ? NULL : &job}};
    uint64_t ticket = fake_push(t, &job, NULL, 0), last = fake_push(t, &next, NULL, 0);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(wait_for(t, ticket, i * 5), ENG_ERR_TIMEOUT);
        ck_assert_ptr_nonnull(strstr(eng_last_error(), "not done"));
    }
    fake_open(&gate);
    ck_assert_int_eq(wait_for(t, last, FOREVER), ENG_OK);
    ck_assert_int_eq(wait_for(t, ticket, 0), ENG_OK);
    ck_assert_int_eq(job.done, 1);
    ck_assert_int_eq(next.done, 1);
    ck_assert_int_eq(job.begun, 1);
    ck_assert(!next.disorder);
    if (!asynchronous)
        ck_assert_int_eq(job.steps_done, 300);
    eng_timeline_end(t);
}
END_TEST

START_TEST(unwaited_goes_on)
{
    eng_timeline *t = fake_timeline(executor, &device, ENG_DEVICE_YIELDS);
    fake_job job = {.steps = 100, .step_ns = 1000000};
    uint64_t ticket = fake_push(t, &job, NULL, 0);
    ck_assert_int_eq(wait_for(t, ticket, 10), ENG_ERR_TIMEOUT);
    EVENTUALLY(job.done == 1);
    ck_assert_int_eq(job.steps_done, 100);
    ck_assert_int_eq(wait_for(t, ticket, 0), ENG_OK);
    eng_timeline_end(t);
}
END_TEST

/* -- failures ---------------------------------------------------------------------------------------- */

static void says_planted(int status, int want)
{
    ck_assert_int_eq(status, want);
    ck_assert_ptr_nonnull(strstr(eng_last_error(), "planted: "));
}

START_TEST(failure_is_payload)
{
    for (int late = 0; late <= (kinds[_i] == ENG_DEVICE_ASYNCHRONOUS); late++) {
        eng_timeline *t = fake_timeline(executor, &device, kinds[_i]), *other = fake_timeline(executor, &device, 0);
        fake_job good = {0}, bad = {.status = ENG_ERR_DEVICE, .late = late}, behind = {0}, dependent = {0}, again = {0};
        uint64_t a = fake_push(t, &good, NULL, 0), b = fake_push(t, &bad, NULL, 0), c = fake_push(t, &behind, NULL, 0);
        uint64_t d = fake_push(other, &dependent, &(eng_point){t, b}, 1);
        says_planted(wait_for(other, d, FOREVER), ENG_ERR_DEVICE);
        ck_assert_int_eq(dependent.begun, 0);
        ck_assert_int_eq(wait_for(t, a, FOREVER), ENG_OK);
        for (int i = 0; i < 3; i++) {
            eng_fail(ENG_ERR_IO, "another error");
            says_planted(wait_for(t, b, FOREVER), ENG_ERR_DEVICE);
            eng_fail(ENG_ERR_IO, "another error");
            says_planted(wait_for(t, c, FOREVER), ENG_ERR_DEVICE);
        }
        ck_assert_int_eq(behind.begun, late); /* a device that has it already does it */
        uint64_t e = fake_push(t, &again, NULL, 0);
        ck_assert_int_eq(wait_for(t, e, FOREVER), ENG_OK);
        ck_assert_int_eq(again.done, 1);
        says_planted(wait_for(t, b, FOREVER), ENG_ERR_DEVICE);
        /* the other one has been told, too */
        ck_assert_int_eq(wait_for(other, fake_push(other, &good, NULL, 0), FOREVER), ENG_OK);
        says_planted(wait_for(other, fake_push(other, &again, &(eng_point){t, b}, 1), FOREVER), ENG_ERR_DEVICE);
        ck_assert_int_eq(again.done, 1);
        eng_timeline_end(t);
        eng_timeline_end(other);
    }
}
END_TEST

/* What has not been told stays in the way. */
START_TEST(untold)
{
    eng_timeline *t = fake_timeline(executor, &device, 0);
    fake_job bad = {.status = ENG_ERR_NOMEM}, next = {0};
    uint64_t a = fake_push(t, &bad, NULL, 0);
    EVENTUALLY(bad.done == 1);
    uint64_t b = fake_push(t, &next, NULL, 0);
    says_planted(wait_for(t, b, FOREVER), ENG_ERR_NOMEM);
    ck_assert_int_eq(next.begun, 0);
    says_planted(wait_for(t, a, 0), ENG_ERR_NOMEM);
    eng_timeline_end(t);
}
END_TEST

/* Failures without end: the last ones are known, older ones are not said to be good. */
START_TEST(many_failures)
{
    eng_timeline *t = fake_timeline(executor, &device, 0);
    fake_job bad = {.status = ENG_ERR_DEVICE};
    for (uint64_t i = 1; i <= 100; i++)
        says_planted(wait_for(t, fake_push(t, &bad, NULL, 0), FOREVER), ENG_ERR_DEVICE);
    says_planted(wait_for(t, 99, 0), ENG_ERR_DEVICE);
    ck_assert_int_eq(wait_for(t, 1, 0), ENG_ERR_STATE);
    eng_timeline_end(t);
}
END_TEST

/* On one device the waiting is the device's; the failure is the one that was waited for. */
START_TEST(chained_failure)
{
    eng_timeline *a = fake_timeline(executor, &device, ENG_DEVICE_ASYNCHRONOUS);
    eng_timeline *b = fake_timeline(executor, &device, ENG_DEVICE_ASYNCHRONOUS);
    fake_job bad = {.status = ENG_ERR_LOST, .late = true}, dependent = {.status = ENG_ERR_DEVICE, .late = true};
    eng_point p = {a, fake_push(a, &bad, NULL, 0)};
    uint64_t d = fake_push(b, &dependent, &p, 1);
    ck_assert_int_eq(device.chained, 1);
    says_planted(wait_for(b, d, FOREVER), ENG_ERR_LOST);
    says_planted(wait_for(a, p.ticket, FOREVER), ENG_ERR_LOST);
    eng_timeline_end(a);
    eng_timeline_end(b);
}
END_TEST

/* -- cancelling ------------------------------------------------------------------------------------------ */

static void is_cancelled(eng_timeline *t, uint64_t ticket)
{
    ck_assert_int_eq(wait_for(t, ticket, FOREVER), ENG_ERR_CANCELLED);
    ck_assert_ptr_nonnull(strstr(eng_last_error(), "cancelled"));
}

START_TEST(cancel)
{
    eng_timeline *t = fake_timeline(executor, &device, kinds[_i]);
    fake_gate begun = FAKE_GATE;
    fake_job job = {.steps = 100000, .step_ns = 1000000, .opens = &begun}, pending = {0}, again = {0};
    uint64_t a = fake_push(t, &job, NULL, 0), b = fake_push(t, &pending, NULL, 0);
    ck_assert(fake_pass(&begun)); /* a thread of its own has begun it */
    eng_timeline_cancel(t);
    uint64_t c = fake_push(t, &again, NULL, 0);
    ck_assert_int_eq(wait_for(t, c, FOREVER), ENG_OK);
    ck_assert_int_eq(again.done, 1);
    is_cancelled(t, a);
    is_cancelled(t, b);
    ck_assert_int_eq(pending.begun, 0);
    ck_assert_int_eq(wait_for(t, fake_push(t, &again, NULL, 0), FOREVER), ENG_OK);
    eng_timeline_cancel(t); /* of nothing */
    ck_assert_int_eq(wait_for(t, fake_push(t, &again, NULL, 0), FOREVER), ENG_OK);
    eng_timeline_end(t);
}
END_TEST

static void *cancel_later(void *t)
{
    fake_sleep(20000000);
    eng_timeline_cancel(t);
    return NULL;
}

/* Work that waits for what is not done: whoever waits for it is told soon, and the timeline goes on. */
START_TEST(cancel_what_waits)
{
    eng_timeline *a = fake_timeline(executor, &device, 0), *b = fake_timeline(executor, &device, 0);
    fake_gate gate = FAKE_GATE, begun = FAKE_GATE;
    fake_job blocked = {.needs = &gate, .opens = &begun}, dependent = {0}, again = {0};
    pthread_t thread;
    eng_point p = {a, fake_push(a, &blocked, NULL, 0)};
    ck_assert(fake_pass(&begun));
    uint64_t d = fake_push(b, &dependent, &p, 1);
    ck_assert_int_eq(pthread_create(&thread, NULL, cancel_later, b), 0);
    is_cancelled(b, d);
    pthread_join(thread, NULL);
    ck_assert_int_eq(wait_for(b, fake_push(b, &again, NULL, 0), FOREVER), ENG_OK);
    ck_assert_int_eq(dependent.begun, 0);
    fake_open(&gate);
    ck_assert_int_eq(wait_for(a, p.ticket, FOREVER), ENG_OK);
    eng_timeline_end(a);
    eng_timeline_end(b);
}
END_TEST

START_TEST(cancelled_has_dependents)
{
    eng_timeline *a = fake_timeline(executor, &device, ENG_DEVICE_YIELDS), *b = fake_timeline(executor, &device, 0);
    fake_gate begun = FAKE_GATE;
    fake_job job = {.steps = 100000, .step_ns = 1000000, .opens = &begun}, dependent = {0};
    eng_point p = {a, fake_push(a, &job, NULL, 0)};
    uint64_t d = fake_push(b, &dependent, &p, 1);
    ck_assert(fake_pass(&begun));
    eng_timeline_cancel(a);
    is_cancelled(b, d);
    ck_assert_int_eq(dependent.begun, 0);
    eng_timeline_end(a);
    eng_timeline_end(b);
}
END_TEST

/* What is left when a timeline ends is done. */
START_TEST(end_with_work)
{
    eng_timeline *t = fake_timeline(executor, &device, kinds[_i]);
    fake_job jobs[30] = {{0}};
    for (int i = 0; i < 30; i++) {
        jobs[i].steps = 3;
        fake_push(t, &jobs[i], NULL, 0);
    }
    eng_timeline_end(t);
    for (int i = 0; i < 30; i++)
        ck_assert_int_eq(jobs[i].done, 1);
}
END_TEST

/* -- all of it at random ------------------------------------------------------------------------------------- */

enum { LINES = 5, JOBS = 300, THREADS = 3 };

typedef struct crowd {
    eng_timeline *lines[LINES];
    fake_job jobs[JOBS];
    eng_point points[JOBS];
    atomic_int pushed;
    unsigned seed;
} crowd;

static unsigned draw(unsigned *seed, unsigned n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % n;
}

static void *wait_at_random(void *arg)
{
    crowd *c = arg;
    unsigned seed = (unsigned)(uintptr_t)pthread_self();
    for (int i = 0; i < 200; i++) {
        int n = atomic_load(&c->pushed);
        if (n == 0)
            continue;
        const eng_point *p = &c->points[draw(&seed, (unsigned)n)];
        int status = eng_timeline_wait(p->timeline, p->ticket, draw(&seed, 3) ? draw(&seed, 2000000) : UINT64_MAX);
        if (status != ENG_OK && status != ENG_ERR_TIMEOUT)
            return c;
    }
    return NULL;
}

START_TEST(crowds)
{
    crowd *c = calloc(1, sizeof *c);
    pthread_t threads[THREADS];
    unsigned seed = 7u + (unsigned)_i;
    ck_assert_ptr_nonnull(c);
    device.no_chain = true; /* then a job begins when those before it are done */
    for (int i = 0; i < LINES; i++)
        c->lines[i] = fake_timeline(executor, &device, kinds[(i + _i) % KINDS]);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, wait_at_random, c), 0);
    for (int i = 0; i < JOBS; i++) {
        eng_point waits[4];
        uint32_t n = i ? draw(&seed, 4) : 0;
        for (uint32_t k = 0; k < n; k++) {
            unsigned which = draw(&seed, (unsigned)i);
            waits[k] = c->points[which];
            c->jobs[i].after[k] = &c->jobs[which];
        }
        eng_timeline *line = c->lines[draw(&seed, LINES)];
        for (uint32_t k = 0; k < n; k++) /* of its own queue it is the device that keeps the order */
            if (waits[k].timeline == line)
                c->jobs[i].after[k] = NULL;
        c->jobs[i].steps = 1 + (int)draw(&seed, 4);
        c->jobs[i].step_ns = draw(&seed, 10) ? 0 : 100000;
        c->points[i] = (eng_point){line, fake_push(line, &c->jobs[i], waits, n)};
        atomic_store(&c->pushed, i + 1);
    }
    for (int i = 0; i < THREADS; i++) {
        void *bad;
        pthread_join(threads[i], &bad);
        ck_assert_ptr_null(bad);
    }
    for (int i = 0; i < LINES; i++)
        eng_timeline_end(c->lines[(i * 2 + 1) % LINES]);
    for (int i = 0; i < JOBS; i++)
        ck_assert_msg(c->jobs[i].done == 1 && !c->jobs[i].disorder, "job %d", i);
    free(c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("timeline");
    TCase *tc = tcase_create("timelines");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, in_order, 0, KINDS);
    tcase_add_loop_test(tc, bad_answers, 0, KINDS);
    tcase_add_loop_test(tc, across, 0, KINDS);
    tcase_add_loop_test(tc, ended_first, 0, KINDS);
    tcase_add_loop_test(tc, waiter_does_it, 0, KINDS);
    tcase_add_loop_test(tc, nobody_waits, 0, 2);
    tcase_add_loop_test(tc, overlap, 0, 2);
    tcase_add_loop_test(tc, timeout, 0, KINDS);
    tcase_add_test(tc, unwaited_goes_on);
    tcase_add_loop_test(tc, failure_is_payload, 0, KINDS);
    tcase_add_test(tc, untold);
    tcase_add_test(tc, many_failures);
    tcase_add_test(tc, chained_failure);
    tcase_add_loop_test(tc, cancel, 0, 2);
    tcase_add_test(tc, cancel_what_waits);
    tcase_add_test(tc, cancelled_has_dependents);
    tcase_add_loop_test(tc, end_with_work, 0, KINDS);
    tcase_add_loop_test(tc, crowds, 0, 12);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
