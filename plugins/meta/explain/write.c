/* Writing reports: names, numbers and quotation. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"

void meta_say_text(const meta_report *report, const char *text)
{
    report->emit(report->ctx, text);
}

void meta_say(const meta_report *report, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args); /* names of any length go to meta_say_text */
    va_end(args);
    meta_say_text(report, text);
}

const char *meta_say_rank(const meta_report *report, uint32_t rank)
{
    return report->device->ranks[rank].name;
}

const char *meta_say_axis(const meta_report *report, uint32_t axis)
{
    const eng_plugin_state *plugin = report->device->plugin;
    return plugin->services->axis_name(plugin->host, axis);
}

const char *meta_say_use(uint32_t use)
{
    static const char *const names[] = {"tensor", "weight", "cache", "state", "input", "output"};
    use &= ENG_USE_MASK;
    return use < sizeof names / sizeof *names ? names[use] : names[0];
}

/* Length of the well-formed UTF-8 character at s (Unicode, table 3-7); 0: there is none. */
static size_t character(const unsigned char *s)
{
    if (s[0] < 0x80)
        return 1;
    size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    bool bad = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
               (s[0] == 0xf4 && s[1] > 0x8f);
    return bad ? 0 : n;
}

/* Character by character: names come from files.  What is no character, and what would end the line, becomes '?'. */
static void plain(const meta_report *report, const char *text, uint32_t format)
{
    const unsigned char *s = (const unsigned char *)text;
    char piece[8];

    while (*s) {
        size_t n = character(s);
        if (n == 0) {
            memcpy(piece, "?", 2);
            n = 1;
        } else if ((*s == '"' || *s == '\\') && format != ENG_EXPLAIN_TEXT) {
            snprintf(piece, sizeof piece, "\\%c", *s);
        } else if (*s < 0x20 || *s == 0x7f) {
            snprintf(piece, sizeof piece, format == ENG_EXPLAIN_JSON ? "\\u%04x" : "?", *s);
        } else {
            memcpy(piece, s, n);
            piece[n] = 0;
        }
        meta_say_text(report, piece);
        s += n;
    }
}

void meta_say_name(const meta_report *report, const char *text)
{
    plain(report, text, ENG_EXPLAIN_TEXT);
}

void meta_say_json(const meta_report *report, const char *text)
{
    meta_say_text(report, "\"");
    plain(report, text, ENG_EXPLAIN_JSON);
    meta_say_text(report, "\"");
}

void meta_say_label(const meta_report *report, const char *text)
{
    plain(report, text, ENG_EXPLAIN_GRAPHVIZ);
}
