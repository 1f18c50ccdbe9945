/*
 * A rank that fails.  Devices of the plugin `fault` (tests/meta/fault) fail, are lost or
 * hang at a chosen submission: the host gets one error that names the rank and quotes
 * its device, in bounded time, and goes on with whatever still works.
 */
#include "config.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/engine.h"

enum { WIDTH = 96, INNER = 12, BLOCKS = 3, RUNS = 6, TIMEOUT_MS = 80 };
enum { X, UP, DOWN, OUT, TENSORS };

typedef struct host {
    eng_context *context;
    eng_device *device;
    eng_store *store;
    eng_graph *graph;
    eng_plan *plan;
    eng_instance *instance;
    eng_queue *queue;
} host;

typedef struct fault_case {
    const char *device, *kind;
    int index, at, hold;
    int status;      /* of the run that is hit                                     */
    bool passing;    /* the same queue and instance run afterwards                  */
    bool staged;
    const char *text; /* that the error must quote                                  */
} fault_case;

static int n_tests, n_failed;
static float want[WIDTH];
static int n_blocks = BLOCKS;
static const char *out_device; /* that holds the output; NULL: all do              */
static char fault_folder[4096];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* -- a graph with exchanges -------------------------------------------------------- */

static int make_store(host *h)
{
    eng_factor ffn = {.axis = eng_context_axis(h->context, "ffn"), .extent = INNER};
    eng_segment segment = {.n_factors = 1, .factors = &ffn};
    eng_dim up[] = {{0}, {.n_segments = 1, .segments = &segment}};
    eng_dim down[] = {{.n_segments = 1, .segments = &segment}, {0}};
    eng_store_tensor t[] = {
        {.size = sizeof *t, .type = ENG_TYPE_F32, .rank = 1, .use = ENG_USE_INPUT, .ne = {WIDTH}, .name = "x", .layer = -1},
        {.size = sizeof *t, .type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_WEIGHT, .ne = {WIDTH, INNER}, .name = "up",
         .dims = up, .layer = -1},
        {.size = sizeof *t, .type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_WEIGHT, .ne = {INNER, WIDTH}, .name = "down",
         .dims = down, .layer = -1},
        {.size = sizeof *t, .type = ENG_TYPE_F32, .rank = 1, .use = ENG_USE_OUTPUT, .ne = {WIDTH}, .name = "out",
         .device = out_device, .layer = -1},
    };
    float data[WIDTH * INNER];
    int status = eng_store_create(h->device, t, TENSORS, &h->store);
    for (uint32_t i = X; i < OUT && status == ENG_OK; i++) {
        for (int k = 0; k < WIDTH * INNER; k++)
            data[k] = (float)((k * 37 + (int)i * 11) % 101) / 101 - 0.5f;
        status = eng_store_write(h->store, i, 0, eng_store_bytes(h->store, i), data);
    }
    return status;
}

static int make_graph(host *h)
{
    eng_value v[TENSORS];
    int status = eng_graph_create(h->context, 0, &h->graph);
    if (status != ENG_OK)
        return status;
    for (uint32_t i = 0; i < TENSORS; i++)
        v[i] = eng_graph_tensor(h->graph, 0, h->store, i);
    eng_value x = v[X];
    for (int i = 0; i < n_blocks; i++) {
        eng_value y = eng_unary(h->graph, eng_mul_mat(h->graph, v[UP], x), ENG_UNARY_SILU);
        x = eng_add(h->graph, x, eng_mul_mat(h->graph, v[DOWN], y));
    }
    eng_store_value(h->graph, v[OUT], x);
    return eng_graph_seal(h->graph);
}

static void close_host(host *h, int order)
{
    /* what a queue may still work on goes after the queue; else any order is legal */
    eng_queue_destroy(h->queue);
    if (order & 1) {
        eng_device_close(h->device);
        eng_store_destroy(h->store);
        eng_graph_destroy(h->graph);
        eng_plan_release(h->plan);
        eng_instance_destroy(h->instance);
    } else {
        eng_instance_destroy(h->instance);
        eng_plan_release(h->plan);
        eng_graph_destroy(h->graph);
        eng_store_destroy(h->store);
        eng_device_close(h->device);
    }
    eng_context *context = h->context;
    *h = (host){.context = context};
}

static int open_host(host *h, const char *device)
{
    int status = eng_device_open(h->context, device, &h->device);
    if (status == ENG_OK)
        status = make_store(h);
    if (status == ENG_OK)
        status = make_graph(h);
    if (status == ENG_OK)
        status = eng_plan_create(h->device, h->graph, &h->plan);
    if (status == ENG_OK)
        status = eng_instance_create(h->plan, &h->store, 1, &h->instance);
    if (status == ENG_OK)
        status = eng_queue_create(h->device, &h->queue);
    return status;
}

