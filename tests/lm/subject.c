/* See subject.h. */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "subject.h"

int subject_open(subject *s, eng_context *engine, const char *device, const char *model,
                 const eng_lm_placement *placement, const eng_lm_context_params *params)
{
    return subject_open_flags(s, engine, device, model, 0, placement, params);
}

int subject_open_flags(subject *s, eng_context *engine, const char *device, const char *model, uint32_t flags,
                       const eng_lm_placement *placement, const eng_lm_context_params *params)
{
    eng_lm_model_params m;
    eng_lm_context_params c;
    eng_lm_model_info info = {.size = sizeof info};

    memset(s, 0, sizeof *s);
    eng_lm_model_defaults(&m);
    eng_lm_context_defaults(&c);
    m.flags |= flags;
    if (params)
        c = *params;
    if (placement)
        m.placement = c.placement = *placement;
    int status = eng_device_open(engine, device, &s->device);
    if (!status)
        status = eng_lm_model_open(engine, s->device, model, &m, &s->model);
    if (!status)
        status = eng_lm_model_get_info(s->model, &info);
    if (!status)
        status = eng_lm_context_create(s->model, &c, &s->context);
    s->n_vocab = info.n_vocab;
    if (status)
        subject_close(s);
    return status;
}

void subject_close(subject *s)
{
    eng_lm_context_destroy(s->context);
    eng_lm_model_close(s->model);
    eng_device_close(s->device);
    memset(s, 0, sizeof *s);
}

const float *subject_run(subject *s, const int32_t *ids, uint32_t n)
{
    eng_lm_batch batch = {.size = sizeof batch, .n_tokens = n, .tokens = ids};
    return eng_lm_decode(s->context, &batch) ? NULL : eng_lm_logits(s->context, n - 1);
}

typedef struct explained {
    char *data;
    size_t n;
    bool failed;
} explained;

static void append(void *ctx, const char *piece)
{
    explained *t = ctx;
    size_t n = strlen(piece);
    char *more = t->failed ? NULL : realloc(t->data, t->n + n + 1);

    t->failed = !more;
    if (!more)
        return;
    memcpy(more + t->n, piece, n + 1);
    t->data = more;
    t->n += n;
}

char *subject_explain(eng_lm_context *context)
{
    explained t = {0};

    if (eng_lm_context_explain(context, ENG_EXPLAIN_JSON, append, &t) == 0 && !t.failed)
        return t.data;
    free(t.data);
    return NULL;
}

int subject_make(const char *options, const char *path)
{
    char command[1024];
    const char *build = getenv("top_builddir");
    snprintf(command, sizeof command, "%s/tests/tools/make-model %s '%s' >/dev/null", build ? build : ".", options,
             path);
    return system(command);
}

const char *data_path(const char *name)
{
    static char path[1024];
    const char *top = getenv("top_srcdir");
    snprintf(path, sizeof path, "%s/tests/data/%s", top ? top : ".", name);
    return path;
}

const char *scratch_path(const char *name, char path[256])
{
    const char *build = getenv("top_builddir");
    snprintf(path, 256, "%s/tests/lm/%s-%ld.gguf", build ? build : ".", name, (long)getpid());
    return path;
}

char *read_file(const char *path, size_t *length)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    char *text = NULL;
    size_t n = 0, got = 1;
    while (got) {
        char *more = realloc(text, n + 65537);
        if (!more)
            break;
        text = more;
        n += got = fread(text + n, 1, 65536, f);
        text[n] = 0;
    }
    fclose(f);
    *length = n;
    return text;
}

int32_t largest(const float *logits, uint32_t n)
{
    int32_t best = 0;
    for (uint32_t i = 1; i < n; i++)
        best = logits[i] > logits[best] ? (int32_t)i : best;
    return best;
}

double difference(const float *a, const float *b, uint32_t n)
{
    double most = 0;
    for (uint32_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - b[i]);
        if (!(d <= most)) /* not a number counts as infinite */
            most = isnan(d) ? INFINITY : d;
    }
    return most;
}

double relative(const float *a, const float *b, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += (double)b[i] * b[i];
    double d = difference(a, b, n) / sqrt(sum / n);
    return isnan(d) ? INFINITY : d;
}
