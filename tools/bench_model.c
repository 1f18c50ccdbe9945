/*
 * A whole model: tokens per second of prefill, of decoding behind contexts of several lengths, and of several sequences
 * at once, on every device.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench.h"
#include "engine/lm.h"
#include "libengine/util/util.h"

#define BATCH 512
#define DECODED 33 /* the first is not counted: it may make a plan */

typedef struct figures {
    int status;
    char why[1024];
    eng_lm_model_info info;
    double open;                   /* seconds                                         */
    double first;                  /* of the first pass of each kind: compilers       */
    double prefill[BENCH_LENGTHS]; /* seconds in all; 0: longer than the model's context */
    double decode[BENCH_LENGTHS];  /* seconds of a token                              */
    double together[BENCH_LENGTHS]; /* seconds of a pass with a token of each sequence */
    uint64_t peak;                 /* bytes of the process, so far; 0: unknown        */
} figures;

typedef struct runner {
    const bench_model_settings *settings;
    eng_lm_context *context;
    uint32_t n_vocab;
    int64_t n_cells;
    uint64_t random;
} runner;

/* n tokens of sequence 0, or one of each of n sequences. */
static int pass_of(runner *r, int64_t n, bool together)
{
    int32_t tokens[BATCH], sequences[BATCH];
    uint8_t logits[BATCH];
    for (int64_t i = 0; i < n; i++) {
        r->random = r->random * 6364136223846793005u + 1442695040888963407u;
        tokens[i] = (int32_t)((r->random >> 33) % r->n_vocab);
        sequences[i] = (int32_t)i;
        logits[i] = 1;
    }
    eng_lm_batch batch = {.size = sizeof batch, .n_tokens = (uint32_t)n, .tokens = tokens};
    if (together) {
        batch.sequences = sequences;
        batch.logits = logits;
    }
    return eng_lm_decode(r->context, &batch);
}

