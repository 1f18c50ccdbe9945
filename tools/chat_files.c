/*
 * engine-generate: conversations in files.  FILE is JSON, to be read, edited and taken to other models: "messages"; and
 * with "text" what FILE.state holds, that is what eng_lm_sequence_save writes, so that nothing is run again.  A state
 * that does not fit - another model, other types of caches - is left alone, and the messages are run.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chat.h"

#define FORMAT "libengine conversation 1"

static char *joined(const char *path, const char *end)
{
    eu_text t = {0};
    eu_text_format(&t, "%s%s", path, end);
    return eu_text_take(&t);
}

static int cannot_write(const char *path)
{
    return eng_fail(ENG_ERR_IO, "%s cannot be written" ENG_CAUSE "%s", path, strerror(errno));
}

/* What a save puts aside, and takes the names of what was there when all of it is written. */
typedef struct saved {
    char *json, *state, *new_json, *new_state;
} saved;

static bool name(saved *s, const char *path)
{
    s->json = joined(path, "");
    s->state = joined(path, ".state");
    s->new_json = joined(path, ".new");
    s->new_state = joined(path, ".state.new");
    return s->json && s->state && s->new_json && s->new_state;
}

/* No state is there while messages change: at no time is one that belongs to others. */
static int take_names(const saved *s, bool held)
{
    if (unlink(s->state) && errno != ENOENT)
        return cannot_write(s->state);
    if (rename(s->new_json, s->json))
        return cannot_write(s->json);
    return held && rename(s->new_state, s->state) ? cannot_write(s->state) : ENG_OK;
}

int chat_save(chat *c, const char *path, bool *held)
{
    saved s = {0};
    json_t *all = json_pack("{s:s, s:O}", "format", FORMAT, "messages", c->messages);
    int status = name(&s, path) && all ? ENG_OK : eng_fail_code(EU_NO_MEMORY("the conversation"));
    *held = c->text.n && c->held;
    if (!status && *held)
        status = chat_catch_up(c);
    if (!status && *held)
        status = eng_lm_sequence_save(c->r->context, 0, s.new_state);
    json_t *text = !status && *held ? json_stringn(c->text.at, c->text.n) : NULL; /* NULL, too: bytes that JSON cannot have */
    if (text)
        json_object_set_new(all, "text", text);
    if (!status && json_dump_file(all, s.new_json, JSON_INDENT(2)))
        status = cannot_write(path);
    if (!status)
        status = take_names(&s, *held);
    if (status && s.new_state)
        unlink(s.new_state); /* never a folder, which is somebody else's */
    if (status && s.new_json)
        unlink(s.new_json);
    free(s.json);
    free(s.state);
    free(s.new_json);
    free(s.new_state);
    json_decref(all);
    return status;
}

static int read_messages(const char *path, json_t **all)
{
    json_error_t why;
    size_t i;
    json_t *m;
    *all = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
    if (!*all && why.line < 0)
        return eng_fail(ENG_ERR_IO, "%s cannot be loaded" ENG_CAUSE "%s", path, why.text);
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
