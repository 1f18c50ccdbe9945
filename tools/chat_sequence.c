/*
 * engine-generate: what of a conversation the model holds, so that only what is new is run.
 *
 * The tokens that an answer came as are its tokens: a text that begins with all that was said is their continuation, of
 * which the rest alone is made tokens.  Any other text is made tokens as a whole, and runs from where they differ.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "chat.h"

static uint64_t dropped(const chat *c)
{
    eng_lm_stats s = {.size = sizeof s};
    return eng_lm_context_get_stats(c->r->context, &s) ? 0 : s.tokens_dropped;
}

/* Of what the sequence was given: with what the context dropped. */
static size_t held(const chat *c)
{
    int64_t n = eng_lm_sequence_length(c->r->context, 0);
    return n > 0 ? (size_t)n + (size_t)(dropped(c) - c->dropped) : 0;
}

void chat_forget_text(chat *c)
{
    c->text.n = 0;
    c->n_ids = 0;
    c->marks.n = 0;
}

int chat_empty(chat *c)
{
    chat_forget_text(c);
    c->held = 0;
    int status = eng_lm_sequence_remove(c->r->context, 0);
    c->dropped = dropped(c);
    return status;
}

/* The token that the model's texts begin with, if the tokenizer puts one there. */
static int find_bos(chat *c)
{
    int32_t *with = NULL, *without = NULL;
    size_t n_with = 0, n_without = 0;
    int status = eng_lm_tokenize(c->r->model, "x", 1, ENG_LM_ADD_SPECIAL, &with, &n_with);
    if (!status)
        status = eng_lm_tokenize(c->r->model, "x", 1, 0, &without, &n_without);
    if (!status)
        c->bos = n_with > n_without && n_without && with[0] != without[0] ? with[0] : -1;
    eng_lm_free(with);
    eng_lm_free(without);
    return status;
}

int chat_context_open(chat *c, uint32_t keep)
{
    run *r = c->r;
    uint64_t cells, most;
    int status = run_count_cells(r, r->model, &cells, &most);
    if (!status)
        status = find_bos(c);
    if (status)
        return status;
    eng_lm_draft_destroy(r->draft); /* it is the context's */
    r->draft = NULL;
    eng_lm_context_destroy(r->context);
    r->context = NULL;
    if (!r->o.keep_given)
        r->o.keep = keep;
    status = run_open_context(r, cells);
    if (status)
        return status;
    c->p = (eng_lm_context_params){.size = sizeof c->p};
    chat_forget_text(c);
    c->held = 0;
    c->dropped = 0;
    return eng_lm_context_get_params(r->context, &c->p);
}

/* The tokens of a text from a byte on. */
static int tokens_from(const chat *c, const chat_text *t, size_t from, int32_t **ids, size_t *n_ids)
{
    size_t first = 0;
    while (first < t->n_given && t->given[first].to <= from)
        first++;
    const size_t n = t->n_given - first;
    eng_lm_range *given = calloc(n + 1, sizeof *given);
    if (!given)
        return eng_fail_code(EU_NO_MEMORY("what was given of a text"));
    for (size_t i = 0; i < n; i++) {
        const eng_lm_range r = t->given[first + i];
        given[i] = (eng_lm_range){r.from > from ? r.from - from : 0, r.to - from};
    }
    int status = eng_lm_tokenize_given(c->r->model, t->at + from, t->n - from, ENG_LM_PARSE_SPECIAL, given, n, ids,
                                       n_ids);
    free(given);
    return status;
}

int chat_tokens(const chat *c, const chat_text *text, int32_t **ids, size_t *n_ids)
{
    int status = tokens_from(c, text, 0, ids, n_ids);
    if (status || c->bos < 0 || (*n_ids && **ids == c->bos))
        return status;
    int32_t *plain = *ids;
    *ids = NULL;
    eu_text all = {0};
    eu_text_add_bytes(&all, &c->bos, sizeof c->bos);
    eu_text_add_bytes(&all, plain, *n_ids * sizeof *plain);
    eng_lm_free(plain);
    *ids = (int32_t *)(void *)eu_text_take(&all);
    ++*n_ids;
    return *ids ? ENG_OK : eng_fail_code(EU_NO_MEMORY("the tokens"));
}

/* A control token ends what was before it for the tokenizer, too. */
static bool is_control(const chat *c, int32_t token)
{
    char *text = NULL;
    size_t n = 1;
    if (eng_lm_text(c->r->model, &token, 1, 0, &text, &n))
        return false;
    eng_lm_free(text);
    return n == 0;
}

