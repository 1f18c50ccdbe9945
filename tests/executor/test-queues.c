/*
 * Queues of real devices: time, order across queues and devices, cancelling, transfers of
 * many rows, and a trace in which work overlaps.
 */
#include "config.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "copies.h"

static const char *const devices[] = {"cpu", "cpu/2", "null", "opencl:0"};
enum { DEVICES = 4, WIDTH = 1 << 17, NODES = 400, MOST_EVENTS = 20000 };

/* -- the trace ------------------------------------------------------------------------------ */

typedef struct traced {
    eng_trace_event event;
    pthread_t by;
} traced;
static traced *events;
static int n_events;
static pthread_mutex_t events_lock = PTHREAD_MUTEX_INITIALIZER;

static void trace(void *user, const eng_trace_event *event)
{
    (void)user;
    pthread_mutex_lock(&events_lock);
    if (n_events < MOST_EVENTS)
        events[n_events++] = (traced){*event, pthread_self()};
    pthread_mutex_unlock(&events_lock);
}

/* Does a span of one queue's runs (begin to yield or end) overlap one of the other's, on another thread? */
static bool spans_overlap(const eng_queue *a, const eng_queue *b)
{
    const traced *open[2] = {NULL, NULL};
    bool found = false;
    pthread_mutex_lock(&events_lock);
    for (int i = 0; i < n_events; i++) {
        const eng_trace_event *e = &events[i].event;
        int which = e->fence.queue == a ? 0 : e->fence.queue == b ? 1 : -1;
        if (which < 0 || e->kind != ENG_WORK_RUN)
            continue;
        open[which] = e->phase == ENG_TRACE_BEGIN ? &events[i] : NULL;
        found = found || (open[0] && open[1] && !pthread_equal(open[0]->by, open[1]->by));
    }
    pthread_mutex_unlock(&events_lock);
    return found;
}

static void forget_events(void)
{
    pthread_mutex_lock(&events_lock);
    n_events = 0;
    pthread_mutex_unlock(&events_lock);
}

/* -- the context ------------------------------------------------------------------------------ */

static eng_context *context;

static void setup(void)
{
    eng_context_params params = {.size = sizeof params, .trace = trace};
    events = calloc(MOST_EVENTS, sizeof *events);
    ck_assert_ptr_nonnull(events);
    ck_assert_int_eq(eng_context_create(&params, &context), ENG_OK);
}

static void teardown(void)
{
    ck_assert_msg(eng_context_destroy(context) == ENG_OK, "%s", eng_last_error());
    free(events);
}

static uint64_t ns(double seconds)
{
    return (uint64_t)(seconds * 1e9);
}

/* A run of it takes at least this long, on this machine as it is now; closed if there is no such device. */
static bool open_long(copies *c, const char *name, double seconds, double *takes)
{
    for (int nodes = NODES;; nodes *= 2) {
        if (!copies_open(c, context, NULL, name, WIDTH, nodes))
            return false;
        copies_give(c, 1);
        ck_assert(copies_right(c, 1) || true);
        ck_assert_int_eq(eng_fence_wait(copies_submit(c, NULL, 0), UINT64_MAX), ENG_OK);
        double from = copies_now();
        ck_assert_int_eq(eng_fence_wait(copies_submit(c, NULL, 0), UINT64_MAX), ENG_OK);
        *takes = copies_now() - from;
        if (*takes >= seconds || nodes > 20000)
            return true;
        copies_close(c, true);
    }
}

/* -- time -------------------------------------------------------------------------------------------- */

START_TEST(timeout)
{
    double takes, waited = 0;
    copies c;
    int status = ENG_OK;
    if (!open_long(&c, devices[_i], 0.1, &takes))
        return;
    for (int attempt = 0; attempt < 5; attempt++) { /* the machine may do other things */
        copies_give(&c, attempt);
        eng_fence fence = copies_submit(&c, NULL, 0);
        double from = copies_now();
        status = eng_fence_wait(fence, ns(takes / 20));
        waited = copies_now() - from;
        ck_assert(status == ENG_OK || status == ENG_ERR_TIMEOUT);
        int asked = eng_fence_wait(fence, 0);
        ck_assert(asked == ENG_ERR_TIMEOUT || asked == ENG_OK);
        ck_assert_msg(eng_fence_wait(fence, UINT64_MAX) == ENG_OK, "%s", eng_last_error());
        ck_assert(copies_right(&c, attempt));
        ck_assert_int_eq(eng_fence_wait(fence, 0), ENG_OK);
        if (status == ENG_ERR_TIMEOUT && waited < takes / 2)
            break;
    }
    ck_assert_msg(status == ENG_ERR_TIMEOUT && waited < takes / 2, "%s: %s after %g of %g ms", c.name,
                  eng_status_name(status), 1e3 * waited, 1e3 * takes);
    copies_close(&c, true);
}
END_TEST

