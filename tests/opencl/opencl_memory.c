/* The opencl plugin: tensors in pieces, and what of the memory is left. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "fixture.h"

START_TEST(pieces_move_exactly)
{
    static const char *const options[] = {"opencl.max_alloc", "1024", NULL};
    fixture f = open_with(named(""), options);
    enum { N = 37, ROWS = 101, PLANES = 3, ALL = N * ROWS * PLANES };
    eng_store_tensor t = declare("t", ENG_TYPE_I32, ENG_USE_STATE, N, ROWS, PLANES);
    eng_store *store;
    eng_queue *queue;
    eng_fence fence;
    int32_t *in = malloc(ALL * 4), *out = calloc(ALL, 4);
    for (int i = 0; i < ALL; i++)
        in[i] = i * 7 + 1;
    ck_assert_msg(eng_store_create(f.device, &t, 1, &store) == ENG_OK, "%s", eng_last_error());
    ck_assert_int_eq(eng_store_read(store, 0, 0, ALL * 4, out), ENG_OK);
    for (int i = 0; i < ALL; i++)
        ck_assert_int_eq(out[i], 0);
    ck_assert_int_eq(eng_store_write(store, 0, 0, ALL * 4, in), ENG_OK);
    /* an odd range, across several pieces, through a queue */
    ck_assert_int_eq(eng_queue_create(f.device, &queue), ENG_OK);
    int32_t patch[1000];
    for (int i = 0; i < 1000; i++)
        in[333 + i] = patch[i] = -i;
    ck_assert_int_eq(eng_queue_write(queue, NULL, 0, store, 0,
                                     (const eng_region[]){eng_range(patch, 333 * 4, sizeof patch)}, 1, NULL), ENG_OK);
    ck_assert_int_eq(eng_queue_read(queue, NULL, 0, store, 0,
                                    (const eng_region[]){eng_range(out, 0, ALL * 4)}, 1, &fence), ENG_OK);
    ck_assert_int_eq(eng_fence_wait(fence, UINT64_MAX), ENG_OK);
    ck_assert(memcmp(in, out, ALL * 4) == 0);
    ck_assert_int_ne(eng_queue_read(queue, NULL, 0, store, 0,
                                    (const eng_region[]){eng_range(out, ALL * 4 - 8, 16)}, 1, &fence), ENG_OK);
    eng_queue_destroy(queue);
    eng_store_destroy(store);
    free(in);
    free(out);
    close_all(f);
}
END_TEST

/* What a device does not have is refused at once, and what was given back can be had again. */
START_TEST(memory_is_not_promised_twice)
{
    static const char *const options[] = {"opencl.memory", "4M", NULL};
    fixture f = open_with(named(""), options);
    eng_store_tensor most = declare("most", ENG_TYPE_F32, ENG_USE_CACHE, 1024, 768, 1); /* 3 MiB */
    eng_store_tensor more = declare("more", ENG_TYPE_F32, ENG_USE_STATE, 1024, 512, 1); /* 2 MiB */
    eng_store_tensor huge = declare("huge", ENG_TYPE_F32, ENG_USE_CACHE, 1024, INT64_C(1) << 40, 1);
    eng_store *a, *b;
    ck_assert_msg(eng_store_create(f.device, &most, 1, &a) == ENG_OK, "%s", eng_last_error());
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(eng_store_create(f.device, i ? &huge : &more, 1, &b), ENG_ERR_NOMEM);
        ck_assert_msg(strstr(eng_last_error(), "has 4.0 MiB, of which 3.0 are taken"), "%s", eng_last_error());
    }
    eng_store_destroy(a);
    ck_assert_msg(eng_store_create(f.device, &more, 1, &b) == ENG_OK, "%s", eng_last_error());
    eng_store_destroy(b);
    close_all(f);
}
END_TEST

/* What one who opens it now is told to be free. */
static uint64_t left_of(eng_context *context, const char *name)
{
    eng_device_info info = {.size = sizeof info};
    eng_device *device;
    ck_assert_int_eq(eng_device_open(context, name, &device), ENG_OK);
    ck_assert_int_eq(eng_device_get_info(device, &info), ENG_OK);
    eng_device_close(device);
    return info.memory_free;
}

