/* Command line of engine-generate. */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chat_input.h"
#include "generate.h"
#include "generate_foreign.h"
#include "generate_help.h"
#include "libengine/util/util.h"

enum id {
    MODEL, DEVICE, PROMPT, PROMPT_FILE, LOAD_STATE, SAVE_STATE, PROMPT_CACHE, N_PREDICT, IGNORE_EOS, TEMP, TOP_K, TOP_P, MIN_P,
    SAMPLING, GRAMMAR, GRAMMAR_FILE, SCHEMA, SCHEMA_FILE, REVERSE, VERBOSE_PROMPT, N_PROBS, REPEAT_PENALTY, FREQUENCY_PENALTY, PRESENCE_PENALTY, REPEAT_LAST, SEED, CTX, SHIFT, KEEP, CACHE_RAM, BATCH, THREADS,
    TYPE_K, TYPE_V, PRECISION, LAYOUT, NO_MMAP, NKVO, OVERRIDE, SPLIT, EXPERT_PARALLEL, SHARES, FIT, PERPLEXITY, PROTOCOL, CHUNKS, IMATRIX_OUT, EXPLAIN, PROFILE, COMPILE, COMPILERS, PASS, VERBOSE, JSON,
    DRAFT, DRAFT_FROM, DRAFT_MODEL, DRAFT_MIN, DRAFT_P_MIN,
    CNV, NO_CNV, LINES, SYSTEM, SYSTEM_FILE, TEMPLATE, TEMPLATE_FILE, JINJA, SINGLE_TURN, SIMPLE_IO, COLOR, TIMINGS, NO_SHIFT,
    SHOW_HELP, SHOW_VERSION
};

