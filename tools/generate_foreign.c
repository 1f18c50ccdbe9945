/* engine-generate: options as llama.cpp spells them. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "generate_foreign.h"
#include "libengine/util/util.h"

typedef enum treatment {
    IGNORED,  /* no meaning here: said, and the value dropped */
    REFUSED,  /* with the cure */
    LAYERS, CPU_EXPERTS, FIRST_EXPERTS, ESCAPE, ROTATE, LIST
} treatment;

static const struct foreign {
    const char *name, *long_name;
    enum { NONE, NEEDED, SWITCH } argument; /* SWITCH: on, off or auto may follow */
    treatment treatment;
    const char *words;
} table[] = {
    {"-ngl", "--gpu-layers", NEEDED, LAYERS, NULL},
    {NULL, "--n-gpu-layers", NEEDED, LAYERS, NULL},
    {"-cmoe", "--cpu-moe", NONE, CPU_EXPERTS, NULL},
    {"-ncmoe", "--n-cpu-moe", NEEDED, FIRST_EXPERTS, NULL},
    {"-e", "--escape", NONE, ESCAPE, NULL},
    {NULL, "--rotate-kv", NEEDED, ROTATE, NULL},
    {NULL, "--list-devices", NONE, LIST, NULL},
    {NULL, "--no-escape", NONE, IGNORED, "texts are taken as they stand unless -e is given"},
    {"-fa", "--flash-attn", SWITCH, IGNORED, "attention never keeps the whole matrix of scores"},
    {"-ub", "--ubatch-size", NEEDED, IGNORED, "a pass has one size, -b"},
    {"-mg", "--main-gpu", NEEDED, IGNORED, "no device is the main one; with -sm none it is the first of -d"},
    {NULL, "--mlock", NONE, IGNORED, "pages of the file are not locked; --no-mmap copies the weights"},
    {NULL, "--mmap", NONE, IGNORED, "the file is mapped unless --no-mmap is given"},
    {"-kvu", "--kv-unified", NONE, IGNORED, "all sequences share the cells of the caches"},
    {NULL, "--no-kv-unified", NONE, IGNORED, "all sequences share the cells of the caches"},
    {NULL, "--no-warmup", NONE, IGNORED, "nothing is run before the prompt"},
    {NULL, "--no-display-prompt", NONE, IGNORED, "the prompt is never printed"},
    {"-hf", "--hf-repo", NEEDED, REFUSED, "files are not fetched: give a GGUF file with -m"},
    {NULL, "--lora", NEEDED, REFUSED, "adapters are not applied: merge them into the model before"},
    {NULL, "--sampler-seq", NEEDED, REFUSED, "name the samplers: --samplers 'top_k;top_p;temperature'"},
    {NULL, "--sampling-seq", NEEDED, REFUSED, "name the samplers: --samplers 'top_k;top_p;temperature'"},
    {NULL, "--rpc", NEEDED, REFUSED, "devices of other machines are not used"},
    {NULL, "--numa", NEEDED, REFUSED, "run the program under numactl, or cut the processor in parts (-d cpu/2)"},
};

static int refuse(const char *flag, const char *words)
{
    fprintf(stderr, "engine-generate: %s: %s; see engine-generate --help\n", flag, words);
    return EXIT_USAGE;
}

