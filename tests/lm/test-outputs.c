/*
 * What a host reads of a token: the largest logits, found on the device, with the logarithm of the sum over all; and
 * hidden states, of which the head's matrix gives the logits.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "../reference/ref.h"
#include "engine/gguf.h"
#include "subject.h"

#define MODEL "tiny-hybrid-f16.gguf"
#define TOP 40
#define TEXT 30
#define MOST 0.002 /* difference of logits, of their root mean square */

static eng_context *engine;

static const float *sorted_by;

static int larger_first(const void *a, const void *b)
{
    int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;
    return sorted_by[i] > sorted_by[j] ? -1 : sorted_by[i] < sorted_by[j] ? 1 : i < j ? -1 : i > j;
}

/* The largest difference of the top's logits, and of the sum's logarithm; infinite: another order. */
static double off_top(const subject *s, const float *all, uint32_t n, const int32_t *ids, const float *logits,
                      double total)
{
    int32_t *order = malloc(s->n_vocab * sizeof *order);
    double square = 0, sum = 0, off = n == TOP ? 0 : INFINITY;
    for (uint32_t i = 0; i < s->n_vocab; i++) {
        order[i] = (int32_t)i;
        square += (double)all[i] * all[i];
        sum += exp((double)all[i]);
    }
    double scale = sqrt(square / s->n_vocab);
    sorted_by = all;
    qsort(order, s->n_vocab, sizeof *order, larger_first);
    for (uint32_t i = 0; i < n; i++) {
        off = fmax(off, fabs(logits[i] - (double)all[ids[i]]) / scale);
        off = fmax(off, fabs(logits[i] - (double)all[order[i]]) / scale); /* in order, but for near ties */
        if (i > 0 && (logits[i] > logits[i - 1] || (logits[i] == logits[i - 1] && ids[i] < ids[i - 1])))
            off = INFINITY;
    }
    free(order);
    return isfinite(total) ? fmax(off, fabs(total - log(sum))) : INFINITY;
}

/* The largest difference of the logits from the head's matrix times the state. */
static double off_hidden(const subject *s, const float *all, const float *hidden)
{
    eng_gguf *f;
    if (!hidden || eng_gguf_open(data_path(MODEL), &f) != ENG_OK)
        return INFINITY;
    const eng_gguf_tensor *w = eng_gguf_tensor_find(f, "output.weight");
    if (!w)
        w = eng_gguf_tensor_find(f, "token_embd.weight");
    double square = 0, off = 0;
    double *row = malloc((size_t)w->ne[0] * sizeof *row);
    for (uint32_t i = 0; i < s->n_vocab; i++) {
        double sum = 0;
        ref_decode(w->type, (const char *)w->data + i * eng_row_bytes(w->type, w->ne[0]), row, w->ne[0]);
        for (int64_t k = 0; k < w->ne[0]; k++)
            sum += row[k] * hidden[k];
        square += (double)all[i] * all[i];
        off = fmax(off, fabs(sum - all[i]));
    }
    free(row);
    eng_gguf_close(f);
    return off / sqrt(square / s->n_vocab);
}

/* The same texts with all logits and with the largest. */
static void check(const char *device)
{
    subject s;
    eng_lm_context_params p;
    eng_lm_context *top = NULL;
    eng_lm_sampler *one = NULL, *other = NULL;
    eng_lm_sampler_params sp;
    int32_t text[TEXT];
    uint8_t wanted[TEXT];
    double off = 0, off_state = 0;
    uint32_t same = 0, n_wanted = 0;
    eng_lm_context_defaults(&p);
    p.n_cells = 64;
    p.n_batch = 16;
    if (subject_open(&s, engine, device, data_path(MODEL), NULL, &p) != ENG_OK) {
        tap_check(false, "%s: %s", device, eng_last_error());
        return;
    }
    p.n_top = TOP;
    p.outputs = ENG_LM_HIDDEN;
    eng_lm_sampler_defaults(&sp);
    sp.seed = 7;
    bool good = eng_lm_context_create(s.model, &p, &top) == ENG_OK &&
                eng_lm_sampler_create(s.model, &sp, &one) == ENG_OK &&
                eng_lm_sampler_create(s.model, &sp, &other) == ENG_OK;
    for (uint32_t i = 0; i < TEXT; i++) {
        text[i] = (int32_t)((i * 131u + 7) % s.n_vocab);
        wanted[i] = i % 3 != 1;
        n_wanted += wanted[i];
    }
    eng_lm_batch b = {.size = sizeof b, .n_tokens = TEXT, .tokens = text, .logits = wanted};
    good = good && eng_lm_decode(s.context, &b) == ENG_OK && eng_lm_decode(top, &b) == ENG_OK;
    for (uint32_t i = 0; i < TEXT && good; i++) {
        const int32_t *ids;
        const float *logits, *all = eng_lm_logits(s.context, i);
        double total;
        uint32_t n = eng_lm_top(top, i, &ids, &logits, &total);
        good = (all != NULL) == (wanted[i] != 0) && (n != 0) == (wanted[i] != 0) && !eng_lm_logits(top, i) &&
               (eng_lm_hidden(top, i) != NULL) == (wanted[i] != 0) && !eng_lm_hidden(s.context, i);
        if (!good || !wanted[i])
            continue;
        int32_t a, c;
        off = fmax(off, off_top(&s, all, n, ids, logits, total));
        off_state = fmax(off_state, off_hidden(&s, all, eng_lm_hidden(top, i)));
        good = eng_lm_sampler_choose(one, all, &a) == ENG_OK &&
               eng_lm_sampler_choose_top(other, ids, logits, n, &c) == ENG_OK;
        same += a == c;
    }
    tap_check(good && off < MOST, "%s: the %d largest logits and the sum: off by %.2g%s%s", device, TOP, off,
              good ? "" : ": ", good ? "" : eng_last_error());
    tap_check(good && off_state < 5 * MOST, "%s: hidden states: off by %.2g", device, off_state);
    tap_check(good && same == n_wanted, "%s: a sampler chooses the same from both: %u of %u", device, same, n_wanted);
    eng_lm_sampler_destroy(one);
    eng_lm_sampler_destroy(other);
    eng_lm_context_destroy(top);
    subject_close(&s);
}