static const struct flag {
    const char *name, *long_name;
    enum id id;
    enum { NONE, NEEDED, OPTIONAL, SWITCH } argument; /* optional: only behind =; switch: on, off or auto, if it
                                                       * follows */
} flags[] = {
    {"-m", "--model", MODEL, NEEDED},
    {"-d", "--device", DEVICE, NEEDED},
    {"-p", "--prompt", PROMPT, NEEDED},
    {"-f", "--file", PROMPT_FILE, NEEDED},
    {"-n", "--n-predict", N_PREDICT, NEEDED},
    {NULL, "--ignore-eos", IGNORE_EOS, NONE},
    {NULL, "--temp", TEMP, NEEDED},
    {NULL, "--top-k", TOP_K, NEEDED},
    {NULL, "--top-p", TOP_P, NEEDED},
    {NULL, "--min-p", MIN_P, NEEDED},
    {NULL, "--repeat-penalty", REPEAT_PENALTY, NEEDED},
    {NULL, "--frequency-penalty", FREQUENCY_PENALTY, NEEDED},
    {NULL, "--presence-penalty", PRESENCE_PENALTY, NEEDED},
    {NULL, "--repeat-last-n", REPEAT_LAST, NEEDED},
    {NULL, "--typical", SAMPLING, NEEDED},
    {NULL, "--typical-p", SAMPLING, NEEDED},
    {NULL, "--top-n-sigma", SAMPLING, NEEDED},
    {NULL, "--xtc-probability", SAMPLING, NEEDED},
    {NULL, "--xtc-threshold", SAMPLING, NEEDED},
    {NULL, "--dynatemp-range", SAMPLING, NEEDED},
    {NULL, "--dynatemp-exp", SAMPLING, NEEDED},
    {NULL, "--mirostat", SAMPLING, NEEDED},
    {NULL, "--mirostat-lr", SAMPLING, NEEDED},
    {NULL, "--mirostat-ent", SAMPLING, NEEDED},
    {NULL, "--dry-multiplier", SAMPLING, NEEDED},
    {NULL, "--dry-base", SAMPLING, NEEDED},
    {NULL, "--dry-allowed-length", SAMPLING, NEEDED},
    {NULL, "--dry-penalty-last-n", SAMPLING, NEEDED},
    {NULL, "--dry-sequence-breaker", SAMPLING, NEEDED},
    {"-l", "--logit-bias", SAMPLING, NEEDED},
    {NULL, "--samplers", SAMPLING, NEEDED},
    {NULL, "--grammar", GRAMMAR, NEEDED},
    {NULL, "--grammar-file", GRAMMAR_FILE, NEEDED},
    {"-j", "--json-schema", SCHEMA, NEEDED},
    {"-jf", "--json-schema-file", SCHEMA_FILE, NEEDED},
    {"-r", "--reverse-prompt", REVERSE, NEEDED},
    {NULL, "--n-probs", N_PROBS, NEEDED},
    {NULL, "--verbose-prompt", VERBOSE_PROMPT, NONE},
    {"-s", "--seed", SEED, NEEDED},
    {"-c", "--ctx-size", CTX, NEEDED},
    {NULL, "--context-shift", SHIFT, NONE},
    {NULL, "--keep", KEEP, NEEDED},
    {"-cram", "--cache-ram", CACHE_RAM, NEEDED},
    {"-b", "--batch-size", BATCH, NEEDED},
    {"-t", "--threads", THREADS, NEEDED},
    {"-ctk", "--cache-type-k", TYPE_K, NEEDED},
    {"-ctv", "--cache-type-v", TYPE_V, NEEDED},
    {NULL, "--precision", PRECISION, NEEDED},
    {NULL, "--layout", LAYOUT, NEEDED},
    {NULL, "--no-mmap", NO_MMAP, NONE},
    {"-nkvo", "--no-kv-offload", NKVO, NONE},
    {"-ot", "--override-tensor", OVERRIDE, NEEDED},
    {"-dev", "--device", DEVICE, NEEDED},
    {"-sm", "--split-mode", SPLIT, NEEDED},
    {NULL, "--expert-parallel", EXPERT_PARALLEL, NONE},
    {"-ts", "--tensor-split", SHARES, NEEDED},
    {NULL, "--fit", FIT, OPTIONAL},
    {NULL, "--perplexity", PERPLEXITY, NEEDED},
    {NULL, "--perplexity-protocol", PROTOCOL, NEEDED},
    {NULL, "--chunks", CHUNKS, NEEDED},
    {NULL, "--imatrix-out", IMATRIX_OUT, NEEDED},
    {NULL, "--explain", EXPLAIN, OPTIONAL},
    {NULL, "--profile", PROFILE, NONE},
    {NULL, "--compile", COMPILE, OPTIONAL},
    {NULL, "--compilers", COMPILERS, NEEDED},
    {NULL, "--pass", PASS, NEEDED},
    {NULL, "--verbose", VERBOSE, NONE},
    {NULL, "--json", JSON, NONE},
    {NULL, "--load-state", LOAD_STATE, NEEDED},
    {NULL, "--save-state", SAVE_STATE, NEEDED},
    {NULL, "--prompt-cache", PROMPT_CACHE, NEEDED},
    {NULL, "--draft", DRAFT, NEEDED},
    {NULL, "--draft-max", DRAFT, NEEDED},
    {NULL, "--draft-from", DRAFT_FROM, NEEDED},
    {"-md", "--model-draft", DRAFT_MODEL, NEEDED},
    {NULL, "--draft-min", DRAFT_MIN, NEEDED},
    {NULL, "--draft-p-min", DRAFT_P_MIN, NEEDED},
    {"-cnv", "--conversation", CNV, NONE},
    {"-no-cnv", "--no-conversation", NO_CNV, NONE},
    {NULL, "--json-lines", LINES, NONE},
    {"-sys", "--system-prompt", SYSTEM, NEEDED},
    {"-sysf", "--system-prompt-file", SYSTEM_FILE, NEEDED},
    {NULL, "--chat-template", TEMPLATE, NEEDED},
    {NULL, "--chat-template-file", TEMPLATE_FILE, NEEDED},
    {NULL, "--jinja", JINJA, NONE},
    {"-st", "--single-turn", SINGLE_TURN, NONE},
    {NULL, "--simple-io", SIMPLE_IO, NONE},
    {"-co", "--color", COLOR, SWITCH},
    {NULL, "--show-timings", TIMINGS, NONE},
    {NULL, "--no-context-shift", NO_SHIFT, NONE},
    {"-h", "--help", SHOW_HELP, OPTIONAL},
    {NULL, "--version", SHOW_VERSION, NONE},
};

