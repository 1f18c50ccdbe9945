/* Filters of texts and numbers, and all of them by their names. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "evaluate.h"
#include "filters.h"
#include "format.h"
#include "methods.h"
#include "numbers.h"
#include "print.h"

/* -- texts ------------------------------------------------------------------------------------ */

static bool upper(tpl_run *r, tpl_value *v, tpl_value *result)
{
    tpl_value s;
    return tpl_as_string(r, &v[0], &s) && tpl_change_case(r, &s, TPL_UPPER, result);
}

static bool lower(tpl_run *r, tpl_value *v, tpl_value *result)
{
    tpl_value s;
    return tpl_as_string(r, &v[0], &s) && tpl_change_case(r, &s, TPL_LOWER, result);
}

static bool capitalize(tpl_run *r, tpl_value *v, tpl_value *result)
{
    tpl_value s;
    return tpl_as_string(r, &v[0], &s) && tpl_change_case(r, &s, TPL_CAPITAL, result);
}

static bool title(tpl_run *r, tpl_value *v, tpl_value *result)
{
    tpl_value s;
    return tpl_as_string(r, &v[0], &s) && tpl_title_words(r, &s, result);
}

static bool trim(tpl_run *r, tpl_value *v, tpl_value *result)
{
    tpl_value s;
    return tpl_as_string(r, &v[0], &s) && tpl_strip(r, &s, &v[1], 3, result);
}

static bool string(tpl_run *r, tpl_value *v, tpl_value *result)
{
    return tpl_as_string(r, &v[0], result);
}

static bool safe(tpl_run *r, tpl_value *v, tpl_value *result)
{
    bool good = tpl_as_string(r, &v[0], result);
    result->safe = true;
    return good;
}

static bool escape(tpl_run *r, tpl_value *v, tpl_value *result)
{
    return tpl_escape(r, &v[0], result);
}

static bool replace(tpl_run *r, tpl_value *v, tpl_value *result)
{
    tpl_value s, old, with;
    int64_t most;
    if (v[3].kind == TPL_NONE)
        v[3].kind = TPL_MISSING;
    if (!tpl_as_string(r, &v[0], &s) || !tpl_as_string(r, &v[1], &old) || !tpl_as_string(r, &v[2], &with) ||
        !tpl_arg_int(r, &v[3], -1, &most))
        return false;
    s.safe = false;
    return tpl_replace(r, &s, &old.s, &with.s, most, result);
}

static bool center(tpl_run *r, tpl_value *v, tpl_value *result)
{
    tpl_value s;
    int64_t width;
    const tpl_string space = {" ", 1, NULL};
    return tpl_as_string(r, &v[0], &s) && tpl_arg_int(r, &v[1], 80, &width) &&
           tpl_center(r, &s, width, &space, 3, result);
}

static bool format(tpl_run *r, const tpl_call *c, tpl_value *result)
{
    tpl_value s, values;
    if (c->n > 1 && c->n_named)
        return tpl_fail(r, "can't handle positional and keyword arguments at the same time");
    bool good = c->n_named ? tpl_dict_new(r, TPL_DICT, &values) : tpl_list_new(r, TPL_TUPLE, c->n, &values);
    for (size_t i = 0; i < c->n_named && good; i++)
        good = tpl_dict_set(r, values.dict, c->named[i].key, c->named[i].value);
    for (size_t i = 1; i < c->n && !c->n_named && good; i++)
        good = tpl_list_add(r, &values, c->at[i]);
    return good && tpl_as_string(r, &c->at[0], &s) && tpl_percent(r, &s, &values, result);
}

/* A line, with the indent before it or not. */
static bool add_line(tpl_run *r, tpl_text *t, const tpl_string *line, bool first, bool indented,
                     const tpl_string *indent)
{
    return (first || tpl_add_word(r, t, "\n")) && (!indented || tpl_add(r, t, indent->at, indent->n)) &&
           tpl_add(r, t, line->at, line->n);
}

