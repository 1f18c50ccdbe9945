/* engine-generate: requests from a pipe, one JSON object a line; each is answered by one, whatever it is. */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chat.h"

typedef struct request {
    json_t *messages, *more; /* more: other variables of the template               */
    const char *prompt;
    size_t n_prompt;
    long n_predict;
    eng_lm_sampler_params how;
} request;

static int wrong(const char *key, const char *expected)
{
    return eng_fail(ENG_ERR_INVALID, "\"%s\"" ENG_CAUSE "%s is expected", key, expected);
}

/* -- what a request may say ----------------------------------------------------------------- */

static const struct number {
    const char *key;
    bool whole;
    size_t at; /* in eng_lm_sampler_params                                           */
    double least, most;
} numbers[] = {
#define AT(member) offsetof(eng_lm_sampler_params, member)
    {"temperature", false, AT(temperature), 0, 1000},
    {"top_k", true, AT(top_k), 0, INT32_MAX},
    {"top_p", false, AT(top_p), 0, 1},
    {"min_p", false, AT(min_p), 0, 1},
    {"repeat_penalty", false, AT(repeat_penalty), 0.01, 1000},
    {"frequency_penalty", false, AT(frequency_penalty), -1000, 1000},
    {"presence_penalty", false, AT(presence_penalty), -1000, 1000},
    {"repeat_last_n", true, AT(penalty_last), 0, INT32_MAX},
    {"seed", true, AT(seed), -1, UINT32_MAX},
};

static int take_number(const struct number *n, const json_t *value, request *q)
{
    char expected[96];
    double v = json_number_value(value);
    if (!json_is_number(value) || (n->whole && !json_is_integer(value)) || !(v >= n->least) || !(v <= n->most)) {
        snprintf(expected, sizeof expected, "a %snumber from %.10g to %.10g", n->whole ? "whole " : "", n->least,
                 n->most);
        return wrong(n->key, expected);
    }
    char *at = (char *)&q->how + n->at;
    float real = (float)v;
    uint32_t whole = (uint32_t)(int64_t)v;
    memcpy(at, n->whole ? (void *)&whole : (void *)&real, 4);
    return ENG_OK;
}

static int take_messages(json_t *list, request *q)
{
    size_t i;
    json_t *m;
    if (!json_is_array(list) || json_array_size(list) == 0)
        return wrong("messages", "a list of one message at least");
    json_array_foreach(list, i, m)
        if (!json_is_string(json_object_get(m, "role")))
            return wrong("messages", "a list of objects with a \"role\" and \"content\"");
    q->messages = list;
    return ENG_OK;
}

static int take(const char *key, json_t *value, request *q)
{
    static const char *const variables[] = {"tools", "documents", "chat_template_kwargs"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(key, numbers[i].key) == 0)
            return take_number(&numbers[i], value, q);
    if (strcmp(key, "id") == 0)
        return ENG_OK;
    if (strcmp(key, "messages") == 0)
        return take_messages(value, q);
    if (strcmp(key, "prompt") == 0) {
        q->prompt = json_string_value(value);
        q->n_prompt = json_string_length(value);
        return q->prompt ? ENG_OK : wrong(key, "a text");
    }
    if (strcmp(key, "max_tokens") == 0) {
        q->n_predict = (long)json_integer_value(value);
        return json_is_integer(value) && q->n_predict >= -1 && q->n_predict <= INT32_MAX ? ENG_OK :
               wrong(key, "a whole number from -1 to 2147483647");
    }
    if (strcmp(key, variables[2]) == 0)
        return json_is_object(value) ? json_object_update(q->more, value), ENG_OK : wrong(key, "an object");
    for (int i = 0; i < 2; i++)
        if (strcmp(key, variables[i]) == 0)
            return json_object_set(q->more, key, value), ENG_OK;
    return eng_fail(ENG_ERR_INVALID, "\"%s\"" ENG_CAUSE "a request has no such member", key);
}

static int take_all(const chat *c, json_t *line, request *q)
{
    const char *key;
    json_t *value;
    int status = ENG_OK;
    *q = (request){.more = json_object(), .n_predict = c->r->o.n_predict, .how = c->r->o.sampler};
    if (!json_is_object(line))
        return eng_fail(ENG_ERR_INVALID, "the request" ENG_CAUSE "an object is expected");
    json_object_foreach(line, key, value)
        if (!status)
            status = take(key, value, q);
    if (!status && !q->messages == !q->prompt)
        status = eng_fail(ENG_ERR_INVALID, "the request" ENG_CAUSE "either \"messages\" or \"prompt\" is expected");
    return status;
}

/* -- answering -------------------------------------------------------------------------------- */

