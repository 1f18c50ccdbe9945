/*
 * Random models of every architecture: on one device and split, a prompt and the
 * most likely tokens after it must have the logits of the plain forward in double
 * precision.
 *
 *     test-archs [--slow] [--only TEXT]
 *
 * --slow: all models on OpenCL too.  --only: models whose options have the text.
 */
#include "config.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../reference/model.h"
#include "subject.h"

#define N_PROMPT 13
#define N_STEPS 5
#define N_ROWS (1 + N_STEPS) /* of logits */
#define MOST 2e-5            /* largest error, of the logits' root mean square */
#define MOST_SQUARED 1e-10   /* squares of errors, of the logits' squares */

/* Options of make-model, and whether OpenCL devices run it in a short test too. */
static const struct {
    const char *options;
    bool everywhere;
} models[] = {
    /* rope over neighbours, frequencies of the file; heads of an odd size */
    {"--arch llama --seed 31 --heads 6 --kv-heads 2 --head 10 --embd 60 --freqs --biases", true},
    {"--arch llama --seed 32 --heads 40 --kv-heads 40 --head 6 --embd 96 --tied --fused-qkv --scales", false},
    {"--arch llama --seed 33 --heads 5 --kv-heads 1 --head 48 --type q8_0 --embd 160 --linear 3 --biases --fused-qkv",
     false},
    {"--arch llama --seed 34 --experts 3 --used 1 --ffn 72 --yarn 4 --context 128 --type f16", true},
    /* biases */
    {"--arch qwen2 --seed 35 --heads 7 --kv-heads 1 --head 18 --embd 126 --vocab 509 --ffn 331", true},
    {"--arch qwen2 --seed 36 --heads 12 --kv-heads 4 --head 16 --embd 192 --type q8_0 --fused-qkv --tied", false},
    {"--arch qwen2 --seed 37 --heads 3 --kv-heads 3 --head 40 --type f16 --linear 2 --layers 2", false},
    /* norms of heads */
    {"--arch qwen3 --seed 38 --heads 40 --kv-heads 8 --head 20 --embd 128 --type q8_0 --yarn 8 --context 256", true},
    {"--arch qwen3 --seed 39 --heads 16 --kv-heads 16 --head 8 --embd 100 --ffn 97 --tied --fused-qkv", false},
    {"--arch qwen3 --seed 40 --heads 4 --kv-heads 1 --head 64 --type f16 --scales --biases", false},
    /* experts */
    {"--arch qwen3moe --seed 41 --experts 16 --used 4 --expert-ffn 24 --type f16 --layers 3", true},
    {"--arch qwen3moe --seed 42 --experts 5 --used 2 --expert-ffn 33 --fused-experts --scales --embd 96", false},
    {"--arch qwen3moe --seed 43 --experts 3 --used 3 --expert-ffn 64 --type q8_0 --heads 9 --kv-heads 3 --head 32",
     false},
    {"--arch qwen35moe --seed 44 --experts 8 --used 3 --expert-ffn 40 --shared-ffn 56 --fused-experts --mtp 1", true},
    {"--arch qwen35moe --seed 45 --experts 6 --used 2 --type q8_0 --expert-ffn 64 --shared-ffn 96 --interval 2 --scales",
     false},
    {"--arch qwen35moe --seed 46 --experts 11 --used 1 --type f16 --k-heads 1 --v-heads 3 --kv-heads 1 --heads 5 --tied",
     false},
};
#define N_MODELS (sizeof models / sizeof *models)

/* Devices; whether the experts are dealt out; whether it is one of OpenCL. */
static const struct {
    const char *device;
    bool parallel, opencl;
} splits[] = {
    {"cpu", false, false},
#ifdef HAVE_META
    {"cpu/2", false, false},        {"cpu/3@2:1:0", false, false}, {"cpu/4@1:5:2:2", false, false},
    {"cpu/2", true, false},         {"cpu/4@1:5:2:2", true, false},
#endif
#ifdef HAVE_OPENCL
    {"opencl:0", false, true},
#ifdef HAVE_META
    {"opencl:0/2", false, true},    {"cpu+opencl:0@1:2", true, true},
#endif
#endif
};
#define N_SPLITS (sizeof splits / sizeof *splits)

static int n_tests, n_failed;

__attribute__((format(printf, 2, 3))) static void report(bool good, const char *format, ...)
{
    va_list args;
    printf("%s %d - ", good ? "ok" : "not ok", ++n_tests);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
    n_failed += !good;
}

/* -- what is right -------------------------------------------------------------- */

typedef struct answer {
    int32_t ids[N_PROMPT + N_STEPS];
    int64_t n_vocab;
    double *logits; /* N_ROWS rows: after the prompt and after each step */
    double margin;  /* of the experts' choice */
} answer;

/* The most likely token, and by how much it is ahead, of the logits' root mean square. */
static int32_t best(const double *logits, int64_t n, double *ahead)
{
    double first = -INFINITY, second = -INFINITY, squares = 0;
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        squares += logits[i] * logits[i];
        if (logits[i] > first) {
            second = first;
            first = logits[found = i];
        } else if (logits[i] > second) {
            second = logits[i];
        }
    }
    *ahead = (first - second) / sqrt(squares / (double)n);
    return (int32_t)found;
}

