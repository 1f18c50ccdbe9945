/*
 * What is right but slow on a device is answered so, with the reason, and computed all the same.  The interposer makes the
 * device say that it has less than it has.  On opencl:0, or on the device that ENG_TEST_OPENCL names; skipped where
 * there is none.
 */
#include "config.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

#include "../tap.h"
#include "interposer.h"

enum { N = 8000, K = 100, DEPTH = 70, ROWS = 80, COLUMNS = 33, EXPERTS = 4 };

static const char *device_name(void)
{
    const char *name = getenv("ENG_TEST_OPENCL");
    return name && *name ? name : "opencl:0";
}

typedef eng_value (*build)(eng_graph *g, const eng_value *in);

static eng_value choose(eng_graph *g, const eng_value *in)
{
    return eng_top_k(g, in[0], K);
}

static eng_value multiply(eng_graph *g, const eng_value *in)
{
    return eng_mul_mat(g, in[0], in[1]);
}

static eng_value multiply_by_experts(eng_graph *g, const eng_value *in)
{
    const int64_t experts[] = {DEPTH, ROWS / EXPERTS, EXPERTS}, tokens[] = {DEPTH, 1, COLUMNS};
    const eng_value ids = eng_top_k(g, eng_slice(g, in[1], 0, 0, EXPERTS), 1);
    const int64_t flat[] = {ROWS / EXPERTS, COLUMNS};
    return eng_reshape(g, eng_mul_mat_id(g, eng_reshape(g, in[0], experts, 3), eng_reshape(g, in[1], tokens, 3), ids),
                       flat, 2);
}

static eng_store_tensor declare(const char *name, uint32_t type, uint32_t use, int64_t n0, int64_t n1)
{
    return (eng_store_tensor){.size = sizeof(eng_store_tensor), .type = type, .rank = 2, .use = use, .ne = {n0, n1},
                              .name = name, .layer = -1};
}

/* Asks a device that is opened now about each node of `result` = op(two operands), up to the first that it does not run
 * well, and computes it.  False: a call failed. */
static bool ask(const char *family, const eng_store_tensor *t, build op, eng_support *answer, char *reason,
                size_t reason_bytes, void *result)
{
    eng_context *context = NULL;
    eng_device *device = NULL;
    eng_store *store = NULL;
    eng_graph *g = NULL;
    eng_plan *plan = NULL;
    eng_instance *instance = NULL;
    eng_queue *queue = NULL;
    eng_fence fence;
    float data[N];
    for (int i = 0; i < N; i++)
        data[i] = (float)((i * 7919) % 1009 - 500) / 64;
    bool good = !eng_context_create(NULL, &context) && !eng_context_set_option(context, "opencl.family", family) &&
                !eng_device_open(context, device_name(), &device) && !eng_store_create(device, t, 3, &store) &&
                !eng_graph_create(context, 0, &g);
    for (uint32_t i = 0; good && i < 2; i++)
        good = !eng_store_write(store, i, 0, eng_store_bytes(store, i), data);
    if (good) {
        eng_value v[3];
        for (uint32_t i = 0; i < 3; i++)
            v[i] = eng_graph_tensor(g, 0, store, i);
        eng_store_value(g, v[2], op(g, v));
        good = !eng_graph_seal(g);
        *answer = ENG_SUPPORT_YES;
        reason[0] = '\0';
        for (uint32_t i = 0; *answer == ENG_SUPPORT_YES; i++)
            if (eng_device_supports(device, g, i, answer, reason, reason_bytes) != ENG_OK)
                break; /* that was the last */
    }
    good = good && !eng_plan_create(device, g, &plan) && !eng_instance_create(plan, &store, 1, &instance) &&
           !eng_queue_create(device, &queue) && !eng_queue_submit(queue, NULL, 0, instance, NULL, 0, NULL) &&
           !eng_queue_read(queue, NULL, 0, store, 2,
                           (const eng_region[]){eng_range(result, 0, eng_store_bytes(store, 2))}, 1, &fence) &&
           !eng_fence_wait(fence, UINT64_MAX);
    if (!good)
        printf("# %s\n", eng_last_error());
    eng_queue_destroy(queue);
    eng_instance_destroy(instance);
    eng_plan_release(plan);
    eng_graph_destroy(g);
    eng_store_destroy(store);
    eng_device_close(device);
    eng_context_destroy(context);
    return good;
}

