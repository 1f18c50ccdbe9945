/*
 * Ranks whose calls do not return, failing guests, two plans that take turns, devices that
 * refuse memory half-way, transfers that fail, and all of it with ranks on OpenCL.  As in
 * test-fault.c: one error that names the rank, in bounded time, and the rest goes on.
 */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault/subject.h"

#include "../tap.h"

#ifndef ON_OPENCL
#define ON_OPENCL 0 /* the same program for ranks on OpenCL, which is nothing for valgrind */
#endif
/* HOLD: how long a hanging rank is at it, in limits. */
enum { RUNS = 6, LIMIT_MS = 80, OPENCL_LIMIT_MS = 250, HOLD = 3, PASSES = 1, OPENED_LATER = 2 };

typedef struct fault_case {
    const char *device, *wrapped, *kind;
    int index, at;
    const char *out_device;
    bool staged;   /* the ranks' memory is not reached by the host                  */
    int limit;     /* of time, ms                                                   */
    int status;    /* of the run that is hit                                        */
    int then;      /* PASSES: it runs again.  Blocks: OPENED_LATER, while it is freed */
} fault_case;

static float want[SUBJECT_WIDTH], short_want[SUBJECT_WIDTH];

static bool blocks(const fault_case *c)
{
    return strncmp(c->kind, "block", 5) == 0;
}

static bool timed(const fault_case *c)
{
    return blocks(c) || strcmp(c->kind, "hang") == 0;
}

static bool begin(subject *s, const fault_case *c)
{
    bool good = subject_begin(s, "cpu,meta,fault,opencl") && subject_option(s, "fault.kind", c->kind) &&
                (!c->wrapped || subject_option(s, "fault.device", c->wrapped)) &&
                subject_number(s, "fault.index", c->index) && subject_number(s, "fault.at", c->at) &&
                subject_number(s, "fault.hold", HOLD * c->limit) && subject_number(s, "fault.staged", c->staged) &&
                subject_number(s, "fault.times", strcmp(c->kind, "lost") == 0 ? 1000000 : 1) &&
                subject_number(s, "meta.timeout", timed(c) ? c->limit : 0);
    s->out_device = c->out_device;
    return good;
}

static bool no(const fault_case *c, const char *what)
{
    printf("# %s%s%s, %s at %d: %s; last error: %s\n", c->device, c->wrapped ? " of " : "",
           c->wrapped ? c->wrapped : "", c->kind, c->at, what, eng_last_error());
    return false;
}

static bool names_rank(const fault_case *c, const char *text)
{
    char rank[16], name[96];
    snprintf(rank, sizeof rank, "fault:%d", c->index);
    subject_rank_name(c->device, rank, name, sizeof name);
    return strncmp(eng_last_error(), name, strlen(name)) == 0 && strstr(eng_last_error(), text) != NULL;
}

/* However long it takes. */
static bool works(subject *s, const char *device)
{
    bool right = true;
    return subject_number(s, "meta.timeout", 0) && subject_open(s, device) == ENG_OK &&
           subject_run(s, want, &right) == ENG_OK && right;
}

/* Runs until one is hit. */
static bool is_hit(const fault_case *c, subject *s)
{
    const char *text = c->status == ENG_ERR_TIMEOUT ? "meta.timeout" : "planted: ";
    double from = subject_now();
    bool right = true;
    int hit = ENG_OK;

    for (int runs = 0; runs < RUNS && hit == ENG_OK; runs++)
        hit = subject_run(s, want, &right);
    if (hit != c->status)
        return no(c, hit == ENG_OK ? "no run was hit" : "another status");
    if (!right)
        return no(c, "a run before was wrong");
    if (!names_rank(c, text))
        return no(c, "the error does not name the rank and quote its device");
    return subject_is_late(c->limit, from) ? no(c, "it took too long") : true;
}

static bool runs_again(const fault_case *c, subject *s)
{
    bool right = true;
    int status = subject_run(s, want, &right);

    if (c->then != PASSES)
        return status == c->status ? true : no(c, "the broken device does not say so again");
    return status == ENG_OK && right ? true : no(c, "the same queue does not run again");
}

/* -- calls that do not return ----------------------------------------------------------- */

typedef struct opener {
    subject *s;
    atomic_bool open;
} opener;

static void *open_later(void *ctx)
{
    opener *o = ctx;
    subject_sleep(60);
    atomic_store(&o->open, true);
    subject_option(o->s, "fault.gate", "open");
    return NULL;
}