/* One run; what must come out does. */
static int run(host *h, bool *right)
{
    float out[WIDTH];
    eng_fence fence;
    int status = eng_queue_submit(h->queue, h->instance, NULL, 0, &fence);
    if (status == ENG_OK)
        status = eng_fence_wait(fence, UINT64_MAX);
    if (status != ENG_OK)
        return status;
    memset(out, 0xff, sizeof out);
    status = eng_store_read(h->store, OUT, 0, sizeof out, out);
    for (int i = 0; i < WIDTH && status == ENG_OK; i++)
        *right = *right && fabsf(out[i] - want[i]) <= 1e-5f * (1 + fabsf(want[i]));
    return status;
}

static bool make_context(host *h, const fault_case *c)
{
    char number[16];
    *h = (host){0};
    eng_context_params params = {.size = sizeof params, .plugin_path = fault_folder};
    if (eng_context_create(&params, &h->context) != ENG_OK)
        return false;
    bool good = true;
    if (c) {
        good = eng_context_set_option(h->context, "fault.kind", c->kind) == ENG_OK;
        const struct {
            const char *name;
            int value;
        } numbers[] = {{"fault.index", c->index}, {"fault.at", c->at},         {"fault.hold", c->hold},
                       {"fault.staged", c->staged}, {"fault.times", strcmp(c->kind, "lost") == 0 ? 1000000 : 1},
                       {"meta.timeout", strcmp(c->kind, "hang") == 0 || strcmp(c->kind, "stall") == 0 ? TIMEOUT_MS : 0}};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers && good; i++) {
            snprintf(number, sizeof number, "%d", numbers[i].value);
            good = eng_context_set_option(h->context, numbers[i].name, number) == ENG_OK;
        }
    }
    return good;
}

/* -- judging ------------------------------------------------------------------------ */

static bool no(const fault_case *c, const char *what)
{
    printf("# %s, %s at %d: %s; last error: %s\n", c->device, c->kind, c->at, what, eng_last_error());
    return false;
}

/* The rank as the composition counts it: the fault device's place in the name. */
static bool names_rank(const fault_case *c, const char *error)
{
    char name[32], rank[64];
    int place = 0;
    snprintf(name, sizeof name, "fault:%d", c->index);
    const char *at = strstr(c->device, name);
    for (const char *p = c->device; at && p < at; p++)
        place += *p == '+';
    snprintf(rank, sizeof rank, "%s, rank %d of %s", name, place, c->device);
    return at && strncmp(error, rank, strlen(rank)) == 0;
}

static bool after(const fault_case *c, host *h)
{
    bool right = true;
    double from = now();

    if (c->hold > 0) { /* what hangs for a time is over some day */
        struct timespec t = {.tv_nsec = c->hold * 1000000L};
        nanosleep(&t, NULL);
    }
    int status = run(h, &right);
    if (c->passing && (status != ENG_OK || !right))
        return no(c, "the same queue does not run again");
    if (!c->passing && status != c->status)
        return no(c, "the broken device does not say so again");
    if (now() - from > 5)
        return no(c, "the run after took too long");
    close_host(h, c->at + c->index);
    right = true;
    if (open_host(h, "cpu/2") != ENG_OK || run(h, &right) != ENG_OK || !right)
        return no(c, "the context is of no use afterwards");
    close_host(h, c->at);
    return true;
}

static bool judge(const fault_case *c, host *h)
{
    bool right = true;
    int status = open_host(h, c->device), hit = 0, runs = 0;
    double from = now();

    if (status != ENG_OK)
        return no(c, "does not open");
    for (; runs < RUNS && hit == ENG_OK; runs++)
        hit = run(h, &right);
    if (hit == ENG_OK)
        return no(c, "no run was hit");
    if (hit != c->status)
        return no(c, "another status");
    if (!right)
        return no(c, "a run before was wrong");
    if (!names_rank(c, eng_last_error()) || !strstr(eng_last_error(), c->text))
        return no(c, "the error does not name the rank and quote its device");
    if (now() - from > 5)
        return no(c, "it took too long");
    return after(c, h);
}

static void test(const fault_case *c)
{
    host h;
    bool good = make_context(&h, c);
    good = good ? judge(c, &h) : no(c, "no context");
    close_host(&h, 0);
    if (h.context && eng_context_destroy(h.context) != ENG_OK)
        good = no(c, "the context does not end");
    n_failed += !good;
    printf("%sok %d - %s%s of fault:%d at submission %d of %s\n", good ? "" : "not ", ++n_tests, c->kind,
           c->hold ? " for a time" : "", c->index, c->at, c->device);
    fflush(stdout);
}

/* -- two queues ----------------------------------------------------------------------- */

static bool says(int status, const char *text)
{
    return status == ENG_ERR_TIMEOUT && strstr(eng_last_error(), text);
}

/* A run that was given up on one queue keeps its instance from another queue. */
static bool instance_is_kept(const fault_case *c, host *h, eng_queue *other)
{
    bool right = true;
    float out[WIDTH];
    eng_fence fence;

    if (!says(run(h, &right), "meta.timeout"))
        return no(c, "the run does not end in time");
    if (!says(eng_queue_submit(other, h->instance, NULL, 0, &fence), "still at work"))
        return no(c, "another queue takes an instance that a device is at work on");
    if (!says(eng_queue_read(h->queue, h->store, OUT, 0, sizeof out, out, &fence), "still at work"))
        return no(c, "a transfer does not wait for what a run has left");
    return true;
}

