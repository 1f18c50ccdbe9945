/* Guesses of the model's own block. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "block.h"

int lm_block_begin(lm_block *b, const eng_lm_context *first)
{
    eng_lm_context_params p;
    memset(b, 0, sizeof *b);
    b->first = first;
    if (!first->model->block)
        return eng_fail(ENG_ERR_STATE, "the model was opened without its block for drafting" ENG_ADVICE
                        "open it with the flag ENG_LM_DRAFTS");
    if (!first->p.outputs)
        return eng_fail(ENG_ERR_STATE,
                        "the block for drafting needs hidden states, and the context gives none" ENG_ADVICE
                        "make the context with outputs ENG_LM_HIDDEN_ALL");
    eng_lm_context_defaults(&p);
    p.n_cells = first->p.n_cells;
    p.n_batch = first->p.n_batch;
    p.n_logits = 1;
    p.type_k = first->p.type_k;
    p.type_v = first->p.type_v;
    p.rotate_k = first->p.rotate_k;
    p.rotate_v = first->p.rotate_v;
    p.precision = first->p.precision;
    p.placement.split = first->p.placement.split;
    p.on_full = ENG_LM_FULL_DROP; /* it guesses with less then */
    p.outputs = ENG_LM_HIDDEN;
    return eng_lm_context_create(first->model->block, &p, &b->context);
}

void lm_block_end(lm_block *b)
{
    eng_lm_context_destroy(b->context);
    free(b->tokens);
    free(b->states);
    memset(b, 0, sizeof *b);
}

int lm_block_forget(lm_block *b)
{
    b->n = b->n_guessed = 0;
    return eng_lm_sequence_remove(b->context, 0);
}

/* -- following the text ---------------------------------------------------------------- */

static size_t width(const lm_block *b)
{
    return (size_t)b->first->model->n.n_embd;
}

static int add(lm_block *b, int32_t token, const float *state)
{
    if (!eu_reserve(b->tokens, b->token_room, b->n + 1) || !eu_reserve(b->states, b->state_room, (b->n + 1) * width(b)))
        return eng_fail_code(EU_NO_MEMORY("the states that drafts are made of"));
    b->tokens[b->n] = token;
    memcpy(b->states + b->n++ * width(b), state, width(b) * sizeof *state);
    return ENG_OK;
}

/* The block sees the pairs in place of what it guessed with, as many at a time as a full context makes room for.  *last: where
 * the newest is in its pass. */
static int run(lm_block *b, uint32_t *last)
{
    const size_t half = b->context->p.n_cells / 2, most = half < 1 ? 1 : half < b->context->p.n_batch ? half : b->context->p.n_batch;
    int status = eng_lm_sequence_rollback(b->context, 0, b->n_guessed);
    size_t n;
    b->n_guessed = 0;
    for (size_t at = 0; at < b->n && !status; at += n) {
        n = b->n - at < most ? b->n - at : most;
        eng_lm_batch batch = {.size = sizeof batch, .n_tokens = (uint32_t)n, .tokens = b->tokens + at};
        status = lm_decode_states(b->context, &batch, b->states + at * width(b));
        *last = (uint32_t)n - 1;
    }
    if (!status)
        b->n = 0;
    return status;
}

int lm_block_follow(lm_block *b, uint32_t sequence, const int32_t *tokens, size_t n)
{
    const lm_sequence *s = &b->first->sequences[sequence];
    size_t ran = s->batch_end - s->batch_begin;
    int status = ENG_OK;
    if (n < 2 || ran == 0 || ran > n - 1 || !lm_hidden_at(b->first, s->batch_begin) ||
        b->first->order_at[s->batch_end - 1] + 1 != s->length ||
        memcmp(tokens + n - 1 - ran, s->tokens + s->length - ran, ran * sizeof *tokens) != 0)
        return ENG_OK; /* nothing is known of the text yet: guesses begin after the next step */
    for (size_t i = 0; i < ran && !status; i++)
        status = add(b, tokens[n - ran + i], lm_hidden_at(b->first, s->batch_begin + (uint32_t)i));
    return status;
}

int lm_block_note(lm_block *b, const int32_t *chosen, uint32_t n)
{
    uint32_t last;
    int status = b->n < b->context->p.n_batch ? ENG_OK : run(b, &last); /* while nobody asks for guesses */
    for (uint32_t i = 0; i < n && !status; i++)
        status = add(b, chosen[i], eng_lm_hidden(b->first, i));
    return status;
}

/* -- guessing -------------------------------------------------------------------------- */

int lm_block_guess(lm_block *b, const lm_ask *ask, int32_t *guess, uint32_t *n, bool *drawn)
{
    const int64_t n_vocab = b->first->model->n.n_vocab;
    uint32_t last = 0;
    *drawn = !eng_sampler_greedy(ask->sampler);
    *n = 0;
    if (b->n == 0)
        return ENG_OK;
    int status = run(b, &last);
    while (!status) {
        int32_t token;
        status = lm_ask_choose(ask, eng_lm_logits(b->context, last), n_vocab, *drawn ? ask->q + *n * n_vocab : NULL,
                               &token);
        if (status || token < 0)
            break;
        guess[(*n)++] = token;
        if (*n == ask->most)
            break;
        /* further on its own state takes the place of the model's */
        eng_lm_batch one = {.size = sizeof one, .n_tokens = 1, .tokens = &token};
        status = lm_decode_states(b->context, &one, eng_lm_hidden(b->context, last));
        b->n_guessed += !status;
        last = 0;
    }
    return status;
}