/* Nobody ever waits with time: asking is enough. */
START_TEST(polling)
{
    copies c;
    if (!copies_open(&c, context, NULL, devices[_i], WIDTH, NODES))
        return;
    copies_give(&c, 5);
    eng_fence fence = copies_submit(&c, NULL, 0);
    int status = ENG_ERR_TIMEOUT;
    for (double from = copies_now(); status == ENG_ERR_TIMEOUT && copies_now() - from < 100;) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        status = eng_fence_wait(fence, 0);
    }
    ck_assert_int_eq(status, ENG_OK);
    ck_assert(copies_right(&c, 5));
    copies_close(&c, true);
}
END_TEST

/* -- order ---------------------------------------------------------------------------------------------- */

/* Data go from device to device by way of the host's memory; nobody waits until the end. */
START_TEST(across_devices)
{
    for (int other = 0; other < DEVICES; other++) {
        copies a, b;
        double takes;
        if (!open_long(&a, devices[_i], 0.02, &takes))
            return;
        if (!copies_open(&b, context, NULL, devices[other], WIDTH, 2)) {
            copies_close(&a, true);
            continue;
        }
        float *between = malloc(WIDTH * sizeof *between);
        ck_assert_ptr_nonnull(between);
        const eng_region all = eng_range(between, 0, WIDTH * sizeof *between);
        eng_fence out, in;
        for (int round = 0; round < 3; round++) {
            copies_give(&a, round);
            copies_submit(&a, round ? &in : NULL, round ? 1 : 0);
            ck_assert_int_eq(eng_queue_read(a.queue, NULL, 0, a.store, COPIES_Y, &all, 1, &out), ENG_OK);
            ck_assert_int_eq(eng_queue_write(b.queue, &out, 1, b.store, COPIES_X, &all, 1, &in), ENG_OK);
            copies_submit(&b, NULL, 0);
            if (round == 0) /* giving b its work has not waited for a's */
                ck_assert(eng_fence_wait(out, 0) == ENG_ERR_TIMEOUT || takes < 0.02 || strcmp(a.name, "opencl:0") == 0);
            ck_assert_msg(copies_right(&b, round), "%s > %s", a.name, b.name);
        }
        copies_close(&a, true);
        copies_close(&b, true);
        free(between);
    }
}
END_TEST

/* Two queues of one device: the second's work waits for the first's. */
START_TEST(across_queues)
{
    copies a, b;
    double takes;
    if (!open_long(&a, devices[_i], 0.02, &takes))
        return;
    ck_assert(copies_open(&b, context, a.device, a.name, WIDTH, 2));
    for (int round = 0; round < 10; round++) {
        copies_give(&a, round);
        eng_fence fence = copies_submit(&a, NULL, 0);
        const eng_region all = eng_range(a.y, 0, WIDTH * sizeof *a.y);
        eng_fence read;
        ck_assert_int_eq(eng_queue_read(b.queue, &fence, 1, a.store, COPIES_Y, &all, 1, &read), ENG_OK);
        ck_assert_int_eq(eng_fence_wait(read, UINT64_MAX), ENG_OK);
        for (int64_t i = 0; i < WIDTH; i++)
            ck_assert(a.y[i] == copies_value(round, i));
        ck_assert_int_eq(eng_fence_wait(fence, UINT64_MAX), ENG_OK);
    }
    copies_close(&b, false);
    copies_close(&a, true);
}
END_TEST

