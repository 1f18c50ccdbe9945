/*
 * Placements that the host forces on values (eng_graph_place): whatever they are, the
 * results are those of one device; and those that cannot be had are refused.
 *
 *   y = w x;  z = y + bias;  s = 2 z;  v = s as [8, 5, COLS];  state[ids] = z (in place);
 *   u = state * s;  out = v * v + u as [8, 5, COLS]
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "rig.h"
#include "../matrix.h"

enum { K = 24, M = 40, COLS = 5, HEADS = 5, BYTES = M * COLS * 4 };
enum { W, X, BIAS, STATE, IDS, OUT, TENSORS };                       /* of the store        */
enum { V_W, V_X, V_Y, V_Z, V_S, V_V, V_STATE, V_U, V_SQUARE, VALUES }; /* that may be placed */
enum { REPLICATED, SHARDED, PARTIAL, FIRST, LAST, GUEST, KINDS };

static const char *const value_names[] = {"w", "x", "y", "z", "s", "v", "state", "u", "v*v"};
static const char *const kind_names[] = {"replicated",   "sharded",     "partial",
                                         "on the first", "on the last", "on a guest"};
static eng_context *context;
static uint32_t axis_k, axis_m;

static bool make_store(rig *g)
{
    static float data[K * M];
    static const int32_t ids[COLS] = {3, -1, 0, 4, 1};
    eng_store_tensor t[TENSORS] = {
        [W] = {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_WEIGHT | TEST_MATRIX, .ne = {K, M}, .name = "w"},
        [X] = {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_INPUT, .ne = {K, COLS}, .name = "x"},
        [BIAS] = {.type = ENG_TYPE_F32, .rank = 1, .use = ENG_USE_WEIGHT, .ne = {M}, .name = "bias"},
        [STATE] = {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_STATE, .ne = {M, COLS}, .name = "state"},
        [IDS] = {.type = ENG_TYPE_I32, .rank = 1, .use = ENG_USE_INPUT, .ne = {COLS}, .name = "ids"},
        [OUT] = {.type = ENG_TYPE_F32, .rank = 3, .use = ENG_USE_OUTPUT, .ne = {8, HEADS, COLS}, .name = "out"},
    };
    bool good = rig_store(g, t, TENSORS);

    for (uint32_t i = 0; i < TENSORS && good; i++) {
        for (int j = 0; j < K * M; j++)
            data[j] = (float)((j * 37 + (int)i * 11) % 101) / 50 - 1;
        good = rig_write(g, i, i == IDS ? (const void *)ids : data);
    }
    return good;
}

/* The axes by which a value may be sharded. */
static void name_axes(eng_graph *g, const eng_value *v)
{
    rig_dim k, m, heads;
    eng_dim dk = rig_axis(&k, axis_k, K, 1), dm = rig_axis(&m, axis_m, HEADS, M / HEADS),
            dh = rig_axis(&heads, axis_m, HEADS, 1), none = {0};

    eng_graph_set_axes(g, v[V_W], (eng_dim[]){dk, dm}, 2);
    eng_graph_set_axes(g, v[V_X], (eng_dim[]){dk, none}, 2);
    for (int i = V_Y; i <= V_S; i++)
        eng_graph_set_axes(g, v[i], (eng_dim[]){dm, none}, 2);
    eng_graph_set_axes(g, v[V_V], (eng_dim[]){none, dh, none}, 3);
    eng_graph_set_axes(g, v[V_STATE], (eng_dim[]){dm, none}, 2);
    eng_graph_set_axes(g, v[V_U], (eng_dim[]){dm, none}, 2);
    eng_graph_set_axes(g, v[V_SQUARE], (eng_dim[]){none, dh, none}, 3);
}

static bool place(eng_graph *g, const eng_value *v, int value, int kind, const char *first, const char *last)
{
    static const uint32_t kinds[] = {ENG_PLACE_REPLICATED, ENG_PLACE_SHARDED, ENG_PLACE_PARTIAL,
                                     ENG_PLACE_SINGLE,     ENG_PLACE_SINGLE,  ENG_PLACE_SINGLE};
    eng_placement p = {.size = sizeof p, .kind = kinds[kind]};

    p.axis = value == V_X || value == V_W ? axis_k : axis_m;
    p.device = kind == FIRST ? first : kind == LAST ? last : "cpu/7.6";
    return eng_graph_place(g, v[value], &p) == ENG_OK;
}