static bool indent(tpl_run *r, tpl_value *v, tpl_value *result)
{
    tpl_value space, lines, s = v[0];
    tpl_text t = {0}, whole = {0};
    int64_t width = 4;
    const tpl_value one = tpl_word(" ");
    const bool first = tpl_arg_bool(&v[2], false), blank = tpl_arg_bool(&v[3], false);
    if (s.kind != TPL_STRING)
        return tpl_fail(r, "indent() needs a str, got %s", tpl_type(&s));
    if (v[1].kind == TPL_STRING)
        space = v[1];
    else if (!tpl_arg_int(r, &v[1], 4, &width) ||
             !tpl_binary(r, TPL_TIMES, &one, &(tpl_value){.kind = TPL_INT, .i = width}, &space))
        return false;
    /* as in jinja2, so that an empty line at the end counts */
    if (!tpl_add(r, &whole, s.s.at, s.s.n) || !tpl_add_word(r, &whole, "\n"))
        return false;
    s = tpl_text_value(&whole);
    if (!tpl_split_lines(r, &s, false, &lines))
        return false;
    for (size_t i = 0; i < lines.list->n; i++) {
        const tpl_string *line = &lines.list->at[i].s;
        if (!add_line(r, &t, line, i == 0, i == 0 ? first : blank || line->n, &space.s))
            return false;
    }
    *result = tpl_text_value(&t);
    result->safe = v[0].safe;
    return true;
}

/* -- numbers ------------------------------------------------------------------------------------- */

static bool absolute(tpl_run *r, tpl_value *v, tpl_value *result)
{
    if (v[0].kind == TPL_FLOAT) {
        *result = tpl_float(fabs(v[0].f));
        return true;
    }
    *result = tpl_int(v[0].i);
    if (v[0].kind == TPL_UNDEFINED)
        return tpl_fail_undefined(r, &v[0]);
    if (!tpl_is_whole(&v[0]))
        return tpl_fail(r, "bad operand type for abs(): '%s'", tpl_type(&v[0]));
    return v[0].i >= 0 || tpl_unary(r, TPL_MINUS, &v[0], result);
}

static bool to_int(tpl_run *r, tpl_value *v, tpl_value *result)
{
    int64_t whole, base;
    double f = 0;
    *result = v[1].kind == TPL_MISSING ? tpl_int(0) : v[1];
    if (!tpl_arg_int(r, &v[2], 10, &base))
        return false;
    if (base != 10)
        return tpl_fail_as(r, ENG_ERR_UNSUPPORTED, "int() of a base other than 10 is not understood");
    if (v[0].kind == TPL_UNDEFINED)
        return tpl_fail_undefined(r, &v[0]);
    if (tpl_is_whole(&v[0]) || (v[0].kind == TPL_STRING && tpl_read_int(v[0].s.at, v[0].s.n, &whole))) {
        *result = tpl_int(v[0].kind == TPL_STRING ? whole : v[0].i);
        return true;
    }
    if (v[0].kind == TPL_STRING && !tpl_read_float(v[0].s.at, v[0].s.n, &f))
        return true;
    if (v[0].kind != TPL_STRING && v[0].kind != TPL_FLOAT)
        return true;
    f = v[0].kind == TPL_FLOAT ? v[0].f : f;
    if (isinf(f) && v[0].kind == TPL_FLOAT)
        return tpl_fail(r, "cannot convert float infinity to integer");
    if (isnan(f) || isinf(f))
        return true;
    if (!(f > -9.2e18 && f < 9.2e18))
        return tpl_fail_as(r, ENG_ERR_UNSUPPORTED, "a whole number of more than 64 bits is not understood");
    *result = tpl_int((int64_t)f);
    return true;
}

static bool to_float(tpl_run *r, tpl_value *v, tpl_value *result)
{
    double f;
    *result = v[1].kind == TPL_MISSING ? tpl_float(0) : v[1];
    if (v[0].kind == TPL_UNDEFINED)
        return tpl_fail_undefined(r, &v[0]);
    if (tpl_is_number(&v[0]))
        *result = tpl_float(tpl_number(&v[0]));
    else if (v[0].kind == TPL_STRING && tpl_read_float(v[0].s.at, v[0].s.n, &f))
        *result = tpl_float(f);
    return true;
}

