/* engine-generate: lines of a conversation that begin with /. */
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "chat.h"

static int no_file(const chat *c, const char *name)
{
    chat_note(c, "%s: a file is needed: %s FILE", name, name);
    return ENG_OK;
}

/* The last question and its answer are taken back; *asked: the question, if it is wanted.  false: there is none. */
static bool undo(chat *c, char **asked)
{
    size_t n = json_array_size(c->messages);
    while (n && !chat_is(json_array_get(c->messages, n - 1), "user"))
        n--;
    if (!n)
        return false;
    const json_t *content = json_object_get(json_array_get(c->messages, n - 1), "content");
    if (asked)
        *asked = json_is_string(content) ? strdup(json_string_value(content)) : NULL;
    while (json_array_size(c->messages) >= n)
        json_array_remove(c->messages, json_array_size(c->messages) - 1);
    chat_mark_back(c);
    return true;
}

static int do_undo(chat *c, const char *rest, char **ask)
{
    (void)rest, (void)ask;
    if (undo(c, NULL))
        chat_note(c, "(the last turn is taken back; %zu message%s left)", json_array_size(c->messages),
                  json_array_size(c->messages) == 1 ? " is" : "s are");
    else
        chat_note(c, "(there is no turn to take back)");
    return ENG_OK;
}

static int do_regen(chat *c, const char *rest, char **ask)
{
    (void)rest;
    if (!undo(c, ask) || !*ask)
        chat_note(c, "(there is no question to answer again)");
    return ENG_OK;
}

static int do_clear(chat *c, const char *rest, char **ask)
{
    (void)rest, (void)ask;
    for (size_t i = json_array_size(c->messages); i-- > 0;)
        if (i > 0 || !chat_is(json_array_get(c->messages, 0), "system"))
            json_array_remove(c->messages, i);
    int status = chat_empty(c);
    if (!status)
        status = eng_lm_kept_clear(c->r->context);
    if (!status)
        chat_note(c, "(all is forgotten%s)", json_array_size(c->messages) ? " but the system prompt" : "");
    return status;
}

static int do_save(chat *c, const char *rest, char **ask)
{
    (void)ask;
    if (!*rest)
        return no_file(c, "/save");
    bool held;
    int status = chat_save(c, rest, &held);
    if (!status && held)
        chat_note(c, "(saved: %s, and %s.state with what the model holds)", rest, rest);
    else if (!status)
        chat_note(c, "(saved: %s; the model holds nothing of it)", rest);
    return status;
}

static int do_load(chat *c, const char *rest, char **ask)
{
    (void)ask;
    if (!*rest)
        return no_file(c, "/load");
    int status = chat_load(c, rest);
    if (!status)
        chat_note(c, "(%zu messages, of which the model holds %lld tokens)", json_array_size(c->messages),
                  (long long)eng_lm_sequence_length(c->r->context, 0));
    return status;
}

static int do_system(chat *c, const char *rest, char **ask)
{
    (void)ask;
    int status = chat_system(c, rest, strlen(rest));
    if (!status)
        status = chat_restart(c);
    if (!status)
        chat_note(c, *rest ? "(the system prompt is another one; what was said stays)" :
                             "(there is no system prompt any more)");
    return status;
}

static int do_device(chat *c, const char *rest, char **ask)
{
    (void)rest, (void)ask;
    chat_tell_devices(c);
    return ENG_OK;
}

static int do_speed(chat *c, const char *rest, char **ask)
{
    (void)rest, (void)ask;
    c->speed = !c->speed;
    chat_note(c, c->speed ? "(the speed of each answer is told)" : "(speeds are not told any more)");
    return ENG_OK;
}

static int do_quit(chat *c, const char *rest, char **ask)
{
    (void)rest, (void)ask;
    c->ended = true;
    return ENG_OK;
}

static int do_help(chat *c, const char *rest, char **ask);

static const struct command {
    const char *name, *argument;
    int (*act)(chat *c, const char *rest, char **ask);
    const char *what;
} commands[] = {
    {"/help", "", do_help, "this"},
    {"/clear", "", do_clear, "forget what was said, but not the system prompt"},
    {"/undo", "", do_undo, "take the last question and its answer back"},
    {"/regen", "", do_regen, "answer the last question again"},
    {"/system", " TEXT", do_system, "another system prompt; without TEXT none"},
    {"/save", " FILE", do_save, "the conversation as JSON, and FILE.state, which is what the model holds"},
    {"/load", " FILE", do_load, "go on with a conversation that was saved"},
    {"/device", "", do_device, "where it runs, and what is held there"},
    {"/speed", "", do_speed, "tell how fast each answer is, or no more"},
    {"/quit", "", do_quit, "end, as the end of the input does"},
};
#define N_COMMANDS (sizeof commands / sizeof *commands)

static int do_help(chat *c, const char *rest, char **ask)
{
    (void)rest, (void)ask;
    for (size_t i = 0; i < N_COMMANDS; i++)
        chat_note(c, "  %s%-*s %s", commands[i].name, (int)(14 - strlen(commands[i].name)), commands[i].argument,
                  commands[i].what);
    chat_note(c, "A line that ends in \\ goes on in the next; // begins one that begins with /.\n"
              "Ctrl-C stops an answer; twice where a line is asked for, it ends the program.");
    return ENG_OK;
}

int chat_command(chat *c, const char *line, char **ask)
{
    char name[24];
    size_t n = strcspn(line, " \t\n");
    unsigned best = UINT_MAX;
    const char *near = NULL, *rest = line + n + strspn(line + n, " \t\n");
    *ask = NULL;
    snprintf(name, sizeof name, "%.*s", n < sizeof name ? (int)n : (int)sizeof name - 1, line);
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].act(c, rest, ask);
        if (eu_nearer(name, commands[i].name, &best))
            near = commands[i].name;
    }
    if (strcmp(name, "/exit") == 0 || strcmp(name, "/bye") == 0)
        return do_quit(c, rest, ask);
    chat_note(c, "%s: there is no such command%s%s%s; /help tells which there are", name, near ? " (did you mean " : "",
              near ? near : "", near ? "?)" : "");
    return ENG_OK;
}
