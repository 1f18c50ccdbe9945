/*
 * Placements that users ask for: -ot for any kind of tensor, -nkvo, -sm layer,
 * under every split; then random maps of single tensors to devices.  Each gives the
 * logits of the model on one device: of a prompt, of 32 tokens fed one by one, and
 * after tokens were taken back, and of a copied sequence.
 *
 *     test-placement [--maps N] [--seed S] [--slow]
 *
 * --slow: the whole table on every split.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "libengine/util/util.h"
#include "whole.h"

#define MAX_OVERRIDES 16

typedef struct split {
    const char *device;
    const char *homes[4]; /* leaves and guests that overrides name */
    bool slow;            /* part of the table unless --slow */
} split;

static const split splits[] = {
    {"cpu/2", {"cpu/2.0", "cpu/2.1", "cpu", NULL}, false},
    {"cpu/2@3:1", {"cpu/2.1", "cpu/2.0", "cpu", NULL}, false},
    {"cpu/3@2:1:0", {"cpu/3.2", "cpu/3.1", "cpu/3.0", "cpu"}, false}, /* a leaf without a share */
    {"cpu@1", {"cpu/2.1", "cpu", NULL, NULL}, false},                 /* as -sm none */
#ifdef HAVE_OPENCL
    {"opencl:0/2", {"opencl:0/2.1", "cpu", NULL, NULL}, true},
    {"cpu+opencl:0@3:1", {"opencl:0", "cpu", "cpu/2.1", NULL}, true},
    {"opencl:0@1", {"cpu", NULL, NULL, NULL}, true},
#endif
};
#define N_SPLITS (sizeof splits / sizeof *splits)

/* Patterns for the first home and the second. */
typedef struct placement_row {
    const char *what, *first, *second;
} placement_row;

static const placement_row trained_rows[] = {
    {"nothing", NULL, NULL},
    {"attention weights", "attn_(q|k|v|output|qkv|gate)\\.", NULL},
    {"attention output", "attn_output\\.", NULL},
    {"one head's matrices apart", "attn_k\\.", "attn_v\\."},
    {"norms", "norm", NULL},
    {"embeddings", "token_embd", NULL},
    {"output", "^output\\.", NULL},
    {"both ends apart", "token_embd", "^output"},
    {"K of one layer", "^cache_k\\.3$", NULL},
    {"V of one layer", "^cache_v\\.3$", NULL},
    {"K and V apart", "^cache_k\\.", "^cache_v\\."},
    {"-nkvo", "^cache_[kv]\\.", NULL},
    {"state of one layer", "^state\\.0$", NULL},
    {"convolution window of one layer", "^conv\\.1$", NULL},
    {"state and window apart", "^state\\.2$", "^conv\\.2$"},
    {"recurrent weights", "ssm_(a|dt|conv1d|alpha|beta)", NULL},
    {"feed-forward of one layer", "blk\\.2\\.ffn_", NULL},
    {"down apart from up", "blk\\.[13]\\.ffn_down", "blk\\.[13]\\.ffn_up"},
    {"all of a recurrent layer", "(blk\\.1\\.|^(state|conv)\\.1$)", NULL},
    {"all of an attention layer", "(blk\\.3\\.|^cache_[kv]\\.3$)", NULL},
    {"all but the feed-forward", "^(cache|state|conv|token|output|blk\\.[0-9]+\\.(attn|ssm|post))", NULL},
    {"everything", ".", NULL},
};
#define N_TRAINED_ROWS (sizeof trained_rows / sizeof *trained_rows)

/* Of caches in block types. */
static const placement_row cache_rows[] = {
    {"nothing", NULL, NULL},
    {"K of one layer", "^cache_k\\.3$", NULL},
    {"K and V apart", "^cache_k\\.", "^cache_v\\."},
    {"-nkvo", "^cache_[kv]\\.", NULL},
    {"attention weights", "attn_(q|k|v|output)\\.", NULL},
};
#define N_CACHE_ROWS (sizeof cache_rows / sizeof *cache_rows)

