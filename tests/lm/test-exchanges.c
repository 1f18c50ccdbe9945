/*
 * What a token costs between devices: whatever the architecture, if every axis has
 * a unit for each device there is one all-reduce for the embedding and two a layer,
 * of a row of the embedding's width, and nothing else.  A weight that is kept on one
 * of the devices adds at most a gather and a broadcast where it is used.  Where caches go along
 * their cells, or are on one device, the devices meet once for all that a layer writes and
 * attends with, and once for the result (twice along the cells: denominators first).  Whole
 * layers on each device: one transfer from each to the next.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "subject.h"

#define LAYERS 3
#define WIDTH 128
#define EXPECTED (1 + 2 * LAYERS)

#define SHAPE " --layers 3 --embd 128 --heads 8 --kv-heads 4 --head 16 --k-heads 4 --v-heads 8"
#define EXPERTS SHAPE " --experts 8 --used 3"
static const char *const models[] = {
    "--arch llama" SHAPE,
    "--arch llama --biases --freqs --fused-qkv --scales" SHAPE,
    "--arch llama --biases" EXPERTS,
    "--arch qwen2 --tied" SHAPE,
    "--arch qwen3 --type q8_0" SHAPE,
    "--arch qwen3moe" EXPERTS,
    "--arch qwen3moe --fused-experts --scales --type f16" EXPERTS,
    "--arch qwen35 --interval 2" SHAPE,
    "--arch qwen35moe --interval 2" EXPERTS,
    "--arch qwen35moe --interval 2 --fused-experts --scales" EXPERTS,
};
#define N_MODELS (sizeof models / sizeof *models)

static const char *const devices[] = {"cpu/2", "cpu/3@2:1:1", "cpu/4"};
#define N_DEVICES (sizeof devices / sizeof *devices)

/* Models with one weight on one device, and the most exchanges that they may need. */
static const struct {
    const char *device;
    eng_lm_override override;
    int most;
} kept[] = {
    {"cpu/2", {"token_embd", "cpu/2.0"}, EXPECTED},
    {"cpu/2", {"attn_output", "cpu/2.0"}, EXPECTED + LAYERS},
    {"cpu/2", {"attn_output", "cpu/2.1"}, EXPECTED + LAYERS},
    {"cpu/4", {"attn_output", "cpu/4.2"}, EXPECTED + LAYERS},
    {"cpu/2@1:0", {"cache", "cpu/2.0"}, 0},
};
#define N_KEPT (sizeof kept / sizeof *kept)

/* How often the devices meet at most where a layer's memory is not by heads. */
static const struct {
    const char *model, *device;
    eng_lm_override override;
    int most;
} meeting[] = {
    {"--arch llama --kv-heads 1 --heads 8 --head 16 --embd 128 --layers 3", "cpu/2", {NULL, NULL}, EXPECTED + 3 * LAYERS},
    {"--arch qwen3 --kv-heads 2 --heads 8 --head 16 --embd 128 --layers 3", "cpu/3@3:1:1", {NULL, NULL},
     EXPECTED + 3 * LAYERS},
    {"--arch llama --fused-qkv" SHAPE, "cpu/2", {"cache", "cpu/2.1"}, EXPECTED + 2 * LAYERS},
    {"--arch qwen3" SHAPE, "cpu/4", {"cache", "cpu/4.0"}, EXPECTED + 2 * LAYERS},
    {"--arch qwen3" SHAPE, "cpu/2", {"cache", "cpu"}, EXPECTED + 2 * LAYERS},
    {"--arch qwen35 --interval 2" SHAPE, "cpu/2", {"cache|state|conv", "cpu/2.0"}, EXPECTED + 2 * LAYERS},
};
#define N_MEETING (sizeof meeting / sizeof *meeting)

typedef struct text {
    char *data;
    size_t n, capacity;
} text;

static void append(void *ctx, const char *piece)
{
    text *t = ctx;
    size_t n = strlen(piece);
    if (t->capacity - t->n <= n) {
        size_t capacity = 2 * (t->n + n) + 4096;
        char *more = realloc(t->data, capacity);
        if (!more)
            abort();
        t->data = more;
        t->capacity = capacity;
    }
    memcpy(t->data + t->n, piece, n + 1);
    t->n += n;
}

/* Exchanges of the plan, and those that are not the all-reduce of a row; -1: the text has no list of them. */
static int count(const char *json, int *others)
{
    const char *at = strstr(json, "\"exchanges\": [");
    int n = 0;
    char reduce[128];
    int length = snprintf(reduce, sizeof reduce, "{\"kind\": \"all_reduce\", \"value\": ");
    *others = 0;
    if (!at)
        return -1;
    while ((at = strstr(at, "{\"kind\": \""))) {
        const char *bytes = strstr(at, "\"bytes\": ");
        bool row = strncmp(at, reduce, (size_t)length) == 0 && bytes && atol(bytes + 9) == WIDTH * 4;
        *others += !row;
        n++;
        at++;
    }
    return n;
}

