/*
 * Templates rendered for templates.py: from the standard input pairs of texts, each ended by a zero byte: a template
 * and its variables as JSON.  Of each it writes a line "ok BYTES" or "STATUS BYTES", and so many bytes: the text, or
 * the error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/chat.h"

static char *read_text(size_t *n)
{
    char *text = NULL;
    size_t room = 0;
    ssize_t got = getdelim(&text, &room, 0, stdin);
    if (got <= 0) {
        free(text);
        return NULL;
    }
    *n = (size_t)got - (text[got - 1] == 0);
    return text;
}

int main(void)
{
    size_t n, n_json, length = 0;
    char *source, *json;
    while ((source = read_text(&n)) != NULL && (json = read_text(&n_json)) != NULL) {
        eng_lm_template *t = NULL;
        char *text = NULL;
        int status = eng_lm_template_create(source, n, &t);
        if (!status)
            status = eng_lm_template_render(t, NULL, json, &text, &length);
        if (status)
            length = strlen(eng_last_error());
        printf("%s %zu\n", status ? eng_status_name(status) : "ok", length);
        fwrite(status ? eng_last_error() : text, 1, length, stdout);
        eng_lm_free(text);
        eng_lm_template_destroy(t);
        free(source);
        free(json);
    }
    return 0;
}
