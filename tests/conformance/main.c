/*
 * The conformance program: TAP on standard output, one line for each op on each
 * device; failing cases, with what runs them again, as diagnostics.
 *
 *     conformance [--full] [--seed N] [--ops LIST] [--filter TEXT] [--option NAME=VALUE]...
 *                 [--largest ELEMENTS] [--seconds N] [--lenient] [--first] [--verbose] [--list] [--tolerances] [DEVICE]...
 *     conformance --placements[=singles|all] [--guest DEVICE] [--cell TEXT] ...
 *
 * --option cpu.amx=emulated: this process does what the processor lacks of tiles (../tiles.h).
 * --full: every case, and the opencl plugin's variants; --lenient: a refusal is not a failure.
 * --first: the first case that fails is the last that runs.
 * --largest, --seconds: for simulated devices; larger cases are skipped, and those of an op that has had N seconds.
 * --placements: operands and results wherever a composed device can keep them
 * (placements.h): a sample of the cells, all singles, or all pairs too.  With --full
 * and no device, all pairs on every composition of CPUs in the table below, and samples
 * on those with OpenCL.
 *
 * Without devices: all that are present, and two or three that are composed of
 * them; opencl:0 once more with every tensor in a buffer of its own.
 */
#include "config.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tiles.h"
#include "conformance.h"

#define MAX_DEVICES 32
#define MAX_OPTIONS 16

struct tally {
    uint64_t passed, failed, unsupported, values;
    double worst; /* row error, in units of the tolerance */
    double seconds;
};

#ifdef HAVE_CPU
#define IS_CPU_BUILT 1 /* a device that every machine has */
#else
#define IS_CPU_BUILT 0
#endif

struct program {
    eng_conformance_options o;
    const char *options[MAX_OPTIONS], *device, *label;
    char *devices[MAX_DEVICES];
    int n_options, n_devices;
    struct tally ops[ENG_OP_LIMIT];
    int test, failed, shown, verbose, first;
    char undeclared[400]; /* what kernels/builtins.clh lacks, by the driver's words */
};

static void usage(FILE *to)
{
    fputs("usage: conformance [--full] [--lenient] [--first] [--verbose] [--seed N] [--ops LIST] [--filter TEXT] [--option "
          "NAME=VALUE]...\n"
          "                   [--largest ELEMENTS] [--seconds N] [--list] [--tolerances] [DEVICE]...\n"
          "       conformance --placements[=singles|all] [--full] [--guest DEVICE] [--cell TEXT] ...\n",
          to);
}

static void on_result(void *ctx, const eng_conformance_result *r)
{
    struct program *p = ctx;
    const eng_op_info *info = eng_op_find(r->op);
    struct tally *t = &p->ops[info ? info->op : 0];

    if (p->o.list) {
        printf("%s: %s\n", r->op, r->name);
        return;
    }
    t->passed += r->outcome == ENG_CONFORMANCE_PASS;
    t->failed += r->outcome == ENG_CONFORMANCE_FAIL;
    t->unsupported += r->outcome == ENG_CONFORMANCE_UNSUPPORTED;
    t->values += r->values;
    t->seconds += r->seconds;
    if (r->row_error > t->worst)
        t->worst = r->row_error;
    if (r->outcome == ENG_CONFORMANCE_FAIL && r->cell && p->shown++ < 60)
        printf("# FAIL %s on %s: --placements%s%s --seed %llu --ops %s --filter '%s' --cell '%s' '%s'\n#   %s\n", r->op,
               p->label, p->o.guest ? " --guest " : "", p->o.guest ? p->o.guest : "", (unsigned long long)r->seed,
               r->op, r->name, r->cell, r->device, r->detail);
    else if (r->outcome == ENG_CONFORMANCE_FAIL && !r->cell && p->shown++ < 60)
        printf("# FAIL %s on %s, seed %llu: --ops %s --filter '%s'\n#   engine-bench '%s'\n#   %s\n", r->op, p->label,
               (unsigned long long)r->seed, r->op, r->name, r->line ? r->line : "", r->detail);
    else if (p->verbose)
        printf("# %s %s: %s: %s%srow %.3g abs %.3g %.3f s %s\n#   engine-bench '%s'\n", r->outcome ? "unsupported" : "pass",
               r->op, r->name, r->cell ? r->cell : "", r->cell ? ": " : "", r->row_error, r->abs_error, r->seconds, r->detail,
               r->line ? r->line : "");
    fflush(stdout);
    if (p->first && r->outcome == ENG_CONFORMANCE_FAIL) {
        printf("Bail out! %s failed on %s\n", r->op, p->label);
        fflush(stdout);
        _exit(EXIT_FAILURE); /* nothing of a device in this state is worth its end */
    }
}

