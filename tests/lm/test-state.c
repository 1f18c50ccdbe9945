/*
 * Sequences in files: what is loaded goes on as what was saved, with the same bits on the same device, elsewhere within
 * what devices differ by; what is damaged, foreign or too large is refused, and nothing is lost.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tap.h"
#include "subject.h"

#define PROMPT 45
#define STEPS 6   /* one by one, so that there are snapshots */
#define MORE 8    /* tokens behind the saved ones             */
#define SNAPSHOTS 4
#define OTHER_CELLS 1e-5 /* the order of sums differs if other sequences' cells lie between */
#define MODEL "tiny-hybrid-f16.gguf"

/* Whatever keeps something of its tokens besides caches, or caches of another kind. */
static const char *const models[] = {
    SUBJECTS_WITH_STATES,
    "--arch deepseek2 --kv-heads 1 --experts 4 --used 2 --layers 2",
    "--arch glm-dsa --kv-heads 1 --experts 4 --used 2 --layers 2 --index-top 9 --index-period 2",
};

static eng_context *engine;
static char file[256], model[256];
static bool trained; /* the model, which OpenCL devices have programs for */

static eng_lm_context_params params(uint32_t cells, uint32_t sequences, uint32_t snapshots, uint32_t k, uint32_t v)
{
    eng_lm_context_params p;
    eng_lm_context_defaults(&p);
    p.n_cells = cells;
    p.n_sequences = sequences;
    p.n_snapshots = snapshots;
    p.type_k = k;
    p.type_v = v;
    return p;
}

static int32_t token(const subject *s, uint32_t i)
{
    return (int32_t)((i * 131u + 7) % s->n_vocab);
}

/* Tokens first .. first + n - 1 of sequence `q`, in one batch; the last one's logits. */
static const float *feed(const subject *s, uint32_t q, uint32_t first, uint32_t n)
{
    int32_t ids[PROMPT + STEPS + MORE], owners[PROMPT + STEPS + MORE];
    for (uint32_t i = 0; i < n; i++) {
        ids[i] = token(s, first + i);
        owners[i] = (int32_t)q;
    }
    eng_lm_batch b = {.size = sizeof b, .n_tokens = n, .tokens = ids, .sequences = owners};
    return eng_lm_decode(s->context, &b) == ENG_OK ? eng_lm_logits(s->context, n - 1) : NULL;
}

/* Fills sequence 0 and saves it; the logits behind MORE tokens, and behind 3 that replace the last 2 saved. */
static bool save(subject *s, float *more, float *back)
{
    const float *logits = feed(s, 0, 0, PROMPT);
    for (uint32_t i = 0; i < STEPS && logits; i++)
        logits = feed(s, 0, PROMPT + i, 1);
    if (!logits || eng_lm_sequence_save(s->context, 0, file) != ENG_OK)
        return false;
    logits = feed(s, 0, PROMPT + STEPS, MORE);
    if (!logits)
        return false;
    memcpy(more, logits, s->n_vocab * sizeof *more);
    if (eng_lm_sequence_remove(s->context, 0) != ENG_OK || eng_lm_sequence_load(s->context, 0, file) != ENG_OK ||
        eng_lm_sequence_rollback(s->context, 0, 2) != ENG_OK)
        return false;
    logits = feed(s, 0, 500, 3);
    if (logits)
        memcpy(back, logits, s->n_vocab * sizeof *back);
    return logits != NULL;
}

/* The largest difference of what was loaded into sequence q, of both rows of logits; -1: it failed. */
static double go_on(subject *s, uint32_t q, const float *more, const float *back)
{
    const int32_t *tokens;
    if (eng_lm_sequence_load(s->context, q, file) != ENG_OK ||
        eng_lm_sequence_tokens(s->context, q, &tokens) != PROMPT + STEPS)
        return -1;
    for (uint32_t i = 0; i < PROMPT + STEPS; i++)
        if (tokens[i] != token(s, i))
            return -1;
    const float *logits = feed(s, q, PROMPT + STEPS, MORE);
    double off = logits ? relative(logits, more, s->n_vocab) : -1;
    if (off < 0 || eng_lm_sequence_load(s->context, q, file) != ENG_OK ||
        eng_lm_sequence_rollback(s->context, q, 2) != ENG_OK)
        return -1;
    logits = feed(s, q, 500, 3);
    double second = logits ? relative(logits, back, s->n_vocab) : -1;
    return second < 0 ? -1 : second > off ? second : off;
}