/* What is freed while a call does not return waits for it. */
static bool is_freed_later(const fault_case *c, subject *s)
{
    opener o = {.s = s};
    pthread_t thread;

    atomic_init(&o.open, false);
    if (pthread_create(&thread, NULL, open_later, &o) != 0)
        return no(c, "no thread");
    if (c->at & 1) {
        eng_instance_destroy(s->instance);
        s->instance = NULL;
    } else {
        eng_queue_destroy(s->queue);
        s->queue = NULL;
    }
    bool waited = atomic_load(&o.open);
    subject_close(s, c->at & 1);
    pthread_join(thread, NULL);
    return waited ? true : no(c, "freed while a device is at work with it");
}

/* While the call does not return: the queue says so, in bounded time, and others work. */
static bool is_stuck(const fault_case *c, subject *s)
{
    subject beside = {.context = s->context, .n_blocks = 3};
    double from = subject_now();
    bool right = true;

    if (subject_run(s, want, &right) != ENG_ERR_TIMEOUT || !names_rank(c, "still at work"))
        return no(c, "the queue does not say what it is still at");
    if (subject_is_late(c->limit, from))
        return no(c, "the queue takes too long to say so");
    bool good = works(&beside, "cpu/2");
    subject_close(&beside, false);
    return good ? true : no(c, "other devices of the context do not work meanwhile");
}

static bool judge(const fault_case *c, subject *s)
{
    if (subject_open(s, c->device) != ENG_OK)
        return no(c, "does not open");
    if (!is_hit(c, s))
        return false;
    if (blocks(c) && !is_stuck(c, s))
        return false;
    if (c->then == OPENED_LATER)
        return is_freed_later(c, s);
    if (blocks(c) && !subject_option(s, "fault.gate", "open"))
        return no(c, "the gate does not open");
    if (strcmp(c->kind, "hang") == 0)
        subject_sleep(HOLD * c->limit);
    if (!runs_again(c, s))
        return false;
    subject_close(s, c->at & 1);
    s->out_device = NULL;
    return works(s, "cpu/2") ? true : no(c, "the context is of no use afterwards");
}

/* A try with a limit of time; a case that has none has one try. */
static bool in_time(subject_attempt *attempt, const fault_case *c)
{
    return timed(c) ? subject_in_time(attempt, c, c->wrapped ? OPENCL_LIMIT_MS : LIMIT_MS) : attempt(c, 0);
}

static bool attempt(const void *which, int limit_ms)
{
    fault_case timed_case = *(const fault_case *)which, *c = &timed_case;
    subject s;

    c->limit = limit_ms;
    bool good = begin(&s, c);
    good = good ? judge(c, &s) : no(c, "no context");
    if (s.context)
        subject_option(&s, "fault.gate", "open"); /* whatever has gone wrong */
    subject_close(&s, false);
    return subject_end(&s) ? good : no(c, "the context does not end");
}

static void test(const fault_case *c)
{
    tap_check(in_time(attempt, c), "%s of fault:%d at %d of %s%s%s%s%s%s%s", c->kind, c->index, c->at, c->device,
              c->wrapped ? ", of " : "", c->wrapped ? c->wrapped : "", c->staged ? ", staged" : "",
              c->out_device ? ", the output on " : "", c->out_device ? c->out_device : "",
              c->then == OPENED_LATER ? ", freed meanwhile" : "");
}

static void test_blocked(void)
{
    static const char *const devices[] = {"cpu/2.0+fault:0", "fault:0+fault:1", "fault:0+cpu/3.0+fault:1"};
    static const char *const kinds[] = {"block", "blocked-wait", "blocked-value"};

    for (int d = 0; d < 3; d++) {
        for (int k = 0; k < 3; k++) {
            fault_case c = {.device = devices[d], .kind = kinds[k], .at = 1 + (d * 3 + k * 5) % 7,
                            .index = d > 0 && k < 2, .staged = k == 2 || d == 1, .status = ENG_ERR_TIMEOUT,
                            .then = (d + k) & 1 ? OPENED_LATER : PASSES};
            test(&c);
        }
    }
}

/* -- guests --------------------------------------------------------------------------------- */

static void test_guests(void)
{
    static const fault_case cases[] = {
        {.kind = "error", .at = 1, .status = ENG_ERR_DEVICE, .then = PASSES},
        {.kind = "wait", .at = 2, .status = ENG_ERR_DEVICE, .then = PASSES, .staged = true},
        {.kind = "lost", .at = 2, .status = ENG_ERR_LOST},
        {.kind = "hang", .at = 1, .status = ENG_ERR_TIMEOUT, .then = PASSES},
        {.kind = "block", .at = 2, .status = ENG_ERR_TIMEOUT, .then = PASSES},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fault_case guest = cases[i], beside = cases[i];
        guest.device = "cpu/2";
        guest.out_device = "fault:0";
        test(&guest);
        beside.device = "fault:0+fault:1";
        beside.out_device = "cpu";
        beside.index = 1;
        test(&beside);
    }
}

