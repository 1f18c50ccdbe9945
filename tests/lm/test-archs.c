/*
 * Random models of every architecture: on one device and split, a prompt and the
 * most likely tokens after it must have the logits of the plain forward in double
 * precision.
 *
 *     test-archs [--slow] [--only TEXT] [--random N] [--seed S]
 *
 * --slow: all models on every device, on OpenCL too.  --only: models whose options have the text.
 * --random: instead of the table, N models of random shapes on random splits, from
 * number S on; each is told with its number.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "archs.h"
#include "subject.h"

#define N_PROMPT 13 /* of the table; random models have 1 to MAX_PROMPT */

/*
 * Devices; whether the experts are dealt out; whether it is one of OpenCL; whether caches in blocks are tried there;
 * whether all that is for --slow alone, since every model has programs of its own and each takes seconds of compiling.
 */
static const struct {
    const char *device;
    bool parallel, opencl, caches, slow;
} splits[] = {
    {.device = "cpu", .caches = true},
#ifdef HAVE_META
    {.device = "cpu/2", .caches = true},
    {.device = "cpu/3@2:1:0"},
    {.device = "cpu/4@1:5:2:2"},
    {.device = "cpu/2", .parallel = true},
    {.device = "cpu/4@1:5:2:2", .parallel = true},
#endif
#if defined HAVE_OPENCL && defined HAVE_META
    {.device = "opencl:0/2", .opencl = true},
    {.device = "opencl:0", .opencl = true, .caches = true, .slow = true},
    {.device = "cpu+opencl:0@1:2", .parallel = true, .opencl = true, .slow = true},
#elif defined HAVE_OPENCL
    {.device = "opencl:0", .opencl = true, .caches = true},
#endif
};
#define N_SPLITS (sizeof splits / sizeof *splits)

/* Without --slow OpenCL devices run models of these: every kind of layer that there is.  The others have other facts,
 * not other ops. */
static const char *const compiled[] = {"llama ", "qwen35moe", "deepseek2", "gpt-oss", "gemma3n", "gemma4", "lfm2moe",
                                       "falcon-h1", "mamba ", "kimi-linear"};

static bool is_compiled(const char *options)
{
    for (size_t i = 0; i < sizeof compiled / sizeof *compiled; i++)
        if (strncmp(options + strlen("--arch "), compiled[i], strlen(compiled[i])) == 0)
            return true;
    return false;
}

/* Of K and V. */
static const uint32_t kinds[][2] = {
    {ENG_TYPE_Q8_0, ENG_TYPE_Q8_0}, {ENG_TYPE_F16, ENG_TYPE_F16}, {ENG_TYPE_F16, ENG_TYPE_Q8_0}};
#define N_KINDS (sizeof kinds / sizeof *kinds)

static void run_table(eng_context *engine, const char *path, const char *only, bool slow)
{
    for (size_t i = 0; i < archs_table_n; i++) {
        const char *options = archs_table[i].options;
        answer a = {0};
        if (only && !strstr(options, only))
            continue;
        if (subject_make(options, path))
            tap_check(false, "make-model %s", options);
        else if (archs_answer(&a, path, (uint32_t)i, N_PROMPT))
            for (size_t k = 0; k < N_SPLITS; k++)
                if ((archs_has_experts(options) || !splits[k].parallel) && (slow || !splits[k].slow) &&
                    (slow || !splits[k].opencl || (archs_table[i].everywhere && is_compiled(options))))
                    archs_run(engine, options, splits[k].device, splits[k].parallel ? DEALT : CUT, path, &a);
#ifdef HAVE_META
        for (manner how = LAYERS; how <= WEIGHTS && a.logits && archs_table[i].everywhere; how++)
            archs_run(engine, options, "cpu/2", how, path, &a);
#endif
        for (size_t k = 0; k < N_SPLITS && a.logits && archs_table[i].everywhere; k++)
            for (size_t t = 0; t < N_KINDS && splits[k].caches && (slow || !splits[k].slow); t++)
                archs_run_type(engine, options, splits[k].device, CUT, path, &a, kinds[t][0], kinds[t][1]);
        free(a.logits);
    }
}

#ifdef HAVE_META
/* cpu/N@shares, one of which at least is not 0. */
static void random_split(uint64_t *r, char device[64])
{
    int n = archs_among(r, 2, 5), used = snprintf(device, 64, "cpu/%d@", n);
    for (int i = 0; i < n; i++)
        used += snprintf(device + used, 64 - (size_t)used, "%s%d", i ? ":" : "", archs_among(r, i == 0, 4));
}

/* The model on three splits; the second time, experts are dealt out. */
static void run_splits(eng_context *engine, uint64_t *r, const char *options, const char *path, const answer *a)
{
    char device[64];
    for (int i = 0; i < 3; i++) {
        random_split(r, device);
        manner how = i == 1 && archs_has_experts(options) ? DEALT : i == 2 ? LAYERS : CUT;
        archs_run(engine, options, device, how, path, a);
    }
    archs_run(engine, options, "cpu/2", GUEST, path, a);
    archs_run(engine, options, "cpu/2", WEIGHTS, path, a);
}
#endif

static void run_random(eng_context *engine, const char *path, const char *only, unsigned seed)
{
    uint64_t r = seed;
    char options[768];
    answer a = {0};
    archs_random(&r, seed, options);
    if (only && !strstr(options, only))
        return;
    if (subject_make(options, path))
        tap_check(false, "make-model %s", options);
    else if (archs_answer(&a, path, seed, archs_among(&r, 1, MAX_PROMPT))) {
        archs_run(engine, options, "cpu", CUT, path, &a);
#ifdef HAVE_META
        run_splits(engine, &r, options, path, &a);
#endif
    }
    free(a.logits);
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    bool slow = false;
    unsigned n_random = 0, seed = 1;
    char path[256];
    eng_context *engine;
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (strcmp(argv[i], "--slow") == 0)
            slow = true;
        else if (strcmp(argv[i], "--only") == 0 && more)
            only = argv[++i];
        else if (strcmp(argv[i], "--random") == 0 && more)
            n_random = (unsigned)strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0 && more)
            seed = (unsigned)strtoul(argv[++i], NULL, 10);
        else {
            fprintf(stderr, "usage: test-archs [--slow] [--only TEXT] [--random N] [--seed S]\n");
            return 64;
        }
    }
    if (!(engine = tap_begin()))
        return 1;
    scratch_path("archs", path);
    if (n_random == 0)
        run_table(engine, path, only, slow);
    for (unsigned i = 0; i < n_random; i++)
        run_random(engine, path, only, seed + i);
    remove(path);
    return tap_end(engine);
}
