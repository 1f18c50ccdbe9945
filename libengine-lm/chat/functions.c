/* Functions that every template has. */
#include "config.h"

#include <string.h>
#include <time.h>

#include "args.h"
#include "functions.h"
#include "marks.h"
#include "print.h"

static bool raise_exception(tpl_run *r, tpl_value *v, tpl_value *result)
{
    tpl_value text;
    (void)result;
    return tpl_as_string(r, &v[0], &text) && tpl_fail(r, "%.*s", (int)(text.s.n < 4000 ? text.s.n : 4000), text.s.at);
}

static bool strftime_now(tpl_run *r, tpl_value *v, tpl_value *result)
{
    char format[256], text[1024];
    struct tm parts;
    time_t now = time(NULL);
    if (v[0].kind != TPL_STRING || v[0].s.n >= sizeof format || memchr(v[0].s.at, 0, v[0].s.n))
        return tpl_fail(r, "strftime_now() needs a format of less than %zu bytes", sizeof format);
    memcpy(format, v[0].s.at, v[0].s.n);
    format[v[0].s.n] = 0;
    if (!localtime_r(&now, &parts))
        return tpl_fail(r, "the time of day is not known");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    size_t n = strftime(text, sizeof text, format, &parts);
#pragma GCC diagnostic pop
    tpl_text t = {0};
    bool good = tpl_add(r, &t, text, n);
    tpl_mark_as(r, &t, 0, v[0].s.at, v[0].s.n);
    *result = tpl_text_value(&t);
    return good;
}

static bool range(tpl_run *r, const tpl_call *c, tpl_value *result)
{
    int64_t part[3] = {0, 0, 1};
    if (c->n < 1 || c->n > 3 || c->n_named)
        return tpl_fail(r, "range() takes 1 to 3 arguments and no keywords");
    for (size_t i = 0; i < c->n; i++)
        if (!tpl_arg_int(r, &c->at[i], 0, &part[c->n == 1 ? 1 : i]))
            return false;
    return tpl_range_new(r, part[0], part[1], part[2], result);
}

/* Entries of one argument - a mapping, or pairs - and of keywords. */
static bool make_dict(tpl_run *r, const tpl_call *c, tpl_kind kind, tpl_value *result)
{
    tpl_list entries = {0};
    bool good = tpl_dict_new(r, kind, result);
    if (c->n > 1)
        return good && tpl_fail(r, "%s() takes one argument at most", kind == TPL_DICT ? "dict" : "namespace");
    const bool mapping = c->n && c->at[0].kind == TPL_DICT;
    for (size_t i = 0; mapping && i < c->at[0].dict->n && good; i++)
        good = tpl_dict_set(r, result->dict, c->at[0].dict->at[i].key, c->at[0].dict->at[i].value);
    good = good && (c->n == 0 || mapping || tpl_entries(r, &c->at[0], &entries));
    for (size_t i = 0; i < entries.n && good; i++) {
        tpl_list pair;
        good = tpl_entries(r, &entries.at[i], &pair) && (pair.n == 2 || tpl_fail(r, "an entry of a dict is no pair")) &&
               tpl_dict_set(r, result->dict, pair.at[0], pair.at[1]);
    }
    for (size_t i = 0; i < c->n_named && good; i++)
        good = tpl_dict_set(r, result->dict, c->named[i].key, c->named[i].value);
    return good;
}

static bool dict(tpl_run *r, const tpl_call *c, tpl_value *result)
{
    return make_dict(r, c, TPL_DICT, result);
}

static bool namespace(tpl_run *r, const tpl_call *c, tpl_value *result)
{
    return make_dict(r, c, TPL_NAMESPACE, result);
}

static const tpl_builtin functions[] = {
    {"raise_exception", "message", 1, raise_exception, NULL}, {"strftime_now", "format", 1, strftime_now, NULL},
    {"range", NULL, 0, NULL, range}, {"dict", NULL, 0, NULL, dict}, {"namespace", NULL, 0, NULL, namespace},
    {"cycler", NULL, 0, NULL, NULL}, {"joiner", NULL, 0, NULL, NULL}, {"lipsum", NULL, 0, NULL, NULL},
};

bool tpl_function_find(tpl_run *r, const char *name, size_t n, tpl_value *v)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (!tpl_same(name, n, functions[i].name))
            continue;
        if (!functions[i].run && !functions[i].run_call)
            return tpl_fail_as(r, ENG_ERR_UNSUPPORTED, "function '%s' is not understood", functions[i].name);
        *v = (tpl_value){.kind = TPL_FUNCTION, .i = (int64_t)i};
    }
    return true;
}

bool tpl_function_run(tpl_run *r, const tpl_value *function, const tpl_call *call, tpl_value *result)
{
    return tpl_run_builtin(r, &functions[function->i], call, result);
}
