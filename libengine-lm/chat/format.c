/* "..." % values: %s, %r, %d, %i, %u, %x, %X, %o, %c, %e, %f, %g with flags, width and precision, and %(name)s. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "print.h"

typedef struct spec {
    bool left, zero, plus, space, alternate;
    int width, precision; /* -1: none */
    char kind;
} spec;

typedef struct values {
    const tpl_value *all;
    size_t next, n;
} values;

#define MOST_WIDTH 10000

/* A number of the format; false: too large. */
static bool take_width(const tpl_string *f, size_t *i, int *width)
{
    for (*width = 0; *i < f->n && f->at[*i] >= '0' && f->at[*i] <= '9'; ++*i)
        if ((*width = 10 * *width + f->at[*i] - '0') > MOST_WIDTH)
            return false;
    return true;
}

static bool take_spec(tpl_run *r, const tpl_string *f, size_t *i, spec *s)
{
    *s = (spec){.width = -1, .precision = -1};
    for (bool flag = true; flag && *i < f->n; *i += flag) {
        flag = memchr("-0+ #", f->at[*i], 5) != NULL;
        s->left |= f->at[*i] == '-';
        s->zero |= f->at[*i] == '0';
        s->plus |= f->at[*i] == '+';
        s->space |= f->at[*i] == ' ';
        s->alternate |= f->at[*i] == '#';
    }
    bool good = take_width(f, i, &s->width);
    if (*i < f->n && f->at[*i] == '.') {
        ++*i;
        good = take_width(f, i, &s->precision) && good;
    }
    if (!good)
        return tpl_fail_as(r, ENG_ERR_UNSUPPORTED, "a width of a format beyond %d is not understood", MOST_WIDTH);
    if (*i >= f->n)
        return tpl_fail(r, "incomplete format");
    s->kind = f->at[(*i)++];
    return true;
}

/* %(name): the value of that name. */
static bool take_name(tpl_run *r, const tpl_string *f, size_t *i, const values *v, const tpl_value **value)
{
    size_t end = *i;
    while (end < f->n && f->at[end] != ')')
        end++;
    if (end == f->n)
        return tpl_fail(r, "incomplete format key");
    if (v->all->kind != TPL_DICT)
        return tpl_fail(r, "format requires a mapping");
    *value = tpl_dict_name(v->all->dict, f->at + *i + 1, end - *i - 1);
    if (!*value)
        return tpl_fail(r, "a format's key is not there");
    *i = end + 1;
    return true;
}

static bool next_value(tpl_run *r, values *v, const tpl_value **value)
{
    if (v->next == v->n)
        return tpl_fail(r, "not enough arguments for format string");
    *value = v->all->kind == TPL_TUPLE ? &v->all->list->at[v->next] : v->all;
    v->next++;
    return true;
}

/* Filled up to the width; of numbers with zeros behind the sign. */
static bool pad(tpl_run *r, tpl_text *t, const tpl_string *text, const spec *s, bool zeros)
{
    size_t chars = tpl_chars(text->at, text->n), width = s->width > 0 ? (size_t)s->width : 0;
    size_t missing = width > chars ? width - chars : 0;
    size_t head = zeros && !s->left && text->n && strchr("+- ", text->at[0]) ? 1 : 0;
    bool good = !zeros || s->left || tpl_add(r, t, text->at, head);
    for (size_t i = 0; i < missing && !s->left && good; i++)
        good = tpl_add_word(r, t, zeros ? "0" : " ");
    good = good && tpl_add(r, t, text->at + head, text->n - head);
    for (size_t i = 0; i < missing && s->left && good; i++)
        good = tpl_add_word(r, t, " ");
    return good;
}

static bool add_text(tpl_run *r, tpl_text *t, const tpl_value *v, const spec *s)
{
    tpl_text own = {0};
    if (!(s->kind == 'r' ? tpl_repr(r, &own, v) : tpl_str(r, &own, v)))
        return false;
    tpl_string text = tpl_text_value(&own).s;
    if (s->precision >= 0)
        text.n = tpl_char_at(text.at, text.n, (size_t)s->precision);
    return pad(r, t, &text, s, false);
}

