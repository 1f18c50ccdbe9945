/*
 * engine-quantize - writes a GGUF model again with weights of another type.
 *
 * Matrices become TYPE; what is small, one-dimensional or read element by element
 * (norms, convolutions, expert routers) stays.  A matrix whose rows are no whole
 * blocks of TYPE becomes q8_0 or, if that does not fit either, f16.  Of a mix (mix.h),
 * some matrices get more bits than others.
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "convert.h"
#include "libengine/util/util.h"
#include "hints.h"
#include "importance.h"
#include "loading.h"
#include "mix.h"
#include "plain.h"
#include "uninstalled.h"
#include "weigh.h"
#include "weighted.h"

#define EXIT_USAGE 64
#define SMALL 4096 /* matrices with fewer elements stay */

typedef struct rule {
    eu_pattern *pattern;
    uint32_t type;
    const char *text; /* as given */
    uint32_t used;
} rule;

typedef struct job {
    const char *in, *out, *device, *imatrix;
    uint32_t type; /* of most matrices */
    const mix *mix; /* NULL: of all */
    mix_model model;
    rule *rules;
    size_t rule_room;
    uint32_t n_rules;
    int quiet, progress, force, errors;
    eng_gguf *gguf;
    eng_gguf_writer *writer;
    uint32_t *types; /* of the tensors written */
    converter *convert;
    weigher *weigher;
    importance *importance; /* NULL: all columns are alike */
    void *buffer;
    uint64_t buffer_bytes, total, done;
    float *plain; /* rows of a type that only files have */
    size_t plain_room;
    float *lines[2]; /* for errors: some rows as they were, and as they became */
    size_t line_room;
    uint64_t last;
} job;

static bool is_integer(uint32_t type)
{
    return type == ENG_TYPE_I32 || type == ENG_TYPE_I64;
}

static const char usage_text[] =
    "usage: engine-quantize [OPTION]... IN OUT TYPE\n"
    "Writes the GGUF model IN to OUT with its matrices as TYPE.\n"
    "\n"
    "  -T, --tensor PATTERN=TYPE  tensors whose name matches the regular expression become\n"
    "                             that TYPE; may be repeated, the first match counts\n"
    "      --tensor-type PATTERN=TYPE  the same\n"
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

/* -1: go on; else the exit status. */
static int parse(job *j, int argc, char **argv)
{
    enum { FORCE = 256, TENSOR_TYPE };
    static const struct option options[] = {
        {"tensor", required_argument, NULL, 'T'}, {"device", required_argument, NULL, 'd'},
        {"quiet", no_argument, NULL, 'q'},        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},      {"force", no_argument, NULL, FORCE},
        {"errors", no_argument, NULL, 'e'},       {"tensor-type", required_argument, NULL, TENSOR_TYPE},
        {"imatrix", required_argument, NULL, 'i'},
        {NULL, 0, NULL, 0},
    };

    opterr = 0; /* it would say the path of the program */
    for (int c; (c = getopt_long(argc, argv, ":T:d:i:eqhV", options, NULL)) != -1;) {
        switch (c) {
        case 'T':
        case TENSOR_TYPE:
            if (add_rule(j, optarg))
                return EXIT_USAGE;
            break;
        case 'd': j->device = optarg; break;
        case 'i': j->imatrix = optarg; break;
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
    const eng_type_info *type = weight_type(argv[optind + 2]);
    if ((j->mix = mix_find(argv[optind + 2])) != NULL)
        type = eng_type_get(mix_base(j->mix));
    if (!type) {
        fprintf(stderr, "engine-quantize: \"%s\" is no type of weights; there are", argv[optind + 2]);
        print_types(stderr, false);
        fputs("with --imatrix:", stderr);
        print_types(stderr, true);
        fputs("and mixes:", stderr);
        mix_print_names(stderr);
        return EXIT_USAGE;
    }
    j->type = type->type;
    return -1;
}

/* -- which type a tensor gets ---------------------------------------------------- */

static int ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

/* A matrix that is multiplied with, or looked up in, as a whole. */
static int is_matrix(const eng_gguf_tensor *t)
{
    static const char *const kept[] = {"_norm.weight", "ssm_conv1d.weight", "ffn_gate_inp.weight",
                                       "ffn_gate_inp_shexp.weight"};
    int64_t elements = t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3];

    if (t->rank < 2 || t->ne[1] == 1 || elements < SMALL || !ends_with(t->name, ".weight"))
        return 0;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (ends_with(t->name, kept[i]))
            return 0;
    return !is_integer(t->type);
}

