/*
 * A write in place that one rank's device refuses: rows encoded as q4_K, which the
 * opencl plugin cannot do and the cpu plugin can.  Wherever the cache lives, it must
 * hold afterwards what one cpu would have written.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

enum { ROW = 256, CELLS = 4, HEADS = 2, BYTES = ROW / 256 * 144 * CELLS * HEADS };
enum { REPLICATED, SPLIT, ON_OPENCL, PLACES };

static const char *const place_names[] = {"replicated", "split along its heads", "on opencl:0"};
static eng_context *context;

static eng_store *make_store(eng_device *device, int place)
{
    eng_factor heads = {.axis = eng_context_axis(context, "kv_head"), .extent = HEADS};
    eng_segment segs[] = {{.n_factors = 1, .factors = &heads}};
    eng_dim dims[] = {{0}, {0}, {.n_segments = 1, .segments = segs}};
    eng_store_tensor t[] = {
        {.size = sizeof *t, .type = ENG_TYPE_Q4_K, .rank = 3, .use = ENG_USE_CACHE, .ne = {ROW, CELLS, HEADS},
         .name = "cache", .layer = -1},
        {.size = sizeof *t, .type = ENG_TYPE_F32, .rank = 3, .use = ENG_USE_INPUT, .ne = {ROW, CELLS, HEADS},
         .name = "rows", .layer = -1},
        {.size = sizeof *t, .type = ENG_TYPE_I32, .rank = 1, .use = ENG_USE_INPUT, .ne = {CELLS}, .name = "ids",
         .layer = -1},
    };
    static float rows[ROW * CELLS * HEADS];
    static const int32_t ids[CELLS] = {2, -1, 0, 3};
    eng_store *store = NULL;

    if (place == REPLICATED)
        t[0].axis = ENG_AXIS_WHOLE;
    else if (place == SPLIT)
        t[0].dims = dims;
    else
        t[0].device = "opencl:0";
    for (int i = 0; i < ROW * CELLS * HEADS; i++)
        rows[i] = (float)(i * 37 % 101) / 50 - 1;
    if (eng_store_create(device, t, 3, &store) != ENG_OK)
        return NULL;
    if (eng_store_write(store, 1, 0, sizeof rows, rows) != ENG_OK ||
        eng_store_write(store, 2, 0, sizeof ids, ids) != ENG_OK) {
        eng_store_destroy(store);
        return NULL;
    }
    return store;
}

static bool build(eng_graph *graph, eng_store *store)
{
    eng_value in[3];

    for (uint32_t i = 0; i < 3; i++)
        in[i] = eng_graph_tensor(graph, 0, store, i);
    eng_graph_op(graph, ENG_OP_SET_ROWS, in, 3, NULL, 0, NULL, 0, NULL);
    return eng_graph_seal(graph) == ENG_OK;
}

/* The cache's bytes after the run. */
static bool run(const char *name, int place, unsigned char *cache)
{
    eng_device *device = NULL;
    eng_store *store = NULL;
    eng_graph *graph = NULL;
    eng_plan *plan = NULL;
    eng_instance *instance = NULL;
    eng_queue *queue = NULL;
    eng_fence fence;
    bool good = eng_device_open(context, name, &device) == ENG_OK && (store = make_store(device, place)) != NULL;

    good = good && eng_graph_create(context, 0, &graph) == ENG_OK && build(graph, store);
    good = good && eng_plan_create(device, graph, &plan) == ENG_OK &&
           eng_instance_create(plan, &store, 1, &instance) == ENG_OK &&
           eng_queue_create(device, &queue) == ENG_OK &&
           eng_queue_submit(queue, instance, NULL, 0, &fence) == ENG_OK &&
           eng_fence_wait(fence, UINT64_MAX) == ENG_OK && eng_store_read(store, 0, 0, BYTES, cache) == ENG_OK;
    if (!good)
        printf("# %s: %s\n", name, eng_last_error());
    eng_queue_destroy(queue);
    eng_instance_destroy(instance);
    eng_plan_release(plan);
    eng_graph_destroy(graph);
    eng_store_destroy(store);
    eng_device_close(device);
    return good;
}

int main(void)
{
    static const char *const devices[] = {"cpu+opencl:0", "opencl:0+cpu", "cpu+opencl:0+cpu", "cpu/2"};
    static unsigned char want[BYTES], got[BYTES];
    eng_device *opencl = NULL;
    int n = 0, failed = 0;

    if (eng_context_create(NULL, &context) != ENG_OK) {
        printf("Bail out! %s\n", eng_last_error());
        return 1;
    }
    if (eng_device_open(context, "opencl:0", &opencl) != ENG_OK) {
        printf("1..0 # SKIP %s\n", eng_last_error());
        eng_context_destroy(context);
        return 0;
    }
    eng_device_close(opencl);
    bool known = run("cpu", REPLICATED, want);
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
        for (int place = 0; place < PLACES; place++) {
            memset(got, 0xff, sizeof got);
            bool good = known && run(devices[d], place, got) && memcmp(want, got, sizeof got) == 0;
            failed += !good;
            printf("%sok %d - q4_K rows into a cache %s, %s\n", good ? "" : "not ", ++n, place_names[place],
                   devices[d]);
        }
    }
    printf("1..%d\n", n);
    eng_context_destroy(context);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
