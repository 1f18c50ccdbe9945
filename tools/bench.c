/* engine-bench: arguments, the cases, every device in turn. */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "convert.h"
#include "hints.h"
#include "libengine/util/util.h"
#include "loading.h"
#include "standard.h"
#include "uninstalled.h"

#define EXIT_USAGE 64

static const char *const standard[] = {
#include "tools/bench_cases.inc"
};

typedef struct arguments {
    const char **names; /* of devices */
    size_t name_room;
    uint32_t n_names;
    bench_cases cases;
    bench_settings settings;
    eu_pattern *filter;
    const char *compare, *plot;
    bench_model_settings model;
    bool of_model; /* an option that goes with --model alone */
    bool json, list;
} arguments;

static const char help[] =
    "Usage: engine-bench [OPTION]... [CASE]...\n"
    "Times ops on devices, beside what the devices can do (\"roofs\").\n"
    "\n"
    "  engine-bench                      the standard cases on every device\n"
    "  engine-bench -d cpu -f mul_mat    those that match, on one device\n"
    "  engine-bench -d opencl:0 'mul_mat a=q4_0[4096,14336] b=f32[4096,1]'\n"
    "\n"
    "  -d, --device DEVICE      on this device; may be repeated\n"
    "  -f, --filter PATTERN     of the standard cases, or of those of --cases, only those that\n"
    "                           match the regular expression\n"
    "  -c, --cases FILE         the cases of a file instead of the standard ones\n"
    "  -l, --list               prints the cases and ends\n"
    "  -s, --seconds S          what a case may take, once it is prepared (0.3)\n"
    "  -w, --working-set MB     operands are as many as make so much, so that no cache\n"
    "                           holds them (256); 0: one of each, which caches may hold\n"
    "  -m, --model FILE         instead of cases, a model: prefill, decode of a token, decode of\n"
    "                           several sequences at once, as far as its context goes\n"
    "      --prefill N,...      tokens of a prompt (512,2048); none: no prefill\n"
    "      --behind N,...       cells that are full when a token is decoded (0,4096,16384)\n"
    "      --sequences N,...    sequences that a pass has a token of (4,16)\n"
    "      --cache-type-k TYPE  of cached K: f32, f16 (if not given), bf16, q8_0, q4_0, q4_1, q5_0,\n"
    "                           q5_1, iq4_nl\n"
    "      --cache-type-v TYPE  of cached V: the same\n"
    "      --precision P        exact (if not given) or fast\n"
    "      --json               one JSON object, schema engine-bench/1\n"
    "      --compare OLD.json   beside each case what that report has of it\n"
    "      --plot FILE.svg      draws the shares of the roofs\n"
    "  -h, --help               this text\n"
    "  -V, --version            the version\n"
    "\n"
    "A case is OP OPERAND=TYPE[EXTENT,...]... PARAMETER=VALUE..., as docs/performance.md tells.\n"
    "Exit code: 0 all cases ran; 1 one did not, or no device is usable; 64 wrong usage.\n";

__attribute__((format(printf, 1, 2))) static int usage(const char *format, ...)
{
    va_list args;
    fputs(BENCH_PROGRAM ": ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputs("; see engine-bench --help\n", stderr);
    return EXIT_USAGE;
}

/* -- arguments ------------------------------------------------------------------- */

static int add_line(arguments *a, const char *line, const char *file, unsigned number)
{
    char why[512];
    if (bench_case_add(&a->cases, line, why, sizeof why))
        return 0;
    return file ? usage("%s, line %u: %s", file, number, why) : usage("\"%.200s\": %s", line, why);
}

static int add_file(arguments *a, const char *file)
{
    char *line = NULL;
    size_t room = 0;
    unsigned number = 0;
    int code = 0;
    FILE *f = fopen(file, "r");
    if (!f)
        return usage("%s cannot be read: %s", file, strerror(errno));
    while (code == 0 && getline(&line, &room, f) >= 0)
        code = add_line(a, line, file, ++number);
    if (code == 0 && ferror(f))
        code = usage("%s cannot be read: %s", file, strerror(errno));
    free(line);
    fclose(f);
    return code;
}

static int add_standard(arguments *a)
{
    int code = 0;
    for (size_t i = 0; i < sizeof standard / sizeof *standard && code == 0; i++)
        code = add_line(a, standard[i], "the standard cases", (unsigned)i + 1);
    return code;
}

static int filter(arguments *a)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < a->cases.n && a->filter; i++) {
        bench_case *c = &a->cases.at[i];
        if (eu_pattern_found(a->filter, c->text) )
            a->cases.at[kept++] = *c;
        else
            free(c->text);
    }
    a->cases.n = a->filter ? kept : a->cases.n;
    return a->cases.n ? 0 : usage("no case matches");
}

