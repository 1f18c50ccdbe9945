/* Layouts: whatever a device makes of a tensor, the host sees the file's bytes, ops read the same numbers, and nobody
 * reads what its layout is not for. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "rig.h"

static eng_store *store_of(eng_device *device, const matrix *w, uint32_t layout)
{
    const eng_store_tensor t = rig_declare(w, NULL, layout);
    eng_store *store = NULL;
    if (eng_store_create(device, &t, 1, &store) < 0)
        printf("# %s\n", eng_last_error());
    return store;
}

static eng_layout_info layout_of(const eng_store *store)
{
    eng_layout_info info = {.size = sizeof info};
    if (!store || eng_store_layout(store, 0, &info) < 0)
        snprintf(info.name, sizeof info.name, "none");
    return info;
}

/* -- the host's view ---------------------------------------------------------------------------------------- */

/* A region of the tensor: anything from a byte to all of it, dense or with gaps. */
static eng_region any_region(uint64_t bytes, uint8_t *data)
{
    eng_region r = {.data = data, .bytes = 1 + rig_random() % (bytes > 300 ? 300 : bytes), .count = 1};
    if (rig_random() % 4 == 0)
        r.bytes = 1 + rig_random() % bytes;
    r.tensor_offset = rig_random() % (bytes - r.bytes + 1);
    r.tensor_stride = r.bytes + rig_random() % 700;
    r.data_stride = r.bytes + rig_random() % 9;
    const uint64_t room = (bytes - r.tensor_offset - r.bytes) / r.tensor_stride;
    r.count += rig_random() % (room < 40 ? room + 1 : 40);
    return r;
}

static void apply(const eng_region *r, uint8_t *shadow)
{
    for (uint64_t i = 0; i < r->count; i++)
        memcpy(shadow + r->tensor_offset + i * r->tensor_stride, (uint8_t *)r->data + i * r->data_stride, r->bytes);
}

static bool matches(const eng_region *r, const uint8_t *shadow)
{
    for (uint64_t i = 0; i < r->count; i++)
        if (memcmp(shadow + r->tensor_offset + i * r->tensor_stride, (uint8_t *)r->data + i * r->data_stride,
                   r->bytes) != 0)
            return false;
    return true;
}

/* Random writes and reads, by the store and by a queue, beside a plain array. */
static bool like_an_array(eng_device *device, eng_store *store, uint64_t bytes, int rounds)
{
    uint8_t *shadow = calloc(1, bytes), *data = malloc(bytes * 12 + 4096);
    eng_queue *queue = NULL;
    eng_fence fence;
    bool good = shadow && data && eng_queue_create(device, &queue) >= 0;
    for (int i = 0; good && i < rounds; i++) {
        eng_region r = any_region(bytes, data);
        const bool up = rig_random() % 2;
        for (uint64_t k = 0; k < r.data_stride * r.count; k++)
            data[k] = (uint8_t)rig_random();
        good = (up ? eng_queue_write : eng_queue_read)(queue, NULL, 0, store, 0, &r, 1, &fence) >= 0 &&
               eng_fence_wait(fence, UINT64_MAX) >= 0;
        if (up)
            apply(&r, shadow);
        else
            good = good && matches(&r, shadow);
    }
    good = good && eng_store_read(store, 0, 0, bytes, data) >= 0 && memcmp(data, shadow, bytes) == 0;
    eng_queue_destroy(queue);
    free(shadow);
    free(data);
    return good;
}

/* -- results -------------------------------------------------------------------------------------------------- */

static float *results_of(eng_context *c, eng_device *device, const matrix *w, uint32_t layout)
{
    float *r = malloc((size_t)(w->m * RIG_COLUMNS + w->k * RIG_LOOKUPS) * sizeof *r);
    eng_store *store = store_of(device, w, layout);
    if (!store || eng_store_write(store, 0, 0, w->bytes, w->data) < 0 || !r || rig_use(c, device, store, w, r) < 0) {
        printf("# %s\n", eng_last_error());
        free(r);
        r = NULL;
    }
    eng_store_destroy(store);
    return r;
}

/* Lookups as they are; products, too, unless the rows lie side by side, whose sums are formed in another order. */
static bool same_results(const matrix *w, const float *packed, const float *file, bool side_by_side)
{
    const int64_t products = w->m * RIG_COLUMNS, all = products + w->k * RIG_LOOKUPS;
    if (!packed || !file)
        return false;
    for (int64_t i = 0; side_by_side && i < products; i++)
        if (!(fabsf(packed[i] - file[i]) < 1e-4f + 5e-7f * fabsf(file[i]))) /* patterns of iq3 make sums of thousands */
            return false;
    const int64_t first = side_by_side ? products : 0;
    return memcmp(packed + first, file + first, (size_t)(all - first) * sizeof *packed) == 0;
}

