/*
 * Types whose encoding is a formula: the cpu plugin gives the very bytes that the formula gives,
 * as other makers of the same files do.  (The conformance suite tolerates a step in each value.)
 * And every type has the same bytes in every variant of the plugin, whatever the numbers are.
 */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../reference/ref.h"
#include "engine/engine.h"

#define N 1280 /* 5 blocks of 256: where two go at once, one is left */
#define ROWS 128

static const uint32_t types[] = {ENG_TYPE_Q4_0, ENG_TYPE_Q4_1, ENG_TYPE_Q5_0,   ENG_TYPE_Q5_1,
                                 ENG_TYPE_Q8_0, ENG_TYPE_MXFP4, ENG_TYPE_F16, ENG_TYPE_BF16};
#define N_TYPES (sizeof types / sizeof *types)

/* Gaussian-like values whose blocks differ in magnitude: 2^-6 to 2^9. */
static void fill(float *x, uint64_t seed)
{
    uint64_t s = seed * 2 + 1;
    for (size_t i = 0; i < (size_t)N * ROWS; i++) {
        double sum = 0;
        for (int k = 0; k < 4; k++) {
            s = s * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            sum += (double)(s >> 11) * 0x1p-53 - 0.5;
        }
        x[i] = (float)ldexp(sum, (int)(i / 32 % 16) - 6);
    }
}

/* What the device makes of x. */
static void encode(eng_context *context, eng_device *device, uint32_t type, const float *x, unsigned char *out)
{
    eng_store_tensor t[] = {
        {.size = sizeof *t, .type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_INPUT, .ne = {N, ROWS}, .name = "x", .layer = -1},
        {.size = sizeof *t, .type = type, .rank = 2, .use = ENG_USE_OUTPUT, .ne = {N, ROWS}, .name = "y", .layer = -1}};
    eng_store *store;
    eng_graph *g;
    eng_plan *plan;
    eng_instance *instance;
    eng_queue *queue;
    eng_fence fence;
    ck_assert_int_eq(eng_store_create(device, t, 2, &store), ENG_OK);
    ck_assert_int_eq(eng_store_write(store, 0, 0, eng_store_bytes(store, 0), x), ENG_OK);
    ck_assert_int_eq(eng_graph_create(context, 0, &g), ENG_OK);
    eng_value y = eng_quantize(g, eng_graph_tensor(g, 0, store, 0), type, 0);
    eng_store_value(g, eng_graph_tensor(g, 0, store, 1), y);
    ck_assert_msg(eng_graph_seal(g) == ENG_OK, "%s", eng_last_error());
    ck_assert_msg(eng_plan_create(device, g, &plan) == ENG_OK, "%s", eng_last_error());
    ck_assert_int_eq(eng_instance_create(plan, &store, 1, &instance), ENG_OK);
    ck_assert_int_eq(eng_queue_create(device, &queue), ENG_OK);
    ck_assert_int_eq(eng_queue_submit(queue, NULL, 0, instance, NULL, 0, &fence), ENG_OK);
    ck_assert_int_eq(eng_fence_wait(fence, UINT64_MAX), ENG_OK);
    ck_assert_int_eq(eng_store_read(store, 1, 0, eng_store_bytes(store, 1), out), ENG_OK);
    eng_queue_destroy(queue);
    eng_instance_destroy(instance);
    eng_plan_release(plan);
    eng_graph_destroy(g);
    eng_store_destroy(store);
}

/* A device of its own context; NULL: the machine lacks the variant. */
static eng_device *open_variant(const char *simd, eng_context **context)
{
    eng_device *device = NULL;
    ck_assert_int_eq(eng_context_create(NULL, context), ENG_OK);
    ck_assert_int_eq(eng_context_set_option(*context, "cpu.simd", simd), ENG_OK);
    if (eng_device_open(*context, "cpu", &device) != ENG_OK) {
        ck_assert_msg(strstr(eng_last_error(), "lacks it") != NULL, "%s", eng_last_error());
        ck_assert_int_eq(eng_context_destroy(*context), ENG_OK);
        return NULL;
    }
    return device;
}

static const uint32_t all_types[] = {
    ENG_TYPE_Q4_0,   ENG_TYPE_Q4_1,  ENG_TYPE_Q5_0,  ENG_TYPE_Q5_1, ENG_TYPE_Q8_0, ENG_TYPE_IQ4_NL,
    ENG_TYPE_IQ4_XS, ENG_TYPE_MXFP4, ENG_TYPE_NVFP4, ENG_TYPE_Q2_K, ENG_TYPE_Q3_K, ENG_TYPE_Q4_K,
    ENG_TYPE_Q5_K,   ENG_TYPE_Q6_K,  ENG_TYPE_F16,   ENG_TYPE_BF16};
