/*
 * Norms of long rows that are split among the ranks: what double precision says, without
 * moving the rows.
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "rig.h"

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

static bool make_store(rig *g)
{
    eng_store_tensor t[TENSORS] = {
        [X] = {.rank = 2, .use = ENG_USE_INPUT, .ne = {N, ROWS}, .name = "x"},
        [W] = {.rank = 1, .use = ENG_USE_WEIGHT, .ne = {N}, .name = "w"},
        [RMS] = {.rank = 2, .use = ENG_USE_STATE, .ne = {N, ROWS}, .name = "rms"},
        [L2] = {.rank = 2, .use = ENG_USE_STATE, .ne = {N, ROWS}, .name = "l2"},
    };
    rig_dim n;
    eng_dim dims[] = {rig_axis(&n, eng_context_axis(context, "width"), N, 1), {0}};

    t[RMS].dims = t[L2].dims = dims;
    return rig_store(g, t, TENSORS) && rig_write(g, X, x) && rig_write(g, W, w);
}

static bool build(rig *r)
{
    eng_value in[TENSORS];
    rig_dim n;
    eng_graph *g = r->graph;
    eng_placement split = {.size = sizeof split, .kind = ENG_PLACE_SHARDED, .axis = eng_context_axis(context, "width")};
    eng_dim dims[] = {rig_axis(&n, split.axis, N, 1), {0}};

    rig_values(r, in, TENSORS);
    eng_value y = eng_scale(g, in[X], 1, 0);
    eng_graph_set_axes(g, y, dims, 2);
    eng_graph_place(g, y, &split);
    eng_store_value(g, in[RMS], eng_rms_norm(g, y, in[W], eps[0]));
    eng_store_value(g, in[L2], eng_l2_norm(g, y, eps[1]));
    return rig_plan(r);
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
    eng_device_stats stats = {.size = sizeof stats};
    rig g;

    memset(rms, 0xff, sizeof rms);
    memset(l2, 0xff, sizeof l2);
    bool good = rig_open(&g, context, name, 0) && make_store(&g) && build(&g) && rig_run(&g, NULL, 0) &&
                eng_device_get_stats(g.device, &stats) == ENG_OK && rig_read(&g, RMS, rms) && rig_read(&g, L2, l2);
    if (!good)
        printf("# %s: %s\n", name, eng_last_error());
    *rms_off = deviation(rms, true);
    *l2_off = deviation(l2, false);
    *sent = stats.bytes_exchanged;
    rig_close(&g);
    return good;
}

int main(void)
{
    if (!(context = tap_begin()))
        return 1;
    fill();
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
        double rms, l2;
        uint64_t sent;
        bool good = run(devices[d], &rms, &l2, &sent) && rms <= 2e-6 && l2 <= 2e-6 && sent <= MOST_SENT;
        tap_check(good, "norms of split rows, %s: off %.2g and %.2g, %lu bytes sent", devices[d], rms, l2,
                  (unsigned long)sent);
    }
    return tap_end(context);
}
