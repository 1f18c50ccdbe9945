/*
 * Threads that use cpu devices at once: each has a queue and an instance of its own, on one device, on
 * another of the same context or of another context.  What each computes is right, and bit for bit what
 * it is alone.
 */
#include "config.h"

#include <check.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

#define K 512
#define COLUMNS 6
#define CHAIN 3     /* products, one after the other                               */
#define THREADS 4
#define ROUNDS 150
#define GROWTHS 40

/* Products of a chain of matrices with x, on one device. */
typedef struct subject {
    eng_device *device;
    eng_store *store; /* the matrices, x, y                                       */
    eng_plan *plan;
    eng_instance *instance;
    eng_queue *queue;
    int64_t columns;
    float *first; /* what it is alone                                             */
    float *again;
} subject;

static float number(uint64_t *s)
{
    *s = *s * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (float)((double)(*s >> 11) * 0x1p-52 - 1);
}

static uint64_t y_bytes(const subject *s)
{
    return (uint64_t)s->columns * K * sizeof(float);
}

static void declare(subject *s, uint32_t type, uint64_t seed)
{
    static const char *const names[CHAIN] = {"a", "b", "c"};
    eng_store_tensor t[CHAIN + 2];
    for (int i = 0; i < CHAIN + 2; i++)
        t[i] = (eng_store_tensor){.size = sizeof *t, .type = ENG_TYPE_F32, .rank = 2, .layer = -1, .ne = {K, s->columns},
                                  .use = i == CHAIN ? ENG_USE_INPUT : ENG_USE_OUTPUT, .name = i == CHAIN ? "x" : "y"};
    for (int i = 0; i < CHAIN; i++) {
        t[i].type = type;
        t[i].use = ENG_USE_WEIGHT;
        t[i].ne[1] = K;
        t[i].name = names[i];
    }
    ck_assert_msg(eng_store_create(s->device, t, CHAIN + 2, &s->store) == ENG_OK, "%s", eng_last_error());
    for (uint32_t i = 0; i <= CHAIN && type == ENG_TYPE_F32; i++) {
        uint64_t n = eng_store_bytes(s->store, i) / sizeof(float);
        float *values = malloc(n * sizeof *values);
        ck_assert_ptr_nonnull(values);
        for (uint64_t j = 0; j < n; j++)
            values[j] = number(&seed) / 16;
        ck_assert_int_eq(eng_store_write(s->store, i, 0, n * sizeof(float), values), ENG_OK);
        free(values);
    }
}

static void build(subject *s, eng_context *context, eng_device *device, uint32_t type, int64_t columns, uint64_t seed)
{
    eng_graph *g;
    *s = (subject){.device = device, .columns = columns};
    declare(s, type, seed);
    ck_assert_int_eq(eng_graph_create(context, 0, &g), ENG_OK);
    eng_value x = eng_graph_tensor(g, 0, s->store, CHAIN);
    for (uint32_t i = 0; i < CHAIN; i++)
        x = eng_mul_mat(g, eng_graph_tensor(g, 0, s->store, i), x);
    eng_store_value(g, eng_graph_tensor(g, 0, s->store, CHAIN + 1), x);
    ck_assert_msg(eng_graph_seal(g) == ENG_OK, "%s", eng_last_error());
    ck_assert_msg(eng_plan_create(device, g, &s->plan) == ENG_OK, "%s", eng_last_error());
    eng_graph_destroy(g);
    ck_assert_msg(eng_instance_create(s->plan, &s->store, 1, &s->instance) == ENG_OK, "%s", eng_last_error());
    ck_assert_int_eq(eng_queue_create(device, &s->queue), ENG_OK);
    s->first = calloc((size_t)columns * K, sizeof(float));
    s->again = calloc((size_t)columns * K, sizeof(float));
    ck_assert(s->first && s->again);
}

static void end(subject *s)
{
    eng_queue_destroy(s->queue);
    eng_instance_destroy(s->instance);
    eng_plan_release(s->plan);
    eng_store_destroy(s->store);
    free(s->first);
    free(s->again);
}

/* One pass, its result in `y`, which it does not find there. */
static bool run(subject *s, float *y)
{
    eng_fence fence;
    memset(y, 0xff, y_bytes(s));
    return eng_store_write(s->store, CHAIN + 1, 0, y_bytes(s), y) == ENG_OK &&
           eng_queue_submit(s->queue, NULL, 0, s->instance, NULL, 0, &fence) == ENG_OK &&
           eng_fence_wait(fence, UINT64_MAX) == ENG_OK &&
           eng_store_read(s->store, CHAIN + 1, 0, y_bytes(s), y) == ENG_OK;
}

