/* Guesses of a second model. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "second.h"

int lm_second_begin(lm_second *s, const eng_lm_context *first, eng_lm_model *model, uint32_t max)
{
    eng_lm_context_params p;
    memset(s, 0, sizeof *s);
    s->first = first->model;
    eng_lm_context_defaults(&p);
    p.n_cells = first->p.n_cells;
    p.n_batch = first->p.n_batch;
    p.n_snapshots = max + 1; /* guesses that are run, and the token before them */
    p.n_logits = 1;
    p.precision = first->p.precision;
    int status = lm_vocabulary_compare(first->model, model, &s->map);
    if (!status && !s->map.same)
        p.n_cells = p.n_cells < LM_MAX_CELLS / 2 ? 2 * p.n_cells : p.n_cells; /* its tokens may be shorter */
    if (!status)
        status = eng_lm_context_create(model, &p, &s->context);
    if (status)
        return status;
    s->logits = lm_calloc((size_t)first->model->n.n_vocab, sizeof *s->logits);
    return s->logits ? ENG_OK : ENG_ERR_NOMEM;
}

void lm_second_end(lm_second *s)
{
    eng_lm_context_destroy(s->context);
    lm_vocabulary_free(&s->map);
    free(s->text);
    free(s->logits);
    memset(s, 0, sizeof *s);
}

void lm_second_forget(lm_second *s)
{
    s->n_text = s->n_translated = 0;
}

/* -- following the text ---------------------------------------------------------------- */

static int translate(lm_second *s, const int32_t *tokens, size_t n)
{
    int status = ENG_OK;
    for (; s->n_translated < n && !status; s->n_translated++)
        status = lm_vocabulary_translate(&s->map, s->first, s->context->model, tokens[s->n_translated], &s->text,
                                         &s->n_text, &s->text_room);
    return status;
}

/* What the sequence holds besides the text's beginning is taken back; if that is too far, it begins again. */
static int take_back(lm_second *s)
{
    const int32_t *held;
    size_t alike = 0, most = s->n_text ? s->n_text - 1 : 0; /* the last one is run anyway: its logits are wanted */
    size_t n_held = (size_t)eng_lm_sequence_tokens(s->context, 0, &held);
    while (alike < n_held && alike < most && held[alike] == s->text[alike])
        alike++;
    int64_t n = (int64_t)(n_held - alike);
    if (n > eng_lm_sequence_rollback_limit(s->context, 0))
        return eng_lm_sequence_remove(s->context, 0);
    return eng_lm_sequence_rollback(s->context, 0, n);
}

static int run(lm_second *s, const int32_t *tokens, size_t n)
{
    eng_lm_batch b = {.size = sizeof b, .n_tokens = (uint32_t)n, .tokens = tokens};
    return eng_lm_decode(s->context, &b);
}

/* -- one token ---------------------------------------------------------------------------- */

/* A token of the first vocabulary; -1: the guess ends. */
static int one(lm_second *s, const lm_ask *ask, float *q, int32_t *token)
{
    const float *logits = eng_lm_logits(s->context, s->context->n_logits_row - 1); /* of the last token run */
    int64_t n = s->context->model->n.n_vocab, n_first = s->first->n.n_vocab;
    for (int64_t i = 0; i < n_first && q; i++)
        s->logits[i] = i < n ? logits[i] : -INFINITY;
    int status = lm_ask_choose(ask, q ? s->logits : logits, q ? n_first : n, q, token);
    if (!status && !q && *token >= 0)
        *token = s->map.here[*token];
    return status;
}

int lm_second_guess(lm_second *s, const lm_ask *ask, int32_t *guess, uint32_t *n, bool *drawn)
{
    int64_t n_first = s->first->n.n_vocab;
    *drawn = s->map.same && !eng_sampler_greedy(ask->sampler);
    *n = 0;
    int status = translate(s, ask->tokens, ask->n_tokens);
    if (!status)
        status = take_back(s);
    if (status)
        return status;
    size_t n_held = (size_t)eng_lm_sequence_length(s->context, 0);
    size_t room = lm_cells_free(s->context), behind = s->n_text - n_held;
    if (behind == 0 || behind > room) /* nothing to go on from, or full: no guesses from here on */
        return ENG_OK;
    status = run(s, s->text + n_held, behind);
    while (!status) {
        int32_t token;
        status = one(s, ask, *drawn ? ask->q + *n * n_first : NULL, &token);
        if (status || token < 0)
            break;
        guess[(*n)++] = token;
        if (*n == ask->most || behind + *n > room)
            break;
        status = run(s, &s->map.there[token], 1);
    }
    return status;
}
