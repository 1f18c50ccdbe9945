/*
 * What a first token is made of: the programs that the bundled model has compiled for its first pass and for the next,
 * counted by the interposer.  Each costs whoever starts without a cache (docs/performance-start.md), so that more than today are a
 * failure here; and none may have to be compiled twice, for want of a declaration (kernels/builtins.clh).
 * On opencl:0, or on the device that ENG_TEST_OPENCL names; skipped where there is none, or it is no processor.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/lm.h"

#include "../tap.h"
#include "interposer.h"

enum { FIRST = 19, NEXT = 1 }; /* programs: of a prompt of six tokens, of one token behind it */

static char refused[300]; /* what the log says of a program that was compiled twice */
static unsigned told, of, wrong; /* "compiling kernels 3/19": the last of them, and those that do not follow one another */
static unsigned elsewhere; /* the driver has its own functions, and has refused one program for that */

static void on_log(void *user, int level, const char *source, const char *text)
{
    (void)user, (void)level, (void)source;
    const char *count = strstr(text, "compiling kernels");
    unsigned nth = 0, all = 0;
    if (count) {
        wrong += sscanf(count, "compiling kernels %u/%u: ", &nth, &all) != 2 || nth != told % (of ? of : 1) + 1 ||
                 (nth > 1 && all != of);
        told = nth;
        of = all;
    }
    const char *why = strstr(text, "programs are compiled with the compiler's header");
    if (why && strstr(why, "has its functions from elsewhere")) /* the #error in builtins.clh */
        elsewhere = 1;
    else if (why)
        snprintf(refused, sizeof refused, "%s", why);
}

/* Programs compiled for a pass of n tokens; 1000: it failed. */
static unsigned long compiled_by(eng_lm_context *run, uint32_t n)
{
    static const int32_t tokens[6] = {65, 66, 67, 68, 69, 70};
    const eng_lm_batch batch = {.size = sizeof batch, .n_tokens = n, .tokens = tokens};
    interposer_reset();
    if (eng_lm_decode(run, &batch) == ENG_OK)
        return interposer_count("clBuildProgram");
    printf("# %s\n", eng_last_error());
    return 1000;
}

static void check(eng_context *context, eng_device *device)
{
    const char *top = getenv("top_srcdir");
    char path[1024];
    eng_lm_model *model = NULL;
    eng_lm_context *run = NULL;
    eng_lm_context_params params;
    snprintf(path, sizeof path, "%s/tests/data/tiny-hybrid-f16.gguf", top && *top ? top : ".");
    eng_lm_context_defaults(&params);
    params.n_cells = 64;
    if (tap_check(!eng_lm_model_open(context, device, path, NULL, &model) && !eng_lm_context_create(model, &params, &run),
                  "the model opens")) {
        const unsigned long first = compiled_by(run, 6), next = compiled_by(run, 1);
        tap_check(first <= FIRST + elsewhere, "%lu programs for the first pass, of %u", first, FIRST + elsewhere);
        tap_check(next <= NEXT, "%lu more for the next, of %d", next, NEXT);
        tap_check(!wrong && told > 0 && told == of, "each is said, and how many there are: %u/%u at last, %u out of order", told, of, wrong);
        tap_check(!*refused, "none of them twice %s", refused);
    } else {
        printf("# %s\n", eng_last_error());
    }
    eng_lm_context_destroy(run);
    eng_lm_model_close(model);
}

int main(void)
{
    const char *name = getenv("ENG_TEST_OPENCL");
    const eng_context_params logged = {.size = sizeof logged, .log = on_log, .log_level = ENG_LOG_DEBUG};
    eng_context *context = tap_begin(), *own = NULL;
    eng_device *device = NULL;
    eng_device_info info = {.size = sizeof info};
    int found = context ? eng_context_create(&logged, &own) : ENG_ERR_STATE;
    if (!found && !(found = eng_context_set_option(own, "opencl.cache", "no")) &&
        !(found = eng_device_open(own, name && *name ? name : "opencl:0", &device)) &&
        !(found = eng_device_get_info(device, &info))) {
        if (info.kind == ENG_DEVICE_CPU)
            check(own, device);
        else
            printf("ok 1 # SKIP %s is no processor\n", info.name);
    }
    if (found)
        printf("ok 1 # SKIP %s\n", eng_last_error());
    eng_device_close(device);
    eng_context_destroy(own);
    return tap_end(context);
}
