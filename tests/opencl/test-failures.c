/*
 * Every OpenCL call that a run makes fails once, each in a run of its own: the run ends with an error that says why, or
 * with the right numbers, and nothing is left of it.  On opencl:0 and on its halves, or on the device that
 * ENG_TEST_OPENCL names; skipped where there is none.  --full: every call on the halves, too, and another error.
 *
 * The same as test-leaks: LeakSanitizer says whether memory of the host is left, too; --each: after which call first.
 */
#include "config.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

#include "../tap.h"
#include "interposer.h"

#ifdef LEAKS
#include "../leaks.h"
#else
#define leaks_begin() true
#define leaks_found() false
#endif
static bool series; /* all launches of the plan are one (lower/series.c), compiled anew in each run */
static bool each; /* look for leaks after each call that failed, until there is one */

/* The first calls of each name, and of all one in so many: each way out of each function.  Looking for leaks costs as much as
 * a run. */
enum { FIRST = 2, MOST_CALLS = 1000 };
#ifdef LEAKS
enum { ONE_IN = 8, ONE_IN_HALVES = MOST_CALLS, ONE_IN_SERIES = MOST_CALLS };
#else
enum { ONE_IN = 1, ONE_IN_HALVES = 5, ONE_IN_SERIES = 3 };
#endif
enum { N = 64, ROWS = 32, COLUMNS = 3 };
enum { X, W, POSITIONS, Y, TENSORS };

static eng_store_tensor declare(const char *name, uint32_t type, uint32_t use, int64_t n0, int64_t n1)
{
    return (eng_store_tensor){.size = sizeof(eng_store_tensor), .type = type, .rank = 2, .use = use, .ne = {n0, n1},
                              .name = name, .layer = -1};
}

typedef struct run {
    eng_context *context;
    eng_device *device;
    eng_store *store;
    eng_graph *graph;
    eng_plan *plan;
    eng_instance *instance;
    eng_queue *queue;
    float y[ROWS * COLUMNS];
} run;

static int prepare(run *r, const char *device)
{
    const eng_store_tensor t[TENSORS] = {declare("x", ENG_TYPE_F32, ENG_USE_INPUT, N, COLUMNS),
                                         declare("w", ENG_TYPE_F32, ENG_USE_WEIGHT, N, ROWS),
                                         declare("positions", ENG_TYPE_I32, ENG_USE_INPUT, COLUMNS, 1),
                                         declare("y", ENG_TYPE_F32, ENG_USE_OUTPUT, ROWS, COLUMNS)};
    float x[N * ROWS];
    const int32_t positions[COLUMNS] = {0, 1, 5};
    for (int i = 0; i < N * ROWS; i++)
        x[i] = (float)(i % 17 - 8) / 8;
    int status = eng_context_create(NULL, &r->context);
    if (status == ENG_OK && series)
        status = eng_context_set_option(r->context, "opencl.series", "yes");
    if (status == ENG_OK && series)
        status = eng_context_set_option(r->context, "opencl.cache", "no");
    if (status == ENG_OK)
        status = eng_device_open(r->context, device, &r->device);
    if (status == ENG_OK)
        status = eng_store_create(r->device, t, TENSORS, &r->store);
    if (status == ENG_OK)
        status = eng_store_write(r->store, X, 0, N * COLUMNS * 4, x);
    if (status == ENG_OK)
        status = eng_store_write(r->store, W, 0, N * ROWS * 4, x);
    return status == ENG_OK ? eng_store_write(r->store, POSITIONS, 0, sizeof positions, positions) : status;
}

/* A product, a norm, a rope (whose frequencies are constants of the plan). */
static int build(run *r)
{
    int status = eng_graph_create(r->context, 0, &r->graph);
    if (status != ENG_OK)
        return status;
    eng_value t[TENSORS];
    for (uint32_t i = 0; i < TENSORS; i++)
        t[i] = eng_graph_tensor(r->graph, 0, r->store, i);
    eng_value y = eng_rms_norm(r->graph, eng_mul_mat(r->graph, t[W], t[X]), ENG_NO_VALUE, 1e-5);
    const int64_t heads[] = {ROWS, 1, COLUMNS}, flat[] = {ROWS, COLUMNS}, positions[] = {COLUMNS};
    eng_rope_params rope = {.size = sizeof rope};
    eng_rope_defaults(&rope);
    y = eng_rope(r->graph, eng_reshape(r->graph, y, heads, 3), eng_reshape(r->graph, t[POSITIONS], positions, 1),
                 ENG_NO_VALUE, &rope);
    eng_store_value(r->graph, t[Y], eng_reshape(r->graph, y, flat, 2));
    status = eng_graph_seal(r->graph);
    if (status == ENG_OK)
        status = eng_plan_create(r->device, r->graph, &r->plan);
    return status == ENG_OK ? eng_instance_create(r->plan, &r->store, 1, &r->instance) : status;
}

