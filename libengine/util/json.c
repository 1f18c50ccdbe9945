#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "text.h"

void eu_json_to_file(void *file, const char *text)
{
    fputs(text, file);
}

void eu_json_to_text(void *text, const char *more)
{
    eu_text_add(text, more);
}

static void put(const eu_json *json, const char *text)
{
    json->write(json->user, text);
}

/* -- strings ---------------------------------------------------------------------- */

static void quoted(const eu_json *json, const char *s, size_t n)
{
    char piece[256];
    eu_text out = EU_TEXT_IN(piece);
    eu_text_add(&out, "\"");
    for (size_t i = 0, length; i < n; i += length) {
        unsigned char c = (unsigned char)s[i];
        if (out.n > sizeof piece - 8) { /* no room for the longest: \u001f */
            put(json, piece);
            out = EU_TEXT_IN(piece);
        }
        length = eu_utf8_length(s + i, n - i);
        if (length == 0) {
            eu_text_add(&out, "\\ufffd");
            length = 1;
        } else if (c < 0x20 || c == 0x7f) {
            eu_text_format(&out, "\\u%04x", c);
        } else {
            if (c == '"' || c == '\\')
                eu_text_add(&out, "\\");
            eu_text_add_bytes(&out, s + i, length);
        }
    }
    eu_text_add(&out, "\"");
    put(json, piece);
}

/* -- structure ---------------------------------------------------------------------- */

static void new_line(const eu_json *json, unsigned depth)
{
    put(json, "\n");
    while (depth-- > 0)
        put(json, "  ");
}

/* What separates a value from what stands before it, and its key. */
static void begin(eu_json *json, const char *key)
{
    if (json->depth > 0) {
        unsigned inner = json->depth - 1;
        if (json->level[inner].begun)
            put(json, json->level[inner].lines ? "," : ", ");
        if (json->level[inner].lines)
            new_line(json, json->depth);
        json->level[inner].begun = true;
    }
    if (key) {
        quoted(json, key, strlen(key));
        put(json, ": ");
    }
}

static void open(eu_json *json, const char *key, bool list, bool lines)
{
    begin(json, key);
    put(json, list ? "[" : "{");
    json->level[json->depth].list = list;
    json->level[json->depth].lines = lines;
    json->level[json->depth].begun = false;
    json->depth++;
}

void eu_json_object(eu_json *json, const char *key, bool lines)
{
    open(json, key, false, lines);
}

void eu_json_list(eu_json *json, const char *key, bool lines)
{
    open(json, key, true, lines);
}

void eu_json_end(eu_json *json)
{
    json->depth--;
    if (json->level[json->depth].lines && json->level[json->depth].begun)
        new_line(json, json->depth);
    put(json, json->level[json->depth].list ? "]" : "}");
    if (json->depth == 0)
        put(json, "\n");
}

/* -- values ------------------------------------------------------------------------- */

void eu_json_bytes(eu_json *json, const char *key, const char *value, size_t n)
{
    begin(json, key);
    quoted(json, value, n);
}

void eu_json_text(eu_json *json, const char *key, const char *value)
{
    if (value)
        eu_json_bytes(json, key, value, strlen(value));
    else
        eu_json_null(json, key);
}

static void word(eu_json *json, const char *key, const char *value)
{
    begin(json, key);
    put(json, value);
}

void eu_json_int(eu_json *json, const char *key, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    word(json, key, text);
}

void eu_json_uint(eu_json *json, const char *key, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, value);
    word(json, key, text);
}

void eu_json_real(eu_json *json, const char *key, double value, int digits)
{
    char text[64];
    eu_real(text, sizeof text, 'g', digits, value);
    word(json, key, isfinite(value) ? text : "null");
}

void eu_json_bool(eu_json *json, const char *key, bool value)
{
    word(json, key, value ? "true" : "false");
}

void eu_json_null(eu_json *json, const char *key)
{
    word(json, key, "null");
}
