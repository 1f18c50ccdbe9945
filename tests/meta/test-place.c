/*
 * Placements that the host forces on values (eng_graph_place): whatever they are, the
 * results are those of one device; and those that cannot be had are refused.
 *
 *   y = w x;  z = y + bias;  s = 2 z;  v = s as [8, 5, COLS];  state[ids] = z (in place);
 *   u = state * s;  out = v * v + u as [8, 5, COLS]
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

enum { K = 24, M = 40, COLS = 5, HEADS = 5, BYTES = M * COLS * 4 };
enum { W, X, BIAS, STATE, IDS, OUT, TENSORS };                       /* of the store        */
enum { V_W, V_X, V_Y, V_Z, V_S, V_V, V_STATE, V_U, V_SQUARE, VALUES }; /* that may be placed */
enum { REPLICATED, SHARDED, PARTIAL, FIRST, LAST, GUEST, KINDS };

static const char *const value_names[] = {"w", "x", "y", "z", "s", "v", "state", "u", "v*v"};
static const char *const kind_names[] = {"replicated", "sharded", "partial", "on the first", "on the last", "on a guest"};
static eng_context *context;
static uint32_t axis_k, axis_m;
static int n_tests, n_failed;

static void check(bool good, const char *what, const char *device, const char *more)
{
    n_failed += !good;
    printf("%sok %d - %s, %s%s%s\n", good ? "" : "not ", ++n_tests, what, device, more[0] ? ": " : "", more);
}

/* Dimension with one factor, or with two: the axis outermost. */
typedef struct named {
    eng_factor factors[2];
    eng_segment segment;
    eng_dim dim;
} named;
static eng_dim name_dim(named *n, uint32_t axis, int64_t extent, int64_t inner)
{
    n->factors[0] = (eng_factor){.axis = axis, .extent = extent};
    n->factors[1] = (eng_factor){.extent = inner};
    n->segment = (eng_segment){.n_factors = inner > 1 ? 2 : 1, .factors = n->factors};
    return (eng_dim){.n_segments = 1, .segments = &n->segment};
}

static eng_store *make_store(eng_device *device)
{
    static float data[K * M];
    static const int32_t ids[COLS] = {3, -1, 0, 4, 1};
    eng_store_tensor t[TENSORS] = {
        [W] = {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_WEIGHT | ENG_USE_MATRIX, .ne = {K, M}, .name = "w"},
        [X] = {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_INPUT, .ne = {K, COLS}, .name = "x"},
        [BIAS] = {.type = ENG_TYPE_F32, .rank = 1, .use = ENG_USE_WEIGHT, .ne = {M}, .name = "bias"},
        [STATE] = {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_STATE, .ne = {M, COLS}, .name = "state"},
        [IDS] = {.type = ENG_TYPE_I32, .rank = 1, .use = ENG_USE_INPUT, .ne = {COLS}, .name = "ids"},
        [OUT] = {.type = ENG_TYPE_F32, .rank = 3, .use = ENG_USE_OUTPUT, .ne = {8, HEADS, COLS}, .name = "out"},
    };
    eng_store *store = NULL;

    for (int i = 0; i < TENSORS; i++) {
        t[i].size = sizeof t[i];
        t[i].layer = -1;
    }
    if (eng_store_create(device, t, TENSORS, &store) != ENG_OK)
        return NULL;
    for (int i = 0; i < TENSORS; i++) {
        for (int j = 0; j < K * M; j++)
            data[j] = (float)((j * 37 + i * 11) % 101) / 50 - 1;
        if (eng_store_write(store, (uint32_t)i, 0, eng_store_bytes(store, (uint32_t)i), i == IDS ? (const void *)ids : data) !=
            ENG_OK) {
            eng_store_destroy(store);
            return NULL;
        }
    }
    return store;
}

