/* Devices, stores, queues and a plan of copies, on the null device. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../libengine/device/device.h"

static eng_context *context;
static eng_device *device;

static void setup(void)
{
    char folder[1024];
    const char *build = getenv("top_builddir");
    ck_assert_msg(build != NULL, "run me through make check: top_builddir is not set");
    snprintf(folder, sizeof folder, "%s/plugins/null/.libs", build);
    eng_context_params params = {.size = sizeof params, .plugin_path = folder};
    ck_assert_int_eq(eng_context_create(&params, &context), ENG_OK);
    ck_assert_int_eq(eng_device_open(context, "null", &device), ENG_OK);
}

static void teardown(void)
{
    eng_device_close(device);
    ck_assert_int_eq(eng_context_destroy(context), ENG_OK);
}

static eng_store_tensor tensor(const char *name, uint32_t type, uint32_t use, int64_t n, int64_t m)
{
    return (eng_store_tensor){.size = sizeof(eng_store_tensor), .type = type, .rank = 2, .use = use, .ne = {n, m},
                              .name = name, .layer = -1};
}

START_TEST(store)
{
    eng_store_tensor t[] = {
        tensor("w", ENG_TYPE_Q8_0, ENG_USE_WEIGHT, 64, 3),
        tensor("c", ENG_TYPE_F32, ENG_USE_CACHE, 5, 2),
        tensor("empty", ENG_TYPE_F32, ENG_USE_STATE, 0, 2),
    };
    eng_store *s;
    ck_assert_int_eq(eng_store_create(device, t, 3, &s), ENG_OK);
    ck_assert_uint_eq(eng_store_count(s), 3);
    ck_assert_uint_eq(eng_store_bytes(s, 0), 3 * 68);
    ck_assert_uint_eq(eng_store_bytes(s, 2), 0);
    ck_assert_str_eq(eng_store_get(s, 1)->name, "c");
    ck_assert_ptr_ne(eng_store_get(s, 1)->name, t[1].name);
    ck_assert_int_eq(eng_store_get(s, 1)->ne[2], 1);
    ck_assert_ptr_null(eng_store_get(s, 3));
    float in[10], out[10];
    for (int i = 0; i < 10; i++)
        in[i] = (float)i, out[i] = -1;
    ck_assert_int_eq(eng_store_read(s, 1, 0, sizeof out, out), ENG_OK);
    for (int i = 0; i < 10; i++)
        ck_assert_float_eq(out[i], 0);
    ck_assert_int_eq(eng_store_write(s, 1, 8, 12, in), ENG_OK);
    ck_assert_int_eq(eng_store_read(s, 1, 0, sizeof out, out), ENG_OK);
    ck_assert_float_eq(out[4], 2);
    ck_assert_int_eq(eng_store_write(s, 1, 8, 36, in), ENG_ERR_INVALID);
    ck_assert_int_eq(eng_store_write(s, 1, UINT64_MAX, 2, in), ENG_ERR_INVALID);
    ck_assert_int_eq(eng_store_write(s, 9, 0, 1, in), ENG_ERR_INVALID);
    ck_assert_int_eq(eng_store_read(s, 2, 0, 0, NULL), ENG_OK);
    eng_device_stats stats = {.size = sizeof stats};
    ck_assert_int_eq(eng_device_get_stats(device, &stats), ENG_OK);
    ck_assert_uint_eq(stats.bytes_weights, 204);
    ck_assert_uint_eq(stats.bytes_cache, 40);
    eng_store_destroy(s);
    ck_assert_int_eq(eng_device_get_stats(device, &stats), ENG_OK);
    ck_assert_uint_eq(stats.bytes_weights, 0);
}
END_TEST

static const eng_factor factors[] = {{.axis = 1, .extent = 3}, {.axis = 0, .extent = 2}};
static const eng_segment segments[] = {{.n_factors = 2, .factors = factors}};
static const eng_dim good_dims[] = {{.n_segments = 0}, {.n_segments = 1, .segments = segments}};

START_TEST(store_refused)
{
    eng_store *s = NULL;
    eng_store_tensor t = tensor("t", ENG_TYPE_Q8_0, ENG_USE_WEIGHT, 48, 3);
    ck_assert_int_eq(eng_store_create(device, &t, 1, &s), ENG_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(eng_last_error(), "q8_0"));
    t = tensor("t", 4, ENG_USE_WEIGHT, 32, 3);
    ck_assert_int_eq(eng_store_create(device, &t, 1, &s), ENG_ERR_INVALID);
    t = tensor("t", ENG_TYPE_F32, 0, 32, 3);
    ck_assert_int_eq(eng_store_create(device, &t, 1, &s), ENG_ERR_INVALID);
    t = tensor("t", ENG_TYPE_F32, ENG_USE_WEIGHT, -1, 3);
    ck_assert_int_eq(eng_store_create(device, &t, 1, &s), ENG_ERR_INVALID);
    t = tensor("t", ENG_TYPE_F32, ENG_USE_WEIGHT, INT64_MAX / 2, INT64_MAX / 2);
    ck_assert_int_eq(eng_store_create(device, &t, 1, &s), ENG_ERR_INVALID);
    t = tensor("t", ENG_TYPE_F32, ENG_USE_WEIGHT, 2, 2);
    t.rank = 9;
    ck_assert_int_eq(eng_store_create(device, &t, 1, &s), ENG_ERR_INVALID);
    t = tensor("t", ENG_TYPE_F32, ENG_USE_WEIGHT, 2, 2);
    t.size = 0;
    ck_assert_int_eq(eng_store_create(device, &t, 1, &s), ENG_ERR_INVALID);
    t = tensor("t", ENG_TYPE_F32, ENG_USE_WEIGHT, 2, 5);
    t.dims = good_dims; /* of 6, not 5 */
    ck_assert_int_eq(eng_store_create(device, &t, 1, &s), ENG_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(eng_last_error(), "6 elements"));
    t.ne[1] = 6;
    ck_assert_int_eq(eng_store_create(device, &t, 1, &s), ENG_OK);
    const eng_dim *kept = eng_store_get(s, 0)->dims;
    ck_assert_ptr_ne(kept, good_dims);
    ck_assert_int_eq(kept[1].segments[0].factors[0].extent, 3);
    eng_store_destroy(s);
}
END_TEST