static void check_type(eng_context *c, eng_device *device, const char *name, uint32_t type)
{
    const char *what = eng_type_get(type)->name;
    matrix w;
    const bool blocks = eng_type_get(type)->block > 1;
    if (!tap_check(rig_matrix(c, type, 512, blocks ? 40 : 64, &w), "%s, %s: a matrix", name, what))
        return;
    eng_store *store = store_of(device, &w, ENG_LAYOUT_PACKED);
    const eng_layout_info info = layout_of(store);
    const bool side_by_side = strcmp(info.name, blocks ? "lanes8" : "rows32") == 0;
    tap_check((side_by_side || strcmp(info.name, blocks ? "rows4" : "file") == 0) &&
                  (info.layout != 0) == (blocks || side_by_side) && info.in_place == 0,
              "%s, %s: kept as %s", name, what, info.name);
    tap_check(store && like_an_array(device, store, w.bytes, 200), "%s, %s: reads and writes like an array of bytes",
              name, what);
    eng_store_destroy(store);
    float *packed = results_of(c, device, &w, ENG_LAYOUT_PACKED), *file = results_of(c, device, &w, ENG_LAYOUT_FILE);
    tap_check(same_results(&w, packed, file, side_by_side), "%s, %s: the same products and rows", name, what);
    free(packed);
    free(file);
    free(w.data);
}

/* -- who may read ------------------------------------------------------------------------------------------------ */

/* The graph is refused, with these words. */
static void refused(eng_context *c, eng_store *store, const char *name, const char *words,
                    void (*build)(eng_graph *g, eng_value w))
{
    eng_graph *g = NULL;
    bool good = eng_graph_create(c, 0, &g) >= 0;
    if (good)
        build(g, eng_graph_tensor(g, 0, store, 0));
    good = good && eng_graph_seal(g) == ENG_ERR_INVALID && strstr(eng_last_error(), words);
    tap_check(good, "%s: %s", name, eng_last_error());
    eng_graph_destroy(g);
}

static void decoded(eng_graph *g, eng_value w)
{
    eng_dequantize(g, w, ENG_TYPE_F32);
}

static void viewed(eng_graph *g, eng_value w)
{
    eng_slice(g, w, 1, 0, 4);
}

static void second_operand(eng_graph *g, eng_value w)
{
    eng_mul_mat(g, eng_dequantize(g, w, ENG_TYPE_F32), w);
}

static void fast(eng_graph *g, eng_value w)
{
    eng_graph_precision(g, ENG_PRECISION_FAST);
    eng_mul_mat(g, w, w);
}

static void check_readers(eng_context *c, eng_device *device, const char *name)
{
    matrix w = {.type = ENG_TYPE_Q8_0, .k = 64, .m = 8};
    eng_store *store = store_of(device, &w, ENG_LAYOUT_AUTO), *other = NULL;
    refused(c, store, name, "readers", decoded);
    refused(c, store, name, "readers", viewed);
    refused(c, store, name, "readers", second_operand);
    refused(c, store, name, "readers", fast);
    eng_store_destroy(store);

    eng_store_tensor t = rig_declare(&w, NULL, ENG_LAYOUT_PACKED);
    t.n_readers = 0;
    tap_check(eng_store_create(device, &t, 1, &other) == ENG_ERR_INVALID && strstr(eng_last_error(), "list the ops"),
              "%s: %s", name, eng_last_error());
    eng_reader r = {.op = ENG_OP_MUL_MAT, .operand = 99, .precisions = 1};
    t.readers = &r;
    t.n_readers = 1;
    tap_check(eng_store_create(device, &t, 1, &other) == ENG_ERR_INVALID, "%s: %s", name, eng_last_error());
    r = (eng_reader){.op = ENG_OP_MUL_MAT, .precisions = 0};
    tap_check(eng_store_create(device, &t, 1, &other) == ENG_ERR_INVALID, "%s: %s", name, eng_last_error());
    r = (eng_reader){.op = ENG_OP_LIMIT, .precisions = 1};
    tap_check(eng_store_create(device, &t, 1, &other) == ENG_ERR_INVALID, "%s: %s", name, eng_last_error());
    t.layout = 3;
    tap_check(eng_store_create(device, &t, 1, &other) == ENG_ERR_INVALID, "%s: %s", name, eng_last_error());
}

