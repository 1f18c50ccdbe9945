/*
 * What composing costs.  A graph of about 1600 nodes with 120 all-reduces of 4096 floats
 * on devices that compute nothing (the null plugin with null.accept=all): what a run
 * takes beyond the devices' own time is the composed device's.
 *
 *     test-cost [--runs N] [--device NAME] [--plain NAME] [--blocks N] [--measure [--rest N]]
 *
 * --rest: microseconds of sleep before every run, after which the ranks must be woken.
 * Without --measure only counts are judged, never times: nothing is allocated in a
 * run, no plan is built again, the bytes moved are those expected.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "count.h"
#include "rig.h"
#include "../matrix.h"

enum { WIDTH = 4096, INNER = 64, MOST_RUNS = 100000 };

typedef struct bench {
    eng_device *device;
    eng_store *store;
    eng_queue *queue;
    const char *name;
} bench;

/* A graph made ready to run. */
typedef struct program {
    eng_graph *graph;
    eng_plan *plan;
    eng_instance *instance;
} program;

static eng_context *context;
static long rest; /* microseconds before every run */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* -- the graph -------------------------------------------------------------------- */

enum { X, NORM, UP, DOWN, EXTRA, OUT };

static bool make_store(bench *b, const char *guest)
{
    rig_dim ffn;
    const eng_dim inner = rig_axis(&ffn, eng_context_axis(context, "ffn"), INNER, 1), none = {0};
    const uint32_t matrix = ENG_USE_WEIGHT | TEST_MATRIX;
    eng_store_tensor t[] = {
        [X] = {.rank = 1, .use = ENG_USE_INPUT, .ne = {WIDTH}, .name = "x"},
        [NORM] = {.rank = 1, .use = ENG_USE_WEIGHT, .ne = {WIDTH}, .name = "norm"},
        [UP] = {.rank = 2, .use = matrix, .ne = {WIDTH, INNER}, .name = "up", .dims = (eng_dim[]){none, inner}},
        [DOWN] = {.rank = 2, .use = matrix, .ne = {INNER, WIDTH}, .name = "down", .dims = (eng_dim[]){inner, none}},
        [EXTRA] = {.rank = 2, .use = matrix, .ne = {WIDTH, WIDTH}, .name = "extra", .device = guest,
                   .axis = guest ? ENG_AXIS_NONE : ENG_AXIS_WHOLE},
        [OUT] = {.rank = 1, .use = ENG_USE_OUTPUT, .ne = {WIDTH}, .name = "out"},
    };
    return (b->store = rig_make_store(b->device, t, sizeof t / sizeof *t)) != NULL;
}

/* Blocks of a norm, a product that divides the inner width, ops on the divided
 * values, a product that sums over it, and the residual: one all-reduce each. */
static bool make_graph(const bench *b, int blocks, int chain, bool extra, eng_graph **graph)
{
    eng_value v[OUT + 1];

    if (eng_graph_create(context, 0, graph) != ENG_OK)
        return false;
    eng_graph *g = *graph;
    for (uint32_t i = 0; i <= OUT; i++)
        v[i] = eng_graph_tensor(g, 0, b->store, i);
    eng_value x = v[X];
    for (int i = 0; i < blocks; i++) {
        eng_value y = eng_mul_mat(g, v[UP], eng_rms_norm(g, x, v[NORM], 1e-6));
        for (int k = 0; k < chain; k++)
            y = eng_unary(g, y, ENG_UNARY_SILU);
        x = eng_add(g, x, eng_mul_mat(g, v[DOWN], y));
        if (extra && i == blocks / 2)
            x = eng_mul_mat(g, v[EXTRA], x);
    }
    eng_store_value(g, v[OUT], x);
    return eng_graph_seal(g) == ENG_OK;
}

