/*
 * What each device of a composition holds, against its share: weights, caches, states
 * and activations, beside what the design keeps on all of them.
 *
 * The devices are of the null plugin and hold nothing: they count what they would
 * (null.accept=measure), so that a long batch costs no time.
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "subject.h"

#define OFF 0.05       /* of a share                                               */
#define REPLICATED 0.02 /* of the weights: norms                                    */
#define WHOLE 3        /* activations that every device has whole, in rows of the residual stream: the stream, what
                          the norm makes of it, and the addend of the sum that is added to it; and an addend more for
                          each expert that a token uses                            */
#define ALONG_CELLS 2  /* more where caches go along their cells: queries, and what a device's cells give for them   */
#define N_TOKENS 1024
#define CELL_BYTES 8   /* of the inputs: a cell's position and sequence                    */
#define OTHER_INPUTS (N_TOKENS * 64) /* tokens, their positions and the like, and logits   */

typedef struct model {
    const char *name, *options;
    uint32_t embd, used; /* experts                                             */
    uint32_t n_cells;
    const char *const *devices;
    const char *axis;    /* of K and V on several devices                       */
    uint32_t heads;      /* of K and V, if these are whole on some device: not by shares  */
} model;

static const char *const many[] = {"null/2", "null/2@5:3", "null/3@4:3:1", "null/4", "null/4@1:3:0:4", "null/8", NULL};
static const char *const uneven[] = {"null/2@3:1", "null/2@5:3", "null/4@1:3:0:4", NULL};
static const char *const two[] = {"null/2", "null/2@3:1", "null/2@5:3", NULL};

static const model models[] = {
    {"qwen35", "--seed 7 --embd 256 --ffn 1024 --heads 16 --kv-heads 8 --head 64 --k-heads 8 --v-heads 16 --state 32 "
               "--layers 8 --vocab 4096 --context 8192 --type q8_0", 256, 0, 4096, many, "kv_head", 0},
    {"llama", "--seed 8 --arch llama --embd 256 --ffn 1024 --heads 8 --kv-heads 8 --head 32 --layers 4 --vocab 4096 "
              "--context 8192", 256, 0, 4096, many, "kv_head", 0},
    {"qwen3moe", "--seed 9 --arch qwen3moe --embd 256 --expert-ffn 512 --experts 8 --used 2 --heads 16 --kv-heads 8 "
                 "--head 32 --layers 4 --vocab 4096 --context 8192 --type q4_0", 256, 2, 4096, many, "kv_head", 0},
    /* few heads of K and V, and a context for which these are too coarse; and the same model with a short one */
    {"three heads", "--seed 10 --arch llama --embd 192 --ffn 1024 --heads 6 --kv-heads 3 --head 32 --layers 4 --vocab 4096 "
                    "--context 32768", 192, 0, 65536, uneven, "cell", 0},
    {"two heads", "--seed 11 --arch qwen3 --embd 256 --ffn 1024 --heads 8 --kv-heads 2 --head 32 --layers 4 --vocab 4096 "
                  "--context 32768", 256, 0, 32768, uneven, "cell", 0},
    {"one head", "--seed 12 --arch llama --embd 256 --ffn 1024 --heads 8 --kv-heads 1 --head 32 --layers 4 --vocab 4096 "
                 "--context 32768", 256, 0, 2048, uneven, "cell", 0},
    {"two heads, short", "--seed 11 --arch qwen3 --embd 256 --ffn 1024 --heads 8 --kv-heads 2 --head 32 --layers 4 "
                         "--vocab 4096 --context 32768", 256, 0, 1024, two, "kv_head", 2},
};
#define N_MODELS (sizeof models / sizeof *models)

typedef struct held {
    uint32_t n;
    char axis[32]; /* of the first K                                            */
    eng_device_stats rank[ENG_MAX_RANKS];
} held;

static int n_tests, n_failed;

static void result(bool ok, const char *name, const char *device, const char *what)
{
    n_failed += !ok;
    printf("%s %d - %s on %s: %s\n", ok ? "ok" : "not ok", ++n_tests, name, device, what);
    fflush(stdout);
}

/* The axis that K and V are split along; "" if they are not, "?" if not all along the same. */
static void cache_axis(eng_lm_context *context, char *axis, size_t size)
{
    char *json = subject_explain(context);
    *axis = 0;
    if (!json)
        return;
    for (const char *at = json; at && (at = strstr(at, "\"name\": \"cache_")); at++) {
        const char *end = strchr(at, '}'), *is = strstr(at, "\"axis\": \"");
        char one[32] = "";
        if (is && is < end)
            snprintf(one, sizeof one, "%.*s", (int)strcspn(is + 9, "\""), is + 9);
        snprintf(axis, size, "%s", *axis && strcmp(axis, one) ? "?" : one);
    }
    free(json);
}