static void check_elsewhere(const char *device, const float *more, const float *back, eng_lm_context_params p,
                            double most)
{
    subject s;
    if (subject_open(&s, engine, device, model, NULL, &p) != ENG_OK) {
        tap_check(false, "%s: %s", device, eng_last_error());
        return;
    }
    const int32_t *tokens;
    bool begun = p.n_sequences == 1 || (feed(&s, 0, 300, 20) && eng_lm_sequence_copy(s.context, 0, 1) == ENG_OK);
    double off = go_on(&s, p.n_sequences - 1, more, back);
    tap_check(begun && off >= 0 && off <= most, "%s, %u sequences, %u snapshots: off by %.2g of the logits' size%s%s",
              device, p.n_sequences, p.n_snapshots, off, off < 0 ? ": " : "", off < 0 ? eng_last_error() : "");
    if (p.n_sequences > 1) /* it shared cells with the one that was loaded over */
        tap_check(eng_lm_sequence_tokens(s.context, 0, &tokens) == 20 && tokens[19] == token(&s, 319) &&
                  feed(&s, 0, 320, 1) != NULL, "%s: another sequence stays", device);
    subject_close(&s);
}

/* -- what is refused --------------------------------------------------------------------------- */

static bool write_file(const char *path, const char *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    bool good = f && fwrite(data, 1, n, f) == n;
    return f && fclose(f) == 0 && good;
}

/* Refused with this status, in words that hold `text`; the sequence stays. */
static bool refused(subject *s, const char *path, int status, const char *text)
{
    int64_t before = eng_lm_sequence_length(s->context, 0);
    int got = eng_lm_sequence_load(s->context, 0, path);
    bool good = (status ? got == status : got < 0) && strstr(eng_last_error(), text) &&
                eng_lm_sequence_length(s->context, 0) == before;
    if (!good)
        printf("# status %d: %s\n", got, got ? eng_last_error() : "loaded");
    return good;
}

static void check_damage(subject *s)
{
    size_t n, wrong = 0, tried = 0;
    char path[256], *data = read_file(file, &n);
    scratch_path("damaged.state", path);
    for (size_t at = 0; data && at < n; at += 1 + n / 97) { /* every part of it */
        tried += 2;
        data[at] ^= 0x10;
        wrong += !write_file(path, data, n) || (eng_lm_sequence_load(s->context, 0, path) == ENG_OK);
        data[at] ^= 0x10;
        wrong += !write_file(path, data, at) || !refused(s, path, 0, "");
    }
    /* a name of a key that nobody reads, and the padding between tensors, may differ */
    tap_check(data && wrong <= 2, "of %zu damaged files %zu were loaded", tried, wrong);
    tap_check(eng_lm_sequence_length(s->context, 0) > 0 && feed(s, 0, 0, 1), "the sequence lives on");
    free(data);
    remove(path);
}

static void check_refusals(subject *s, const char *other)
{
    subject t;
    check_damage(s);
    tap_check(eng_lm_sequence_save(s->context, 0, "/nowhere/at/all") == ENG_ERR_IO &&
              strstr(eng_last_error(), "/nowhere"), "a folder that is not there: %s", eng_last_error());
    tap_check(refused(s, model, ENG_ERR_FORMAT, "no saved sequence"), "a model: %s", eng_last_error());
    eng_lm_sequence_remove(s->context, 0);
    tap_check(eng_lm_sequence_save(s->context, 0, file) == ENG_ERR_STATE, "nothing to save: %s", eng_last_error());
    static const struct { uint32_t cells, k, v; int32_t rotate; const char *text; } others[] = {
        {128, ENG_TYPE_Q8_0, ENG_TYPE_F16, 0, "-ctk"},
        {128, ENG_TYPE_F16, ENG_TYPE_F16, ENG_LM_ROTATE_ON, "--rotate-kv"},
        {PROMPT, ENG_TYPE_F16, ENG_TYPE_F16, 0, "cells are free"},
    };
    for (int i = 0; i < 3; i++) {
        eng_lm_context_params p = params(others[i].cells, 1, 1, others[i].k, others[i].v);
        p.rotate_k = others[i].rotate;
        if (subject_open(&t, engine, "cpu", model, NULL, &p) != ENG_OK)
            continue;
        tap_check(refused(&t, file, ENG_ERR_STATE, others[i].text), "refused: %s", eng_last_error());
        subject_close(&t);
    }
    eng_lm_context_params p = params(128, 1, 1, ENG_TYPE_F16, ENG_TYPE_F16);
    if (subject_open(&t, engine, "cpu", other, NULL, &p) == ENG_OK) {
        tap_check(refused(&t, file, ENG_ERR_STATE, "another model"), "refused: %s", eng_last_error());
        subject_close(&t);
    } else {
        tap_check(false, "%s: %s", other, eng_last_error());
    }
}

