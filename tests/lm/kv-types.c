/*
 * kv-types - what each pair of K and V types costs, and that a split changes nothing.
 *
 *     kv-types [CHUNKS [UNSPLIT=SPLIT]...]
 *
 * For every pair: the cross entropy of the validation text (CHUNKS chunks of 512
 * tokens, 0: all) on the first unsplit device, with and without rotation, and how
 * far each split lies from its unsplit device.  Prints the table of
 * docs/quantisation.md; fails if a difference exceeds 1e-3 nats per token.
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "subject.h"

#define CHUNK 512
#define MOST 1e-3
#define MAX_COMPARED 8
#define MAX_DEVICES (2 * MAX_COMPARED)

static const uint32_t types[] = {ENG_TYPE_F32,  ENG_TYPE_F16,  ENG_TYPE_BF16, ENG_TYPE_Q8_0,  ENG_TYPE_Q5_1,
                                 ENG_TYPE_Q5_0, ENG_TYPE_Q4_1, ENG_TYPE_Q4_0, ENG_TYPE_IQ4_NL};
#define N_TYPES (sizeof types / sizeof *types)

static const char *const usual[] = {
    "cpu=cpu/2",
#ifdef HAVE_OPENCL
    "cpu=cpu+opencl:0@3:1", "opencl:0=opencl:0/2",
#endif
};

typedef struct measured {
    char name[64];
    eng_device *device;
    eng_lm_model *model;
    double entropy; /* of the pair being measured                             */
} measured;

typedef struct suite {
    eng_context *engine;
    measured subjects[MAX_DEVICES];
    int n_subjects;
    int unsplit[MAX_COMPARED], split[MAX_COMPARED], n_compared;
    int32_t *ids;
    size_t n_ids;
    uint32_t chunks;
    double worst[MAX_COMPARED];
    bool failed;
} suite;

/* The index of an opened device; negative: it cannot be opened. */
static int open_subject(suite *s, const char *name, size_t length)
{
    for (int i = 0; i < s->n_subjects; i++)
        if (strlen(s->subjects[i].name) == length && strncmp(s->subjects[i].name, name, length) == 0)
            return i;
    measured *d = &s->subjects[s->n_subjects];
    snprintf(d->name, sizeof d->name, "%.*s", (int)length, name);
    int status = eng_device_open(s->engine, d->name, &d->device);
    if (!status)
        status = eng_lm_model_open(s->engine, d->device, data_path("tiny-hybrid-f16.gguf"), NULL, &d->model);
    if (status) {
        eng_device_close(d->device);
        d->device = NULL;
        return status;
    }
    return s->n_subjects++;
}

static int compare(suite *s, const char *pair)
{
    const char *equals = strchr(pair, '=');
    if (!equals || s->n_compared == MAX_COMPARED)
        return eng_fail(ENG_ERR_INVALID, "\"%s\": UNSPLIT=SPLIT is needed, at most %d times", pair, MAX_COMPARED);
    int a = open_subject(s, pair, (size_t)(equals - pair));
    int b = a < 0 ? a : open_subject(s, equals + 1, strlen(equals + 1));
    if (b < 0)
        return b;
    s->unsplit[s->n_compared] = a;
    s->split[s->n_compared++] = b;
    return ENG_OK;
}

static int measure(suite *s, measured *d, uint32_t k, uint32_t v, bool rotate, double *entropy, double *bytes)
{
    eng_lm_context_params p;
    eng_lm_context *c;
    eng_lm_context_defaults(&p);
    p.n_cells = CHUNK;
    p.type_k = k;
    p.type_v = v;
    if (!rotate)
        p.rotate_k = p.rotate_v = 0;
    int status = eng_lm_context_create(d->model, &p, &c);
    if (status)
        return status;
    eng_lm_perplexity_result r = {.size = sizeof r};
    eng_lm_stats stats = {.size = sizeof stats};
    status = eng_lm_perplexity(c, s->ids, s->n_ids, CHUNK, s->chunks, NULL, NULL, &r);
    if (!status)
        status = eng_lm_context_get_stats(c, &stats);
    *entropy = r.cross_entropy;
    *bytes = (double)stats.cache_bytes / CHUNK;
    eng_lm_context_destroy(c);
    return status;
}

