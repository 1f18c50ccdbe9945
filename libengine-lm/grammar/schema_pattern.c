/*
 * Regular expressions of schemas as grammars: what ECMA 262 and others read alike.  A grammar lets less through than
 * the expression where these differ (\w, . and what is not in a class are of plain characters), and never more.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema.h"

typedef struct reader {
    const char *at;
    eu_text *to;
    const char *wrong;
    uint32_t depth;
    bool choice;   /* an alternative outside of groups            */
    bool memory;   /* has run out                                 */
} reader;

typedef EU_ARRAY(uint32_t) ranges; /* first and last in turn */

static bool fail(reader *r, const char *what)
{
    r->wrong = r->wrong ? r->wrong : what;
    return false;
}

static bool add(reader *r, ranges *list, uint32_t first, uint32_t last)
{
    r->memory |= first <= last && (!eu_array_add(list, first) || !eu_array_add(list, last));
    return !r->memory;
}

/* -- characters ---------------------------------------------------------------------------- */

/* One character as it stands in a string of JSON. */
static void put(eu_text *to, uint32_t c)
{
    static const char plain[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
    const char *known = c && c < 0x80 ? strchr(plain, (int)c) : NULL;
    char escape[8];
    if (known)
        snprintf(escape, sizeof escape, "\\%c", letters[known - plain]);
    else
        snprintf(escape, sizeof escape, "\\u%04x", c);
    if (known || c < 0x20 || c == 0x7f)
        lm_schema_literal(to, escape, strlen(escape));
    else
        eu_text_format(to, "\"\\U%08x\"", c);
}

static bool is_plain(uint32_t c)
{
    return c >= 0x20 && c != 0x7f && c != '"' && c != '\\';
}

/* Those of the class, and the ones that need an escape one by one. */
static void put_class(eu_text *to, const ranges *list)
{
    const char *before = "";
    eu_text_add(to, "(");
    for (size_t i = 0; i < list->n; i += 2) {
        uint32_t first = list->at[i];
        const uint32_t last = list->at[i + 1];
        while (first <= last) {
            uint32_t end = first;
            if (is_plain(first))
                while (end < last && is_plain(end + 1))
                    end = end >= 0x80 ? last : end + 1;
            eu_text_add(to, before);
            if (is_plain(first))
                eu_text_format(to, "[\\U%08x-\\U%08x]", first, end);
            else
                put(to, first);
            before = " | ";
            first = end + 1;
        }
    }
    eu_text_add(to, ")");
}

static bool read_hex(reader *r, int n, uint32_t *c)
{
    char digits[9] = "", *end;
    if (strnlen(r->at, (size_t)n) < (size_t)n)
        return fail(r, "hexadecimal digits");
    memcpy(digits, r->at, (size_t)n);
    *c = (uint32_t)strtoul(digits, &end, 16);
    if (*end || strspn(digits, "0123456789abcdefABCDEF") != (size_t)n || (*c >= 0xd800 && *c < 0xe000))
        return fail(r, "hexadecimal digits of a character");
    r->at += n;
    return true;
}

/* Behind a backslash: a character, or a class (*is_class), which is added. */
static bool read_escape(reader *r, uint32_t *c, ranges *list, bool *is_class)
{
    static const char controls[] = "nrtfv0", values[] = "\n\r\t\f\v";
    const char e = *r->at++;
    const char *known = e ? strchr(controls, e) : NULL;
    *is_class = e && strchr("dwsDWS", e);
    if (*is_class && e == 'd')
        return add(r, list, '0', '9');
    if (*is_class && e == 'w')
        return add(r, list, '0', '9') && add(r, list, 'A', 'Z') && add(r, list, '_', '_') && add(r, list, 'a', 'z');
    if (*is_class && e == 's')
        return add(r, list, '\t', '\n') && add(r, list, '\r', '\r') && add(r, list, ' ', ' ');
    if (*is_class && e == 'D')
        return add(r, list, ' ', '/') && add(r, list, ':', '~');
    if (*is_class && e == 'S')
        return add(r, list, '!', '~');
    if (*is_class)
        return add(r, list, ' ', '/') && add(r, list, ':', '@') && add(r, list, '[', '^') && add(r, list, '`', '`') &&
               add(r, list, '{', '~');
    if (known && e != '0') {
        *c = (uint8_t)values[known - controls];
        return true;
    }
    if (e == 'x' || e == 'u')
        return read_hex(r, e == 'x' ? 2 : 4, c);
    if (!e || (e >= '0' && e <= '9') || (e >= 'a' && e <= 'z') || (e >= 'A' && e <= 'Z') || (unsigned char)e >= 0x80)
        return fail(r, "this escape");
    *c = (uint8_t)e;
    return true;
}

static bool read_character(reader *r, uint32_t *c)
{
    static const uint8_t masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    size_t length = eu_utf8_length(r->at, strlen(r->at));
    if (!length)
        return fail(r, "bytes that are no UTF-8");
    *c = (uint8_t)*r->at & masks[length];
    for (size_t i = 1; i < length; i++)
        *c = *c << 6 | ((uint8_t)r->at[i] & 0x3f);
    r->at += length;
    return true;
}

static int by_first(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return x[0] < y[0] ? -1 : x[0] > y[0];
}

/* Plain characters that are in none of the ranges. */
static bool negate(reader *r, ranges *list)
{
    ranges out = {0};
    uint32_t next = 0x20;
    if (list->n > 2)
        qsort(list->at, list->n / 2, 2 * sizeof *list->at, by_first);
    for (size_t i = 0; i <= list->n; i += 2) {
        const uint32_t first = i < list->n ? list->at[i] : 0x110000;
        if (first > next) {
            if (next < 0xd800)
                add(r, &out, next, first - 1 < 0xd7ff ? first - 1 : 0xd7ff);
            if (first - 1 > 0xdfff)
                add(r, &out, next > 0xe000 ? next : 0xe000, first - 1);
        }
        if (i < list->n && list->at[i + 1] + 1 > next)
            next = list->at[i + 1] + 1;
    }
    eu_array_free(list);
    *list = out;
    return !r->memory;
}

static bool read_class(reader *r)
{
    ranges list = {0};
    bool negated = *r->at == '^', good = true, classes = false;
    r->at += negated;
    while (good && *r->at != ']') {
        uint32_t first = 0, last;
        bool is_class = false;
        if (!*r->at)
            good = fail(r, "a class without its end");
        else if (*r->at == '\\')
            r->at++, good = read_escape(r, &first, &list, &is_class);
        else
            good = *r->at != '[' ? read_character(r, &first) : fail(r, "[ in a class");
        classes |= is_class;
        if (!good || is_class)
            continue;
        last = first;
        if (r->at[0] == '-' && r->at[1] && r->at[1] != ']') {
            bool ends = false;
            r->at++;
            if (*r->at == '\\')
                r->at++, good = read_escape(r, &last, &list, &ends);
            else
                good = read_character(r, &last);
            if (good && (ends || last < first))
                good = fail(r, "a range whose end is before its beginning");
        }
        good = good && add(r, &list, first, last);
    }
    r->at += good;
    if (good && negated && classes)
        good = fail(r, "a negated class with \\d, \\w or \\s in it");
    good = good && (!negated || negate(r, &list));
    if (good && list.n == 0)
        good = fail(r, "a class of nothing");
    if (good)
        put_class(r->to, &list);
    eu_array_free(&list);
    return good;
}

/* -- expressions ------------------------------------------------------------------------------ */

static bool read_choice(reader *r);

static bool read_atom(reader *r)
{
    ranges list = {0};
    uint32_t c = 0;
    bool is_class = false, good = true;
    if (*r->at == '[')
        return r->at++, read_class(r);
    if (*r->at == '(') {
        r->at++;
        if (r->at[0] == '?' && r->at[1] == ':')
            r->at += 2;
        else if (r->at[0] == '?')
            return fail(r, "groups with (?");
        if (++r->depth > 50)
            return fail(r, "groups so deep");
        eu_text_add(r->to, "(");
        good = read_choice(r) && (*r->at == ')' || fail(r, "a group without its end"));
        eu_text_add(r->to, ")");
        r->at += good;
        r->depth--;
        return good;
    }
    if (*r->at == '.') {
        r->at++;
        good = add(r, &list, 0x2028, 0x2029) && negate(r, &list);
        is_class = true;
    } else if (*r->at == '\\') {
        r->at++;
        good = read_escape(r, &c, &list, &is_class);
    } else {
        good = strchr("*+?{}^$]", *r->at) ? fail(r, "this character here") : read_character(r, &c);
    }
    if (good && is_class)
        put_class(r->to, &list);
    else if (good)
        put(r->to, c);
    eu_array_free(&list);
    return good;
}

static bool read_times(reader *r)
{
    if (*r->at && strchr("*+?", *r->at)) {
        eu_text_add_bytes(r->to, r->at++, 1);
    } else if (*r->at == '{') {
        char *end, text[64];
        long least = strtol(r->at + 1, &end, 10), most = least;
        bool open = false;
        if (r->at[1] < '0' || r->at[1] > '9')
            return fail(r, "{ without a number");
        if (*end == ',') {
            open = end[1] == '}';
            most = open ? least : strtol(end + 1, &end, 10);
            end += open;
        }
        if (*end != '}' || least > 10000 || most > 10000 || most < least)
            return fail(r, "this number of times");
        snprintf(text, sizeof text, open ? "{%ld,}" : "{%ld,%ld}", least, most);
        eu_text_add(r->to, text);
        r->at = end + 1;
    } else {
        return true;
    }
    if (*r->at == '?') /* takes as little as possible: the same texts */
        r->at++;
    return !*r->at || !strchr("*+?{", *r->at) || fail(r, "a number of times behind another");
}

static bool read_choice(reader *r)
{
    bool good = true;
    while (good && *r->at && *r->at != ')') {
        if (*r->at == '$' && !r->at[1] && r->depth == 0)
            break;
        if (*r->at == '|') {
            r->choice |= r->depth == 0;
            r->at++;
            eu_text_add(r->to, " | ");
            continue;
        }
        eu_text_add(r->to, " ");
        good = read_atom(r) && read_times(r);
    }
    return good;
}

const char *lm_schema_pattern(eu_text *to, const char *pattern)
{
    reader r = {.at = pattern, .to = to};
    const bool begins = *pattern == '^';
    r.at += begins;
    eu_text_add(to, begins ? "(" : "char* (");
    bool good = read_choice(&r);
    const bool ends = *r.at == '$';
    if (good && *r.at == ')')
        fail(&r, "a ) without its group");
    if (good && r.choice && (begins || ends))
        fail(&r, "^ or $ in one of several alternatives");
    eu_text_add(to, ends ? ")" : ") char*");
    to->failed |= r.memory;
    return r.wrong;
}
