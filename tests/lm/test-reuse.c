/*
 * Texts that begin alike, tokens that are dropped from the middle, contexts that are full, and decodes that are
 * stopped: what goes on from a beginning gives what a cold run does, and what is kept stays within its bytes.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "subject.h"

#define LONGEST 400
#define STRIDE 16
#define HYBRID "tiny-hybrid-f16.gguf"

static eng_context *engine;
static char llama[256]; /* one layer of attention */
static char chunked[256]; /* layers that see chunks of 100 positions */

static int32_t token(const subject *s, uint32_t text, uint32_t i)
{
    return (int32_t)(((text + 1) * 7919u + i * 131u + i * i) % s->n_vocab);
}

/* Tokens first .. n - 1 behind what sequence q holds; the last one's logits. */
static const float *run(const subject *s, uint32_t q, const int32_t *tokens, uint32_t first, uint32_t n)
{
    int32_t owners[LONGEST];
    for (uint32_t i = 0; i < n - first; i++)
        owners[i] = (int32_t)q;
    eng_lm_batch b = {.size = sizeof b, .n_tokens = n - first, .tokens = tokens + first, .sequences = owners};
    return eng_lm_decode(s->context, &b) == ENG_OK ? eng_lm_logits(s->context, n - first - 1) : NULL;
}

/* `alike` tokens of one text, then another's. */
static void compose(const subject *s, int32_t *tokens, uint32_t one, uint32_t alike, uint32_t other, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        tokens[i] = token(s, i < alike ? one : other, i);
}

static eng_lm_stats stats_of(const subject *s)
{
    eng_lm_stats stats = {.size = sizeof stats};
    eng_lm_context_get_stats(s->context, &stats);
    return stats;
}

static eng_lm_context_params params(uint32_t cells, uint32_t snapshots, uint64_t kept)
{
    eng_lm_context_params p;
    eng_lm_context_defaults(&p);
    p.n_cells = cells;
    p.n_sequences = 3;
    p.n_snapshots = snapshots;
    p.kept_bytes = kept;
    p.kept_stride = STRIDE;
    return p;
}

static bool open_or_say(subject *s, const char *device, const char *model, const eng_lm_context_params *p)
{
    return subject_open(s, engine, device, model, NULL, p) == ENG_OK ||
           tap_check(false, "%s: %s", device, eng_last_error());
}

/* -- beginnings -------------------------------------------------------------------------------- */

/* Sequence 0 begins as the text does; so many tokens of it are known, and the rest gives what a cold run gives. */
static void hit(subject *s, const char *device, const char *what, const int32_t *tokens, uint32_t n, size_t expected,
                double most)
{
    size_t reused = 0;
    int64_t promised = eng_lm_reusable(s->context, tokens, n);
    int status = eng_lm_sequence_reuse(s->context, 0, tokens, n, &reused);
    const float *logits = status ? NULL : run(s, 0, tokens, (uint32_t)reused, n);
    float *warm = calloc(s->n_vocab, sizeof *warm);
    if (logits)
        memcpy(warm, logits, s->n_vocab * sizeof *warm);
    eng_lm_sequence_remove(s->context, 2);
    const float *cold = run(s, 2, tokens, 0, n);
    double off = logits && cold ? relative(warm, cold, s->n_vocab) : INFINITY;
    eng_lm_sequence_remove(s->context, 2);
    tap_check(off <= most && reused == expected && (size_t)promised == expected,
              "%s, %s: %zu of %u tokens reused (should be %zu), off by %.2g%s%s", device, what, reused, n, expected,
              off, status ? ": " : "", status ? eng_last_error() : "");
    free(warm);
}