static int pair(suite *s, uint32_t k, uint32_t v)
{
    double bytes, plain;
    int status = ENG_OK;
    for (int i = 0; i < s->n_subjects && !status; i++)
        status = measure(s, &s->subjects[i], k, v, true, &s->subjects[i].entropy, &bytes);
    if (!status)
        status = measure(s, &s->subjects[0], k, v, false, &plain, &bytes);
    if (status)
        return status;
    printf("| %s | %s | %g | %.5f | %.5f |", eng_type_get(k)->name, eng_type_get(v)->name, bytes,
           s->subjects[0].entropy, plain);
    for (int i = 0; i < s->n_compared; i++) {
        double d = s->subjects[s->split[i]].entropy - s->subjects[s->unsplit[i]].entropy;
        bool wrong = !(fabs(d) < MOST);
        printf(" %+.1f%s |", 1e6 * d, wrong ? " (too much)" : "");
        s->failed |= wrong;
        s->worst[i] = fabs(d) > s->worst[i] ? fabs(d) : s->worst[i];
    }
    printf("\n");
    fflush(stdout);
    return ENG_OK;
}

static int run(suite *s)
{
    int status = ENG_OK;
    printf("| K | V | bytes a token | cross entropy | without rotation |");
    for (int i = 0; i < s->n_compared; i++)
        printf(" %s - %s |", s->subjects[s->split[i]].name, s->subjects[s->unsplit[i]].name);
    printf("\n|---|---|---|---|---|");
    for (int i = 0; i < s->n_compared; i++)
        printf("---|");
    printf("\n");
    for (size_t k = 0; k < N_TYPES && !status; k++)
        for (size_t v = 0; v < N_TYPES && !status; v++)
            status = pair(s, types[k], types[v]);
    if (status)
        return status;
    printf("\nLargest difference:");
    for (int i = 0; i < s->n_compared; i++)
        printf(" %.2e nats (%s)%s", s->worst[i], s->subjects[s->split[i]].name, i + 1 < s->n_compared ? "," : "");
    printf("; %s\n", s->failed ? "FAILED" : "all within 1e-3");
    return ENG_OK;
}

static int start(suite *s, int argc, char **argv)
{
    size_t length;
    s->chunks = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    int status = eng_context_create(NULL, &s->engine);
    for (int i = 2; i < argc && !status; i++)
        status = compare(s, argv[i]);
    for (size_t i = 0; i < sizeof usual / sizeof *usual && argc <= 2 && !status; i++)
        status = compare(s, usual[i]);
    if (status)
        return status;
    char *text = read_file(data_path("valid.txt"), &length);
    if (!text)
        return eng_fail(ENG_ERR_IO, "%s cannot be read", data_path("valid.txt"));
    status = eng_lm_tokenize(s->subjects[0].model, text, length, 0, &s->ids, &s->n_ids);
    free(text);
    return status;
}

int main(int argc, char **argv)
{
    suite *s = calloc(1, sizeof *s);
    if (!s)
        return 1;
    int status = start(s, argc, argv);
    if (!status)
        status = run(s);
    if (status)
        fprintf(stderr, "kv-types: %s\n", eng_last_error());
    int code = status || s->failed;
    eng_lm_free(s->ids);
    for (int i = 0; i < s->n_subjects; i++) {
        eng_lm_model_close(s->subjects[i].model);
        eng_device_close(s->subjects[i].device);
    }
    if (s->engine)
        eng_context_destroy(s->engine);
    free(s);
    return code;
}