#define N_ALL (sizeof all_types / sizeof *all_types)

/* Rows of eight kinds by turns: as `fill`; ties; zeros of both signs; one sign; any bits; sizes far apart; next to the
 * smallest and to the largest that blocks hold. */
static void fill_hostile(float *x, uint64_t seed)
{
    uint64_t s = seed * 2 + 1;
    fill(x, seed);
    for (size_t i = 0; i < (size_t)N * ROWS; i++) {
        s = s * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const uint32_t bits = (uint32_t)(s >> 32);
        switch (i / N % 8) {
        case 1: /* with scales of q8_0 of one: on the ties and below them */
            x[i] = i % 32 ? 0.5f * (float)((int)(bits >> 8) % 31 - 15) : 127;
            x[i] = bits >> 31 ? nextafterf(x[i], 0) : x[i];
            break;
        case 2: x[i] = bits >> 30 ? (bits & 4096 ? 0.0f : -0.0f) : bits >> 25 ? 0.0f : x[i]; break;
        case 3: x[i] = fabsf(x[i]); break;
        case 4: memcpy(&x[i], &bits, 4); break;
        case 5: x[i] = ldexpf(x[i], (int)(bits >> 8) % 60 - 30); break;
        case 6: x[i] = ldexpf(x[i], -24 - (int)(i / 32 % 4) * 30); break;
        case 7: x[i] = ldexpf(x[i], 8 + (int)(bits >> 8) % 16); break;
        default: break;
        }
    }
}

START_TEST(variants)
{
    static const char *const others[] = {"avx2", "avx512", "neon"};
    static float x[N * ROWS];
    static unsigned char got[4 * N * ROWS], want[4 * N * ROWS];
    uint32_t type = all_types[_i], block = ref_block(type), block_bytes = ref_block_bytes(type);
    eng_context *context;
    eng_device *device = open_variant("scalar", &context);
    ck_assert_ptr_nonnull(device);
    fill_hostile(x, 101 + (uint64_t)_i);
    encode(context, device, type, x, want);
    eng_device_close(device);
    ck_assert_int_eq(eng_context_destroy(context), ENG_OK);
    for (size_t v = 0; v < sizeof others / sizeof *others; v++) {
        if (!(device = open_variant(others[v], &context)))
            continue;
        encode(context, device, type, x, got);
        for (size_t b = 0; b < (size_t)N * ROWS / block; b++)
            ck_assert_msg(memcmp(got + b * block_bytes, want + b * block_bytes, block_bytes) == 0,
                          "%s: %s and scalar give block %zu of row %zu different bytes", ref_type_name(type), others[v],
                          b % (N / block), b / (N / block));
        eng_device_close(device);
        ck_assert_int_eq(eng_context_destroy(context), ENG_OK);
    }
}
END_TEST

START_TEST(bytes)
{
    static float x[N * ROWS];
    static double wide[N * ROWS];
    static unsigned char got[4 * N * ROWS], want[4 * N * ROWS];
    uint32_t type = types[_i], block = ref_block(type), block_bytes = ref_block_bytes(type);
    eng_context *context;
    eng_device *device;
    ck_assert_int_eq(eng_context_create(NULL, &context), ENG_OK);
    ck_assert_int_eq(eng_device_open(context, "cpu", &device), ENG_OK);
    fill(x, 1 + (uint64_t)_i);
    for (size_t i = 0; i < (size_t)N * ROWS; i++)
        wide[i] = x[i];
    ck_assert(ref_encode(type, wide, want, (int64_t)N * ROWS, false));
    encode(context, device, type, x, got);
    for (size_t b = 0; b < (size_t)N * ROWS / block; b++)
        ck_assert_msg(memcmp(got + b * block_bytes, want + b * block_bytes, block_bytes) == 0,
                      "%s: block %zu has other bytes than the formula gives", ref_type_name(type), b);
    eng_device_close(device);
    ck_assert_int_eq(eng_context_destroy(context), ENG_OK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("encoded");
    TCase *t = tcase_create("encoded");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, bytes, 0, N_TYPES);
    tcase_add_loop_test(t, variants, 0, N_ALL);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