static void check_beginnings(const char *device, const char *model, bool recurrent, uint32_t snapshots)
{
    subject s;
    int32_t tokens[LONGEST];
    eng_lm_context_params p = params(600, snapshots, 1 << 26);
    if (!open_or_say(&s, device, model, &p))
        return;
    size_t end = recurrent && snapshots == 1 ? 96 : 99; /* of prompts but for the last token, if a snapshot is there */
    compose(&s, tokens, 1, 100, 1, 100);
    hit(&s, device, "nothing is known", tokens, 100, 0, 0.002);
    hit(&s, device, "the same again, which a sequence holds", tokens, 100, end, 0.002);
    eng_lm_sequence_remove(s.context, 0);
    hit(&s, device, "the same again, which is kept", tokens, 100, end, 0.002);
    compose(&s, tokens, 1, 70, 2, 90);
    hit(&s, device, "another end", tokens, 90, recurrent ? 64 : 70, 0.002);
    compose(&s, tokens, 1, 10, 3, 50);
    hit(&s, device, "less than a stride", tokens, 50, recurrent ? 0 : 10, 0.002);
    compose(&s, tokens, 1, 100, 4, 120);
    hit(&s, device, "more behind the whole", tokens, 120, 100, 0.002);
    eng_lm_stats now = stats_of(&s);
    tap_check(now.reuses == (recurrent ? 4u : 5u) && now.tokens_reused > 300 && now.tokens_given_up == 0 &&
              (now.n_states_kept > 0) == recurrent, "%s: %llu beginnings found, %llu tokens, %u states kept", device,
              (unsigned long long)now.reuses, (unsigned long long)now.tokens_reused, now.n_states_kept);
    for (uint32_t q = 0; q < 3; q++)
        eng_lm_sequence_remove(s.context, q);
    now = stats_of(&s);
    tap_check(now.n_cells_used == 0 && now.n_cells_free == 600 && now.kept_bytes > 0, "%s: %llu bytes are kept", device,
              (unsigned long long)now.kept_bytes);
    eng_lm_kept_clear(s.context);
    now = stats_of(&s);
    tap_check(now.kept_bytes == 0 && eng_lm_reusable(s.context, tokens, 120) == 0, "%s: cleared", device);
    subject_close(&s);
}

/* With room for one beginning alone: what the sequence held is not kept in the place of what it is to begin with. */
static void check_spared(const char *device, const char *model, bool recurrent)
{
    subject s;
    int32_t tokens[LONGEST];
    eng_lm_context_params p = params(256, 1, 0);
    if (!open_or_say(&s, device, model, &p))
        return;
    eng_lm_stats now = stats_of(&s);
    uint64_t cell = now.cache_bytes / 256, state = now.state_bytes / 3;
    subject_close(&s);
    p.kept_bytes = (recurrent ? state : 0) + 40 * cell;
    if (!open_or_say(&s, device, model, &p))
        return;
    compose(&s, tokens, 1, 32, 1, 32);
    run(&s, 0, tokens, 0, 32);
    eng_lm_sequence_remove(s.context, 0);
    compose(&s, tokens, 2, 12, 2, 12); /* less than a stride: nothing of it is kept while it is run */
    run(&s, 0, tokens, 0, 12);
    compose(&s, tokens, 1, 32, 3, 48);
    hit(&s, device, "in a sequence that held another text", tokens, 48, 32, 0.002);
    now = stats_of(&s);
    tap_check(now.kept_bytes <= p.kept_bytes, "%s: %llu bytes are kept", device, (unsigned long long)now.kept_bytes);
    subject_close(&s);
}

/* Twelve texts of 60 tokens, of which some have room. */
static void check_budget(const char *device, const char *model, bool recurrent)
{
    subject s;
    int32_t tokens[LONGEST];
    eng_lm_context_params p = params(1024, 1, 0);
    if (!open_or_say(&s, device, model, &p))
        return;
    eng_lm_stats now = stats_of(&s);
    uint64_t cell = now.cache_bytes / 1024, state = now.state_bytes / 3;
    subject_close(&s);
    p.kept_bytes = recurrent ? 12 * (state + STRIDE * cell) : 360 * cell;
    if (!open_or_say(&s, device, model, &p))
        return;
    bool within = true, first_stays = true;
    for (uint32_t text = 0; text < 12; text++) {
        compose(&s, tokens, text, 60, text, 60);
        within &= eng_lm_sequence_reuse(s.context, 0, tokens, 60, NULL) == ENG_OK && run(&s, 0, tokens, 0, 60) != NULL;
        eng_lm_sequence_remove(s.context, 0);
        within &= stats_of(&s).kept_bytes <= p.kept_bytes;
        compose(&s, tokens, 0, 60, 0, 61); /* the first is asked for again and again */
        size_t reused = 0;
        within &= eng_lm_sequence_reuse(s.context, 1, tokens, 61, &reused) == ENG_OK;
        eng_lm_sequence_remove(s.context, 1);
        first_stays &= reused >= 48;
    }
    compose(&s, tokens, 2, 60, 2, 61);
    int64_t old = eng_lm_reusable(s.context, tokens, 61);
    compose(&s, tokens, 11, 60, 11, 61);
    int64_t new = eng_lm_reusable(s.context, tokens, 61);
    now = stats_of(&s);
    tap_check(within && first_stays && now.tokens_given_up > 0 && old < new && new >= 48,
              "%s: %llu of %llu bytes kept, %llu tokens given up; of the third text %lld tokens remain, of the last %lld",
              device, (unsigned long long)now.kept_bytes, (unsigned long long)p.kept_bytes,
              (unsigned long long)now.tokens_given_up, (long long)old, (long long)new);
    subject_close(&s);
}

