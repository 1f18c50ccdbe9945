/*
 * engine-quantize - writes a GGUF model again with weights of another type.
 *
 * Matrices become TYPE; what is small, one-dimensional or read element by element
 * (norms, convolutions, expert routers) stays.  A matrix whose rows are no whole
 * blocks of TYPE becomes q8_0 or, if that does not fit either, f16.  Of a mix (mix.h),
 * some matrices get more bits than others.
 */
#include "config.h"

#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hints.h"
#include "loading.h"
#include "quantize.h"
#include "standard.h"
#include "uninstalled.h"
#include "weighted.h"

#define EXIT_USAGE 64


static const char usage_text[] =
    "usage: engine-quantize [OPTION]... IN OUT TYPE\n"
    "Writes the GGUF model IN to OUT with its matrices as TYPE.\n"
    "\n"
    "  -T, --tensor PATTERN=TYPE  tensors whose name matches the regular expression become\n"
    "                             that TYPE; may be repeated, the first match counts\n"
    "      --tensor-type PATTERN=TYPE  the same\n"
    "  -m, --mix                  TYPE is what the usual GGUF tools mean by it: IQ2_XXS, for one, is a\n"
    "                             mix then, and not the type of all matrices\n"
    "  -e, --errors               prints what each tensor lost: the root of the mean square of\n"
    "                             the differences over that of the weights\n"
    "  -i, --imatrix FILE         the importance of each column (engine-generate --imatrix-out):\n"
    "                             what is multiplied with more keeps more of itself\n"
    "  -d, --device DEVICE        the device that encodes (cpu); with --imatrix the host does\n"
    "      --force                replaces OUT if it exists (never IN)\n"
    "  -q, --quiet                no progress, no summary\n"
    "  -h, --help                 this text\n"
    "  -V, --version              the version\n"
    "\n"
    "TYPE is one of";

static void print_types(FILE *to, bool needy)
{
    for (uint32_t i = 0, n = 0; i < ENG_TYPE_LIMIT; i++) {
        const eng_type_info *t = eng_type_get(i);
        if (t && !is_integer(i) && weighted_needs(i) == needy)
            fprintf(to, "%s %s", n++ ? "," : "", t->name);
    }
    fputc('\n', to);
}

