/* engine-generate: the system prompt, which a conversation begins with and keeps. */
#include "config.h"

#include <string.h>

#include "chat.h"

int chat_system(chat *c, const char *text, size_t n)
{
    const json_t *first = json_array_get(c->messages, 0);
    if (chat_is(first, "system"))
        json_array_remove(c->messages, 0);
    if (n && json_array_insert_new(c->messages, 0, chat_message("system", text, n)))
        return eng_fail_code(EU_NO_MEMORY("the messages"));
    return ENG_OK;
}

/* Tokens of the system prompt: of conversations that differ, those that they begin with alike. */
static int count_kept(const chat *c, uint32_t *keep)
{
    chat_text texts[2] = {{0}};
    int32_t *ids[2] = {NULL, NULL};
    size_t n[2] = {0, 0}, same = 0;
    int status = ENG_OK;
    *keep = c->r->o.keep; /* the first tokens in any case */
    for (int i = 0; i < 2 && !status && json_array_size(c->messages); i++) {
        json_t *list = json_array();
        json_array_append(list, json_array_get(c->messages, 0));
        json_array_append_new(list, chat_message("user", i ? "x" : "1", 1));
        status = chat_render(c, list, NULL, false, &texts[i]);
        json_decref(list);
        if (!status)
            status = chat_tokens(c, &texts[i], &ids[i], &n[i]);
    }
    while (!status && same < n[0] && same < n[1] && ids[0][same] == ids[1][same])
        same++;
    if (same > *keep)
        *keep = (uint32_t)same;
    for (int i = 0; i < 2; i++) {
        chat_text_free(&texts[i]);
        eng_lm_free(ids[i]);
    }
    return status;
}

int chat_restart(chat *c)
{
    uint32_t keep = 0;
    int status = c->r->o.chat == CHAT_TALK ? count_kept(c, &keep) : ENG_OK;
    return status ? status : chat_context_open(c, keep);
}