/* Column by column in double. */
static void check_alone(subject *s)
{
    static float m[K * K], x[COLUMNS * K];
    static double from[K], to[K], magnitude[K];
    ck_assert(run(s, s->first));
    ck_assert_int_eq(eng_store_read(s->store, CHAIN, 0, y_bytes(s), x), ENG_OK);
    for (int64_t c = 0; c < s->columns; c++) {
        for (int k = 0; k < K; k++)
            from[k] = x[c * K + k];
        for (uint32_t i = 0; i < CHAIN; i++) {
            ck_assert_int_eq(eng_store_read(s->store, i, 0, sizeof m, m), ENG_OK);
            for (int r = 0; r < K; r++) {
                to[r] = magnitude[r] = 0;
                for (int k = 0; k < K; k++) {
                    to[r] += (double)m[r * K + k] * from[k];
                    magnitude[r] += fabs((double)m[r * K + k] * from[k]);
                }
            }
            memcpy(from, to, sizeof from);
        }
        for (int r = 0; r < K; r++)
            ck_assert_msg(fabs(s->first[c * K + r] - to[r]) <= 1e-5 * magnitude[r],
                          "row %d of column %d is %g, should be %g", r, (int)c, s->first[c * K + r], to[r]);
    }
}

static void *repeat(void *ctx)
{
    subject *s = ctx;
    for (int i = 0; i < ROUNDS; i++)
        if (!run(s, s->again) || memcmp(s->again, s->first, y_bytes(s)) != 0)
            return s;
    return NULL;
}

static eng_context *contexts[2];
static eng_device *devices[3]; /* two of the first context, one of the second      */

static void setup(void)
{
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(eng_context_create(NULL, &contexts[i]), ENG_OK);
        ck_assert_int_eq(eng_context_set_option(contexts[i], "cpu.threads", "3"), ENG_OK); /* a team on any machine */
    }
    for (int i = 0; i < 3; i++)
        ck_assert_msg(eng_device_open(contexts[i / 2], "cpu", &devices[i]) == ENG_OK, "%s", eng_last_error());
}

static void teardown(void)
{
    for (int i = 0; i < 3; i++)
        eng_device_close(devices[i]);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(eng_context_destroy(contexts[i]), ENG_OK);
}

static void run_together(const int *device)
{
    subject s[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        build(&s[i], contexts[device[i] / 2], devices[device[i]], ENG_TYPE_F32, 1 + (i * 3) % COLUMNS, 7 + (uint64_t)i);
        check_alone(&s[i]);
    }
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, repeat, &s[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        ck_assert_msg(wrong == NULL, "thread %d of %d: a pass failed, or gave something else than alone", i, THREADS);
    }
    for (int i = 0; i < THREADS; i++)
        end(&s[i]);
}

START_TEST(one_device)
{
    run_together((const int[THREADS]){0, 0, 0, 0});
}
END_TEST

START_TEST(several_devices)
{
    run_together((const int[THREADS]){0, 1, 2, 2});
}
END_TEST

/* Instances that need more and more working memory come and go on the device while others run. */
static void *grow(void *ctx)
{
    static const uint32_t types[] = {ENG_TYPE_Q4_0, ENG_TYPE_F32, ENG_TYPE_Q8_0, ENG_TYPE_F16};
    (void)ctx;
    for (int i = 1; i <= GROWTHS; i++) {
        subject s;
        build(&s, contexts[0], devices[0], types[i % 4], 1 + 8 * i, 1);
        run(&s, s.again);
        end(&s);
    }
    return NULL;
}

START_TEST(memory_that_grows)
{
    subject s;
    pthread_t thread, grower;
    void *wrong;
    build(&s, contexts[0], devices[0], ENG_TYPE_F32, 5, 3);
    check_alone(&s);
    ck_assert_int_eq(pthread_create(&grower, NULL, grow, NULL), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, repeat, &s), 0);
    pthread_join(thread, &wrong);
    pthread_join(grower, NULL);
    ck_assert_msg(wrong == NULL, "a pass failed, or gave something else than alone");
    end(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("threads");
    TCase *t = tcase_create("threads");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, one_device);
    tcase_add_test(t, several_devices);
    tcase_add_test(t, memory_that_grows);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
