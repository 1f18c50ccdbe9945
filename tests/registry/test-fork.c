/*
 * A child of fork that uses what it has inherited is told so, whatever the device; it never hangs or crashes.  What it
 * creates itself works, and what the parent has works on.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/engine.h"

#include "../tap.h"

#define N 65536 /* elements: enough for every thread */
#define SECONDS 60

typedef struct work {
    eng_device *device;
    eng_store *store; /* x, y */
    eng_graph *graph; /* y = 2 x, where the device computes, else y = x */
    eng_plan *plan;
    eng_instance *instance;
    eng_queue *queue;
    eng_fence fence;
    float factor;
} work;

static float numbers[N];

static int build(eng_context *context, work *w)
{
    int status = eng_graph_create(context, 0, &w->graph);
    if (status)
        return status;
    eng_value x = eng_graph_tensor(w->graph, 0, w->store, 0), y = eng_graph_tensor(w->graph, 0, w->store, 1);
    eng_store_value(w->graph, y, w->factor == 1 ? x : eng_scale(w->graph, x, w->factor, 0));
    return eng_graph_seal(w->graph);
}

static int start(eng_context *context, const char *name, work *w)
{
    eng_store_tensor t[2];
    for (int i = 0; i < 2; i++)
        t[i] = (eng_store_tensor){.size = sizeof t[i], .type = ENG_TYPE_F32, .rank = 1, .ne = {N}, .layer = -1,
                                  .use = i ? ENG_USE_OUTPUT : ENG_USE_INPUT, .name = i ? "y" : "x"};
    *w = (work){.factor = strcmp(name, "null") ? 2 : 1};
    int status = eng_device_open(context, name, &w->device);
    if (!status)
        status = eng_store_create(w->device, t, 2, &w->store);
    if (!status)
        status = build(context, w);
    if (!status)
        status = eng_plan_create(w->device, w->graph, &w->plan);
    if (!status)
        status = eng_instance_create(w->plan, &w->store, 1, &w->instance);
    return status ? status : eng_queue_create(w->device, &w->queue);
}

/* Runs it on other numbers than before; false: they are not what they should be. */
static bool runs(work *w, float first)
{
    static float back[N];
    for (int i = 0; i < N; i++)
        numbers[i] = first + (float)i;
    int status = eng_queue_write(w->queue, NULL, 0, w->store, 0,
                                 (const eng_region[]){eng_range(numbers, 0, sizeof numbers)}, 1, NULL);
    if (!status)
        status = eng_queue_submit(w->queue, NULL, 0, w->instance, NULL, 0, NULL);
    if (!status)
        status = eng_queue_read(w->queue, NULL, 0, w->store, 1,
                                (const eng_region[]){eng_range(back, 0, sizeof back)}, 1, &w->fence);
    if (!status)
        status = eng_fence_wait(w->fence, UINT64_MAX);
    for (int i = 0; i < N && !status; i++)
        status = back[i] != w->factor * numbers[i];
    return status == ENG_OK;
}

static void end(work *w)
{
    eng_instance_destroy(w->instance);
    eng_plan_release(w->plan);
    eng_graph_destroy(w->graph);
    eng_queue_destroy(w->queue);
    eng_store_destroy(w->store);
    eng_device_close(w->device);
}

/* -- in the child ------------------------------------------------------------------- */