static int fits(uint32_t type, int64_t columns)
{
    return columns % eng_type_get(type)->block == 0;
}

static bool is_read(uint32_t type)
{
    return eng_type_get(type) || plain_bytes(type);
}

static uint64_t row_bytes(uint32_t type, int64_t columns)
{
    return plain_bytes(type) ? plain_bytes(type) * (uint64_t)columns : eng_row_bytes(type, columns);
}

/* What stays as it is: of doubles only the type, which no op reads. */
static uint32_t kept_type(const eng_gguf_tensor *t)
{
    return plain_bytes(t->type) == 8 ? ENG_TYPE_F32 : t->type;
}

static uint32_t wanted_type(job *j, const eng_gguf_tensor *t)
{
    uint32_t type = !is_matrix(t) ? kept_type(t) : j->mix ? mix_type(j->mix, &j->model, t) : j->type;

    if (is_read(t->type) && !is_integer(t->type))
        for (uint32_t i = 0; i < j->n_rules; i++)
            if (eu_pattern_found(j->rules[i].pattern, t->name)) {
                j->rules[i].used++;
                type = j->rules[i].type;
                break;
            }
    return type;
}

/* What a tensor that needs importance becomes where the matrix has none of it (embeddings are looked up, not multiplied). */
static int without_importance(job *j, const eng_gguf_tensor *t, uint32_t *type)
{
    const float *values = NULL;
    int64_t sets;
    if (!weighted_needs(*type))
        return ENG_OK;
    const char *name = eng_type_get(*type)->name;
    if (!j->importance)
        return eng_fail(ENG_ERR_INVALID, "tensor \"%s\"" ENG_CAUSE "with so few bits as %s has, a model is worth something only if "
                        "the weights that count most are known" ENG_ADVICE
                        "collect an importance matrix (engine-generate --imatrix-out) and give it (--imatrix)", t->name, name);
    int status = importance_find(j->importance, t->name, t->ne[0], t->ne[2], &values, &sets);
    if (!status && !values) {
        *type = ENG_TYPE_Q4_K;
        if (!j->quiet)
            printf("%s: %s does not say what is important in it: q4_K instead of %s\n", t->name, j->imatrix, name);
    }
    return status;
}