static int wrong(const char *what, const char *flag, const char *value)
{
    fprintf(stderr, "engine-generate: %s %s: %s; see engine-generate --help\n", flag, value, what);
    return EXIT_USAGE;
}

static int integer(const char *flag, const char *text, long least, long most, long *value)
{
    char *end;
    errno = 0;
    long v = strtol(text, &end, 10);
    if (!*text || *end || errno || v < least || v > most) {
        char what[96];
        snprintf(what, sizeof what, "a whole number from %ld to %ld is needed", least, most);
        return wrong(what, flag, text);
    }
    *value = v;
    return -1;
}

static int precision(const char *flag, const char *text, uint32_t *value)
{
    for (uint32_t p = 0; p < ENG_PRECISIONS; p++)
        if (strcmp(text, eng_precision_name(p)) == 0) {
            *value = p;
            return -1;
        }
    return wrong("exact or fast is needed", flag, text);
}

static int layout(const char *flag, const char *text, uint32_t *value)
{
    static const char *const names[] =
        {[ENG_LAYOUT_AUTO] = "auto", [ENG_LAYOUT_FILE] = "file", [ENG_LAYOUT_PACKED] = "packed"};
    for (uint32_t l = 0; l < sizeof names / sizeof *names; l++)
        if (strcmp(text, names[l]) == 0) {
            *value = l;
            return -1;
        }
    return wrong("auto, file or packed is needed", flag, text);
}

static int number(const char *flag, const char *text, double least, double most, float *value)
{
    char *end;
    double v = strtod(text, &end);
    if (!*text || *end || !isfinite(v) || v < least || v > most) {
        char what[96];
        snprintf(what, sizeof what, "a number from %g to %g is needed", least, most);
        return wrong(what, flag, text);
    }
    *value = (float)v;
    return -1;
}

static int type(const char *flag, const char *text, uint32_t *value)
{
    static const uint32_t possible[] = {ENG_TYPE_F32,  ENG_TYPE_F16,  ENG_TYPE_BF16, ENG_TYPE_Q8_0,  ENG_TYPE_Q4_0,
                                        ENG_TYPE_Q4_1, ENG_TYPE_Q5_0, ENG_TYPE_Q5_1, ENG_TYPE_IQ4_NL};
    const eng_type_info *info = eng_type_find(text);
    for (unsigned i = 0; info && i < sizeof possible / sizeof *possible; i++) {
        if (info->type == possible[i]) {
            *value = info->type;
            return -1;
        }
    }
    return wrong("no type of a cache; there are f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1 and iq4_nl", flag, text);
}

#define DEVICE_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-:/.@+"

static int override(options *o, const char *flag, const char *text)
{
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text || !equals[1])
        return wrong("PATTERN=DEVICE is needed", flag, text);
    if (o->n_overrides == MAX_OVERRIDES)
        return wrong("too many of these", flag, text);
    char *pattern = strndup(text, (size_t)(equals - text));
    char why[128], what[160];
    if (!pattern)
        return wrong("out of memory for the option", flag, text);
    eu_pattern *compiled = eu_pattern_create(pattern, why, sizeof why);
    if (!compiled) {
        snprintf(what, sizeof what, *why ? "no regular expression: %s" : "out of memory for the option", why);
        free(pattern);
        return wrong(what, flag, text);
    }
    eu_pattern_destroy(compiled);
    o->memory[o->n_overrides] = pattern;
    o->overrides[o->n_overrides].pattern = pattern;
    char *home = device_from_foreign(equals + 1);
    o->overrides[o->n_overrides].device = home;
    o->n_overrides++;
    return home && options_keep(o, home) ? -1 : wrong("out of memory for the option", flag, text);
}

