/* See scan.h: reading files and cutting them into tokens. */
#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan.h"

bool source_is(const source *s, size_t i, const char *text)
{
    return i < s->n && strlen(text) == s->tokens[i].length &&
           memcmp(s->data + s->tokens[i].at, text, strlen(text)) == 0;
}

unsigned source_line(const source *s, size_t i)
{
    unsigned line = 1;
    for (size_t at = 0; at < s->tokens[i].at; at++)
        line += s->data[at] == '\n';
    return line;
}

void source_line_text(const source *s, size_t i, char *text, size_t size)
{
    size_t begin = s->tokens[i].at, end = begin;
    while (begin > 0 && s->data[begin - 1] != '\n')
        begin--;
    while (end < s->bytes && s->data[end] != '\n')
        end++;
    while (begin < end && isspace((unsigned char)s->data[begin]))
        begin++;
    snprintf(text, size, "%.*s", (int)(end - begin), s->data + begin);
}

static bool word_character(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Behind a comment, a text in quotes or a line for the preprocessor that begins at `at`; `at` if none does. */
static size_t skip(const source *s, size_t at, bool line_start, bool *quoted)
{
    const char *d = s->data;
    *quoted = d[at] == '"' || d[at] == '\'';
    if (*quoted) {
        char quote = d[at++];
        while (at < s->bytes && d[at] != quote)
            at += d[at] == '\\' ? 2 : 1;
        return at + 1;
    }
    if (d[at] == '/' && d[at + 1] == '*') {
        const char *end = strstr(d + at + 2, "*/");
        return end ? (size_t)(end - d) + 2 : s->bytes;
    }
    if ((d[at] == '/' && d[at + 1] == '/') || (d[at] == '#' && line_start)) {
        while (at < s->bytes && d[at] != '\n')
            at += d[at] == '\\' ? 2 : 1;
        return at;
    }
    return at;
}

/* Length of the token at `at`. */
static size_t measure(const source *s, size_t at, token_kind *kind)
{
    static const char *const signs[] = {"<<=", ">>=", "...", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "->", "++",
                                        "--",  "+=",  "-=",  "*=", "/=", "%=", "&=", "|=", "^="};
    const char *d = s->data + at;
    size_t n = 1;
    if (isdigit((unsigned char)*d)) {
        *kind = TOKEN_NUMBER;
        while (word_character(d[n]) || d[n] == '.' || ((d[n] == '-' || d[n] == '+') && strchr("eEpP", d[n - 1]) &&
                                                       (d[1] == 'x' ? strchr("pP", d[n - 1]) != NULL : true)))
            n++;
        return n;
    }
    if (word_character(*d)) {
        *kind = TOKEN_WORD;
        while (word_character(d[n]))
            n++;
        return n;
    }
    *kind = TOKEN_SIGN;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strncmp(d, signs[i], strlen(signs[i])) == 0)
            return strlen(signs[i]);
    return 1;
}

static bool cut(source *s)
{
    size_t room = 0;
    bool line_start = true;
    for (size_t at = 0; at < s->bytes;) {
        char c = s->data[at];
        bool quoted;
        if (isspace((unsigned char)c)) {
            line_start = line_start || c == '\n';
            at++;
            continue;
        }
        size_t behind = skip(s, at, line_start, &quoted);
        if (behind != at && !quoted) {
            at = behind;
            continue;
        }
        if (s->n == room) {
            room = room ? 2 * room : 1024;
            token *more = realloc(s->tokens, room * sizeof *more);
            if (!more)
                return false;
            s->tokens = more;
        }
        token *t = &s->tokens[s->n++];
        t->at = at;
        t->kind = TOKEN_TEXT;
        t->length = quoted ? behind - at : measure(s, at, &t->kind);
        at += t->length;
        line_start = false;
    }
    return true;
}

bool source_read(source *s, const char *path)
{
    FILE *f = fopen(path, "rb");
    long bytes = -1;
    *s = (source){0};
    if (f && fseek(f, 0, SEEK_END) == 0)
        bytes = ftell(f);
    if (bytes >= 0 && (s->data = calloc((size_t)bytes + 4, 1)) != NULL) {
        rewind(f);
        s->bytes = fread(s->data, 1, (size_t)bytes, f);
    }
    if (f)
        fclose(f);
    if (s->data && s->bytes == (size_t)bytes && cut(s))
        return true;
    source_free(s);
    return false;
}

void source_free(source *s)
{
    free(s->data);
    free(s->tokens);
    *s = (source){0};
}