static int read_number(const char *option, const char *text, double least, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return *text && !*end && *value >= least && *value <= 1e6 ?
               0 :
               usage("%s must be a number of at least %g, got \"%s\"", option, least, text);
}

static int set_filter(arguments *a, const char *text)
{
    char why[128] = "";
    if (a->filter)
        return usage("only one --filter at a time");
    a->filter = eu_pattern_create(text, why, sizeof why);
    return a->filter ? 0 : usage("--filter %s: %s", text, *why ? why : "out of memory");
}

/* "none" or up to BENCH_LENGTHS numbers, separated by commas. */
static int read_lengths(const char *option, const char *text, int64_t least, int64_t most, bench_lengths *lengths)
{
    const char *at = text;
    lengths->n = 0;
    if (strcmp(text, "none") == 0)
        return 0;
    do {
        char *end;
        const long long value = strtoll(at, &end, 10);
        if (end == at || value < least || value > most || (*end && *end != ',') || lengths->n == BENCH_LENGTHS)
            return usage("%s must be none or up to %d numbers from %lld to %lld, separated by commas, got \"%s\"", option,
                         BENCH_LENGTHS, (long long)least, (long long)most, text);
        lengths->at[lengths->n++] = value;
        at = *end ? end + 1 : NULL;
    } while (at);
    return 0;
}

static int read_type(const char *option, const char *text, uint32_t *type)
{
    const eng_type_info *info = eng_type_find(text);
    *type = info ? info->type : 0;
    return info ? 0 : usage("%s must be a type, as f16 or q8_0, got \"%s\"", option, text);
}

static int read_precision(const char *text, uint32_t *precision)
{
    const bool fast = strcmp(text, "fast") == 0;
    *precision = fast ? ENG_PRECISION_FAST : ENG_PRECISION_EXACT;
    return fast || strcmp(text, "exact") == 0 ? 0 : usage("--precision must be exact or fast, got \"%s\"", text);
}

enum { O_JSON = 1000, O_COMPARE, O_PLOT, O_PREFILL, O_BEHIND, O_SEQUENCES, O_TYPE_K, O_TYPE_V, O_PRECISION };

/* Options that say how a model is timed. */
static int set_model(bench_model_settings *m, int option, const char *text)
{
    switch (option) {
    case O_PREFILL: return read_lengths("--prefill", text, 1, 1 << 24, &m->prefill);
    case O_BEHIND: return read_lengths("--behind", text, 0, 1 << 24, &m->behind);
    case O_SEQUENCES: return read_lengths("--sequences", text, 1, 256, &m->sequences);
    case O_TYPE_K: return read_type("--cache-type-k", text, &m->type_k);
    case O_TYPE_V: return read_type("--cache-type-v", text, &m->type_v);
    default: return read_precision(text, &m->precision);
    }
}