static int put_ids(run *r, size_t at, const int32_t *ids, size_t n)
{
    if (!eu_reserve(r->ids, r->capacity, at + n + 1))
        return eng_fail_code(EU_NO_MEMORY("the tokens"));
    memcpy(r->ids + at, ids, n * sizeof *ids);
    r->n_ids = r->n_prompt = at + n;
    return ENG_OK;
}

/* A turn begins at what is held. */
static int set_mark(chat *c)
{
    if (!eu_array_add(&c->marks, (chat_mark){c->text.n, c->n_ids, c->held}))
        return eng_fail_code(EU_NO_MEMORY("the turns"));
    return c->recurrent && c->held ? eng_lm_sequence_keep(c->r->context, 0) : ENG_OK; /* a state to go back to */
}

/* The text goes on from what is held: *done, and so it was. */
static int go_on(chat *c, const chat_text *text, bool *done)
{
    int32_t *ids = NULL;
    size_t n_ids = 0;
    *done = false;
    if (c->n_ids == 0 || text->n <= c->text.n || memcmp(text->at, c->text.at, c->text.n) != 0)
        return ENG_OK;
    int status = tokens_from(c, text, c->text.n, &ids, &n_ids);
    if (!status && n_ids && (is_control(c, ids[0]) || dropped(c) != c->dropped)) {
        *done = true;
        status = set_mark(c);
        if (!status)
            status = put_ids(c->r, c->n_ids, ids, n_ids);
        c->r->n_held = c->held;
    }
    eng_lm_free(ids);
    return status;
}

int chat_prepare(chat *c, const chat_text *text)
{
    int32_t *ids = NULL;
    size_t n_ids = 0;
    bool done;
    int status = go_on(c, text, &done);
    if (status || done)
        return status;
    chat_forget_text(c);
    status = chat_tokens(c, text, &ids, &n_ids);
    if (!status && n_ids == 0)
        status = eng_fail(ENG_ERR_INVALID, "the prompt has no tokens" ENG_ADVICE "give a text that is not empty");
    if (!status)
        status = put_ids(c->r, 0, ids, n_ids);
    eng_lm_free(ids);
    if (!status)
        status = eng_lm_sequence_reuse(c->r->context, 0, c->r->ids, n_ids, &c->r->n_held);
    c->dropped = dropped(c);
    return status;
}

int chat_settle(chat *c, const char *prompt, size_t n, const char *answer, size_t n_answer)
{
    run *r = c->r;
    size_t all = held(c);
    /* of drafts */
    int status = all > r->n_ids ? eng_lm_sequence_rollback(r->context, 0, (int64_t)(all - r->n_ids)) : ENG_OK;
    c->text.n = 0;
    eu_text_add_bytes(&c->text, prompt, n);
    eu_text_add_bytes(&c->text, answer, n_answer);
    c->n_ids = r->n_ids;
    c->held = held(c);
    return !status && c->text.failed ? eng_fail_code(EU_NO_MEMORY("the text")) : status;
}

void chat_mark_back(chat *c)
{
    if (!c->marks.n) { /* what was held has been replaced: the next text is compared with it */
        chat_forget_text(c);
        return;
    }
    chat_mark m = c->marks.at[--c->marks.n];
    int64_t length = (int64_t)m.held - (int64_t)(dropped(c) - c->dropped),
            now = eng_lm_sequence_length(c->r->context, 0);
    bool back = length >= 0 && length <= now && eng_lm_sequence_truncate(c->r->context, 0, length) == ENG_OK;
    if (!back) { /* run again when it is needed */
        eng_lm_sequence_remove(c->r->context, 0);
        c->dropped = dropped(c);
    }
    c->held = back ? m.held : 0;
    c->n_ids = m.ids;
    c->text.n = m.text;
}

int chat_catch_up(chat *c)
{
    eng_lm_batch b = {.size = sizeof b, .n_tokens = (uint32_t)(c->n_ids - c->held), .tokens = c->r->ids + c->held};
    int status = b.n_tokens ? eng_lm_decode(c->r->context, &b) : ENG_OK;
    if (!status)
        c->held = c->n_ids;
    return status;
}

int chat_adopt(chat *c, const char *text, size_t n)
{
    const int32_t *ids;
    int64_t held_now = eng_lm_sequence_tokens(c->r->context, 0, &ids);
    if (held_now < 0)
        held_now = 0;
    chat_forget_text(c);
    c->dropped = dropped(c);
    eu_text_add_bytes(&c->text, text, n);
    int status = c->text.failed ? eng_fail_code(EU_NO_MEMORY("the text")) : put_ids(c->r, 0, ids, (size_t)held_now);
    c->n_ids = c->held = status ? 0 : (size_t)held_now;
    return status;
}