static bool make_program(const bench *b, int blocks, int chain, bool extra, program *p)
{
    bool good = make_graph(b, blocks, chain, extra, &p->graph) &&
                eng_plan_create(b->device, p->graph, &p->plan) == ENG_OK &&
                eng_instance_create(p->plan, (eng_store *const *)&b->store, 1, &p->instance) == ENG_OK;
    if (!good)
        printf("# %s: %s\n", b->name, eng_last_error());
    return good;
}

static void end_program(program *p)
{
    eng_instance_destroy(p->instance);
    eng_plan_release(p->plan);
    eng_graph_destroy(p->graph);
    memset(p, 0, sizeof *p);
}

static bool begin(bench *b, const char *name, const char *guest)
{
    *b = (bench){.name = name};
    bool good = eng_device_open(context, name, &b->device) == ENG_OK && make_store(b, guest) &&
                eng_queue_create(b->device, &b->queue) == ENG_OK;
    if (!good)
        printf("# %s: %s\n", name, eng_last_error());
    return good;
}

static void end(bench *b)
{
    eng_queue_destroy(b->queue);
    eng_store_destroy(b->store);
    eng_device_close(b->device);
    memset(b, 0, sizeof *b);
}

static bool run(const bench *b, const program *p)
{
    eng_fence fence;
    if (eng_queue_submit(b->queue, NULL, 0, p->instance, NULL, 0, &fence) == ENG_OK &&
        eng_fence_wait(fence, UINT64_MAX) == ENG_OK)
        return true;
    printf("# %s: %s\n", b->name, eng_last_error());
    return false;
}

/* -- times --------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

typedef struct times {
    double least, median;
} times;

/* Runs in alternation, so that what else the machine does meets both. */
static bool measure(const bench *b, const program *p, int n, int runs, times *result)
{
    double *t = malloc((size_t)runs * 2 * sizeof *t);
    bool good = t && n <= 2;

    for (int r = 0; r < runs && good; r++) {
        for (int i = 0; i < n && good; i++) {
            if (rest)
                nanosleep(&(struct timespec){.tv_nsec = rest * 1000}, NULL);
            double from = now();
            good = run(&b[i], &p[i]);
            t[i * runs + r] = now() - from;
        }
    }
    for (int i = 0; i < n && good; i++) {
        qsort(t + (size_t)i * (size_t)runs, (size_t)runs, sizeof *t, by_value);
        result[i] = (times){t[i * runs], t[i * runs + runs / 2]};
    }
    free(t);
    return good;
}

/* -- what is judged -------------------------------------------------------------------- */

static uint64_t bytes_sent(const bench *b)
{
    eng_device_stats stats = {.size = sizeof stats};
    return eng_device_get_stats(b->device, &stats) == ENG_OK ? stats.bytes_exchanged : 0;
}

/* Runs of several programs by turns: nothing allocated, nothing built. */
static void judge_runs(const bench *b, const program *p, int n, int runs, const char *what)
{
    bool good = true;

    for (int i = 0; i < n; i++) /* threads and queues of guests are made when first needed */
        good = good && run(b, &p[i]);
    uint64_t built = eng_device_plans_built(b->device);
    count_start();
    for (int r = 0; r < runs && good; r++)
        for (int i = 0; i < n && good; i++)
            good = run(b, &p[i]);
    uint64_t calls = count_stop();
    tap_check(good, "%s: %d runs, %s", what, runs * n, b->name);
    tap_check(good && eng_device_plans_built(b->device) == built, "%s: no plan is built again, %s", what, b->name);
    tap_check(!count_possible() || (good && calls == 0), "%s: %llu allocator calls, %s%s", what,
              (unsigned long long)calls, b->name, count_possible() ? "" : " # SKIP a sanitizer has the allocator");
}