/* -- one plan, two stores ------------------------------------------------------------------------------------------ */

static eng_plan *plan_of(eng_context *c, eng_device *device, eng_store *weights, eng_store *input)
{
    eng_graph *g = NULL;
    eng_plan *plan = NULL;
    if (eng_graph_create(c, 0, &g) < 0)
        return NULL;
    eng_store_value(g, eng_graph_tensor(g, 1, input, 1),
                    eng_mul_mat(g, eng_graph_tensor(g, 0, weights, 0), eng_graph_tensor(g, 1, input, 0)));
    if (eng_graph_seal(g) < 0 || eng_plan_create(device, g, &plan) < 0)
        printf("# %s\n", eng_last_error());
    eng_graph_destroy(g);
    return plan;
}

static void check_binding(eng_context *c, eng_device *device, const char *name)
{
    const matrix w = {.type = ENG_TYPE_Q8_0, .k = 64, .m = 8};
    const eng_store_tensor io[] = {
        {.size = sizeof *io, .type = ENG_TYPE_F32, .rank = 1, .use = ENG_USE_INPUT, .ne = {64}, .name = "x", .layer = -1},
        {.size = sizeof *io, .type = ENG_TYPE_F32, .rank = 1, .use = ENG_USE_OUTPUT, .ne = {8}, .name = "y", .layer = -1}};
    eng_store *packed = store_of(device, &w, ENG_LAYOUT_PACKED), *file = store_of(device, &w, ENG_LAYOUT_FILE),
              *input = NULL;
    eng_instance *instance = NULL;
    if (!packed || !file || eng_store_create(device, io, 2, &input) < 0)
        return;
    eng_plan *a = plan_of(c, device, packed, input), *b = plan_of(c, device, file, input);
    tap_check(a && b && a != b, "%s: a plan for each layout", name);
    eng_store *right[] = {packed, input}, *wrong[] = {file, input};
    tap_check(a && eng_instance_create(a, wrong, 2, &instance) == ENG_ERR_INVALID && strstr(eng_last_error(), "layout"),
              "%s: %s", name, eng_last_error());
    tap_check(a && eng_instance_create(a, right, 2, &instance) >= 0, "%s: and with its own it is bound", name);
    eng_instance_destroy(instance);
    eng_plan_release(a);
    eng_plan_release(b);
    eng_store_destroy(packed);
    eng_store_destroy(file);
    eng_store_destroy(input);
}

/* -- cutting ------------------------------------------------------------------------------------------------ */

static uint64_t leaf_bytes(eng_device *device, uint32_t leaf)
{
    eng_device_info info = {.size = sizeof info};
    eng_device_stats stats = {.size = sizeof stats};
    return eng_device_leaf(device, leaf, &info, &stats) >= 0 ? stats.bytes_weights : 0;
}

/* But for how sums over parts are rounded. */
static bool alike(const float *x, const float *want, int64_t n)
{
    float largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fabsf(want[i]) > largest ? fabsf(want[i]) : largest;
    for (int64_t i = 0; i < n; i++)
        if (!(fabsf(x[i] - want[i]) <= 2e-6f * largest))
            return false;
    return true;
}

/* 20 rows over two ranks, on devices that keep none in lanes: 10 and 10 as in a file, 12 and 8 where four stay
 * together.  along: 0: their elements, 1: rows. */
