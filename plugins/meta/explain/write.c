/* Writing reports: names, numbers and quotation. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdarg.h>
#include <stdio.h>
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

/* Character by character: names come from files.  What is no character, and what would end the line, becomes '?'. */
static void plain(const meta_report *report, const char *text, const char *escaped)
{
    char piece[8];

    for (size_t left = strlen(text), n; left > 0; left -= n, text += n) {
        eu_text out = EU_TEXT_IN(piece);
        n = eu_utf8_length(text, left);
        if (n == 0 || (unsigned char)*text < 0x20 || *text == 0x7f) {
            eu_text_add(&out, "?");
            n = 1;
        } else {
            eu_text_add(&out, strchr(escaped, *text) ? "\\" : "");
            eu_text_add_bytes(&out, text, n);
        }
        meta_say_text(report, piece);
    }
}

void meta_say_name(const meta_report *report, const char *text)
{
    plain(report, text, "");
}

void meta_say_label(const meta_report *report, const char *text)
{
    plain(report, text, "\"\\");
}
