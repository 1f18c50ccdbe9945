/* A whole model: tokens per second of prefill, and of decoding behind contexts of several lengths, on every device. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "engine/lm.h"
#include "libengine/util/util.h"

#define BATCH 512
#define DECODED 33 /* the first is not counted: it may make a plan */
#define DEPTHS 3
#define PREFILLS 2

static const int64_t depths[DEPTHS] = {0, 4096, 16384}, prefills[PREFILLS] = {512, 2048};

typedef struct figures {
    int status;
    char why[1024];
    eng_lm_model_info info;
    double open;              /* seconds                                         */
    double first;             /* of the first pass of each kind: compilers       */
    double prefill[PREFILLS]; /* seconds in all; 0: longer than the model's context */
    double decode[DEPTHS];    /* seconds of a token                              */
} figures;

typedef struct runner {
    eng_lm_context *context;
    uint32_t n_vocab;
    uint64_t random;
} runner;

static int pass(runner *r, int64_t n)
{
    int32_t tokens[BATCH];
    for (int64_t i = 0; i < n; i++) {
        r->random = r->random * 6364136223846793005u + 1442695040888963407u;
        tokens[i] = (int32_t)((r->random >> 33) % r->n_vocab);
    }
    const eng_lm_batch batch = {.size = sizeof batch, .n_tokens = (uint32_t)n, .tokens = tokens};
    return eng_lm_decode(r->context, &batch);
}

/* n tokens of a prompt, in passes of BATCH. */
static int feed(runner *r, int64_t n)
{
    int status = ENG_OK;
    for (int64_t at = 0; at < n && status == ENG_OK; at += BATCH)
        status = pass(r, n - at < BATCH ? n - at : BATCH);
    return status;
}

static int time_prefill(runner *r, int64_t n, double *seconds)
{
    int status = eng_lm_sequence_remove(r->context, 0);
    const double begin = eu_seconds();
    if (status == ENG_OK)
        status = feed(r, n);
    *seconds = eu_seconds() - begin;
    return status;
}

static int time_decode(runner *r, int64_t depth, double *seconds)
{
    double took[DECODED];
    int status = eng_lm_sequence_remove(r->context, 0);
    if (status == ENG_OK)
        status = feed(r, depth);
    for (int i = 0; i < DECODED && status == ENG_OK; i++) {
        const double begin = eu_seconds();
        status = pass(r, 1);
        took[i] = eu_seconds() - begin;
    }
    if (status == ENG_OK)
        *seconds = bench_median(took + 1, DECODED - 1);
    return status;
}

static int time_all(runner *r, int64_t most, figures *f)
{
    const double begin = eu_seconds();
    int status = feed(r, BATCH < most ? BATCH : most - 1); /* plans and kernels of both kinds */
    if (status == ENG_OK)
        status = pass(r, 1);
    f->first = eu_seconds() - begin;
    for (int i = 0; i < PREFILLS && status == ENG_OK; i++)
        if (prefills[i] <= most)
            status = time_prefill(r, prefills[i], &f->prefill[i]);
    for (int i = 0; i < DEPTHS && status == ENG_OK; i++)
        if (depths[i] + DECODED <= most)
            status = time_decode(r, depths[i], &f->decode[i]);
    return status;
}

static int run(eng_context *engine, const bench_device *device, const char *file, figures *f)
{
    eng_lm_model *model = NULL;
    eng_lm_context_params params = {.size = sizeof params};
    runner r = {.random = 1};
    const double begin = eu_seconds();
    int status = eng_lm_model_open(engine, device->device, file, NULL, &model);
    f->open = eu_seconds() - begin;
    f->info = (eng_lm_model_info){.size = sizeof f->info};
    if (status == ENG_OK)
        status = eng_lm_model_get_info(model, &f->info);
    if (status == ENG_OK) {
        const int64_t most = depths[DEPTHS - 1] + BATCH, context = (int64_t)f->info.context_length;
        eng_lm_context_defaults(&params);
        params.n_cells = (uint32_t)(context > 0 && context < most ? context : most);
        params.n_batch = BATCH;
        r.n_vocab = f->info.n_vocab;
        status = eng_lm_context_create(model, &params, &r.context);
    }
    if (status == ENG_OK)
        status = time_all(&r, params.n_cells, f);
    if (status != ENG_OK)
        eu_copy(f->why, sizeof f->why, eng_last_error());
    eng_lm_context_destroy(r.context);
    eng_lm_model_close(model);
    f->info.name = f->info.architecture = NULL; /* the model's */
    return f->status = status;
}

static void print(const bench_device *device, const figures *f)
{
    if (f->status != ENG_OK) {
        printf("%-12s %s\n", device->name, f->why);
        return;
    }
    printf("%-12s opened in %.2f s, first passes of %d and 1 tokens in %.2f s\n", device->name, f->open, BATCH,
           f->first);
    for (int i = 0; i < PREFILLS; i++)
        if (f->prefill[i] > 0)
            printf("%-12s prefill %5lld %10.1f tokens/s\n", device->name, (long long)prefills[i],
                   (double)prefills[i] / f->prefill[i]);
    for (int i = 0; i < DEPTHS; i++)
        if (f->decode[i] > 0)
            printf("%-12s decode behind %5lld %10.1f tokens/s, %.1f GB/s of all weights\n", device->name,
                   (long long)depths[i], 1 / f->decode[i], (double)f->info.weight_bytes / f->decode[i] * 1e-9);
}

static void write(eu_json *j, const bench_device *device, const figures *f)
{
    eu_json_object(j, NULL, true);
    eu_json_text(j, "device", device->name);
    if (f->status != ENG_OK) {
        eu_json_text(j, "failed", f->why);
    } else {
        eu_json_real(j, "open_s", f->open, 4);
        eu_json_real(j, "first_s", f->first, 4);
        eu_json_uint(j, "weight_bytes", f->info.weight_bytes);
        eu_json_list(j, "prefill", false);
        for (int i = 0; i < PREFILLS; i++)
            if (f->prefill[i] > 0) {
                eu_json_object(j, NULL, false);
                eu_json_int(j, "tokens", prefills[i]);
                eu_json_real(j, "tokens_per_second", (double)prefills[i] / f->prefill[i], 5);
                eu_json_end(j);
            }
        eu_json_end(j);
        eu_json_list(j, "decode", false);
        for (int i = 0; i < DEPTHS; i++)
            if (f->decode[i] > 0) {
                eu_json_object(j, NULL, false);
                eu_json_int(j, "behind", depths[i]);
                eu_json_real(j, "tokens_per_second", 1 / f->decode[i], 5);
                eu_json_end(j);
            }
        eu_json_end(j);
    }
    eu_json_end(j);
}

int bench_model(eng_context *context, const bench_device *devices, uint32_t n, const char *file, bool json)
{
    eu_json j = {.write = eu_json_to_file, .user = stdout};
    int failed = 0;
    if (json) {
        eu_json_object(&j, NULL, true);
        eu_json_text(&j, "schema", BENCH_SCHEMA);
        eu_json_text(&j, "version", eng_version());
        eu_json_text(&j, "model", file);
        eu_json_list(&j, "passes", true);
    }
    for (uint32_t i = 0; i < n; i++) {
        figures f = {0};
        failed += run(context, &devices[i], file, &f) != ENG_OK;
        if (json)
            write(&j, &devices[i], &f);
        else
            print(&devices[i], &f);
        fflush(stdout);
    }
    if (json) {
        eu_json_end(&j);
        eu_json_end(&j);
    }
    return failed ? 1 : 0;
}