static void print_ops(struct program *p)
{
    for (uint32_t op = 1; op < ENG_OP_LIMIT; op++) {
        struct tally *t = &p->ops[op];
        if (!(t->passed + t->failed + t->unsupported))
            continue;
        printf("%s %d - %s on %s: %llu cells, %llu failed, %llu unsupported, %llu values, worst row %.2g of its "
               "tolerance, %.1f s\n",
               t->failed ? "not ok" : "ok", ++p->test, eng_op_get(op)->name, p->label,
               (unsigned long long)(t->passed + t->failed + t->unsupported), (unsigned long long)t->failed,
               (unsigned long long)t->unsupported, (unsigned long long)t->values, t->worst, t->seconds);
        p->failed += t->failed != 0;
    }
    fflush(stdout);
}

/* A kernel that uses a function that kernels/builtins.clh does not declare works, but is slow to compile. */
static void on_log(void *ctx, int level, const char *source, const char *text)
{
    struct program *p = ctx;
    (void)level;
    (void)source;
    const char *why = strstr(text, "programs are compiled with the compiler's header");
    if (why && !strstr(why, "has its functions from elsewhere")) /* the #error there */
        snprintf(p->undeclared, sizeof p->undeclared, "%s", why);
}

static void tell_undeclared(struct program *p)
{
    if (!*p->undeclared)
        return;
    for (char *c = p->undeclared; *c; c++)
        *c = *c == '\n' ? ' ' : *c;
    printf("not ok %d - kernels/builtins.clh declares what kernels use: %s\n", ++p->test, p->undeclared);
    *p->undeclared = '\0';
    p->failed++;
}

/* One device in a context of its own, so that options do not carry over. */
static void run_device(struct program *p, const char *device, const char *option)
{
    eng_context *context = NULL;
    eng_conformance_summary sum = {.size = sizeof sum};
    char label[160];
    const eng_context_params logged = {.size = sizeof logged, .log = on_log, .log_user = p, .log_level = ENG_LOG_DEBUG};
    int status = eng_context_create(&logged, &context);

    const char *with = option ? option : p->o.placements ? p->o.guest : NULL;
    snprintf(label, sizeof label, "%s%s%s", device, with ? " with " : "", with ? with : "");
    p->label = label;
    memset(p->ops, 0, sizeof p->ops);
    for (int i = -1; i < p->n_options && !status; i++) {
        const char *given = i < 0 ? option : p->options[i];
        char text[128];
        if (!given)
            continue;
        snprintf(text, sizeof text, "%s", given);
        char *value = strchr(text, '=');
        if (value)
            *value++ = '\0';
        status = eng_context_set_option(context, text, value ? value : "");
    }
    if (!status)
        status = eng_conformance_run(context, device, &p->o, &sum);
    if (status) {
        printf("not ok %d - %s runs: %s: %s\n", ++p->test, label, eng_status_name(status), eng_last_error());
        p->failed++;
    } else if (!p->o.list) {
        print_ops(p);
        printf("# %s: %llu cells, %llu passed, %llu failed, %llu unsupported, %llu skipped, %.1f s, seed %llu\n",
               label, (unsigned long long)sum.cells, (unsigned long long)sum.passed, (unsigned long long)sum.failed,
               (unsigned long long)sum.unsupported, (unsigned long long)sum.skipped, sum.seconds,
               (unsigned long long)sum.seed);
        tell_undeclared(p);
    }
    eng_context_destroy(context);
}

static void add_device(struct program *p, const char *name)
{
    if (p->n_devices < MAX_DEVICES && (p->devices[p->n_devices] = strdup(name)) != NULL)
        p->n_devices++;
}