START_TEST(fences_refused)
{
    copies c;
    eng_context *another;
    eng_device *elsewhere;
    eng_queue *queue;
    if (!copies_open(&c, context, NULL, devices[_i], 64, 2))
        return;
    eng_fence fence = copies_submit(&c, NULL, 0), ahead = {c.queue, fence.ticket + 1};
    ck_assert_int_eq(eng_queue_submit(c.queue, &ahead, 1, c.instance, NULL, 0, NULL), ENG_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(eng_last_error(), "no fence"));
    ck_assert_int_eq(eng_queue_submit(c.queue, NULL, 1, c.instance, NULL, 0, NULL), ENG_ERR_INVALID);
    ck_assert_int_eq(eng_context_create(NULL, &another), ENG_OK);
    ck_assert_int_eq(eng_device_open(another, "null", &elsewhere), ENG_OK);
    ck_assert_int_eq(eng_queue_create(elsewhere, &queue), ENG_OK);
    eng_store_tensor t =
        {.size = sizeof t, .type = ENG_TYPE_F32, .rank = 1, .use = ENG_USE_INPUT, .ne = {4}, .name = "t"};
    eng_store *store;
    float data[4] = {0};
    const eng_region all = eng_range(data, 0, sizeof data);
    ck_assert_int_eq(eng_store_create(elsewhere, &t, 1, &store), ENG_OK);
    ck_assert_int_eq(eng_queue_write(queue, &fence, 1, store, 0, &all, 1, NULL), ENG_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(eng_last_error(), "another context"));
    ck_assert_int_eq(eng_queue_write(queue, (eng_fence[]){{0}}, 1, store, 0, &all, 1, NULL), ENG_OK);
    eng_queue_destroy(queue);
    eng_store_destroy(store);
    eng_device_close(elsewhere);
    ck_assert_int_eq(eng_context_destroy(another), ENG_OK);
    copies_close(&c, true);
}
END_TEST

/* -- cancelling ---------------------------------------------------------------------------------------------- */

START_TEST(cancel)
{
    double takes;
    copies c;
    if (!open_long(&c, devices[_i], 0.1, &takes))
        return;
    double best = takes;
    for (int attempt = 0; attempt < 5 && best > takes / 2; attempt++) {
        copies_give(&c, 1);
        eng_fence first = copies_submit(&c, NULL, 0), second = copies_submit(&c, NULL, 0);
        ck_assert_int_eq(eng_fence_wait(first, ns(takes / 20)), ENG_ERR_TIMEOUT);
        double from = copies_now();
        ck_assert_int_eq(eng_queue_cancel(c.queue), ENG_OK);
        int status = eng_fence_wait(first, UINT64_MAX), later = eng_fence_wait(second, UINT64_MAX);
        double took = copies_now() - from;
        best = took < best ? took : best;
        bool async = strcmp(c.name, "opencl:0") == 0; /* it has been given both already */
        ck_assert(status == ENG_ERR_CANCELLED || async);
        ck_assert(later == ENG_ERR_CANCELLED || async);
        if (async)
            break;
        copies_give(&c, attempt + 7);
        ck_assert_int_eq(eng_fence_wait(copies_submit(&c, NULL, 0), UINT64_MAX), ENG_OK);
        ck_assert(copies_right(&c, attempt + 7));
    }
    ck_assert_msg(best < takes / 2 || strcmp(c.name, "opencl:0") == 0, "%s: %g of %g ms", c.name, best * 1e3,
                  takes * 1e3);
    copies_submit(&c, NULL, 0); /* what is left is cancelled too, and ends with the queue */
    copies_submit(&c, NULL, 0);
    ck_assert_int_eq(eng_queue_cancel(c.queue), ENG_OK);
    copies_close(&c, true);
}
END_TEST

/* A queue with work is destroyed: the work is done. */
START_TEST(destroy)
{
    copies c;
    if (!copies_open(&c, context, NULL, devices[_i], WIDTH, NODES))
        return;
    copies_give(&c, 3);
    copies_submit(&c, NULL, 0);
    eng_queue_destroy(c.queue);
    ck_assert_int_eq(eng_queue_create(c.device, &c.queue), ENG_OK);
    ck_assert(copies_right(&c, 3));
    copies_close(&c, true);
}
END_TEST

/* -- regions ----------------------------------------------------------------------------------------------------- */

