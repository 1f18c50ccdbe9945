/*
 * What the opencl plugin encodes, in both families and by way of quantize and of set_rows, has the bytes that the cpu
 * plugin gives, whatever the numbers are.  (The conformance suite tolerates a step in each value.)
 * On opencl:0, or on the device that ENG_TEST_OPENCL names; skipped where there is none, or no cpu plugin.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

#include "../tap.h"

enum { N = 768, ROWS = 48 };

static const struct { uint32_t type; unsigned block, bytes; const char *name; } types[] = {
    {ENG_TYPE_Q4_0, 32, 18, "q4_0"},      {ENG_TYPE_Q4_1, 32, 20, "q4_1"},   {ENG_TYPE_Q5_0, 32, 22, "q5_0"},
    {ENG_TYPE_Q5_1, 32, 24, "q5_1"},      {ENG_TYPE_Q8_0, 32, 34, "q8_0"},   {ENG_TYPE_IQ4_NL, 32, 18, "iq4_nl"},
    {ENG_TYPE_MXFP4, 32, 17, "mxfp4"},    {ENG_TYPE_NVFP4, 64, 36, "nvfp4"}, {ENG_TYPE_Q2_K, 256, 84, "q2_K"},
    {ENG_TYPE_Q3_K, 256, 110, "q3_K"},    {ENG_TYPE_Q4_K, 256, 144, "q4_K"}, {ENG_TYPE_Q5_K, 256, 176, "q5_K"},
    {ENG_TYPE_Q6_K, 256, 210, "q6_K"},    {ENG_TYPE_IQ4_XS, 256, 136, "iq4_xs"},
};
enum { TYPES = sizeof types / sizeof *types };

static uint64_t next(uint64_t *s)
{
    return (*s = *s * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407)) >> 16;
}

/* Rows of eight kinds by turns: blocks of different sizes; ties; zeros of both signs; one sign; any bits; sizes far
 * apart; next to the smallest and to the largest that blocks hold. */
static void fill(float *x)
{
    uint64_t s = 11;
    for (size_t i = 0; i < (size_t)N * ROWS; i++) {
        double sum = 0;
        for (int k = 0; k < 4; k++)
            sum += (double)next(&s) * 0x1p-48 - 0.5;
        const uint32_t bits = (uint32_t)next(&s);
        float v = (float)ldexp(sum, (int)(i / 32 % 16) - 6);
        switch (i / N % 8) {
        case 1: v = i % 32 ? 0.5f * (float)((int)(bits >> 8) % 31 - 15) : 127; break;
        case 2: v = bits >> 30 ? (bits & 4096 ? 0.0f : -0.0f) : bits >> 25 ? 0.0f : v; break;
        case 3: v = fabsf(v); break;
        case 4: memcpy(&v, &bits, 4); break;
        case 5: v = ldexpf(v, (int)(bits >> 8) % 60 - 30); break;
        case 6: v = ldexpf(v, -24 - (int)(i / 32 % 4) * 30); break;
        case 7: v = ldexpf(v, 8 + (int)(bits >> 8) % 16); break;
        default: break;
        }
        x[i] = v;
    }
}

static eng_store_tensor declare(const char *name, uint32_t type, uint32_t use, int64_t n, int64_t rows)
{
    return (eng_store_tensor){.size = sizeof(eng_store_tensor), .type = type, .rank = 2, .use = use, .ne = {n, rows},
                              .name = name, .layer = -1};
}

