#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "text.h"

/* -- buffers -------------------------------------------------------------------- */

eu_text eu_text_in(char *memory, size_t bytes)
{
    memory[0] = 0;
    return (eu_text){.at = memory, .room = bytes, .fixed = true};
}

/* Room for n more bytes and the end; false: no memory. */
static bool room_for(eu_text *text, size_t n)
{
    if (text->failed || n >= SIZE_MAX - text->n)
        text->failed = true;
    else if (!text->fixed)
        text->at = eu_grow(text->at, &text->room, text->n + n + 1, 1);
    text->failed = text->failed || (!text->fixed && text->room < text->n + n + 1);
    return !text->failed;
}

void eu_text_add_bytes(eu_text *text, const void *more, size_t n)
{
    if (text->fixed && n > text->room - text->n - 1)
        n = text->room - text->n - 1;
    if (!room_for(text, n))
        return;
    if (n)
        memcpy(text->at + text->n, more, n);
    text->n += n;
    text->at[text->n] = 0;
}

void eu_text_add(eu_text *text, const char *more)
{
    eu_text_add_bytes(text, more, strlen(more));
}

void eu_text_vformat(eu_text *text, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (n < 0 || !room_for(text, (size_t)n)) {
        text->failed = true;
        return;
    }
    vsnprintf(text->at + text->n, text->room - text->n, format, args);
    size_t left = text->room - text->n - 1;
    text->n += (size_t)n < left ? (size_t)n : left;
}

void eu_text_format(eu_text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    eu_text_vformat(text, format, args);
    va_end(args);
}

const char *eu_text_get(const eu_text *text)
{
    return text->at ? text->at : "";
}

char *eu_text_take(eu_text *text)
{
    eu_text_add_bytes(text, "", 0);
    char *taken = text->failed ? NULL : text->at;
    if (!taken)
        free(text->at);
    *text = (eu_text){0};
    return taken;
}

void eu_text_free(eu_text *text)
{
    if (!text->fixed)
        free(text->at);
    *text = (eu_text){0};
}

size_t eu_real(char *text, size_t bytes, char style, int digits, double value)
{
    snprintf(text, bytes, style == 'f' ? "%.*f" : "%.*g", digits, value);
    size_t point = strspn(text, "+-0123456789infa"), more = point;
    /* what is no digit is the locale's point, of one byte or several */
    while (text[more] && text[more] != 'e' && (text[more] < '0' || text[more] > '9'))
        more++;
    if (more > point) {
        text[point] = '.';
        memmove(text + point + 1, text + more, strlen(text + more) + 1);
    }
    return strlen(text);
}

void eu_copy(char *to, size_t bytes, const char *from)
{
    if (bytes == 0)
        return;
    eu_text text = eu_text_in(to, bytes);
    eu_text_add(&text, from);
}

/* -- characters ------------------------------------------------------------------- */

size_t eu_utf8_length(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    if (n == 0 || (s[0] >= 0x80 && s[0] < 0xc2) || s[0] > 0xf4)
        return 0;
    size_t length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0x80 ? 2 : 1;
    for (size_t i = 1; i < length; i++)
        if (i >= n || (s[i] & 0xc0) != 0x80)
            return 0;
    bool bad = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
               (s[0] == 0xf4 && s[1] > 0x8f);
    return bad ? 0 : length;
}

size_t eu_utf8_cut(const char *text, size_t n)
{
    for (size_t k = 1; k <= 3 && k <= n; k++) {
        const unsigned char c = (unsigned char)text[n - k];
        if ((c & 0xc0) == 0x80)
            continue;
        const size_t length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
        return length > k ? n - k : n;
    }
    return n;
}

/* -- names that are alike ----------------------------------------------------------- */

#define LETTERS 63

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static char small(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_letter(char a, char b)
{
    return small(a) == small(b);
}

bool eu_same_name(const char *a, const char *b)
{
    for (; *a && same_letter(*a, *b); a++)
        b++;
    return *a == *b;
}

unsigned eu_distance(const char *a, const char *b)
{
    unsigned rows[3][LETTERS + 1], *before = rows[0], *last = rows[1], *now = rows[2];
    size_t na = strnlen(a, LETTERS), nb = strnlen(b, LETTERS);
    for (size_t j = 0; j <= nb; j++)
        last[j] = (unsigned)j;
    for (size_t i = 1; i <= na; i++) {
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= nb; j++) {
            unsigned replaced = last[j - 1] + !same_letter(a[i - 1], b[j - 1]);
            now[j] = least(replaced, least(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]))
                now[j] = least(now[j], before[j - 2] + 1);
        }
        unsigned *free_row = before;
        before = last;
        last = now;
        now = free_row;
    }
    return last[nb];
}

bool eu_nearer(const char *name, const char *candidate, unsigned *best)
{
    unsigned distance = eu_distance(name, candidate);
    if (distance >= *best || distance > strlen(name) / 3 + 1)
        return false;
    *best = distance;
    return true;
}
