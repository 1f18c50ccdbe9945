/*
 * Launches that follow one another as one (plugins/opencl/lower/series.c): the bundled model decodes the same bits with and
 * without, and its passes become fewer launches, which the interposer counts: at once where that is asked for, else when a
 * plan has run often, and the next time from the start.  Halves of it are a launch each: their exchanges are stages.  On
 * opencl:0, or on the device that ENG_TEST_OPENCL names; skipped where there is none, or it is no processor.
 */
#include "config.h"

#define CL_TARGET_OPENCL_VERSION 120

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <CL/cl.h>

#include "engine/lm.h"

#include "../pocl.h"
#include "../tap.h"
#include "folder.h"
#include "interposer.h"

enum { TOKENS = 300, CELLS = 512, FEW = 6 /* launches of a pass */, SECONDS = 120 };

static const char *device_name(void)
{
    const char *name = getenv("ENG_TEST_OPENCL");
    return name && *name ? name : "opencl:0";
}

static uint64_t add_bits(uint64_t sum, const float *x, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        sum = (sum ^ bits) * UINT64_C(0x100000001b3);
    }
    return sum;
}

/* What the model says to TOKENS tokens, one after another, and how many launches the first and the last pass were. */
typedef struct said {
    uint64_t bits;
    unsigned long first, last;
} said;

/* What the driver says that arguments of a launch may take, if not 0: a few buffers, so that one series is too short. */
static uint64_t parameter_bytes;

static int say(eng_lm_context *run, uint32_t vocab, said *s)
{
    *s = (said){0};
    for (int32_t i = 0; i < TOKENS; i++) {
        const int32_t token = 64 + i * 7 % 60;
        const eng_lm_batch batch = {.size = sizeof batch, .n_tokens = 1, .tokens = &token};
        interposer_reset();
        if (parameter_bytes)
            interposer_answer(CL_DEVICE_MAX_PARAMETER_SIZE, parameter_bytes);
        int status = eng_lm_decode(run, &batch);
        if (status != ENG_OK)
            return status;
        s->last = interposer_count("clEnqueueNDRangeKernel");
        s->first = i == 0 ? s->last : s->first;
        s->bits = add_bits(s->bits, eng_lm_logits(run, 0), vocab);
    }
    return ENG_OK;
}

/* Says all again until a pass is few launches, or for two minutes. */
static int say_until_few(eng_lm_context *run, uint32_t vocab, unsigned few, const said *right, unsigned *wrong)
{
    const time_t begin = time(NULL);
    int status = ENG_OK;
    said s = {.last = few + 1};
    for (*wrong = 0; status == ENG_OK && s.last > few && time(NULL) - begin < SECONDS;) {
        if ((status = eng_lm_sequence_remove(run, 0)) != ENG_OK)
            break;
        status = say(run, vocab, &s);
        *wrong += s.bits != right->bits;
    }
    return status == ENG_OK && s.last > few ? ENG_ERR_TIMEOUT : status;
}

/* A context of option `series`, and the model there. */
typedef struct place {
    eng_context *context;
    eng_device *device;
    eng_lm_model *model;
    eng_lm_context *run;
    uint32_t vocab;
} place;

static int enter(place *p, const char *device, const char *series)
{
    const char *top = getenv("top_srcdir");
    char path[1024];
    eng_lm_context_params params;
    eng_lm_model_info info = {.size = sizeof info};
    snprintf(path, sizeof path, "%s/tests/data/tiny-hybrid-f16.gguf", top && *top ? top : ".");
    eng_lm_context_defaults(&params);
    params.n_cells = CELLS;
    *p = (place){0};
    int status = eng_context_create(NULL, &p->context);
    if (status == ENG_OK)
        status = eng_context_set_option(p->context, "opencl.series", series);
    if (status == ENG_OK)
        status = eng_device_open(p->context, device, &p->device);
    if (status == ENG_OK)
        status = eng_lm_model_open(p->context, p->device, path, NULL, &p->model);
    if (status == ENG_OK)
        status = eng_lm_model_get_info(p->model, &info);
    if (status == ENG_OK)
        status = eng_lm_context_create(p->model, &params, &p->run);
    p->vocab = info.n_vocab;
    return status;
}

static void leave(place *p)
{
    eng_lm_context_destroy(p->run);
    eng_lm_model_close(p->model);
    eng_device_close(p->device);
    eng_context_destroy(p->context);
}

/* few: of all launches of a pass, once series are ready. */
static void check(const char *device, const char *series, bool at_once, unsigned few, const said *right)
{
    place p;
    said s = {0};
    unsigned wrong = 0;
    int status = enter(&p, device, series);
    if (status == ENG_OK)
        status = say(p.run, p.vocab, &s);
    tap_check(status == ENG_OK && s.bits == right->bits, "%s, series %s: the bits are those without%s", device, series,
              status == ENG_OK ? "" : eng_last_error());
    if (at_once) {
        tap_check(s.first < right->first && s.last <= few, "at once %lu launches, then %lu, and not %lu", s.first, s.last,
                  right->first); /* the first pass has those that try */
    } else if (status == ENG_OK) {
        status = say_until_few(p.run, p.vocab, few, right, &wrong);
        tap_check(status == ENG_OK && wrong == 0, "after some passes at most %u launches, and %u times other bits%s", few,
                  wrong, status == ENG_OK ? "" : eng_last_error());
    }
    leave(&p);
}

#ifdef HAVE_META
/* Can the device's kernels call the host?  Asked of no driver but PoCL, whose halves have threads of their own. */
static bool calls_host(const place *p)
{
#if defined(__x86_64__)
    return test_is_pocl(p->device);
#else
    (void)p;
    return false;
#endif
}

static void check_halves(const char *folder)
{
    char half[80];
    place p;
    said right = {0};
    snprintf(half, sizeof half, "%s/2", device_name());
    int status = enter(&p, half, "no");
    const unsigned few = status == ENG_OK && calls_host(&p) ? 2 : 60;
    if (status == ENG_OK)
        status = say(p.run, p.vocab, &right);
    leave(&p);
    if (!tap_check(status == ENG_OK, "%s decodes", half))
        return;
    check(half, "yes", true, few, &right);
    remove_all(folder);
    check(half, "auto", false, few, &right); /* one half is ready before the other */
    parameter_bytes = 400;
    check(half, "yes", true, 5 * few, &right); /* several series, and each has calls of its own */
    parameter_bytes = 0;
}
#endif

int main(void)
{
    char folder[] = "/tmp/engine-series-XXXXXX";
    place p;
    said right = {0};
    eng_device_info info = {.size = sizeof info};
    if (!mkdtemp(folder) || setenv("ENGINE_CACHE_DIR", folder, 1) != 0)
        return 1;
    int status = enter(&p, device_name(), "no");
    if (status == ENG_OK)
        status = eng_device_get_info(p.device, &info);
    if (status == ENG_OK && info.kind == ENG_DEVICE_CPU)
        status = say(p.run, p.vocab, &right);
    leave(&p);
    if (status != ENG_OK || info.kind != ENG_DEVICE_CPU) {
        printf("1..0 # SKIP no OpenCL device that is a processor: %s\n", status == ENG_OK ? info.name : eng_last_error());
        return 0;
    }
    check(device_name(), "yes", true, FEW, &right);
    remove_all(folder);
    check(device_name(), "auto", false, FEW, &right);
    check(device_name(), "auto", true, FEW, &right); /* what was compiled was kept */
#ifdef HAVE_META
    check_halves(folder);
#endif
    remove_all(folder);
    return tap_end(NULL);
}