/* A device that its plugin will have nothing to do with is no failure, if nobody named it. */
static int is_usable(eng_context *context, const char *name)
{
    eng_device *device = NULL;
    int status = eng_device_open(context, name, &device);
    if (status == ENG_ERR_UNSUPPORTED)
        printf("# left out: %s\n", eng_last_error());
    eng_device_close(device);
    return status != ENG_ERR_UNSUPPORTED;
}

static int has_plugin(eng_context *context, const char *name)
{
    eng_plugin_info info = {.size = sizeof info};

    for (uint32_t i = 0; eng_context_plugin(context, i, &info) == ENG_OK; i++)
        if (info.status == ENG_PLUGIN_LOADED && strcmp(info.name, name) == 0)
            return 1;
    return 0;
}

/* Every device present, and compositions of them. */
static void find_devices(struct program *p)
{
    eng_context *context = NULL;
    eng_device_info info = {.size = sizeof info};
    int cpu = 0, opencl = 0, status = eng_context_create(NULL, &context);

    for (uint32_t i = 0; !status && !eng_context_device_info(context, i, &info); i++) {
        if (info.kind == ENG_DEVICE_NULL || !is_usable(context, info.name))
            continue;
        cpu |= strcmp(info.name, "cpu") == 0;
        opencl |= strcmp(info.name, "opencl:0") == 0;
        add_device(p, info.name);
    }
    int composes = status == ENG_OK && has_plugin(context, "meta");
    eng_context_destroy(context);
    if (!composes) {
        printf("# left out: compositions, as there is no plugin meta\n");
        return;
    }
    if (cpu)
        add_device(p, "cpu/2");
    if (opencl && !p->o.quick)
        add_device(p, "opencl:0/2");
    if (cpu && opencl)
        add_device(p, "cpu+opencl:0@3:1");
    if (cpu && !p->o.quick)
        add_device(p, "cpu/3@2:1:0");
}

/* How much of the matrix of placements is run where. */
static const struct {
    const char *device, *guest;
    int full; /* ENG_PLACEMENTS_* with --full */
} placed[] = {
    {"cpu/2", NULL, ENG_PLACEMENTS_PAIRS},
    {"cpu/2@3:1", NULL, ENG_PLACEMENTS_PAIRS},
    {"cpu/2@7:25", NULL, ENG_PLACEMENTS_PAIRS},
    {"cpu/2@1:0", NULL, ENG_PLACEMENTS_PAIRS},
    {"cpu/3", NULL, ENG_PLACEMENTS_PAIRS},
    {"cpu/3@3:0:1", NULL, ENG_PLACEMENTS_PAIRS},
    {"cpu/4", NULL, ENG_PLACEMENTS_PAIRS},
    {"cpu/4@1:5:2:2", NULL, ENG_PLACEMENTS_PAIRS},
    {"cpu/5", NULL, ENG_PLACEMENTS_PAIRS},
    {"cpu/5@7:25:3:1:0", NULL, ENG_PLACEMENTS_PAIRS},
    {"cpu/2", "opencl:0", ENG_PLACEMENTS_SAMPLE},
    {"opencl:0/2", NULL, ENG_PLACEMENTS_SAMPLE},
    {"cpu+opencl:0@3:1", NULL, ENG_PLACEMENTS_SAMPLE},
};

static bool is_present(const char *device)
{
    eng_context *context = NULL;
    eng_device *opened = NULL;
    bool present = eng_context_create(NULL, &context) == ENG_OK && eng_device_open(context, device, &opened) == ENG_OK;

    eng_device_close(opened);
    eng_context_destroy(context);
    return present;
}

/* The compositions on which placements are tried when none is named. */
static void run_placed(struct program *p, bool full)
{
    for (size_t i = 0; i < sizeof placed / sizeof *placed; i++) {
        bool opencl = strstr(placed[i].device, "opencl") || placed[i].guest;
        if (opencl && !is_present("opencl:0"))
            continue;
        if (opencl && !full && p->o.placements == ENG_PLACEMENTS_SAMPLE && i + 1 < sizeof placed / sizeof *placed)
            continue; /* one with OpenCL is enough for a sample */
        p->o.placements = full ? placed[i].full : p->o.placements;
        p->o.guest = placed[i].guest;
        run_device(p, placed[i].device, NULL);
    }
}

