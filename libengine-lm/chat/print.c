/* Values as Python's str() and repr() write them. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "marks.h"
#include "print.h"
#include "../tokenizer/unicode.h"

/* -- numbers --------------------------------------------------------------------------- */

/* The digits of f > 0 without a point, as few as give it again, and the exponent of ten of 0.DIGITS. */
static int digits_of(double f, char digits[32], int *exponent)
{
    char text[64];
    for (int n = 1; n <= 17; n++) {
        snprintf(text, sizeof text, "%.*e", n - 1, f);
        if (strtod(text, NULL) == f)
            break;
    }
    int count = 0;
    const char *c = text;
    for (; *c && *c != 'e'; c++)
        if (*c >= '0' && *c <= '9')
            digits[count++] = *c;
    while (count > 1 && digits[count - 1] == '0')
        count--;
    digits[count] = 0;
    *exponent = (*c ? atoi(c + 1) : 0) + 1;
    return count;
}

bool tpl_print_float(tpl_run *r, tpl_text *t, double f)
{
    char digits[32];
    int point, n;
    if (isnan(f) || isinf(f))
        return tpl_add_word(r, t, isnan(f) ? "nan" : f < 0 ? "-inf" : "inf");
    if (signbit(f) && !tpl_add_word(r, t, "-"))
        return false;
    if (f == 0)
        return tpl_add_word(r, t, "0.0");
    n = digits_of(fabs(f), digits, &point);
    if (point < -3 || point > 16)
        return tpl_format(r, t, "%c%s%se%c%02d", digits[0], n > 1 ? "." : "", digits + 1, point <= 0 ? '-' : '+',
                          abs(point - 1));
    if (point <= 0)
        return tpl_format(r, t, "0.%.*s%s", -point, "0000", digits);
    if (n <= point)
        return tpl_format(r, t, "%s%.*s.0", digits, point - n, "00000000000000000");
    return tpl_format(r, t, "%.*s.%s", point, digits, digits + point);
}

/* -- texts ------------------------------------------------------------------------------- */

/* What str.isprintable() says no to, beyond ASCII: controls, formats, surrogates, private use, separators, and what is
 * not a character yet. */
static bool printable(uint32_t c)
{
    static const uint32_t not [][2] = {{0x7f, 0xa0},       {0xad, 0xad},       {0x600, 0x605},     {0x61c, 0x61c},
                                       {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},
                                       {0x1680, 0x1680},   {0x180e, 0x180e},   {0x2000, 0x200f},   {0x2028, 0x202f},
                                       {0x205f, 0x206f},   {0x3000, 0x3000},   {0xd800, 0xf8ff},   {0xfeff, 0xfeff},
                                       {0xfff0, 0xfffb},   {0xfffe, 0xffff},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd},
                                       {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe00ff},
                                       {0xe01f0, 0x10ffff}};
    for (size_t i = 0; i < sizeof not / sizeof *not; i++)
        if (c >= not[i][0] && c <= not[i][1])
            return false;
    return c >= 32;
}