/* Rows with gaps, on both sides, several regions in a call. */
START_TEST(regions)
{
    enum { N = 1000 };
    copies c;
    float data[N], back[N];
    if (!copies_open(&c, context, NULL, devices[_i], N, 2))
        return;
    for (int i = 0; i < N; i++)
        data[i] = (float)i, back[i] = -1;
    const eng_region zero = eng_range(calloc(N, sizeof *data), 0, sizeof data);
    const eng_region in[] = {
        {.data = data, .data_stride = 40, .tensor_offset = 4, .tensor_stride = 100, .bytes = 12, .count = 30},
        {.data = data + 500, .data_stride = 0, .tensor_offset = 3200, .tensor_stride = 8, .bytes = 4, .count = 10},
        {.data = NULL, .bytes = 0, .count = 7},
        {.data = data + 600, .data_stride = 20, .tensor_offset = 3600, .tensor_stride = 20, .bytes = 20, .count = 5},
    };
    const eng_region out[] =
        {{.data = back, .data_stride = 12, .tensor_offset = 4, .tensor_stride = 100, .bytes = 12, .count = 30},
         {.data = back + 500, .data_stride = 8, .tensor_offset = 3200, .tensor_stride = 8, .bytes = 4, .count = 10},
         {.data = back + 600, .tensor_offset = 3600, .bytes = 100, .count = 1},
         {.data = back + 700, .tensor_offset = 16, .bytes = 88, .count = 1}};
    eng_fence fence;
    ck_assert_int_eq(eng_queue_write(c.queue, NULL, 0, c.store, 0, &zero, 1, NULL), ENG_OK);
    ck_assert_int_eq(eng_queue_write(c.queue, NULL, 0, c.store, 0, in, 4, NULL), ENG_OK);
    ck_assert_int_eq(eng_queue_read(c.queue, NULL, 0, c.store, 0, out, 4, &fence), ENG_OK);
    ck_assert_msg(eng_fence_wait(fence, UINT64_MAX) == ENG_OK, "%s", eng_last_error());
    for (int i = 0; i < 90; i++)
        ck_assert_float_eq(back[i], data[i / 3 * 10 + i % 3]);
    for (int i = 0; i < 10; i++)
        ck_assert_float_eq(back[500 + 2 * i], data[500]);
    for (int i = 0; i < 9; i++)
        ck_assert_float_eq(back[501 + 2 * i], -1);
    for (int i = 0; i < 25; i++)
        ck_assert_float_eq(back[600 + i], data[600 + i]);
    for (int i = 0; i < 22; i++)
        ck_assert_float_eq(back[700 + i], 0);
    const eng_region beyond = {.data = data, .tensor_offset = 4 * N - 8, .tensor_stride = 4, .bytes = 4, .count = 3};
    ck_assert_int_eq(eng_queue_write(c.queue, NULL, 0, c.store, 0, &beyond, 1, &fence), ENG_ERR_INVALID);
    const eng_region huge = {.data = data, .tensor_offset = 8, .tensor_stride = UINT64_MAX / 2, .bytes = 4, .count = 5};
    ck_assert_int_eq(eng_queue_write(c.queue, NULL, 0, c.store, 0, &huge, 1, &fence), ENG_ERR_INVALID);
    ck_assert_int_eq(eng_queue_write(c.queue, NULL, 0, c.store, 0, NULL, 2, &fence), ENG_ERR_INVALID);
    free(zero.data);
    copies_close(&c, true);
}
END_TEST

/* -- at once ------------------------------------------------------------------------------------------------ */

/* The host does other things, and the run is done meanwhile by another thread. */
START_TEST(beside_the_host)
{
    copies c;
    if (!copies_open(&c, context, NULL, devices[_i], WIDTH, NODES))
        return;
    copies_give(&c, 2);
    forget_events();
    eng_fence fence = copies_submit(&c, NULL, 0);
    bool begun = false, ended = false, async = strcmp(c.name, "opencl:0") == 0;
    for (double from = copies_now(); !ended && copies_now() - from < 60;) { /* the host's own work */
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
        ended = async && eng_fence_wait(fence, 0) == ENG_OK; /* it is done beside the host, and known when asked */
        pthread_mutex_lock(&events_lock);
        for (int i = 0; i < n_events; i++) {
            const eng_trace_event *e = &events[i].event;
            if (e->fence.queue != c.queue || e->fence.ticket != fence.ticket)
                continue;
            begun = begun || (e->phase == ENG_TRACE_BEGIN && (async || !pthread_equal(events[i].by, pthread_self())));
            ended = ended || e->phase == ENG_TRACE_END;
        }
        pthread_mutex_unlock(&events_lock);
    }
    ck_assert(begun && ended);
    ck_assert_int_eq(eng_fence_wait(fence, 0), ENG_OK);
    ck_assert(copies_right(&c, 2));
    copies_close(&c, true);
}
END_TEST