/* Keys that are turned as in a context for long texts are of no use in one for short ones. */
static void check_lists(void)
{
    static const struct { uint32_t saved, loaded; bool fits; } cases[] = {
        {64, 200, true}, {64, 300, false}, {300, 64, false}, {300, 400, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        subject s;
        eng_lm_context_params p = params(cases[i].saved, 1, 1, ENG_TYPE_F16, ENG_TYPE_F16);
        bool good = subject_open(&s, engine, "cpu", model, NULL, &p) == ENG_OK && feed(&s, 0, 0, PROMPT) &&
                    eng_lm_sequence_save(s.context, 0, file) == ENG_OK;
        subject_close(&s);
        p.n_cells = cases[i].loaded;
        good = good && subject_open(&s, engine, "cpu", model, NULL, &p) == ENG_OK;
        int status = good ? eng_lm_sequence_load(s.context, 0, file) : ENG_OK;
        tap_check(good && status == (cases[i].fits ? ENG_OK : ENG_ERR_STATE), "from %u cells to %u%s%s",
                  cases[i].saved, cases[i].loaded, status ? ": " : "", status ? eng_last_error() : "");
        subject_close(&s);
    }
}

static void check(uint32_t k, uint32_t v, double most)
{
    subject s;
    eng_lm_context_params p = params(256, 2, SNAPSHOTS, k, v);
    if (subject_open(&s, engine, "cpu", model, NULL, &p) != ENG_OK) {
        tap_check(false, "cpu: %s", eng_last_error());
        return;
    }
    float *more = calloc(2 * (size_t)s.n_vocab, sizeof *more), *back = more + s.n_vocab;
    if (tap_check(save(&s, more, back), "%s/%s saved", eng_type_name(k), eng_type_name(v))) {
        double off = go_on(&s, 1, more, back);
        tap_check(off >= 0 && off < OTHER_CELLS, "the same context: goes on, off by %.2g", off);
        check_elsewhere("cpu", more, back, params(100, 1, 8, k, v), 0);
        check_elsewhere("cpu", more, back, params(200, 2, 3, k, v), OTHER_CELLS);
#ifdef HAVE_META
        check_elsewhere("cpu/2", more, back, params(300, 2, 5, k, v), most);
        check_elsewhere("cpu/3@5:2:1", more, back, params(64, 1, 4, k, v), most);
#endif
#ifdef HAVE_OPENCL
        if (trained)
            check_elsewhere("opencl:0", more, back, params(128, 2, 4, k, v), most);
#ifdef HAVE_META
        if (trained)
            check_elsewhere("opencl:0/2", more, back, params(128, 1, 4, k, v), most);
#endif
#endif
        if (k == ENG_TYPE_F16 && v == ENG_TYPE_F16) {
            char other[256];
            scratch_path("other.gguf", other);
            if (subject_make("--arch qwen35 --layers 2 --vocab 300", other) == 0)
                check_refusals(&s, other);
            else
                tap_check(false, "make-model");
            remove(other);
        }
    }
    free(more);
    subject_close(&s);
}

int main(void)
{
    engine = tap_begin();
    scratch_path("saved.state", file);
    snprintf(model, sizeof model, "%s", data_path(MODEL));
    trained = true;
    if (engine) {
        check(ENG_TYPE_F16, ENG_TYPE_F16, 0.002);
        check(ENG_TYPE_Q8_0, ENG_TYPE_Q4_0, 0.02);
    }
    scratch_path("random.gguf", model);
    trained = false;
    for (size_t i = 0; engine && i < sizeof models / sizeof *models; i++) {
        printf("# %s\n", models[i]);
        if (tap_check(subject_make(models[i], model) == 0, "make-model %s", models[i]))
            check(ENG_TYPE_F32, ENG_TYPE_F32, 1e-4);
    }
    if (engine && tap_check(subject_make("--arch phi3 --layers 1 --long-factors --int "
                                         "rope.scaling.original_context_length=256", model) == 0, "make-model"))
        check_lists();
    remove(model);
    remove(file);
    return tap_end(engine);
}
