/*
 * A write in place that one rank's device refuses: the window of a convolution that is
 * wider than what the opencl plugin takes; the cpu plugin has no such bound.  Wherever the
 * windows live, they must hold afterwards what one cpu would have written.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "rig.h"

enum { TAPS = 70, CHANNELS = 8, ROWS = 2, TOKENS = 3, STATE = (TAPS - 1) * CHANNELS * ROWS };
enum { X, WEIGHTS, WINDOWS, SRC, DST, CU, TENSORS };
enum { REPLICATED, SPLIT, ON_OPENCL, PLACES };

static const char *const place_names[] = {"replicated", "split along their channels", "on opencl:0"};
static eng_context *context;

static bool fill(rig *g)
{
    static float x[CHANNELS * TOKENS], w[TAPS * CHANNELS], windows[STATE];
    static const int32_t src = 1, dst = 0, cu[] = {0, TOKENS};

    for (int i = 0; i < CHANNELS * TOKENS; i++)
        x[i] = (float)(i * 37 % 101) / 50 - 1;
    for (int i = 0; i < TAPS * CHANNELS; i++)
        w[i] = (float)(i * 53 % 97) / 48 - 1;
    for (int i = 0; i < STATE; i++)
        windows[i] = (float)(i * 29 % 89) / 44 - 1;
    return rig_write(g, X, x) && rig_write(g, WEIGHTS, w) && rig_write(g, WINDOWS, windows) &&
           rig_write(g, SRC, &src) && rig_write(g, DST, &dst) && rig_write(g, CU, cu);
}

static bool make_store(rig *g, int place)
{
    rig_dim channels;
    eng_dim dims[] = {{0}, rig_axis(&channels, eng_context_axis(context, "channel"), CHANNELS, 1), {0}};
    eng_store_tensor t[TENSORS] = {
        [X] = {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_INPUT, .ne = {CHANNELS, TOKENS}, .name = "x"},
        [WEIGHTS] = {.type = ENG_TYPE_F32, .rank = 2, .use = ENG_USE_INPUT, .ne = {TAPS, CHANNELS}, .name = "weights"},
        [WINDOWS] = {.type = ENG_TYPE_F32, .rank = 3, .use = ENG_USE_STATE, .ne = {TAPS - 1, CHANNELS, ROWS}, .name = "windows"},
        [SRC] = {.type = ENG_TYPE_I32, .rank = 1, .use = ENG_USE_INPUT, .ne = {1}, .name = "src"},
        [DST] = {.type = ENG_TYPE_I32, .rank = 2, .use = ENG_USE_INPUT, .ne = {1, 1}, .name = "dst"},
        [CU] = {.type = ENG_TYPE_I32, .rank = 1, .use = ENG_USE_INPUT, .ne = {2}, .name = "cu"},
    };

    if (place == REPLICATED)
        t[WINDOWS].axis = ENG_AXIS_WHOLE;
    else if (place == SPLIT)
        t[WINDOWS].dims = dims;
    else
        t[WINDOWS].device = "opencl:0";
    return rig_store(g, t, TENSORS) && fill(g);
}

static void build(rig *g)
{
    eng_value in[TENSORS];

    rig_values(g, in, TENSORS);
    eng_ssm_conv(g->graph, in[X], in[WEIGHTS], in[WINDOWS], in[SRC], in[DST], in[CU], 1);
}

/* The windows after the run. */
static bool run(const char *name, int place, float *windows)
{
    rig g;
    bool good = rig_open(&g, context, name, 0) && make_store(&g, place);

    if (good) {
        build(&g);
        good = rig_plan(&g) && rig_run(&g, NULL, 0) && rig_read(&g, WINDOWS, windows);
    }
    if (!good)
        printf("# %s: %s\n", name, eng_last_error());
    rig_close(&g);
    return good;
}

/* What the device says of the op beforehand; -1: it says nothing.  *planned: a plan can be made. */
static int asked(const char *name, char *reason, size_t bytes, bool *planned)
{
    rig g;
    eng_support answer = ENG_SUPPORT_NO;
    bool good = rig_open(&g, context, name, 0) && make_store(&g, REPLICATED);

    *planned = false;
    if (good) {
        build(&g);
        good = eng_graph_seal(g.graph) == ENG_OK &&
               eng_device_supports(g.device, g.graph, 0, &answer, reason, bytes) == ENG_OK;
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
        {"opencl:0", ENG_SUPPORT_NO, "a kernel 70 wide"},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char reason[256] = "";
        bool planned;
        int answer = asked(all[i].device, reason, sizeof reason, &planned);
        tap_check(answer == all[i].answer && strstr(reason, all[i].reason) && planned == (answer != ENG_SUPPORT_NO),
                  "%s says %s of a wide convolution, and can do as it says", all[i].device,
                  answer == ENG_SUPPORT_NO ? "no" : answer == ENG_SUPPORT_SLOW ? "slow" : answer < 0 ? "nothing" : "yes");
    }
}

int main(void)
{
    static const char *const devices[] = {"cpu+opencl:0", "opencl:0+cpu", "cpu+opencl:0+cpu", "cpu/2"};
    static float want[STATE], got[STATE];
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
            tap_check(good, "windows %s, %s", place_names[place], devices[d]);
        }
    }
    check_answers();
    return tap_end(context);
}