/* "" or a whole number; false: neither. */
static bool whole(const char *text, unsigned long most, unsigned long *value)
{
    char *end;
    *value = strtoul(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && *value <= most;
}

static int keep_on_cpu(options *o, const char *flag, char *pattern)
{
    if (!pattern)
        return eng_fail_code(EU_NO_MEMORY("the pattern of an option"));
    if (o->n_overrides == MAX_OVERRIDES) {
        free(pattern);
        return eng_fail(ENG_ERR_INVALID, "%s" ENG_CAUSE "there are too many patterns (-ot) beside it", flag);
    }
    o->memory[o->n_overrides] = pattern;
    o->overrides[o->n_overrides++] = (eng_lm_override){pattern, "cpu"};
    return ENG_OK;
}

/* What it comes to says the file (keep_experts): it may have no experts. */
static int take_experts(options *o, const char *flag, const char *value)
{
    unsigned long layers = 0;
    if (value && !whole(value, 512, &layers))
        return refuse(flag, "a number of layers is needed, at most 512");
    o->cpu_experts = !value || layers > 0;
    o->cpu_expert_layers = (uint32_t)layers;
    return -1;
}

int keep_experts(options *o)
{
    bool experts = false;
    eu_text pattern = {0};
    int status = o->cpu_experts ? file_has_experts(o->model, &experts) : ENG_OK;
    if (!status && o->cpu_experts && !experts)
        fputs("engine-generate: note: -cmoe and -ncmoe have no effect: the model has no experts\n", stderr);
    if (status || !experts)
        return status;
    for (uint32_t i = 0; i < o->cpu_expert_layers; i++)
        eu_text_format(&pattern, "%s%u", i ? "|" : "^blk\\.(", (unsigned)i);
    eu_text_add(&pattern, o->cpu_expert_layers ? ")\\.ffn_(up|down|gate|gate_up)_exps" : "\\.ffn_(up|down|gate|gate_up)_exps");
    return keep_on_cpu(o, "-cmoe", eu_text_take(&pattern));
}

static int take_layers(options *o, const char *flag, const char *value)
{
    unsigned long layers = 0;
    const bool all = strcmp(value, "auto") == 0 || strcmp(value, "all") == 0 || strcmp(value, "-1") == 0;
    if (!all && !whole(value, 1000000, &layers))
        return refuse(flag, "a number of layers is needed");
    o->no_layers = !all && layers == 0;
    o->last_layers = (uint32_t)layers;
    return -1;
}

static int count_layers(const char *path, int64_t *layers)
{
    eng_gguf *gguf = NULL;
    eng_gguf_string arch = {0};
    int64_t drafts = 0;
    char key[2][96] = {"", ""};
    int n = 0;
    int status = eng_gguf_open(path, &gguf);
    if (!status)
        status = eng_gguf_text(gguf, "general.architecture", 0, &arch);
    if (!status) {
        n = arch.length < 64 ? (int)arch.length : 64;
        snprintf(key[0], sizeof key[0], "%.*s.block_count", n, arch.data);
        snprintf(key[1], sizeof key[1], "%.*s.nextn_predict_layers", n, arch.data);
        status = eng_gguf_integer(gguf, key[0], 0, layers);
    }
    if (!status && eng_gguf_key_find(gguf, key[1]))
        status = eng_gguf_integer(gguf, key[1], 0, &drafts);
    *layers -= drafts;
    eng_gguf_close(gguf);
    return status;
}

int keep_layers(options *o)
{
    int64_t layers = 0, kept;
    eu_text pattern = {0};
    int status = o->last_layers ? count_layers(o->model, &layers) : ENG_OK;
    kept = layers - o->last_layers;
    if (status || !o->last_layers || kept <= 0)
        return status;
    if (kept > 4096)
        return eng_fail(ENG_ERR_UNSUPPORTED, "--gpu-layers" ENG_CAUSE "%lld layers are more than it can keep",
                        (long long)kept);
    for (int64_t i = 0; i < kept; i++)
        eu_text_format(&pattern, "%s%lld",
                       i ? "|" : "^(?:blk|cache_[a-z_]+|state|conv|pool|entry|entry_i|ngrams)\\.(?:", (long long)i);
    eu_text_add(&pattern, ")(?:\\.|$)");
    return keep_on_cpu(o, "--gpu-layers", eu_text_take(&pattern));
}

/* OpenCL0 and GPU0 are opencl:0. */
static size_t foreign_word(const char *text, eu_text *to)
{
    static const char *const words[] = {"opencl", "gpu"};
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
    if (length == 3 && strncasecmp(text, "cpu", 3) == 0) {
        eu_text_add(to, "cpu");
        return length;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if (length > n && strncasecmp(text, words[i], n) == 0 && strspn(text + n, "0123456789") == length - n) {
            eu_text_add(to, "opencl:");
            eu_text_add_bytes(to, text + n, length - n);
            return length;
        }
    }
    eu_text_add_bytes(to, text, length);
    return length;
}

char *device_from_foreign(const char *text)
{
    eu_text to = {0};
    eu_text_add(&to, "");
    while (*text) {
        text += foreign_word(text, &to);
        size_t rest = strcspn(text, "+,");
        eu_text_add_bytes(&to, text, rest);
        text += rest;
        if (*text) {
            eu_text_add(&to, "+");
            text++;
        }
    }
    return eu_text_take(&to);
}

static int rotate(options *o, const char *flag, const char *value)
{
    static const char *const words[] = {"auto", "on", "off"};
    static const int32_t values[] = {ENG_LM_ROTATE_AUTO, ENG_LM_ROTATE_ON, 0};
    for (int k = 0; k < 3; k++)
        if (strcmp(value, words[k]) == 0) {
            o->rotate_kv = values[k];
            return -1;
        }
    return refuse(flag, "auto, on or off is needed");
}

static int apply(options *o, const struct foreign *f, const char *flag, const char *value)
{
    switch (f->treatment) {
    case IGNORED: fprintf(stderr, "engine-generate: note: %s has no effect: %s\n", flag, f->words); return -1;
    case REFUSED: return refuse(flag, f->words);
    case LAYERS: return take_layers(o, flag, value);
    case CPU_EXPERTS:
    case FIRST_EXPERTS: return take_experts(o, flag, value);
    case ROTATE: return rotate(o, flag, value);
    case ESCAPE: o->escape = true; return -1;
    case LIST: o->list_devices = true; return -1;
    }
    return -1;
}

static bool is_switch(const char *text)
{
    return strcmp(text, "on") == 0 || strcmp(text, "off") == 0 || strcmp(text, "auto") == 0;
}

/* Names of one kind, in lines of 100 letters. */
static void print_names(const char *what, treatment least, treatment most)
{
    size_t column = 0;
    printf("\n  %s:\n", what);
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        const struct foreign *f = &table[k];
        if (f->treatment < least || f->treatment > most)
            continue;
        size_t length = (f->name ? strlen(f->name) + 2 : 0) + strlen(f->long_name) + 2;
        fputs(column == 0 ? "    " : column + length > 100 ? ",\n    " : ", ", stdout);
        printf("%s%s%s", f->name ? f->name : "", f->name ? " " : "", f->long_name);
        column = column + length > 100 ? length : column + length;
    }
    putchar('\n');
}

