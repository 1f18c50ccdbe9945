/*
 * A write in place that one rank's device refuses: rows encoded as q4_K, which the
 * opencl plugin cannot do and the cpu plugin can.  Wherever the cache lives, it must
 * hold afterwards what one cpu would have written.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "rig.h"

enum { ROW = 256, CELLS = 4, HEADS = 2, BYTES = ROW / 256 * 144 * CELLS * HEADS };
enum { REPLICATED, SPLIT, ON_OPENCL, PLACES };

static const char *const place_names[] = {"replicated", "split along its heads", "on opencl:0"};
static eng_context *context;

static bool make_store(rig *g, int place)
{
    rig_dim heads;
    eng_dim dims[] = {{0}, {0}, rig_axis(&heads, eng_context_axis(context, "kv_head"), HEADS, 1)};
    eng_store_tensor t[] = {
        {.type = ENG_TYPE_Q4_K, .rank = 3, .use = ENG_USE_CACHE, .ne = {ROW, CELLS, HEADS}, .name = "cache"},
        {.type = ENG_TYPE_F32, .rank = 3, .use = ENG_USE_INPUT, .ne = {ROW, CELLS, HEADS}, .name = "rows"},
        {.type = ENG_TYPE_I32, .rank = 1, .use = ENG_USE_INPUT, .ne = {CELLS}, .name = "ids"},
    };
    static float rows[ROW * CELLS * HEADS];
    static const int32_t ids[CELLS] = {2, -1, 0, 3};

    if (place == REPLICATED)
        t[0].axis = ENG_AXIS_WHOLE;
    else if (place == SPLIT)
        t[0].dims = dims;
    else
        t[0].device = "opencl:0";
    for (int i = 0; i < ROW * CELLS * HEADS; i++)
        rows[i] = (float)(i * 37 % 101) / 50 - 1;
    return rig_store(g, t, 3) && rig_write(g, 1, rows) && rig_write(g, 2, ids);
}

static bool build(rig *g)
{
    eng_value in[3];

    rig_values(g, in, 3);
    eng_set_rows(g->graph, in[0], in[1], in[2]);
    return rig_plan(g);
}

/* The cache's bytes after the run. */
static bool run(const char *name, int place, unsigned char *cache)
{
    rig g;
    bool good = rig_open(&g, context, name, 0) && make_store(&g, place) && build(&g) && rig_run(&g, NULL, 0) &&
                rig_read(&g, 0, cache);

    if (!good)
        printf("# %s: %s\n", name, eng_last_error());
    rig_close(&g);
    return good;
}

/* What the device says of the op beforehand; -1: it says nothing.  *planned: a plan can be made. */
static int asked(const char *name, char *reason, size_t bytes, bool *planned)
{
    rig g;
    eng_value in[3];
    eng_support answer = ENG_SUPPORT_NO;
    bool good = rig_open(&g, context, name, 0) && make_store(&g, REPLICATED);

    *planned = false;
    if (good) {
        rig_values(&g, in, 3);
        eng_set_rows(g.graph, in[0], in[1], in[2]);
        good = eng_graph_seal(g.graph) == ENG_OK && eng_device_supports(g.device, g.graph, 0, &answer, reason, bytes) == ENG_OK;
        *planned = good && eng_plan_create(g.device, g.graph, &g.plan) == ENG_OK;
    }
    if (!good)
        printf("# %s: %s\n", name, eng_last_error());
    rig_close(&g);
    return good ? (int)answer : -1;
}

static void check_answers(void)
{
    static const struct {
        const char *device;
        int answer;
        const char *reason; /* part of it */
    } all[] = {
        {"cpu/2", ENG_SUPPORT_YES, ""},
        {"cpu+opencl:0", ENG_SUPPORT_SLOW, "opencl:0: "},
        {"opencl:0+cpu", ENG_SUPPORT_SLOW, "opencl:0: "},
        {"opencl:0/2", ENG_SUPPORT_NO, "opencl:0/2.0: "},
        {"opencl:0", ENG_SUPPORT_NO, "q4_K"},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char reason[256] = "";
        bool planned;
        int answer = asked(all[i].device, reason, sizeof reason, &planned);
        tap_check(answer == all[i].answer && strstr(reason, all[i].reason) && planned == (answer != ENG_SUPPORT_NO),
                  "%s says %s of q4_K rows, and can do as it says", all[i].device,
                  answer == ENG_SUPPORT_NO ? "no" : answer == ENG_SUPPORT_SLOW ? "slow" : answer < 0 ? "nothing" : "yes");
    }
}

int main(void)
{
    static const char *const devices[] = {"cpu+opencl:0", "opencl:0+cpu", "cpu+opencl:0+cpu", "cpu/2"};
    static unsigned char want[BYTES], got[BYTES];
    eng_device *opencl = NULL;

    if (!(context = tap_begin()))
        return 1;
    if (eng_device_open(context, "opencl:0", &opencl) != ENG_OK) {
        printf("1..0 # SKIP %s\n", eng_last_error());
        eng_context_destroy(context);
        return 0;
    }
    eng_device_close(opencl);
    bool known = run("cpu", REPLICATED, want);
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
        for (int place = 0; place < PLACES; place++) {
            memset(got, 0xff, sizeof got);
            bool good = known && run(devices[d], place, got) && memcmp(want, got, sizeof got) == 0;
            tap_check(good, "q4_K rows into a cache %s, %s", place_names[place], devices[d]);
        }
    }
    check_answers();
    return tap_end(context);
}
