/* A chain of blocks on a device: see subject.h. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "subject.h"

enum { INNER = 12 };

double subject_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void subject_sleep(int ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    while (nanosleep(&t, &t) != 0)
        continue;
}

bool subject_in_time(subject_attempt *attempt, const void *which, int first_limit_ms)
{
    for (int limit = first_limit_ms;; limit *= 8) {
        if (attempt(which, limit))
            return true;
        if (limit >= 2000)
            return false;
        printf("# with a limit of %d ms; another try with %d ms\n", limit, 8 * limit);
    }
}

bool subject_is_late(int limit_ms, double from)
{
    return subject_now() - from > 5 + 5e-3 * limit_ms;
}

/* -- the context --------------------------------------------------------------------- */

bool subject_begin(subject *s, const char *plugins)
{
    static char folder[4096];
    const char *build = getenv("top_builddir");
    eng_context_params params = {.size = sizeof params, .plugin_path = folder};

    *s = (subject){.n_blocks = 3};
    if (!build) {
        printf("Bail out! run me through make check: top_builddir is not set\n");
        exit(1);
    }
    snprintf(folder, sizeof folder, "%s/tests/meta/fault/.libs", build);
    setenv("ENGINE_PLUGINS", plugins, 1);
    return eng_context_create(&params, &s->context) == ENG_OK;
}

bool subject_option(subject *s, const char *name, const char *value)
{
    return eng_context_set_option(s->context, name, value) == ENG_OK;
}

bool subject_number(subject *s, const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    return subject_option(s, name, text);
}

bool subject_end(subject *s)
{
    return !s->context || eng_context_destroy(s->context) == ENG_OK;
}

/* -- the chain ------------------------------------------------------------------------ */

static int make_store(subject *s)
{
    eng_factor ffn = {.axis = eng_context_axis(s->context, "ffn"), .extent = INNER};
    eng_segment segment = {.n_factors = 1, .factors = &ffn};
    eng_dim up[] = {{0}, {.n_segments = 1, .segments = &segment}};
    eng_dim down[] = {{.n_segments = 1, .segments = &segment}, {0}};
    eng_store_tensor t[] = {
        {.size = sizeof *t, .type = ENG_TYPE_F32, .rank = 1, .use = ENG_USE_INPUT, .ne = {SUBJECT_WIDTH}, .name = "x",
         .layer = -1},
        {.size = sizeof *t, .type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_WEIGHT, .ne = {SUBJECT_WIDTH, INNER},
         .name = "up", .dims = up, .layer = -1},
        {.size = sizeof *t, .type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_WEIGHT, .ne = {INNER, SUBJECT_WIDTH},
         .name = "down", .dims = down, .layer = -1},
        {.size = sizeof *t, .type = ENG_TYPE_F32, .rank = 1, .use = ENG_USE_OUTPUT, .ne = {SUBJECT_WIDTH}, .name = "out",
         .device = s->out_device, .layer = -1},
    };
    float data[SUBJECT_WIDTH * INNER];
    int status = eng_store_create(s->device, t, SUBJECT_TENSORS, &s->store);
    for (uint32_t i = SUBJECT_X; i < SUBJECT_OUT && status == ENG_OK; i++) {
        for (int k = 0; k < SUBJECT_WIDTH * INNER; k++)
            data[k] = (float)((k * 37 + (int)i * 11) % 101) / 101 - 0.5f;
        status = eng_store_write(s->store, i, 0, eng_store_bytes(s->store, i), data);
    }
    return status;
}