/* The comma behind a device of a list: what is between it and the last = is a device's name, and another item
 * follows. */
static const char *list_comma(const char *text)
{
    const char *equals = NULL;
    for (const char *c = text; *c; c++) {
        if (*c == ',' && equals && c > equals + 1 && c == equals + 1 + strspn(equals + 1, DEVICE_LETTERS) &&
            strchr(c, '='))
            return c;
        equals = *c == '=' ? c : equals;
    }
    return NULL;
}

/* "PATTERN=DEVICE,PATTERN=DEVICE": a comma behind a device parts two of them; one in a pattern does not. */
static int override_list(options *o, const char *flag, const char *text)
{
    const char *comma = list_comma(text);
    if (!comma)
        return override(o, flag, text);
    char *first = strndup(text, (size_t)(comma - text));
    if (!first || !options_keep(o, first))
        return wrong("out of memory for the option", flag, text);
    int code = override(o, flag, first);
    return code >= 0 ? code : override_list(o, flag, comma + 1);
}

static int device(options *o, const char *flag, const char *text)
{
    free(o->joined);
    o->device = o->joined = device_from_foreign(text);
    return o->joined ? -1 : wrong("out of memory for the option", flag, text);
}

/* 3,1 and 3/1. */
static int shares(options *o, const char *flag, const char *text)
{
    free(o->shares_kept);
    o->shares_kept = strdup(text);
    if (!o->shares_kept)
        return wrong("out of memory for the option", flag, text);
    for (char *c = o->shares_kept; *c; c++)
        *c = *c == '/' ? ',' : *c;
    o->shares = o->shares_kept;
    return -1;
}

static int split(options *o, const char *flag, const char *text)
{
    static const char *const names[] = {[SPLIT_TENSOR] = "tensor", [SPLIT_LAYER] = "layer", [SPLIT_NONE] = "none"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(text, names[i]) == 0) {
            o->split = i;
            return -1;
        }
    }
    if (strcmp(text, "row") == 0) { /* llama.cpp's: rows of matrices on all devices */
        o->split = SPLIT_TENSOR;
        return -1;
    }
    return wrong("tensor, layer or none is needed", flag, text);
}

static int protocol(options *o, const char *flag, const char *text)
{
    bool llama = strcmp(text, "llama") == 0;
    if (!llama && strcmp(text, "all") != 0)
        return wrong("all or llama is needed", flag, text);
    o->protocol = llama ? COUNT_LLAMA : COUNT_ALL;
    o->protocol_given = true;
    return -1;
}

static int explain(options *o, const char *flag, const char *text)
{
    static const struct {
        const char *name;
        int format;
    } formats[] = {{"text", EXPLAIN_TEXT}, {"json", EXPLAIN_JSON}, {"dot", EXPLAIN_DOT}, {"graphviz", EXPLAIN_DOT}};
    o->explain = EXPLAIN_TEXT;
    for (unsigned i = 0; text && i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(text, formats[i].name) == 0) {
            o->explain = formats[i].format;
            return -1;
        }
    }
    return text ? wrong("text, json or dot is needed", flag, text) : -1;
}

static bool is_switch(const char *text)
{
    return strcmp(text, "on") == 0 || strcmp(text, "off") == 0 || strcmp(text, "auto") == 0;
}

static int color(options *o, const char *flag, const char *text)
{
    if (text && !is_switch(text))
        return wrong("auto, on or off is needed", flag, text);
    o->color = !text || strcmp(text, "on") == 0 ? COLOR_ON : strcmp(text, "off") == 0 ? COLOR_OFF : COLOR_AUTO;
    return -1;
}