__attribute__((format(printf, 1, 2))) static int usage_error(const char *format, ...)
{
    va_list args;

    fputs("engine-quantize: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputs("; see engine-quantize --help\n", stderr);
    return EXIT_USAGE;
}

/* A type that weights can be made of, or NULL. */
static const eng_type_info *weight_type(const char *name)
{
    const eng_type_info *t = eng_type_find(name);
    return t && !is_integer(t->type) ? t : NULL;
}

/* -- the command line --------------------------------------------------------- */

static int add_rule(job *j, char *text)
{
    char *equals = strrchr(text, '=');

    if (!eu_reserve(j->rules, j->rule_room, (size_t)j->n_rules + 1))
        return usage_error("out of memory for the rules");
    if (!equals || equals == text)
        return usage_error("--tensor %s: expected PATTERN=TYPE", text);
    const eng_type_info *type = weight_type(equals + 1);
    if (!type)
        return usage_error("--tensor %s: \"%s\" is no type of weights", text, equals + 1);
    rule *r = &j->rules[j->n_rules];
    *equals = 0;
    char why[128];
    r->pattern = eu_pattern_create(text, why, sizeof why);
    if (!r->pattern)
        return usage_error("--tensor %s: %s", text, *why ? why : "out of memory");
    r->type = type->type;
    r->text = text;
    r->used = 0;
    j->n_rules++;
    return 0;
}

/* The type of most weights, or a mix.  -1: go on; else the exit status. */
static int choose(job *j, const char *name)
{
    const eng_type_info *type = weight_type(name);
    if ((j->mix = mix_find(name, j->usual)) != NULL)
        type = eng_type_get(mix_base(j->mix));
    if (!type && mix_why_not(name))
        return usage_error("%s is not made: %s", name, mix_why_not(name));
    if (!type) {
        fprintf(stderr, "engine-quantize: \"%s\" is no type of weights; there are", name);
        print_types(stderr, false);
        fputs("with --imatrix:", stderr);
        print_types(stderr, true);
        fputs("and mixes:", stderr);
        mix_print_names(stderr);
        fputs("with --mix also:", stderr);
        mix_print_usual_names(stderr);
        return EXIT_USAGE;
    }
    j->type = type->type;
    j->also_mix = !j->mix && mix_is_usual(name);
    return -1;
}

/* -1: go on; else the exit status. */
static int parse(job *j, int argc, char **argv)
{
    enum { FORCE = 256, TENSOR_TYPE };
    static const struct option options[] = {
        {"tensor", required_argument, NULL, 'T'}, {"device", required_argument, NULL, 'd'},
        {"quiet", no_argument, NULL, 'q'},        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},      {"force", no_argument, NULL, FORCE},
        {"errors", no_argument, NULL, 'e'},       {"tensor-type", required_argument, NULL, TENSOR_TYPE},
        {"imatrix", required_argument, NULL, 'i'}, {"mix", no_argument, NULL, 'm'},
        {NULL, 0, NULL, 0},
    };

    opterr = 0; /* it would say the path of the program */
    for (int c; (c = getopt_long(argc, argv, ":T:d:i:meqhV", options, NULL)) != -1;) {
        switch (c) {
        case 'T':
        case TENSOR_TYPE:
            if (add_rule(j, optarg))
                return EXIT_USAGE;
            break;
        case 'd': j->device = optarg; break;
        case 'i': j->imatrix = optarg; break;
        case 'm': j->usual = 1; break;
        case 'e': j->errors = 1; break;
        case 'q': j->quiet = 1; break;
        case FORCE: j->force = 1; break;
        case 'h':
            fputs(usage_text, stdout);
            print_types(stdout, false);
            fputs("with --imatrix:", stdout);
            print_types(stdout, true);
            fputs("or a mix of them, with more bits where they count most: one of", stdout);
            mix_print_names(stdout);
            fputs("with --mix also:", stdout);
            mix_print_usual_names(stdout);
            return 0;
        case 'V': printf("engine-quantize (libengine) %s\n", eng_version()); return 0;
        case ':': return usage_error("%s needs a value", argv[optind - 1]);
        default:
            if (optopt && (!argv[optind - 1] || strncmp(argv[optind - 1], "--", 2) != 0))
                return usage_error("there is no option -%c", optopt);
            return usage_error(optopt ? "%s takes no value" : "there is no option %s%s", argv[optind - 1],
                               hint_option(argv[optind - 1], options));
        }
    }
    if (argc - optind != 3)
        return usage_error("IN, OUT and TYPE are needed; %d given", argc - optind);
    j->in = argv[optind];
    j->out = argv[optind + 1];
    return choose(j, argv[optind + 2]);
}

/* -- where it is written ------------------------------------------------------------ */

static int is_file(const struct stat *out, const char *path)
{
    struct stat in;
    return stat(path, &in) == 0 && in.st_dev == out->st_dev && in.st_ino == out->st_ino;
}

/* Is it the file that the model is read from, or another of its parts? */
static int is_source(const struct stat *out, const char *in)
{
    static const char example[] = "-00001-of-00002.gguf";
    size_t n = strlen(in), m = sizeof example - 1;
    unsigned first, parts;

    if (is_file(out, in))
        return 1;
    if (n < m || sscanf(in + n - m, "-%5u-of-%5u.gguf", &first, &parts) != 2)
        return 0;
    char *path = malloc(n + 32);
    int found = 0;
    for (unsigned i = 1; path && i <= parts && !found; i++) {
        snprintf(path, n + 32, "%.*s-%05u-of-%05u.gguf", (int)(n - m), in, i, parts);
        found = is_file(out, path);
    }
    free(path);
    return found;
}