static int render(const chat *c, const request *q, chat_text *text)
{
    const json_t *first = json_array_get(q->messages, 0);
    if (!json_array_size(c->messages) || chat_is(first, "system"))
        return chat_render(c, q->messages, q->more, true, text);
    json_t *all = json_copy(c->messages); /* the system prompt of the command line */
    json_array_extend(all, q->messages);
    int status = chat_render(c, all, q->more, true, text);
    json_decref(all);
    return status;
}

static int answer(chat *c, const request *q, chat_answer *a)
{
    run *r = c->r;
    const chat_text prompt = {.at = (char *)q->prompt, .n = q->n_prompt};
    chat_text text = {0};
    int status = q->prompt ? ENG_OK : render(c, q, &text);
    chat_forget_text(c); /* a request knows of no other */
    if (!status)
        status = chat_prepare(c, q->prompt ? &prompt : &text);
    chat_text_free(&text);
    if (!status && r->n_prompt > c->p.n_cells)
        status = eng_fail(ENG_ERR_STATE, "the request" ENG_CAUSE "it has %zu tokens, the context holds %u" ENG_ADVICE
                          "make it larger (-c) or shorten the request", r->n_prompt, c->p.n_cells);
    if (status)
        return status;
    c->goes_on = q->prompt != NULL;
    const long usual = r->o.n_predict;
    r->o.n_predict = q->n_predict;
    status = chat_generate(c, &q->how, a);
    r->o.n_predict = usual; /* what requests have that say nothing */
    return status;
}

static const char *stop_word(const char *stopped)
{
    static const char *const words[][2] = {{"end of text", "end"}, {"as many as asked for", "length"},
                                           {"end of the grammar", "end"},
                                           {"reverse prompt", "stop"}, {"the context is full", "full"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(stopped, words[i][0]) == 0)
            return words[i][1];
    return stopped;
}

static void tell_rate(eu_json *j, const char *key, size_t n, size_t cold, double seconds)
{
    if (n > cold && seconds > 0)
        eu_json_real(j, key, (double)(n - cold) / seconds, 4);
    else
        eu_json_null(j, key);
}

static int tell(const chat *c, const json_t *id, int status, const chat_answer *a)
{
    eu_json j = {.write = eu_json_to_file, .user = stdout};
    const report *r = &a->report;
    eu_json_object(&j, NULL, false);
    if (json_is_string(id))
        eu_json_bytes(&j, "id", json_string_value(id), json_string_length(id));
    else if (json_is_integer(id))
        eu_json_int(&j, "id", json_integer_value(id));
    if (status) {
        eu_json_text(&j, "error", eng_last_error());
    } else {
        eu_json_bytes(&j, "text", eu_text_get(&c->r->text), c->r->text.n);
        eu_json_text(&j, "stop", stop_word(r->stopped));
        eu_json_uint(&j, "tokens", r->n_tokens);
        eu_json_uint(&j, "prompt_tokens", r->n_prompt);
        eu_json_uint(&j, "known_tokens", a->n_known);
    }
    if (!status && c->r->o.timings) {
        tell_rate(&j, "prompt_tokens_per_second", r->n_prompt - a->n_known, r->prompt_cold, r->prompt_seconds);
        tell_rate(&j, "tokens_per_second", r->n_decoded, r->decode_cold, r->decode_seconds);
    }
    eu_json_end(&j);
    return fflush(stdout) || ferror(stdout) ? run_output_failed() : ENG_OK;
}

static int one(chat *c, const char *line, size_t n)
{
    json_error_t why;
    request q = {0};
    chat_answer a = {0};
    json_t *read = json_loadb(line, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    int status = read ? take_all(c, read, &q) :
                        eng_fail(ENG_ERR_FORMAT, "the request is no JSON" ENG_CAUSE "%s, at byte %d",
                                 strstr(why.text, "JSON_ALLOW_NUL") ? "\\u0000 has no place in a text" : why.text, why.position);
    if (!status)
        status = answer(c, &q, &a);
    const json_t *id = json_object_get(read, "id");
    int told = tell(c, id, status, &a);
    json_decref(q.more);
    json_decref(read);
    return told;
}

int chat_lines(chat *c)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    int status = ENG_OK;
    while (!status && (errno = 0, n = getline(&line, &room, stdin)) > 0) {
        while (n > 0 && strchr(" \t\r\n", line[n - 1]) && line[n - 1])
            n--;
        if (n > 0)
            status = one(c, line, (size_t)n);
    }
    if (!status && ferror(stdin))
        status = eng_fail(ENG_ERR_IO, "standard input cannot be read" ENG_CAUSE "%s", strerror(errno));
    free(line);
    return status;
}