/* Single experts, of models that have them. */
static const placement_row expert_rows[] = {
    {"nothing", NULL, NULL},
    {"one expert", "_exps\\.2\\.", NULL},
    {"the first and the last", "_exps\\.0\\.", "_exps\\.7\\."},
    {"every other expert", "_exps\\.[1357]\\.", NULL},
    {"up apart from the rest", "up_exps\\.[0-3]\\.", NULL},
    {"gate and down in other parts", "gate_exps\\.[2-5]\\.", "down_exps\\.[4-7]\\."},
    {"experts of one layer", "blk\\.1\\..*_exps\\.", "blk\\.0\\..*_exps\\.[67]"},
    {"all experts", "_exps\\.weight", NULL},
    {"each half", "_exps\\.[0-3]\\.", "_exps\\.[4-7]\\."},
    {"the router", "ffn_gate_inp\\.", NULL},
    {"everything", ".", NULL},
    {"the shared expert", "ffn_gate_inp_shexp", "shexp"}, /* last: not all models have one */
};
#define N_EXPERT_ROWS (sizeof expert_rows / sizeof *expert_rows)

static const placement_row shared_rows[] = {
    {"a cache that another layer reads", "^cache_[kv]\\.1$", NULL},
    {"-nkvo", "^cache_[kv]\\.", NULL},
    {"the layer that reads it", "blk\\.3\\.", "^cache_k\\.0$"},
    {"the tokens' vectors for layers", "per_layer", NULL},
};
#define N_SHARED_ROWS (sizeof shared_rows / sizeof *shared_rows)

/* A model, its table and its maps. */
typedef struct placed_model {
    whole w;
    const placement_row *rows;
    size_t n_rows;
    uint32_t n_maps;           /* random ones, for every 10 asked for          */
    uint32_t n_layers, n_experts;
} placed_model;

#define TRAINED(label, k, v, tolerance) {.name = label, .type_k = k, .type_v = v, .most = tolerance, .n_cells = 128}
#define RANDOM(label, made, k, v) \
    {.name = label, .options = made, .type_k = k, .type_v = v, .most = 1e-3, .n_cells = 128}
static placed_model models[] = {
    {TRAINED("tiny-hybrid", ENG_TYPE_F32, ENG_TYPE_F32, 1e-3), trained_rows, N_TRAINED_ROWS, 6, 4, 0},
    /* block types: some values are rounded the other way */
    {TRAINED("tiny-hybrid with q8_0/q4_0", ENG_TYPE_Q8_0, ENG_TYPE_Q4_0, 5e-3), cache_rows, N_CACHE_ROWS, 1, 4, 0},
    {RANDOM("qwen3moe", "--arch qwen3moe --layers 2 --experts 8 --used 3 --seed 11 --expert-ffn 48", ENG_TYPE_F32,
            ENG_TYPE_F32), expert_rows, N_EXPERT_ROWS - 1, 2, 2, 8},
    {RANDOM("qwen35moe", "--arch qwen35moe --layers 3 --interval 2 --experts 8 --used 2 --seed 12 --type q8_0 "
            "--embd 96", ENG_TYPE_F16, ENG_TYPE_F32), expert_rows, N_EXPERT_ROWS, 2, 3, 8},
    {RANDOM("odd", "--layers 5 --interval 3 --seed 13 --tied --heads 6 --kv-heads 3 --k-heads 3 --v-heads 6 --ffn 331 "
            "--embd 100", ENG_TYPE_F32, ENG_TYPE_F32), NULL, 0, 1, 5, 0},
    /* layers that read the caches of others, wherever these are */
    {RANDOM("gemma4", "--arch gemma4 --layers 4 --period 2 --shared-caches 2 --seed 14 --local-head 16 --input 16 --embd 96 "
            "--wide-shared", ENG_TYPE_F32, ENG_TYPE_F32), shared_rows, N_SHARED_ROWS, 1, 2, 0}, /* two layers have caches */
};
#define N_MODELS (sizeof models / sizeof *models)

typedef struct placed_case {
    const whole *model;
    const char *device;
    uint32_t mode, experts;
    eng_lm_override overrides[MAX_OVERRIDES];
    uint32_t n;
} placed_case;

static int n_tests, n_failed;

static void describe(const placed_case *c)
{
    printf("%s on %s%s%s", c->model->name, c->device, c->mode == ENG_LM_SPLIT_LAYER ? " -sm layer" : "",
           c->experts == ENG_LM_EXPERTS_PARALLEL ? " --expert-parallel" : "");
    for (uint32_t i = 0; i < c->n; i++)
        printf(" -ot '%s=%s'", c->overrides[i].pattern, c->overrides[i].device);
}