static int make_graph(subject *s)
{
    eng_value v[SUBJECT_TENSORS];
    int status = eng_graph_create(s->context, 0, &s->graph);
    if (status != ENG_OK)
        return status;
    for (uint32_t i = 0; i < SUBJECT_TENSORS; i++)
        v[i] = eng_graph_tensor(s->graph, 0, s->store, i);
    eng_value x = v[SUBJECT_X];
    for (int i = 0; i < s->n_blocks; i++) {
        eng_value y = eng_unary(s->graph, eng_mul_mat(s->graph, v[SUBJECT_UP], x), ENG_UNARY_SILU);
        x = eng_add(s->graph, x, eng_mul_mat(s->graph, v[SUBJECT_DOWN], y));
    }
    eng_store_value(s->graph, v[SUBJECT_OUT], x);
    return eng_graph_seal(s->graph);
}

static int make_instance(subject *s)
{
    int status = make_graph(s);
    if (status == ENG_OK)
        status = eng_plan_create(s->device, s->graph, &s->plan);
    if (status == ENG_OK)
        status = eng_instance_create(s->plan, &s->store, 1, &s->instance);
    if (status == ENG_OK)
        status = eng_queue_create(s->device, &s->queue);
    return status;
}

int subject_open(subject *s, const char *device)
{
    int status = eng_device_open(s->context, device, &s->device);
    if (status == ENG_OK)
        status = make_store(s);
    return status == ENG_OK ? make_instance(s) : status;
}

int subject_join(subject *s, const subject *other)
{
    s->context = other->context;
    s->device = other->device;
    s->store = other->store;
    return make_instance(s);
}

void subject_close(subject *s, bool device_first)
{
    eng_queue_destroy(s->queue);
    if (device_first) {
        eng_device_close(s->device);
        eng_store_destroy(s->store);
        eng_graph_destroy(s->graph);
        eng_plan_release(s->plan);
        eng_instance_destroy(s->instance);
    } else {
        eng_instance_destroy(s->instance);
        eng_plan_release(s->plan);
        eng_graph_destroy(s->graph);
        eng_store_destroy(s->store);
        eng_device_close(s->device);
    }
    *s = (subject){.context = s->context, .n_blocks = s->n_blocks, .out_device = s->out_device};
}

int subject_run(subject *s, const float *want, bool *right)
{
    float out[SUBJECT_WIDTH];
    eng_fence fence;
    int status = eng_queue_submit(s->queue, NULL, 0, s->instance, NULL, 0, &fence);
    if (status == ENG_OK)
        status = eng_fence_wait(fence, UINT64_MAX);
    if (status != ENG_OK)
        return status;
    memset(out, 0xff, sizeof out);
    status = eng_store_read(s->store, SUBJECT_OUT, 0, sizeof out, out);
    for (int i = 0; i < SUBJECT_WIDTH && status == ENG_OK; i++)
        *right = *right && fabsf(out[i] - want[i]) <= 1e-5f * (float)s->n_blocks * (1 + fabsf(want[i]));
    return status;
}

bool subject_want(int n_blocks, float *want)
{
    subject s;
    eng_fence fence;
    bool good = subject_begin(&s, "cpu");
    s.n_blocks = n_blocks;
    good = good && subject_open(&s, "cpu") == ENG_OK &&
           eng_queue_submit(s.queue, NULL, 0, s.instance, NULL, 0, &fence) == ENG_OK &&
           eng_fence_wait(fence, UINT64_MAX) == ENG_OK &&
           eng_store_read(s.store, SUBJECT_OUT, 0, SUBJECT_WIDTH * sizeof *want, want) == ENG_OK;
    if (!good)
        printf("# no result to compare with: %s\n", eng_last_error());
    subject_close(&s, false);
    return subject_end(&s) && good;
}

void subject_rank_name(const char *device, const char *rank, char *name, size_t size)
{
    const char *at = strstr(device, rank), *parts = strchr(device, '/');
    int place = 0;
    for (const char *p = device; at && p < at; p++)
        place += *p == '+';
    if (!at) /* the guest of a device of equal parts: it comes after them */
        place = parts ? atoi(parts + 1) : 0;
    snprintf(name, size, "%s, rank %d of %s", rank, place, device);
}
