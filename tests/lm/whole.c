/* See whole.h. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "whole.h"

static eng_lm_context_params context_params(const whole *w)
{
    eng_lm_context_params p;
    eng_lm_context_defaults(&p);
    p.n_cells = w->n_cells;
    p.n_batch = 16;
    p.n_sequences = 2;
    p.n_snapshots = N_BACK + 1;
    p.type_k = w->type_k;
    p.type_v = w->type_v;
    return p;
}

/* One row of logits: kept if there is none to compare with.  false: it is wrong. */
static bool row(const whole *w, float *keep, int at, const float *logits, const char *what)
{
    if (!logits) {
        printf("# %s: %s\n", what, eng_last_error());
        return false;
    }
    if (keep) {
        memcpy(keep + (size_t)at * w->n_vocab, logits, w->n_vocab * sizeof *logits);
        return true;
    }
    double off = relative(logits, w->logits + (size_t)at * w->n_vocab, w->n_vocab);
    if (off < w->most)
        return true;
    printf("# %s: off by %g of the logits' size\n", what, off);
    return false;
}

/* The prompt, the steps, and the last steps again after they were taken back. */
static bool run(const whole *w, subject *s, int32_t *ids, float *keep)
{
    char what[40];
    const float *logits = subject_run(s, ids, N_PROMPT);
    if (!row(w, keep, 0, logits, "prompt"))
        return false;
    for (int i = 0; i < N_STEPS; i++) {
        if (keep)
            ids[N_PROMPT + i] = largest(logits, w->n_vocab);
        snprintf(what, sizeof what, "step %d", i);
        logits = subject_run(s, ids + N_PROMPT + i, 1);
        if (!row(w, keep, 1 + i, logits, what))
            return false;
    }
    if (eng_lm_sequence_rollback(s->context, 0, N_BACK)) {
        printf("# rollback: %s\n", eng_last_error());
        return false;
    }
    for (int i = 0; i < N_BACK; i++) {
        snprintf(what, sizeof what, "step %d after the rollback", i);
        if (!row(w, keep, 1 + N_STEPS + i, subject_run(s, ids + N_PROMPT + N_STEPS + i, 1), what))
            return false;
    }
    if (eng_lm_sequence_copy(s->context, 0, 1)) {
        printf("# copy: %s\n", eng_last_error());
        return false;
    }
    int32_t one = 1;
    eng_lm_batch batch = {.size = sizeof batch, .n_tokens = 1, .tokens = ids, .sequences = &one};
    const float *copied = eng_lm_decode(s->context, &batch) ? NULL : eng_lm_logits(s->context, 0);
    return row(w, keep, N_ROWS - 1, copied, "a token of the copy");
}

bool whole_begin(whole *w, eng_context *engine)
{
    subject s;
    eng_lm_context_params p = context_params(w);
    if (w->options)
        scratch_path(w->name, w->path);
    else
        snprintf(w->path, sizeof w->path, "%s", data_path("tiny-hybrid-f16.gguf"));
    if (w->options && subject_make(w->options, w->path)) {
        printf("# make-model %s failed\n", w->options);
        return false;
    }
    if (subject_open(&s, engine, "cpu", w->path, NULL, &p)) {
        printf("# %s on cpu: %s\n", w->name, eng_last_error());
        return false;
    }
    w->n_vocab = s.n_vocab;
    for (int i = 0; i < N_PROMPT + N_STEPS + N_BACK; i++)
        w->ids[i] = (int32_t)(((uint32_t)i * 2654435761u >> 7) % w->n_vocab);
    w->logits = malloc((size_t)N_ROWS * w->n_vocab * sizeof *w->logits);
    bool ok = w->logits && run(w, &s, w->ids, w->logits);
    subject_close(&s);
    return ok;
}

void whole_end(whole *w)
{
    if (w->options)
        remove(w->path);
    free(w->logits);
    w->logits = NULL;
}

int whole_open(const whole *w, eng_context *engine, const char *device, const eng_lm_placement *placement, subject *s)
{
    eng_lm_context_params p = context_params(w);
    return subject_open(s, engine, device, w->path, placement, &p);
}

bool whole_agrees(const whole *w, subject *s)
{
    int32_t ids[N_PROMPT + N_STEPS + N_BACK];
    memcpy(ids, w->ids, sizeof ids);
    return run(w, s, ids, NULL);
}

bool whole_compare(const whole *w, eng_context *engine, const char *device, const eng_lm_placement *placement)
{
    subject s;
    if (whole_open(w, engine, device, placement, &s)) {
        printf("# %s\n", eng_last_error());
        return false;
    }
    bool ok = whole_agrees(w, &s);
    subject_close(&s);
    return ok;
}