START_TEST(out_of_memory)
{
    eng_device *small;
    eng_store *s = NULL;
    ck_assert_int_eq(eng_context_set_option(context, "null.memory", "1000"), ENG_OK);
    ck_assert_int_eq(eng_device_open(context, "null:0", &small), ENG_OK);
    eng_store_tensor t[] = {tensor("a", ENG_TYPE_F32, ENG_USE_WEIGHT, 100, 2),
                            tensor("b", ENG_TYPE_F32, ENG_USE_WEIGHT, 100, 1)};
    ck_assert_int_eq(eng_store_create(small, t, 2, &s), ENG_ERR_NOMEM);
    ck_assert_ptr_null(s);
    ck_assert_ptr_nonnull(strstr(eng_last_error(), "null.memory"));
    ck_assert_int_eq(eng_store_create(small, t, 1, &s), ENG_OK);
    eng_store_destroy(s);
    eng_device_close(small);
}
END_TEST

START_TEST(one_name)
{
    static const char *const names[][2] = {
        {"null", "null"}, {"null:0", "null"}, {"null:00/01.0", "null"}, {"null:0/2.1", "null/2.1"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        eng_device *other;
        eng_device_info info = {.size = sizeof info};
        ck_assert_int_eq(eng_device_open(context, names[i][0], &other), ENG_OK);
        ck_assert_int_eq(eng_device_get_info(other, &info), ENG_OK);
        ck_assert_str_eq(info.name, names[i][1]);
        eng_device_close(other);
    }
}
END_TEST

START_TEST(queue)
{
    eng_store_tensor t = tensor("t", ENG_TYPE_F32, ENG_USE_INPUT, 4, 1);
    eng_store *s;
    eng_queue *q;
    eng_fence f = {0};
    float in[4] = {1, 2, 3, 4}, out[4] = {0};
    ck_assert_int_eq(eng_store_create(device, &t, 1, &s), ENG_OK);
    ck_assert_int_eq(eng_queue_create(device, &q), ENG_OK);
    ck_assert_int_eq(eng_fence_wait(f, 0), ENG_OK);
    ck_assert_int_eq(eng_queue_write(q, NULL, 0, s, 0, (const eng_region[]){eng_range(in, 0, sizeof in)}, 1, NULL),
                     ENG_OK);
    ck_assert_int_eq(eng_queue_read(q, NULL, 0, s, 0, (const eng_region[]){eng_range(out, 0, sizeof out)}, 1, &f),
                     ENG_OK);
    ck_assert_int_eq(eng_fence_wait(f, UINT64_MAX), ENG_OK);
    ck_assert_mem_eq(in, out, sizeof in);
    ck_assert_int_eq(eng_queue_read(q, NULL, 0, s, 0, (const eng_region[]){eng_range(out, 4, sizeof out)}, 1, &f),
                     ENG_ERR_INVALID);
    eng_device *other;
    eng_queue *other_queue;
    ck_assert_int_eq(eng_device_open(context, "null", &other), ENG_OK);
    ck_assert_int_eq(eng_queue_create(other, &other_queue), ENG_OK);
    ck_assert_int_eq(eng_queue_read(other_queue, NULL, 0, s, 0, (const eng_region[]){eng_range(out, 0, 4)}, 1, &f),
                     ENG_ERR_INVALID);
    /* any order of destruction */
    eng_device_close(other);
    eng_queue_destroy(other_queue);
    eng_queue_destroy(q);
    eng_store_destroy(s);
}
END_TEST

START_TEST(copy_graph)
{
    eng_store_tensor t[] = {tensor("in", ENG_TYPE_F32, ENG_USE_INPUT, 3, 2),
                            tensor("out", ENG_TYPE_F32, ENG_USE_OUTPUT, 2, 3)};
    eng_store *s;
    eng_graph *g;
    eng_plan *p;
    eng_instance *i;
    eng_queue *q;
    eng_fence f;
    float in[6] = {1, 2, 3, 4, 5, 6}, out[6];
    ck_assert_int_eq(eng_store_create(device, t, 2, &s), ENG_OK);
    ck_assert_int_eq(eng_graph_create(context, 0, &g), ENG_OK);
    int dims[] = {1, 0};
    eng_value x = eng_cont(g, eng_permute(g, eng_graph_tensor(g, 0, s, 0), dims, 2));
    ck_assert_int_eq(eng_store_value(g, eng_graph_tensor(g, 0, s, 1), x), ENG_OK);
    ck_assert_int_eq(eng_graph_seal(g), ENG_OK);
    ck_assert_int_eq(eng_plan_create(device, g, &p), ENG_OK);
    ck_assert_int_eq(eng_instance_create(p, &s, 1, &i), ENG_OK);
    ck_assert_int_eq(eng_queue_create(device, &q), ENG_OK);
    ck_assert_int_eq(eng_queue_write(q, NULL, 0, s, 0, (const eng_region[]){eng_range(in, 0, sizeof in)}, 1, NULL),
                     ENG_OK);
    ck_assert_int_eq(eng_queue_submit(q, NULL, 0, i, NULL, 0, NULL), ENG_OK);
    ck_assert_int_eq(eng_queue_read(q, NULL, 0, s, 1, (const eng_region[]){eng_range(out, 0, sizeof out)}, 1, &f),
                     ENG_OK);
    ck_assert_int_eq(eng_fence_wait(f, UINT64_MAX), ENG_OK);
    const float expected[] = {1, 4, 2, 5, 3, 6};
    ck_assert_mem_eq(out, expected, sizeof out);
    eng_graph_destroy(g);
    eng_store_destroy(s);
    eng_plan_release(p);
    eng_instance_destroy(i);
    eng_queue_destroy(q);
}
END_TEST

START_TEST(refused_graph)
{
    eng_store_tensor t = tensor("in", ENG_TYPE_F32, ENG_USE_INPUT, 3, 2);
    eng_store *s;
    eng_graph *g;
    eng_plan *p = NULL;
    ck_assert_int_eq(eng_store_create(device, &t, 1, &s), ENG_OK);
    ck_assert_int_eq(eng_graph_create(context, 0, &g), ENG_OK);
    eng_value x = eng_graph_tensor(g, 0, s, 0);
    eng_add(g, x, x);
    ck_assert_int_eq(eng_graph_seal(g), ENG_OK);
    ck_assert_int_eq(eng_plan_create(device, g, &p), ENG_ERR_UNSUPPORTED);
    ck_assert_ptr_null(p);
    ck_assert_ptr_nonnull(strstr(eng_last_error(), "computes nothing"));
    eng_graph_destroy(g);
    eng_store_destroy(s);
}
END_TEST

/* A plan that copies the first n elements of a tensor. */
static eng_plan *slice_plan(const eng_store *s, uint32_t from, int64_t n)
{
    eng_graph *g;
    eng_plan *p;
    ck_assert_int_eq(eng_graph_create(context, 0, &g), ENG_OK);
    ck_assert_int_ge(eng_cont(g, eng_slice(g, eng_graph_tensor(g, 0, s, from), 0, 0, n)), 0);
    ck_assert_int_eq(eng_graph_seal(g), ENG_OK);
    ck_assert_int_eq(eng_plan_create(device, g, &p), ENG_OK);
    eng_graph_destroy(g);
    return p;
}

static void append(void *ctx, const char *text)
{
    strncat(ctx, text, 199);
}

/* Equal graphs have one plan; the device keeps the last 64, and those that fall out live as long as they are held. */
START_TEST(plan_cache)
{
    enum { MANY = 70 };
    eng_store_tensor t[] = {tensor("a", ENG_TYPE_F32, ENG_USE_INPUT, 100, 1),
                            tensor("b", ENG_TYPE_F32, ENG_USE_INPUT, 100, 1)};
    eng_store *s;
    eng_plan *plans[MANY + 1];
    char text[200] = "";
    ck_assert_int_eq(eng_store_create(device, t, 2, &s), ENG_OK);
    for (int i = 1; i <= MANY; i++)
        plans[i] = slice_plan(s, 0, i);
    ck_assert_uint_eq(eng_device_plans_built(device), MANY);
    eng_plan *again = slice_plan(s, 0, MANY);
    ck_assert_ptr_eq(again, plans[MANY]);
    eng_plan *other = slice_plan(s, 1, MANY); /* the same shapes, bound to another tensor */
    ck_assert_ptr_ne(other, plans[MANY]);
    ck_assert_uint_eq(eng_device_plans_built(device), MANY + 1);
    eng_plan_release(other);
    eng_plan_release(again);
    eng_plan_release(plans[MANY]); /* kept by the cache alone, then held again */
    ck_assert_ptr_eq(slice_plan(s, 0, MANY), plans[MANY]);
    again = slice_plan(s, 0, 1);   /* has fallen out: another one of the same kind */
    ck_assert_ptr_ne(again, plans[1]);
    ck_assert_uint_eq(eng_device_plans_built(device), MANY + 2);
    eng_plan_info info = {.size = sizeof info};
    ck_assert_int_eq(eng_plan_get_info(plans[1], &info), ENG_OK);
    ck_assert_uint_eq(info.n_nodes, 2);
    ck_assert_uint_ge(info.scratch_bytes, 4);
    ck_assert_int_eq(eng_plan_get_info(plans[1], &(eng_plan_info){0}), ENG_ERR_INVALID);
    /* though the plugin has nothing to tell */
    ck_assert_int_eq(eng_plan_explain(plans[1], ENG_EXPLAIN_TEXT, append, text), ENG_OK);
    ck_assert_ptr_nonnull(strstr(text, "scratch memory"));
    eng_plan_release(again);
    for (int i = 1; i <= MANY; i++)
        eng_plan_release(plans[i]);
    eng_store_destroy(s);
}
END_TEST

/* A struct of a host that knows more fields than this library, as it is before the call. */
#define NEWER(type)                                                                                                    \
    union {                                                                                                            \
        type known;                                                                                                    \
        uint32_t size;                                                                                                 \
        unsigned char bytes[sizeof(type) + 40];                                                                        \
    }
#define ASK(newer, call)                                                                                               \
    do {                                                                                                               \
        memset(&newer, 0xff, sizeof newer);                                                                            \
        newer.size = sizeof newer;                                                                                     \
        ck_assert_msg((call) == ENG_OK, #call ": %s", eng_last_error());                                               \
        ck_assert_uint_eq(newer.size, sizeof newer);                                                                   \
        for (size_t i = sizeof newer.known; i < sizeof newer; i++)                                                     \
            ck_assert_msg(newer.bytes[i] == 0, #call ": byte %zu is not 0", i);                                        \
    } while (0)

/* What we do not know yet is 0 in every struct that a newer host asks for. */
START_TEST(newer_hosts)
{
    NEWER(eng_device_info) info;
    NEWER(eng_device_stats) stats;
    NEWER(eng_plan_info) plan;
    NEWER(eng_plugin_info) plugin;
    NEWER(eng_option_info) option;
    eng_store_tensor t = tensor("t", ENG_TYPE_F32, ENG_USE_INPUT, 4, 1);
    eng_store *s;
    ASK(info, eng_device_get_info(device, &info.known));
    ASK(stats, eng_device_get_stats(device, &stats.known));
    ASK(info, eng_device_leaf(device, 0, &info.known, NULL));
    ASK(stats, eng_device_leaf(device, 0, NULL, &stats.known));
    ASK(plugin, eng_context_plugin(context, 0, &plugin.known));
    ASK(option, eng_context_option(context, 0, &option.known));
    ck_assert_int_eq(eng_store_create(device, &t, 1, &s), ENG_OK);
    eng_plan *p = slice_plan(s, 0, 2);
    ASK(plan, eng_plan_get_info(p, &plan.known));
    eng_plan_release(p);
    eng_store_destroy(s);
}
END_TEST

/* An engine older than a plugin has a shorter struct, behind which the plugin writes nothing. */
START_TEST(older_engines)
{
    static const char *const names[] = {"null", "cpu", "null/2", "opencl:0"};
    eng_context *all;
    ck_assert_int_eq(eng_context_create(NULL, &all), ENG_OK);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        eng_device *d;
        if (eng_device_open(all, names[i], &d) != ENG_OK)
            continue; /* not built, or not here */
        eng_device_stats own = {.size = offsetof(eng_device_stats, compiled), .compiled = 77};
        ck_assert_int_eq(d->calls->stats(d->state, &own), ENG_OK);
        ck_assert_msg(own.compiled == 77 && own.share == 1, "%s", names[i]);
        own.compiled = 78;
        ck_assert(d->calls->leaf_stats(d->state, 0, NULL, &own) != ENG_OK || own.size < sizeof own);
        ck_assert_msg(own.compiled == 78, "%s", names[i]);
        eng_device_close(d);
    }
    ck_assert_int_eq(eng_context_destroy(all), ENG_OK);
}
END_TEST

/* What the null device says of itself: nothing of it depends on the machine. */
START_TEST(figures)
{
    eng_device *small;
    eng_device_info info = {.size = sizeof info};
    ck_assert_int_eq(eng_context_set_option(context, "null.memory", "1000"), ENG_OK);
    ck_assert_int_eq(eng_device_open(context, "null", &small), ENG_OK);
    ck_assert_int_eq(eng_device_get_info(small, &info), ENG_OK);
    ck_assert_uint_eq(info.kind, ENG_DEVICE_NULL);
    ck_assert_uint_eq(info.flags, ENG_DEVICE_HOST_MEMORY | ENG_DEVICE_YIELDS);
    ck_assert_uint_eq(info.compute_units, 1);
    ck_assert_uint_eq(info.alignment, 64);
    ck_assert_uint_eq(info.memory_total, 1000);
    ck_assert_uint_eq(info.memory_free, 1000);
    ck_assert_uint_eq(info.max_allocation, 0);
    ck_assert_str_eq(info.description, "null device");
    ck_assert_str_eq(info.driver, "null plugin " PACKAGE_VERSION);
    eng_device_close(small);
}
END_TEST

/* Memory is counted by what it is for, and no longer when it is given back. */
START_TEST(statistics)
{
    static const uint32_t uses[] = {ENG_USE_WEIGHT, ENG_USE_CACHE, ENG_USE_STATE, ENG_USE_INPUT, ENG_USE_OUTPUT};
    eng_store_tensor t[5];
    eng_device_stats none = {.size = sizeof none}, some = none, again = none;
    eng_store *s;
    eng_graph *g;
    eng_plan *p;
    eng_instance *i;
    eng_queue *q;
    eng_fence f;
    for (int k = 0; k < 5; k++)
        t[k] = tensor("t", ENG_TYPE_F32, uses[k], 1 << k, 1);
    ck_assert_int_eq(eng_device_get_stats(device, &none), ENG_OK);
    eng_device_stats expected = {.size = sizeof expected, .share = 1};
    ck_assert_mem_eq(&none, &expected, sizeof none);
    ck_assert_int_eq(eng_store_create(device, t, 5, &s), ENG_OK);
    ck_assert_int_eq(eng_graph_create(context, 0, &g), ENG_OK);
    eng_value kept = eng_cont(g, eng_slice(g, eng_graph_tensor(g, 0, s, 3), 0, 0, 2));
    ck_assert_int_eq(eng_graph_keep(g, kept), ENG_OK);
    ck_assert_int_eq(eng_graph_seal(g), ENG_OK);
    ck_assert_int_eq(eng_plan_create(device, g, &p), ENG_OK);
    ck_assert_int_eq(eng_instance_create(p, &s, 1, &i), ENG_OK);
    ck_assert_int_eq(eng_queue_create(device, &q), ENG_OK);
    float in[8] = {5, 6, 7}, out[2] = {0}, *there = NULL;
    ck_assert_int_eq(eng_store_write(s, 3, 0, sizeof in, in), ENG_OK);
    for (int k = 0; k < 3; k++)
        ck_assert_int_eq(eng_queue_submit(q, NULL, 0, i, NULL, 0, &f), ENG_OK);
    ck_assert_int_eq(eng_fence_wait(f, UINT64_MAX), ENG_OK);
    ck_assert_int_eq(eng_instance_read(q, NULL, 0, i, kept, (const eng_region[]){eng_range(out, 0, sizeof out)}, 1, &f),
                     ENG_OK);
    ck_assert_int_eq(eng_fence_wait(f, UINT64_MAX), ENG_OK);
    ck_assert_mem_eq(out, in, sizeof out);
    ck_assert_int_eq(eng_instance_map(i, kept, (void **)&there), ENG_OK);
    ck_assert_mem_eq(there, in, sizeof out);
    eng_plan_info info = {.size = sizeof info};
    ck_assert_int_eq(eng_plan_get_info(p, &info), ENG_OK);
    ck_assert_int_eq(eng_device_get_stats(device, &some), ENG_OK);
    expected.bytes_weights = 4, expected.bytes_cache = 8, expected.bytes_state = 16;
    expected.bytes_io = 32 + 64 + 8; /* and what is kept */
    expected.bytes_compute = info.scratch_bytes;
    expected.submits = 3, expected.plans_built = 1;
    ck_assert_mem_eq(&some, &expected, sizeof some);
    eng_queue_destroy(q);
    eng_instance_destroy(i);
    eng_plan_release(p);
    eng_graph_destroy(g);
    eng_store_destroy(s);
    ck_assert_int_eq(eng_device_get_stats(device, &again), ENG_OK);
    none.submits = 3, none.plans_built = 1;
    ck_assert_mem_eq(&again, &none, sizeof none);
}
END_TEST

/* Every run of a region is where its strides say, and nothing else is touched. */
START_TEST(regions)
{
    eng_store_tensor t = tensor("t", ENG_TYPE_F32, ENG_USE_CACHE, 6, 2);
    eng_store *s;
    eng_queue *q;
    eng_fence f;
    float in[] = {1, 2, 3, 4, 5, 6}, out[12], expected[12] = {0, 1, 0, 0, 4, 0, 0, 0, 0, 0, 2, 3};
    eng_region two[] =
        {{.data = in, .data_stride = 12, .tensor_offset = 4, .tensor_stride = 12, .bytes = 4, .count = 2},
         eng_range(in + 1, 40, 8),
         {.data = in, .bytes = 4, .count = 0},
         {.data = in, .bytes = 0, .count = 7}};
    ck_assert_int_eq(eng_store_create(device, &t, 1, &s), ENG_OK);
    ck_assert_int_eq(eng_queue_create(device, &q), ENG_OK);
    ck_assert_int_eq(eng_queue_write(q, NULL, 0, s, 0, two, 4, &f), ENG_OK);
    ck_assert_int_eq(eng_fence_wait(f, UINT64_MAX), ENG_OK);
    ck_assert_int_eq(eng_store_read(s, 0, 0, sizeof out, out), ENG_OK);
    ck_assert_mem_eq(out, expected, sizeof out);
    float back[] = {-1, -1, -1, -1, -1, -1}, given[] = {1, 2, 3, 4, -1, -1};
    for (int r = 0; r < 4; r++)
        two[r].data = r == 1 ? back + 1 : back;
    ck_assert_int_eq(eng_queue_read(q, NULL, 0, s, 0, two, 4, &f), ENG_OK);
    ck_assert_int_eq(eng_fence_wait(f, UINT64_MAX), ENG_OK);
    ck_assert_mem_eq(back, given, sizeof back);
    eng_queue_destroy(q);
    eng_store_destroy(s);
}
END_TEST

/* null.accept: all computes zeros, measure holds nothing, counts all the same, and has no addresses. */
START_TEST(accepts)
{
    static const char *const how[] = {"all", "measure"};
    eng_store_tensor t[] = {tensor("in", ENG_TYPE_F32, ENG_USE_INPUT, 3, 1),
                            tensor("out", ENG_TYPE_F32, ENG_USE_OUTPUT, 3, 1)};
    for (int k = 0; k < 2; k++) {
        eng_device *d;
        eng_store *s;
        eng_graph *g;
        eng_plan *p;
        eng_instance *i;
        eng_queue *q;
        eng_fence f;
        eng_device_stats stats = {.size = sizeof stats};
        float ones[] = {1, 1, 1}, out[] = {2, 2, 2};
        void *there = NULL;
        ck_assert_int_eq(eng_context_set_option(context, "null.accept", how[k]), ENG_OK);
        ck_assert_int_eq(eng_device_open(context, "null", &d), ENG_OK);
        ck_assert_int_eq(eng_store_create(d, t, 2, &s), ENG_OK);
        ck_assert_int_eq(eng_graph_create(context, 0, &g), ENG_OK);
        eng_value x = eng_graph_tensor(g, 0, s, 0), sum = eng_add(g, x, x);
        ck_assert_int_eq(eng_graph_keep(g, sum), ENG_OK);
        ck_assert_int_eq(eng_store_value(g, eng_graph_tensor(g, 0, s, 1), sum), ENG_OK);
        ck_assert_int_eq(eng_graph_seal(g), ENG_OK);
        ck_assert_int_eq(eng_plan_create(d, g, &p), ENG_OK);
        ck_assert_int_eq(eng_instance_create(p, &s, 1, &i), ENG_OK);
        ck_assert_int_eq(eng_queue_create(d, &q), ENG_OK);
        ck_assert_int_eq(eng_store_write(s, 0, 0, sizeof ones, ones), ENG_OK);
        ck_assert_int_eq(eng_store_write(s, 1, 0, sizeof ones, ones), ENG_OK);
        ck_assert_int_eq(eng_queue_submit(q, NULL, 0, i, NULL, 0, NULL), ENG_OK);
        ck_assert_int_eq(eng_queue_read(q, NULL, 0, s, 1, (const eng_region[]){eng_range(out, 0, sizeof out)}, 1, &f),
                         ENG_OK);
        ck_assert_int_eq(eng_fence_wait(f, UINT64_MAX), ENG_OK);
        ck_assert_mem_eq(out, ((float[]){0, 0, 0}), sizeof out);
        ck_assert_int_eq(eng_store_read(s, 0, 0, sizeof out, out), ENG_OK);
        ck_assert_float_eq(out[2], k ? 0 : 1);
        ck_assert_int_eq(eng_instance_map(i, sum, &there), k ? ENG_ERR_UNSUPPORTED : ENG_OK);
        if (k)
            ck_assert_ptr_nonnull(strstr(eng_last_error(), "null.accept=measure"));
        ck_assert_int_eq(eng_device_get_stats(d, &stats), ENG_OK);
        ck_assert_uint_eq(stats.bytes_io, 24 + 12); /* and what is kept */
        ck_assert_uint_ge(stats.bytes_compute, 12);
        eng_queue_destroy(q);
        eng_instance_destroy(i);
        eng_plan_release(p);
        eng_graph_destroy(g);
        eng_store_destroy(s);
        ck_assert_int_eq(eng_device_get_stats(d, &stats), ENG_OK);
        ck_assert_uint_eq(stats.bytes_io + stats.bytes_compute, 0);
        eng_device_close(d);
    }
}
END_TEST

/* Options of the null plugin that are none are refused by name, with what was given. */
START_TEST(null_options)
{
    static const char *const wrong[][2] = {{"null.memory", "1k"}, {"null.memory", "-1"}, {"null.accept", "some"}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        eng_device *d = NULL;
        ck_assert_int_eq(eng_context_set_option(context, wrong[k][0], wrong[k][1]), ENG_OK);
        ck_assert_int_eq(eng_device_open(context, "null", &d), ENG_ERR_INVALID);
        ck_assert_ptr_null(d);
        ck_assert_ptr_nonnull(strstr(eng_last_error(), wrong[k][0]));
        ck_assert_ptr_nonnull(strstr(eng_last_error(), wrong[k][1]));
        ck_assert_int_eq(eng_context_set_option(context, wrong[k][0], strstr(wrong[k][0], "memory") ? "0" : "copies"),
                         ENG_OK);
    }
    setenv("ENGINE_NULL_DEVICES", "3", 1);
    eng_context *three;
    eng_device *third, *fourth = NULL;
    char folder[1024];
    snprintf(folder, sizeof folder, "%s/plugins/null/.libs", getenv("top_builddir"));
    eng_context_params params = {.size = sizeof params, .plugin_path = folder};
    ck_assert_int_eq(eng_context_create(&params, &three), ENG_OK);
    ck_assert_int_eq(eng_device_open(three, "null:2", &third), ENG_OK);
    ck_assert_int_eq(eng_device_open(three, "null:3", &fourth), ENG_ERR_NOTFOUND);
    ck_assert_ptr_nonnull(strstr(eng_last_error(), "has 3 devices"));
    eng_device_close(third);
    ck_assert_int_eq(eng_context_destroy(three), ENG_OK);
    unsetenv("ENGINE_NULL_DEVICES");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("device");
    TCase *t = tcase_create("device");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, store);
    tcase_add_test(t, store_refused);
    tcase_add_test(t, out_of_memory);
    tcase_add_test(t, one_name);
    tcase_add_test(t, queue);
    tcase_add_test(t, copy_graph);
    tcase_add_test(t, refused_graph);
    tcase_add_test(t, plan_cache);
    tcase_add_test(t, newer_hosts);
    tcase_add_test(t, older_engines);
    tcase_add_test(t, figures);
    tcase_add_test(t, statistics);
    tcase_add_test(t, regions);
    tcase_add_test(t, accepts);
    tcase_add_test(t, null_options);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