/* Half to even of the number's exact value, as by printing it. */
static double rounded(double f, int digits)
{
    char text[400];
    snprintf(text, sizeof text, "%.*f", digits, f);
    return strtod(text, NULL);
}

static bool round_number(tpl_run *r, tpl_value *v, tpl_value *result)
{
    int64_t digits;
    const tpl_value common = tpl_word("common"), *method = v[2].kind == TPL_MISSING ? &common : &v[2];
    const bool up = tpl_is_text(method, "ceil"), nearest = tpl_is_text(method, "common");
    if (!up && !nearest && !tpl_is_text(method, "floor"))
        return tpl_fail(r, "method must be common, ceil or floor");
    if (!tpl_arg_int(r, &v[1], 0, &digits))
        return false;
    if (v[0].kind == TPL_UNDEFINED)
        return tpl_fail_undefined(r, &v[0]);
    if (!tpl_is_number(&v[0]))
        return tpl_fail(r, "type %s doesn't define __round__ method", tpl_type(&v[0]));
    if (digits < 0 || digits > 15)
        return tpl_fail_as(r, ENG_ERR_UNSUPPORTED, "round() to other than 0 to 15 digits is not understood");
    const double ten = pow(10, (double)digits), f = tpl_number(&v[0]);
    if (nearest && tpl_is_whole(&v[0]))
        *result = tpl_int(v[0].i);
    else if (nearest)
        *result = tpl_float(isfinite(f) && fabs(f) < 1e22 ? rounded(f, (int)digits) : f);
    else
        *result = tpl_float((up ? ceil(f * ten) : floor(f * ten)) / ten);
    return true;
}

static bool otherwise(tpl_run *r, tpl_value *v, tpl_value *result)
{
    (void)r;
    bool use = v[0].kind == TPL_UNDEFINED || (tpl_arg_bool(&v[2], false) && !tpl_truth(&v[0]));
    *result = !use ? v[0] : v[1].kind == TPL_MISSING ? tpl_word("") : v[1];
    return true;
}

/* -- by name ------------------------------------------------------------------------------------------- */

static const tpl_builtin filters[] = {
    {"upper", "s", 1, upper, NULL},
    {"lower", "s", 1, lower, NULL},
    {"capitalize", "s", 1, capitalize, NULL},
    {"title", "s", 1, title, NULL},
    {"trim", "value chars", 1, trim, NULL},
    {"string", "object", 1, string, NULL},
    {"safe", "value", 1, safe, NULL},
    {"escape", "s", 1, escape, NULL},
    {"e", "s", 1, escape, NULL},
    {"replace", "s old new count", 3, replace, NULL},
    {"center", "value width", 1, center, NULL},
    {"format", NULL, 0, NULL, format},
    {"indent", "s width first blank", 1, indent, NULL},
    {"abs", "x", 1, absolute, NULL},
    {"int", "value default base", 1, to_int, NULL},
    {"float", "value default", 1, to_float, NULL},
    {"round", "value precision method", 1, round_number, NULL},
    {"default", "value default_value boolean", 1, otherwise, NULL},
    {"d", "value default_value boolean", 1, otherwise, NULL},
    {"tojson", "x ensure_ascii indent separators sort_keys", 1, tpl_filter_json, NULL},
    {NULL, NULL, 0, NULL, NULL},
};

static const tpl_builtin *find(const char *name, size_t n)
{
    const tpl_builtin *const tables[] = {filters, tpl_list_filters, tpl_select_filters};
    for (int k = 0; k < 3; k++)
        for (const tpl_builtin *b = tables[k]; b->name; b++)
            if (tpl_same(name, n, b->name))
                return b;
    return NULL;
}

bool tpl_filter_known(const char *name, size_t n)
{
    return find(name, n) != NULL;
}

bool tpl_filter_run(tpl_run *r, const char *name, size_t n, tpl_call *call, tpl_value *result)
{
    const tpl_builtin *b = find(name, n);
    if (!b)
        return tpl_fail_as(r, ENG_ERR_UNSUPPORTED, "filter '%.*s' is not understood", (int)(n < 80 ? n : 80), name);
    return tpl_run_builtin(r, b, call, result);
}