void options_foreign_help(void)
{
    fputs("  -dev A,B is -d A+B; CPU, OpenCL0 and GPU0 are cpu and opencl:0; -ts 3/1; -sm row; lists in -ot\n", stdout);
    print_names("Taken", LAYERS, LIST);
    print_names("Without effect, said once", IGNORED, IGNORED);
    print_names("Refused, with what to do instead", REFUSED, REFUSED);
}

int options_foreign(options *o, int argc, char **argv, int *i)
{
    const char *flag = argv[*i], *equals = strncmp(flag, "--", 2) ? NULL : strchr(flag, '=');
    size_t length = equals ? (size_t)(equals - flag) : strlen(flag);
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        const struct foreign *f = &table[k];
        const char *value = equals ? equals + 1 : NULL;
        if ((!f->name || strcmp(flag, f->name) != 0) &&
            (strlen(f->long_name) != length || strncmp(flag, f->long_name, length) != 0))
            continue;
        bool more = *i + 1 < argc, taken = !equals && more && (f->argument == NEEDED ||
                                                               (f->argument == SWITCH && is_switch(argv[*i + 1])));
        if (f->argument == NEEDED && !equals && !more)
            return refuse(flag, "a value is needed");
        if (taken)
            value = argv[++*i];
        return apply(o, f, f->long_name, value);
    }
    return -2;
}
