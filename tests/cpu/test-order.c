/*
 * Graphs of small and larger nodes drawn by chance, in which threads share some nodes, leave some to one of them and compute
 * others each for itself (plugins/cpu/run/order.c): by two and three threads, run again and again, also by two hosts at once
 * of which each has to let the other on, they give the bits that one thread gives.
 *
 *     test-order [GRAPHS]
 */
#include "config.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "compute.h"

enum { WIDTH = 96, MOST_TOKENS = 3, POOL = 6, MOST_STEPS = 400, RUNS = 6, HOSTS = 2 };
enum { LONG_STEPS = 8000, LONG_RUNS = 12 }; /* some milliseconds: more than a run has for itself where others wait */

/* What graph a seed stands for. */
typedef struct drawn {
    uint64_t seed;
    int64_t tokens;
    int steps, runs;
} drawn;

static uint32_t choose(uint64_t *s, uint32_t n)
{
    const double below_one = ((double)number(s) + 1) / 2;
    const uint32_t i = (uint32_t)(below_one * n);
    return i < n ? i : n - 1;
}

/* The largest of its numbers no larger than some: products of sums of products overflow. */
static eng_value bounded(eng_graph *g, eng_value x)
{
    return eng_rms_norm(g, x, ENG_NO_VALUE, 1e-5);
}

/* A product so small that one thread does it, beside what it leaves of x. */
static eng_value some_rows(eng_graph *g, eng_value w, eng_value x)
{
    const eng_value few = eng_mul_mat(g, eng_slice(g, w, 1, 0, 8), x);
    return eng_concat(g, few, eng_slice(g, x, 0, 8, WIDTH - 8), 0);
}

/* The same elements in another order. */
static eng_value turned(eng_graph *g, eng_value x, int64_t tokens)
{
    const int64_t parts[3] = {WIDTH / 4, 4, tokens}, whole[2] = {WIDTH, tokens};
    const int dims[3] = {1, 0, 2};
    return eng_reshape(g, eng_cont(g, eng_permute(g, eng_reshape(g, x, parts, 3), dims, 3)), whole, 2);
}

static eng_value step(eng_graph *g, uint64_t *s, eng_value w, eng_value a, eng_value b, int64_t tokens)
{
    switch (choose(s, 10)) {
    case 0: return eng_add(g, a, b);
    case 1: return bounded(g, eng_mul(g, a, b));
    case 2: return eng_unary(g, a, choose(s, 2) ? ENG_UNARY_SILU : ENG_UNARY_SIGMOID);
    case 3: case 4: case 5: return bounded(g, eng_mul_mat(g, w, a));
    case 6: return some_rows(g, w, a);
    case 7: return eng_glu(g, a, b, ENG_GLU_SWIGLU, NULL);
    case 8: return turned(g, a, tokens);
    default: return bounded(g, a);
    }
}

static eng_value draw(eng_graph *g, const drawn *what, eng_value w, eng_value x)
{
    uint64_t s = what->seed;
    eng_value pool[POOL];
    for (int i = 0; i < POOL; i++)
        pool[i] = eng_scale(g, x, 1 + i, 0);
    for (int i = 0; i < what->steps; i++) {
        const uint32_t a = choose(&s, POOL), b = choose(&s, POOL), to = choose(&s, POOL);
        pool[to] = step(g, &s, w, pool[a], pool[b], what->tokens);
    }
    eng_value sum = pool[0];
    for (int i = 1; i < POOL; i++)
        sum = eng_add(g, sum, bounded(g, pool[i]));
    return sum;
}

/* -- runs of it ---------------------------------------------------------------------------------- */

typedef struct subject {
    const device *device;
    drawn what;
    eng_store *store;
    eng_plan *plan;
    eng_instance *instance;
    eng_queue *queue;
} subject;

static bool prepare(subject *s, const device *d, const drawn *what)
{
    eng_store_tensor t[3] = {{.ne = {WIDTH, WIDTH}, .name = "w", .use = ENG_USE_WEIGHT},
                             {.ne = {WIDTH, what->tokens}, .name = "x", .use = ENG_USE_INPUT},
                             {.ne = {WIDTH, what->tokens}, .name = "y", .use = ENG_USE_OUTPUT}};
    eng_graph *g = NULL;
    eng_value in[3];
    *s = (subject){.device = d, .what = *what};
    for (int i = 0; i < 3; i++) {
        t[i].size = sizeof *t;
        t[i].type = ENG_TYPE_F32;
        t[i].rank = 2;
        t[i].layer = -1;
    }
    bool good = eng_store_create(d->device, t, 3, &s->store) == ENG_OK && eng_graph_create(d->context, 0, &g) == ENG_OK;
    for (uint32_t i = 0; good && i < 3; i++)
        in[i] = eng_graph_tensor(g, 0, s->store, i);
    for (uint32_t i = 0; good && i < 2; i++) {
        const uint64_t bytes = eng_store_bytes(s->store, i);
        float *values = numbers((int64_t)(bytes / sizeof *values), i + 1);
        good = values && eng_store_write(s->store, i, 0, bytes, values) == ENG_OK;
        free(values);
    }
    if (good)
        eng_store_value(g, in[2], draw(g, what, in[0], in[1]));
    good = good && eng_graph_seal(g) == ENG_OK && eng_plan_create(d->device, g, &s->plan) == ENG_OK &&
           eng_instance_create(s->plan, &s->store, 1, &s->instance) == ENG_OK &&
           eng_queue_create(d->device, &s->queue) == ENG_OK;
    eng_graph_destroy(g);
    return good;
}

