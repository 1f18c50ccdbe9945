/*
 * Blocks of random bytes give the values, bit by bit, that another maker's decoder gives (tests/data/decoded.txt): with
 * the oracle, with each variant of the cpu plugin, with OpenCL.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../reference/ref.h"
#include "../tap.h"
#include "blocks.h"

enum { MOST = PEERS_BLOCKS * 256 };

static uint8_t blocks[PEERS_BLOCKS * 128];
static float values[MOST];

/* The hash that the file has for a type; 0: none. */
static uint64_t wanted(const char *type)
{
    char path[1024], name[32];
    uint64_t hash, found = 0;
    const char *top = getenv("top_srcdir");
    snprintf(path, sizeof path, "%s/tests/data/decoded.txt", top ? top : ".");
    FILE *f = fopen(path, "r");
    while (f && fscanf(f, "%31s %" SCNx64, name, &hash) == 2)
        if (!strcmp(name, type))
            found = hash;
    if (f)
        fclose(f);
    return found;
}

/* What the device makes of the blocks. */
static int decode(eng_context *context, eng_device *device, uint32_t type, int64_t elements)
{
    const eng_store_tensor t[] = {
        {.size = sizeof *t, .type = type, .rank = 1, .use = ENG_USE_INPUT, .ne = {elements}, .name = "x", .layer = -1},
        {.size = sizeof *t, .type = ENG_TYPE_F32, .rank = 1, .use = ENG_USE_OUTPUT, .ne = {elements}, .name = "y",
         .layer = -1}};
    eng_store *store = NULL;
    eng_graph *graph = NULL;
    eng_plan *plan = NULL;
    eng_instance *instance = NULL;
    eng_queue *queue = NULL;
    eng_fence fence;
    int status = eng_store_create(device, t, 2, &store);
    if (status >= 0)
        status = eng_store_write(store, 0, 0, eng_store_bytes(store, 0), blocks);
    if (status >= 0)
        status = eng_graph_create(context, 0, &graph);
    if (status >= 0) {
        eng_value y = eng_dequantize(graph, eng_graph_tensor(graph, 0, store, 0), ENG_TYPE_F32);
        eng_store_value(graph, eng_graph_tensor(graph, 0, store, 1), y);
        status = eng_graph_seal(graph);
    }
    if (status >= 0)
        status = eng_plan_create(device, graph, &plan);
    if (status >= 0)
        status = eng_instance_create(plan, &store, 1, &instance);
    if (status >= 0)
        status = eng_queue_create(device, &queue);
    if (status >= 0)
        status = eng_queue_submit(queue, NULL, 0, instance, NULL, 0, &fence);
    if (status >= 0)
        status = eng_fence_wait(fence, UINT64_MAX);
    if (status >= 0)
        status = eng_store_read(store, 1, 0, eng_store_bytes(store, 1), values);
    eng_queue_destroy(queue);
    eng_instance_destroy(instance);
    eng_plan_release(plan);
    eng_graph_destroy(graph);
    eng_store_destroy(store);
    return status;
}

static void check(eng_context *context, eng_device *device, const char *where, const char *name, uint32_t type,
                  int64_t elements)
{
    static double exact[MOST];
    int status = ENG_OK;
    if (device) {
        status = decode(context, device, type, elements);
    } else {
        ref_decode(type, blocks, exact, elements);
        for (int64_t i = 0; i < elements; i++)
            values[i] = (float)exact[i];
    }
    const uint64_t hash = status >= 0 ? peers_hash(values, elements) : 0;
    if (!tap_check(status >= 0 && hash == wanted(name), "%s decodes %s to the very bits", where, name))
        printf("# %016" PRIx64 " instead of %016" PRIx64 ": %s\n", hash, wanted(name),
               status < 0 ? eng_last_error() : "other values");
}

static void check_all(eng_context *context, eng_device *device, const char *where)
{
#define CHECK(name, number, elements, bytes, scale)                                                                    \
    peers_fill(blocks, number, bytes, scale);                                                                          \
    check(context, device, where, #name, number, (int64_t)PEERS_BLOCKS * elements);
    PEERS_TYPES(CHECK)
}

/* A device of its own context, for an option takes effect when it is opened; one that there is not is skipped. */
static void check_device(const char *device_name, const char *option, const char *value)
{
    eng_context *context = NULL;
    eng_device *device = NULL;
    char where[64];
    snprintf(where, sizeof where, "%s%s%s", device_name, value ? " " : "", value ? value : "");
    if (eng_context_create(NULL, &context) < 0) {
        tap_check(false, "a context: %s", eng_last_error());
        return;
    }
    if ((!option || eng_context_set_option(context, option, value) >= 0) &&
        eng_device_open(context, device_name, &device) >= 0)
        check_all(context, device, where);
    else
        tap_check(true, "%s # SKIP %s", where, eng_last_error());
    eng_device_close(device);
    eng_context_destroy(context);
}

int main(void)
{
    eng_context *context = tap_begin();
    if (!context)
        return EXIT_FAILURE;
    check_all(context, NULL, "the oracle");
    check_device("cpu", "cpu.simd", "scalar");
    check_device("cpu", "cpu.simd", "avx2");
    check_device("cpu", "cpu.simd", "avx512");
    check_device("cpu", "cpu.simd", "neon");
    check_device("opencl:0", NULL, NULL);
    return tap_end(context);
}
