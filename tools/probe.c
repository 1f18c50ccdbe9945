/* engine-probe: arguments and exit codes.  The rest: probe.h. */
#include "config.h"

#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "hints.h"
#include "libengine/util/util.h"
#include "probe.h"
#include "standard.h"
#include "uninstalled.h"

typedef enum probe_mode { LIST, PLUGINS, OPS, SELF_TEST, BENCH, ENVIRONMENT, CHECK } probe_mode;

typedef struct arguments {
    probe_mode mode;
    probe_format format;
    const char *mode_device; /* of --ops=DEVICE and the like */
    char **devices;
    int n_devices;
    eu_text ops; /* of --op; "": all */
    probe_settings settings;
} arguments;

static const char help[] =
    "Usage: engine-probe [OPTION]... [DEVICE]...\n"
    "Shows the compute devices of this machine, and the plugins that drive them.\n"
    "\n"
    "  engine-probe              one line for each device\n"
    "  engine-probe DEVICE...    everything about these devices (\"opencl:0\", \"cpu/2\")\n"
    "\n"
    "      --plugins             every plugin file: loaded, shadowed, disabled or\n"
    "                            rejected, with the stage, the reason and advice\n"
    "      --ops[=DEVICE]        table of ops and data types: yes, slow or no\n"
    "      --self-test[=DEVICE]  checks every op against the reference; TAP on stdout\n"
    "      --op=NAME             with --self-test: this op alone; may be repeated\n"
    "      --bench[=DEVICE]      times a few ops, beside what the device can do; more: engine-bench\n"
    "      --env                 options: environment variable, value, where it is from\n"
    "      --check               prints nothing; the exit code is the answer\n"
    "\n"
    "      --json                one JSON object, schema engine-probe/1\n"
    "      --format=tsv          tab-separated values\n"
    "      --plugin-path=DIR     look for plugins in DIR first; may be repeated\n"
    "      --no-isolate          load plugins into this process, not into children\n"
    "      --timeout=SECONDS     what loading a plugin or opening a device may take\n"
    "                            (30 if not given; --self-test and --bench: 3600)\n"
    "      --version             print the version and exit\n"
    "  -h, --help                print this help and exit\n"
    "\n"
    "Exit code: 0 a device is usable and no plugin was rejected; 1 no device is\n"
    "usable, or one that was named is not; 2 a plugin was rejected or crashed; 3 a\n"
    "self-test failed; 64 wrong usage, a device's name that cannot be read too.\n";

static int usage(const char *what, const char *subject)
{
    fprintf(stderr, "engine-probe: %s%s; see engine-probe --help\n", what, subject);
    return EXIT_USAGE;
}

/* Adds a folder to the path: the library wants whole paths. */
static int add_folder(arguments *a, const char *folder)
{
    char *real = realpath(folder, NULL);
    if (!real)
        return usage("no such folder: ", folder);
    const char *before = a->settings.plugin_path ? a->settings.plugin_path : "";
    size_t n = strlen(before) + strlen(real) + 2;
    char *path = malloc(n);
    if (!path)
        return usage("out of memory for the path of plugins", "");
    snprintf(path, n, "%s%s%s", before, *before ? ":" : "", real);
    free(real);
    free(a->settings.plugin_path);
    a->settings.plugin_path = path;
    return 0;
}

static int set_mode(arguments *a, probe_mode mode, const char *device)
{
    if (a->mode != LIST && a->mode != mode)
        return usage("only one of --plugins, --ops, --self-test, --bench, --env and --check at a time", "");
    a->mode = mode;
    a->mode_device = device;
    return 0;
}