static bool compute_once(const subject *s, float *out)
{
    eng_fence fence;
    return eng_queue_submit(s->queue, NULL, 0, s->instance, NULL, 0, &fence) == ENG_OK &&
           eng_fence_wait(fence, UINT64_MAX) == ENG_OK &&
           eng_store_read(s->store, 2, 0, eng_store_bytes(s->store, 2), out) == ENG_OK;
}

static void end(subject *s)
{
    eng_queue_destroy(s->queue);
    eng_instance_destroy(s->instance);
    eng_plan_release(s->plan);
    eng_store_destroy(s->store);
}

/* What one thread makes of it. */
static bool expected(const device *one, const drawn *what, float *out)
{
    subject s;
    bool good = prepare(&s, one, what) && compute_once(&s, out);
    for (int64_t i = 0; good && i < WIDTH * what->tokens; i++)
        good = isfinite(out[i]);
    if (!good)
        printf("# %s: seed %llu: a result that is not finite, or %s\n", one->name, (unsigned long long)what->seed, eng_last_error());
    end(&s);
    return good;
}

static bool same(const device *d, const drawn *what, const float *right)
{
    float out[WIDTH * MOST_TOKENS];
    subject s;
    bool good = prepare(&s, d, what);
    for (int i = 0; i < what->runs && good; i++) {
        memset(out, 0xff, sizeof out);
        good = compute_once(&s, out) && memcmp(out, right, (size_t)(WIDTH * what->tokens) * sizeof *out) == 0;
    }
    if (!good)
        printf("# %s: seed %llu, %d tokens, %d steps: other bits, or %s\n", d->name, (unsigned long long)what->seed,
               (int)what->tokens, what->steps, eng_last_error());
    end(&s);
    return good;
}

static bool check_one(const device *one, const device *several, const drawn *what)
{
    float right[WIDTH * MOST_TOKENS];
    return expected(one, what, right) && same(several, what, right);
}

static bool check(const device *one, const device *several, int graphs)
{
    bool good = true;
    for (int i = 0; i < graphs && good; i++)
        good = check_one(one, several, &(drawn){(uint64_t)i + 1, 1 + i % MOST_TOKENS, 20 + i * 37 % (MOST_STEPS - 20), RUNS});
    return good;
}

/* -- two hosts that use the device at once --------------------------------------------------------- */

typedef struct host {
    pthread_t thread;
    const device *one, *several;
    drawn what;
    bool good;
} host;

static void *host_main(void *arg)
{
    host *h = arg;
    h->good = check_one(h->one, h->several, &h->what);
    return NULL;
}

static bool check_hosts(const device *one, const device *several)
{
    host h[HOSTS];
    bool good = true;
    for (int i = 0; i < HOSTS; i++) {
        h[i] = (host){.one = one, .several = several, .what = {1000 + (uint64_t)i, 1 + i, LONG_STEPS, LONG_RUNS}};
        if (pthread_create(&h[i].thread, NULL, host_main, &h[i]) != 0)
            return false;
    }
    for (int i = 0; i < HOSTS; i++) {
        pthread_join(h[i].thread, NULL);
        good = good && h[i].good;
    }
    return good;
}

int main(int argc, char **argv)
{
    static const char *const variants[] = {"avx512vnni", "neon", "scalar"};
    const int graphs = argc > 1 ? atoi(argv[1]) : 40;
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
        device d[3];
        int n = 0;
        while (n < 3 && open_device(&d[n], variants[v], n + 1))
            n++;
        for (int i = 1; i < n; i++)
            tap_check(check(&d[0], &d[i], graphs), "%s: %d graphs", d[i].name, graphs);
        if (n == 3)
            tap_check(check_hosts(&d[0], &d[1]), "%s: two hosts at once", d[1].name);
        for (int i = 0; i < n; i++)
            close_device(&d[i]);
    }
    return tap_end(NULL);
}
