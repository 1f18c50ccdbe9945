/*
 * draft-speed [--fast] [MODEL [TOKENS [DEVICE...]]] - what drafts bring where 0.7 of the guesses are accepted, and
 * where the time of a step goes: the table of docs/performance-models.md.  Guesses are the text that is known to come, each
 * replaced with probability 0.3; a model that has a block for drafting runs it for each guess, and only its choice is
 * put in the place of what it found.  The fastest of ROUNDS rounds, each of all lengths in turn: what else the machine
 * does only ever adds.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libengine-lm/draft/ask.h"
#include "libengine/util/util.h"
#include "subject.h"

#define ACCEPTED 0.7
#define ROUNDS 5
#define LENGTHS 6     /* 0 .. 5 guesses, always;                                    */
#define PACED LENGTHS /* and at most 5, as many as pay                              */
#define SEED 20261123

typedef struct prophet {
    const int32_t *text;
    size_t n;
    uint64_t seed;
} prophet;

/* What a guess for this place of the text is. */
static int32_t foretell(prophet *p, size_t at)
{
    p->seed = p->seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(p->seed >> 11) * 0x1p-53 < ACCEPTED ? p->text[at] : (p->text[at] + 1) % 200;
}

static int prophesy(void *user, const int32_t *tokens, size_t n_tokens, uint32_t most, int32_t *guess, uint32_t *n)
{
    prophet *p = user;
    (void)tokens;
    for (*n = 0; *n < most && n_tokens + *n < p->n; ++*n)
        guess[*n] = foretell(p, n_tokens + *n);
    return ENG_OK;
}

/* In the place of the library's: the block's logits are looked through, as there, and the choice is the prophet's. */
static prophet *of_block;

int lm_ask_choose(const lm_ask *ask, const float *logits, int64_t n, float *q, int32_t *token)
{
    static size_t asked_at, guessed;
    static volatile int32_t largest;
    int32_t best = 0;
    (void)q;
    for (int32_t i = 1; i < n; i++)
        best = logits[i] > logits[best] ? i : best;
    largest = best; /* volatile: it is looked for in earnest */
    (void)largest;
    guessed = asked_at == ask->n_tokens ? guessed + 1 : 0;
    asked_at = ask->n_tokens;
    *token = asked_at + guessed < of_block->n ? foretell(of_block, asked_at + guessed) : -1;
    return ENG_OK;
}

typedef struct round_of {
    double rate, guess, verify, back, host; /* tokens a second; shares of the time          */
    double back_us, accepted, run;          /* a rollback; tokens accepted and run           */
} round_of;

typedef struct speed {
    subject s;
    int32_t *text; /* the prompt, and n - N_PROMPT tokens without drafts                     */
    size_t n;
    eng_lm_sampler *sampler;
    bool block; /* which the model has: it guesses                                           */
    bool fast;  /* products of rounded activations                                           */
} speed;

static const int32_t prompt[] = {65, 84, 70, 25, 290, 13};
#define N_PROMPT (sizeof prompt / sizeof *prompt)

static int32_t next(speed *t, const float *logits)
{
    int32_t token = -1;
    return logits && eng_lm_sampler_choose(t->sampler, logits, &token) == 0 ? token : -1;
}

static bool plain(speed *t)
{
    const float *logits = subject_run(&t->s, prompt, N_PROMPT);
    memcpy(t->text, prompt, sizeof prompt);
    for (size_t i = N_PROMPT; i < t->n; i++) {
        if ((t->text[i] = next(t, logits)) < 0)
            return false;
        logits = i + 1 < t->n ? subject_run(&t->s, &t->text[i], 1) : logits;
    }
    return eng_lm_sequence_remove(t->s.context, 0) == 0;
}

/* A draft of each length, which all rounds use, so that plans and what is known of costs are there. */
static eng_lm_draft *make_draft(speed *t, uint32_t length, prophet *p)
{
    eng_lm_draft_params params;
    eng_lm_draft *draft = NULL;
    eng_lm_draft_defaults(&params);
    params.from = !length ? ENG_LM_DRAFT_NGRAM : t->block ? ENG_LM_DRAFT_BLOCK : ENG_LM_DRAFT_HOST;
    params.max = length == PACED ? 5 : length ? length : 1;
    params.min = 1;
    params.flags = ENG_LM_DRAFT_PAST_END | (length && length < PACED ? ENG_LM_DRAFT_ALWAYS : 0u);
    params.guess = prophesy;
    params.guess_user = p;
    return eng_lm_draft_create(t->s.context, &params, &draft) == 0 ? draft : NULL;
}

/* What was counted since `before`. */
static round_of since(const eng_lm_draft_stats *before, const eng_lm_draft_stats *d, double seconds)
{
    const double guess = (double)(d->guess_ns - before->guess_ns), verify = (double)(d->verify_ns - before->verify_ns);
    const double back = (double)(d->rollback_ns - before->rollback_ns), host = (double)(d->host_ns - before->host_ns);
    const double all = guess + verify + back + host, rollbacks = (double)(d->rollbacks - before->rollbacks);
    return (round_of){.rate = (double)(d->tokens - before->tokens) / seconds, .guess = guess / all,
                      .verify = verify / all, .back = back / all, .host = host / all,
                      .accepted = (double)(d->accepted - before->accepted), .run = (double)(d->drafted - before->drafted),
                      .back_us = rollbacks > 0 ? 1e-3 * back / rollbacks : 0};
}

