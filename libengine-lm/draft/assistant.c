/* Guesses of an assistant (see assistant.h). */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "assistant.h"
#include "vocabulary.h"

static int check_vocabulary(const eng_lm_model *first, const eng_lm_model *model)
{
    lm_vocabulary_map map = {0};
    int status = lm_vocabulary_compare(first, model, &map);
    bool same = map.same && map.n_here == map.n_there;
    lm_vocabulary_free(&map);
    return status || same ? status :
               eng_fail(ENG_ERR_INVALID, "the assistant's vocabulary is not the model's" ENG_ADVICE
                        "take the assistant that was made for this model");
}

int lm_assistant_begin(lm_assistant *a, eng_lm_context *first, eng_lm_model *model, uint32_t sequence)
{
    memset(a, 0, sizeof *a);
    a->first = first;
    a->sequence = sequence;
    if (model->device != first->model->device)
        return eng_fail(ENG_ERR_INVALID, "an assistant reads the caches of its model" ENG_CAUSE
                                         "it is on another device" ENG_ADVICE "open both on one");
    if (!first->p.outputs)
        return eng_fail(ENG_ERR_STATE, "an assistant needs hidden states, and the context gives none" ENG_ADVICE
                        "make the context with outputs ENG_LM_HIDDEN");
    int status = check_vocabulary(first->model, model);
    if (!status)
        status = lm_context_borrow(model, first, &a->context);
    if (status)
        return status;
    a->state = lm_calloc((size_t)model->n.d_hidden, sizeof *a->state);
    return a->state ? ENG_OK : ENG_ERR_NOMEM;
}

void lm_assistant_end(lm_assistant *a)
{
    eng_lm_context_destroy(a->context);
    free(a->state);
    memset(a, 0, sizeof *a);
}

static void take(lm_assistant *a, const float *state)
{
    a->known = state != NULL;
    if (state)
        memcpy(a->state, state, (size_t)a->context->model->n.d_hidden * sizeof *state);
}

void lm_assistant_follow(lm_assistant *a)
{
    const eng_lm_context *c = a->first;
    const lm_sequence *s = &c->sequences[a->sequence];
    bool ran = s->batch_end > s->batch_begin && s->batch_end <= c->n_logits_row &&
               c->order_at[s->batch_end - 1] + 1 == s->length;
    take(a, ran ? eng_lm_hidden(c, c->order[s->batch_end - 1]) : NULL); /* else guesses begin after the next step */
}

void lm_assistant_note(lm_assistant *a, uint32_t n)
{
    take(a, eng_lm_hidden(a->first, n - 1));
}

int lm_assistant_guess(lm_assistant *a, const lm_ask *ask, int32_t *guess, uint32_t *n, bool *drawn)
{
    const lm_sequence *s = &a->first->sequences[a->sequence];
    const int64_t n_vocab = a->first->model->n.n_vocab;
    int32_t token = ask->tokens[ask->n_tokens - 1], pos = lm_cells_next(a->first, s);
    const float *state = a->state;
    *drawn = !eng_sampler_greedy(ask->sampler);
    *n = 0;
    while (a->known && *n < ask->most) {
        int status = lm_context_ask(a->context, token, pos, s->rank, state);
        if (!status)
            status = lm_ask_choose(ask, eng_lm_logits(a->context, 0), n_vocab, *drawn ? ask->q + *n * n_vocab : NULL,
                                   &token);
        if (status || token < 0)
            return status;
        guess[(*n)++] = token;
        state = eng_lm_hidden(a->context, 0);
    }
    return ENG_OK;
}
