/*
 * Sparse attention: what an indexer chooses does not depend on where a sequence's cells lie, on what other sequences do
 * beside it, and on forks and tokens taken back; and what it does not choose is not seen.
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "subject.h"

#define CELLS 96
#define TOKENS 34
#define FORK 20
#define MOST 1e-5   /* the order of attention's sums differs where cells lie otherwise */
#define CLEARLY 1e-2
#define OPTIONS "--kv-heads 1 --experts 4 --used 2 --layers 3 --embd 96 --vocab 400 --index-heads 6 --seed 7 "

static eng_context *engine;

static int32_t token(uint32_t text, uint32_t i)
{
    return (int32_t)(((text + 1) * 7919u + i * 131u + i * i * 17u) % 400);
}

static bool open_as(subject *s, const char *device, const char *path)
{
    eng_lm_context_params p;
    eng_lm_context_defaults(&p);
    p.n_cells = CELLS;
    p.n_sequences = 3;
    p.n_snapshots = 8;
    p.type_k = p.type_v = ENG_TYPE_F32;
    return subject_open(s, engine, device, path, NULL, &p) == ENG_OK ||
           tap_check(false, "%s: %s", device, eng_last_error());
}

/* Tokens first .. end - 1 of a text behind what sequence q holds; the last one's logits. */
static const float *feed(const subject *s, uint32_t q, uint32_t text, uint32_t first, uint32_t end)
{
    int32_t ids[TOKENS], owners[TOKENS];
    for (uint32_t i = first; i < end; i++) {
        ids[i - first] = token(text, i);
        owners[i - first] = (int32_t)q;
    }
    eng_lm_batch b = {.size = sizeof b, .n_tokens = end - first, .tokens = ids, .sequences = owners};
    return eng_lm_decode(s->context, &b) == ENG_OK ? eng_lm_logits(s->context, end - first - 1) : NULL;
}

/* Of a text alone in a context: its last token's logits, after `fork` tokens of text 0; to be freed. */
static float *alone(const char *device, const char *path, uint32_t text, uint32_t fork)
{
    subject s;
    float *all = calloc(400, sizeof *all);
    if (!all || !open_as(&s, device, path))
        return all;
    const float *got = fork ? feed(&s, 0, 0, 0, fork) : NULL;
    got = feed(&s, 0, text, fork, TOKENS);
    if (got)
        memcpy(all, got, 400 * sizeof *all);
    subject_close(&s);
    return all;
}

static void same(const char *name, const char *device, const char *what, const float *got, const float *want,
                 double most)
{
    double off = got && want ? relative(got, want, 400) : INFINITY;
    tap_check(off <= most, "%s on %s, %s: off by %.1e", name, device, what, off);
}

/* Three texts, a token of each at a time: every sequence's cells lie among the others'. */
static void check_beside(const char *name, const char *device, const char *path, float *const want[3])
{
    subject s;
    float last[3][400];
    if (!open_as(&s, device, path))
        return;
    bool good = true;
    for (uint32_t i = 0; i < 31 && good; i++) {
        const int32_t ids[] = {token(0, i), token(1, i), token(2, i)}, owners[] = {0, 1, 2};
        eng_lm_batch b = {.size = sizeof b, .n_tokens = 3, .tokens = ids, .sequences = owners};
        good = eng_lm_decode(s.context, &b) == ENG_OK;
    }
    for (uint32_t q = 0; q < 3 && good; q++) {
        const float *got = feed(&s, q, q, 31, q == 0 ? TOKENS : 32);
        good = got != NULL;
        memcpy(last[q], good ? got : last[q], good ? sizeof last[q] : 0);
        eng_lm_sequence_remove(s.context, q);
    }
    same(name, device, "beside others", good ? last[0] : NULL, want[0], MOST);
    subject_close(&s);
}

/* A fork, whose first cells are shared, and tokens that are taken back. */
static void check_fork(const char *name, const char *device, const char *path, float *const want[3])
{
    subject s;
    if (!open_as(&s, device, path))
        return;
    feed(&s, 0, 0, 0, FORK);
    int status = eng_lm_sequence_copy(s.context, 0, 1);
    same(name, device, "a fork", status ? NULL : feed(&s, 1, 1, FORK, TOKENS), want[1], MOST);
    feed(&s, 0, 2, FORK, FORK + 7);
    status = eng_lm_sequence_rollback(s.context, 0, 7);
    same(name, device, "back, beside the fork", status ? NULL : feed(&s, 0, 0, FORK, TOKENS), want[0], MOST);
    subject_close(&s);
}

/* Tokens cut out of the middle: the same on all devices. */
static void check_cut(const char *name, const char *device, const char *path, float *first)
{
    subject s;
    if (!open_as(&s, device, path))
        return;
    feed(&s, 0, 0, 0, FORK);
    int status = eng_lm_sequence_drop(s.context, 0, 4, 9);
    const float *got = status ? NULL : feed(&s, 0, 0, FORK, TOKENS);
    if (isnan(first[0]) && got)
        memcpy(first, got, 400 * sizeof *first);
    same(name, device, "tokens cut out", got, first, MOST);
    subject_close(&s);
}

/* `states`: the model has some, and no token can be cut out. */
static void check(const char *options, const char *path, bool states)
{
    static const char *const devices[] = {
        "cpu",
#ifdef HAVE_META
        "cpu/2", "cpu/3@3:1:2",
#endif
#ifdef HAVE_OPENCL
        "opencl:0",
#endif
    };
    char all[512];
    float cut[400] = {NAN};
    snprintf(all, sizeof all, OPTIONS "%s --index-top %d", options, CELLS);
    tap_check(subject_make(all, path) == 0, "%s", all);
    float *dense = alone("cpu", path, 0, 0);
    snprintf(all, sizeof all, OPTIONS "%s --index-top 6", options);
    tap_check(subject_make(all, path) == 0, "%s", all);
    float *want[3] = {alone("cpu", path, 0, 0), alone("cpu", path, 1, FORK), NULL};
    double off = dense && want[0] ? relative(want[0], dense, 400) : 0;
    tap_check(off > CLEARLY, "%s: six tokens seen, not all: off by %.1e", options, off);
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        check_beside(options, devices[i], path, want);
        check_fork(options, devices[i], path, want);
        if (!states)
            check_cut(options, devices[i], path, cut);
    }
    free(dense);
    free(want[0]);
    free(want[1]);
}

int main(void)
{
    char path[256];
    engine = tap_begin();
    if (!engine)
        return 1;
    scratch_path("indexer.gguf", path);
    check("--arch deepseek32", path, false);
    check("--arch glm-dsa --index-period 2", path, false);
    check("--arch glm5next --pool 3 --interval 2", path, true);
    check("--arch deepseek4 --layers 3 --ratio 2 --long-ratio 3", path, true);
    check("--arch qwen4exp --pool 3 --interval 2 --index-heads 9 --experts 4 --used 2", path, true);
    remove(path);
    return tap_end(engine);
}