static void try(eng_context *engine, const placed_case *c)
{
    eng_lm_placement placement = {.size = sizeof placement, .split = c->mode, .experts = c->experts,
                                  .overrides = c->overrides, .n_overrides = c->n};
    bool ok = whole_compare(c->model, engine, c->device, &placement);
    n_failed += !ok;
    printf("%s %d - ", ok ? "ok" : "not ok", ++n_tests);
    describe(c);
    printf("\n");
    fflush(stdout);
}

/* -- the table ------------------------------------------------------------------- */

static void try_table(eng_context *engine, const placed_model *m, bool slow)
{
    for (size_t i = 0; i < N_SPLITS; i++) {
        for (size_t k = 0; k < m->n_rows; k++) {
            const char *const *homes = splits[i].homes;
            int n_homes = 0;
            while (n_homes < 4 && homes[n_homes])
                n_homes++;
            for (int mode = 0; mode < 2; mode++) {
                /* every row on every split, by turns with each home and either way of splitting */
                int turn = (int)(i + k);
                if (!slow && (mode != (turn & 1) || (splits[i].slow && k % 3 != i % 3)))
                    continue;
                for (int home = 0; home < (slow ? n_homes : 1); home++) {
                    const char *first = homes[(turn / 2 + home) % n_homes];
                    const char *second = homes[(turn / 2 + home + 1) % n_homes];
                    placed_case c = {.model = &m->w, .device = splits[i].device, .mode = (uint32_t)mode,
                                     .experts = m->n_experts && turn & 2};
                    if (m->rows[k].first)
                        c.overrides[c.n++] = (eng_lm_override){m->rows[k].first, first};
                    if (m->rows[k].second)
                        c.overrides[c.n++] = (eng_lm_override){m->rows[k].second, second};
                    try(engine, &c);
                }
            }
        }
    }
}

/* -- random maps ------------------------------------------------------------------- */

static uint64_t random_state;

static uint32_t below(uint32_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % n;
}

/* A pattern that names one tensor of the model. */
static void one_tensor(const placed_model *m, const eng_gguf *file, char pattern[160])
{
    uint32_t n_layers = m->n_layers;
    static const char *const memory[] = {"(cache_k|state)", "(cache_v|conv)"};
    if (below(4) == 0) {
        snprintf(pattern, 160, "^%s\\.%u$", memory[below(2)], below(n_layers));
        return;
    }
    for (;;) {
        const char *name = eng_gguf_tensor_get(file, below(eng_gguf_tensor_count(file)))->name;
        unsigned layer = 0;
        if (sscanf(name, "blk.%u.", &layer) == 1 && layer >= n_layers)
            continue; /* of a block that is not run */
        size_t at = 0;
        bool one = strstr(name, "_exps.") && below(4); /* of its experts */
        pattern[at++] = '^';
        for (; *name && at < 140; name++) {
            if (one && strcmp(name, ".weight") == 0)
                at += (size_t)snprintf(pattern + at, 16, "\\.%u", below(m->n_experts));
            if (*name == '.')
                pattern[at++] = '\\';
            pattern[at++] = *name;
        }
        pattern[at++] = '$';
        pattern[at] = 0;
        return;
    }
}

/* Does an earlier pattern decide for the tensor of this one: the same, or its whole stack of experts? */
static bool is_hidden(char patterns[][160], uint32_t n)
{
    char stack[160];
    memcpy(stack, patterns[n], sizeof stack);
    char *expert = strstr(stack, "_exps\\.");
    if (expert)
        strcpy(expert + 7, "weight$");
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(patterns[i], patterns[n]) == 0 || strcmp(patterns[i], stack) == 0)
            return true;
    return false;
}

static void try_maps(eng_context *engine, const placed_model *m, uint32_t n_maps, uint64_t seed)
{
    static char patterns[MAX_OVERRIDES][160];
    eng_gguf *file;
    if (eng_gguf_open(m->w.path, &file)) {
        printf("not ok %d - %s: %s\n", ++n_tests, m->w.path, eng_last_error());
        n_failed++;
        return;
    }
    for (uint32_t i = 0; i < n_maps; i++) {
        random_state = seed + i;
        for (int k = 0; k < 4; k++) /* seeds that are near begin alike */
            below(2);
        const split *s = &splits[below(N_SPLITS)];
        placed_case c = {.model = &m->w, .device = s->device, .mode = below(3) == 0,
                         .experts = m->n_experts && below(2)};
        int n_homes = 0;
        while (n_homes < 4 && s->homes[n_homes])
            n_homes++;
        c.n = 1 + below(MAX_OVERRIDES);
        for (uint32_t k = 0; k < c.n; k++) {
            do
                one_tensor(m, file, patterns[k]);
            while (is_hidden(patterns, k));
            c.overrides[k] = (eng_lm_override){patterns[k], s->homes[below((uint32_t)n_homes)]};
        }
        printf("# map of seed %" PRIu64 "\n", seed + i);
        try(engine, &c);
    }
    eng_gguf_close(file);
}