/* Those about conversations: they begin one, or go with one. */
static int apply_chat(options *o, enum id id, const char *flag, const char *value)
{
    switch (id) {
    case CNV: o->cnv = true; return -1;
    case NO_CNV: o->no_cnv = true; return -1;
    case LINES: o->lines = true; return -1;
    case SYSTEM: o->system = value; break;
    case SYSTEM_FILE: o->system_file = value; break;
    case TEMPLATE: o->chat_template = value; break;
    case TEMPLATE_FILE: o->chat_template_file = value; break;
    case JINJA: return -1; /* always so */
    case SINGLE_TURN: o->single_turn = true; break;
    case SIMPLE_IO: o->simple_io = true; return -1;
    case COLOR: return color(o, flag, value);
    case TIMINGS: o->timings = true; return -1; /* of a text the table has them */
    default: break;
    }
    o->chatting = flag;
    return -1;
}

static int unsigned_integer(const char *flag, const char *text, long least, long most, uint32_t *value)
{
    long v = 0;
    int code = integer(flag, text, least, most, &v);
    if (code < 0)
        *value = (uint32_t)v;
    return code;
}

static int apply(options *o, enum id id, const char *flag, const char *value)
{
    long v = 0;
    int code = -1;
    switch (id) {
    case MODEL: o->model = value; break;
    case DEVICE: return device(o, flag, value);
    case PROMPT: o->prompt = value; break;
    case LOAD_STATE: o->load_state = value; break;
    case SAVE_STATE: o->save_state = value; break;
    case PROMPT_CACHE:
        o->save_state = value;
        o->load_state = access(value, F_OK) == 0 ? value : NULL;
        break;
    case PROMPT_FILE: o->prompt_file = value; break;
    case N_PREDICT:
        o->n_given = true;
        return integer(flag, value, -1, INT32_MAX, &o->n_predict);
    case IGNORE_EOS:
        o->sampling = flag;
        o->ignore_eos = true;
        break;
    case TEMP:
        o->sampling = flag;
        return number(flag, value, 0, 1000, &o->sampler.temperature);
    case TOP_K:
        o->sampling = flag;
        code = integer(flag, value, 0, INT32_MAX, &v);
        o->sampler.top_k = (int32_t)v;
        break;
    case TOP_P:
        o->sampling = flag;
        return number(flag, value, 0, 1, &o->sampler.top_p);
    case MIN_P:
        o->sampling = flag;
        return number(flag, value, 0, 1, &o->sampler.min_p);
    case REPEAT_PENALTY:
        o->sampling = flag;
        return number(flag, value, 0.01, 1000, &o->sampler.repeat_penalty);
    case FREQUENCY_PENALTY:
        o->sampling = flag;
        return number(flag, value, -1000, 1000, &o->sampler.frequency_penalty);
    case PRESENCE_PENALTY:
        o->sampling = flag;
        return number(flag, value, -1000, 1000, &o->sampler.presence_penalty);
    case REPEAT_LAST:
        o->sampling = flag;
        code = integer(flag, value, 0, INT32_MAX, &v);
        o->sampler.penalty_last = (int32_t)v;
        break;
    case SEED:
        o->sampling = flag;
        code = integer(flag, value, -1, UINT32_MAX, &v);
        o->sampler.seed = (uint32_t)v;
        break;
    case GRAMMAR:
        o->sampling = flag;
        o->grammar = value;
        break;
    case GRAMMAR_FILE:
        o->sampling = flag;
        o->grammar_file = value;
        break;
    case SCHEMA:
        o->sampling = flag;
        o->schema = value;
        break;
    case SCHEMA_FILE:
        o->sampling = flag;
        o->schema_file = value;
        break;
    case REVERSE:
        o->sampling = flag;
        if (!*value || o->n_reverse == MAX_REVERSE)
            return wrong(*value ? "too many of these" : "a text is needed", flag, value);
        o->reverse[o->n_reverse++] = value;
        break;
    case N_PROBS:
        o->sampling = flag;
        return unsigned_integer(flag, value, 0, 1000, &o->n_probs);
    case VERBOSE_PROMPT: o->verbose_prompt = true; break;
    case SAMPLING: return sampling_option(o, flag, value);
    case CTX: return unsigned_integer(flag, value, 0, 1 << 28, &o->n_ctx);
    case SHIFT: o->shift = true; break;
    case NO_SHIFT: o->no_shift = true; break;
    case KEEP:
        o->keep_given = true;
        return unsigned_integer(flag, value, 0, 1 << 28, &o->keep);
    case CACHE_RAM:
        o->cache_ram_given = true;
        return unsigned_integer(flag, value, 0, 1 << 24, &o->cache_ram);
    case BATCH: return unsigned_integer(flag, value, 1, 4096, &o->n_batch);
    case THREADS:
        code = integer(flag, value, 1, 1024, &v);
        o->threads = value;
        break;
    case PRECISION: return precision(flag, value, &o->precision);
    case LAYOUT: return layout(flag, value, &o->layout);
    case NO_MMAP: o->copy = true; break;
    case TYPE_K: return type(flag, value, &o->type_k);
    case TYPE_V: return type(flag, value, &o->type_v);
    case NKVO: o->no_kv_offload = true; break;
    case OVERRIDE: return override_list(o, flag, value);
    case SPLIT:
        o->chosen_split = true;
        return split(o, flag, value);
    case EXPERT_PARALLEL: o->expert_parallel = true; break;
    case SHARES: return shares(o, flag, value);
    case FIT:
        o->fit = true;
        o->fit_reserve = -1;
        return value ? integer(flag, value, 0, 1 << 30, &o->fit_reserve) : -1;
    case PERPLEXITY: o->perplexity = value; break;
    case PROTOCOL: return protocol(o, flag, value);
    case IMATRIX_OUT: o->imatrix_out = value; break;
    case CHUNKS: return unsigned_integer(flag, value, 1, INT32_MAX, &o->chunks);
    case EXPLAIN:
        o->explain_format = value != NULL;
        return explain(o, flag, value);
    case PROFILE: o->profile = true; break;
    case COMPILE: o->compile = value ? value : "1/1"; break;
    case COMPILERS: return unsigned_integer(flag, value, 0, COMPILERS_MOST, &o->compilers);
    case VERBOSE: o->verbose = true; break;
    case PASS: return unsigned_integer(flag, value, 1, 4096, &o->pass);
    case JSON: o->json = true; break;
    case DRAFT:
        o->drafting = flag;
        o->draft_given = true;
        return unsigned_integer(flag, value, 0, ENG_LM_DRAFT_MOST, &o->draft);
    case DRAFT_FROM:
        o->drafting = flag;
        o->draft_from = value;
        o->draft_model = strcmp(value, "ngram") && strcmp(value, "mtp") ? value : NULL;
        break;
    case DRAFT_MODEL:
        o->drafting = flag;
        o->draft_from = o->draft_model = value;
        break;
    case DRAFT_MIN:
        o->drafting = flag;
        return unsigned_integer(flag, value, 0, ENG_LM_DRAFT_MOST, &o->draft_min);
    case DRAFT_P_MIN:
        o->drafting = flag;
        return number(flag, value, 0, 1, &o->draft_p_min);
    case CNV: case NO_CNV: case LINES: case SYSTEM: case SYSTEM_FILE: case TEMPLATE: case TEMPLATE_FILE: case JINJA:
    case SINGLE_TURN: case SIMPLE_IO: case COLOR: case TIMINGS:
        return apply_chat(o, id, flag, value);
    case SHOW_HELP:
        return help(value);
    case SHOW_VERSION:
        printf("engine-generate (libengine) %s\nlines edited by: %s\n", eng_version(), chat_edit_name());
        return 0;
    }
    return code;
}

