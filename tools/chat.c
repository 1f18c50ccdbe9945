/* engine-generate: a conversation, from its first word to its last. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chat.h"

/* Colours are for terminals, and not for people who want none (no-color.org). */
static bool use_color(const options *o)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if (o->color != COLOR_AUTO)
        return o->color == COLOR_ON && isatty(STDERR_FILENO);
    return isatty(STDERR_FILENO) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

static int first_messages(chat *c)
{
    const options *o = &c->r->o;
    char *read = NULL;
    size_t n = o->system ? strlen(o->system) : 0;
    int status = o->system_file ? read_text(o->system_file, &read, &n) : ENG_OK;
    if (!status && read && n && read[n - 1] == '\n')
        n--; /* that an editor has put at the end */
    if (!status && n)
        status = chat_system(c, read ? read : o->system, n);
    free(read);
    return status;
}

/* A template refuses what it cannot say before anybody has typed. */
static int try_template(const chat *c)
{
    chat_text text = {0};
    json_t *list = json_copy(c->messages);
    json_array_append_new(list, chat_message("user", "x", 1));
    int status = chat_render(c, list, NULL, true, &text);
    json_decref(list);
    chat_text_free(&text);
    return status;
}

static int begin(chat *c)
{
    eng_lm_model_info info = {.size = sizeof info};
    eng_lm_model_get_info(c->r->model, &info);
    c->recurrent = info.recurrent;
    c->speed = c->r->o.timings;
    c->color = use_color(&c->r->o);
    c->messages = json_array();
    int status = c->messages ? chat_template_open(c) : eng_fail_code(EU_NO_MEMORY("the messages"));
    if (!status)
        status = first_messages(c);
    if (!status && c->r->o.chat == CHAT_TALK)
        status = try_template(c);
    if (!status)
        status = run_open_grammar(c->r);
    return status ? status : chat_restart(c);
}

int chat_run(run *r)
{
    chat *c = calloc(1, sizeof *c);
    if (!c)
        return eng_fail_code(EU_NO_MEMORY("the conversation"));
    c->r = r;
    int status = begin(c);
    if (!status)
        status = r->o.chat == CHAT_LINES ? chat_lines(c) : chat_talk(c);
    eng_lm_template_destroy(c->jinja);
    json_decref(c->messages);
    eu_text_free(&c->text);
    eu_array_free(&c->marks);
    free(c);
    return status;
}
