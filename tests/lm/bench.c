/* See bench.h. */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

const char *const bench_devices[] = {
    "cpu",
#ifdef HAVE_META
    "cpu/3",
#endif
#ifdef HAVE_OPENCL
    "opencl:0",
#ifdef HAVE_META
    "opencl:0/2", "cpu+opencl:0@3:1",
#endif
#endif
};
const int bench_n_devices = sizeof bench_devices / sizeof *bench_devices;

/* -- the reference ----------------------------------------------------------------- */

static int read_ids(const char *at, int32_t *ids, int most)
{
    int n = 0;
    char *end;
    for (; n < most; at = end) {
        long v = strtol(at, &end, 10);
        if (end == at)
            break;
        ids[n++] = (int32_t)v;
    }
    return n;
}

static void read_top(const char *at, reference_prompt *p)
{
    for (int i = 0; i < 5; i++) {
        int used = 0;
        if (sscanf(at, " %d:%lf%n", &p->top[i], &p->logits[i], &used) != 2)
            return;
        at += used;
    }
}

/* The lines of a file's section, one call of `line` each. */
static void section(const char *file, void (*line)(void *ctx, const char *word, const char *rest), void *ctx)
{
    size_t n;
    char *text = read_file(data_path("reference.txt"), &n), *save = NULL;
    bool inside = false;
    ck_assert_msg(text != NULL, "%s cannot be read", data_path("reference.txt"));
    for (char *at = strtok_r(text, "\n", &save); at; at = strtok_r(NULL, "\n", &save)) {
        char *rest = strchr(at, ' ');
        if (!rest || *at == '#')
            continue;
        *rest++ = 0;
        if (strcmp(at, "file") == 0)
            inside = strcmp(rest, file) == 0;
        else if (inside)
            line(ctx, at, rest);
    }
    free(text);
}

typedef struct prompts {
    reference_prompt *p;
    int n;
} prompts;

static void prompt_line(void *ctx, const char *word, const char *rest)
{
    prompts *all = ctx;
    if (strcmp(word, "prompt") == 0) {
        ck_assert_int_lt(all->n, MAX_PROMPTS);
        reference_prompt *p = &all->p[all->n++];
        memset(p, 0, sizeof *p);
        snprintf(p->text, sizeof p->text, "%s", rest);
        return;
    }
    if (all->n == 0)
        return;
    reference_prompt *p = &all->p[all->n - 1];
    if (strcmp(word, "ids") == 0)
        p->n_ids = read_ids(rest, p->ids, 64);
    else if (strcmp(word, "greedy") == 0)
        ck_assert_int_eq(read_ids(rest, p->greedy, N_GREEDY), N_GREEDY);
    else if (strcmp(word, "drafts") == 0)
        ck_assert_int_eq(read_ids(rest, p->drafts, N_GREEDY), N_GREEDY);
    else if (strcmp(word, "top5") == 0)
        read_top(rest, p);
}

int reference_read(const char *file, reference_prompt all[MAX_PROMPTS])
{
    prompts p = {all, 0};
    section(file, prompt_line, &p);
    return p.n;
}

typedef struct wanted {
    const char *name;
    double value;
} wanted;

static void number_line(void *ctx, const char *word, const char *rest)
{
    wanted *w = ctx;
    size_t n = strlen(w->name);
    if (strcmp(word, "number") == 0 && strncmp(rest, w->name, n) == 0 && rest[n] == ' ')
        w->value = atof(rest + n);
}

double reference_number(const char *file, const char *name)
{
    wanted w = {name, NAN};
    section(file, number_line, &w);
    return w.value;
}

/* -- a model on a device --------------------------------------------------------------- */

#define OK(call) ck_assert_msg((call) == ENG_OK, "%s: %s", #call, eng_last_error())

void bench_open(bench *b, const char *device, const char *model, const eng_lm_context_params *params)
{
    memset(b, 0, sizeof *b);
    OK(eng_context_create(NULL, &b->engine));
    OK(eng_device_open(b->engine, device, &b->device));
    OK(eng_lm_model_open(b->engine, b->device, model, NULL, &b->model));
    bench_context(b, params);
}

void bench_context(bench *b, const eng_lm_context_params *params)
{
    eng_lm_context_destroy(b->context);
    b->context = NULL;
    OK(eng_lm_context_create(b->model, params, &b->context));
}

void bench_close(bench *b)
{
    eng_lm_context_destroy(b->context);
    eng_lm_model_close(b->model);
    eng_device_close(b->device);
    OK(eng_context_destroy(b->engine));
}

const float *bench_run(bench *b, const int32_t *ids, uint32_t n)
{
    eng_lm_batch batch = {.size = sizeof batch, .n_tokens = n, .tokens = ids};
    OK(eng_lm_decode(b->context, &batch));
    const float *logits = eng_lm_logits(b->context, n - 1);
    ck_assert_ptr_nonnull(logits);
    return logits;
}

void bench_greedy(bench *b, const int32_t *ids, uint32_t n_ids, int32_t *out, uint32_t n)
{
    eng_lm_model_info info = {.size = sizeof info};
    OK(eng_lm_model_get_info(b->model, &info));
    OK(eng_lm_sequence_remove(b->context, 0));
    const float *logits = bench_run(b, ids, n_ids);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = largest(logits, info.n_vocab);
        if (i + 1 < n)
            logits = bench_run(b, &out[i], 1);
    }
}