/* -- two plans that take turns ------------------------------------------------------------- */

/* One queue, two instances of two graphs; the other one's turn comes after the one hit. */
static bool take_turns(const fault_case *c, subject *a, subject *b)
{
    bool right = true, hit = false;

    if (subject_open(a, c->device) != ENG_OK || subject_join(b, a) != ENG_OK)
        return no(c, "does not open");
    eng_queue *own = b->queue;
    b->queue = a->queue;
    for (int i = 0; i < 2 * RUNS && right; i++) {
        int status = i & 1 ? subject_run(b, short_want, &right) : subject_run(a, want, &right);
        bool named = status == ENG_OK || (!hit && status == c->status && names_rank(c, "fault:"));
        hit |= status != ENG_OK;
        if (!named)
            right = no(c, "another plan, or another rank, or twice");
    }
    /* on a queue of its own too */
    b->queue = own;
    if (right && subject_run(b, short_want, &right) != ENG_OK)
        return no(c, "another queue does not run");
    return right && hit ? true : no(c, "not hit, or wrong");
}

/* A plan is stuck on one queue: another plan runs on another queue, and not on this one. */
static bool runs_beside(const fault_case *c, subject *a, subject *b)
{
    bool right = true;

    if (subject_open(a, c->device) != ENG_OK || subject_join(b, a) != ENG_OK)
        return no(c, "does not open");
    if (!is_hit(c, a))
        return false;
    if (subject_run(b, short_want, &right) != ENG_OK || !right)
        return no(c, "another plan does not run on another queue");
    eng_queue *own = b->queue;
    b->queue = a->queue;
    bool said = subject_run(b, short_want, &right) == ENG_ERR_TIMEOUT && names_rank(c, "still at work");
    if (said) {
        subject_option(a, "fault.gate", "open");
        said = subject_run(b, short_want, &right) == ENG_OK && subject_run(a, want, &right) == ENG_OK && right;
    }
    b->queue = own;
    return said ? true : no(c, "the queue of the plan that is stuck");
}

static bool attempt_two_plans(const void *which, int limit_ms)
{
    fault_case timed_case = *(const fault_case *)which, *c = &timed_case;
    subject a, b = {.n_blocks = 1};

    c->limit = limit_ms;
    bool good = begin(&a, c);
    if (!good)
        no(c, "no context");
    else
        good = blocks(c) ? runs_beside(c, &a, &b) : take_turns(c, &a, &b);
    subject_option(&a, "fault.gate", "open");
    b.device = NULL; /* both are the other's */
    b.store = NULL;
    subject_close(&b, false);
    subject_close(&a, c->at & 1);
    return subject_end(&a) ? good : no(c, "the context does not end");
}

static void test_two_plans(const fault_case *c)
{
    tap_check(in_time(attempt_two_plans, c), "two plans, %s of fault:%d at %d of %s", c->kind, c->index, c->at,
              c->device);
}

static void test_turns(void)
{
    static const char *const kinds[] = {"error", "wait"};

    for (int i = 0; i < 4; i++) {
        fault_case c = {.device = "cpu/3.0+fault:0+fault:1", .kind = kinds[i & 1], .index = i >> 1, .at = 5 + 2 * i,
                        .status = ENG_ERR_DEVICE, .staged = i & 1};
        test_two_plans(&c);
    }
    for (int i = 0; i < 2; i++) {
        fault_case c = {.device = "fault:0+fault:1", .kind = "block", .index = i, .at = 1 + i, .status = ENG_ERR_TIMEOUT};
        test_two_plans(&c);
    }
}

/* -- whatever is made, and whatever is moved ------------------------------------------------- */

/* What becomes of work that was queued. */
static int done(int status, const eng_fence *fence)
{
    return status == ENG_OK ? eng_fence_wait(*fence, UINT64_MAX) : status;
}

