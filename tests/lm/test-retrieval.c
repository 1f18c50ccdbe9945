/*
 * What stands far back in the context must be found however the caches are typed
 * and split: the model of needles.h is asked for tokens all over a long prompt, on
 * one device, with tensors split and with layers split; then a model with one head
 * of K and V, whose caches are split along the cells.
 *
 *     test-retrieval [--tokens N] [DEVICE...]
 *
 * N: of the prompt, 8192 if not given; DEVICE: splits, each tried both ways.
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "needles.h"
#include "subject.h"

#define MOST 1e-3 /* of the root mean square of the logits */

static const struct {
    uint32_t k, v;
} pairs[] = {{ENG_TYPE_Q8_0, ENG_TYPE_Q8_0}, {ENG_TYPE_Q8_0, ENG_TYPE_Q4_0}};
#define N_PAIRS (sizeof pairs / sizeof *pairs)

typedef struct answers {
    int32_t token[N_NEEDLES];
    double margin[N_NEEDLES]; /* of the most likely token to the next */
    float *logits;            /* N_NEEDLES rows */
    uint32_t n_vocab;
} answers;

typedef struct retrieval {
    eng_context *engine;
    char path[256];
    int32_t *ids;
    uint32_t n;
    int n_tests, n_failed;
} retrieval;

static void result(retrieval *r, bool ok, const char *what, const char *device, size_t pair, double worst)
{
    r->n_failed += !ok;
    printf("%s %d - %u tokens, K %s, V %s, %s: %s (%.2g)\n", ok ? "ok" : "not ok", ++r->n_tests, r->n,
           eng_type_get(pairs[pair].k)->name, eng_type_get(pairs[pair].v)->name, device, what, worst);
    fflush(stdout);
}

static double margin(const float *logits, uint32_t n, int32_t best)
{
    float next = -INFINITY;
    for (uint32_t i = 0; i < n; i++)
        if ((int32_t)i != best && logits[i] > next)
            next = logits[i];
    return (double)logits[best] - next;
}

/* Asks all questions; without: a needle that the prompt lacks. */
static bool ask(retrieval *r, const char *device, uint32_t mode, size_t pair, int without, answers *a)
{
    subject s;
    eng_lm_placement placement = {.size = sizeof placement, .split = mode};
    eng_lm_context_params p;
    eng_lm_context_defaults(&p);
    p.n_cells = r->n + N_NEEDLES;
    p.type_k = pairs[pair].k;
    p.type_v = pairs[pair].v;
    needles_prompt(r->ids, r->n, without);
    int status = subject_open(&s, r->engine, device, r->path, &placement, &p);
    if (status) {
        printf("# %s: %s\n", device, eng_last_error());
        return false;
    }
    a->n_vocab = s.n_vocab;
    a->logits = malloc((size_t)N_NEEDLES * s.n_vocab * sizeof *a->logits);
    const float *logits = a->logits ? subject_run(&s, r->ids, r->n) : NULL;
    for (int j = 0; j < N_NEEDLES && logits; j++) {
        int32_t question = FIRST_QUESTION + j;
        logits = subject_run(&s, &question, 1);
        if (!logits)
            break;
        a->token[j] = largest(logits, s.n_vocab);
        a->margin[j] = margin(logits, s.n_vocab, a->token[j]);
        memcpy(a->logits + (size_t)j * s.n_vocab, logits, s.n_vocab * sizeof *logits);
    }
    if (!logits)
        printf("# %s: %s\n", device, eng_last_error());
    subject_close(&s);
    return logits != NULL;
}

/* Every needle is found, and the second best token is far. */
static void check_whole(retrieval *r, size_t pair, answers *whole)
{
    double least = INFINITY;
    bool ok = ask(r, "cpu", ENG_LM_SPLIT_TENSOR, pair, -1, whole);
    for (int j = 0; j < N_NEEDLES && ok; j++) {
        ok = whole->token[j] == FIRST_NEEDLE + j;
        if (!ok)
            printf("# question %d is answered by token %d\n", j, whole->token[j]);
        least = whole->margin[j] < least ? whole->margin[j] : least;
    }
    result(r, ok && least > 1, "every needle is found; least margin of the answers", "cpu", pair, least);
}

