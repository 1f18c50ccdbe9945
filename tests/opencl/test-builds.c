/*
 * What happens while the device's compiler runs: other threads submit, find and build other programs, and wait for
 * nothing but what they want themselves.  The interposer stops the compiler, so that no result depends on how long
 * it takes.  On opencl:0, or on the device that ENG_TEST_OPENCL names; skipped where there is none.
 */
#include "config.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine/engine.h"

#include "../tap.h"
#include "folder.h"
#include "interposer.h"

enum { N = 64, SUBMITS = 50 };

static eng_context *context;
static eng_device *device;
static eng_store *store;

static const char *device_name(void)
{
    const char *name = getenv("ENG_TEST_OPENCL");
    return name && *name ? name : "opencl:0";
}

static eng_store_tensor declare(const char *name, uint32_t use)
{
    return (eng_store_tensor){.size = sizeof(eng_store_tensor), .type = ENG_TYPE_F32, .rank = 1, .use = use, .ne = {N},
                              .name = name, .layer = -1};
}

/* Every program is built from source: one call of the compiler each. */
static bool open_device(void)
{
    const eng_store_tensor t[] = {declare("x", ENG_USE_INPUT), declare("y", ENG_USE_OUTPUT)};
    return !eng_context_set_option(context, "opencl.cache", "no") &&
           !eng_context_set_option(context, "opencl.fuse", "no") &&
           !eng_device_open(context, device_name(), &device) && !eng_store_create(device, t, 2, &store);
}

/* y = kind(... kind(x)), so many times: a program for each kind, whatever the times. */
static int plan_of(int kind, int times, eng_plan **plan)
{
    eng_graph *g = NULL;
    int status = eng_graph_create(context, 0, &g);
    if (status != ENG_OK)
        return status;
    eng_value v = eng_graph_tensor(g, 0, store, 0);
    for (int i = 0; i < times; i++)
        v = eng_unary(g, v, kind);
    eng_store_value(g, eng_graph_tensor(g, 0, store, 1), v);
    status = eng_graph_seal(g);
    if (status == ENG_OK)
        status = eng_plan_create(device, g, plan);
    eng_graph_destroy(g);
    return status;
}

/* -- threads ------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t over = PTHREAD_COND_INITIALIZER;

/* A thread that makes a plan, or does what `work` says. */
typedef struct worker {
    pthread_t thread;
    int kind, times;
    int (*work)(struct worker *w);
    int status;
    bool over;
    char text[400];
    double longest; /* submit, milliseconds */
} worker;

static int make_plan(worker *w)
{
    eng_plan *plan = NULL;
    int status = plan_of(w->kind, w->times, &plan);
    if (status == ENG_OK)
        eng_plan_release(plan);
    return status;
}