/* The n-th call of its kind fails: it is told, and nothing is left of what was made before. */
static bool fails_once(const fault_case *c, bool *over)
{
    bool right = true, good = true;
    float out[SUBJECT_WIDTH];
    eng_fence fence;
    subject s;

    if (!begin(&s, c))
        return no(c, "no context");
    int status = subject_open(&s, c->device);
    const eng_region in = eng_range(want, 0, sizeof want), back = eng_range(out, 0, sizeof out);
    if (status == ENG_OK)
        status = done(eng_queue_write(s.queue, NULL, 0, s.store, SUBJECT_OUT, &in, 1, &fence), &fence);
    if (status == ENG_OK)
        status = done(eng_queue_read(s.queue, NULL, 0, s.store, SUBJECT_OUT, &back, 1, &fence), &fence);
    if (status == ENG_OK)
        status = done(eng_queue_read(s.queue, NULL, 0, s.store, SUBJECT_UP, &back, 1, &fence), &fence);
    if (status == ENG_OK)
        status = eng_store_read(s.store, SUBJECT_DOWN, 0, sizeof out, out);
    if (status == ENG_OK)
        status = subject_run(&s, want, &right);
    *over = status == ENG_OK;
    if (!right || (status != ENG_OK && status != c->status))
        good = no(c, "another status, or wrong");
    else if (status != ENG_OK && !names_rank(c, "planted: "))
        good = no(c, "the error does not name the rank and quote its device");
    subject_close(&s, c->at & 1);
    if (good && (!subject_option(&s, "fault.kind", "none") || !works(&s, c->device)))
        good = no(c, "it does not work the next time");
    subject_close(&s, false);
    return subject_end(&s) ? good : no(c, "the context does not end");
}

static void test_each(const char *kind, int status)
{
    for (int i = 0; i < 3; i++) {
        fault_case c = {.device = i < 2 ? "fault:0+fault:1" : "cpu/2", .out_device = i < 2 ? NULL : "fault:0", .kind = kind,
                        .index = i & 1, .status = status, .staged = i == 1};
        bool over = false, good = true;
        while (good && !over && c.at++ < 100)
            good = fails_once(&c, &over);
        if (good && c.at < 4)
            good = no(&c, "too few calls");
        tap_check(good && over, "%s: each of the %d calls of fault:%d of %s", kind, c.at - 1, c.index, c.device);
    }
}

/* -- OpenCL ---------------------------------------------------------------------------------- */

/* Sound first: a driver may compile when a kernel first runs, which takes longer than the limit. */
static bool has_opencl(void)
{
    subject s;
    bool good = subject_begin(&s, "cpu,meta,opencl") && works(&s, "opencl:0");
    if (!good)
        printf("# no OpenCL device: %s\n", eng_last_error());
    subject_close(&s, false);
    if (good && !works(&s, "cpu+opencl:0"))
        printf("# cpu+opencl:0 does not run: %s\n", eng_last_error());
    subject_close(&s, false);
    subject_end(&s);
    return good;
}

static void test_opencl(void)
{
    static const fault_case cases[] = {
        {.device = "cpu/2.0+fault:0", .wrapped = "opencl:0", .kind = "error", .at = 2, .status = ENG_ERR_DEVICE, .then = PASSES},
        {.device = "fault:0+cpu/2.0", .wrapped = "opencl:0", .kind = "lost", .at = 3, .status = ENG_ERR_LOST},
        {.device = "fault:0+cpu/2.0", .wrapped = "opencl:0", .kind = "hang", .at = 2, .status = ENG_ERR_TIMEOUT, .then = PASSES},
        {.device = "opencl:0+fault:0", .wrapped = "cpu", .kind = "wait", .at = 1, .status = ENG_ERR_DEVICE, .then = PASSES},
        {.device = "opencl:0+fault:0", .wrapped = "cpu", .kind = "block", .at = 2, .status = ENG_ERR_TIMEOUT, .then = PASSES},
        {.device = "cpu+fault:0", .wrapped = "opencl:0", .kind = "block", .at = 3, .status = ENG_ERR_TIMEOUT, .then = OPENED_LATER},
    };

    for (int svm = 1; svm >= 0; svm--) {
        setenv("ENGINE_OPENCL_SVM", svm ? "auto" : "off", 1);
        if (!has_opencl()) {
            tap_check(true, "ranks on OpenCL # SKIP no device");
            break;
        }
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            test(&cases[i]);
    }
    unsetenv("ENGINE_OPENCL_SVM");
}

int main(void)
{
    alarm(300); /* what hangs here is a defect, and ends */
    if (!subject_want(3, want) || !subject_want(1, short_want)) {
        printf("Bail out! no result to compare with\n");
        return 1;
    }
    if (ON_OPENCL) {
        test_opencl();
        return tap_end(NULL);
    }
    test_blocked();
    test_guests();
    test_turns();
    test_each("refuse", ENG_ERR_NOMEM);
    test_each("transfer", ENG_ERR_DEVICE);
    return tap_end(NULL);
}