static void judge_one(const char *name, int blocks, int chain, int runs)
{
    bench b;
    program p = {0};
    bool good = begin(&b, name, NULL) && make_program(&b, blocks, chain, false, &p);

    if (good) {
        judge_runs(&b, &p, 1, runs, "one plan");
        uint64_t before = bytes_sent(&b);
        good = run(&b, &p);
        uint64_t sent = bytes_sent(&b) - before, ranks = 0;
        while (eng_device_leaf(b.device, (uint32_t)ranks, NULL, NULL) == ENG_OK)
            ranks++;
        /* so small a sum is formed by everyone: each gives all it has to all others */
        uint64_t want = (uint64_t)blocks * ranks * (WIDTH * sizeof(float) * (ranks - 1));
        printf("# %llu bytes sent in a run, %llu expected\n", (unsigned long long)sent, (unsigned long long)want);
        good = good && sent == want;
    }
    tap_check(good, "one all-reduce for every block, %s", name);
    end_program(&p);
    end(&b);
}

static void judge_turns(const char *name, const char *guest, int blocks, int chain, int runs)
{
    bench b;
    program p[2] = {{0}};
    bool good = begin(&b, name, guest) && make_program(&b, blocks, chain, guest != NULL, &p[0]) &&
                make_program(&b, blocks / 4, chain, false, &p[1]);

    if (good)
        judge_runs(&b, p, 2, runs, guest ? "two plans by turns, a guest in the middle" : "two plans by turns");
    else
        tap_check(false, "two plans by turns, %s", name);
    end_program(&p[0]);
    end_program(&p[1]);
    end(&b);
}

/* The composed device and one of its parts alone on as many nodes. */
static void cost(const char *composed, const char *plain, int blocks, int chain, int runs)
{
    bench b[2] = {{0}};
    program p[2] = {{0}};
    times t[2];
    bool good = begin(&b[0], composed, NULL) && begin(&b[1], plain, NULL);

    for (int i = 0; i < 2; i++)
        good = good && make_program(&b[i], blocks, chain, false, &p[i]) && run(&b[i], &p[i]);
    good = good && measure(b, p, 2, runs, t);
    if (good) {
        printf("# %d blocks of %d nodes, %d runs, milliseconds: least, median\n", blocks, chain + 4, runs);
        for (int i = 0; i < 2; i++)
            printf("# %-16s %8.4f %8.4f\n", b[i].name, t[i].least, t[i].median);
        printf("# %-16s %8.4f %8.4f\n", "added", t[0].least - t[1].least, t[0].median - t[1].median);
    }
    tap_check(good, "measured, %s", composed);
    for (int i = 0; i < 2; i++) {
        end_program(&p[i]);
        end(&b[i]);
    }
}

int main(int argc, char **argv)
{
    const char *device = "null/2", *plain = "null:0";
    int runs = 20, blocks = 120, chain = 9; /* and four more: 1561 nodes */
    bool timed = false;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--measure") == 0)
            timed = true;
        else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
            runs = atoi(argv[++i]);
        else if (strcmp(argv[i], "--rest") == 0 && i + 1 < argc)
            rest = atol(argv[++i]);
        else if (strcmp(argv[i], "--blocks") == 0 && i + 1 < argc)
            blocks = atoi(argv[++i]);
        else if (strcmp(argv[i], "--device") == 0 && i + 1 < argc)
            device = argv[++i];
        else if (strcmp(argv[i], "--plain") == 0 && i + 1 < argc)
            plain = argv[++i];
        else
            runs = 0;
    }
    if (runs < 1 || runs > MOST_RUNS || rest < 0 || rest > 999999 || blocks < 4 || blocks > 10000) {
        printf("Bail out! usage: test-cost [--measure [--rest US]] [--runs N] [--blocks N] [--device NAME] [--plain NAME]\n");
        return 2;
    }
    if (!(context = tap_begin()))
        return 1;
    if (eng_context_set_option(context, "null.accept", "all") != ENG_OK)
        printf("# %s\n", eng_last_error());
    if (timed) {
        cost(device, plain, blocks, chain, runs);
    } else {
        judge_one(device, blocks, chain, runs);
        judge_one("null/3", blocks, chain, runs / 4 + 1);
        judge_turns(device, NULL, blocks, chain, runs);
        judge_turns(device, "null/4.3", blocks, chain, runs);
    }
    return tap_end(context);
}