static int compute(run *r)
{
    eng_fence fence;
    int status = eng_queue_create(r->device, &r->queue);
    if (status == ENG_OK)
        status = eng_queue_submit(r->queue, NULL, 0, r->instance, NULL, 0, NULL);
    if (status == ENG_OK)
        status = eng_queue_read(r->queue, NULL, 0, r->store, Y,
                                (const eng_region[]){eng_range(r->y, 0, sizeof r->y)}, 1, &fence);
    return status == ENG_OK ? eng_fence_wait(fence, UINT64_MAX) : status;
}

static void end(run *r)
{
    eng_queue_destroy(r->queue);
    eng_instance_destroy(r->instance);
    eng_plan_release(r->plan);
    eng_graph_destroy(r->graph);
    eng_store_destroy(r->store);
    eng_device_close(r->device);
    eng_context_destroy(r->context);
}

/* A whole run; y: what it computed, if ENG_OK; text: the error, if not. */
static int whole_run(const char *device, float *y, char *text, size_t bytes)
{
    run r = {.context = NULL};
    int status = prepare(&r, device);
    if (status == ENG_OK)
        status = build(&r);
    if (status == ENG_OK)
        status = compute(&r);
    snprintf(text, bytes, "%s", status == ENG_OK ? "" : eng_last_error());
    memcpy(y, r.y, sizeof r.y);
    end(&r);
    return status;
}

/* Run number n: call number n fails.  False: there is no such call, or a line was printed that says what is wrong. */
static bool survives(const char *device, unsigned long n, int error, const float *right, unsigned long *told)
{
    static float y[ROWS * COLUMNS];
    char text[600];
    interposer_reset();
    interposer_fail(NULL, n, error);
    int status = whole_run(device, y, text, sizeof text);
    *told += status != ENG_OK;
    if (status != ENG_OK ? text[0] == '\0' : memcmp(y, right, sizeof y) != 0)
        printf("# %s: call %lu fails (%d): status %d, '%s'%s\n", device, n, error, status, text,
               status == ENG_OK ? ", and wrong numbers" : "");
    else if (interposer_live() != 0)
        printf("# %s: call %lu fails (%d): %ld objects are left; status %d, '%s'\n", device, n, error,
               interposer_live(), status, text);
    else if (each && leaks_found())
        printf("# %s: call %lu fails (%d): memory is left; status %d, '%s'\n", device, n, error, status, text), each = false;
    else
        return true;
    return false;
}

/* The calls that fail: the first ones of each name, and every `step`th after them. */
static unsigned long choose(unsigned long calls, unsigned long step, bool *chosen)
{
    unsigned long n_chosen = 0;
    for (unsigned long n = 1; n <= calls && n < MOST_CALLS; n++) {
        unsigned long ordinal = interposer_ordinal(n);
        chosen[n] = step == 1 || (ordinal > 0 && ordinal <= FIRST) || n % step == 0;
        n_chosen += chosen[n];
    }
    return n_chosen;
}

static void sweep(const char *device, int error, unsigned long step)
{
    static float right[ROWS * COLUMNS];
    static bool chosen[MOST_CALLS];
    char text[600];
    unsigned long told = 0, bad = 0;
    interposer_reset();
    int status = whole_run(device, right, text, sizeof text);
    const unsigned long calls = interposer_count(NULL), n_chosen = choose(calls, step, chosen);
    if (!tap_check(status == ENG_OK && interposer_live() == 0 && calls < MOST_CALLS, "%s computes (%lu calls) %s", device,
                   calls, text))
        return;
    for (unsigned long n = 1; n <= calls; n++)
        bad += chosen[n] && !survives(device, n, error, right, &told);
    tap_check(bad == 0, "%s: each of %lu calls fails with %d: %lu errors are told, %lu runs go wrong", device, n_chosen,
              error, told, bad);
}

int main(int argc, char **argv)
{
    bool full = false;
    for (int i = 1; i < argc; i++) {
        full |= !strcmp(argv[i], "--full");
        each |= !strcmp(argv[i], "--each");
    }
    const char *name = getenv("ENG_TEST_OPENCL");
    float y[ROWS * COLUMNS];
    char text[600];
    name = name && *name ? name : "opencl:0";
    if (!leaks_begin()) {
        printf("1..0 # SKIP LeakSanitizer is not there, or sees nothing here\n");
        return 0;
    }
    if (whole_run(name, y, text, sizeof text) != ENG_OK) {
        printf("1..0 # SKIP no OpenCL device: %s\n", text);
        return 0;
    }
    sweep(name, CL_OUT_OF_RESOURCES, full ? 1 : ONE_IN);
    if (full)
        sweep(name, CL_INVALID_OPERATION, 1);
    series = true;
    sweep(name, CL_OUT_OF_RESOURCES, full ? 1 : ONE_IN_SERIES);
    series = false;
#ifdef HAVE_META
    char half[80];
    snprintf(half, sizeof half, "%s/2", name);
    sweep(half, CL_OUT_OF_HOST_MEMORY, full ? 1 : ONE_IN_HALVES);
    if (full)
        sweep(half, CL_OUT_OF_RESOURCES, 1);
#endif
#ifdef LEAKS
    tap_check(!leaks_found(), "no memory of the host is left by any of them%s", each ? "" : " (--each says by which)");
#endif
    return tap_end(NULL);
}