static void *destroy_instance(void *instance)
{
    eng_instance_destroy(instance);
    return NULL;
}

/* Both are freed by their own threads, while the device is at work. */
static bool freed_by_two(const fault_case *c, host *h)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, destroy_instance, h->instance) != 0)
        return no(c, "no thread");
    eng_queue_destroy(h->queue);
    pthread_join(thread, NULL);
    h->queue = NULL;
    h->instance = NULL;
    return true;
}

static void test_two_queues(bool by_two)
{
    fault_case c = {.device = "fault:0+fault:1", .kind = "hang", .index = 1, .at = 1, .hold = 5 * TIMEOUT_MS};
    eng_queue *other = NULL;
    host h;
    bool good = make_context(&h, &c) && eng_context_set_option(h.context, "fault.times", "2") == ENG_OK &&
                open_host(&h, c.device) == ENG_OK && eng_queue_create(h.device, &other) == ENG_OK;

    good = good ? instance_is_kept(&c, &h, other) : no(&c, "does not open");
    if (good && by_two) {
        good = freed_by_two(&c, &h);
    } else { /* what is left on any queue is waited for */
        eng_instance_destroy(h.instance);
        h.instance = NULL;
    }
    eng_queue_destroy(other);
    close_host(&h, 0);
    if (h.context && eng_context_destroy(h.context) != ENG_OK)
        good = no(&c, "the context does not end");
    n_failed += !good;
    printf("%sok %d - two queues, one instance, freed %s\n", good ? "" : "not ", ++n_tests,
           by_two ? "by two threads" : "first");
    fflush(stdout);
}

static bool make_want(void)
{
    host h;
    eng_fence fence;
    bool good = make_context(&h, NULL) && open_host(&h, "cpu") == ENG_OK &&
                eng_queue_submit(h.queue, h.instance, NULL, 0, &fence) == ENG_OK &&
                eng_fence_wait(fence, UINT64_MAX) == ENG_OK &&
                eng_store_read(h.store, OUT, 0, sizeof want, want) == ENG_OK;
    if (!good)
        printf("# %s\n", eng_last_error());
    close_host(&h, 0);
    eng_context_destroy(h.context);
    return good;
}

/* -- a slow run ------------------------------------------------------------------------ */

/* Every submission of one rank is slow, none slower than the timeout, and a guest waits for
 * all of them: nothing is wrong, however long it takes together. */
static void test_slow(void)
{
    fault_case c = {.device = "fault:0+fault:1", .kind = "hang", .index = 1, .at = 1, .hold = 60};
    bool right = true;
    host h;

    n_blocks = 10;
    bool good = make_want() && make_context(&h, &c) &&
                eng_context_set_option(h.context, "fault.times", "1000000") == ENG_OK &&
                eng_context_set_option(h.context, "meta.timeout", "160") == ENG_OK;
    out_device = "cpu";
    good = good && open_host(&h, c.device) == ENG_OK ? true : no(&c, "does not open");
    double from = now();
    if (good && (run(&h, &right) != ENG_OK || !right))
        good = no(&c, "a run that gets on is given up, or is wrong");
    if (good && now() - from < 2 * 0.160)
        good = no(&c, "too quick to be a test");
    close_host(&h, 0);
    eng_context_destroy(h.context);
    n_failed += !good;
    printf("%sok %d - a guest waits longer than the timeout while the others get on\n", good ? "" : "not ", ++n_tests);
    fflush(stdout);
}

int main(void)
{
    static const char *const devices[] = {"cpu/2.0+fault:0", "fault:0+fault:1", "fault:0+cpu/3.0+fault:1"};
    static const fault_case kinds[] = {
        {.kind = "error", .status = ENG_ERR_DEVICE, .passing = true, .text = "planted: submission"},
        {.kind = "wait", .status = ENG_ERR_DEVICE, .passing = true, .text = "planted: the work has failed"},
        {.kind = "lost", .status = ENG_ERR_LOST, .text = "planted: the device is lost"},
        {.kind = "hang", .status = ENG_ERR_TIMEOUT, .text = "meta.timeout"},
        {.kind = "hang", .hold = 5 * TIMEOUT_MS, .status = ENG_ERR_TIMEOUT, .passing = true, .text = "meta.timeout"},
        {.kind = "stall", .hold = 5 * TIMEOUT_MS, .status = ENG_ERR_TIMEOUT, .passing = true, .text = "meta.timeout"},
    };
    static const int at[] = {1, 2, 7};

    const char *build = getenv("top_builddir");
    if (!build) {
        printf("Bail out! run me through make check: top_builddir is not set\n");
        return 1;
    }
    snprintf(fault_folder, sizeof fault_folder, "%s/tests/meta/fault/.libs", build);
    setenv("ENGINE_PLUGINS", "cpu,meta,fault", 1);
    alarm(300); /* what hangs here is a defect, and ends */
    if (!make_want()) {
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
    test_two_queues(false);
    test_two_queues(true);
    test_slow(); /* last: with another graph */
    printf("1..%d\n", n_tests);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
