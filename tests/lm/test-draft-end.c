/*
 * A text that cannot go on ends with drafts where it ends without them: the tokens that a step has chosen before that
 * are given, and the next step says why there are no more.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "engine/grammar.h"
#include "subject.h"

#define PROMPT 3
#define MOST 32

typedef struct text {
    int32_t tokens[MOST];
    uint32_t n;
} text;

/* All tokens of a text that is known, and then others. */
static int tell(void *user, const int32_t *tokens, size_t n_tokens, uint32_t most, int32_t *guess, uint32_t *n)
{
    const text *known = user;
    (void)tokens;
    for (*n = 0; *n < most; ++*n)
        guess[*n] = n_tokens + *n < known->n ? known->tokens[n_tokens + *n] : 1;
    return ENG_OK;
}

/* Follows the grammar, and is never to choose a token that ends a text. */
static eng_lm_sampler *sampler_of(const subject *s, const eng_lm_grammar *grammar)
{
    eng_lm_logit_bias *ends = calloc(s->n_vocab, sizeof *ends);
    eng_lm_sampler_params p;
    eng_lm_sampler *sampler = NULL;
    eng_lm_sampler_defaults(&p);
    p.temperature = 0;
    p.logit_bias = ends;
    for (int32_t i = 0; ends && i < (int32_t)s->n_vocab; i++)
        if (eng_lm_is_end(s->model, i))
            ends[p.n_logit_bias++] = (eng_lm_logit_bias){i, -INFINITY};
    if (ends && eng_lm_sampler_create(s->model, &p, &sampler) == ENG_OK)
        eng_lm_sampler_set_grammar(sampler, grammar);
    free(ends);
    return sampler;
}

/* The prompt and a token chosen after it. */
static bool begin(subject *s, eng_lm_sampler *sampler, text *t)
{
    *t = (text){{3, 4, 5}, PROMPT};
    const float *logits = eng_lm_sequence_remove(s->context, 0) == ENG_OK ? subject_run(s, t->tokens, PROMPT) : NULL;
    if (!sampler || !logits || eng_lm_sampler_choose(sampler, logits, &t->tokens[t->n]) != ENG_OK)
        return false;
    eng_lm_sampler_accept(sampler, t->tokens[t->n++]);
    return true;
}

/* One by one, as long as there are any. */
static void plain(subject *s, eng_lm_sampler *sampler, text *t)
{
    const float *logits;
    while (t->n < MOST && (logits = subject_run(s, &t->tokens[t->n - 1], 1)) &&
           eng_lm_sampler_choose(sampler, logits, &t->tokens[t->n]) == ENG_OK)
        eng_lm_sampler_accept(sampler, t->tokens[t->n++]);
}

static int drafted(subject *s, eng_lm_sampler *sampler, text *known, uint32_t max, text *t)
{
    eng_lm_draft_params p;
    eng_lm_draft *draft;
    eng_lm_draft_defaults(&p);
    p.from = ENG_LM_DRAFT_HOST;
    p.guess = tell;
    p.guess_user = known;
    p.max = max;
    p.flags = ENG_LM_DRAFT_ALWAYS;
    int status = eng_lm_draft_create(s->context, &p, &draft);
    if (status)
        return status;
    status = eng_lm_draft_begin(draft, t->tokens, t->n);
    for (uint32_t n; !status && t->n < MOST; t->n += n)
        if ((status = eng_lm_draft_step(draft, sampler, MOST - t->n, t->tokens + t->n, &n)) != ENG_OK)
            n = 0;
    eng_lm_draft_destroy(draft);
    return status;
}

int main(void)
{
    subject s;
    eng_context *engine = tap_begin();
    eng_lm_grammar *grammar = NULL;
    eng_lm_context_params p;
    eng_lm_context_defaults(&p);
    p.n_cells = 64;
    p.n_snapshots = 8;
    if (!engine || !tap_check(subject_open(&s, engine, "cpu", data_path("tiny-hybrid-f16.gguf"), NULL, &p) == ENG_OK,
                              "opened"))
        return tap_end(engine);
    tap_check(eng_lm_grammar_create(s.model, "root ::= \"a\" \"b\" \"c\" \"d\" \"e\"", NULL, &grammar) == ENG_OK, "grammar");
    for (uint32_t max = 1; grammar && max < 8; max++) {
        text want = {{0}, 0}, got = want;
        eng_lm_sampler *one = sampler_of(&s, grammar), *other = sampler_of(&s, grammar);
        if (begin(&s, one, &want))
            plain(&s, one, &want);
        int status = begin(&s, other, &got) ? drafted(&s, other, &want, max, &got) : ENG_OK;
        tap_check(want.n > PROMPT + 1 && got.n == want.n && memcmp(got.tokens, want.tokens, want.n * sizeof *want.tokens) == 0,
                  "guesses of %u: %u tokens, without %u", max, got.n, want.n);
        tap_check(status == ENG_ERR_STATE && strstr(eng_last_error(), "no token is left"), "%s", eng_last_error());
        eng_lm_sampler_destroy(one);
        eng_lm_sampler_destroy(other);
    }
    eng_lm_grammar_destroy(grammar);
    subject_close(&s);
    return tap_end(engine);
}