static void check_refusals(void)
{
    subject s;
    eng_lm_context_params p;
    eng_lm_perplexity_result result = {.size = sizeof result};
    eng_lm_draft *draft;
    int32_t text[TEXT] = {1, 2, 3};
    eng_lm_context_defaults(&p);
    p.n_top = 1 << 20;
    tap_check(subject_open(&s, engine, "cpu", data_path(MODEL), NULL, &p) == ENG_ERR_INVALID, "%s", eng_last_error());
    p.n_top = 1;
    if (subject_open(&s, engine, "cpu", data_path(MODEL), NULL, &p) != ENG_OK) {
        tap_check(false, "%s", eng_last_error());
        return;
    }
    tap_check(eng_lm_perplexity(s.context, text, TEXT, 8, 0, NULL, NULL, &result) == ENG_ERR_STATE, "%s",
              eng_last_error());
    tap_check(eng_lm_draft_create(s.context, NULL, &draft) == ENG_ERR_STATE, "%s", eng_last_error());
    subject_close(&s);
}

/* -- what products are given ------------------------------------------------------------------- */

typedef struct collected {
    int64_t all, wanted; /* rows of the first layer and of the head                */
    double sum;          /* of the first layer's                                   */
} collected;

static void collect(void *user, const char *weight, int64_t set, int64_t sets, const float *rows, int64_t columns,
                    int64_t n)
{
    collected *c = user;
    (void)set;
    (void)sets;
    if (strcmp(weight, "output.weight") == 0)
        c->wanted += n;
    if (strcmp(weight, "blk.0.attn_q.weight") != 0)
        return;
    c->all += n;
    for (int64_t i = 0; i < n * columns; i++)
        c->sum += fabs((double)rows[i]);
}

/* Of n tokens, of which the last are wanted. */
static bool run_collected(subject *s, uint32_t n, uint32_t wanted, collected *c)
{
    int32_t ids[TEXT];
    uint8_t logits[TEXT];
    for (uint32_t i = 0; i < n; i++) {
        ids[i] = (int32_t)(i * 7 % s->n_vocab);
        logits[i] = i + wanted >= n;
    }
    eng_lm_batch b = {.size = sizeof b, .n_tokens = n, .tokens = ids, .logits = logits};
    *c = (collected){0};
    return eng_lm_context_collect(s->context, collect, c) == ENG_OK &&
           eng_lm_sequence_remove(s->context, 0) == ENG_OK && eng_lm_decode(s->context, &b) == ENG_OK;
}

/* The first layer is given all tokens and the head those wanted, however many these are. */
static void check_collected(void)
{
    static const uint32_t sizes[] = {1, 2, 7, 8, 16, 20, TEXT};
    char path[256];
    subject s;
    collected all, some;
    if (!tap_check(subject_make("--arch llama --layers 2", scratch_path("collected.gguf", path)) == 0, "make-model"))
        return;
    if (tap_check(subject_open(&s, engine, "cpu", path, NULL, NULL) == ENG_OK, "opened"))
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (uint32_t wanted = 1; wanted <= sizes[i]; wanted += 3) {
                bool good = run_collected(&s, sizes[i], sizes[i], &all) && run_collected(&s, sizes[i], wanted, &some);
                tap_check(good && some.all == sizes[i] && some.wanted == wanted &&
                          fabs(some.sum - all.sum) <= 1e-5 * all.sum,
                          "%u tokens, %u wanted: rows of %lld and %lld were collected", sizes[i], wanted,
                          (long long)some.all, (long long)some.wanted);
            }
    subject_close(&s);
    remove(path);
}

int main(void)
{
    static const char *const devices[] = {
        "cpu",
#ifdef HAVE_META
        "cpu/2", "cpu/3@5:2:1",
#endif
#ifdef HAVE_OPENCL
        "opencl:0",
#ifdef HAVE_META
        "opencl:0/2",
#endif
#endif
    };
    engine = tap_begin();
    for (size_t d = 0; engine && d < sizeof devices / sizeof *devices; d++)
        check(devices[d]);
    if (engine)
        check_refusals();
    if (engine)
        check_collected();
    return tap_end(engine);
}