/* kinds: of each value, or -1. */
static bool build(rig *r, const int *kinds, const char *first, const char *last)
{
    eng_graph *g = r->graph;
    eng_value v[VALUES], in[TENSORS];
    bool good = true;

    rig_values(r, in, TENSORS);
    v[V_W] = in[W];
    v[V_X] = in[X];
    v[V_STATE] = in[STATE];
    v[V_Y] = eng_mul_mat(g, v[V_W], v[V_X]);
    v[V_Z] = eng_add(g, v[V_Y], in[BIAS]);
    v[V_S] = eng_scale(g, v[V_Z], 2, 0);
    v[V_V] = eng_reshape(g, v[V_S], (int64_t[]){M / HEADS, HEADS, COLS}, 3);
    eng_value before = eng_mul(g, v[V_STATE], v[V_S]); /* of the state as it was */
    eng_set_rows(g, v[V_STATE], v[V_Z], in[IDS]);
    v[V_U] = eng_add(g, eng_mul(g, v[V_STATE], v[V_S]), before);
    v[V_SQUARE] = eng_mul(g, v[V_V], v[V_V]);
    eng_store_value(g, in[OUT],
                    eng_add(g, v[V_SQUARE], eng_reshape(g, v[V_U], (int64_t[]){M / HEADS, HEADS, COLS}, 3)));
    name_axes(g, v);
    for (int i = 0; i < VALUES && good; i++)
        good = kinds[i] < 0 || place(g, v, i, kinds[i], first, last);
    return good && rig_plan(r);
}

typedef struct results {
    float out[BYTES / 4], state[BYTES / 4];
} results;

static bool run(const char *name, const char *first, const char *last, const int *kinds, results *r)
{
    rig g;

    memset(r, 0xff, sizeof *r);
    bool good = rig_open(&g, context, name, 0) && make_store(&g) && build(&g, kinds, first, last) &&
                rig_run(&g, NULL, 0) && rig_read(&g, OUT, r->out) && rig_read(&g, STATE, r->state);
    if (!good)
        printf("# %s: %s\n", name, eng_last_error());
    rig_close(&g);
    return good;
}

static bool close_enough(const results *a, const results *b)
{
    for (int i = 0; i < BYTES / 4; i++)
        if (!(fabsf(a->out[i] - b->out[i]) <= 1e-3f) || !(fabsf(a->state[i] - b->state[i]) <= 1e-4f))
            return false;
    return true;
}

static const struct composition {
    const char *name, *first, *last;
} compositions[] = {
    {"cpu/2", "cpu/2.0", "cpu/2.1"},
    {"cpu/3", "cpu/3.0", "cpu/3.2"},
    {"cpu/2@3:1", "cpu/2.0", "cpu/2.1"},
    {"cpu/5@1:5:2:2:0", "cpu/5.0", "cpu/5.4"},
};

/* Every value everywhere, alone and with every other. */
static void check_composition(const struct composition *c, const results *want)
{
    int kinds[VALUES], failures = 0, runs = 0;
    results got;

    for (int a = 0; a < VALUES * KINDS; a++) {
        for (int b = a / KINDS * KINDS; b < VALUES * KINDS; b += 1 + (a * 7 + b) % 5) {
            for (int i = 0; i < VALUES; i++)
                kinds[i] = -1;
            kinds[b / KINDS] = b % KINDS;
            kinds[a / KINDS] = a % KINDS;
            runs++;
            if (run(c->name, c->first, c->last, kinds, &got) && close_enough(want, &got))
                continue;
            failures++;
            printf("# %s: %s %s, %s %s\n", c->name, value_names[a / KINDS], kind_names[a % KINDS],
                   value_names[b / KINDS], kind_names[b % KINDS]);
        }
    }
    tap_check(failures == 0, "values forced to places, %s: %d of %d differ", c->name, failures, runs);
}

/* A value of blocks, placed so that blocks would be divided; and an unknown device. */
static void check_refused(bool unknown)
{
    rig_dim rows;
    rig g;
    eng_placement p = {.size = sizeof p, .kind = ENG_PLACE_SHARDED, .axis = eng_context_axis(context, "third")};
    eng_placement of_plain = p;
    eng_store_tensor t[] = {
        {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_INPUT, .ne = {96, 2}, .name = "x"},
        {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_OUTPUT, .ne = {96, 2}, .name = "o"},
    };
    eng_dim dims[] = {rig_axis(&rows, p.axis, 6, 16), {0}};
    bool good = rig_open(&g, context, "cpu/2", 0) && rig_store(&g, t, 2);

    if (unknown) {
        p.kind = ENG_PLACE_SINGLE;
        p.device = "nowhere:7";
    }
    if (good) {
        eng_value in[2];
        rig_values(&g, in, 2);
        eng_value plain = eng_scale(g.graph, in[0], 1, 0);
        eng_value q = eng_quantize(g.graph, plain, ENG_TYPE_Q8_0, 0);
        eng_graph_set_axes(g.graph, plain, dims, 2);
        eng_graph_set_axes(g.graph, q, dims, 2);
        eng_graph_name(g.graph, q, "blocks");
        eng_store_value(g.graph, in[1], eng_dequantize(g.graph, q, ENG_TYPE_F32));
        good = eng_graph_place(g.graph, q, &p) == ENG_OK && eng_graph_place(g.graph, plain, &of_plain) == ENG_OK &&
               eng_graph_seal(g.graph) == ENG_OK;
    }
    /* the plain value has made a partition of 3 + 3 units of 16: no whole blocks of 32 */
    bool made = good && eng_plan_create(g.device, g.graph, &g.plan) == ENG_OK;
    const char *text = made ? "made" : eng_last_error();
    tap_check(good && !made && strstr(text, unknown ? "nowhere" : "blocks") != NULL, "%s, cpu/2: %s",
              unknown ? "an unknown device is refused" : "divided blocks are refused", text);
    rig_close(&g);
}