static bool one(speed *t, eng_lm_draft *draft, prophet *p, bool guesses, round_of *r)
{
    int32_t tokens[ENG_LM_DRAFT_MOST + 1];
    eng_lm_draft_stats before = {.size = sizeof before}, after = {.size = sizeof after};
    of_block = p;
    bool good = draft && subject_run(&t->s, prompt, N_PROMPT) && eng_lm_draft_get_stats(draft, &before) == 0 &&
                eng_lm_draft_begin(draft, t->text, N_PROMPT + 1) == 0;
    double begin = eu_seconds();
    for (size_t n = N_PROMPT + 1; n < t->n && good;) {
        uint32_t more = 1, room = t->n - n < 8 ? (uint32_t)(t->n - n) : 8;
        good = eng_lm_draft_step(draft, t->sampler, guesses ? room : 1, tokens, &more) == 0;
        n += more;
    }
    double seconds = eu_seconds() - begin;
    good = good && eng_lm_draft_get_stats(draft, &after) == 0 && eng_lm_sequence_remove(t->s.context, 0) == 0;
    *r = since(&before, &after, seconds);
    return good;
}

static int by_rate(const void *a, const void *b)
{
    double x = ((const round_of *)a)->rate, y = ((const round_of *)b)->rate;
    return (x > y) - (x < y);
}

/* The model, with its block for drafting if it has one. */
static bool open_model(speed *t, eng_context *engine, const char *device, const char *model)
{
    eng_lm_model_info info = {.size = sizeof info};
    eng_lm_context_params c;
    eng_lm_context_defaults(&c);
    c.n_cells = (uint32_t)t->n + 16;
    c.n_snapshots = 6;
    c.precision = t->fast ? ENG_PRECISION_FAST : ENG_PRECISION_EXACT;
    if (subject_open(&t->s, engine, device, model, NULL, &c) || eng_lm_model_get_info(t->s.model, &info))
        return false;
    t->block = info.n_layers_file > info.n_layers;
    if (!t->block)
        return true;
    subject_close(&t->s);
    c.outputs = ENG_LM_HIDDEN_ALL;
    return subject_open_flags(&t->s, engine, device, model, ENG_LM_DRAFTS, NULL, &c) == 0;
}

static bool device(eng_context *engine, const char *name, const char *model, size_t n, bool fast)
{
    static round_of rounds[LENGTHS + 1][ROUNDS];
    speed t = {.n = N_PROMPT + n, .fast = fast};
    eng_lm_sampler_params sampler;
    eng_lm_sampler_defaults(&sampler);
    sampler.temperature = 0;
    t.text = malloc(t.n * sizeof *t.text);
    bool good = t.text && open_model(&t, engine, name, model) &&
                eng_lm_sampler_create(t.s.model, &sampler, &t.sampler) == 0 && plain(&t);
    prophet p[LENGTHS + 1];
    eng_lm_draft *drafts[LENGTHS + 1] = {NULL};
    for (uint32_t length = 0; length <= PACED && good; length++) {
        p[length] = (prophet){t.text, t.n, SEED + length};
        good = (drafts[length] = make_draft(&t, length, &p[length])) != NULL;
    }
    for (int k = -1; k < ROUNDS; k++) /* the first of them warms up */
        for (uint32_t length = 0; length <= PACED && good; length++)
            good = one(&t, drafts[length], &p[length], length > 0, &rounds[length][k < 0 ? 0 : k]);
    for (uint32_t length = 0; length <= PACED && good; length++) {
        qsort(rounds[length], ROUNDS, sizeof **rounds, by_rate);
        const round_of *r = &rounds[length][ROUNDS - 1], *without = &rounds[0][ROUNDS - 1];
        char guesses[16];
        snprintf(guesses, sizeof guesses, length == PACED ? "up to 5" : "%u", length);
        printf("| %s | %s | %.1f | %.2f | %.0f of %.0f | %.1f | %.1f | %.2f | %.1f | %.2f |\n", name, guesses, r->rate,
               r->rate / without->rate, r->accepted, r->run, 100 * r->guess, 100 * r->verify, 100 * r->back, 100 *
                       r->host,
               r->back_us);
    }
    if (!good)
        fprintf(stderr, "draft-speed: %s: %s\n", name, eng_last_error());
    for (uint32_t length = 0; length <= PACED; length++)
        eng_lm_draft_destroy(drafts[length]);
    eng_lm_sampler_destroy(t.sampler);
    subject_close(&t.s);
    free(t.text);
    return good;
}

int main(int argc, char **argv)
{
    static const char *const usual[] = {"cpu", "cpu/2", "opencl:0"};
    eng_context *engine = NULL;
    bool fast = argc > 1 && strcmp(argv[1], "--fast") == 0;
    argc -= fast;
    argv += fast;
    bool good = eng_context_create(NULL, &engine) == 0;
    const char *model = argc > 1 ? argv[1] : data_path("tiny-hybrid-f16.gguf");
    size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 200;
    int n_devices = argc > 3 ? argc - 3 : 3;
    printf("| device | guesses | tokens/s | of plain | accepted | guessing %% | passes %% | taking back %% | host %% | "
           "a rollback, us |\n|---|---|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < n_devices && good; i++)
        good = device(engine, argc > 3 ? argv[3 + i] : usual[i], model, n, fast);
    if (engine)
        eng_context_destroy(engine);
    return !good;
}