static void *run(void *data)
{
    worker *w = data;
    int status = w->work(w);
    snprintf(w->text, sizeof w->text, "%s", status == ENG_OK ? "" : eng_last_error());
    pthread_mutex_lock(&lock);
    w->status = status;
    w->over = true;
    pthread_cond_broadcast(&over);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void start(worker *w, int kind, int times, int (*work)(worker *))
{
    *w = (worker){.kind = kind, .times = times, .work = work};
    if (pthread_create(&w->thread, NULL, run, w) != 0)
        abort();
}

/* Is the worker over, now or within a minute? */
static bool comes_to_an_end(worker *w)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 60;
    pthread_mutex_lock(&lock);
    for (int late = 0; !w->over && late == 0;)
        late = pthread_cond_timedwait(&over, &lock, &end);
    bool is = w->over;
    pthread_mutex_unlock(&lock);
    return is;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* -- tests --------------------------------------------------------------------------- */

static eng_instance *instance;
static eng_queue *queue;

/* Submits and waits, asks for figures, and plans with a program that is there already. */
static int go_on(worker *w)
{
    eng_device_stats stats = {.size = sizeof stats};
    for (int i = 0; i < SUBMITS; i++) {
        eng_fence fence;
        double begin = now();
        int status = eng_queue_submit(queue, NULL, 0, instance, NULL, 0, &fence);
        double took = now() - begin;
        w->longest = took > w->longest ? took : w->longest;
        if (status == ENG_OK)
            status = eng_fence_wait(fence, UINT64_MAX);
        if (status != ENG_OK)
            return status;
    }
    int status = eng_device_get_stats(device, &stats);
    return status == ENG_OK ? make_plan(w) : status;
}

static void submits_go_on(void)
{
    eng_plan *plan = NULL;
    worker compiles, submits;
    bool ready = !plan_of(ENG_UNARY_RELU, 1, &plan) && !eng_instance_create(plan, &store, 1, &instance) &&
                 !eng_queue_create(device, &queue) && !eng_queue_submit(queue, NULL, 0, instance, NULL, 0, NULL);
    if (!tap_check(ready, "a plan is ready%s%s", ready ? "" : ": ", ready ? "" : eng_last_error()))
        return;
    interposer_stop("clBuildProgram");
    start(&compiles, ENG_UNARY_EXP, 1, make_plan);
    tap_check(interposer_stopped("clBuildProgram", 1), "another thread is in the compiler");
    start(&submits, ENG_UNARY_RELU, 2, go_on);
    tap_check(comes_to_an_end(&submits) && submits.status == ENG_OK && !compiles.over,
              "%d submits, figures, and a plan of a program that exists, end before the compiler does", SUBMITS);
    interposer_go("clBuildProgram");
    pthread_join(submits.thread, NULL);
    pthread_join(compiles.thread, NULL);
    tap_check(compiles.status == ENG_OK, "the other thread then has its plan (%s)", compiles.text);
    printf("# longest submit while another thread compiled: %.3f ms\n", submits.longest);
    eng_queue_destroy(queue);
    eng_instance_destroy(instance);
    eng_plan_release(plan);
}

static void different_programs_are_built_at_once(void)
{
    worker a, b;
    interposer_stop("clBuildProgram");
    start(&a, ENG_UNARY_SIGMOID, 1, make_plan);
    start(&b, ENG_UNARY_TANH, 1, make_plan);
    tap_check(interposer_stopped("clBuildProgram", 2), "two threads build two programs at once");
    interposer_go("clBuildProgram");
    pthread_join(a.thread, NULL);
    pthread_join(b.thread, NULL);
    tap_check(a.status == ENG_OK && b.status == ENG_OK, "and have them (%s%s)", a.text, b.text);
}

static void a_program_is_built_once(void)
{
    worker a, b;
    eng_device_stats first = {.size = sizeof first}, then = {.size = sizeof then};
    unsigned long before = interposer_count("clBuildProgram");
    eng_device_get_stats(device, &first);
    interposer_stop("clBuildProgram");
    interposer_delay("clBuildProgram", 200);
    start(&a, ENG_UNARY_SOFTPLUS, 1, make_plan);
    bool came = interposer_stopped("clBuildProgram", 1);
    start(&b, ENG_UNARY_SOFTPLUS, 2, make_plan);
    interposer_go("clBuildProgram"); /* b has 200 ms to come while a builds: if it is late, it finds the program */
    pthread_join(a.thread, NULL);
    pthread_join(b.thread, NULL);
    interposer_delay("clBuildProgram", 0);
    unsigned long times = interposer_count("clBuildProgram") - before;
    tap_check(came && a.status == ENG_OK && b.status == ENG_OK && times == 1,
              "a program that two threads want is built once (%lu times)", times);
    eng_device_get_stats(device, &then);
    tap_check(then.compiled == first.compiled + 1, "a program on which the compiler worked 200 ms is counted as one");
}

static void a_failure_is_told_and_forgotten(void)
{
    worker a, b;
    interposer_stop("clBuildProgram");
    interposer_delay("clBuildProgram", 200);
    interposer_fail("clBuildProgram", 1, CL_OUT_OF_RESOURCES);
    start(&a, ENG_UNARY_NEG, 1, make_plan);
    bool came = interposer_stopped("clBuildProgram", 1);
    start(&b, ENG_UNARY_NEG, 2, make_plan);
    interposer_go("clBuildProgram");
    pthread_join(a.thread, NULL);
    pthread_join(b.thread, NULL);
    interposer_delay("clBuildProgram", 0);
    tap_check(came && a.status < 0 && strstr(a.text, "CL_OUT_OF_RESOURCES"), "a failure is told: %s", a.text);
    tap_check(b.status == ENG_OK || (b.status == a.status && !strcmp(a.text, b.text)),
              "to those who waited, too, or they came later: %s", b.text);
    start(&a, ENG_UNARY_NEG, 3, make_plan);
    pthread_join(a.thread, NULL);
    tap_check(a.status == ENG_OK, "the next one tries again (%s)", a.text);
}

/* Drivers may compile every kernel again to give a program's binary. */
static void nobody_waits_for_what_is_kept(void)
{
    char folder[1000], here[900] = "";
    worker a, b;
    if (!getcwd(here, sizeof here))
        return;
    snprintf(folder, sizeof folder, "%s/builds-cache-%ld", here, (long)getpid());
    mkdir(folder, 0700);
    bool ready = !eng_context_set_option(context, "engine.cache_dir", folder) &&
                 !eng_context_set_option(context, "opencl.cache", "yes") && !eng_device_open(context, device_name(), &device);
    const eng_store_tensor t[] = {declare("x", ENG_USE_INPUT), declare("y", ENG_USE_OUTPUT)};
    ready = ready && !eng_store_create(device, t, 2, &store);
    if (!tap_check(ready, "a device keeps programs in a folder of its own%s%s", ready ? "" : ": ", ready ? "" : eng_last_error()))
        return;
    unsigned long before = interposer_count("clGetProgramInfo");
    interposer_stop("clGetProgramInfo");
    start(&a, ENG_UNARY_EXP, 1, make_plan);
    bool first = comes_to_an_end(&a);
    start(&b, ENG_UNARY_TANH, 1, make_plan);
    tap_check(first && comes_to_an_end(&b) && a.status == ENG_OK && b.status == ENG_OK,
              "plans are made while a program's binary is still asked for (%s%s)", a.text, b.text);
    interposer_go("clGetProgramInfo");
    pthread_join(a.thread, NULL);
    pthread_join(b.thread, NULL);
    eng_store_destroy(store);
    eng_device_close(device);
    unsigned long asked = interposer_count("clGetProgramInfo") - before;
    unsigned files = remove_all(folder);
    tap_check(asked >= 2 && files >= 1, "one at least is kept when the device is closed: asked %lu times, %u files", asked, files);
}

int main(void)
{
    context = tap_begin();
    if (context == NULL)
        return tap_end(context);
    if (!open_device()) {
        printf("1..0 # SKIP no OpenCL device: %s\n", eng_last_error());
        eng_context_destroy(context);
        return 0;
    }
    submits_go_on();
    different_programs_are_built_at_once();
    a_program_is_built_once();
    a_failure_is_told_and_forgotten();
    eng_store_destroy(store);
    eng_device_close(device);
    nobody_waits_for_what_is_kept();
    tap_check(interposer_live() == 0, "%ld objects are left", interposer_live());
    return tap_end(context);
}