/* The axes by which a value may be sharded. */
static void name_axes(eng_graph *g, const eng_value *v)
{
    named k, m, heads;
    eng_dim dk = name_dim(&k, axis_k, K, 1), dm = name_dim(&m, axis_m, HEADS, M / HEADS),
            dh = name_dim(&heads, axis_m, HEADS, 1), none = {0};

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
static bool build(eng_graph *g, eng_store *store, const int *kinds, const char *first, const char *last)
{
    eng_value v[VALUES], in[TENSORS];
    bool good = true;

    for (uint32_t i = 0; i < TENSORS; i++)
        in[i] = eng_graph_tensor(g, 0, store, i);
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
    return good && eng_graph_seal(g) == ENG_OK;
}

typedef struct results {
    float out[BYTES / 4], state[BYTES / 4];
} results;

static bool run(const char *name, const char *first, const char *last, const int *kinds, results *r)
{
    eng_device *device = NULL;
    eng_store *store = NULL;
    eng_graph *graph = NULL;
    eng_plan *plan = NULL;
    eng_instance *instance = NULL;
    eng_queue *queue = NULL;
    eng_fence fence;
    bool good = eng_device_open(context, name, &device) == ENG_OK && (store = make_store(device)) != NULL;

    memset(r, 0xff, sizeof *r);
    good = good && eng_graph_create(context, 0, &graph) == ENG_OK && build(graph, store, kinds, first, last);
    good = good && eng_plan_create(device, graph, &plan) == ENG_OK &&
           eng_instance_create(plan, &store, 1, &instance) == ENG_OK && eng_queue_create(device, &queue) == ENG_OK &&
           eng_queue_submit(queue, instance, NULL, 0, &fence) == ENG_OK &&
           eng_fence_wait(fence, UINT64_MAX) == ENG_OK && eng_store_read(store, OUT, 0, BYTES, r->out) == ENG_OK &&
           eng_store_read(store, STATE, 0, BYTES, r->state) == ENG_OK;
    if (!good)
        printf("# %s: %s\n", name, eng_last_error());
    eng_queue_destroy(queue);
    eng_instance_destroy(instance);
    eng_plan_release(plan);
    eng_graph_destroy(graph);
    eng_store_destroy(store);
    eng_device_close(device);
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
    char text[96];
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
    snprintf(text, sizeof text, "%d of %d differ", failures, runs);
    check(failures == 0, "values forced to places", c->name, text);
}

/* A value of blocks, placed so that blocks would be divided; and an unknown device. */
static void check_refused(bool unknown)
{
    named rows;
    eng_device *device = NULL;
    eng_store *store = NULL;
    eng_graph *graph = NULL;
    eng_plan *plan = NULL;
    eng_placement p = {.size = sizeof p, .kind = ENG_PLACE_SHARDED, .axis = eng_context_axis(context, "third")};
    eng_store_tensor t[] = {
        {.size = sizeof *t, .type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_INPUT, .ne = {96, 2}, .name = "x", .layer = -1},
        {.size = sizeof *t, .type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_OUTPUT, .ne = {96, 2}, .name = "o", .layer = -1},
    };
    eng_dim dims[] = {name_dim(&rows, p.axis, 6, 16), {0}};
    bool good = eng_device_open(context, "cpu/2", &device) == ENG_OK &&
                eng_store_create(device, t, 2, &store) == ENG_OK && eng_graph_create(context, 0, &graph) == ENG_OK;

    if (unknown) {
        p.kind = ENG_PLACE_SINGLE;
        p.device = "nowhere:7";
    }
    if (good) {
        eng_value x = eng_graph_tensor(graph, 0, store, 0), o = eng_graph_tensor(graph, 0, store, 1);
        eng_value plain = eng_scale(graph, x, 1, 0);
        eng_value q = eng_quantize(graph, plain, ENG_TYPE_Q8_0, 0);
        eng_placement of_plain = {.size = sizeof p, .kind = ENG_PLACE_SHARDED, .axis = p.axis};
        eng_graph_set_axes(graph, plain, dims, 2);
        eng_graph_set_axes(graph, q, dims, 2);
        eng_graph_name(graph, q, "blocks");
        eng_store_value(graph, o, eng_dequantize(graph, q, ENG_TYPE_F32));
        good = eng_graph_place(graph, q, &p) == ENG_OK && eng_graph_place(graph, plain, &of_plain) == ENG_OK &&
               eng_graph_seal(graph) == ENG_OK;
    }
    /* the plain value has made a partition of 3 + 3 units of 16: no whole blocks of 32 */
    int status = good ? eng_plan_create(device, graph, &plan) : ENG_OK;
    const char *text = status != ENG_OK ? eng_last_error() : "made";
    check(good && status != ENG_OK && strstr(text, unknown ? "nowhere" : "blocks") != NULL,
          unknown ? "an unknown device is refused" : "divided blocks are refused", "cpu/2", text);
    eng_plan_release(plan);
    eng_graph_destroy(graph);
    eng_store_destroy(store);
    eng_device_close(device);
}

int main(void)
{
    int none[VALUES];
    results want;

    if (eng_context_create(NULL, &context) != ENG_OK) {
        printf("Bail out! %s\n", eng_last_error());
        return 1;
    }
    axis_k = eng_context_axis(context, "k");
    axis_m = eng_context_axis(context, "m");
    for (int i = 0; i < VALUES; i++)
        none[i] = -1;
    bool known = run("cpu", "cpu", "cpu", none, &want);
    check(known, "one device", "cpu", "");
    for (size_t i = 0; i < sizeof compositions / sizeof *compositions && known; i++)
        check_composition(&compositions[i], &want);
    check_refused(false);
    check_refused(true);
    printf("1..%d\n", n_tests);
    eng_context_destroy(context);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