static void both(copies *a, copies *b)
{
    bool overlapped = false;
    for (int attempt = 0; attempt < 10 && !overlapped; attempt++) {
        copies_give(a, attempt);
        copies_give(b, attempt + 50);
        forget_events();
        eng_fence x = copies_submit(a, NULL, 0), y = copies_submit(b, NULL, 0);
        ck_assert_msg(eng_fence_wait(x, UINT64_MAX) == ENG_OK, "%s", eng_last_error());
        ck_assert_msg(eng_fence_wait(y, UINT64_MAX) == ENG_OK, "%s", eng_last_error());
        ck_assert(copies_right(a, attempt) && copies_right(b, attempt + 50));
        overlapped = spans_overlap(a->queue, b->queue);
    }
    ck_assert_msg(overlapped, "%s and %s", a->name, b->name);
}

#ifdef HAVE_CPU
/* Two parts of the machine at once. */
START_TEST(parts_overlap)
{
    copies a, b;
    double takes;
    ck_assert(open_long(&a, "cpu/2.0", 0.05, &takes));
    ck_assert(open_long(&b, "cpu/2.1", 0.05, &takes));
    both(&a, &b);
    copies_close(&a, true);
    copies_close(&b, true);
}
END_TEST
#endif

/* Two queues of one device: their runs take turns, and both are right. */
START_TEST(queues_overlap)
{
    copies a, b;
    double takes;
    if (strcmp(devices[_i], "opencl:0") == 0 || !open_long(&a, devices[_i], 0.05, &takes))
        return;
    ck_assert(copies_open(&b, context, a.device, a.name, WIDTH, 4 * NODES));
    both(&a, &b);
    copies_close(&b, false);
    copies_close(&a, true);
}
END_TEST

typedef struct user {
    copies c;
    int number;
    pthread_t thread;
    bool right;
} user;

static void *use(void *arg)
{
    user *u = arg;
    u->right = true;
    for (int i = 0; i < 20 && u->right; i++) {
        copies_give(&u->c, u->number + i);
        eng_fence fence = copies_submit(&u->c, NULL, 0);
        int status = eng_fence_wait(fence, i % 3 ? UINT64_MAX : 300000);
        u->right = (status == ENG_OK || status == ENG_ERR_TIMEOUT) && copies_right(&u->c, u->number + i);
    }
    return NULL;
}

/* Several threads, each with its own queue, on one device. */
START_TEST(many_users)
{
    enum { USERS = 4 };
    user users[USERS];
    eng_device *device;
    if (eng_device_open(context, devices[_i], &device) != ENG_OK)
        return;
    for (int i = 0; i < USERS; i++) {
        ck_assert(copies_open(&users[i].c, context, device, devices[_i], 2000 + 500 * i, 300));
        users[i].number = 100 * i;
    }
    for (int i = 0; i < USERS; i++)
        ck_assert_int_eq(pthread_create(&users[i].thread, NULL, use, &users[i]), 0);
    for (int i = 0; i < USERS; i++) {
        pthread_join(users[i].thread, NULL);
        ck_assert_msg(users[i].right, "user %d: %s", i, eng_last_error());
        copies_close(&users[i].c, false);
    }
    eng_device_close(device);
}
END_TEST

static TCase *group(Suite *suite, const char *name)
{
    TCase *tc = tcase_create(name);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 300);
    suite_add_tcase(suite, tc);
    return tc;
}

int main(void)
{
    Suite *suite = suite_create("queues");
    TCase *tc = group(suite, "time");
    tcase_add_loop_test(tc, timeout, 0, DEVICES);
    tcase_add_loop_test(tc, polling, 0, DEVICES);
    tc = group(suite, "order");
    tcase_add_loop_test(tc, across_devices, 0, DEVICES);
    tcase_add_loop_test(tc, across_queues, 0, DEVICES);
    tcase_add_loop_test(tc, fences_refused, 0, DEVICES);
    tc = group(suite, "cancel");
    tcase_add_loop_test(tc, cancel, 0, DEVICES);
    tcase_add_loop_test(tc, destroy, 0, DEVICES);
    tc = group(suite, "regions");
    tcase_add_loop_test(tc, regions, 0, DEVICES);
    tc = group(suite, "overlap");
    tcase_add_loop_test(tc, beside_the_host, 0, DEVICES);
#ifdef HAVE_CPU
    tcase_add_test(tc, parts_overlap);
#endif
    tcase_add_loop_test(tc, queues_overlap, 0, DEVICES);
    tc = group(suite, "users");
    tcase_add_loop_test(tc, many_users, 0, DEVICES);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