static void check_split(retrieval *r, const char *device, uint32_t mode, size_t pair, const answers *whole)
{
    answers a = {.logits = NULL};
    double worst = 0;
    bool ok = ask(r, device, mode, pair, -1, &a) && whole->logits;
    for (int j = 0; j < N_NEEDLES && ok; j++) {
        double off = relative(a.logits + (size_t)j * a.n_vocab, whole->logits + (size_t)j * a.n_vocab, a.n_vocab);
        worst = off > worst ? off : worst;
        ok = a.token[j] == whole->token[j];
        if (!ok)
            printf("# question %d is answered by token %d, not %d\n", j, a.token[j], whole->token[j]);
    }
    free(a.logits);
    result(r, ok && worst < MOST, mode == ENG_LM_SPLIT_LAYER ? "the same answers, layers split; logits off by" :
           "the same answers, tensors split; logits off by", device, pair, worst);
}

/* That needles are found proves something only if the answer is another without them. */
static void check_sensitive(retrieval *r, size_t pair, int without, const answers *whole)
{
    answers a = {.logits = NULL};
    bool ok = ask(r, "cpu", ENG_LM_SPLIT_TENSOR, pair, without, &a) && whole->logits;
    double off = 0;
    if (ok) {
        size_t at = (size_t)without * a.n_vocab;
        off = relative(a.logits + at, whole->logits + at, a.n_vocab);
        ok = a.token[without] != FIRST_NEEDLE + without && off > 10 * MOST;
    }
    free(a.logits);
    result(r, ok, "without its needle a question has another answer; logits off by", "cpu", pair, off);
}

static void try_pair(retrieval *r, size_t pair, int without, const char *const *devices, int n_devices)
{
    answers whole = {.logits = NULL};
    check_whole(r, pair, &whole);
    for (int i = 0; i < n_devices; i++) {
        check_split(r, devices[i], ENG_LM_SPLIT_TENSOR, pair, &whole);
        check_split(r, devices[i], ENG_LM_SPLIT_LAYER, pair, &whole);
    }
    check_sensitive(r, pair, without, &whole);
    free(whole.logits);
}

int main(int argc, char **argv)
{
    retrieval r = {.n = 8192};
    const char *devices[16] = {"cpu/2"};
    int n_devices = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--tokens") == 0 && i + 1 < argc)
            r.n = (uint32_t)strtoul(argv[++i], NULL, 10);
        else if (n_devices < 15)
            devices[n_devices++] = argv[i];
    }
    n_devices += n_devices == 0;
    r.ids = malloc(((size_t)r.n + 1) * sizeof *r.ids);
    scratch_path("needles", r.path);
    if (r.n < 2 * N_NEEDLES || !r.ids || eng_context_create(NULL, &r.engine) || needles_model(r.path, 4, 2)) {
        printf("Bail out! %s\n", eng_last_error());
        return 1;
    }
    for (size_t pair = 0; pair < N_PAIRS; pair++)
        try_pair(&r, pair, pair == 0 ? 0 : N_NEEDLES - 1, devices, n_devices);
    remove(r.path);
    if (needles_model(r.path, 4, 1)) {
        printf("Bail out! %s\n", eng_last_error());
        return 1;
    }
    printf("# one head of K and V\n");
    devices[n_devices++] = "cpu/3";
    try_pair(&r, 1, N_NEEDLES / 2, devices, n_devices);
    printf("1..%d\n", r.n_tests);
    remove(r.path);
    free(r.ids);
    eng_context_destroy(r.engine);
    return r.n_failed != 0;
}