static int choose_types(job *j)
{
    uint32_t n = eng_gguf_tensor_count(j->gguf), other = 0;

    j->types = calloc(n ? n : 1, sizeof *j->types);
    if (!j->types)
        return eng_fail_code(EU_NO_MEMORY("the types of the tensors"));
    mix_look(j->gguf, &j->model);
    for (uint32_t i = 0; i < n; i++) {
        const eng_gguf_tensor *t = eng_gguf_tensor_get(j->gguf, i);
        uint32_t wanted = wanted_type(j, t), type = wanted;
        if (type != t->type && !is_read(t->type))
            return eng_fail(ENG_ERR_UNSUPPORTED,
                            "tensor \"%s\" is of type %u (%s), which cannot be decoded: begin with an f16 or f32 model",
                            t->name, t->type, eng_type_name(t->type));
        if (type != t->type && !fits(type, t->ne[0]))
            type = fits(ENG_TYPE_Q8_0, t->ne[0]) ? ENG_TYPE_Q8_0 : ENG_TYPE_F16;
        else if (type != t->type) {
            int status = without_importance(j, t, &type);
            if (status)
                return status;
            wanted = type;
        }
        if (type != wanted && !j->quiet && ++other)
            printf("%s: rows of %" PRId64 " elements are no blocks of %s: %s instead\n", t->name, t->ne[0],
                   eng_type_get(wanted)->name, eng_type_get(type)->name);
        else if (j->mix && type != j->type && type != t->type && !j->quiet)
            printf("%s: %s\n", t->name, eng_type_get(type)->name);
        j->types[i] = type;
    }
    for (uint32_t i = 0; i < j->n_rules; i++) {
        eu_pattern_state state = eu_pattern_get_state(j->rules[i].pattern);
        if (state == EU_PATTERN_NO_MEMORY)
            return eng_fail_code(EU_NO_MEMORY("a search"));
        if (state != EU_PATTERN_FINE)
            return eng_fail(ENG_ERR_INVALID, "--tensor %s" ENG_CAUSE EU_PATTERN_CAUSE ENG_ADVICE EU_PATTERN_ADVICE,
                            j->rules[i].text);
        if (j->rules[i].used == 0)
            return eng_fail(ENG_ERR_INVALID, "--tensor %s" ENG_CAUSE
                            "no tensor's name matches, or an earlier pattern took it",
                            j->rules[i].text);
    }
    return ENG_OK;
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

/* A second signal ends the program at once. */
static void catch_interrupts(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction now, ours = {.sa_handler = note_interrupt, .sa_flags = SA_RESETHAND | SA_RESTART};

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
        if (!key_begins(key, "split.") && !key_is(key, "general.file_type") && !key_is(key, "general.quantization_version") &&
            !key_is(key, "general.alignment"))
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

/* A line that is written over, not more often than ten times a second. */
static void show_progress(job *j, const char *name)
{
    static const char bar[] = "####################";
    uint64_t now = eu_now();

    if (!j->progress || (name && now - j->last < EU_SECOND / 10))
        return;
    j->last = now;
    const int full = (int)(j->total ? j->done * 20 / j->total : 20);
    if (name)
        fprintf(stderr, "\r\033[K[%-20s] %3d%%  %s", bar + 20 - full, (int)(j->total ? j->done * 100 / j->total : 100), name);
    else
        fputs("\r\033[K", stderr);
    fflush(stderr);
}

/* Some rows as f32: where they lie, or in `line`. */
static int rows_f32(job *j, uint32_t type, const void *rows, int64_t columns, int64_t n, float *line, const float **out)
{
    if (plain_bytes(type)) {
        plain_decode(type, rows, n * columns, line);
        *out = line;
        return ENG_OK;
    }
    *out = type == ENG_TYPE_F32 ? rows : line;
    return type == ENG_TYPE_F32 ? ENG_OK : converter_run(j->convert, type, rows, ENG_TYPE_F32, line, columns, n);
}

/* What the tensor lost, a few rows at a time. */
static int print_error(job *j, const eng_gguf_tensor *t, uint32_t type, const void *encoded, int64_t rows)
{
    const int64_t columns = t->ne[0], most = columns < 65536 ? 65536 / (columns > 0 ? columns : 1) : 1;
    const uint64_t before = row_bytes(t->type, columns), after = eng_row_bytes(type, columns);
    double lost = 0, all = 0;
    for (int i = 0; i < 2 && j->line_room < (size_t)(most * columns); i++) {
        free(j->lines[i]);
        j->lines[i] = malloc((size_t)(most * columns) * sizeof(float));
    }
    if (!j->lines[0] || !j->lines[1])
        return eng_fail_code(EU_NO_MEMORY("what a tensor lost"));
    if (j->line_room < (size_t)(most * columns))
        j->line_room = (size_t)(most * columns);
    for (int64_t r = 0, n; r < rows; r += n) {
        const float *x, *y;
        n = rows - r < most ? rows - r : most;
        int status = rows_f32(j, t->type, (const char *)t->data + (uint64_t)r * before, columns, n, j->lines[0], &x);
        if (!status)
            status = rows_f32(j, type, (const char *)encoded + (uint64_t)r * after, columns, n, j->lines[1], &y);
        if (status)
            return status;
        for (int64_t i = 0; i < n * columns; i++) {
            lost += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
            all += (double)x[i] * (double)x[i];
        }
    }
    show_progress(j, NULL);
    printf("%s: %s, error %.3g\n", t->name, eng_type_get(type)->name, all > 0 ? sqrt(lost / all) : 0.0);
    return ENG_OK;
}

/* Rows first .. first + n - 1 of a tensor, all of one set of importance. */
static int convert_rows(job *j, const eng_gguf_tensor *t, uint32_t type, int64_t first, int64_t n, const float *worth)
{
    const void *from = (const char *)t->data + row_bytes(t->type, t->ne[0]) * (uint64_t)first;
    char *to = (char *)j->buffer + eng_row_bytes(type, t->ne[0]) * (uint64_t)first;
    uint32_t source = t->type;
    if (plain_bytes(source)) {
        if (!eu_reserve(j->plain, j->plain_room, (size_t)(n * t->ne[0])))
            return eng_fail_code(EU_NO_MEMORY("a conversion"));
        plain_decode(source, from, n * t->ne[0], j->plain);
        source = ENG_TYPE_F32;
        from = j->plain;
    }
    j->done += row_bytes(t->type, t->ne[0]) * (uint64_t)n;
    return weighted_only(type) || (worth && weighted_uses(type))
               ? weigher_run(j->weigher, j->convert, source, from, type, to, t->ne[0], n, worth)
               : converter_run(j->convert, source, from, type, to, t->ne[0], n);
}

/* Piece by piece: that the bar moves, that a signal is heard, and that pages of the model which were read are given back. */
#define PIECE (INT64_C(1) << 24)
static int convert_tensor(job *j, const eng_gguf_tensor *t, uint32_t type, int64_t rows)
{
    const float *worth = NULL;
    int64_t sets = 1, most = t->ne[0] > 0 && t->ne[0] < PIECE ? PIECE / t->ne[0] : 1;
    int status = j->importance ? importance_find(j->importance, t->name, t->ne[0], t->ne[2], &worth, &sets) : ENG_OK;
    for (int64_t set = 0, of = rows / sets; set < sets && !status; set++)
        for (int64_t at = 0, n; at < of && !status; at += n) {
            n = of - at < 2 * most ? of - at : most; /* the last one is no small one */
            if (interrupted)
                return eng_fail(ENG_ERR_STATE, "interrupted");
            status = convert_rows(j, t, type, set * of + at, n, worth ? worth + set * t->ne[0] : NULL);
            show_progress(j, t->name);
        }
    return status;
}

/* Called by the writer for each tensor. */
static int produce(void *user, uint32_t index, const void **data)
{
    job *j = user;
    const eng_gguf_tensor *t = eng_gguf_tensor_get(j->gguf, index);
    int64_t rows = t->ne[1] * t->ne[2] * t->ne[3];
    uint64_t bytes = eng_row_bytes(j->types[index], t->ne[0]) * (uint64_t)rows;

    show_progress(j, t->name);
    if (interrupted)
        return eng_fail(ENG_ERR_STATE, "interrupted");
    if (j->types[index] == t->type) {
        *data = t->data;
        return ENG_OK;
    }
    if (bytes > j->buffer_bytes) {
        free(j->buffer);
        j->buffer_bytes = 0;
        j->buffer = malloc(bytes);
        if (!j->buffer)
            return eng_fail_code(ENG_ERR_NOMEM, ENG_CODE_HOST_MEMORY, -1,
                                 "tensor \"%s\"" ENG_CAUSE "out of memory for %" PRIu64 " bytes", t->name, bytes);
        j->buffer_bytes = bytes;
    }
    int status = convert_tensor(j, t, j->types[index], rows);
    if (!status && j->errors)
        status = print_error(j, t, j->types[index], j->buffer, rows);
    eng_gguf_drop(j->gguf, t->data, t->bytes);
    *data = j->buffer;
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
        status = choose_types(j);
    if (!status)
        status = eng_gguf_writer_create(&j->writer);
    if (!status)
        status = copy_keys(j);
    if (!status)
        status = declare_tensors(j);
    if (!status && !j->quiet)
        print_sizes(j, 0);
    if (!status && j->total > 0)
        status = converter_create(context, j->device, is_interrupted, &j->convert);
    if (!status && j->total > 0)
        status = weigher_create(&j->weigher);
    catch_interrupts();
    if (!status)
        status = eng_gguf_writer_save_from(j->writer, j->out, produce, j);
    show_progress(j, NULL);
    if (!status && !j->quiet)
        print_sizes(j, 1);
    return status;
}

int main(int argc, char **argv)
{
    job j = {.device = "cpu"};
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
    if (answer == EXIT_SUCCESS && fflush(stdout) != 0) {
        fprintf(stderr, "engine-quantize: cannot write to standard output: %s\n", strerror(errno));
        answer = EXIT_FAILURE;
    }
    if (interrupted && answer != EXIT_SUCCESS) { /* as the shell expects of who was */
        signal(interrupted, SIG_DFL);
        raise(interrupted);
    }
    return answer;
}