static int check_target(const job *j)
{
    struct stat out;

    if (stat(j->out, &out) != 0)
        return ENG_OK; /* there is none yet */
    if (is_source(&out, j->in))
        return eng_fail(ENG_ERR_INVALID, "%s is a file that the model is read from: give OUT another name", j->out);
    if (S_ISREG(out.st_mode) && !j->force)
        return eng_fail(ENG_ERR_INVALID, "%s exists: give OUT another name, or --force to replace it", j->out);
    return ENG_OK;
}

/* -- interrupts: what was begun is removed ------------------------------------------- */

static volatile sig_atomic_t interrupted; /* the signal's number */

static void note_interrupt(int number)
{
    interrupted = number;
}

static int is_interrupted(void)
{
    return interrupted != 0;
}

/* A second signal ends the program at once; what waits for a pipe is interrupted, too. */
static void catch_interrupts(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction now, ours = {.sa_handler = note_interrupt, .sa_flags = SA_RESETHAND};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaction(numbers[i], &ours, NULL);
}

/* -- the file ----------------------------------------------------------------------- */

/* general.file_type as converters number it: what most of the weights are; -1: no number. */
static int file_type(uint32_t type)
{
    static const struct {
        uint32_t type;
        int number;
    } known[] = {
        {ENG_TYPE_F32, 0},   {ENG_TYPE_F16, 1},   {ENG_TYPE_Q4_0, 2},    {ENG_TYPE_Q4_1, 3},    {ENG_TYPE_Q8_0, 7},
        {ENG_TYPE_Q5_0, 8},  {ENG_TYPE_Q5_1, 9},  {ENG_TYPE_Q2_K, 10},   {ENG_TYPE_Q3_K, 12},   {ENG_TYPE_Q4_K, 15},
        {ENG_TYPE_Q5_K, 17}, {ENG_TYPE_Q6_K, 18}, {ENG_TYPE_IQ4_NL, 25}, {ENG_TYPE_IQ4_XS, 30}, {ENG_TYPE_BF16, 32},
        {ENG_TYPE_IQ2_XXS, 19}, {ENG_TYPE_IQ2_XS, 20}, {ENG_TYPE_IQ2_S, 28}, {ENG_TYPE_IQ3_XXS, 23}, {ENG_TYPE_IQ3_S, 26},
        {ENG_TYPE_IQ1_S, 24}, {ENG_TYPE_IQ1_M, 31}, {ENG_TYPE_TQ1_0, 36}, {ENG_TYPE_TQ2_0, 37},
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].type == type)
            return known[i].number;
    return -1;
}

static int key_is(const eng_gguf_key *key, const char *name)
{
    return key->name.length == strlen(name) && memcmp(key->name.data, name, key->name.length) == 0;
}

static int key_begins(const eng_gguf_key *key, const char *text)
{
    return key->name.length >= strlen(text) && memcmp(key->name.data, text, strlen(text)) == 0;
}

/* One file is written, whatever the model was read from. */
static int copy_keys(job *j)
{
    int status = ENG_OK, number = j->mix ? mix_file_type(j->mix) : file_type(j->type);

    for (uint64_t i = 0; i < eng_gguf_key_count(j->gguf) && !status; i++) {
        const eng_gguf_key *key = eng_gguf_key_get(j->gguf, i);
        if (!key_begins(key, "split.") && !key_is(key, "general.file_type") &&
            !key_is(key, "general.quantization_version") && !key_is(key, "general.alignment"))
            status = eng_gguf_writer_key(j->writer, key);
    }
    if (!status && number >= 0)
        status = eng_gguf_writer_integer(j->writer, "general.file_type", ENG_GGUF_U32, number);
    return status ? status : eng_gguf_writer_integer(j->writer, "general.quantization_version", ENG_GGUF_U32, 2);
}

static int declare_tensors(job *j)
{
    int status = ENG_OK;

    for (uint32_t i = 0; i < eng_gguf_tensor_count(j->gguf) && !status; i++) {
        const eng_gguf_tensor *t = eng_gguf_tensor_get(j->gguf, i);
        status = eng_gguf_writer_tensor(j->writer, t->name, j->types[i], t->ne, t->rank, NULL);
        j->total += j->types[i] == t->type ? 0 : t->bytes;
    }
    return status;
}

