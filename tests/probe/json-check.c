/*
 * Is standard input one JSON value (RFC 8259)?  Prints the texts of the keys
 * given as arguments, one a line, wherever they stand.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *at;
static char **wanted;

static bool value(void);

static void space(void)
{
    while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')
        at++;
}

static bool string(char *text, size_t bytes)
{
    size_t n = 0;
    if (*at != '"')
        return false;
    for (at++; *at != '"'; at++) {
        if ((unsigned char)*at < 0x20)
            return false;
        if (*at == '\\') {
            at++;
            if (*at == 'u') {
                for (int i = 0; i < 4; i++)
                    if (!isxdigit((unsigned char)*++at))
                        return false;
            } else if (!*at || !strchr("\"\\/bfnrt", *at)) {
                return false;
            }
        }
        if (n + 1 < bytes)
            text[n++] = *at;
    }
    at++;
    text[n] = 0;
    return true;
}

static bool number(void)
{
    char *begin = at;
    at += *at == '-';
    if (!isdigit((unsigned char)*at) || (*at == '0' && isdigit((unsigned char)at[1])))
        return false;
    strtod(begin, &at);
    return true;
}

static bool member(void)
{
    char key[256], text[4096];
    space();
    if (!string(key, sizeof key))
        return false;
    space();
    if (*at++ != ':')
        return false;
    space();
    char *begin = at;
    if (!value())
        return false;
    for (char **w = wanted; *w; w++)
        if (strcmp(*w, key) == 0) {
            snprintf(text, sizeof text, "%.*s", (int)(at - begin), begin);
            printf("%s\n", text);
        }
    return true;
}

static bool element(void)
{
    space();
    return value();
}

static bool list(char end, bool (*item)(void))
{
    at++;
    space();
    if (*at == end) {
        at++;
        return true;
    }
    for (;;) {
        if (!item())
            return false;
        space();
        if (*at == end) {
            at++;
            return true;
        }
        if (*at++ != ',')
            return false;
    }
}

static bool value(void)
{
    static const char *const words[] = {"true", "false", "null"};
    char text[4096];
    if (*at == '{')
        return list('}', member);
    if (*at == '[')
        return list(']', element);
    if (*at == '"')
        return string(text, sizeof text);
    for (int i = 0; i < 3; i++)
        if (strncmp(at, words[i], strlen(words[i])) == 0) {
            at += strlen(words[i]);
            return true;
        }
    return number();
}

int main(int argc, char **argv)
{
    static char text[4 << 20];
    size_t n = fread(text, 1, sizeof text - 1, stdin);
    text[n] = 0;
    at = text;
    wanted = argv + 1;
    space();
    bool good = value();
    space();
    if (!good || *at || strlen(text) != n) {
        fprintf(stderr, "json-check: not JSON at byte %zu\n", (size_t)(at - text));
        return 1;
    }
    return argc < 1;
}