static bool measure(eng_context *engine, const char *device, const char *path, uint32_t n_cells, held *h)
{
    eng_lm_context_params params;
    static int32_t ids[N_TOKENS];
    subject s;

    eng_lm_context_defaults(&params);
    params.n_cells = n_cells;
    params.n_batch = N_TOKENS;
    params.type_v = ENG_TYPE_Q8_0; /* another than K: both still go the same way */
    if (subject_open(&s, engine, device, path, NULL, &params)) {
        printf("# %s: %s\n", device, eng_last_error());
        return false;
    }
    bool ok = subject_run(&s, ids, N_TOKENS) != NULL;
    if (!ok)
        printf("# %s: %s\n", device, eng_last_error());
    for (h->n = 0; h->n < ENG_MAX_RANKS; h->n++) {
        eng_device_info info = {.size = sizeof info};
        h->rank[h->n] = (eng_device_stats){.size = sizeof h->rank[0]};
        if (eng_device_leaf(s.device, h->n, &info, &h->rank[h->n]))
            break;
    }
    cache_axis(s.context, h->axis, sizeof h->axis);
    subject_close(&s);
    return ok;
}

static bool near(const char *what, uint32_t rank, double got, double share, double of)
{
    if (fabs(got - share * of) <= OFF * share * of)
        return true;
    printf("# device %u of share %.3f holds %.0f bytes of %s, %.3f of %.0f\n", rank, share, got, what, got / of, of);
    return false;
}

static void compare(const model *m, const char *device, const held *h, const eng_device_stats *all)
{
    bool weights = true, caches = true, states = true, activations = true, few = true;
    uint32_t along = strcmp(h->axis, "cell") ? 0 : ALONG_CELLS;
    double whole = (double)(WHOLE + along + m->used) * N_TOKENS * m->embd * sizeof(float);

    for (uint32_t r = 0; r < h->n; r++) {
        const eng_device_stats *s = &h->rank[r];
        double split = (double)(s->bytes_weights - s->bytes_replicated);
        few &= (double)s->bytes_replicated <= REPLICATED * (double)all->bytes_weights;
        weights &= near("weights that are split", r, split, s->share,
                        (double)(all->bytes_weights - h->rank[0].bytes_replicated));
        /* what the host says of cells goes with them */
        caches &= !along || (double)s->bytes_io <= (1 + OFF) * s->share * CELL_BYTES * m->n_cells + OTHER_INPUTS;
        if (m->heads)
            caches &= s->bytes_cache % (all->bytes_cache / m->heads) == 0;
        else
            caches &= near("caches", r, (double)s->bytes_cache, s->share, (double)all->bytes_cache);
        states &= near("states", r, (double)s->bytes_state, s->share, (double)all->bytes_state);
        double most = s->share > 0 ? (1 + OFF) * s->share * (double)all->bytes_compute + whole : 0;
        if (m->heads || (double)s->bytes_compute <= most)
            continue;
        printf("# device %u of share %.3f needs %.0f bytes of scratch, %.0f are possible\n", r, s->share,
               (double)s->bytes_compute, most);
        activations = false;
    }
    result(weights, m->name, device, "weights by share");
    result(few, m->name, device, "little is replicated");
    if (strcmp(h->axis, m->axis))
        printf("# K and V are split along '%s'\n", h->axis);
    result(strcmp(h->axis, m->axis) == 0, m->name, device, m->axis);
    result(caches, m->name, device, m->heads ? "caches by whole heads" : "caches by share");
    result(states, m->name, device, "states by share");
    if (!m->heads)
        result(activations, m->name, device, "activations by share, beside the residual stream");
}

static void check_model(eng_context *engine, const model *m)
{
    char path[256];
    held one, h;

    scratch_path("memory.gguf", path);
    bool ok = subject_make(m->options, path) == 0 && measure(engine, "null@1", path, m->n_cells, &one);
    result(ok && one.n == 1, m->name, "null@1", "runs");
    for (const char *const *d = m->devices; *d && ok; d++) {
        if (measure(engine, *d, path, m->n_cells, &h))
            compare(m, *d, &h, &one.rank[0]);
        else
            result(false, m->name, *d, "runs");
    }
    unlink(path);
}

int main(void)
{
    eng_context *engine;

    if (eng_context_create(NULL, &engine)) {
        printf("Bail out! %s\n", eng_last_error());
        return 1;
    }
    if (eng_context_set_option(engine, "null.accept", "measure")) {
        printf("1..0 # SKIP no plugin null\n");
        eng_context_destroy(engine);
        return 0;
    }
    for (uint32_t i = 0; i < N_MODELS; i++)
        check_model(engine, &models[i]);
    eng_context_destroy(engine);
    printf("1..%d\n", n_tests);
    return n_failed != 0;
}