/* Before the work, which takes long, and after it. */
static void print_sizes(const job *j, int done)
{
    uint64_t before = 0, after = 0;
    int64_t elements = 0;
    uint32_t changed = 0, n = eng_gguf_tensor_count(j->gguf);

    for (uint32_t i = 0; i < n; i++) {
        const eng_gguf_tensor *t = eng_gguf_tensor_get(j->gguf, i);
        before += t->bytes;
        elements += t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3];
        changed += j->types[i] != t->type;
        after += j->types[i] == t->type
                     ? t->bytes
                     : eng_row_bytes(j->types[i], t->ne[0]) * (uint64_t)(t->ne[1] * t->ne[2] * t->ne[3]);
    }
    if (done)
        printf("%u of %u tensors converted, %.1f MB of weights instead of %.1f MB\n", changed, n, (double)after / 1e6,
               (double)before / 1e6);
    else
        printf("%.1f MB of weights are to be written, %.2f bits each\n", (double)after / 1e6,
               elements > 0 ? 8 * (double)after / (double)elements : 0.0);
    fflush(stdout);
}

static int convert_file(job *j, eng_context *context)
{
    int status = eng_gguf_open(j->in, &j->gguf);

    if (!status)
        status = check_target(j);
    if (!status && j->imatrix)
        status = importance_open(j->imatrix, &j->importance);
    if (!status)
        status = quantize_choose_types(j);
    if (!status)
        status = eng_gguf_writer_create(&j->writer);
    if (!status)
        status = copy_keys(j);
    if (!status)
        status = declare_tensors(j);
    if (!status && !j->quiet && j->also_mix)
        printf("%s for all matrices; --mix gives some of them more, as other tools do under that name\n",
               eng_type_get(j->type)->name);
    if (!status && !j->quiet)
        print_sizes(j, 0);
    if (!status && j->total > 0)
        status = converter_create(context, j->device, is_interrupted, &j->convert);
    if (!status && j->total > 0)
        status = weigher_create(&j->weigher);
    catch_interrupts();
    if (!status)
        status = eng_gguf_writer_save_from(j->writer, j->out, quantize_produce, j);
    quantize_show_progress(j, NULL);
    if (!status && !j->quiet)
        print_sizes(j, 1);
    return status;
}

int main(int argc, char **argv)
{
    keep_standard_files();
    job j = {.device = "cpu", .stopped = is_interrupted};
    eng_context *context = NULL;
    int answer = parse(&j, argc, argv);

    find_uninstalled_plugins();
    if (answer < 0) {
        j.progress = !j.quiet && isatty(STDERR_FILENO);
        int status = create_context("engine-quantize", EXIT_FAILURE, NULL, &context);
        if (!status)
            tell_unread_of("engine-quantize", context);
        if (!status)
            status = convert_file(&j, context);
        eng_error error = {.size = sizeof error};
        if (status && eng_last_error_info(&error) == ENG_OK)
            fprintf(stderr, "engine-quantize: %s\n", eng_last_error());
        answer = !status ? EXIT_SUCCESS : error.code == ENG_CODE_DEVICE_NAME ? EXIT_USAGE : EXIT_FAILURE;
    }
    converter_destroy(j.convert);
    weigher_destroy(j.weigher);
    importance_close(j.importance);
    eng_gguf_writer_destroy(j.writer);
    eng_gguf_close(j.gguf);
    eng_context_destroy(context);
    for (uint32_t i = 0; i < j.n_rules; i++)
        eu_pattern_destroy(j.rules[i].pattern);
    free(j.rules);
    free(j.types);
    free(j.buffer);
    free(j.plain);
    free(j.lines[0]);
    free(j.lines[1]);
    answer = written("engine-quantize", answer);
    if (interrupted && answer != EXIT_SUCCESS) { /* as the shell expects of who was */
        signal(interrupted, SIG_DFL);
        raise(interrupted);
    }
    return answer;
}