static void without_memory_to_sort(void)
{
    const eng_store_tensor t[3] = {declare("x", ENG_TYPE_F32, ENG_USE_INPUT, N, 1),
                                   declare("unused", ENG_TYPE_F32, ENG_USE_INPUT, 1, 1),
                                   declare("y", ENG_TYPE_I32, ENG_USE_OUTPUT, K, 1)};
    static int32_t sorted[K], chosen[K];
    eng_support answer = ENG_SUPPORT_NO;
    char reason[400] = "";
    interposer_reset();
    bool good = ask("auto", t, choose, &answer, reason, sizeof reason, sorted);
    tap_check(good && answer == ENG_SUPPORT_YES, "top_k of many: yes %s", reason);
    interposer_answer(CL_DEVICE_MAX_MEM_ALLOC_SIZE, 65536);
    good = ask("auto", t, choose, &answer, reason, sizeof reason, chosen);
    tap_check(good && answer == ENG_SUPPORT_SLOW && strstr(reason, "sorting"), "without memory to sort in: slow: %s", reason);
    tap_check(good && !memcmp(sorted, chosen, sizeof sorted), "and the same");
}

static void without_tiles(const char *what, build op, int64_t rows)
{
    eng_store_tensor t[3] = {declare("a", ENG_TYPE_F32, ENG_USE_WEIGHT, DEPTH, ROWS),
                             declare("b", ENG_TYPE_F32, ENG_USE_INPUT, DEPTH, COLUMNS),
                             declare("y", ENG_TYPE_F32, ENG_USE_OUTPUT, rows, COLUMNS)};
    static float by_tiles[ROWS * COLUMNS], by_rows[ROWS * COLUMNS];
    eng_support answer = ENG_SUPPORT_NO;
    char reason[400] = "";
    double worst = 0;
    interposer_reset();
    bool good = ask("simt", t, op, &answer, reason, sizeof reason, by_tiles);
    if (!tap_check(good && answer == ENG_SUPPORT_YES, "%s in groups of 256: yes %s", what, reason))
        return;
    interposer_answer(CL_DEVICE_MAX_WORK_GROUP_SIZE, 128);
    good = ask("simt", t, op, &answer, reason, sizeof reason, by_rows);
    tap_check(good && answer == ENG_SUPPORT_SLOW && strstr(reason, "256"), "in groups of 128: slow: %s", reason);
    for (int64_t i = 0; i < rows * COLUMNS; i++)
        worst = fmax(worst, fabs((double)by_tiles[i] - (double)by_rows[i]));
    tap_check(good && worst < 1e-2, "and the same to %g", worst);
}

/* Few columns need no tiles. */
static void few_columns(void)
{
    const eng_store_tensor t[3] = {declare("a", ENG_TYPE_F32, ENG_USE_WEIGHT, DEPTH, ROWS),
                                   declare("b", ENG_TYPE_F32, ENG_USE_INPUT, DEPTH, 2),
                                   declare("y", ENG_TYPE_F32, ENG_USE_OUTPUT, ROWS, 2)};
    float y[ROWS * 2];
    eng_support answer = ENG_SUPPORT_NO;
    char reason[400] = "";
    interposer_reset();
    interposer_answer(CL_DEVICE_MAX_WORK_GROUP_SIZE, 128);
    bool good = ask("simt", t, multiply, &answer, reason, sizeof reason, y);
    tap_check(good && answer == ENG_SUPPORT_YES, "a product of two columns: yes %s", reason);
}

int main(void)
{
    eng_context *context = tap_begin();
    eng_device *device = NULL;
    if (context == NULL || eng_device_open(context, device_name(), &device) != ENG_OK) {
        printf("1..0 # SKIP no OpenCL device: %s\n", eng_last_error());
        eng_context_destroy(context);
        return 0;
    }
    eng_device_close(device);
    without_memory_to_sort();
    without_tiles("a product", multiply, ROWS);
    without_tiles("a product with experts", multiply_by_experts, ROWS / EXPERTS);
    few_columns();
    return tap_end(context);
}
