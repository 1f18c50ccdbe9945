/*
 * Whole contexts in files: sequences that share beginnings, one that lacks tokens, an empty one come back on the same
 * and on other devices, sharing as before, and go on as the saved ones do; damaged files, and files whose tables
 * contradict one another under a checksum that is right, are refused, and nothing is lost.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "engine/gguf.h"
#include "libengine/util/util.h"
#include "subject.h"

#define SEQUENCES 6
#define SNAPSHOTS 4
#define MORE 3
#define MODEL "tiny-hybrid-f16.gguf"

/* States of all kinds. */
static const char *const models[] = {
    SUBJECTS_WITH_STATES,
};

static eng_context *engine;
static char file[256], model[256];
static uint32_t type_v;
static bool gapless; /* of this model no tokens can be dropped */

static eng_lm_context_params params(uint32_t cells, uint32_t sequences, uint32_t snapshots)
{
    eng_lm_context_params p;
    eng_lm_context_defaults(&p);
    p.n_cells = cells;
    p.n_sequences = sequences;
    p.n_snapshots = snapshots;
    p.type_k = type_v == ENG_TYPE_F32 ? ENG_TYPE_F32 : p.type_k;
    p.type_v = type_v;
    return p;
}

/* n tokens of sequence `q`, in one batch, which `seed` decides; the last one's logits. */
static const float *feed(const subject *s, uint32_t q, uint32_t seed, uint32_t n)
{
    int32_t ids[64], owners[64];
    for (uint32_t i = 0; i < n; i++) {
        ids[i] = (int32_t)(((seed + i) * 131u + 7) % s->n_vocab);
        owners[i] = (int32_t)q;
    }
    eng_lm_batch b = {.size = sizeof b, .n_tokens = n, .tokens = ids, .sequences = owners};
    return eng_lm_decode(s->context, &b) == ENG_OK ? eng_lm_logits(s->context, n - 1) : NULL;
}

static bool cut(eng_lm_context *c)
{
    int status = eng_lm_sequence_drop(c, 5, 44, 3);
    gapless = status == ENG_ERR_UNSUPPORTED;
    return gapless ? strstr(eng_last_error(), "pools") != NULL : status == ENG_OK;
}

/* 0; 1 and 5 go on from it, 2 from 1; 3 by itself; 4 empty; 5 lacks tokens of its own part. */
static bool arrange(subject *s)
{
    eng_lm_context *c = s->context;
    bool good = feed(s, 0, 0, 40) && feed(s, 0, 40, 1) && feed(s, 0, 41, 1) && eng_lm_sequence_copy(c, 0, 1) == ENG_OK;
    for (uint32_t i = 0; i < 5 && good; i++)
        good = feed(s, 1, 100 + i, 1) != NULL;
    return good && eng_lm_sequence_copy(c, 1, 2) == ENG_OK && eng_lm_sequence_rollback(c, 2, 2) == ENG_OK &&
           feed(s, 2, 200, 3) && feed(s, 3, 300, 20) && eng_lm_sequence_copy(c, 0, 5) == ENG_OK &&
           eng_lm_sequence_rollback(c, 5, 1) == ENG_OK && feed(s, 5, 500, 10) && cut(c);
}

/* Each sequence some tokens further. */
static bool go_on(const subject *s, float *logits)
{
    for (uint32_t q = 0; q < SEQUENCES; q++) {
        const float *own = feed(s, q, 600 + q, MORE);
        if (!own)
            return false;
        memcpy(logits + q * s->n_vocab, own, s->n_vocab * sizeof *own);
    }
    return true;
}

static uint32_t cells_used(const subject *s)
{
    eng_lm_stats stats = {.size = sizeof stats};
    return eng_lm_context_get_stats(s->context, &stats) == ENG_OK ? stats.n_cells_used : UINT32_MAX;
}

typedef struct saved {
    int32_t tokens[SEQUENCES][64];
    int64_t n[SEQUENCES], back[SEQUENCES];
    uint32_t cells;
    float *logits, *after; /* [SEQUENCES][n_vocab]: further on; after a token was taken back */
} saved;

