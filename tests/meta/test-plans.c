/*
 * What the planner chooses where several plans compute the same: a shard is cheaper than the
 * whole, what one rank has alone is had under every name, a view is made once.  And values
 * between devices whose memory the host does not reach.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

enum { K = 128, M = 256 };

static eng_context *context, *faults; /* faults: with the plugin of tests/meta/fault */
static uint32_t axis;

/* A number of the plan's report, by its key; -1: it has none. */
static long number(const rig *g, const char *key, int which)
{
    static rig_text t;
    char quoted[32];
    const char *at = t.data;

    if (!g->plan || !rig_explain(g, ENG_EXPLAIN_JSON, &t))
        return -1;
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    for (int i = 0; at && i <= which; i++)
        at = (at = strstr(at, quoted)) ? at + strlen(quoted) : NULL;
    return at ? strtol(at, NULL, 10) : -1;
}

/* A value equal to x that is placed so; a single one is on the last rank. */
static eng_value placed(rig *g, eng_value x, uint32_t kind, uint32_t dim)
{
    const eng_tensor *t = eng_graph_get(g->graph, x);
    eng_device_info last = {.size = sizeof last};
    eng_placement p = {.size = sizeof p, .kind = kind, .axis = axis};
    eng_dim dims[2] = {{0}};
    rig_dim d;
    eng_value y = eng_scale(g->graph, x, 1, 0);

    dims[dim] = rig_axis(&d, axis, t ? t->ne[dim] : 1, 1);
    if (kind == ENG_PLACE_SINGLE && eng_device_leaf(g->device, 1, &last, NULL) == ENG_OK)
        p.device = last.name;
    eng_graph_set_axes(g->graph, y, dims, 2);
    eng_graph_place(g->graph, y, &p);
    return y;
}

/* Both operands are cut along what is summed.  To multiply what each rank has and to add the products sends
 * more than to bring the operands to all, and is half the work: if there is much of that it decides. */
static void check_share(int64_t k, bool shared)
{
    eng_store_tensor t[] = {
        {.rank = 2, .use = ENG_USE_INPUT, .ne = {k, M}},
        {.rank = 2, .use = ENG_USE_INPUT, .ne = {k, M}},
        {.rank = 2, .use = ENG_USE_OUTPUT, .ne = {M, M}},
    };
    eng_value in[3];
    rig g;
    bool good = rig_open(&g, context, "cpu/2", 0) && rig_store(&g, t, 3);

    if (good) {
        rig_values(&g, in, 3);
        eng_value a = placed(&g, in[0], ENG_PLACE_SHARDED, 0), b = placed(&g, in[1], ENG_PLACE_SHARDED, 0);
        eng_store_value(g.graph, in[2], eng_mul_mat(g.graph, a, b));
        good = rig_plan(&g);
    }
    if (!tap_check(good && number(&g, "partial", 0) == shared, "rows of %d: half the work %s for the sum", (int)k,
                   shared ? "pays" : "does not pay"))
        printf("# %s\n", eng_last_error());
    rig_close(&g);
}

/* One rank has all of it and the other nothing: whatever that is called, nothing is exchanged. */
static void check_alone(uint32_t from, uint32_t to)
{
    static const char *const names[] = {
        [ENG_PLACE_SHARDED] = "sharded", [ENG_PLACE_PARTIAL] = "partial", [ENG_PLACE_SINGLE] = "single"};
    eng_store_tensor t[] = {
        {.rank = 2, .use = ENG_USE_INPUT, .ne = {K, M}},
        {.rank = 2, .use = ENG_USE_OUTPUT, .ne = {K, M}},
    };
    eng_value in[2];
    rig g;
    bool good = rig_open(&g, context, "cpu/2@0:1", 0) && rig_store(&g, t, 2);

    if (good) {
        rig_values(&g, in, 2);
        eng_value v = placed(&g, placed(&g, in[0], from, 0), to, 1);
        eng_store_value(g.graph, in[1], v);
        good = rig_plan(&g);
    }
    long meetings = number(&g, "meetings", 0);
    if (!tap_check(good && meetings == 0, "%s on one rank is %s: %ld exchanges", names[from], names[to], meetings))
        printf("# %s\n", eng_last_error());
    rig_close(&g);
}

/* Three ops read a view, of which no rank sees more than one: a device that takes no more tensors than there are. */
static bool plan_views(const char *most)
{
    eng_store_tensor t[] = {
        {.rank = 2, .use = ENG_USE_INPUT, .ne = {16, 4}},
        {.rank = 2, .use = ENG_USE_STATE, .ne = {32, 2}},
    };
    eng_value in[2];
    rig g;
    bool good = eng_context_set_option(faults, "fault.tensors", most) == ENG_OK &&
                rig_open(&g, faults, "fault:0+fault:1", 0) && rig_store(&g, t, 2);

    if (good) {
        rig_values(&g, in, 2);
        eng_value view = eng_reshape(g.graph, in[0], (int64_t[]){32, 2}, 2);
        eng_value sum = eng_add(g.graph, eng_scale(g.graph, view, 2, 0), eng_unary(g.graph, view, ENG_UNARY_SILU));
        eng_store_value(g.graph, in[1], eng_add(g.graph, sum, view));
        good = rig_plan(&g);
    }
    rig_close(&g);
    return good && eng_context_set_option(faults, "fault.tensors", "0") == ENG_OK;
}

static void check_views(void)
{
    if (!tap_check(plan_views("7"), "a view of three readers is there once"))
        printf("# %s\n", eng_last_error());
    tap_check(!plan_views("6") && strstr(eng_last_error(), "planted: 7 tensors"), "seven tensors are not six");
}

/* What is on one device is copied on another: through the host's staging buffers, which the devices fill and empty. */
static void check_staged(void)
{
    float data[K], got[K] = {0};
    eng_store_tensor t[] = {
        {.rank = 1, .use = ENG_USE_INPUT, .ne = {K}, .device = "fault:0"},
        {.rank = 1, .use = ENG_USE_OUTPUT, .ne = {K}, .device = "fault:1"},
    };
    eng_value in[2];
    rig g;
    bool good = eng_context_set_option(faults, "fault.device", "null:0") == ENG_OK &&
                eng_context_set_option(faults, "fault.staged", "1") == ENG_OK &&
                rig_open(&g, faults, "fault:0+fault:1", 0) && rig_store(&g, t, 2);

    for (int i = 0; i < K; i++)
        data[i] = (float)i + 0.5f;
    if (good) {
        rig_values(&g, in, 2);
        eng_store_value(g.graph, in[1], in[0]);
        good = rig_plan(&g) && rig_write(&g, 0, data) && rig_run(&g, NULL, 0) && rig_read(&g, 1, got);
    }
    if (!tap_check(good && memcmp(data, got, sizeof data) == 0, "from one null device to the other through the host"))
        printf("# %s\n", eng_last_error());
    rig_close(&g);
}

int main(void)
{
    static const uint32_t kinds[] = {ENG_PLACE_SHARDED, ENG_PLACE_PARTIAL, ENG_PLACE_SINGLE};

    if (!(context = tap_begin()))
        return 1;
    axis = eng_context_axis(context, "axis");
    check_share(K, true);
    check_share(K / 4, false);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            check_alone(kinds[i], kinds[k]);
    if (!(faults = rig_fault_context("cpu/2.0,cpu/2.1")))
        return 1;
    check_views();
    check_staged();
    eng_context_destroy(faults);
    return tap_end(context);
}
