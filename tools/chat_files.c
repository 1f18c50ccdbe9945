/*
 * engine-generate: conversations in files.  FILE is JSON, to be read, edited and taken to other models: "messages"; and
 * with "text" what FILE.state holds, that is what eng_lm_sequence_save writes, so that nothing is run again.  A state
 * that does not fit - another model, other types of caches - is left alone, and the messages are run.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chat.h"

#define FORMAT "libengine conversation 1"

static char *joined(const char *path, const char *end)
{
    eu_text t = {0};
    eu_text_format(&t, "%s%s", path, end);
    return eu_text_take(&t);
}

/* Aside and renamed. */
static int write_json(const json_t *all, const char *path)
{
    char *aside = joined(path, ".new");
    if (!aside)
        return eng_fail_code(EU_NO_MEMORY("the name of a file"));
    int status = ENG_OK;
    if (json_dump_file(all, aside, JSON_INDENT(2)) || rename(aside, path)) {
        status = eng_fail(ENG_ERR_IO, "%s cannot be written" ENG_CAUSE "%s", path, strerror(errno));
        remove(aside);
    }
    free(aside);
    return status;
}

int chat_save(chat *c, const char *path)
{
    char *state = joined(path, ".state");
    json_t *all = json_pack("{s:s, s:O}", "format", FORMAT, "messages", c->messages);
    if (!state || !all) {
        free(state);
        json_decref(all);
        return eng_fail_code(EU_NO_MEMORY("the conversation"));
    }
    int status = ENG_OK;
    bool held = c->text.n && c->held;
    if (held)
        status = chat_catch_up(c);
    if (!status && held)
        status = eng_lm_sequence_save(c->r->context, 0, state);
    else
        remove(state); /* of a conversation that was here before */
    json_t *text = held ? json_stringn(c->text.at, c->text.n) : NULL; /* NULL, too: bytes that JSON cannot have */
    if (text)
        json_object_set_new(all, "text", text);
    if (!status)
        status = write_json(all, path);
    free(state);
    json_decref(all);
    return status;
}

static int read_messages(const char *path, json_t **all)
{
    json_error_t why;
    size_t i;
    json_t *m;
    *all = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
    if (!*all)
        return eng_fail(ENG_ERR_FORMAT, "%s is no conversation" ENG_CAUSE "%s, line %d", path, why.text, why.line);
    const json_t *list = json_object_get(*all, "messages");
    bool good = json_is_array(list);
    json_array_foreach(list, i, m)
        good = good && json_is_string(json_object_get(m, "role")) && json_object_get(m, "content");
    if (good)
        return ENG_OK;
    json_decref(*all);
    *all = NULL;
    return eng_fail(ENG_ERR_FORMAT,
                    "%s is no conversation" ENG_CAUSE "\"messages\", a list of objects with \"role\" and \"content\", "
                    "is expected",
                    path);
}

/* false: the messages will be run. */
static bool load_state(chat *c, const json_t *all, const char *path)
{
    const json_t *text = json_object_get(all, "text");
    char *state = joined(path, ".state");
    bool good = state && json_is_string(text) && eng_lm_sequence_load(c->r->context, 0, state) == ENG_OK;
    free(state);
    return good && chat_adopt(c, json_string_value(text), json_string_length(text)) == ENG_OK;
}

int chat_load(chat *c, const char *path)
{
    json_t *all = NULL;
    int status = read_messages(path, &all);
    if (status)
        return status;
    json_t *before = c->messages;
    c->messages = json_incref(json_object_get(all, "messages"));
    status = json_equal(json_array_get(before, 0), json_array_get(c->messages, 0)) ? chat_empty(c) : chat_restart(c);
    json_decref(before);
    if (status) {
        json_decref(all);
        return status;
    }
    if (!load_state(c, all, path))
        chat_note(c, "(the messages are here; what the model made of them is not, and will be run)");
    json_decref(all);
    return ENG_OK;
}