/* 0: go on; else the exit code + 1000. */
static int parse(arguments *a, int argc, char **argv)
{
    static const struct option options[] = {
        {"device", required_argument, NULL, 'd'},   {"filter", required_argument, NULL, 'f'},
        {"cases", required_argument, NULL, 'c'},    {"list", no_argument, NULL, 'l'},
        {"seconds", required_argument, NULL, 's'},  {"working-set", required_argument, NULL, 'w'},
        {"model", required_argument, NULL, 'm'},    {"json", no_argument, NULL, O_JSON},
        {"compare", required_argument, NULL, O_COMPARE}, {"plot", required_argument, NULL, O_PLOT},
        {"prefill", required_argument, NULL, O_PREFILL}, {"behind", required_argument, NULL, O_BEHIND},
        {"sequences", required_argument, NULL, O_SEQUENCES}, {"precision", required_argument, NULL, O_PRECISION},
        {"cache-type-k", required_argument, NULL, O_TYPE_K}, {"cache-type-v", required_argument, NULL, O_TYPE_V},
        {"help", no_argument, NULL, 'h'},           {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0},
    };
    const char *file = NULL;
    double megabytes = 256;
    int code = 0, option;
    opterr = 0;
    a->settings.seconds = 0.3;
    a->model = (bench_model_settings){
        .prefill = {{512, 2048}, 2}, .behind = {{0, 4096, 16384}, 3}, .sequences = {{4, 16}, 2}, .type_k = ENG_TYPE_F16,
        .type_v = ENG_TYPE_F16, .precision = ENG_PRECISION_EXACT};
    while (code == 0 && (option = getopt_long(argc, argv, ":d:f:c:ls:w:m:hV", options, NULL)) != -1) {
        switch (option) {
        case 'd':
            if (!eu_reserve(a->names, a->name_room, (size_t)a->n_names + 1))
                return usage("out of memory for the devices") + 1000;
            a->names[a->n_names++] = optarg;
            break;
        case 'f': code = set_filter(a, optarg); break;
        case 'c': file = optarg; break;
        case 'l': a->list = true; break;
        case 's': code = read_number("--seconds", optarg, 0, &a->settings.seconds); break;
        case 'w': code = read_number("--working-set", optarg, 0, &megabytes); break;
        case 'm': a->model.file = optarg; break;
        case O_JSON: a->json = true; break;
        case O_COMPARE: a->compare = optarg; break;
        case O_PLOT: a->plot = optarg; break;
        case O_PREFILL:
        case O_BEHIND:
        case O_SEQUENCES:
        case O_TYPE_K:
        case O_TYPE_V:
        case O_PRECISION:
            code = set_model(&a->model, option, optarg);
            a->of_model = true;
            break;
        case 'h': fputs(help, stdout); return 1000;
        case 'V': printf("engine-bench %s\n", eng_version()); return 1000;
        case ':': code = usage("%s needs a value", argv[optind - 1]); break;
        default: code = usage("unknown option %s%s", argv[optind - 1], hint_option(argv[optind - 1], options)); break;
        }
    }
    a->settings.working_set = (uint64_t)(megabytes * 1e6);
    if (code == 0 && a->of_model && !a->model.file)
        code = usage("--prefill, --behind, --sequences, --cache-type-k, --cache-type-v and --precision go with --model; a case "
                     "has precision=fast");
    if (code == 0 && a->model.file && (optind < argc || file || a->filter || a->compare || a->plot || a->list))
        code = usage("--model goes with --device, --json and its own options alone");
    if (code == 0 && a->json && a->compare)
        code = usage("--json and --compare both write to standard output");
    if (code == 0 && !a->model.file)
        code = file ? add_file(a, file) : optind == argc ? add_standard(a) : 0;
    for (int i = optind; i < argc && code == 0; i++)
        code = add_line(a, argv[i], NULL, 0);
    if (code == 0 && !a->model.file)
        code = filter(a);
    return code ? code + 1000 : 0;
}

/* -- devices ------------------------------------------------------------------------ */

static bool open_named(eng_context *context, bench_device *devices, uint32_t *n, const char *name)
{
    bench_device *d = &devices[*n];
    for (uint32_t i = 0; i < *n; i++)
        if (strcmp(devices[i].name, name) == 0)
            return true;
    *d = (bench_device){.info = {.size = sizeof d->info}};
    eu_copy(d->name, sizeof d->name, name);
    bool good = eng_device_open(context, name, &d->device) == ENG_OK &&
                eng_device_get_info(d->device, &d->info) == ENG_OK;
    if (!good) {
        fprintf(stderr, BENCH_PROGRAM ": %s\n", eng_last_error());
        eng_device_close(d->device);
    }
    *n += good;
    return good;
}

/* Those of the command line and of the cases; without a name, every one that computes.  *n: 0 if one that was named
 * does not open. */
static bench_device *open_devices(eng_context *context, const arguments *a, uint32_t *n)
{
    eng_device_info info = {.size = sizeof info};
    uint32_t most = a->n_names + a->cases.n;
    bool all = true;
    for (uint32_t i = 0; eng_context_device_info(context, i, &info) == ENG_OK; i++)
        most++;
    bench_device *devices = calloc((size_t)most + 1, sizeof *devices);
    *n = 0;
    if (!devices)
        return NULL;
    for (uint32_t i = 0; i < a->n_names; i++)
        all &= open_named(context, devices, n, a->names[i]);
    for (uint32_t i = 0; a->n_names == 0 && eng_context_device_info(context, i, &info) == ENG_OK; i++)
        if (info.kind != ENG_DEVICE_NULL && info.kind != ENG_DEVICE_META)
            open_named(context, devices, n, info.name);
    for (uint32_t i = 0; i < a->cases.n; i++)
        if (*a->cases.at[i].device)
            all &= open_named(context, devices, n, a->cases.at[i].device);
    while (!all && *n > 0)
        eng_device_close(devices[--*n].device);
    return devices;
}

