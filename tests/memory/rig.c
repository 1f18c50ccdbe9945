#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

static uint32_t state = 12345;

uint32_t rig_random(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static float number(void)
{
    return (float)(int32_t)(rig_random() & 0xffff) / 32768.0f - 1.0f;
}

int rig_run(eng_device *device, eng_graph *graph, eng_store *const *stores, uint32_t n_stores)
{
    eng_plan *plan = NULL;
    eng_instance *instance = NULL;
    eng_queue *queue = NULL;
    eng_fence fence;
    int status = eng_graph_seal(graph);
    if (status >= 0)
        status = eng_plan_create(device, graph, &plan);
    if (status >= 0)
        status = eng_instance_create(plan, stores, n_stores, &instance);
    if (status >= 0)
        status = eng_queue_create(device, &queue);
    if (status >= 0)
        status = eng_queue_submit(queue, NULL, 0, instance, NULL, 0, &fence);
    if (status >= 0)
        status = eng_fence_wait(fence, UINT64_MAX);
    eng_queue_destroy(queue);
    eng_instance_destroy(instance);
    eng_plan_release(plan);
    return status;
}

static eng_store_tensor io(const char *name, uint32_t type, uint32_t use, int64_t n0, int64_t n1)
{
    return (eng_store_tensor){.size = sizeof(eng_store_tensor), .type = type, .rank = 2, .use = use, .ne = {n0, n1},
                              .name = name, .layer = -1};
}

/* Of a type without an encoder: bytes that are finite scales wherever they stand. */
static bool random_bytes(matrix *out)
{
    for (uint64_t i = 0; out->data && i < out->bytes; i++)
        out->data[i] = (uint8_t)(rig_random() & 0x3f);
    return out->data != NULL;
}

bool rig_matrix(eng_context *context, uint32_t type, int64_t k, int64_t m, matrix *out)
{
    eng_device *cpu = NULL;
    eng_store *store = NULL;
    eng_graph *graph = NULL;
    const eng_store_tensor t[] = {io("x", ENG_TYPE_F32, ENG_USE_INPUT, k, m), io("y", type, ENG_USE_OUTPUT, k, m)};
    float *x = malloc((size_t)(k * m) * sizeof *x);
    *out = (matrix){.type = type, .k = k, .m = m, .bytes = eng_row_bytes(type, k) * (uint64_t)m};
    out->data = malloc(out->bytes);
    for (int64_t i = 0; x && i < k * m; i++)
        x[i] = number();
    int status = x && out->data ? eng_device_open(context, "cpu", &cpu) : ENG_ERR_NOMEM;
    if (status >= 0)
        status = eng_store_create(cpu, t, 2, &store);
    if (status >= 0)
        status = eng_graph_create(context, 0, &graph);
    if (status >= 0) {
        eng_store_value(graph, eng_graph_tensor(graph, 0, store, 1),
                        type == ENG_TYPE_F32 ? eng_graph_tensor(graph, 0, store, 0)
                                             : eng_quantize(graph, eng_graph_tensor(graph, 0, store, 0), type, 0));
        status = eng_store_write(store, 0, 0, (uint64_t)(k * m) * sizeof *x, x);
    }
    if (status >= 0)
        status = rig_run(cpu, graph, &store, 1);
    if (status >= 0)
        status = eng_store_read(store, 1, 0, out->bytes, out->data);
    else if (status == ENG_ERR_UNSUPPORTED && random_bytes(out))
        status = ENG_OK;
    if (status < 0)
        printf("# a matrix of type %u: %s\n", type, eng_last_error());
    eng_graph_destroy(graph);
    eng_store_destroy(store);
    eng_device_close(cpu);
    free(x);
    return status >= 0;
}

eng_store_tensor rig_declare(const matrix *w, const void *data, uint32_t layout)
{
    static const eng_reader readers[] = {{.op = ENG_OP_MUL_MAT, .precisions = 1u << ENG_PRECISION_EXACT},
                                         {.op = ENG_OP_GET_ROWS, .precisions = 1u << ENG_PRECISION_EXACT}};
    eng_store_tensor t = io("w", w->type, ENG_USE_WEIGHT, w->k, w->m);
    t.readers = readers;
    t.n_readers = 2;
    t.layout = layout;
    t.data = data;
    return t;
}

static void build(eng_graph *g, eng_store *small, eng_store *store)
{
    const eng_value w = eng_graph_tensor(g, 1, store, 0);
    eng_store_value(g, eng_graph_tensor(g, 0, small, 1), eng_mul_mat(g, w, eng_graph_tensor(g, 0, small, 0)));
    eng_store_value(g, eng_graph_tensor(g, 0, small, 3), eng_get_rows(g, w, eng_graph_tensor(g, 0, small, 2)));
}

int rig_use(eng_context *context, eng_device *device, eng_store *store, const matrix *w, float *results)
{
    const eng_store_tensor t[] = {io("x", ENG_TYPE_F32, ENG_USE_INPUT, w->k, RIG_COLUMNS),
                                  io("y", ENG_TYPE_F32, ENG_USE_OUTPUT, w->m, RIG_COLUMNS),
                                  io("ids", ENG_TYPE_I32, ENG_USE_INPUT, RIG_LOOKUPS, 1),
                                  io("rows", ENG_TYPE_F32, ENG_USE_OUTPUT, w->k, RIG_LOOKUPS)};
    eng_store *stores[] = {NULL, store};
    eng_graph *graph = NULL;
    int32_t ids[RIG_LOOKUPS];
    const uint64_t x_bytes = (uint64_t)w->k * RIG_COLUMNS * sizeof(float), y = (uint64_t)w->m * RIG_COLUMNS;
    float *x = malloc(x_bytes);
    for (int64_t i = 0; x && i < w->k * RIG_COLUMNS; i++)
        x[i] = (float)((i * 37 + 11) % 64) / 32.0f - 1.0f;
    for (int i = 0; i < RIG_LOOKUPS; i++)
        ids[i] = (int32_t)((i * w->m / RIG_LOOKUPS + i) % w->m);
    ids[RIG_LOOKUPS - 1] = (int32_t)w->m - 1;
    int status = x ? eng_store_create(device, t, 4, &stores[0]) : ENG_ERR_NOMEM;
    if (status >= 0)
        status = eng_graph_create(context, 0, &graph);
    if (status >= 0) {
        build(graph, stores[0], store);
        status = eng_store_write(stores[0], 0, 0, x_bytes, x);
    }
    if (status >= 0)
        status = eng_store_write(stores[0], 2, 0, sizeof ids, ids);
    if (status >= 0)
        status = rig_run(device, graph, stores, 2);
    if (status >= 0)
        status = eng_store_read(stores[0], 1, 0, y * sizeof(float), results);
    if (status >= 0)
        status = eng_store_read(stores[0], 3, 0, (uint64_t)w->k * RIG_LOOKUPS * sizeof(float), results + y);
    eng_graph_destroy(graph);
    eng_store_destroy(stores[0]);
    free(x);
    return status;
}
