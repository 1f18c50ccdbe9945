/* engine-generate: an answer. */
#include "config.h"

#include <string.h>

#include "chat.h"

static int asked_to_stop(void *user)
{
    (void)user;
    return interrupted;
}

int chat_generate(chat *c, const eng_lm_sampler_params *how, chat_answer *answer)
{
    run *r = c->r;
    uint32_t last = 0;
    *answer = (chat_answer){.n_known = r->n_held};
    eng_lm_sampler_destroy(r->sampler);
    eng_lm_stream_destroy(r->stream);
    r->sampler = NULL;
    r->stream = NULL;
    eu_text_free(&r->text);
    int status = eng_lm_sampler_create(r->model, how, &r->sampler);
    if (!status)
        status = eng_lm_stream_create(r->model, c->goes_on ? ENG_LM_STREAM_GOES_ON : 0, &r->stream);
    if (status)
        return status;
    eng_lm_context_set_stop(r->context, asked_to_stop, NULL);
    status = run_prompt(r, &c->p, &answer->report, &last);
    eng_lm_context_set_stop(r->context, NULL, NULL); /* from here on it is asked between tokens */
    if (status == ENG_ERR_STATE && interrupted)
        return ENG_OK;
    if (!status)
        status = run_tokens(r, last, c->p.n_cells, &answer->report);
    answer->report.n_prompt = r->n_prompt;
    answer->report.n_tokens = r->n_ids - r->n_prompt;
    return status;
}

/* The random numbers of an answer are its own, and all of them follow from one seed. */
static eng_lm_sampler_params sampler_of(chat *c)
{
    eng_lm_sampler_params how = c->r->o.sampler;
    if (how.seed != UINT32_MAX)
        how.seed += c->answers;
    c->answers++;
    return how;
}

/* The oldest question with its answer leaves the messages, if it is not the only one. */
static bool forget_oldest(chat *c)
{
    size_t n = json_array_size(c->messages), first = 0, next;
    while (first < n && chat_is(json_array_get(c->messages, first), "system"))
        first++;
    for (next = first + 1; next < n && !chat_is(json_array_get(c->messages, next), "user"); next++)
        ;
    if (next >= n)
        return false;
    while (next-- > first)
        json_array_remove(c->messages, first);
    return true;
}

/* The text of the messages, and as run.ids: of as many as the context has room for, where old ones may be forgotten. */
static int prepare(chat *c, chat_text *text)
{
    run *r = c->r;
    for (size_t forgotten = 0;; forgotten++) {
        int status = chat_render(c, c->messages, NULL, true, text);
        if (!status)
            status = chat_prepare(c, text);
        if (forgotten && !status)
            chat_note(c, "(the context is too small for all of it: the oldest question is forgotten, with its answer)");
        if (status || !r->o.shift || r->n_prompt - r->n_held + r->o.keep < c->p.n_cells || !forget_oldest(c))
            return status;
        chat_text_free(text);
    }
}

/* The answer is a message, and what is held a text that goes on with it. */
static int keep_answer(chat *c, const char *prompt, size_t n)
{
    json_t *m = chat_message("assistant", eu_text_get(&c->r->text), c->r->text.n);
    const json_t *content = json_object_get(m, "content");
    int status = m ? chat_settle(c, prompt, n, json_string_value(content), json_string_length(content)) : ENG_OK;
    return m && json_array_append_new(c->messages, m) == 0 ? status : eng_fail_code(EU_NO_MEMORY("the messages"));
}

int chat_turn(chat *c, chat_answer *answer)
{
    chat_text text = {0};
    eng_lm_sampler_params how = sampler_of(c);
    int status = prepare(c, &text);
    if (!status) {
        status = chat_generate(c, &how, answer);
        if (!status && answer->report.stopped)
            status = keep_answer(c, text.at, text.n);
        else
            chat_mark_back(c);
    }
    chat_text_free(&text);
    return status;
}