static bool add_whole(tpl_run *r, tpl_text *t, const tpl_value *v, const spec *s)
{
    char digits[64], text[80];
    const bool decimal = memchr("diu", s->kind, 3) != NULL;
    if (!tpl_is_whole(v) && !(decimal && v->kind == TPL_FLOAT))
        return tpl_fail(r, "%%%c format: a%s is required, not %s", s->kind, decimal ? " real number" : "n integer",
                        tpl_type(v));
    if (s->alternate || s->precision > 40 || (v->kind == TPL_FLOAT && !(v->f > -9e18 && v->f < 9e18)))
        return tpl_fail_as(r, ENG_ERR_UNSUPPORTED, "this format of a whole number is not understood");
    int64_t i = v->kind == TPL_FLOAT ? (int64_t)v->f : v->i;
    uint64_t size = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    const int precision = s->precision < 0 ? 1 : s->precision;
    if (decimal)
        snprintf(digits, sizeof digits, "%.*llu", precision, (unsigned long long)size);
    else
        snprintf(digits, sizeof digits, s->kind == 'x' ? "%.*llx" : s->kind == 'X' ? "%.*llX" : "%.*llo", precision,
                 (unsigned long long)size);
    snprintf(text, sizeof text, "%s%s", i < 0 ? "-" : s->plus ? "+" : s->space ? " " : "", digits);
    return pad(r, t, &(tpl_string){text, strlen(text), NULL}, s, s->zero);
}

static bool add_real(tpl_run *r, tpl_text *t, const tpl_value *v, const spec *s)
{
    char text[512], format[16];
    if (!tpl_is_number(v))
        return tpl_fail(r, "must be real number, not %s", tpl_type(v));
    if (s->precision > 100 || s->alternate)
        return tpl_fail_as(r, ENG_ERR_UNSUPPORTED, "this format of a number is not understood");
    snprintf(format, sizeof format, "%%%s%s.*%c", s->plus ? "+" : "", s->space ? " " : "", s->kind);
    int n = snprintf(text, sizeof text, format, s->precision < 0 ? 6 : s->precision, tpl_number(v));
    for (char *c = text; *c; c++) /* whatever the host's locale has for a point */
        *c = *c == ',' ? '.' : *c;
    return pad(r, t, &(tpl_string){text, (size_t)n, NULL}, s, s->zero);
}

static bool add_value(tpl_run *r, tpl_text *t, const tpl_value *v, const spec *s)
{
    switch (s->kind) {
    case 's':
    case 'r': return add_text(r, t, v, s);
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o': return add_whole(r, t, v, s);
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G': return add_real(r, t, v, s);
    default: return tpl_fail_as(r, ENG_ERR_UNSUPPORTED, "format character '%c' is not understood", s->kind);
    }
}

static bool add_one(tpl_run *r, tpl_text *t, const tpl_string *f, size_t *i, values *v)
{
    const tpl_value *value = NULL;
    spec s;
    if (*i < f->n && f->at[*i] == '(' && !take_name(r, f, i, v, &value))
        return false;
    if (!take_spec(r, f, i, &s))
        return false;
    if (s.kind == '%')
        return tpl_add_word(r, t, "%");
    return (value || next_value(r, v, &value)) && add_value(r, t, value, &s);
}

bool tpl_percent(tpl_run *r, const tpl_value *format, const tpl_value *given, tpl_value *result)
{
    const tpl_string *f = &format->s;
    tpl_text t = {0};
    values v = {.all = given, .n = given->kind == TPL_TUPLE ? given->list->n : 1};
    if (format->safe)
        return tpl_fail_as(r, ENG_ERR_UNSUPPORTED, "formatting a text that is marked as safe is not understood");
    for (size_t i = 0; i < f->n;) {
        const char *sign = memchr(f->at + i, '%', f->n - i);
        size_t next = sign ? (size_t)(sign - f->at) : f->n;
        if (!tpl_add(r, &t, f->at + i, next - i))
            return false;
        i = next + (sign != NULL);
        if (sign && !add_one(r, &t, f, &i, &v))
            return false;
    }
    const bool indexed = given->kind == TPL_DICT || given->kind == TPL_LIST || given->kind == TPL_RANGE ||
                         given->kind == TPL_UNDEFINED;
    if (v.next < v.n && !indexed) /* as Python, for which these may be mappings */
        return tpl_fail(r, "not all arguments converted during string formatting");
    *result = tpl_text_value(&t);
    return true;
}
