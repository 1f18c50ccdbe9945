/*
 * Ops of which all results are zeros, since they have no sequence, no state or no expert: they are written, where another
 * value was before them in the same scratch memory.  On opencl:0, or on the device that ENG_TEST_OPENCL names, and on cpu.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

#include "../tap.h"

enum { KEYS = 32, HEADS = 2, TOKENS = 3, CELLS = KEYS * HEADS * TOKENS, INPUTS = 9, DIRT = INPUTS, RESULT, TENSORS };

typedef struct op {
    const char *name;
    int64_t in[INPUTS][4]; /* extents; 0 at [0] and [1]: nothing of that       */
    unsigned n, words;     /* inputs; of these the numbers of tensors, by bits */
} op;

static const op ops[] = {
    {"gated_delta_net without sequences",
     {{KEYS, HEADS, TOKENS, 1}, {KEYS, HEADS, TOKENS, 1}, {KEYS, HEADS, TOKENS, 1}, {1, HEADS, TOKENS, 1}, {HEADS, TOKENS, 1, 1},
      {KEYS, KEYS, HEADS, 2}, {0, 1, 1, 1}, {1, 0, 1, 1}, {1, 1, 1, 1}}, 9, 0x1c0},
    {"ssm_scan without sequences",
     {{KEYS, HEADS, TOKENS, 1}, {HEADS, TOKENS, 1, 1}, {1, HEADS, 1, 1}, {16, 1, TOKENS, 1}, {16, 1, TOKENS, 1},
      {16, KEYS, HEADS, 2}, {0, 1, 1, 1}, {1, 0, 1, 1}, {1, 1, 1, 1}}, 9, 0x1c0},
    {"ssm_scan without states",
     {{KEYS, HEADS, TOKENS, 1}, {HEADS, TOKENS, 1, 1}, {1, HEADS, 1, 1}, {0, 1, TOKENS, 1}, {0, 1, TOKENS, 1},
      {0, KEYS, HEADS, 2}, {1, 1, 1, 1}, {1, 1, 1, 1}, {2, 1, 1, 1}}, 9, 0x1c0},
    {"ssm_conv without sequences",
     {{KEYS * HEADS, TOKENS, 1, 1}, {4, KEYS * HEADS, 1, 1}, {3, KEYS * HEADS, 2, 1}, {0, 1, 1, 1}, {1, 0, 1, 1}, {1, 1, 1, 1}}, 6, 0x38},
    {"mul_mat_id without experts", {{64, KEYS, 0, 1}, {64, 1, TOKENS, 1}, {HEADS, TOKENS, 1, 1}}, 3, 0x4},
};

static eng_value apply(eng_graph *g, const op *o, const eng_value *v)
{
    if (o->n == 3)
        return eng_mul_mat_id(g, v[0], v[1], v[2]);
    if (o->n == 6)
        return eng_ssm_conv(g, v[0], v[1], v[2], v[3], v[4], v[5], 1);
    return strstr(o->name, "scan") ? eng_ssm_scan(g, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], 1) :
                                     eng_gated_delta_net(g, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], 0, 1);
}

static int declare(eng_device *device, const op *o, eng_store **store)
{
    eng_store_tensor t[TENSORS];
    for (unsigned i = 0; i < TENSORS; i++) {
        const bool operand = i < o->n;
        t[i] = (eng_store_tensor){.size = sizeof *t, .type = operand && o->words >> i & 1 ? ENG_TYPE_I32 : ENG_TYPE_F32, .rank = 4,
                                  .use = i == RESULT || i == DIRT ? ENG_USE_STATE : ENG_USE_INPUT, .name = "t", .layer = -1};
        for (unsigned d = 0; d < 4; d++)
            t[i].ne[d] = operand ? o->in[i][d] : d == 0 && i >= DIRT ? CELLS : 1;
    }
    t[o->n == 9 ? 5 : o->n == 6 ? 2 : 0].use = o->n == 3 ? ENG_USE_WEIGHT : ENG_USE_STATE;
    return eng_store_create(device, t, TENSORS, store);
}

/* Twice, so that the scratch memory has what the first run left. */
static int run(eng_context *context, eng_device *device, const op *o, float *result)
{
    static float dirt[CELLS];
    eng_store *store = NULL;
    eng_graph *g = NULL;
    eng_plan *plan = NULL;
    eng_instance *instance = NULL;
    eng_queue *queue = NULL;
    eng_value v[TENSORS];
    for (int i = 0; i < CELLS; i++)
        dirt[i] = (float)(i + 1);
    int status = declare(device, o, &store);
    if (!status)
        status = eng_graph_create(context, 0, &g);
    for (uint32_t i = 0; i < TENSORS && !status; i++)
        v[i] = eng_graph_tensor(g, 0, store, i);
    for (int i = 0; i < 6 && !status; i++)
        eng_store_value(g, v[DIRT], eng_unary(g, v[DIRT], ENG_UNARY_ABS));
    if (!status) {
        eng_value y = apply(g, o, v);
        eng_store_value(g, v[RESULT], eng_reshape(g, y, (const int64_t[]){CELLS}, 1));
        status = eng_graph_seal(g);
    }
    if (!status)
        status = eng_plan_create(device, g, &plan);
    if (!status)
        status = eng_instance_create(plan, &store, 1, &instance);
    if (!status)
        status = eng_queue_create(device, &queue);
    if (!status)
        status = eng_store_write(store, DIRT, 0, sizeof dirt, dirt);
    for (int i = 0; i < 2 && !status; i++) {
        eng_fence fence;
        status = eng_queue_submit(queue, NULL, 0, instance, NULL, 0, &fence);
        if (!status)
            status = eng_fence_wait(fence, UINT64_MAX);
    }
    if (!status)
        status = eng_store_read(store, RESULT, 0, sizeof dirt, result);
    eng_queue_destroy(queue);
    eng_instance_destroy(instance);
    eng_plan_release(plan);
    eng_graph_destroy(g);
    eng_store_destroy(store);
    return status;
}

static void check(eng_context *context, const char *name)
{
    eng_device *device;
    if (eng_device_open(context, name, &device) != ENG_OK) {
        printf("# %s\n", eng_last_error());
        return;
    }
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        float result[CELLS];
        unsigned written = 0;
        const int status = run(context, device, &ops[i], result);
        for (int k = 0; k < CELLS && !status; k++)
            written += result[k] == 0;
        tap_check(!status && written == CELLS, "%s, %s: %u of %d results are zeros%s%s", name, ops[i].name, written, CELLS,
                  status ? ": " : "", status ? eng_last_error() : "");
    }
    eng_device_close(device);
}

int main(void)
{
    eng_context *context = tap_begin();
    const char *device = getenv("ENG_TEST_OPENCL");
    if (context) {
        check(context, device && *device ? device : "opencl:0");
        check(context, "cpu");
    }
    return tap_end(context);
}
