/*
 * Norms of long rows that are split among the ranks: what double precision says, without
 * moving the rows.
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

enum { N = 4100, ROWS = 24, MOST_SENT = 30000 };
enum { X, W, RMS, L2, TENSORS };

static const char *const devices[] = {"cpu", "cpu/2", "cpu/3", "cpu/5", "cpu/2@3:1", "cpu/4@1:5:0:2", "cpu/2@1:0"};
static const double eps[] = {1e-6, 1e-5};
static eng_context *context;
static float x[N * ROWS], w[N];

/* Rows of all sizes, one of zeros, one that is zero but in its last element, one tiny. */
static void fill(void)
{
    unsigned seed = 1;

    for (int r = 0; r < ROWS; r++) {
        double size = r == 3 ? 0 : r == 5 ? 1e-12 : ldexp(1, r - ROWS / 2);
        for (int i = 0; i < N; i++) {
            seed = seed * 1664525u + 1013904223u;
            x[r * N + i] = (float)(size * ((seed >> 8) / 8388608.0 - 1));
            if (r == 7)
                x[r * N + i] = i == N - 1 ? 3 : 0;
        }
    }
    for (int i = 0; i < N; i++)
        w[i] = (float)(1 + i % 13) / 8;
}

static eng_store *make_store(eng_device *device)
{
    eng_store_tensor t[TENSORS] = {
        [X] = {.rank = 2, .use = ENG_USE_INPUT, .ne = {N, ROWS}, .name = "x"},
        [W] = {.rank = 1, .use = ENG_USE_WEIGHT, .ne = {N}, .name = "w"},
        [RMS] = {.rank = 2, .use = ENG_USE_STATE, .ne = {N, ROWS}, .name = "rms"},
        [L2] = {.rank = 2, .use = ENG_USE_STATE, .ne = {N, ROWS}, .name = "l2"},
    };
    eng_factor n = {.axis = eng_context_axis(context, "width"), .extent = N};
    eng_segment segment = {.n_factors = 1, .factors = &n};
    eng_dim dims[] = {{.n_segments = 1, .segments = &segment}, {0}};
    eng_store *store = NULL;

    for (int i = 0; i < TENSORS; i++) {
        t[i].size = sizeof t[i];
        t[i].layer = -1;
        t[i].dims = i >= RMS ? dims : NULL;
    }
    if (eng_store_create(device, t, TENSORS, &store) == ENG_OK && eng_store_write(store, X, 0, sizeof x, x) == ENG_OK &&
        eng_store_write(store, W, 0, sizeof w, w) == ENG_OK)
        return store;
    eng_store_destroy(store);
    return NULL;
}

static bool build(eng_graph *g, eng_store *store)
{
    eng_value in[TENSORS];
    eng_factor n = {.axis = eng_context_axis(context, "width"), .extent = N};
    eng_segment segment = {.n_factors = 1, .factors = &n};
    eng_dim dims[] = {{.n_segments = 1, .segments = &segment}, {0}};
    eng_placement split = {.size = sizeof split, .kind = ENG_PLACE_SHARDED, .axis = n.axis};

    for (uint32_t i = 0; i < TENSORS; i++)
        in[i] = eng_graph_tensor(g, 0, store, i);
    eng_value y = eng_scale(g, in[X], 1, 0);
    eng_graph_set_axes(g, y, dims, 2);
    eng_graph_place(g, y, &split);
    eng_store_value(g, in[RMS], eng_rms_norm(g, y, in[W], eps[0]));
    eng_store_value(g, in[L2], eng_l2_norm(g, y, eps[1]));
    return eng_graph_seal(g) == ENG_OK;
}

/* The largest deviation, of a row's largest element. */
static double deviation(const float *got, bool rms)
{
    double worst = 0;

    for (int r = 0; r < ROWS; r++) {
        double sum = 0, most = 1e-30, off = 0;
        for (int i = 0; i < N; i++)
            sum += (double)x[r * N + i] * x[r * N + i];
        for (int i = 0; i < N; i++) {
            double want = rms ? x[r * N + i] / sqrt(sum / N + eps[0]) * w[i] : x[r * N + i] / fmax(sqrt(sum), eps[1]);
            most = fmax(most, fabs(want));
            off = fabs(got[r * N + i] - want) <= off ? off : fabs(got[r * N + i] - want);
        }
        worst = off / most <= worst ? worst : off / most;
    }
    return worst;
}

static bool run(const char *name, double *rms_off, double *l2_off, uint64_t *sent)
{
    static float rms[N * ROWS], l2[N * ROWS];
    eng_device *device = NULL;
    eng_store *store = NULL;
    eng_graph *graph = NULL;
    eng_plan *plan = NULL;
    eng_instance *instance = NULL;
    eng_queue *queue = NULL;
    eng_fence fence;
    eng_device_stats stats = {.size = sizeof stats};
    bool good = eng_device_open(context, name, &device) == ENG_OK && (store = make_store(device)) != NULL;

    memset(rms, 0xff, sizeof rms);
    memset(l2, 0xff, sizeof l2);
    good = good && eng_graph_create(context, 0, &graph) == ENG_OK && build(graph, store) &&
           eng_plan_create(device, graph, &plan) == ENG_OK &&
           eng_instance_create(plan, &store, 1, &instance) == ENG_OK && eng_queue_create(device, &queue) == ENG_OK &&
           eng_queue_submit(queue, instance, NULL, 0, &fence) == ENG_OK &&
           eng_fence_wait(fence, UINT64_MAX) == ENG_OK && eng_device_get_stats(device, &stats) == ENG_OK &&
           eng_store_read(store, RMS, 0, sizeof rms, rms) == ENG_OK &&
           eng_store_read(store, L2, 0, sizeof l2, l2) == ENG_OK;
    if (!good)
        printf("# %s: %s\n", name, eng_last_error());
    *rms_off = deviation(rms, true);
    *l2_off = deviation(l2, false);
    *sent = stats.bytes_exchanged;
    eng_queue_destroy(queue);
    eng_instance_destroy(instance);
    eng_plan_release(plan);
    eng_graph_destroy(graph);
    eng_store_destroy(store);
    eng_device_close(device);
    return good;
}

int main(void)
{
    int n = 0, failed = 0;

    if (eng_context_create(NULL, &context) != ENG_OK) {
        printf("Bail out! %s\n", eng_last_error());
        return 1;
    }
    fill();
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
        double rms, l2;
        uint64_t sent;
        bool good = run(devices[d], &rms, &l2, &sent) && rms <= 2e-6 && l2 <= 2e-6 && sent <= MOST_SENT;
        failed += !good;
        printf("%sok %d - norms of split rows, %s: off %.2g and %.2g, %lu bytes sent\n", good ? "" : "not ", ++n,
               devices[d], rms, l2, (unsigned long)sent);
    }
    printf("1..%d\n", n);
    eng_context_destroy(context);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
