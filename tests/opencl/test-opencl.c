/*
 * The opencl plugin beyond what the conformance suite sees op by op: tensors in
 * pieces, fused chains, queues, the cache of binaries, families, parts, errors.
 * Runs on opencl:0, or on the device that ENG_TEST_OPENCL names; skipped where there is none.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fixture.h"

START_TEST(a_wait_can_end_before_the_work)
{
    fixture f = open_with(named(""), NULL);
    eng_store_tensor t = declare("t", ENG_TYPE_F32, ENG_USE_STATE, 1 << 20, 8, 1);
    eng_store *store;
    eng_queue *queue;
    eng_fence fence;
    float *data = calloc(8u << 20, 4);
    ck_assert_int_eq(eng_store_create(f.device, &t, 1, &store), ENG_OK);
    ck_assert_int_eq(eng_queue_create(f.device, &queue), ENG_OK);
    /* more submissions than a queue notes at once */
    for (int i = 0; i < 200; i++)
        ck_assert_int_eq(eng_queue_write(queue, NULL, 0, store, 0,
                                         (const eng_region[]){eng_range(data, (uint64_t)i * 4, 4)}, 1, &fence), ENG_OK);
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(eng_queue_write(queue, NULL, 0, store, 0,
                                         (const eng_region[]){eng_range(data, 0, 32u << 20)}, 1, &fence), ENG_OK);
    int status = eng_fence_wait(fence, 0);
    ck_assert(status == ENG_OK || status == ENG_ERR_TIMEOUT);
    ck_assert_int_eq(eng_fence_wait(fence, UINT64_C(60000000000)), ENG_OK);
    ck_assert_int_eq(eng_fence_wait(fence, 0), ENG_OK);
    eng_queue_destroy(queue);
    eng_store_destroy(store);
    free(data);
    close_all(f);
}
END_TEST

/* What a plan keeps for itself (here the frequencies of rope) is there when it first runs: a new
 * plan and one run at once, many times. */
START_TEST(constants_are_there_at_once)
{
    fixture f = open_with(named(""), NULL);
    eng_store_tensor t[3] = {declare("x", ENG_TYPE_F32, ENG_USE_INPUT, 2, 1, 1),
                             declare("pos", ENG_TYPE_I32, ENG_USE_INPUT, 1, 1, 1),
                             declare("y", ENG_TYPE_F32, ENG_USE_OUTPUT, 2, 1, 1)};
    const float x[2] = {1, 0};
    const int32_t pos = 1;
    eng_store *store;
    eng_queue *queue;
    ck_assert_msg(eng_store_create(f.device, t, 3, &store) == ENG_OK, "%s", eng_last_error());
    ck_assert_int_eq(eng_queue_create(f.device, &queue), ENG_OK);
    ck_assert_int_eq(eng_store_write(store, 0, 0, sizeof x, x), ENG_OK);
    ck_assert_int_eq(eng_store_write(store, 1, 0, sizeof pos, &pos), ENG_OK);
    for (int i = 0; i < 64; i++) {
        const int64_t ip[ENG_MAX_IPARAMS] = {[ENG_ROPE_N_DIMS] = 2, [ENG_ROPE_N_CTX_ORIG] = 64};
        const double fp[ENG_MAX_FPARAMS] = {[ENG_ROPE_BASE] = 10000, [ENG_ROPE_FREQ_SCALE] = 1 + i,
                                            [ENG_ROPE_ATTN_FACTOR] = 1};
        float y[2] = {0};
        eng_graph *g;
        eng_plan *plan;
        eng_instance *instance;
        eng_fence fence;
        ck_assert_int_eq(eng_graph_create(f.context, 0, &g), ENG_OK);
        const eng_value in[2] = {eng_graph_tensor(g, 0, store, 0),
                                 eng_reshape(g, eng_graph_tensor(g, 0, store, 1), (const int64_t[]){1}, 1)};
        eng_value turned;
        eng_graph_op(g, ENG_OP_ROPE, in, 2, ip, ENG_MAX_IPARAMS, fp, ENG_MAX_FPARAMS, &turned);
        eng_store_value(g, eng_graph_tensor(g, 0, store, 2), turned);
        ck_assert_msg(eng_graph_seal(g) == ENG_OK, "%s", eng_last_error());
        ck_assert_msg(eng_plan_create(f.device, g, &plan) == ENG_OK, "%s", eng_last_error());
        ck_assert_int_eq(eng_instance_create(plan, &store, 1, &instance), ENG_OK);
        ck_assert_int_eq(eng_queue_submit(queue, NULL, 0, instance, NULL, 0, &fence), ENG_OK);
        ck_assert_int_eq(eng_queue_read(queue, NULL, 0, store, 2,
                                        (const eng_region[]){eng_range(y, 0, sizeof y)}, 1, &fence), ENG_OK);
        ck_assert_int_eq(eng_fence_wait(fence, UINT64_MAX), ENG_OK);
        ck_assert_float_eq_tol(y[0], cos(1 + i), 1e-4);
        ck_assert_float_eq_tol(y[1], sin(1 + i), 1e-4);
        eng_instance_destroy(instance);
        eng_plan_release(plan);
        eng_graph_destroy(g);
    }
    eng_queue_destroy(queue);
    eng_store_destroy(store);
    close_all(f);
}
END_TEST

START_TEST(parts_are_devices)
{
    const char *const names[] = {named("/2.0"), named("/2.1"), named("/7.6")};
    for (int i = 0; i < 3; i++) {
        fixture f = open_with(names[i], NULL);
        eng_device_info info = {.size = sizeof info};
        ck_assert_int_eq(eng_device_get_info(f.device, &info), ENG_OK);
        ck_assert_str_eq(info.name, names[i]);
        ck_assert_uint_ge(info.compute_units, 1);
        close_all(f);
    }
}
END_TEST

static int usable(void)
{
    eng_context *context;
    eng_device *device;
    int status = eng_context_create(NULL, &context);
    if (status == ENG_OK) {
        status = eng_device_open(context, named(""), &device);
        if (status == ENG_OK)
            eng_device_close(device);
        eng_context_destroy(context);
    }
    return status == ENG_OK;
}

int main(void)
{
    if (!usable()) {
        printf("1..0 # SKIP no OpenCL device: %s\n", eng_last_error());
        return 0;
    }
    Suite *suite = suite_create("opencl");
    TCase *tests = tcase_create("opencl");
    /* the first builds of a device's compiler take seconds */
    tcase_set_timeout(tests, 300);
    opencl_memory(tests);
    opencl_chains(tests);
    opencl_told(tests);
    tcase_add_test(tests, a_wait_can_end_before_the_work);
    tcase_add_test(tests, constants_are_there_at_once);
    tcase_add_test(tests, parts_are_devices);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    /* compilers of OpenCL drivers do not survive a fork */
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
