/* engine-generate: which template a conversation has, and the text of its messages. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "chat.h"

int chat_template_open(chat *c)
{
    const options *o = &c->r->o;
    char *read = NULL;
    size_t n = 0;
    const char *source = o->chat_template;
    const char *from = o->chat_template_file ? o->chat_template_file :
                       source                ? "--chat-template" :
                                               "the model's template";
    int status = o->chat_template_file ? read_text(o->chat_template_file, &read, &n) : ENG_OK;
    if (status)
        return status;
    if (source && chat_template_named(source))
        source = chat_template_named(source);
    else if (source && !strstr(source, "{{") && !strstr(source, "{%")) /* a name that nobody knows, surely */
        return eng_fail(ENG_ERR_INVALID, "--chat-template %s" ENG_CAUSE "it is neither Jinja nor one of the names %s",
                        source, chat_template_names());
    source = read ? read : source ? source : eng_lm_model_template(c->r->model, NULL);
    if (source)
        status = eng_lm_template_create(source, read ? n : strlen(source), &c->jinja);
    free(read);
    return status ? eng_fail_in(status, "%s", from) : ENG_OK;
}

int chat_render(const chat *c, const json_t *messages, const json_t *more, bool generation, chat_text *text)
{
    if (!c->jinja)
        return eng_fail(ENG_ERR_STATE,
                        "the model's file has no chat template" ENG_ADVICE "give one with --chat-template NAME or "
                        "TEXT; names are %s",
                        chat_template_names());
    json_t *all = more ? json_copy((json_t *)more) : json_object();
    json_object_set(all, "messages", (json_t *)messages);
    json_object_set_new(all, "add_generation_prompt", json_boolean(generation));
    char *json = json_dumps(all, JSON_COMPACT);
    json_decref(all);
    int status = json ? eng_lm_template_render_given(c->jinja, c->r->model, json, &text->at, &text->n, &text->given,
                                                     &text->n_given) :
                        eng_fail_code(EU_NO_MEMORY("the messages"));
    free(json);
    return status;
}

void chat_text_free(chat_text *text)
{
    eng_lm_free(text->at);
    eng_lm_free(text->given);
    *text = (chat_text){0};
}

json_t *chat_message(const char *role, const char *content, size_t n)
{
    eu_text clean = {0};
    for (size_t i = 0, k; i < n; i += k ? k : 1) {
        k = eu_utf8_length(content + i, n - i);
        k = content[i] ? k : 0;
        eu_text_add_bytes(&clean, k ? content + i : "\xef\xbf\xbd", k ? k : 3);
    }
    json_t *m = clean.failed ? NULL : json_pack("{s:s, s:s}", "role", role, "content", eu_text_get(&clean));
    eu_text_free(&clean);
    return m;
}

bool chat_is(const json_t *message, const char *role)
{
    const char *is = json_string_value(json_object_get(message, "role"));
    return is && strcmp(is, role) == 0;
}