static int add_op(arguments *a, const char *name)
{
    const char *near = NULL;
    unsigned best = UINT_MAX;
    char text[160];
    for (uint32_t i = 1; i < ENG_OP_LIMIT && !eng_op_find(name); i++)
        if (eng_op_get(i) && eu_nearer(name, eng_op_get(i)->name, &best))
            near = eng_op_get(i)->name;
    snprintf(text, sizeof text, "%.60s%s%s%s", name, near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
    if (!eng_op_find(name))
        return usage("there is no op ", text);
    eu_text_add(&a->ops, a->ops.n ? "," : "");
    eu_text_add(&a->ops, name);
    return 0;
}

/* 0: go on; else the exit code + 1000, so that --help may end with 0. */
static int parse(arguments *a, int argc, char **argv)
{
    enum { O_PLUGINS = 1000, O_OPS, O_SELF_TEST, O_OP, O_BENCH, O_ENV, O_CHECK, O_JSON, O_FORMAT, O_PATH, O_NO_ISOLATE, O_TIMEOUT,
           O_VERSION, O_HELP };
    static const struct option options[] = {
        {"plugins", no_argument, NULL, O_PLUGINS},
        {"ops", optional_argument, NULL, O_OPS},
        {"self-test", optional_argument, NULL, O_SELF_TEST},
        {"op", required_argument, NULL, O_OP},
        {"bench", optional_argument, NULL, O_BENCH},
        {"env", no_argument, NULL, O_ENV},
        {"check", no_argument, NULL, O_CHECK},
        {"json", no_argument, NULL, O_JSON},
        {"format", required_argument, NULL, O_FORMAT},
        {"plugin-path", required_argument, NULL, O_PATH},
        {"no-isolate", no_argument, NULL, O_NO_ISOLATE},
        {"timeout", required_argument, NULL, O_TIMEOUT},
        {"version", no_argument, NULL, O_VERSION},
        {"help", no_argument, NULL, O_HELP},
        {NULL, 0, NULL, 0},
    };
    int code = 0, option;
    char *end, unknown[192];
    opterr = 0; /* we tell it ourselves */
    while (code == 0 && (option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        switch (option) {
        case O_PLUGINS: code = set_mode(a, PLUGINS, NULL); break;
        case O_OPS: code = set_mode(a, OPS, optarg); break;
        case O_SELF_TEST: code = set_mode(a, SELF_TEST, optarg); break;
        case O_OP: code = add_op(a, optarg); break;
        case O_BENCH: code = set_mode(a, BENCH, optarg); break;
        case O_ENV: code = set_mode(a, ENVIRONMENT, NULL); break;
        case O_CHECK: code = set_mode(a, CHECK, NULL); break;
        case O_JSON: a->format = PROBE_JSON; break;
        case O_FORMAT:
            if (strcmp(optarg, "tsv") == 0)
                a->format = PROBE_TSV;
            else if (strcmp(optarg, "json") == 0)
                a->format = PROBE_JSON;
            else
                code = usage("the formats are tsv and json, not ", optarg);
            break;
        case O_PATH: code = add_folder(a, optarg); break;
        case O_NO_ISOLATE: a->settings.isolate = false; break;
        case O_TIMEOUT:
            a->settings.timeout = strtod(optarg, &end);
            if (*end || end == optarg || !(a->settings.timeout > 0))
                code = usage("--timeout wants seconds, more than 0, not ", optarg);
            break;
        case O_VERSION:
            printf("engine-probe %s\n", eng_version());
            return 1000;
        case 'h':
        case O_HELP:
            fputs(help, stdout);
            return 1000;
        case ':': code = usage("missing value behind = of ", argv[optind - 1]); break;
        default: /* optopt: of one that is known */
            snprintf(unknown, sizeof unknown, "%.80s%s", argv[optind - 1],
                     optopt >= O_PLUGINS ? "" : hint_option(argv[optind - 1], options));
            code = usage(optopt >= O_PLUGINS ? "an option that takes no value: " : "unknown option: ", unknown);
            break;
        }
    }
    a->devices = argv + optind;
    a->n_devices = argc - optind;
    if (code == 0 && a->n_devices && a->mode != LIST)
        code = usage("devices are given to --ops, --self-test and --bench with =, and to no other mode: ",
                     a->devices[0]);
    if (code == 0 && a->ops.n && a->mode != SELF_TEST)
        code = usage("--op goes with --self-test", "");
    if (code == 0 && a->format != PROBE_HUMAN && a->mode == SELF_TEST)
        code = usage("--self-test prints TAP and takes no other format", "");
    if (code == 0 && a->format != PROBE_HUMAN && a->mode == BENCH)
        code = usage("--bench prints a table; engine-bench --json gives the figures", "");
    return code ? 1000 + code : 0;
}

/* A name that cannot be read is wrong usage; one of a device that there is not, no device. */
static int tell_error(probe_report *report)
{
    fprintf(stderr, "engine-probe: %s\n", report->error ? report->error : "no answer");
    free(report->error);
    report->error = NULL;
    return report->error_code == ENG_CODE_DEVICE_NAME ? EXIT_USAGE : EXIT_NO_DEVICE;
}

static int run_devices(const arguments *a)
{
    probe_report report = {0};
    int code = 0;
    for (int i = 0; i < a->n_devices; i++) {
        if (probe_one(&a->settings, a->devices[i], &report))
            continue;
        code = tell_error(&report);
    }
    if (code == 0 && report.avoided)
        code = EXIT_REJECTED;
    if (a->format == PROBE_JSON)
        probe_print_json(&report);
    else if (a->format == PROBE_TSV)
        probe_print_devices(&report, a->format);
    else
        probe_print_details(&report);
    probe_report_free(&report);
    return code;
}

/* Calls fn for the device named with the mode, or for all. */
static int for_devices(const arguments *a, probe_report *report, int (*fn)(const arguments *a, const char *device,
                                                                           probe_report *report, int *count))
{
    int count = 0, code = 0;
    uint32_t n = a->mode_device ? 1 : report->n_devices;
    for (uint32_t i = 0; i < n; i++) {
        char name[256];
        snprintf(name, sizeof name, "%s", a->mode_device ? a->mode_device : report->devices[i].info.name);
        int one = fn(a, name, report, &count);
        code = one > code ? one : code; /* a failed test says more than a device that is not usable */
    }
    if (a->mode == SELF_TEST)
        printf("1..%d\n", count);
    return code;
}

static int ops_of(const arguments *a, const char *device, probe_report *report, int *count)
{
    if (probe_ops(&a->settings, device, report))
        return 0;
    return tell_error(report);
}

static int bench_of(const arguments *a, const char *device, probe_report *report, int *count)
{
    if (probe_bench(&a->settings, device, report))
        return 0;
    return tell_error(report);
}

static int test_of(const arguments *a, const char *device, probe_report *report, int *count)
{
    int failed = probe_test(&a->settings, device, a->ops.n ? a->ops.at : NULL, count);
    return failed < -1 ? EXIT_USAGE : failed < 0 ? EXIT_NO_DEVICE : failed ? EXIT_TEST_FAILED : 0;
}

static void print_collected(const arguments *a, const probe_report *report)
{
    if (a->format == PROBE_JSON) {
        probe_print_json(report);
        return;
    }
    switch (a->mode) {
    case PLUGINS: probe_print_plugins(report, a->format); break;
    case ENVIRONMENT: probe_print_options(report, a->format); break;
    case OPS: probe_print_ops(report, a->format); break;
    default: probe_print_devices(report, a->format); break;
    }
}

static int run_collected(const arguments *a)
{
    probe_report report = {0};
    int code = 0;
    probe_collect(&a->settings, &report);
    int found = probe_exit_code(&report);
    probe_tell_unread(&report);
    if (a->mode == OPS || a->mode == SELF_TEST || a->mode == BENCH)
        probe_avoid(&report);
    if (a->mode == OPS)
        code = for_devices(a, &report, ops_of);
    if (a->mode == SELF_TEST)
        code = for_devices(a, &report, test_of);
    else if (a->mode == BENCH)
        code = for_devices(a, &report, bench_of);
    else if (a->mode != CHECK)
        print_collected(a, &report);
    if (a->mode != CHECK && a->mode != PLUGINS)
        probe_print_refusals(&report);
    probe_report_free(&report);
    return code ? code : found;
}

int main(int argc, char **argv)
{
    keep_standard_files();
    arguments a = {.settings = {.isolate = true, .timeout = 0}};
    find_uninstalled_plugins();
    int code = parse(&a, argc, argv);
    if (code == 0) {
        if (a.settings.timeout == 0)
            a.settings.timeout = a.mode == SELF_TEST || a.mode == BENCH ? 3600 : 30;
        code = a.n_devices ? run_devices(&a) : run_collected(&a);
    } else {
        code -= 1000;
    }
    free(a.settings.plugin_path);
    eu_text_free(&a.ops);
    return written("engine-probe", code);
}