static bool repr_character(tpl_run *r, tpl_text *t, const char *at, size_t n, char quote)
{
    uint32_t c;
    eng_utf8_decode(at, n, &c);
    if (c == (uint32_t)quote || c == '\\')
        return tpl_format(r, t, "\\%c", (char)c);
    if (c == '\n' || c == '\r' || c == '\t')
        return tpl_add_word(r, t, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
    if (printable(c))
        return tpl_add(r, t, at, n);
    return c < 0x100   ? tpl_format(r, t, "\\x%02x", c) :
           c < 0x10000 ? tpl_format(r, t, "\\u%04x", c) :
                         tpl_format(r, t, "\\U%08x", c);
}

static bool repr_string(tpl_run *r, tpl_text *t, const tpl_value *v)
{
    const tpl_string *s = &v->s;
    const char quote = s->n && memchr(s->at, '\'', s->n) && !memchr(s->at, '"', s->n) ? '"' : '\'';
    if (!tpl_format(r, t, "%s%c", v->safe ? "Markup(" : "", quote))
        return false;
    for (size_t i = 0; i < s->n;) {
        size_t n = eu_utf8_length(s->at + i, s->n - i);
        n = n ? n : 1;
        const size_t before = t->n;
        if (!repr_character(r, t, s->at + i, n, quote))
            return false;
        tpl_mark_as(r, t, before, s->at + i, n);
        i += n;
    }
    return tpl_format(r, t, "%c%s", quote, v->safe ? ")" : "");
}

/* -- the others ---------------------------------------------------------------------------- */

static bool repr_entries(tpl_run *r, tpl_text *t, const tpl_list *l, const char *begin, const char *end)
{
    bool good = tpl_add_word(r, t, begin);
    for (size_t i = 0; i < l->n && good; i++)
        good = (i == 0 || tpl_add_word(r, t, ", ")) && tpl_repr(r, t, &l->at[i]);
    return good && tpl_add_word(r, t, end);
}

static bool repr_dict(tpl_run *r, tpl_text *t, const tpl_dict *d)
{
    bool good = tpl_add_word(r, t, "{");
    for (size_t i = 0; i < d->n && good; i++)
        good = (i == 0 || tpl_add_word(r, t, ", ")) && tpl_repr(r, t, &d->at[i].key) && tpl_add_word(r, t, ": ") &&
               tpl_repr(r, t, &d->at[i].value);
    return good && tpl_add_word(r, t, "}");
}

static bool repr_range(tpl_run *r, tpl_text *t, const int64_t range[3])
{
    return range[2] == 1 ? tpl_format(r, t, "range(%lld, %lld)", (long long)range[0], (long long)range[1]) :
                           tpl_format(r, t, "range(%lld, %lld, %lld)", (long long)range[0], (long long)range[1],
                                      (long long)range[2]);
}

static bool repr_view(tpl_run *r, tpl_text *t, const tpl_list *l)
{
    return tpl_add_word(r, t, l->what) && repr_entries(r, t, l, "([", "])");
}

static bool repr_nested(tpl_run *r, tpl_text *t, const tpl_value *v)
{
    switch (v->kind) {
    case TPL_LIST: return repr_entries(r, t, v->list, "[", "]");
    case TPL_TUPLE: return repr_entries(r, t, v->list, "(", v->list->n == 1 ? ",)" : ")");
    case TPL_RANGE: return repr_range(r, t, v->list->range);
    case TPL_DICT: return repr_dict(r, t, v->dict);
    case TPL_VIEW: return repr_view(r, t, v->list);
    case TPL_NAMESPACE: return tpl_add_word(r, t, "<Namespace ") && repr_dict(r, t, v->dict) && tpl_add_word(r, t, ">");
    default:
        return tpl_fail_as(r, ENG_ERR_UNSUPPORTED, "a %s has no text that would be the same twice", tpl_type(v));
    }
}

bool tpl_repr(tpl_run *r, tpl_text *t, const tpl_value *v)
{
    switch (v->kind) {
    case TPL_UNDEFINED: return tpl_add_word(r, t, "Undefined");
    case TPL_NONE: return tpl_add_word(r, t, "None");
    case TPL_BOOL: return tpl_add_word(r, t, v->i ? "True" : "False");
    case TPL_INT: return tpl_format(r, t, "%lld", (long long)v->i);
    case TPL_FLOAT: return tpl_print_float(r, t, v->f);
    case TPL_STRING: return repr_string(r, t, v);
    default: break;
    }
    if (!tpl_deeper(r))
        return false;
    bool good = repr_nested(r, t, v);
    r->depth--;
    return good;
}

bool tpl_str(tpl_run *r, tpl_text *t, const tpl_value *v)
{
    if (v->kind == TPL_UNDEFINED)
        return true;
    return v->kind == TPL_STRING ? tpl_add(r, t, v->s.at, v->s.n) : tpl_repr(r, t, v);
}

bool tpl_as_string(tpl_run *r, const tpl_value *v, tpl_value *s)
{
    tpl_text t = {0};
    if (v->kind == TPL_STRING) {
        *s = *v;
        return true;
    }
    bool good = tpl_str(r, &t, v);
    *s = tpl_text_value(&t);
    return good;
}