/* What is kept goes when cells are needed. */
static void check_cells(const char *device)
{
    subject s;
    int32_t tokens[LONGEST];
    eng_lm_context_params p = params(128, 2, 1 << 26);
    if (!open_or_say(&s, device, data_path(HYBRID), &p))
        return;
    bool good = true;
    for (uint32_t text = 0; text < 4; text++) {
        compose(&s, tokens, text, 100, text, 100);
        good &= run(&s, text % 3, tokens, 0, 100) != NULL;
        eng_lm_sequence_remove(s.context, text % 3);
        good &= stats_of(&s).n_cells_free == 128;
    }
    tap_check(good, "%s: texts of 100 tokens, one after the other, in 128 cells", device);
    good = run(&s, 0, tokens, 0, 100) != NULL && !run(&s, 1, tokens, 0, 100);
    tap_check(good && strstr(eng_last_error(), "too small") && eng_lm_sequence_length(s.context, 1) == 0,
              "what is held stays: %s", eng_last_error());
    subject_close(&s);
}

static void check_truncate(const char *device)
{
    subject s;
    int32_t tokens[LONGEST];
    eng_lm_context_params p = params(400, 1, 1 << 26);
    if (!open_or_say(&s, device, data_path(HYBRID), &p))
        return;
    compose(&s, tokens, 1, 100, 1, 100);
    bool good = run(&s, 0, tokens, 0, 100) != NULL;
    tap_check(good && eng_lm_sequence_truncate(s.context, 0, 50) == ENG_ERR_STATE &&
              eng_lm_sequence_length(s.context, 0) == 100, "%s: between states: %s", device, eng_last_error());
    good = eng_lm_sequence_truncate(s.context, 0, 48) == ENG_OK && eng_lm_sequence_length(s.context, 0) == 48;
    float *warm = calloc(s.n_vocab, sizeof *warm);
    const float *logits = good ? run(&s, 0, tokens, 60, 70) : NULL;
    if (logits)
        memcpy(warm, logits, s.n_vocab * sizeof *warm);
    memmove(tokens + 48, tokens + 60, 10 * sizeof *tokens);
    const float *cold = run(&s, 1, tokens, 0, 58);
    double off = logits && cold ? relative(warm, cold, s.n_vocab) : INFINITY;
    tap_check(good && off < 0.002, "%s: truncated at a state that is kept, and run on: off by %.2g", device, off);
    free(warm);
    subject_close(&s);
}

/* -- tokens in the middle ------------------------------------------------------------------------ */

