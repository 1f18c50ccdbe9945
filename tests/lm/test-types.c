/*
 * Every pair of types of K and V: each cache has its own, in the graph and in memory, and the
 * context says so.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tap.h"
#include "subject.h"

#define HEAD 64
#define KV_HEADS 2
#define LAYERS 2
#define CELLS 128

static const uint32_t types[] = {ENG_TYPE_F32,  ENG_TYPE_F16,  ENG_TYPE_BF16, ENG_TYPE_Q8_0,  ENG_TYPE_Q4_0,
                                 ENG_TYPE_Q4_1, ENG_TYPE_Q5_0, ENG_TYPE_Q5_1, ENG_TYPE_IQ4_NL};
#define N_TYPES (sizeof types / sizeof *types)

typedef struct text {
    char data[1 << 16];
    size_t n;
} text;

static void append(void *ctx, const char *piece)
{
    text *t = ctx;
    size_t n = strlen(piece), room = sizeof t->data - 1 - t->n;
    n = n < room ? n : room;
    memcpy(t->data + t->n, piece, n);
    t->data[t->n += n] = 0;
}

/* "%N = bound TYPE[...]  ; PREFIX.layer": how many of them have this type, and how many there are. */
static uint32_t bound(const text *graph, const char *prefix, const char *type, uint32_t *all)
{
    char name[64], start[32];
    uint32_t found = 0;
    *all = 0;
    snprintf(name, sizeof name, "; %s.", prefix);
    snprintf(start, sizeof start, "= bound %s[", type);
    for (const char *line = graph->data; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        size_t length = strcspn(line, "\n");
        const char *is = strstr(line, name), *of = strstr(line, start);
        *all += is && is < line + length;
        found += is && is < line + length && of && of < is;
    }
    return found;
}

static void check_pair(eng_lm_model *model, const eng_type_info *k, const eng_type_info *v)
{
    static text graph;
    eng_lm_context_params p, used = {.size = sizeof used};
    eng_lm_context *context;
    eng_lm_stats stats = {.size = sizeof stats};
    uint32_t n_k = 0, n_v = 0;
    eng_lm_context_defaults(&p);
    p.n_cells = CELLS;
    p.n_batch = 8;
    p.type_k = k->type;
    p.type_v = v->type;
    if (!tap_check(eng_lm_context_create(model, &p, &context) == ENG_OK, "K %s, V %s: a context", k->name, v->name))
        return;
    graph.n = 0;
    graph.data[0] = 0;
    bool dumped = eng_lm_context_dump(context, 1, 0, append, &graph) == ENG_OK;
    uint32_t of_k = bound(&graph, "cache_k", k->name, &n_k), of_v = bound(&graph, "cache_v", v->name, &n_v);
    tap_check(dumped && of_k == LAYERS && n_k == LAYERS && of_v == LAYERS && n_v == LAYERS,
              "K %s, V %s: %u of %u caches of K and %u of %u of V have their type", k->name, v->name, of_k, n_k, of_v,
              n_v);
    uint64_t cells = (uint64_t)LAYERS * CELLS * KV_HEADS;
    uint64_t bytes = cells * (eng_row_bytes(k->type, HEAD) + eng_row_bytes(v->type, HEAD));
    tap_check(eng_lm_context_get_stats(context, &stats) == ENG_OK && stats.cache_bytes == bytes,
              "K %s, V %s: %llu bytes", k->name, v->name, (unsigned long long)stats.cache_bytes);
    tap_check(eng_lm_context_get_params(context, &used) == ENG_OK && used.type_k == k->type && used.type_v == v->type &&
              used.rotate_k == (k->block > 1 ? HEAD : 0) && used.rotate_v == (v->block > 1 ? HEAD : 0),
              "K %s, V %s: the context says so", k->name, v->name);
    eng_lm_context_destroy(context);
}

int main(void)
{
    eng_context *engine = tap_begin();
    subject s;
    char path[256];
    if (!engine)
        return EXIT_FAILURE;
    scratch_path("types.gguf", path);
    char options[200];
    snprintf(options, sizeof options, "--seed 3 --arch llama --embd 128 --ffn 128 --heads 4 --kv-heads %d --head %d "
             "--layers %d --vocab 300 --context 256", KV_HEADS, HEAD, LAYERS);
    bool opened = tap_check(subject_make(options, path) == 0 &&
                                subject_open(&s, engine, "cpu", path, NULL, NULL) == ENG_OK,
                            "a model");
    for (size_t i = 0; opened && i < N_TYPES; i++)
        for (size_t j = 0; j < N_TYPES; j++)
            check_pair(s.model, eng_type_get(types[i]), eng_type_get(types[j]));
    if (opened)
        subject_close(&s);
    unlink(path);
    return tap_end(engine);
}