/* -- patterns that have nothing to do, and wrong ones ------------------------------- */

static void opens_on(eng_context *engine, const char *device, const char *model, const char *path, const char *pattern,
                     const char *home, int want)
{
    subject s;
    eng_lm_override o = {pattern, home};
    eng_lm_placement placement = {.size = sizeof placement, .overrides = &o, .n_overrides = 1};
    int status = subject_open(&s, engine, device, path, &placement, NULL);
    bool ok = status == want;
    if (!ok)
        printf("# %d instead of %d: %s\n", status, want, status ? eng_last_error() : "");
    if (!status)
        subject_close(&s);
    n_failed += !ok;
    printf("%s %d - %s on %s -ot '%s=%s' is %s\n", ok ? "ok" : "not ok", ++n_tests, model, device, pattern, home,
           want ? "refused" : "accepted");
}

static void opens(eng_context *engine, const char *model, const char *path, const char *pattern, int want)
{
    opens_on(engine, "cpu/2", model, path, pattern, "cpu/2.1", want);
}

static void tell(bool ok, const char *what)
{
    n_failed += !ok;
    printf("%s %d - %s\n", ok ? "ok" : "not ok", ++n_tests, what);
}

/* A pattern after one that decides for all that it is found in. */
static void try_hidden(eng_context *engine, const whole *w)
{
    static const eng_lm_override both[] = {{"attn", "cpu/2.0"}, {"attn_q\\.", "cpu/2.1"}, {"attn", "cpu/2.0"}};
    for (int i = 0; i < 2; i++) { /* the other way round each has something to do */
        subject s;
        eng_lm_placement placement = {.size = sizeof placement, .overrides = both + i, .n_overrides = 2};
        int status = subject_open(&s, engine, "cpu/2", w->path, &placement, NULL);
        const char *text = status ? eng_last_error() : "";
        bool told = strstr(text, "\"attn_q\\.\" is hidden by \"attn\"") != NULL;
        if (status)
            printf("# %s\n", text);
        tell(i == 0 ? status == ENG_ERR_INVALID && told : status == ENG_OK,
             i == 0 ? "a pattern that decides nothing is refused" : "in the other order both are good");
        if (!status)
            subject_close(&s);
    }
}

/* Searches that would take longer than anybody lives: (a+)+$ in a name of a's, and its like in those of the model. */
static void try_endless(eng_context *engine, const whole *w)
{
    static const eng_lm_override two[] = {{"output\\.", "cpu/2.0"}, {"([a-z0-9_.]+)+[!?]", "cpu/2.1"}};
    subject s;
    eng_lm_placement placement = {.size = sizeof placement, .overrides = two, .n_overrides = 2};
    uint64_t begin = eu_now();
    int status = subject_open(&s, engine, "cpu/2", w->path, &placement, NULL);
    double seconds = (double)(eu_now() - begin) / EU_SECOND;
    eng_error error = {.size = sizeof error};
    bool told = status && eng_last_error_info(&error) == ENG_OK && error.code == ENG_CODE_PATTERN_SYNTAX &&
                error.index == 1 && strstr(eng_last_error(), "takes too long") != NULL;
    printf("# %.3f s: %s\n", seconds, status ? eng_last_error() : "opened");
    tell(status == ENG_ERR_INVALID && told && seconds < 2, "a pattern that takes too long is refused");
    if (!status)
        subject_close(&s);
}

static void find_scatter(void *found, const char *text)
{
    *(bool *)found |= strstr(text, "scatter") != NULL;
}