/* With one layer, what was dropped has left no trace: neither which tokens they were nor when they went. */
static void check_drop(const char *device)
{
    subject s;
    int32_t tokens[LONGEST];
    eng_lm_context_params p = params(300, 1, 1 << 26);
    if (!open_or_say(&s, device, llama, &p))
        return;
    compose(&s, tokens, 1, 60, 1, 60);
    bool good = run(&s, 0, tokens, 0, 60) && eng_lm_sequence_drop(s.context, 0, 10, 20) == ENG_OK &&
                eng_lm_sequence_length(s.context, 0) == 40;
    for (uint32_t i = 10; i < 30; i++)
        tokens[i] = token(&s, 9, i);
    good = good && run(&s, 1, tokens, 0, 30) && eng_lm_sequence_drop(s.context, 1, 10, 19) == ENG_OK &&
           run(&s, 1, tokens, 30, 60) && eng_lm_sequence_drop(s.context, 1, 10, 1) == ENG_OK;
    tap_check(good, "%s: dropped%s%s", device, good ? "" : ": ", good ? "" : eng_last_error());
    float *one = calloc(s.n_vocab, sizeof *one);
    const float *logits = run(&s, 0, tokens, 0, 1);
    if (logits)
        memcpy(one, logits, s.n_vocab * sizeof *one);
    double off = INFINITY;
    if (logits && (logits = run(&s, 1, tokens, 0, 1)))
        off = relative(one, logits, s.n_vocab);
    tap_check(off < 0.002, "%s: whatever was dropped, and whenever: off by %.2g", device, off);
    char file[256];
    scratch_path("cut.state", file);
    bool saved = eng_lm_sequence_rollback(s.context, 0, 1) == ENG_OK &&
                 eng_lm_sequence_save(s.context, 0, file) == ENG_OK &&
                 eng_lm_sequence_load(s.context, 2, file) == ENG_OK;
    logits = saved ? run(&s, 2, tokens, 0, 1) : NULL;
    off = logits ? relative(one, logits, s.n_vocab) : INFINITY;
    tap_check(off < 0.002, "%s: saved and loaded: off by %.2g", device, off);
    remove(file);
    compose(&s, tokens, 1, 60, 1, 60);
    tap_check(eng_lm_reusable(s.context, tokens, 60) == 10, "%s: of a text with a gap what is before it is known",
              device);
    good = eng_lm_sequence_copy(s.context, 0, 1) == ENG_OK &&
           eng_lm_sequence_drop(s.context, 1, 3, 2) == ENG_ERR_STATE && strstr(eng_last_error(), "shares");
    tap_check(good, "%s: what is shared: %s", device, eng_last_error());
    tap_check(eng_lm_sequence_drop(s.context, 0, 30, 10) == ENG_ERR_INVALID, "%s: the last one: %s", device,
              eng_last_error());
    static const int64_t none[][2] = {{-1, 5},        {5, -1},
                                      {INT64_MIN, 1}, {INT64_MIN, INT64_MIN},
                                      {1, INT64_MAX}, {INT64_MAX, INT64_MAX}};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        tap_check(eng_lm_sequence_drop(s.context, 0, none[i][0], none[i][1]) == ENG_ERR_INVALID,
                  "%s: what no text has: %s", device, eng_last_error());
    free(one);
    subject_close(&s);
}

/* States that have seen what was dropped are nobody's beginning, whatever is taken back, saved and loaded. */
static void check_seen(const char *device)
{
    subject s;
    int32_t tokens[LONGEST];
    char path[256];
    eng_lm_context_params p = params(300, 8, 0);
    if (!open_or_say(&s, device, data_path(HYBRID), &p))
        return;
    compose(&s, tokens, 1, 20, 1, 20);
    bool good = true;
    for (uint32_t i = 0; i < 20; i++)
        good = good && run(&s, 0, tokens, i, i + 1);
    good = good && eng_lm_sequence_drop(s.context, 0, 12, 5) == ENG_OK;
    int64_t limit = eng_lm_sequence_rollback_limit(s.context, 0);
    tap_check(good && limit == 2, "%s: behind what was dropped are 3 tokens, of which %lld can be taken back", device,
              (long long)limit);
    good = good && eng_lm_sequence_rollback(s.context, 0, limit) == ENG_OK &&
           eng_lm_sequence_save(s.context, 0, scratch_path("seen.state", path)) == ENG_OK &&
           eng_lm_sequence_load(s.context, 1, path) == ENG_OK;
    int64_t known = eng_lm_reusable(s.context, tokens, 20);
    tap_check(good && known == 0, "%s: %lld tokens of the text are known%s%s", device, (long long)known,
              good ? "" : ": ", good ? "" : eng_last_error());
    remove(path);
    subject_close(&s);
}

/* A context of 64 cells that drops gives what one of 300 gives from which the same tokens are dropped. */
static void check_full(const char *device, const char *model)
{
    subject s, large;
    int32_t tokens[LONGEST];
    eng_lm_context_params p = params(64, 1, 0), roomy = params(300, 1, 0);
    p.on_full = ENG_LM_FULL_DROP;
    p.n_keep = 4;
    if (!open_or_say(&s, device, model, &p))
        return;
    if (!open_or_say(&large, device, model, &roomy)) {
        subject_close(&s);
        return;
    }
    compose(&s, tokens, 1, 250, 1, 250);
    double off = 0;
    for (uint32_t i = 0, n; i < 250 && off < 1; i += n) {
        n = i % 3 == 0 ? 10 : 1;
        int64_t over = eng_lm_sequence_length(large.context, 0) + n - 64;
        if (over > 0 && eng_lm_sequence_drop(large.context, 0, 4, over))
            off = INFINITY;
        const float *a = run(&s, 0, tokens, i, i + n), *b = run(&large, 0, tokens, i, i + n);
        off = a && b ? fmax(off, relative(a, b, s.n_vocab)) : INFINITY;
    }
    tap_check(off < 0.002 && eng_lm_sequence_length(s.context, 0) == 64 && stats_of(&s).tokens_dropped == 250 - 64,
              "%s: 250 tokens through 64 cells, %llu dropped: off by %.2g", device,
              (unsigned long long)stats_of(&s).tokens_dropped, off);
    tap_check(!run(&s, 0, tokens, 0, 62) && eng_lm_sequence_length(s.context, 0) == 64, "%s: %s", device,
              eng_last_error());
    subject_close(&large);
    subject_close(&s);
}

