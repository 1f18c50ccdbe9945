/* A template's variables: JSON as values, with members in the order given. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "marks.h"
#include "variables.h"

static bool convert(tpl_run *r, const json_t *json, tpl_value *v);

/* Jansson's memory ends with the text that was read; values' with the run. */
static bool text_value(tpl_run *r, const char *at, size_t n, tpl_value *v)
{
    tpl_text t = {0};
    bool good = tpl_add(r, &t, at, n);
    *v = tpl_text_value(&t);
    tpl_mark(r, v, true);
    return good;
}

/* eos_token and the like are the template's own words, whoever says what they are. */
static bool is_token(const tpl_string *name)
{
    const size_t n = name->n;
    return (n > 6 && memcmp(name->at + n - 6, "_token", 6) == 0) ||
           (n > 7 && memcmp(name->at + n - 7, "_tokens", 7) == 0);
}

static void unmark(const tpl_run *r, const tpl_value *v)
{
    if (v->kind == TPL_STRING)
        tpl_mark(r, v, false);
    for (size_t i = 0; v->kind == TPL_LIST && i < v->list->n; i++)
        if (v->list->at[i].kind == TPL_STRING)
            tpl_mark(r, &v->list->at[i], false);
}

static void unmark_tokens(const tpl_run *r, const tpl_dict *variables)
{
    for (size_t i = 0; r->marks && i < variables->n; i++)
        if (is_token(&variables->at[i].key.s))
            unmark(r, &variables->at[i].value);
}

static bool list_value(tpl_run *r, const json_t *json, tpl_value *v)
{
    if (!tpl_list_new(r, TPL_LIST, json_array_size(json), v))
        return false;
    for (size_t i = 0; i < json_array_size(json); i++) {
        tpl_value entry;
        if (!convert(r, json_array_get(json, i), &entry) || !tpl_list_add(r, v, entry))
            return false;
    }
    return true;
}

static bool dict_value(tpl_run *r, const json_t *json, tpl_value *v)
{
    if (!tpl_dict_new(r, TPL_DICT, v))
        return false;
    for (void *i = json_object_iter((json_t *)json); i; i = json_object_iter_next((json_t *)json, i)) {
        const char *name = json_object_iter_key(i);
        tpl_value key, value;
        if (!text_value(r, name, strlen(name), &key) || !convert(r, json_object_iter_value(i), &value) ||
            !tpl_dict_append(r, v->dict, key, value))
            return false;
    }
    return true;
}

static bool nested(tpl_run *r, const json_t *json, tpl_value *v)
{
    if (!tpl_deeper(r))
        return false;
    bool good = json_is_array(json) ? list_value(r, json, v) : dict_value(r, json, v);
    r->depth--;
    return good;
}

static bool convert(tpl_run *r, const json_t *json, tpl_value *v)
{
    switch (json_typeof(json)) {
    case JSON_NULL: *v = tpl_none(); return true;
    case JSON_TRUE: *v = tpl_bool(true); return true;
    case JSON_FALSE: *v = tpl_bool(false); return true;
    case JSON_INTEGER: *v = tpl_int(json_integer_value(json)); return true;
    case JSON_REAL: *v = tpl_float(json_real_value(json)); return true;
    case JSON_STRING: return text_value(r, json_string_value(json), json_string_length(json), v);
    default: return nested(r, json, v);
    }
}

/* Jansson tells of memory that it does not get as of a text that it cannot read: it is asked twice, and whether there
 * is memory at all. */
static json_t *load(tpl_run *r, const char *json)
{
    json_error_t error = {.line = 0};
    json_t *whole = json_loads(json, JSON_ALLOW_NUL, &error);
    void *probe;
    if (!whole)
        whole = json_loads(json, JSON_ALLOW_NUL, &error);
    if (whole)
        return whole;
    probe = malloc(1 << 12);
    if (probe)
        tpl_fail_as(r, ENG_ERR_FORMAT, "its variables are no JSON object: line %d, column %d: %s", error.line,
                    error.column, error.text);
    else
        r->status = eng_fail_code(EU_NO_MEMORY("the variables of a template"));
    free(probe);
    return NULL;
}

bool tpl_variables(tpl_run *r, const char *json, tpl_scope *scope)
{
    json_t *whole = load(r, json);
    if (!whole)
        return false;
    bool good = json_is_object(whole) ?
                    convert(r, whole, &scope->names) :
                    tpl_fail_as(r, ENG_ERR_FORMAT, "its variables are no JSON object but another value");
    json_decref(whole);
    if (good)
        unmark_tokens(r, scope->names.dict);
    return good;
}
