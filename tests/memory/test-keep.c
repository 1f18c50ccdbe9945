/* Values that are kept are found after a run as they were where they were kept, on every device. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"

#define N 40
#define ROWS 6

typedef struct rig {
    eng_context *context;
    eng_device *device;
    eng_store *store; /* x, y */
    eng_graph *graph;
    eng_plan *plan;
    eng_instance *instance;
    eng_queue *queue;
    eng_value x, doubled, part, summed, kept_later;
} rig;

static int declare(rig *r)
{
    const eng_store_tensor t[] = {
        {.size = sizeof *t, .type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_INPUT, .ne = {N, ROWS}, .name = "x", .layer = -1},
        {.size = sizeof *t, .type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_OUTPUT, .ne = {N, ROWS}, .name = "y", .layer = -1}};
    return eng_store_create(r->device, t, 2, &r->store);
}

/* y = (2 x + 1)^2 - x, with what is in between kept; a chain that devices like to do in one go. */
static int build(rig *r)
{
    int status = eng_graph_create(r->context, 0, &r->graph);
    if (status < 0)
        return status;
    eng_graph *g = r->graph;
    r->x = eng_graph_tensor(g, 0, r->store, 0);
    r->doubled = eng_scale(g, r->x, 2, 1);
    eng_graph_name(g, r->doubled, "doubled");
    const eng_mark mark = eng_graph_mark(g);
    eng_graph_keep(g, r->doubled);
    eng_graph_undo(g, mark); /* and is kept nevertheless, by this: */
    eng_graph_keep(g, r->doubled);
    eng_graph_keep(g, r->doubled);
    r->part = eng_slice(g, r->doubled, 1, 2, 3);
    eng_graph_keep(g, r->part);
    r->summed = eng_mul(g, r->doubled, r->doubled);
    r->kept_later = eng_sub(g, r->summed, r->x);
    eng_store_value(g, eng_graph_tensor(g, 0, r->store, 1), r->kept_later);
    eng_graph_keep(g, r->x);
    return eng_graph_seal(g);
}

static int get(rig *r, eng_value value, float *to, uint64_t bytes)
{
    const eng_region all = eng_range(to, 0, bytes);
    eng_fence fence;
    int status = eng_instance_read(r->queue, NULL, 0, r->instance, value, &all, 1, &fence);
    return status < 0 ? status : eng_fence_wait(fence, UINT64_MAX);
}

static bool run_with(rig *r, float begin)
{
    float x[N * ROWS], doubled[N * ROWS], part[3 * N], back[N * ROWS];
    eng_fence fence;
    for (int i = 0; i < N * ROWS; i++)
        x[i] = begin + (float)i / 4;
    memset(doubled, 0xff, sizeof doubled);
    memset(part, 0xff, sizeof part);
    bool good = eng_store_write(r->store, 0, 0, sizeof x, x) >= 0 &&
                eng_queue_submit(r->queue, NULL, 0, r->instance, NULL, 0, &fence) >= 0 &&
                eng_fence_wait(fence, UINT64_MAX) >= 0 && get(r, r->doubled, doubled, sizeof doubled) >= 0 &&
                get(r, r->part, part, sizeof part) >= 0 && get(r, r->x, back, sizeof back) >= 0;
    for (int i = 0; good && i < N * ROWS; i++)
        good = doubled[i] == 2 * x[i] + 1 && back[i] == x[i];
    for (int i = 0; good && i < 3 * N; i++)
        good = part[i] == 2 * x[i + 2 * N] + 1;
    return good;
}

static void check_map(rig *r, const char *name)
{
    void *at = NULL;
    float doubled[N * ROWS];
    int status = eng_instance_map(r->instance, r->doubled, &at);
    if (status == ENG_ERR_UNSUPPORTED) {
        tap_check(strcmp(name, "cpu") != 0, "%s: not in the host's memory: %s", name, eng_last_error());
        return;
    }
    tap_check(status >= 0 && get(r, r->doubled, doubled, sizeof doubled) >= 0 &&
                  memcmp(at, doubled, sizeof doubled) == 0,
              "%s: the address of a kept value", name);
}

/* On a device that is open; rig_end whatever comes of it. */
static int rig_begin(rig *r)
{
    int status = declare(r);
    if (status >= 0)
        status = build(r);
    if (status >= 0)
        status = eng_plan_create(r->device, r->graph, &r->plan);
    if (status >= 0)
        status = eng_instance_create(r->plan, &r->store, 1, &r->instance);
    return status < 0 ? status : eng_queue_create(r->device, &r->queue);
}

static void rig_end(rig *r)
{
    eng_queue_destroy(r->queue);
    eng_instance_destroy(r->instance);
    eng_plan_release(r->plan);
    eng_graph_destroy(r->graph);
    eng_store_destroy(r->store);
    eng_device_close(r->device);
}

static void check_device(eng_context *c, const char *name)
{
    rig r = {.context = c};
    float one;
    int status = eng_device_open(c, name, &r.device);
    if (status < 0) {
        tap_check(true, "%s # SKIP %s", name, eng_last_error());
        return;
    }
    status = rig_begin(&r);
    if (tap_check(status >= 0, "%s: a graph that keeps values: %s", name, status < 0 ? eng_last_error() : "there")) {
        tap_check(run_with(&r, -3) && run_with(&r, 7), "%s: they are those of the last run", name);
        tap_check(eng_graph_find(r.graph, "doubled") == r.doubled && eng_graph_find(r.graph, "nobody") == ENG_NO_VALUE,
                  "%s: found by name", name);
        tap_check(get(&r, r.summed, &one, sizeof one) == ENG_ERR_NOTFOUND && strstr(eng_last_error(), "eng_graph_keep"),
                  "%s: %s", name, eng_last_error());
        tap_check(get(&r, 1000, &one, sizeof one) == ENG_ERR_NOTFOUND, "%s: %s", name, eng_last_error());
        tap_check(eng_graph_keep(r.graph, r.summed) == ENG_ERR_STATE, "%s: %s", name, eng_last_error());
        check_map(&r, name);
    }
    rig_end(&r);
}

/* A device that only measures has no memory whose address could be given. */
static void check_measuring(void)
{
    rig r = {0};
    void *at = &r;
    if (eng_context_create(NULL, &r.context) < 0 || eng_context_set_option(r.context, "null.accept", "measure") < 0)
        return;
    int status = eng_device_open(r.context, "null", &r.device);
    if (status >= 0)
        status = rig_begin(&r);
    tap_check(status >= 0 && eng_instance_map(r.instance, r.doubled, &at) == ENG_ERR_UNSUPPORTED && at == &r,
              "null that measures: no address: %s", eng_last_error());
    rig_end(&r);
    eng_context_destroy(r.context);
}

int main(void)
{
    eng_context *c = tap_begin();
    if (!c)
        return 1;
    check_device(c, "cpu");
    check_device(c, "cpu/2");
    check_device(c, "opencl:0");
    check_device(c, "cpu+opencl:0@3:1");
    check_device(c, "cpu/3@1:0:2");
    check_measuring();
    return tap_end(c);
}