/* What the device makes of x: quantised, or put into rows of a cache in reverse order. */
static bool encode(eng_context *context, eng_device *device, uint32_t type, bool rows, const float *x,
                   unsigned char *out)
{
    const eng_store_tensor t[] = {declare("x", ENG_TYPE_F32, ENG_USE_INPUT, N, ROWS),
                                  declare("ids", ENG_TYPE_I32, ENG_USE_INPUT, ROWS, 1),
                                  declare("y", type, rows ? ENG_USE_CACHE : ENG_USE_OUTPUT, N, ROWS)};
    int32_t ids[ROWS];
    eng_store *store = NULL;
    eng_graph *g = NULL;
    eng_plan *plan = NULL;
    eng_instance *instance = NULL;
    eng_queue *queue = NULL;
    eng_fence fence;
    for (int i = 0; i < ROWS; i++)
        ids[i] = ROWS - 1 - i;
    bool good = !eng_store_create(device, t, 3, &store) &&
                !eng_store_write(store, 0, 0, eng_store_bytes(store, 0), x) &&
                !eng_store_write(store, 1, 0, sizeof ids, ids) && !eng_graph_create(context, 0, &g);
    if (good) {
        const eng_value from = eng_graph_tensor(g, 0, store, 0), to = eng_graph_tensor(g, 0, store, 2);
        if (rows)
            eng_set_rows(g, to, from, eng_graph_tensor(g, 0, store, 1));
        else
            eng_store_value(g, to, eng_quantize(g, from, type, 0));
        good = !eng_graph_seal(g) && !eng_plan_create(device, g, &plan) &&
               !eng_instance_create(plan, &store, 1, &instance) &&
               !eng_queue_create(device, &queue) && !eng_queue_submit(queue, NULL, 0, instance, NULL, 0, &fence) &&
               !eng_fence_wait(fence, UINT64_MAX) && !eng_store_read(store, 2, 0, eng_store_bytes(store, 2), out);
    }
    if (!good)
        printf("# %s\n", eng_last_error());
    eng_queue_destroy(queue);
    eng_instance_destroy(instance);
    eng_plan_release(plan);
    eng_graph_destroy(g);
    eng_store_destroy(store);
    return good;
}

static void compare(eng_context *contexts[2], eng_device *devices[2], const char *family, const float *x)
{
    static unsigned char got[4 * N * ROWS], want[4 * N * ROWS];
    for (int t = 0; t < TYPES; t++)
        for (int rows = types[t].block == 256; rows < 2; rows++) { /* blocks of 256 go one way in both ops */
            const unsigned size = types[t].bytes, blocks = N * ROWS / types[t].block;
            bool good = encode(contexts[0], devices[0], types[t].type, rows, x, want) &&
                        encode(contexts[1], devices[1], types[t].type, rows, x, got);
            unsigned other = 0, first = 0;
            for (unsigned b = blocks; good && b--;)
                if (memcmp(got + (size_t)b * size, want + (size_t)b * size, size))
                    first = b, other++;
            tap_check(good && !other, "%s, %s, %s: %u blocks of %u have other bytes than on cpu, the first is %u",
                      types[t].name, rows ? "set_rows" : "quantize", family, other, blocks, first);
        }
}

int main(void)
{
    static float x[N * ROWS];
    const char *named = getenv("ENG_TEST_OPENCL"), *name = named && *named ? named : "opencl:0";
    eng_context *contexts[2] = {tap_begin(), NULL};
    eng_device *devices[2] = {NULL, NULL};
    if (!contexts[0])
        return tap_end(NULL);
    if (eng_device_open(contexts[0], "cpu", &devices[0]) || eng_device_open(contexts[0], name, &devices[1])) {
        tap_check(true, "# SKIP %s", eng_last_error());
        eng_device_close(devices[0]);
        return tap_end(contexts[0]);
    }
    eng_device_close(devices[1]);
    fill(x);
    for (int f = 0; f < 2; f++) {
        const char *family = f ? "simt" : "vec";
        if (eng_context_create(NULL, &contexts[1]) || eng_context_set_option(contexts[1], "opencl.family", family) ||
            eng_device_open(contexts[1], name, &devices[1]))
            tap_check(false, "%s with family %s: %s", name, family, eng_last_error());
        else
            compare(contexts, devices, family, x);
        eng_device_close(devices[1]);
        eng_context_destroy(contexts[1]);
    }
    eng_device_close(devices[0]);
    return tap_end(contexts[0]);
}
