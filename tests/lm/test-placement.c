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

#include "subject.h"

#define N_PROMPT 11
#define N_STEPS 32
#define N_BACK 3
#define N_ROWS (1 + N_STEPS + N_BACK + 1) /* of logits: the last of a copied sequence */
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
    {"the shared expert", "shexp", "ffn_gate_inp_shexp"}, /* last: not all models have one */
};
#define N_EXPERT_ROWS (sizeof expert_rows / sizeof *expert_rows)

/* A model and what it gives on one device. */
typedef struct whole {
    const char *name, *options; /* of make-model; NULL: the trained model      */
    const placement_row *rows; /* the table                                   */
    size_t n_rows;
    uint32_t n_maps;            /* random ones, for every 10 asked for         */
    uint32_t n_layers, n_experts;
    char path[256];
    int32_t ids[N_PROMPT + N_STEPS + N_BACK];
    uint32_t n_vocab;
    uint32_t type_k, type_v;
    double most;                /* difference, of the logits' root mean square */
    float *logits;              /* N_ROWS rows                                 */
} whole;

static whole models[] = {
    {"tiny-hybrid", NULL, trained_rows, N_TRAINED_ROWS, 6, 4, 0, .type_k = ENG_TYPE_F32, .type_v = ENG_TYPE_F32,
     .most = 1e-3},
    {"tiny-hybrid with q8_0/q4_0", NULL, cache_rows, N_CACHE_ROWS, 1, 4, 0, .type_k = ENG_TYPE_Q8_0,
     .type_v = ENG_TYPE_Q4_0, .most = 5e-3}, /* some values are rounded the other way */
    {"qwen3moe", "--arch qwen3moe --layers 2 --experts 8 --used 3 --seed 11 --expert-ffn 48",
     expert_rows, N_EXPERT_ROWS - 1, 2, 2, 8, .type_k = ENG_TYPE_F32, .type_v = ENG_TYPE_F32, .most = 1e-3},
    {"qwen35moe", "--arch qwen35moe --layers 3 --interval 2 --experts 8 --used 2 --seed 12 --type q8_0 --embd 96",
     expert_rows, N_EXPERT_ROWS, 2, 3, 8, .type_k = ENG_TYPE_F16, .type_v = ENG_TYPE_F32, .most = 1e-3},
    {"odd", "--layers 5 --interval 3 --seed 13 --tied --heads 6 --kv-heads 3 --k-heads 3 --v-heads 6 --ffn 331 "
     "--embd 100", NULL, 0, 1, 5, 0, .type_k = ENG_TYPE_F32, .type_v = ENG_TYPE_F32, .most = 1e-3},
};
#define N_MODELS (sizeof models / sizeof *models)

typedef struct placed_case {
    const whole *model;
    const char *device;
    uint32_t mode;
    eng_lm_override overrides[MAX_OVERRIDES];
    uint32_t n;
} placed_case;

static int n_tests, n_failed;

static void describe(const placed_case *c)
{
    printf("%s on %s%s", c->model->name, c->device, c->mode == ENG_LM_SPLIT_LAYER ? " -sm layer" : "");
    for (uint32_t i = 0; i < c->n; i++)
        printf(" -ot '%s=%s'", c->overrides[i].pattern, c->overrides[i].device);
}

static eng_lm_context_params context_params(const whole *w)
{
    eng_lm_context_params p;
    eng_lm_context_defaults(&p);
    p.n_cells = 2 * 64;
    p.n_batch = 16;
    p.n_sequences = 2;
    p.n_snapshots = N_BACK + 1;
    p.type_k = w->type_k;
    p.type_v = w->type_v;
    return p;
}

/* One row of logits: kept if there is none to compare with.  false: it is wrong. */
static bool row(const whole *w, float *keep, int at, const float *logits, const char *what)
{
    if (!logits) {
        printf("# %s: %s\n", what, eng_last_error());
        return false;
    }
    if (keep) {
        memcpy(keep + (size_t)at * w->n_vocab, logits, w->n_vocab * sizeof *logits);
        return true;
    }
    double off = relative(logits, w->logits + (size_t)at * w->n_vocab, w->n_vocab);
    if (off < w->most)
        return true;
    printf("# %s: off by %g of the logits' size\n", what, off);
    return false;
}

/* The prompt, the steps, and the last steps again after they were taken back. */
static bool run(const whole *w, subject *s, int32_t *ids, float *keep)
{
    char what[40];
    const float *logits = subject_run(s, ids, N_PROMPT);
    if (!row(w, keep, 0, logits, "prompt"))
        return false;
    for (int i = 0; i < N_STEPS; i++) {
        if (keep)
            ids[N_PROMPT + i] = largest(logits, w->n_vocab);
        snprintf(what, sizeof what, "step %d", i);
        logits = subject_run(s, ids + N_PROMPT + i, 1);
        if (!row(w, keep, 1 + i, logits, what))
            return false;
    }
    if (eng_lm_sequence_rollback(s->context, 0, N_BACK)) {
        printf("# rollback: %s\n", eng_last_error());
        return false;
    }
    for (int i = 0; i < N_BACK; i++) {
        snprintf(what, sizeof what, "step %d after the rollback", i);
        if (!row(w, keep, 1 + N_STEPS + i, subject_run(s, ids + N_PROMPT + N_STEPS + i, 1), what))
            return false;
    }
    if (eng_lm_sequence_copy(s->context, 0, 1)) {
        printf("# copy: %s\n", eng_last_error());
        return false;
    }
    int32_t one = 1;
    eng_lm_batch batch = {.size = sizeof batch, .n_tokens = 1, .tokens = ids, .sequences = &one};
    const float *copied = eng_lm_decode(s->context, &batch) ? NULL : eng_lm_logits(s->context, 0);
    return row(w, keep, N_ROWS - 1, copied, "a token of the copy");
}