static int parse(struct program *p, int argc, char **argv)
{
    static const struct option longs[] = {{"full", no_argument, NULL, 'f'},
                                          {"seed", required_argument, NULL, 's'},
                                          {"ops", required_argument, NULL, 'o'},
                                          {"filter", required_argument, NULL, 'F'},
                                          {"option", required_argument, NULL, 'O'},
                                          {"list", no_argument, NULL, 'l'},
                                          {"tolerances", no_argument, NULL, 't'},
                                          {"verbose", no_argument, NULL, 'v'},
                                          {"lenient", no_argument, NULL, 'L'},
                                          {"first", no_argument, NULL, '1'},
                                          {"placements", optional_argument, NULL, 'p'},
                                          {"guest", required_argument, NULL, 'g'},
                                          {"cell", required_argument, NULL, 'c'},
                                          {"largest", required_argument, NULL, 'm'},
                                          {"seconds", required_argument, NULL, 'S'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    const char *text;
    int c;

    while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1)
        switch (c) {
        case 'f': p->o.quick = 0; break;
        case 's': p->o.seed = strtoull(optarg, NULL, 0); break;
        case 'o': p->o.ops = optarg; break;
        case 'F': p->o.filter = optarg; break;
        case 'l': p->o.list = 1; break;
        case 'L': p->o.lenient = 1; break;
        case '1': p->first = 1; break;
        case 'm': p->o.largest = strtoull(optarg, NULL, 0); break;
        case 'S': p->o.seconds = strtod(optarg, NULL); break;
        case 'v': p->verbose = 1; break;
        case 'g': p->o.guest = optarg; break;
        case 'c': p->o.cell = optarg; break;
        case 'p':
            p->o.placements = !optarg                        ? ENG_PLACEMENTS_SAMPLE
                              : strcmp(optarg, "singles") == 0 ? ENG_PLACEMENTS_SINGLES
                              : strcmp(optarg, "all") == 0     ? ENG_PLACEMENTS_PAIRS
                                                               : ENG_PLACEMENTS_NONE;
            if (!p->o.placements) {
                usage(stderr);
                return 64;
            }
            break;
        case 'O':
            if (p->n_options < MAX_OPTIONS)
                p->options[p->n_options++] = optarg;
            if (strcmp(optarg, "cpu.amx=emulated") == 0)
                emulate_tiles();
            break;
        case 't':
            for (uint32_t i = 0; (text = eng_conformance_tolerance(i)) != NULL; i++)
                puts(text);
            return 1;
        case 'h': usage(stdout); return 1;
        default: usage(stderr); return 64;
        }
    return 0;
}

int main(int argc, char **argv)
{
    struct program *p = calloc(1, sizeof *p);
    int status = p ? 0 : 2;

    if (!p)
        return status;
    p->o = (eng_conformance_options){.size = sizeof p->o, .quick = 1, .report = on_result, .ctx = p};
    status = parse(p, argc, argv);
    if (status) {
        free(p);
        return status == 1 ? 0 : status;
    }
    for (int i = optind; i < argc; i++)
        add_device(p, argv[i]);
    bool all = !p->n_devices;
    if (all && p->o.placements)
        run_placed(p, !p->o.quick);
    else if (all)
        find_devices(p);
    for (int i = 0; i < p->n_devices; i++) {
        run_device(p, p->devices[i], NULL);
        if (!all || p->o.list || strcmp(p->devices[i], "opencl:0") != 0)
            continue;
        run_device(p, p->devices[i], "opencl.apart=yes"); /* kernels that reach beyond a tensor end it */
        if (p->o.quick)
            continue;
        run_device(p, p->devices[i], "opencl.family=simt");
        run_device(p, p->devices[i], "opencl.family=vec");
        run_device(p, p->devices[i], "opencl.capabilities=none");
        p->o.lenient = 1; /* a tensor that must lie in one allocation may be refused */
        run_device(p, p->devices[i], "opencl.max_alloc=65536");
        p->o.lenient = 0;
    }
    bool nothing = !p->n_devices && !p->test;
    if (!p->o.list)
        printf("1..%d%s\n", p->test, nothing ? " # SKIP no device that computes" : "");
    status = p->failed || (nothing && IS_CPU_BUILT);
    for (int i = 0; i < p->n_devices; i++)
        free(p->devices[i]);
    free(p);
    return status;
}
