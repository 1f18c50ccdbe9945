/* engine-generate: what a person types, of one line or several. */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chat_input.h"
#include "libengine/util/util.h"

struct chat_input {
    chat_edit *edit; /* NULL: lines as they come */
    char bytes[4096];
    size_t n, at;
};

chat_input *chat_input_open(bool edit)
{
    chat_input *in = calloc(1, sizeof *in);
    if (in && edit)
        in->edit = chat_edit_open();
    return in;
}

void chat_input_close(chat_input *in)
{
    if (in)
        chat_edit_close(in->edit);
    free(in);
}

/* A line without its end; a terminal in its own mode has edited it. */
static int plain_line(chat_input *in, const char *color, const char *prompt, const char *plain, char **line)
{
    eu_text text = {0};
    eu_text_add(&text, "");
    fprintf(stderr, "%s%s%s", color, prompt, plain);
    fflush(stderr);
    for (;;) {
        if (in->at == in->n) {
            const bool there = chat_input_wait();
            ssize_t n = there ? read(STDIN_FILENO, in->bytes, sizeof in->bytes) : -1;
            if (there && n < 0 && errno == EINTR)
                continue;
            if (!there) {
                eu_text_free(&text);
                return INPUT_INTERRUPTED_EMPTY; /* what was typed is the terminal's secret */
            }
            in->at = 0;
            in->n = n > 0 ? (size_t)n : 0;
            if (n <= 0)
                break;
        }
        char *end = memchr(in->bytes + in->at, '\n', in->n - in->at);
        size_t n = (end ? (size_t)(end - in->bytes) : in->n) - in->at;
        eu_text_add_bytes(&text, in->bytes + in->at, n);
        in->at += n + (end != NULL);
        if (end) {
            *line = eu_text_take(&text);
            return *line ? INPUT_TEXT : INPUT_NO_MEMORY;
        }
    }
    if (text.n == 0) {
        eu_text_free(&text);
        return INPUT_END;
    }
    *line = eu_text_take(&text); /* the last one, though it has no end */
    return *line ? INPUT_TEXT : INPUT_NO_MEMORY;
}

int chat_input_next(chat_input *in, const char *color, const char *prompt, const char *plain, char **text)
{
    eu_text all = {0};
    char *line = NULL;
    for (;;) {
        int what = in->edit ? chat_edit_line(in->edit, color, prompt, plain, &line) :
                              plain_line(in, color, prompt, plain, &line);
        if (what != INPUT_TEXT && !(what == INPUT_END && all.n)) {
            eu_text_free(&all);
            return what;
        }
        size_t n = what == INPUT_TEXT ? strlen(line) : 0;
        bool more = n && line[n - 1] == '\\';
        if (n)
            eu_text_add_bytes(&all, line, more ? n - 1 : n);
        else
            eu_text_add(&all, "");
        free(line);
        line = NULL;
        if (!more) {
            *text = eu_text_take(&all);
            return *text ? INPUT_TEXT : INPUT_NO_MEMORY;
        }
        eu_text_add(&all, "\n");
        prompt = ". ";
    }
}