/* What is on one device each: a transfer where one ends and the next begins. */
static const struct {
    const char *model, *device;
    uint32_t split;
    eng_lm_override override;
    int expected;
} apart[] = {
    {"--arch llama" SHAPE, "cpu/2", ENG_LM_SPLIT_LAYER, {NULL, NULL}, 1},
    {"--arch llama" SHAPE, "cpu/3", ENG_LM_SPLIT_LAYER, {NULL, NULL}, 2},
    {"--arch qwen3" SHAPE, "cpu+cpu/2.0@3:1", ENG_LM_SPLIT_LAYER, {NULL, NULL}, 1},
    {"--arch qwen3moe" EXPERTS, "cpu/3", ENG_LM_SPLIT_LAYER, {NULL, NULL}, 2},
    {"--arch qwen35 --interval 2" SHAPE, "cpu/2", ENG_LM_SPLIT_LAYER, {NULL, NULL}, 1},
    {"--arch qwen35moe --interval 2" EXPERTS, "cpu/3", ENG_LM_SPLIT_LAYER, {NULL, NULL}, 2},
    {"--arch qwen35moe --interval 2" EXPERTS, "cpu/2", ENG_LM_SPLIT_TENSOR, {".", "cpu/2.1"}, 0},
    {"--arch llama" SHAPE, "cpu/2", ENG_LM_SPLIT_TENSOR, {".", "cpu"}, 0},
};
#define N_APART (sizeof apart / sizeof *apart)

/* n: exchanges, -1: it has been said why not.  *others: those that are not all-reduces of a row; meetings: NULL, or
 * for how often the devices meet. */
static int exchanges(eng_context *engine, const char *device, const char *path, uint32_t split, uint32_t experts,
                     const eng_lm_override *override, int *others, int *meetings)
{
    eng_lm_placement placement = {.size = sizeof placement, .split = split, .experts = experts, .overrides = override,
                                  .n_overrides = override ? 1 : 0};
    eng_lm_context_params p;
    text t = {0};
    subject s;
    int n = -1;
    eng_lm_context_defaults(&p);
    p.n_cells = 64;
    if (subject_open(&s, engine, device, path, &placement, &p)) {
        printf("# %s\n", eng_last_error());
        return -1;
    }
    if (eng_lm_context_explain(s.context, ENG_EXPLAIN_JSON, append, &t))
        printf("# %s\n", eng_last_error());
    else
        n = count(t.data ? t.data : "", others);
    const char *at = n >= 0 ? strstr(t.data, "\"meetings\": ") : NULL;
    if (meetings)
        *meetings = at ? atoi(at + strlen("\"meetings\": ")) : -1;
    free(t.data);
    subject_close(&s);
    return n;
}

int main(void)
{
    char path[256];
    int n_tests = 0, n_failed = 0;
    eng_context *engine;
    if (eng_context_create(NULL, &engine)) {
        printf("Bail out! %s\n", eng_last_error());
        return 1;
    }
    scratch_path("exchanges", path);
    for (size_t i = 0; i < N_MODELS; i++) {
        uint32_t ways = strstr(models[i], "--experts") ? 2 : 1;
        bool made = subject_make(models[i], path) == 0;
        for (size_t k = 0; k < N_DEVICES * ways; k++) {
            uint32_t experts = k % ways ? ENG_LM_EXPERTS_PARALLEL : ENG_LM_EXPERTS_FFN;
            int others = 0, n = made ? exchanges(engine, devices[k / ways], path, 0, experts, NULL, &others, NULL) : -1;
            bool good = n == EXPECTED && others == 0;
            n_failed += !good;
            printf("%s %d - %s on %s%s: %d exchanges, %d are expected; %d are not of one row\n", good ? "ok" : "not ok",
                   ++n_tests, models[i], devices[k / ways], experts ? ", experts dealt out" : "", n, EXPECTED, others);
        }
    }
    for (size_t i = 0; i < 2; i++) {
        const char *model = i ? "--arch qwen3moe" EXPERTS : models[0];
        bool made = subject_make(model, path) == 0;
        for (size_t k = 0; k < N_KEPT; k++) {
            int others, n = made ? exchanges(engine, kept[k].device, path, 0, 0, &kept[k].override, &others, NULL) : -1;
            bool good = n >= 0 && n <= kept[k].most;
            n_failed += !good;
            printf("%s %d - %s on %s, %s on %s: %d exchanges, at most %d are expected\n", good ? "ok" : "not ok",
                   ++n_tests, model, kept[k].device, kept[k].override.pattern, kept[k].override.device, n,
                   kept[k].most);
        }
    }
    for (size_t i = 0; i < N_MEETING; i++) {
        const eng_lm_override *o = meeting[i].override.pattern ? &meeting[i].override : NULL;
        int others, meetings = -1;
        bool made = subject_make(meeting[i].model, path) == 0;
        bool good = made && exchanges(engine, meeting[i].device, path, 0, 0, o, &others, &meetings) >= 0 &&
                    meetings > 0 && meetings <= meeting[i].most;
        n_failed += !good;
        printf("%s %d - %s on %s, %s on %s: %d meetings, at most %d are expected\n", good ? "ok" : "not ok", ++n_tests,
               meeting[i].model, meeting[i].device, o ? o->pattern : "nothing", o ? o->device : "one device", meetings,
               meeting[i].most);
    }
    for (size_t i = 0; i < N_APART; i++) {
        const eng_lm_override *o = apart[i].override.pattern ? &apart[i].override : NULL;
        bool made = subject_make(apart[i].model, path) == 0;
        int others, n = made ? exchanges(engine, apart[i].device, path, apart[i].split, 0, o, &others, NULL) : -1;
        n_failed += n != apart[i].expected;
        printf("%s %d - %s on %s, %s: %d exchanges, %d are expected\n", n == apart[i].expected ? "ok" : "not ok",
               ++n_tests, apart[i].model, apart[i].device, o ? o->device : "whole layers", n, apart[i].expected);
    }
    remove(path);
    eng_context_destroy(engine);
    printf("1..%d\n", n_tests);
    return n_failed != 0;
}