/* Whole layers follow the shares by bytes, and the logits stay where they are made. */
static void try_layers(eng_context *engine, const whole *w)
{
    static const struct {
        const char *device;
        double least, most; /* of the weights, on the first device */
    } wanted[] = {{"cpu/2", 0.49, 0.51}, {"cpu/2@3:1", 0.71, 0.79}, {"cpu/3@0:1:0", 0, 0}, {"cpu/2@1:3", 0.21, 0.29}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        subject s;
        eng_lm_placement placement = {.size = sizeof placement, .split = ENG_LM_SPLIT_LAYER};
        bool ok = subject_open(&s, engine, wanted[i].device, w->path, &placement, NULL) == ENG_OK, scatters = false;
        if (!ok) {
            printf("# %s\n", eng_last_error());
            tell(false, wanted[i].device);
            continue;
        }
        double first = 0, all = 0;
        eng_device_info info = {.size = sizeof info};
        eng_device_stats stats = {.size = sizeof stats};
        for (uint32_t leaf = 0; eng_device_leaf(s.device, leaf, &info, &stats) == ENG_OK; leaf++) {
            all += (double)stats.bytes_weights;
            first += leaf ? 0 : (double)stats.bytes_weights;
        }
        printf("# %s: %.3f of the weights on the first device\n", wanted[i].device, first / all);
        ok = first >= wanted[i].least * all && first <= wanted[i].most * all;
        ok &= eng_lm_context_explain(s.context, ENG_EXPLAIN_TEXT, find_scatter, &scatters) == ENG_OK && !scatters;
        tell(ok, "whole layers by bytes, logits where the head is");
        subject_close(&s);
    }
}

static void try_patterns(eng_context *engine, const whole *w)
{
    char path[256];
    opens(engine, w->name, w->path, "^cache_k\\.0$", ENG_ERR_INVALID); /* layer 0 is recurrent */
    opens(engine, w->name, w->path, "^state\\.3$", ENG_ERR_INVALID);   /* layer 3 attends      */
    opens(engine, w->name, w->path, "blk\\.4\\.", ENG_ERR_INVALID);    /* drafts: not run      */
    opens(engine, w->name, w->path, "ffn_(", ENG_ERR_INVALID);
    opens(engine, w->name, w->path, "blk\\.\\d+\\.ffn_(?:up|down)\\.", ENG_OK);
    opens(engine, w->name, w->path, "^blk.*(?<!norm)\\.weight$", ENG_OK);
    opens_on(engine, "cpu", w->name, w->path, "norm", "cpu/2.1", ENG_ERR_INVALID); /* a device alone has no guests */
    opens_on(engine, "cpu", w->name, w->path, "norm", "cpu", ENG_OK);
    opens_on(engine, "cpu/2", w->name, w->path, "norm", "nosuch:1", ENG_ERR_NOTFOUND);
    bool made = subject_make("--seed 3 --interval 9 --layers 2", scratch_path("recurrent", path)) == 0;
    opens(engine, "recurrent alone", made ? path : "", "^cache_[kv]\\.", ENG_OK);
    opens(engine, "recurrent alone", made ? path : "", "^cach_", ENG_ERR_INVALID);
    remove(path);
    made = subject_make("--seed 4 --interval 1 --layers 2", scratch_path("attention", path)) == 0;
    opens(engine, "attention alone", made ? path : "", "^state\\.", ENG_OK);
    remove(path);
}

/* ------------------------------------------------------------------------------------ */

int main(int argc, char **argv)
{
    eng_context *engine;
    uint32_t n_maps = 20;
    uint64_t seed = 1;
    bool slow = false;
    for (int i = 1; i < argc; i++) {
        slow |= strcmp(argv[i], "--slow") == 0;
        if (strcmp(argv[i], "--maps") == 0 && i + 1 < argc)
            n_maps = (uint32_t)strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 10);
    }
    if (eng_context_create(NULL, &engine)) {
        printf("Bail out! %s\n", eng_last_error());
        return 1;
    }
    for (size_t i = 0; i < N_MODELS; i++) {
        placed_model *m = &models[i];
        if (!whole_begin(&m->w, engine)) {
            printf("Bail out! %s does not run on cpu\n", m->w.name);
            return 1;
        }
        try_table(engine, m, slow);
        try_maps(engine, m, (n_maps * m->n_maps + 9) / 10, seed);
        if (i == 0) {
            try_patterns(engine, &m->w);
            try_endless(engine, &m->w);
            try_hidden(engine, &m->w);
            try_layers(engine, &m->w);
        }
        whole_end(&m->w);
    }
    printf("1..%d\n", n_tests);
    if (eng_context_destroy(engine)) {
        printf("# %s\n", eng_last_error());
        n_failed++;
    }
    return n_failed != 0;
}
