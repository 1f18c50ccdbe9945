/* engine-generate: a conversation with a person, line by line. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "chat.h"
#include "chat_input.h"

static void note_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* It stops an answer, and a read that waits; never the program. */
static void catch_interrupts(void)
{
    sigaction(SIGINT, &(struct sigaction){.sa_handler = note_interrupt}, NULL);
}

/* An answer that failed leaves the conversation as it was before the question; only a broken output ends it. */
static int ask(chat *c, const char *text, size_t n)
{
    chat_answer a = {0};
    json_t *before_it = json_copy(c->messages), *m = chat_message("user", text, n);
    if (!before_it || !m || json_array_append_new(c->messages, m)) {
        json_decref(before_it);
        return eng_fail_code(EU_NO_MEMORY("the messages"));
    }
    uint64_t before = 0, after = 0;
    eng_lm_stats s = {.size = sizeof s};
    if (eng_lm_context_get_stats(c->r->context, &s) == ENG_OK)
        before = s.tokens_dropped;
    int status = chat_turn(c, &a);
    bool none = status || !a.report.stopped;
    if (none) { /* the oldest question may have been forgotten for it */
        json_decref(c->messages);
        c->messages = before_it;
    } else {
        json_decref(before_it);
    }
    if (ferror(stdout))
        return status;
    if (!none) {
        putchar('\n');
        fflush(stdout);
    }
    if (status)
        chat_complain(c);
    else if (none)
        chat_note(c, "(stopped before the answer; the question is taken back)");
    else if (strcmp(a.report.stopped, "end of text") != 0)
        chat_note(c, "(%s)", a.report.stopped);
    if (eng_lm_context_get_stats(c->r->context, &s) == ENG_OK)
        after = s.tokens_dropped;
    if (!none && after > before)
        chat_note(c, "(the context was full: the oldest %llu tokens are forgotten)",
                  (unsigned long long)(after - before));
    if (!none && c->speed)
        chat_tell_speed(c, &a);
    return ENG_OK;
}

/* What was typed: a question, a command or nothing. */
static int take(chat *c, const char *text)
{
    char *again = NULL;
    int status = ENG_OK;
    if (text[strspn(text, " \t\n")] == 0)
        return ENG_OK;
    if (text[0] == '/' && text[1] != '/') {
        status = chat_command(c, text, &again);
        if (status)
            chat_complain(c);
        status = again ? ask(c, again, strlen(again)) : ENG_OK;
        free(again);
        return status;
    }
    text += text[0] == '/';
    return ask(c, text, strlen(text));
}

/* The text of -p and -f is the first question. */
static int first(chat *c)
{
    const options *o = &c->r->o;
    char *read = NULL;
    size_t n = o->prompt ? strlen(o->prompt) : 0;
    int status = o->prompt_file ? read_text(o->prompt_file, &read, &n) : ENG_OK;
    if (!status && read && n && read[n - 1] == '\n')
        n--;
    if (!status && n)
        status = ask(c, read ? read : o->prompt, n);
    free(read);
    c->ended = c->r->o.single_turn && n;
    return status;
}

static int talk(chat *c, chat_input *in)
{
    int status = ENG_OK;
    bool once = false; /* Ctrl-C, and nothing since */
    while (!status && !c->ended) {
        char *text = NULL;
        interrupted = 0;
        int what = chat_input_next(in, chat_color(c, CHAT_PROMPT), "> ", chat_color(c, CHAT_PLAIN), &text);
        if (what == INPUT_NO_MEMORY)
            return eng_fail_code(EU_NO_MEMORY("a line"));
        if (what == INPUT_END)
            break;
        if (what == INPUT_INTERRUPTED_EMPTY && once)
            break;
        once = what == INPUT_INTERRUPTED_EMPTY;
        if (once)
            chat_note(c, "\n(again, or /quit, ends)");
        if (what != INPUT_TEXT)
            continue;
        status = take(c, text);
        free(text);
        c->ended |= c->r->o.single_turn && json_array_size(c->messages) > 1;
    }
    return status;
}

int chat_talk(chat *c)
{
    chat_input *in = chat_input_open(!c->r->o.simple_io);
    if (!in)
        return eng_fail_code(EU_NO_MEMORY("the input"));
    c->r->show = chat_show;
    catch_interrupts();
    int status = first(c);
    if (!status && !c->ended)
        chat_note(c, "(/help tells what there is besides questions)");
    if (!status)
        status = talk(c, in);
    chat_input_close(in);
    return status;
}
