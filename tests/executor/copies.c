/* A long graph on a real device: see copies.h. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "copies.h"

double copies_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

float copies_value(int number, int64_t i)
{
    return (float)((i * 31 + number * 17) % 1009) - 504.0f;
}

/* On devices that compute, negations: an even number of them. */
static void make_graph(copies *c, eng_context *context, int nodes)
{
    eng_device_info info = {.size = sizeof info};
    ck_assert_int_eq(eng_device_get_info(c->device, &info), ENG_OK);
    ck_assert_int_eq(eng_graph_create(context, 0, &c->graph), ENG_OK);
    eng_value v = eng_graph_tensor(c->graph, 0, c->store, COPIES_X);
    for (int i = 0; i < nodes / 2 * 2; i++)
        v = info.kind == ENG_DEVICE_NULL ? eng_cpy(c->graph, v, ENG_TYPE_F32) : eng_scale(c->graph, v, -1, 0);
    eng_store_value(c->graph, eng_graph_tensor(c->graph, 0, c->store, COPIES_Y), v);
    ck_assert_msg(eng_graph_seal(c->graph) == ENG_OK, "%s", eng_last_error());
}

bool copies_open(copies *c, eng_context *context, eng_device *device, const char *name, int64_t width, int nodes)
{
    eng_store_tensor t[COPIES_TENSORS] = {
        {.size = sizeof *t, .type = ENG_TYPE_F32, .rank = 1, .use = ENG_USE_INPUT, .ne = {width}, .name = "x", .layer = -1},
        {.size = sizeof *t, .type = ENG_TYPE_F32, .rank = 1, .use = ENG_USE_OUTPUT, .ne = {width}, .name = "y", .layer = -1},
    };
    *c = (copies){.name = name, .device = device, .width = width};
    if (!device && eng_device_open(context, name, &c->device) != ENG_OK)
        return false;
    c->x = malloc((size_t)width * sizeof *c->x);
    c->y = malloc((size_t)width * sizeof *c->y);
    ck_assert(c->x && c->y);
    ck_assert_msg(eng_store_create(c->device, t, COPIES_TENSORS, &c->store) == ENG_OK, "%s", eng_last_error());
    make_graph(c, context, nodes);
    ck_assert_msg(eng_plan_create(c->device, c->graph, &c->plan) == ENG_OK, "%s", eng_last_error());
    ck_assert_int_eq(eng_instance_create(c->plan, &c->store, 1, &c->instance), ENG_OK);
    ck_assert_int_eq(eng_queue_create(c->device, &c->queue), ENG_OK);
    return true;
}

void copies_close(copies *c, bool device_too)
{
    eng_queue_destroy(c->queue);
    eng_instance_destroy(c->instance);
    eng_plan_release(c->plan);
    eng_graph_destroy(c->graph);
    eng_store_destroy(c->store);
    if (device_too)
        eng_device_close(c->device);
    free(c->x);
    free(c->y);
}

void copies_give(copies *c, int number)
{
    for (int64_t i = 0; i < c->width; i++)
        c->x[i] = copies_value(number, i);
    const eng_region all = eng_range(c->x, 0, (uint64_t)c->width * sizeof *c->x);
    ck_assert_int_eq(eng_queue_write(c->queue, NULL, 0, c->store, COPIES_X, &all, 1, NULL), ENG_OK);
}

eng_fence copies_submit(copies *c, const eng_fence *waits, uint32_t n)
{
    eng_fence fence = {0};
    ck_assert_msg(eng_queue_submit(c->queue, waits, n, c->instance, NULL, 0, &fence) == ENG_OK, "%s", eng_last_error());
    return fence;
}

bool copies_right(copies *c, int number)
{
    const eng_region all = eng_range(c->y, 0, (uint64_t)c->width * sizeof *c->y);
    eng_fence fence;
    memset(c->y, 0xff, (size_t)all.bytes);
    ck_assert_int_eq(eng_queue_read(c->queue, NULL, 0, c->store, COPIES_Y, &all, 1, &fence), ENG_OK);
    ck_assert_msg(eng_fence_wait(fence, UINT64_MAX) == ENG_OK, "%s: %s", c->name, eng_last_error());
    for (int64_t i = 0; i < c->width; i++)
        if (c->y[i] != copies_value(number, i))
            return false;
    return true;
}