/* The memory is the device's, however often it is opened, whole or in parts. */
START_TEST(memory_is_one_for_all_openings)
{
    static const char *const options[] = {"opencl.memory", "4M", NULL};
    fixture f = open_with(named(""), options);
    eng_device *other, *part;
    eng_store_tensor t = declare("t", ENG_TYPE_F32, ENG_USE_CACHE, 1024, 640, 1); /* 2.5 MiB */
    eng_store *a, *b;
    ck_assert_int_eq(eng_device_open(f.context, named(""), &other), ENG_OK);
    ck_assert_int_eq(eng_device_open(f.context, named("/2.1"), &part), ENG_OK);
    ck_assert_uint_eq(left_of(f.context, named("/2.1")), 2u << 20);
    ck_assert_int_eq(eng_store_create(part, &t, 1, &a), ENG_OK); /* more than half */
    ck_assert_uint_eq(left_of(f.context, named("")), 3u << 19);
    ck_assert_uint_eq(left_of(f.context, named("/2.0")), 3u << 18);
    ck_assert_int_eq(eng_store_create(other, &t, 1, &b), ENG_ERR_NOMEM);
    ck_assert_msg(strstr(eng_last_error(), "has 4.0 MiB, of which 2.5 are taken"), "%s", eng_last_error());
    eng_store_destroy(a);
    ck_assert_int_eq(eng_store_create(other, &t, 1, &b), ENG_OK);
    eng_store_destroy(b);
    ck_assert_uint_eq(left_of(f.context, named("")), 4u << 20);
    eng_device_close(part);
    eng_device_close(other);
    close_all(f);
}
END_TEST

/* Values of a plan need memory as tensors do. */
START_TEST(scratch_is_not_promised_either)
{
    static const char *const options[] = {"opencl.memory", "4M", NULL};
    fixture f = open_with(named(""), options);
    eng_store_tensor t[] = {declare("x", ENG_TYPE_F32, ENG_USE_STATE, 1024, 384, 1), /* 1.5 MiB */
                            declare("more", ENG_TYPE_F32, ENG_USE_STATE, 1024, 384, 1)};
    eng_store *a, *b;
    eng_graph *g;
    eng_plan *plan;
    eng_instance *instance;
    ck_assert_int_eq(eng_store_create(f.device, t, 1, &a), ENG_OK);
    ck_assert_int_eq(eng_store_create(f.device, t + 1, 1, &b), ENG_OK);
    ck_assert_int_eq(eng_graph_create(f.context, 0, &g), ENG_OK);
    eng_value x = eng_graph_tensor(g, 0, a, 0);
    eng_store_value(g, x, eng_soft_max(g, x, ENG_NO_VALUE, ENG_NO_VALUE, 1, 0));
    ck_assert_msg(eng_graph_seal(g) == ENG_OK && eng_plan_create(f.device, g, &plan) == ENG_OK, "%s", eng_last_error());
    ck_assert_int_eq(eng_instance_create(plan, &a, 1, &instance), ENG_ERR_NOMEM);
    ck_assert_msg(
        strstr(eng_last_error(), "1.5 MiB for the values of a plan, but the device has 4.0 MiB, of which 3.0"), "%s",
        eng_last_error());
    eng_store_destroy(b);
    ck_assert_uint_eq(left_of(f.context, named("")), 5u << 19);
    ck_assert_msg(eng_instance_create(plan, &a, 1, &instance) == ENG_OK, "%s", eng_last_error());
    ck_assert_uint_eq(left_of(f.context, named("")), 1u << 20);
    eng_instance_destroy(instance);
    ck_assert_uint_eq(left_of(f.context, named("")), 5u << 19);
    eng_plan_release(plan);
    eng_graph_destroy(g);
    eng_store_destroy(a);
    close_all(f);
}
END_TEST

