/*
 * A tensor is converted slab by slab, a slab being a number of rows that keeps all
 * threads busy and memory small.  The last slab runs whole too; what its missing
 * rows give is not read.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "convert.h"
#include "libengine/util/util.h"

#define SLAB_ELEMENTS (INT64_C(1) << 19)
#define N_SLABS 16 /* kept: models have few shapes */

/* A plan and its memory for one pair of types and one shape. */
typedef struct slab {
    uint32_t from, to;
    int64_t columns, rows;
    eng_store *store; /* tensor 0 the input, 1 the output */
    eng_graph *graph;
    eng_plan *plan;
    eng_instance *instance;
    uint64_t used; /* when, for replacing the oldest */
} slab;

struct converter {
    eng_context *context;
    eng_device *device;
    eng_queue *queue;
    int (*stopped)(void); /* may be NULL */
    slab slabs[N_SLABS];
    uint64_t clock;
};

static void slab_free(slab *s)
{
    eng_instance_destroy(s->instance);
    eng_plan_release(s->plan);
    eng_graph_destroy(s->graph);
    eng_store_destroy(s->store);
    memset(s, 0, sizeof *s);
}

int converter_create(eng_context *context, const char *device, int (*stopped)(void), converter **result)
{
    converter *c = calloc(1, sizeof *c);

    if (!c)
        return eng_fail_code(EU_NO_MEMORY("a conversion"));
    c->context = context;
    c->stopped = stopped;
    int status = eng_device_open(context, device, &c->device);
    if (!status)
        status = eng_queue_create(c->device, &c->queue);
    if (status) {
        converter_destroy(c);
        return status;
    }
    *result = c;
    return ENG_OK;
}

void converter_destroy(converter *c)
{
    if (!c)
        return;
    if (c->queue)
        eng_queue_cancel(c->queue); /* after a failure it may have work with the slabs' memory */
    eng_queue_destroy(c->queue);
    for (uint32_t i = 0; i < N_SLABS; i++)
        slab_free(&c->slabs[i]);
    eng_device_close(c->device);
    free(c);
}

static int is_float(uint32_t type)
{
    return type == ENG_TYPE_F32 || type == ENG_TYPE_F16 || type == ENG_TYPE_BF16;
}

static int slab_declare(converter *c, slab *s)
{
    eng_store_tensor tensors[2];

    memset(tensors, 0, sizeof tensors);
    for (uint32_t i = 0; i < 2; i++) {
        tensors[i].size = sizeof tensors[i];
        tensors[i].type = i == 0 ? s->from : s->to;
        tensors[i].rank = 2;
        tensors[i].use = i == 0 ? ENG_USE_INPUT : ENG_USE_OUTPUT;
        tensors[i].ne[0] = s->columns;
        tensors[i].ne[1] = s->rows;
        tensors[i].name = i == 0 ? "source" : "target";
        tensors[i].layer = -1;
    }
    return eng_store_create(c->device, tensors, 2, &s->store);
}

static int slab_plan(converter *c, slab *s)
{
    int status = eng_graph_create(c->context, 0, &s->graph);

    if (status)
        return status;
    eng_value x = eng_graph_tensor(s->graph, 0, s->store, 0), y = eng_graph_tensor(s->graph, 0, s->store, 1);
    if (!is_float(s->from))
        x = eng_dequantize(s->graph, x, ENG_TYPE_F32);
    if (!is_float(s->to))
        x = eng_quantize(s->graph, x, s->to, 1);
    eng_store_value(s->graph, y, x);
    status = eng_graph_seal(s->graph);
    if (!status)
        status = eng_plan_create(c->device, s->graph, &s->plan);
    if (!status)
        status = eng_instance_create(s->plan, &s->store, 1, &s->instance);
    return status;
}

static int find_slab(converter *c, uint32_t from, uint32_t to, int64_t columns, int64_t rows, slab **found)
{
    slab *oldest = &c->slabs[0];
    int64_t most = columns < SLAB_ELEMENTS ? SLAB_ELEMENTS / columns : 1;

    rows = rows < most ? rows : most;

    for (uint32_t i = 0; i < N_SLABS; i++) {
        slab *s = &c->slabs[i];
        if (s->instance && s->from == from && s->to == to && s->columns == columns && s->rows == rows) {
            s->used = ++c->clock;
            *found = s;
            return ENG_OK;
        }
        if (s->used < oldest->used)
            oldest = s;
    }
    slab_free(oldest);
    oldest->from = from;
    oldest->to = to;
    oldest->columns = columns;
    oldest->rows = rows;
    int status = slab_declare(c, oldest);
    if (!status)
        status = slab_plan(c, oldest);
    if (status) {
        slab_free(oldest);
        return status;
    }
    oldest->used = ++c->clock;
    *found = oldest;
    return ENG_OK;
}

int converter_run(converter *c, uint32_t from, const void *source, uint32_t to, void *target, int64_t columns,
                  int64_t rows)
{
    uint64_t from_row = eng_row_bytes(from, columns), to_row = eng_row_bytes(to, columns);
    slab *s;

    if (columns <= 0 || rows <= 0)
        return ENG_OK;
    if (from == to) {
        memcpy(target, source, from_row * (uint64_t)rows);
        return ENG_OK;
    }
    int status = find_slab(c, from, to, columns, rows, &s);
    for (int64_t at = 0, n; at < rows && !status; at += n) {
        eng_fence fence;
        if (c->stopped && c->stopped())
            return eng_fail(ENG_ERR_STATE, "interrupted");
        n = s->rows < rows - at ? s->rows : rows - at;
        const eng_region in = eng_range((const char *)source + from_row * (uint64_t)at, 0, from_row * (uint64_t)n);
        const eng_region out = eng_range((char *)target + to_row * (uint64_t)at, 0, to_row * (uint64_t)n);
        status = eng_queue_write(c->queue, NULL, 0, s->store, 0, &in, 1, NULL);
        if (!status)
            status = eng_queue_submit(c->queue, NULL, 0, s->instance, NULL, 0, NULL);
        if (!status)
            status = eng_queue_read(c->queue, NULL, 0, s->store, 1, &out, 1, &fence);
        if (!status)
            status = eng_fence_wait(fence, UINT64_MAX);
    }
    return status;
}