static void note(const subject *s, saved *w)
{
    const int32_t *tokens;
    for (uint32_t q = 0; q < SEQUENCES; q++) {
        w->n[q] = eng_lm_sequence_tokens(s->context, q, &tokens);
        w->back[q] = eng_lm_sequence_rollback_limit(s->context, q);
        if (w->n[q] > 0) /* of none there is no place either */
            memcpy(w->tokens[q], tokens, (size_t)w->n[q] * sizeof *tokens);
    }
    w->cells = cells_used(s);
}

static bool same_tokens(const subject *s, const saved *w)
{
    const int32_t *tokens;
    for (uint32_t q = 0; q < SEQUENCES; q++)
        if (eng_lm_sequence_tokens(s->context, q, &tokens) != w->n[q] ||
            memcmp(tokens, w->tokens[q], (size_t)w->n[q] * sizeof *tokens) != 0)
            return false;
    return true;
}

static double worst(const subject *s, const float *got, const float *want)
{
    double most = 0;
    for (uint32_t q = 0; q < SEQUENCES; q++) {
        double off = relative(got + q * s->n_vocab, want + q * s->n_vocab, s->n_vocab);
        most = off > most ? off : most;
    }
    return most;
}

/* Other texts: a beginning that two share, and of each sequence states that lie apart, so that those that are loaded do, too. */
static bool fill(const subject *s)
{
    bool good = feed(s, 4, 900, 11) && eng_lm_sequence_copy(s->context, 4, 0) == ENG_OK;
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t q = 0; q < SEQUENCES && good; q++)
            good = feed(s, q, 950 + 7 * q + i, 1) != NULL;
    return good;
}

/* Loaded into a context with other texts in it. */
static void check_device(const char *device, uint32_t cells, uint32_t sequences, uint32_t snapshots, const saved *w,
                         double most)
{
    subject s;
    eng_lm_context_params p = params(cells, sequences, snapshots);
    if (subject_open(&s, engine, device, model, NULL, &p) != ENG_OK) {
        tap_check(false, "%s: %s", device, eng_last_error());
        return;
    }
    float *logits = calloc(SEQUENCES * (size_t)s.n_vocab, sizeof *logits);
    bool good = fill(&s) && eng_lm_context_load(s.context, file) == ENG_OK;
    tap_check(good && same_tokens(&s, w) && cells_used(&s) == w->cells,
              "%s, %u sequences, %u snapshots: loaded, %u cells%s%s", device, sequences, snapshots, cells_used(&s),
              good ? "" : ": ", good ? "" : eng_last_error());
    for (uint32_t q = 0; q < SEQUENCES; q++) {
        int64_t want = w->back[q] < snapshots - 1 ? w->back[q] : snapshots - 1,
                got = eng_lm_sequence_rollback_limit(s.context, q);
        good = good && (got == want || (snapshots < SNAPSHOTS && got <= want));
    }
    tap_check(good, "%s: as much can be taken back", device);
    tap_check(good && eng_lm_sequence_drop(s.context, 1, 10, 2) == (gapless ? ENG_ERR_UNSUPPORTED : ENG_ERR_STATE), "%s: beginnings are shared", device);
    good = good && go_on(&s, logits);
    double off = good ? worst(&s, logits, w->logits) : INFINITY;
    tap_check(off <= most, "%s: all go on, off by %.2g of the logits' size", device, off);
    good = good && eng_lm_context_load(s.context, file) == ENG_OK;
    for (uint32_t q = 0; q < SEQUENCES && good; q++)
        good = w->n[q] == 0 || snapshots == 1 || w->back[q] == 0 || eng_lm_sequence_rollback(s.context, q, 1) == ENG_OK;
    good = good && go_on(&s, logits);
    off = good && snapshots > 1 ? worst(&s, logits, w->after) : good ? 0 : INFINITY;
    tap_check(off <= most, "%s: loaded again and taken back, off by %.2g", device, off);
    free(logits);
    subject_close(&s);
}

/* -- what is refused ------------------------------------------------------------------------------------- */

static bool write_file(const char *path, const char *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    bool good = f && fwrite(data, 1, n, f) == n;
    return f && fclose(f) == 0 && good;
}

static uint64_t hash(uint64_t before, const void *data, uint64_t bytes)
{
    return eu_siphash((const uint64_t[2]){before, UINT64_C(0x656e67696e657374)}, data, (size_t)bytes);
}