/* -- running -------------------------------------------------------------------------- */

static void tell_progress(const bench_case *c, const bench_device *d, uint32_t done, uint32_t all)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K%u/%u %s on %s", (unsigned)done, (unsigned)all, c->text, d->name);
}

static bool is_wanted(const arguments *a, const bench_case *c, const bench_device *d)
{
    if (*c->device)
        return strcmp(c->device, d->name) == 0;
    for (uint32_t i = 0; i < a->n_names; i++)
        if (strcmp(a->names[i], d->name) == 0)
            return true;
    return a->n_names == 0;
}

static bool run_cases(eng_context *context, const arguments *a, bench_device *devices, uint32_t n,
                      bench_results *results)
{
    uint32_t failed = 0;
    converter *convert = NULL;
    if (converter_create(context, "cpu", NULL, &convert) != ENG_OK &&
        converter_create(context, devices[0].name, NULL, &convert) != ENG_OK) {
        fprintf(stderr, BENCH_PROGRAM ": %s\n", eng_last_error());
        return false;
    }
    if (!eu_array_reserve(results, (size_t)a->cases.n * n))
        n = 0, failed = 1;
    for (uint32_t i = 0; i < a->cases.n; i++)
        for (uint32_t d = 0; d < n; d++) {
            if (!is_wanted(a, &a->cases.at[i], &devices[d]))
                continue;
            bench_result *r = &results->at[results->n++];
            tell_progress(&a->cases.at[i], &devices[d], i + 1, a->cases.n);
            bench_run(context, convert, &devices[d], &a->cases.at[i], &a->settings, r);
            if (isatty(STDERR_FILENO))
                fputs("\r\033[K", stderr);
            failed += r->status != ENG_OK;
            if (!a->json)
                bench_print(stdout, r);
            fflush(stdout);
        }
    converter_destroy(convert);
    return failed == 0;
}

/* Is a device named, by the command line or by a case?  What does not open has been complained of then. */
static bool names_devices(const arguments *a)
{
    bool named = a->n_names > 0;
    for (uint32_t i = 0; i < a->cases.n; i++)
        named |= *a->cases.at[i].device != 0;
    return named;
}

static int run_all(eng_context *context, const arguments *a)
{
    bench_results results = {0};
    json_t *earlier = a->compare ? bench_compared(a->compare) : NULL;
    if (a->compare && !earlier)
        return 1;
    uint32_t n;
    bench_device *devices = open_devices(context, a, &n);
    int code = 1;
    if (!devices || n == 0) {
        if (!names_devices(a))
            fprintf(stderr, BENCH_PROGRAM ": no usable device; engine-probe --plugins says why\n");
    } else if (a->model.file) {
        code = bench_model(context, devices, n, &a->model, a->json);
    } else {
        for (uint32_t i = 0; i < n; i++) {
            bench_measure(context, &devices[i]);
            if (!a->json)
                bench_print_device(stdout, &devices[i]);
        }
        if (!a->json)
            bench_print_head(stdout);
        code = run_cases(context, a, devices, n, &results) ? 0 : 1;
        if (a->json)
            bench_print_json(devices, n, &results);
        if (earlier)
            bench_compare(earlier, &results);
        if (a->plot && !bench_plot(a->plot, &results))
            code = 1;
    }
    for (uint32_t i = 0; i < n && devices; i++)
        eng_device_close(devices[i].device);
    free(devices);
    free(results.at);
    json_decref(earlier);
    return code;
}

int main(int argc, char **argv)
{
    keep_standard_files();
    arguments a = {0};
    eng_context *context = NULL;
    find_uninstalled_plugins();
    int code = parse(&a, argc, argv);
    if (code == 0 && a.list) {
        for (uint32_t i = 0; i < a.cases.n; i++)
            puts(a.cases.at[i].text);
    } else if (code == 0 && create_context(BENCH_PROGRAM, 1, NULL, &context) != ENG_OK) {
        fprintf(stderr, BENCH_PROGRAM ": %s\n", eng_last_error());
        code = 1;
    } else if (code == 0) {
        tell_unread_of(BENCH_PROGRAM, context);
        code = run_all(context, &a);
    }
    eng_context_destroy(context);
    bench_cases_free(&a.cases);
    eu_pattern_destroy(a.filter);
    free(a.names);
    return written(BENCH_PROGRAM, code % 1000);
}