/* One tensor in two slots: what is stored by one name is read by the other, in whatever launches. */
START_TEST(two_names_are_one_memory)
{
    enum { D = 32, ROWS = 2, HEADS = 2 };
    fixture f = open_with(named(""), NULL);
    eng_store_tensor t[] = {declare("cache", ENG_TYPE_F32, ENG_USE_CACHE, D, ROWS, HEADS),
                            declare("x", ENG_TYPE_F32, ENG_USE_INPUT, D, ROWS, HEADS),
                            declare("ids", ENG_TYPE_I32, ENG_USE_INPUT, ROWS, 1, 1),
                            declare("y", ENG_TYPE_F32, ENG_USE_OUTPUT, D, ROWS, HEADS)};
    float x[D * ROWS * HEADS], y[2][D * ROWS * HEADS];
    const int32_t ids[ROWS] = {1, 0};
    for (int i = 0; i < D * ROWS * HEADS; i++)
        x[i] = (float)(1 + i % 5);
    for (uint32_t slots = 1; slots <= 2; slots++) {
        eng_store *store, *bound[2];
        eng_graph *g;
        eng_plan *plan;
        eng_instance *instance;
        eng_queue *queue;
        eng_fence fence;
        ck_assert_int_eq(eng_store_create(f.device, t, 4, &store), ENG_OK);
        ck_assert_int_eq(eng_graph_create(f.context, 0, &g), ENG_OK);
        eng_value cache = eng_graph_tensor(g, 0, store, 0);
        eng_value other = slots == 2 ? eng_graph_tensor(g, 1, store, 0) : cache;
        eng_set_rows(g, cache, eng_graph_tensor(g, 0, store, 1), eng_graph_tensor(g, 0, store, 2));
        eng_store_value(g, eng_graph_tensor(g, 0, store, 3), eng_rms_norm(g, other, ENG_NO_VALUE, 1e-6));
        ck_assert_msg(eng_graph_seal(g) == ENG_OK && eng_plan_create(f.device, g, &plan) == ENG_OK, "%s", eng_last_error());
        bound[0] = bound[1] = store;
        ck_assert_msg(eng_instance_create(plan, bound, slots, &instance) == ENG_OK, "%s", eng_last_error());
        ck_assert_int_eq(eng_queue_create(f.device, &queue), ENG_OK);
        ck_assert_int_eq(eng_store_write(store, 1, 0, sizeof x, x), ENG_OK);
        ck_assert_int_eq(eng_store_write(store, 2, 0, sizeof ids, ids), ENG_OK);
        ck_assert_int_eq(eng_queue_submit(queue, NULL, 0, instance, NULL, 0, &fence), ENG_OK);
        ck_assert_int_eq(eng_fence_wait(fence, UINT64_MAX), ENG_OK);
        ck_assert_int_eq(eng_store_read(store, 3, 0, sizeof y[0], y[slots - 1]), ENG_OK);
        eng_queue_destroy(queue);
        eng_instance_destroy(instance);
        eng_plan_release(plan);
        eng_graph_destroy(g);
        eng_store_destroy(store);
    }
    ck_assert(y[0][0] > 0.5f);
    ck_assert_mem_eq(y[0], y[1], sizeof y[0]);
    close_all(f);
}
END_TEST

/* A tensor without elements, of which the host has the address. */
START_TEST(nothing_is_used_in_place)
{
    static float memory[16] __attribute__((aligned(64)));
    fixture f = open_with(named(""), NULL);
    eng_store_tensor t = declare("none", ENG_TYPE_F32, ENG_USE_WEIGHT, 4, 0, 1);
    eng_store *store;
    t.data = memory;
    ck_assert_msg(eng_store_create(f.device, &t, 1, &store) == ENG_OK, "%s", eng_last_error());
    eng_store_destroy(store);
    close_all(f);
}
END_TEST

void opencl_memory(TCase *tests)
{
    tcase_add_test(tests, two_names_are_one_memory);
    tcase_add_test(tests, nothing_is_used_in_place);
    tcase_add_test(tests, pieces_move_exactly);
    tcase_add_test(tests, memory_is_not_promised_twice);
    tcase_add_test(tests, memory_is_one_for_all_openings);
    tcase_add_test(tests, scratch_is_not_promised_either);
}