/* Changes an integer of a table, or some, and makes the checksum right. */
static bool change(const char *path, uint64_t *seed)
{
    static const char *const tables[] = {"lengths", "cells", "positions", "history_lengths", "histories"};
    eng_gguf *f;
    size_t n;
    char *data = read_file(file, &n);
    if (!data || eng_gguf_open(file, &f) != ENG_OK)
        return false;
    eng_gguf_string which;
    int64_t rotations[2];
    const eng_gguf_tensor *first = eng_gguf_tensor_get(f, 0), *sum = eng_gguf_tensor_find(f, "checksum");
    size_t begin = 0; /* of the data in the file */
    while (begin + first->bytes <= n && memcmp(data + begin, first->data, first->bytes) != 0)
        begin++;
    eng_gguf_text(f, "engine.state.model", 0, &which);
    eng_gguf_integer(f, "engine.state.rotate_k", 0, &rotations[0]);
    eng_gguf_integer(f, "engine.state.rotate_v", 0, &rotations[1]);
#define PLACE(t) (data + begin + ((const char *)(t)->data - (const char *)first->data))
    for (unsigned k = 0; k <= (*seed >> 60) % 3; k++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        const eng_gguf_tensor *t = eng_gguf_tensor_find(f, tables[(*seed >> 40) % 5]);
        int32_t *at = (int32_t *)(void *)PLACE(t) + (*seed >> 33) % (uint64_t)t->ne[0];
        static const int32_t values[] = {-1, 0, 1, 2, 5, 41, 42, 1000, INT32_MAX, INT32_MIN};
        *at = *seed >> 20 & 1 ? *at + (*seed >> 21 & 1 ? 1 : -1) : values[(*seed >> 22) % 10];
    }
    char name[17] = "";
    memcpy(name, which.data, 16);
    uint64_t h = hash(hash(0, name, 17), (const int32_t[]){(int32_t)rotations[0], (int32_t)rotations[1]}, 8);
    for (uint32_t i = 0; i + 1 < eng_gguf_tensor_count(f); i++) {
        const eng_gguf_tensor *t = eng_gguf_tensor_get(f, i);
        h = hash(h, PLACE(t), t->bytes);
    }
    memcpy(PLACE(sum), &h, sizeof h);
    bool good = begin + first->bytes <= n && write_file(path, data, n);
    eng_gguf_close(f);
    free(data);
    return good;
}

static void check_contradictions(subject *s, const saved *w, const char *path)
{
    unsigned refused = 0, loaded = 0, wrong = 0;
    uint64_t seed = 20261123;
    for (int i = 0; i < 600 && !wrong; i++) {
        if (!change(path, &seed)) {
            wrong++;
            break;
        }
        if (eng_lm_context_load(s->context, path) != ENG_OK) {
            refused++;
            wrong += !same_tokens(s, w) || cells_used(s) != w->cells;
            continue;
        }
        loaded++; /* what it says is another context, but one that can be */
        for (uint32_t q = 0; q < SEQUENCES; q++)
            wrong += !feed(s, q, 700, 2) || eng_lm_sequence_remove(s->context, q) != ENG_OK;
        wrong += cells_used(s) != 0 || eng_lm_context_load(s->context, file) != ENG_OK;
    }
    tap_check(!wrong && refused > 100, "of 600 files that contradict themselves %u were refused, %u could be: %s",
              refused, loaded, wrong ? eng_last_error() : "nothing is lost");
}

static void check_damage(subject *s, const saved *w, const char *path)
{
    size_t n, wrong = 0, tried = 0;
    char *data = read_file(file, &n);
    for (size_t at = 0; data && at < n; at += 1 + n / 97) {
        tried += 2;
        data[at] ^= 0x10;
        wrong += !write_file(path, data, n) || eng_lm_context_load(s->context, path) == ENG_OK;
        data[at] ^= 0x10;
        wrong += !write_file(path, data, at) || eng_lm_context_load(s->context, path) == ENG_OK;
    }
    /* a name of a key that nobody reads, and the padding between tensors, may differ */
    tap_check(data && wrong <= 2 && same_tokens(s, w), "of %zu damaged files %zu were loaded", tried, wrong);
    free(data);
}

static void refused(int status, const char *says, int got)
{
    tap_check(got == status && strstr(eng_last_error(), says), "refused: %s", got ? eng_last_error() : "it was not");
}