static bool run_whole(eng_context *engine, whole *w)
{
    subject s;
    eng_lm_context_params p = context_params(w);
    if (subject_open(&s, engine, "cpu", w->path, NULL, &p)) {
        printf("# %s on cpu: %s\n", w->name, eng_last_error());
        return false;
    }
    w->n_vocab = s.n_vocab;
    for (int i = 0; i < N_PROMPT + N_STEPS + N_BACK; i++)
        w->ids[i] = (int32_t)(((uint32_t)i * 2654435761u >> 7) % w->n_vocab);
    w->logits = malloc((size_t)N_ROWS * w->n_vocab * sizeof *w->logits);
    bool ok = w->logits && run(w, &s, w->ids, w->logits);
    subject_close(&s);
    return ok;
}

static void try(eng_context *engine, const placed_case *c)
{
    subject s;
    eng_lm_placement placement = {.size = sizeof placement, .split = c->mode, .overrides = c->overrides,
                                  .n_overrides = c->n};
    eng_lm_context_params p = context_params(c->model);
    int32_t ids[N_PROMPT + N_STEPS + N_BACK];
    int status = subject_open(&s, engine, c->device, c->model->path, &placement, &p);
    bool ok = !status;
    memcpy(ids, c->model->ids, sizeof ids);
    if (status)
        printf("# %s\n", eng_last_error());
    else
        ok = run(c->model, &s, ids, NULL);
    if (!status)
        subject_close(&s);
    n_failed += !ok;
    printf("%s %d - ", ok ? "ok" : "not ok", ++n_tests);
    describe(c);
    printf("\n");
    fflush(stdout);
}

/* -- the table ------------------------------------------------------------------- */

static void try_table(eng_context *engine, const whole *w, bool slow)
{
    for (size_t i = 0; i < N_SPLITS; i++) {
        for (size_t k = 0; k < w->n_rows; k++) {
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
                    placed_case c = {.model = w, .device = splits[i].device, .mode = (uint32_t)mode};
                    if (w->rows[k].first)
                        c.overrides[c.n++] = (eng_lm_override){w->rows[k].first, first};
                    if (w->rows[k].second)
                        c.overrides[c.n++] = (eng_lm_override){w->rows[k].second, second};
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
static void one_tensor(const whole *w, const eng_gguf *file, char pattern[160])
{
    uint32_t n_layers = w->n_layers;
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
                at += (size_t)snprintf(pattern + at, 16, "\\.%u", below(w->n_experts));
            if (*name == '.')
                pattern[at++] = '\\';
            pattern[at++] = *name;
        }
        pattern[at++] = '$';
        pattern[at] = 0;
        return;
    }
}

static void try_maps(eng_context *engine, const whole *w, uint32_t n_maps, uint64_t seed)
{
    static char patterns[MAX_OVERRIDES][160];
    eng_gguf *file;
    if (eng_gguf_open(w->path, &file)) {
        printf("not ok %d - %s: %s\n", ++n_tests, w->path, eng_last_error());
        n_failed++;
        return;
    }
    for (uint32_t i = 0; i < n_maps; i++) {
        random_state = seed + i;
        for (int k = 0; k < 4; k++) /* seeds that are near begin alike */
            below(2);
        const split *s = &splits[below(N_SPLITS)];
        placed_case c = {.model = w, .device = s->device, .mode = below(3) == 0};
        int n_homes = 0;
        while (n_homes < 4 && s->homes[n_homes])
            n_homes++;
        c.n = 1 + below(MAX_OVERRIDES);
        for (uint32_t k = 0; k < c.n; k++) {
            one_tensor(w, file, patterns[k]);
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

static void try_patterns(eng_context *engine, const whole *w)
{
    char path[256];
    opens(engine, w->name, w->path, "^cache_k\\.0$", ENG_ERR_INVALID); /* layer 0 is recurrent */
    opens(engine, w->name, w->path, "^state\\.3$", ENG_ERR_INVALID);   /* layer 3 attends      */
    opens(engine, w->name, w->path, "blk\\.4\\.", ENG_ERR_INVALID);    /* drafts: not run      */
    opens(engine, w->name, w->path, "ffn_(", ENG_ERR_INVALID);
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
    uint32_t n_maps = 30;
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
        whole *w = &models[i];
        if (w->options)
            scratch_path(w->name, w->path);
        else
            snprintf(w->path, sizeof w->path, "%s", data_path("tiny-hybrid-f16.gguf"));
        if ((w->options && subject_make(w->options, w->path)) || !run_whole(engine, w)) {
            printf("Bail out! %s does not run on cpu\n", w->name);
            return 1;
        }
        try_table(engine, w, slow);
        try_maps(engine, w, (n_maps * w->n_maps + 9) / 10, seed);
        if (i == 0)
            try_patterns(engine, w);
        if (w->options)
            remove(w->path);
        free(w->logits);
    }
    printf("1..%d\n", n_tests);
    if (eng_context_destroy(engine)) {
        printf("# %s\n", eng_last_error());
        n_failed++;
    }
    return n_failed != 0;
}