/* A view across the shards is cut too, though along no axis that has a name, where the ranks'
 * boundaries fall between its rows, or its ends within shards: what is computed of it is not
 * brought together.  Sent are only the sums of the slice' rows, one number a row from each rank. */
static void check_views(const char *name, uint64_t most_sent)
{
    enum { X_IN, TURNED, SUMS, N = 24, ROWS = 5, BEGIN = 5, LENGTH = 14 };
    static float x[N * ROWS], got[N * ROWS], sums[ROWS];
    rig_dim m;
    rig g;
    eng_device_stats stats = {.size = sizeof stats};
    eng_dim dims[] = {rig_axis(&m, axis_m, N, 1), {0}};
    eng_placement split = {.size = sizeof split, .kind = ENG_PLACE_SHARDED, .axis = axis_m};
    eng_store_tensor t[] = {
        [X_IN] = {.rank = 2, .use = ENG_USE_INPUT, .ne = {N, ROWS}},
        [TURNED] = {.rank = 2, .use = ENG_USE_STATE, .ne = {N, ROWS}, .dims = dims},
        [SUMS] = {.rank = 2, .use = ENG_USE_OUTPUT, .ne = {1, ROWS}},
    };
    bool good = rig_open(&g, context, name, 0) && rig_store(&g, t, 3);

    for (int i = 0; i < N * ROWS; i++)
        x[i] = (float)(i * 37 % 101 - 50);
    if (good) {
        eng_value in[3];
        rig_values(&g, in, 3);
        eng_value y = eng_scale(g.graph, in[X_IN], 1, 0);
        eng_graph_set_axes(g.graph, y, dims, 2);
        eng_graph_place(g.graph, y, &split);
        eng_value rows = eng_scale(g.graph, eng_reshape(g.graph, y, (int64_t[]){4, N / 4, ROWS}, 3), -1, 0);
        eng_store_value(g.graph, in[TURNED], eng_reshape(g.graph, rows, (int64_t[]){N, ROWS}, 2));
        eng_value part = eng_scale(g.graph, eng_slice(g.graph, y, 0, BEGIN, LENGTH), 2, 0);
        eng_store_value(g.graph, in[SUMS], eng_sum_rows(g.graph, part));
    }
    good = good && rig_write(&g, X_IN, x) && rig_plan(&g) && rig_run(&g, NULL, 0) && rig_read(&g, TURNED, got) &&
           rig_read(&g, SUMS, sums) && eng_device_get_stats(g.device, &stats) == ENG_OK;
    if (!good)
        printf("# %s\n", eng_last_error());
    for (int r = 0; r < ROWS && good; r++) {
        float sum = 0;
        for (int i = 0; i < N; i++) {
            good = good && got[r * N + i] == -x[r * N + i];
            sum += i >= BEGIN && i < BEGIN + LENGTH ? 2 * x[r * N + i] : 0;
        }
        good = good && sums[r] == sum;
    }
    tap_check(good && stats.bytes_exchanged <= most_sent, "views across shards, %s: %lu bytes sent", name,
              (unsigned long)stats.bytes_exchanged);
    rig_close(&g);
}

int main(void)
{
    int none[VALUES];
    results want;

    if (!(context = tap_begin()))
        return 1;
    axis_k = eng_context_axis(context, "k");
    axis_m = eng_context_axis(context, "m");
    for (int i = 0; i < VALUES; i++)
        none[i] = -1;
    bool known = run("cpu", "cpu", "cpu", none, &want);
    tap_check(known, "one device");
    for (size_t i = 0; i < sizeof compositions / sizeof *compositions && known; i++)
        check_composition(&compositions[i], &want);
    check_views("cpu/2", 2 * 5 * 4);
    check_views("cpu/3", 3 * 2 * 5 * 4);
    check_views("cpu/3@1:0:2", 2 * 5 * 4);
    check_refused(false);
    check_refused(true);
    return tap_end(context);
}