static int pass(runner *r, int64_t n)
{
    return pass_of(r, n, false);
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

/* The median of passes of n tokens, as pass_of has them. */
static int time_passes(runner *r, int64_t n, bool together, double *seconds)
{
    double took[DECODED];
    int status = ENG_OK;
    for (int i = 0; i < DECODED && status == ENG_OK; i++) {
        const double begin = eu_seconds();
        status = pass_of(r, n, together);
        took[i] = eu_seconds() - begin;
    }
    if (status == ENG_OK)
        *seconds = bench_median(took + 1, DECODED - 1);
    return status;
}

static int time_decode(runner *r, int64_t depth, double *seconds)
{
    int status = eng_lm_sequence_remove(r->context, 0);
    if (status == ENG_OK)
        status = feed(r, depth);
    return status == ENG_OK ? time_passes(r, 1, false, seconds) : status;
}

/* n sequences from their beginnings on, of a context that holds none, then or before. */
static int time_together(runner *r, int64_t n, double *seconds)
{
    int status = time_passes(r, n, true, seconds);
    for (int64_t i = 0; i < n && status == ENG_OK; i++)
        status = eng_lm_sequence_remove(r->context, (int32_t)i);
    return status;
}

static int time_one(runner *r, figures *f)
{
    const bench_model_settings *s = r->settings;
    const double begin = eu_seconds();
    int status = feed(r, BATCH < r->n_cells ? BATCH : r->n_cells - 1); /* plans and kernels of both kinds */
    if (status == ENG_OK)
        status = pass(r, 1);
    f->first = eu_seconds() - begin;
    for (uint32_t i = 0; i < s->prefill.n && status == ENG_OK; i++)
        if (s->prefill.at[i] <= r->n_cells)
            status = time_prefill(r, s->prefill.at[i], &f->prefill[i]);
    for (uint32_t i = 0; i < s->behind.n && status == ENG_OK; i++)
        if (s->behind.at[i] + DECODED <= r->n_cells)
            status = time_decode(r, s->behind.at[i], &f->decode[i]);
    return status;
}

static int time_sequences(runner *r, figures *f)
{
    const bench_lengths *n = &r->settings->sequences;
    int status = ENG_OK;
    for (uint32_t i = 0; i < n->n && status == ENG_OK; i++)
        status = time_together(r, n->at[i], &f->together[i]);
    return status;
}

static int64_t largest(const bench_lengths *l, int64_t each, int64_t more, int64_t most)
{
    for (uint32_t i = 0; i < l->n; i++)
        most = l->at[i] * each + more > most ? l->at[i] * each + more : most;
    return most;
}

/* `what` in a context of its own, so that several sequences cost nothing where there is one. */
static int run_in(eng_lm_model *model, runner *r, int64_t cells, int64_t sequences, int (*what)(runner *, figures *),
                  figures *f)
{
    const bench_model_settings *s = r->settings;
    eng_lm_context_params params = {.size = sizeof params};
    eng_lm_context_defaults(&params);
    params.n_cells = (uint32_t)cells;
    params.n_batch = BATCH;
    params.n_sequences = (uint32_t)sequences;
    params.type_k = s->type_k;
    params.type_v = s->type_v;
    params.precision = s->precision;
    r->n_cells = cells;
    int status = eng_lm_context_create(model, &params, &r->context);
    if (status == ENG_OK)
        status = what(r, f);
    if (status != ENG_OK)
        eu_copy(f->why, sizeof f->why, eng_last_error());
    eng_lm_context_destroy(r->context);
    return status;
}

/* Cells for a sequence, as far as the model's context goes. */
static int64_t cells_for(const bench_model_settings *s, int64_t context)
{
    const int64_t n = largest(&s->behind, 1, DECODED, largest(&s->prefill, 1, 0, BATCH + 1));
    return context > 0 && context < n ? context : n;
}

static uint64_t peak_memory(void)
{
    struct rusage used;
    return getrusage(RUSAGE_SELF, &used) == 0 ? (uint64_t)used.ru_maxrss * 1024 : 0;
}

static int run(eng_context *engine, const bench_device *device, const bench_model_settings *settings, figures *f)
{
    eng_lm_model *model = NULL;
    runner r = {.settings = settings, .random = 1};
    const double begin = eu_seconds();
    int status = eng_lm_model_open(engine, device->device, settings->file, NULL, &model);
    f->open = eu_seconds() - begin;
    f->info = (eng_lm_model_info){.size = sizeof f->info};
    if (status == ENG_OK)
        status = eng_lm_model_get_info(model, &f->info);
    if (status != ENG_OK)
        eu_copy(f->why, sizeof f->why, eng_last_error());
    r.n_vocab = f->info.n_vocab;
    if (status == ENG_OK)
        status = run_in(model, &r, cells_for(settings, (int64_t)f->info.context_length), 1, time_one, f);
    if (status == ENG_OK && settings->sequences.n > 0)
        status = run_in(model, &r, largest(&settings->sequences, DECODED, 0, BATCH), largest(&settings->sequences, 1, 0, 1),
                        time_sequences, f);
    f->peak = peak_memory();
    eng_lm_model_close(model);
    f->info.name = f->info.architecture = NULL; /* the model's */
    return f->status = status;
}

/* A length that was not timed, which only the model's context can be the reason of. */
static void print_too_long(const bench_device *device, const char *what, int64_t length, int64_t context)
{
    printf("%-12s %s %5lld not timed: the model's context has %lld tokens\n", device->name, what, (long long)length,
           (long long)context);
}

static void print(const bench_device *device, const bench_model_settings *s, const figures *f)
{
    if (f->status != ENG_OK) {
        printf("%-12s %s\n", device->name, f->why);
        return;
    }
    printf("%-12s opened in %.2f s, first passes of %d and 1 tokens in %.2f s\n", device->name, f->open, BATCH,
           f->first);
    for (uint32_t i = 0; i < s->prefill.n; i++)
        if (f->prefill[i] > 0)
            printf("%-12s prefill %5lld %10.1f tokens/s\n", device->name, (long long)s->prefill.at[i],
                   (double)s->prefill.at[i] / f->prefill[i]);
        else
            print_too_long(device, "prefill", s->prefill.at[i], f->info.context_length);
    for (uint32_t i = 0; i < s->behind.n; i++)
        if (f->decode[i] > 0)
            printf("%-12s decode behind %5lld %10.1f tokens/s, %.1f GB/s of all weights\n", device->name,
                   (long long)s->behind.at[i], 1 / f->decode[i], (double)f->info.weight_bytes / f->decode[i] * 1e-9);
        else
            print_too_long(device, "decode behind", s->behind.at[i], f->info.context_length);
    for (uint32_t i = 0; i < s->sequences.n; i++)
        if (f->together[i] > 0)
            printf("%-12s decode of %5lld %10.1f tokens/s, of all sequences\n", device->name,
                   (long long)s->sequences.at[i], (double)s->sequences.at[i] / f->together[i]);
    if (f->peak)
        printf("%-12s the process took up to %.0f MB so far\n", device->name, (double)f->peak * 1e-6);
}

/* A list of what was timed: `of` it and tokens per second, `each` tokens for its time. */
static void write_list(eu_json *j, const char *name, const char *of, const bench_lengths *lengths, const double *seconds,
                       bool each)
{
    eu_json_list(j, name, false);
    for (uint32_t i = 0; i < lengths->n; i++)
        if (seconds[i] > 0) {
            eu_json_object(j, NULL, false);
            eu_json_int(j, of, lengths->at[i]);
            eu_json_real(j, "tokens_per_second", (each ? (double)lengths->at[i] : 1) / seconds[i], 5);
            eu_json_end(j);
        }
    eu_json_end(j);
}

static void write(eu_json *j, const bench_device *device, const bench_model_settings *s, const figures *f)
{
    eu_json_object(j, NULL, true);
    eu_json_text(j, "device", device->name);
    if (f->status != ENG_OK) {
        eu_json_text(j, "failed", f->why);
    } else {
        eu_json_real(j, "open_s", f->open, 4);
        eu_json_real(j, "first_s", f->first, 4);
        eu_json_uint(j, "weight_bytes", f->info.weight_bytes);
        eu_json_uint(j, "context_length", f->info.context_length);
        eu_json_uint(j, "peak_bytes", f->peak);
        write_list(j, "prefill", "tokens", &s->prefill, f->prefill, true);
        write_list(j, "decode", "behind", &s->behind, f->decode, false);
        write_list(j, "together", "sequences", &s->sequences, f->together, true);
    }
    eu_json_end(j);
}

int bench_model(eng_context *context, const bench_device *devices, uint32_t n, const bench_model_settings *settings,
                bool json)
{
    eu_json j = {.write = eu_json_to_file, .user = stdout};
    int failed = 0;
    if (json) {
        eu_json_object(&j, NULL, true);
        eu_json_text(&j, "schema", BENCH_SCHEMA);
        eu_json_text(&j, "version", eng_version());
        eu_json_text(&j, "model", settings->file);
        eu_json_list(&j, "passes", true);
    }
    for (uint32_t i = 0; i < n; i++) {
        figures f = {0};
        failed += run(context, &devices[i], settings, &f) != ENG_OK;
        if (json)
            write(&j, &devices[i], settings, &f);
        else
            print(&devices[i], settings, &f);
        fflush(stdout);
    }
    if (json) {
        eu_json_end(&j);
        eu_json_end(&j);
    }
    return failed ? 1 : 0;
}