/* false: it has been told why. */
static bool answer_make(answer *a, const char *path, uint32_t seed)
{
    char error[256];
    double ahead;
    ref_model *m = ref_model_open(path, error, sizeof error);
    ref_sequence *s = m ? ref_sequence_create(m) : NULL;
    a->n_vocab = m ? ref_model_vocab(m) : 1;
    a->logits = malloc((size_t)(N_ROWS * a->n_vocab) * sizeof *a->logits);
    bool good = s && a->logits;
    for (int i = 0; i < N_PROMPT + N_STEPS && good; i++) {
        double *row = i + 1 < N_PROMPT ? NULL : a->logits + (i + 1 - N_PROMPT) * a->n_vocab;
        if (i < N_PROMPT)
            a->ids[i] = (int32_t)((seed + (uint32_t)i * 2654435761u) >> 7) & 0xff;
        good = ref_sequence_step(s, a->ids[i], row);
        if (good && row && i + 1 < N_PROMPT + N_STEPS)
            a->ids[i + 1] = best(row, a->n_vocab, &ahead);
    }
    if (!good)
        report(false, "%s: %s", path, m ? "no memory" : error);
    a->margin = s ? ref_sequence_margin(s) : 0;
    ref_sequence_destroy(s);
    ref_model_close(m);
    return good;
}

/* -- what a device says ------------------------------------------------------------- */

typedef struct errors {
    double most, squared; /* relative; see MOST */
    int wrong;            /* tokens that are not the most likely ones, though these are clearly ahead */
} errors;

static void compare(const float *got, const double *want, int64_t n, errors *e)
{
    double most = 0, error = 0, size = 0, ahead;
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = fabs(got[i] - want[i]);
        most = isnan(d) ? INFINITY : fmax(most, d);
        error += d * d;
        size += want[i] * want[i];
        found = got[i] > got[found] ? i : found;
    }
    e->most = fmax(e->most, most / sqrt(size / (double)n));
    e->squared = fmax(e->squared, isnan(error) ? INFINITY : error / size);
    int32_t right = best(want, n, &ahead);
    e->wrong += found != right && ahead > 2 * MOST;
}

static void run(eng_context *engine, size_t model, size_t split, const char *path, const answer *a)
{
    eng_lm_placement placement = {.size = sizeof placement, .experts = splits[split].parallel ? ENG_LM_EXPERTS_PARALLEL
                                                                                             : ENG_LM_EXPERTS_FFN};
    eng_lm_context_params p;
    errors e = {0};
    subject s;
    const char *dealt = splits[split].parallel ? ", experts dealt out" : "";
    eng_lm_context_defaults(&p);
    p.n_cells = 48;
    p.type_k = p.type_v = ENG_TYPE_F32;
    if (subject_open(&s, engine, splits[split].device, path, &placement, &p)) {
        report(false, "%s on %s%s: %s", models[model].options, splits[split].device, dealt, eng_last_error());
        return;
    }
    bool good = s.n_vocab == a->n_vocab;
    for (int i = 0; i < N_ROWS && good; i++) {
        const float *got = i ? subject_run(&s, &a->ids[N_PROMPT + i - 1], 1) : subject_run(&s, a->ids, N_PROMPT);
        good = got != NULL;
        if (got)
            compare(got, a->logits + i * a->n_vocab, a->n_vocab, &e);
    }
    if (!good)
        report(false, "%s on %s%s: %s", models[model].options, splits[split].device, dealt, eng_last_error());
    else
        report(e.most < MOST && e.squared < MOST_SQUARED && !e.wrong,
               "%s on %s%s: error %.1e, squared %.1e, %d wrong tokens (experts ahead by %.1e)", models[model].options,
               splits[split].device, dealt, e.most, e.squared, e.wrong, a->margin);
    subject_close(&s);
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    bool slow = false;
    char path[256];
    eng_context *engine;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--slow") == 0)
            slow = true;
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            only = argv[++i];
        else {
            fprintf(stderr, "usage: test-archs [--slow] [--only TEXT]\n");
            return 64;
        }
    }
    if (eng_context_create(NULL, &engine)) {
        printf("Bail out! %s\n", eng_last_error());
        return 1;
    }
    scratch_path("archs", path);
    for (size_t i = 0; i < N_MODELS; i++) {
        answer a = {0};
        if (only && !strstr(models[i].options, only))
            continue;
        bool experts = strstr(models[i].options, "--experts") != NULL;
        if (subject_make(models[i].options, path))
            report(false, "make-model %s", models[i].options);
        else if (answer_make(&a, path, (uint32_t)i))
            for (size_t k = 0; k < N_SPLITS; k++)
                if ((experts || !splits[k].parallel) && (slow || models[i].everywhere || !splits[k].opencl))
                    run(engine, i, k, path, &a);
        free(a.logits);
    }
    remove(path);
    eng_context_destroy(engine);
    printf("1..%d\n", n_tests);
    return n_failed != 0;
}