/* No option: perhaps a value behind one that takes it only with =. */
static int unknown(const char *argument, const char *before)
{
    char what[96] = "unexpected argument";
    if (argument[0] == '-' && argument[1]) {
        const char *near = NULL;
        unsigned best = UINT_MAX;
        for (size_t k = 0; k < sizeof flags / sizeof *flags && strlen(argument) > 2; k++)
            if (eu_nearer(argument, flags[k].long_name, &best))
                near = flags[k].long_name;
        snprintf(what, sizeof what, near ? "there is no such option (did you mean %s?)" : "there is no such option",
                 near ? near : "");
        return wrong(what, "option", argument);
    }
    for (size_t k = 0; k < sizeof flags / sizeof *flags; k++)
        if (flags[k].argument == OPTIONAL && strcmp(before, flags[k].long_name) == 0)
            snprintf(what, sizeof what, "unexpected argument: say %s=%.40s", before, argument);
    return wrong(what, "argument", argument);
}

int options_parse(options *o, int argc, char **argv)
{
    memset(o, 0, sizeof *o);
    o->n_predict = 128;
    o->n_batch = 512;
    o->keep = 4; /* the first tokens hold what attention gives to nothing in particular (Xiao et al., 2023) */
    o->nkvo_override = UINT32_MAX;
    o->type_k = o->type_v = ENG_TYPE_F16;
    o->rotate_kv = ENG_LM_ROTATE_AUTO;
    eng_lm_sampler_defaults(&o->sampler);
    o->compilers = compilers_default();
    for (int i = 1; i < argc; i++) {
        const struct flag *f = NULL;
        const char *value = NULL, *equals = strncmp(argv[i], "--", 2) ? NULL : strchr(argv[i], '=');
        size_t length = equals ? (size_t)(equals - argv[i]) : strlen(argv[i]);
        for (size_t k = 0; k < sizeof flags / sizeof *flags && !f; k++)
            if ((flags[k].name && strcmp(argv[i], flags[k].name) == 0) ||
                (strlen(flags[k].long_name) == length && strncmp(argv[i], flags[k].long_name, length) == 0))
                f = &flags[k];
        int foreign = f ? -2 : options_foreign(o, argc, argv, &i);
        if (foreign >= 0)
            return foreign;
        if (foreign == -1)
            continue;
        if (!f)
            return unknown(argv[i], i > 1 ? argv[i - 1] : "");
        if (equals && f->argument == NONE)
            return wrong("takes no value", f->long_name, equals + 1);
        if (equals) {
            value = equals + 1;
        } else if (f->argument == NEEDED) {
            if (i + 1 < argc)
                value = argv[++i];
            else
                return wrong("a value is needed", "option", argv[i]);
        } else if (f->argument == SWITCH && i + 1 < argc && is_switch(argv[i + 1])) {
            value = argv[++i];
        } else if (f->id == SHOW_HELP && i + 1 < argc && argv[i + 1][0] != '-') {
            value = argv[++i];
        }
        int code = apply(o, f->id, equals || f->id == SAMPLING ? f->long_name : value ? argv[i - 1] : argv[i], value);
        if (code >= 0)
            return code;
    }
    if (o->escape && !options_unescape(o))
        return wrong("out of memory for the text", "-p", o->prompt ? o->prompt : "");
    return options_check(o);
}

void options_free(options *o)
{
    for (uint32_t i = 0; i < o->n_kept; i++)
        free(o->kept[i]);
    free(o->kept);
    free(o->joined);
    free(o->shares_kept);
    for (uint32_t i = 0; i < sizeof o->memory / sizeof *o->memory; i++)
        free(o->memory[i]);
    for (uint32_t i = 0; i < sizeof o->homes / sizeof *o->homes; i++)
        free(o->homes[i]);
}

eng_lm_placement options_placement(const options *o, const eng_lm_override *overrides, uint32_t n)
{
    return (eng_lm_placement){.size = sizeof(eng_lm_placement),
                              .split = o->split == SPLIT_LAYER ? ENG_LM_SPLIT_LAYER : ENG_LM_SPLIT_TENSOR,
                              .experts = o->expert_parallel ? ENG_LM_EXPERTS_PARALLEL : ENG_LM_EXPERTS_FFN,
                              .overrides = overrides, .n_overrides = n};
}