/* -- stopping ------------------------------------------------------------------------------------ */

static int after_some(void *user)
{
    int *left = user;
    return (*left)-- == 0;
}

static void check_stop(const char *device)
{
    subject s;
    int32_t tokens[LONGEST];
    int left = 2;
    eng_lm_context_params p = params(300, 1, 0);
    p.n_batch = 32;
    if (!open_or_say(&s, device, data_path(HYBRID), &p))
        return;
    compose(&s, tokens, 1, 128, 1, 128);
    eng_lm_context_set_stop(s.context, after_some, &left);
    tap_check(!run(&s, 0, tokens, 0, 128) && eng_lm_sequence_length(s.context, 0) == 64 && !eng_lm_logits(s.context, 0),
              "%s: %s", device, eng_last_error());
    eng_lm_context_set_stop(s.context, NULL, NULL);
    const float *logits = run(&s, 0, tokens, 64, 128);
    float *warm = calloc(s.n_vocab, sizeof *warm);
    if (logits)
        memcpy(warm, logits, s.n_vocab * sizeof *warm);
    const float *cold = run(&s, 1, tokens, 0, 128);
    double off = logits && cold ? relative(warm, cold, s.n_vocab) : INFINITY;
    tap_check(off < 0.002, "%s: goes on where it was stopped: off by %.2g", device, off);
    free(warm);
    subject_close(&s);
}

static void check_refusals(void)
{
    subject s;
    eng_lm_context_params p = params(100, 1, 1000);
    tap_check(subject_open(&s, engine, "cpu", data_path(HYBRID), NULL, &p) == ENG_ERR_INVALID, "%s", eng_last_error());
    p = params(100, 1, 0);
    if (!open_or_say(&s, "cpu", data_path(HYBRID), &p))
        return;
    tap_check(eng_lm_sequence_keep(s.context, 0) == ENG_ERR_STATE, "%s", eng_last_error());
    tap_check(eng_lm_sequence_reuse(s.context, 7, NULL, 0, NULL) == ENG_ERR_INVALID, "%s", eng_last_error());
    subject_close(&s);
    p.on_full = 2;
    tap_check(subject_open(&s, engine, "cpu", data_path(HYBRID), NULL, &p) == ENG_ERR_INVALID, "%s", eng_last_error());
}

int main(void)
{
    static const char *const devices[] = {
        "cpu",
#ifdef HAVE_META
        "cpu/3@5:2:1",
#endif
#ifdef HAVE_OPENCL
        "opencl:0",
#endif
    };
    engine = tap_begin();
    scratch_path("one-layer.gguf", llama);
    scratch_path("chunked.gguf", chunked);
    if (engine &&
        !tap_check(subject_make("--seed 5 --arch llama --layers 1 --heads 4 --kv-heads 2 --head 32", llama) == 0 &&
                   subject_make("--seed 5 --arch llama4 --layers 2 --experts 2 --used 1 --int attention.sliding_window=100",
                                chunked) == 0,
                   "make-model"))
        return tap_end(engine);
    for (size_t d = 0; engine && d < sizeof devices / sizeof *devices; d++) {
        check_beginnings(devices[d], data_path(HYBRID), true, 1);
        check_beginnings(devices[d], data_path(HYBRID), true, 4);
        check_beginnings(devices[d], llama, false, 1);
        check_spared(devices[d], data_path(HYBRID), true);
        check_spared(devices[d], llama, false);
        check_budget(devices[d], data_path(HYBRID), true);
        check_budget(devices[d], llama, false);
        check_cells(devices[d]);
        check_truncate(devices[d]);
        check_drop(devices[d]);
        check_seen(devices[d]);
        check_full(devices[d], llama);
        check_full(devices[d], data_path(HYBRID));
        check_full(devices[d], chunked);
        check_stop(devices[d]);
    }
    if (engine)
        check_refusals();
    remove(llama);
    remove(chunked);
    return tap_end(engine);
}