static void check_cut(eng_context *c, eng_device *device, const char *name, uint32_t layout, int along, int64_t first)
{
    matrix w;
    if (!rig_matrix(c, ENG_TYPE_IQ3_S, 512, 20, &w))
        return;
    eng_store_tensor t = rig_declare(&w, NULL, layout);
    const eng_factor factor = {.axis = eng_context_axis(c, along ? "rows of w" : "elements of w"), .extent = w.m};
    const eng_segment segment = {.n_factors = 1, .factors = &factor};
    const eng_factor inner = {.axis = factor.axis, .extent = w.k};
    const eng_segment elements = {.n_factors = 1, .factors = &inner};
    const eng_dim by_rows[] = {{0}, {.n_segments = 1, .segments = &segment}};
    const eng_dim by_elements[] = {{.n_segments = 1, .segments = &elements}, {0}};
    eng_store *store = NULL;
    t.dims = along ? by_rows : by_elements;
    bool good = eng_store_create(device, &t, 1, &store) >= 0;
    const uint64_t row = eng_row_bytes(w.type, w.k), bytes = along ? (uint64_t)first * row : w.bytes / 2;
    tap_check(good && leaf_bytes(device, 0) == bytes &&
                  strcmp(layout_of(store).name, layout == ENG_LAYOUT_FILE ? "file" : "rows4") == 0,
              "%s, cut along its %s: the first has %llu of %llu bytes, as %s", name, along ? "rows" : "elements",
              (unsigned long long)leaf_bytes(device, 0), (unsigned long long)w.bytes, layout_of(store).name);
    float *want = results_of(c, device, &w, ENG_LAYOUT_FILE);
    float *r = malloc((size_t)(w.m * RIG_COLUMNS + w.k * RIG_LOOKUPS) * sizeof *r);
    good = good && like_an_array(device, store, w.bytes, 200) && eng_store_write(store, 0, 0, w.bytes, w.data) >= 0 &&
           r && rig_use(c, device, store, &w, r) >= 0;
    if (!good)
        printf("# %s\n", eng_last_error());
    const int64_t n = w.m * RIG_COLUMNS + w.k * RIG_LOOKUPS;
    tap_check(good && want && alike(r, want, n), "%s, cut along its %s: like an array, and the same products", name,
              along ? "rows" : "elements");
    eng_store_destroy(store);
    free(want);
    free(r);
    free(w.data);
}

static void check_device(eng_context *c, const char *name, const uint32_t *types, size_t n)
{
    eng_device *device;
    int status = eng_device_open(c, name, &device);
    if (status < 0) {
        tap_check(true, "%s # SKIP %s", name, eng_last_error());
        return;
    }
    for (size_t i = 0; i < n; i++)
        check_type(c, device, name, types[i]);
    check_readers(c, device, name);
    check_binding(c, device, name);
    eng_device_close(device);
}

static void check_cuts(eng_context *c, const char *name)
{
    eng_device *device;
    for (int i = 0; i < 4; i++) { /* a device each: it keeps the partition of an axis */
        if (eng_device_open(c, name, &device) < 0) {
            tap_check(true, "%s # SKIP %s", name, eng_last_error());
            return;
        }
        check_cut(c, device, name, i % 2 ? ENG_LAYOUT_PACKED : ENG_LAYOUT_FILE, i / 2, i % 2 ? 12 : 10);
        eng_device_close(device);
    }
}

int main(void)
{
    static const uint32_t all[] = {ENG_TYPE_F32,  ENG_TYPE_F16,   ENG_TYPE_BF16,
                                   ENG_TYPE_Q4_0,  ENG_TYPE_Q4_1, ENG_TYPE_Q5_0,  ENG_TYPE_Q5_1,
                                   ENG_TYPE_Q8_0, ENG_TYPE_IQ4_NL, ENG_TYPE_IQ4_XS, ENG_TYPE_MXFP4, ENG_TYPE_NVFP4,
                                   ENG_TYPE_Q2_K, ENG_TYPE_Q3_K,  ENG_TYPE_Q4_K, ENG_TYPE_Q5_K,  ENG_TYPE_Q6_K,
                                   ENG_TYPE_TQ1_0, ENG_TYPE_TQ2_0, ENG_TYPE_Q1_0, ENG_TYPE_Q2_0,
                                   ENG_TYPE_IQ2_XXS, ENG_TYPE_IQ2_XS, ENG_TYPE_IQ2_S, ENG_TYPE_IQ3_XXS,
                                   ENG_TYPE_IQ3_S, ENG_TYPE_IQ1_S, ENG_TYPE_IQ1_M};
    static const uint32_t some[] = {ENG_TYPE_F32, ENG_TYPE_BF16, ENG_TYPE_Q4_0, ENG_TYPE_Q4_K};
    eng_context *c = tap_begin();
    if (!c)
        return 1;
    check_device(c, "cpu", all, sizeof all / sizeof *all);
    check_device(c, "cpu/2", some, 4);
    check_device(c, "opencl:0", all, sizeof all / sizeof *all);
    eng_context *plain = NULL; /* whose plugins have no forms but the file's and that of rows4 */
    if (eng_context_create(NULL, &plain) >= 0 && eng_context_set_option(plain, "cpu.simd", "scalar") >= 0 &&
        eng_context_set_option(plain, "opencl.dot4", "no") >= 0) {
        check_cuts(plain, "cpu/2");
        check_cuts(plain, "cpu+opencl:0@1:1");
    } else {
        tap_check(false, "a context: %s", eng_last_error());
    }
    eng_context_destroy(plain);
    return tap_end(c);
}