/* NULL: every call said that the process was forked; else the one that did not. */
static const char *uses(eng_context *context, work *w)
{
    float x[4];
    void *any = NULL;
    char reason[64];
    eng_support answer;
    eng_device_stats stats = {.size = sizeof stats};
    eng_device_info info = {.size = sizeof info};
#define REFUSED(call)                                                                                                   \
    do {                                                                                                                \
        eng_error e = {.size = sizeof e};                                                                               \
        if ((call) != ENG_ERR_STATE || eng_last_error_info(&e) || e.code != ENG_CODE_FORKED || !strstr(e.advice, "child")) \
            return #call;                                                                                               \
    } while (0)
    REFUSED(eng_queue_submit(w->queue, NULL, 0, w->instance, NULL, 0, NULL));
    REFUSED(eng_fence_wait(w->fence, UINT64_MAX));
    REFUSED(eng_queue_write(w->queue, NULL, 0, w->store, 0, (const eng_region[]){eng_range(x, 0, sizeof x)}, 1, NULL));
    REFUSED(eng_queue_read(w->queue, NULL, 0, w->store, 0, (const eng_region[]){eng_range(x, 0, sizeof x)}, 1, NULL));
    REFUSED(eng_store_write(w->store, 0, 0, sizeof x, x));
    REFUSED(eng_store_read(w->store, 0, 0, sizeof x, x));
    REFUSED(eng_store_create(w->device, eng_store_get(w->store, 0), 1, (eng_store **)&any));
    REFUSED(eng_plan_create(w->device, w->graph, (eng_plan **)&any));
    REFUSED(eng_plan_explain(w->plan, ENG_EXPLAIN_TEXT, (eng_emit_func)abort, NULL));
    REFUSED(eng_instance_create(w->plan, &w->store, 1, (eng_instance **)&any));
    REFUSED(eng_queue_create(w->device, (eng_queue **)&any));
    REFUSED(eng_device_supports(w->device, w->graph, 0, &answer, reason, sizeof reason));
    REFUSED(eng_device_get_stats(w->device, &stats));
    REFUSED(eng_device_leaf(w->device, 0, &info, &stats));
    REFUSED(eng_device_open(context, "null", (eng_device **)&any));
    if (any)
        return "an out-argument";
    if (eng_device_get_info(w->device, &info) != ENG_OK || eng_store_count(w->store) != 2)
        return "a description";
    return NULL;
}

static const char *works_anew(const char *name)
{
    eng_context *own;
    work w;
    if (eng_context_create(NULL, &own) != ENG_OK)
        return "no context of its own";
    int status = start(own, name, &w);
    if (strncmp(name, "opencl", 6) == 0) /* the drivers do not */
        return status != ENG_OK && strstr(eng_last_error(), "forked after OpenCL was used") ? NULL :
                                                                                              "OpenCL is not refused";
    if (status != ENG_OK || !runs(&w, 3))
        return "its own device does not work";
    pid_t grandchild = fork();
    if (grandchild == 0) {
        alarm(SECONDS);
        const char *wrong = uses(own, &w);
        end(&w);
        _exit(wrong != NULL || eng_context_destroy(own) != ENG_OK);
    }
    if (waitpid(grandchild, &status, 0) != grandchild || status != 0)
        return "its own child is not refused";
    end(&w);
    return eng_context_destroy(own) == ENG_OK ? NULL : "its own context cannot be ended";
}

static const char *child(eng_context *context, const char *name, work *w)
{
    const char *wrong = uses(context, w);
    end(w);
    if (!wrong && eng_context_destroy(context) != ENG_OK)
        wrong = "the context cannot be let go";
    return wrong ? wrong : works_anew(name);
}

/* -- in the parent ------------------------------------------------------------------ */

static void test_device(eng_context *context, const char *name)
{
    work w;
    char text[2048] = "";
    int ends[2], status;
    if (start(context, name, &w) != ENG_OK || !runs(&w, 1) || pipe(ends) != 0) {
        tap_check(false, "%s: %s", name, eng_last_error());
        return;
    }
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(SECONDS);
        const char *wrong = child(context, name, &w);
        if (wrong)
            dprintf(ends[1], "%s (%.1500s)", wrong, eng_last_error());
        _exit(wrong != NULL);
    }
    close(ends[1]);
    for (ssize_t n = 0, more; (more = read(ends[0], text + n, sizeof text - 1 - (size_t)n)) > 0;)
        n += more;
    close(ends[0]);
    bool good = waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    tap_check(good, "%s: a child is told that it was forked, and ends what it inherited%s%s%s", name,
              WIFSIGNALED(status) ? ": ended by signal " : "", WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "",
              text);
    tap_check(runs(&w, 2), "%s: the parent's work goes on", name);
    end(&w);
}

int main(void)
{
    eng_context *context = tap_begin();
    eng_device_info info = {.size = sizeof info};
    if (!context)
        return 1;
    test_device(context, "null");
#ifdef HAVE_CPU
    test_device(context, "cpu");
#ifdef HAVE_META
    test_device(context, "cpu/2");
    test_device(context, "cpu@1");
#endif
#endif
    for (uint32_t i = 0; eng_context_device_info(context, i, &info) == ENG_OK; i++)
        if (strcmp(info.name, "opencl:0") == 0)
            test_device(context, info.name);
    return tap_end(context);
}