static void check_refusals(subject *s, const saved *w)
{
    char path[256];
    subject t;
    scratch_path("other.state", path);
    check_damage(s, w, path);
    check_contradictions(s, w, path);
    refused(ENG_ERR_STATE, "eng_lm_context_load", eng_lm_sequence_load(s->context, 0, file));
    if (eng_lm_sequence_save(s->context, 0, path) == ENG_OK)
        refused(ENG_ERR_STATE, "eng_lm_sequence_load", eng_lm_context_load(s->context, path));
    static const struct {
        uint32_t cells, sequences;
        const char *says;
    } small[] = {{64, 6, "-c"}, {200, 5, "more sequences"}};
    for (int i = 0; i < 2; i++) {
        eng_lm_context_params p = params(small[i].cells, small[i].sequences, SNAPSHOTS);
        if (subject_open(&t, engine, "cpu", model, NULL, &p) != ENG_OK || !feed(&t, 1, 3, 2))
            continue;
        refused(ENG_ERR_STATE, small[i].says, eng_lm_context_load(t.context, file));
        tap_check(eng_lm_sequence_length(t.context, 1) == 2, "what it held stays");
        subject_close(&t);
    }
    for (uint32_t q = 0; q < SEQUENCES; q++)
        eng_lm_sequence_remove(s->context, q);
    refused(ENG_ERR_STATE, "no tokens", eng_lm_context_save(s->context, path));
    remove(path);
}

/* What was saved of six sequences, elsewhere; OpenCL devices have programs for the trained model. */
static void check_elsewhere(const saved *w, bool trained, double most)
{
    check_device("cpu", 200, 6, SNAPSHOTS, w, 1e-5);
    check_device("cpu", 100, 9, 8, w, 1e-5);
    check_device("cpu", 128, 6, 1, w, 1e-5);
#ifdef HAVE_META
    check_device("cpu/3@5:2:1", 300, 7, 5, w, most);
#endif
#ifdef HAVE_OPENCL
    if (trained)
        check_device("opencl:0", 128, 6, 2, w, most);
#ifdef HAVE_META
    if (trained)
        check_device("cpu+opencl:0@3:1", 128, 6, 4, w, most);
#endif
#endif
}

static void check(bool trained, double most)
{
    subject s;
    saved w = {.n = {0}};
    eng_lm_context_params p = params(200, SEQUENCES, SNAPSHOTS);
    if (subject_open(&s, engine, "cpu", model, NULL, &p) != ENG_OK) {
        tap_check(false, "cpu: %s", eng_last_error());
        return;
    }
    w.logits = calloc(2 * SEQUENCES * (size_t)s.n_vocab, sizeof *w.logits);
    w.after = w.logits + SEQUENCES * s.n_vocab;
    bool good = arrange(&s);
    note(&s, &w);
    good = good && eng_lm_context_save(s.context, file) == ENG_OK && go_on(&s, w.logits);
    /* from what was saved, without its last token */
    good = good && eng_lm_context_load(s.context, file) == ENG_OK;
    for (uint32_t q = 0; q < SEQUENCES && good; q++)
        good = w.n[q] == 0 || w.back[q] == 0 || eng_lm_sequence_rollback(s.context, q, 1) == ENG_OK;
    good = good && go_on(&s, w.after) && eng_lm_context_load(s.context, file) == ENG_OK;
    if (tap_check(good, "saved: %u cells for six sequences: %s", w.cells, good ? "" : eng_last_error())) {
        check_elsewhere(&w, trained, most);
        if (trained)
            check_refusals(&s, &w);
    }
    free(w.logits);
    subject_close(&s);
}

int main(void)
{
    engine = tap_begin();
    scratch_path("context.state", file);
    snprintf(model, sizeof model, "%s", data_path(MODEL));
    type_v = ENG_TYPE_Q8_0;
    if (engine)
        check(true, 0.005);
    scratch_path("random.gguf", model);
    type_v = ENG_TYPE_F32;
    for (size_t i = 0; engine && i < sizeof models / sizeof *models; i++) {
        printf("# %s\n", models[i]);
        if (tap_check(subject_make(models[i], model) == 0, "make-model %s", models[i]))
            check(false, 1e-4);
    }
    remove(model);
    remove(file);
    return tap_end(engine);
}
