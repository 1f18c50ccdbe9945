/* Filters of lists and dicts. */
#include "config.h"

#include <string.h>

#include "evaluate.h"
#include "filters.h"
#include "lists.h"
#include "methods.h"
#include "print.h"

bool tpl_ignore_case(tpl_run *r, const tpl_value *v, tpl_value *small)
{
    *small = *v;
    return v->kind != TPL_STRING || tpl_change_case(r, v, TPL_LOWER, small);
}

/* The entry, or what `attribute` names of it. */
static bool of_entry(tpl_run *r, const tpl_value *entry, const tpl_value *attribute, tpl_value *value)
{
    *value = *entry;
    return attribute->kind == TPL_MISSING || attribute->kind == TPL_NONE || tpl_path(r, entry, attribute, value);
}

static bool length(tpl_run *r, tpl_value *v, tpl_value *result)
{
    size_t n = 0;
    bool good = tpl_length(r, &v[0], &n);
    *result = tpl_int((int64_t)n);
    return good;
}

static bool first(tpl_run *r, tpl_value *v, tpl_value *result)
{
    tpl_list entries;
    if (v[0].kind == TPL_ITERATOR) {
        tpl_list *l = v[0].list;
        *result = l->next < l->n ? l->at[l->next++] : tpl_undefined("No first item, sequence was empty.", 34, NULL);
        return true;
    }
    if (!tpl_entries(r, &v[0], &entries))
        return false;
    *result = entries.n ? entries.at[0] : tpl_undefined("No first item, sequence was empty.", 34, NULL);
    return true;
}

static bool last(tpl_run *r, tpl_value *v, tpl_value *result)
{
    tpl_list entries;
    if (v[0].kind == TPL_ITERATOR)
        return tpl_fail(r, "'generator' object is not reversible");
    if (!tpl_entries(r, &v[0], &entries))
        return false;
    *result = entries.n ? entries.at[entries.n - 1] : tpl_undefined("No last item, sequence was empty.", 33, NULL);
    return true;
}

static bool list_from(tpl_run *r, const tpl_value *of, tpl_kind kind, bool back, tpl_value *result)
{
    tpl_list entries;
    if (!tpl_entries(r, of, &entries) || !tpl_list_new(r, kind, entries.n, result))
        return false;
    for (size_t i = 0; i < entries.n; i++)
        if (!tpl_list_add(r, result, entries.at[back ? entries.n - 1 - i : i]))
            return false;
    return true;
}

static bool list(tpl_run *r, tpl_value *v, tpl_value *result)
{
    return list_from(r, &v[0], TPL_LIST, false, result);
}

static bool reverse(tpl_run *r, tpl_value *v, tpl_value *result)
{
    const tpl_value back[3] = {tpl_none(), tpl_none(), tpl_int(-1)};
    if (v[0].kind == TPL_STRING)
        return tpl_slice(r, &v[0], back, result);
    if (!tpl_iterable(&v[0]))
        return tpl_fail(r, "argument must be iterable");
    return list_from(r, &v[0], v[0].kind == TPL_ITERATOR ? TPL_LIST : TPL_ITERATOR, true, result);
}

static bool join(tpl_run *r, tpl_value *v, tpl_value *result)
{
    tpl_list entries;
    tpl_text t = {0};
    tpl_value between = tpl_word("");
    if (!tpl_entries(r, &v[0], &entries) || (v[1].kind != TPL_MISSING && !tpl_as_string(r, &v[1], &between)))
        return false;
    for (size_t i = 0; i < entries.n; i++) {
        tpl_value value;
        if (!of_entry(r, &entries.at[i], &v[2], &value) || (i && !tpl_add(r, &t, between.s.at, between.s.n)) ||
            !tpl_str(r, &t, &value))
            return false;
    }
    *result = tpl_text_value(&t);
    return true;
}

static bool items(tpl_run *r, tpl_value *v, tpl_value *result)
{
    if (!tpl_list_new(r, TPL_ITERATOR, 0, result))
        return false;
    if (v[0].kind == TPL_UNDEFINED)
        return true;
    if (v[0].kind != TPL_DICT)
        return tpl_fail(r, "Can only get item pairs from a mapping.");
    for (size_t i = 0; i < v[0].dict->n; i++) {
        tpl_value pair;
        if (!tpl_tuple2(r, v[0].dict->at[i].key, v[0].dict->at[i].value, &pair) || !tpl_list_add(r, result, pair))
            return false;
    }
    return true;
}

/* -- sorted ----------------------------------------------------------------------------------- */

/* "a,b": by several attributes. */
static bool several_keys(tpl_run *r, const tpl_value *entry, const tpl_value *attributes, bool with_case,
                         tpl_value *key)
{
    const tpl_string *s = &attributes->s;
    if (!tpl_list_new(r, TPL_LIST, 2, key))
        return false;
    for (size_t i = 0; i <= s->n;) {
        const char *comma = i < s->n ? memchr(s->at + i, ',', s->n - i) : NULL;
        const size_t end = comma ? (size_t)(comma - s->at) : s->n;
        const tpl_value name = tpl_string_of(s->at + i, end - i);
        tpl_value value, small;
        if (!of_entry(r, entry, &name, &value) || (!with_case && !tpl_ignore_case(r, &value, &small)) ||
            !tpl_list_add(r, key, with_case ? value : small))
            return false;
        i = end + 1;
    }
    return true;
}

static bool key_of(tpl_run *r, const tpl_value *entry, const tpl_value *attribute, bool with_case, tpl_value *key)
{
    tpl_value value;
    if (attribute->kind == TPL_STRING && memchr(attribute->s.at, ',', attribute->s.n))
        return several_keys(r, entry, attribute, with_case, key);
    if (!of_entry(r, entry, attribute, &value))
        return false;
    *key = value;
    return with_case || tpl_ignore_case(r, &value, key);
}

/* As jinja2 sorts: by lists of keys, of which only those that differ are put in order. */
static bool in_list(tpl_run *r, tpl_value *key)
{
    tpl_value list;
    if (!tpl_list_new(r, TPL_LIST, 1, &list) || !tpl_list_add(r, &list, *key))
        return false;
    *key = list;
    return true;
}

/* The entries with their keys. */
static bool keyed(tpl_run *r, const tpl_value *of, const tpl_value *attribute, bool with_case, tpl_pair **pairs,
                  size_t *n)
{
    tpl_list entries;
    if (!tpl_entries(r, of, &entries))
        return false;
    *n = entries.n;
    *pairs = tpl_alloc(r, entries.n + 1, sizeof **pairs);
    bool good = *pairs != NULL;
    for (size_t i = 0; i < entries.n && good; i++) {
        (*pairs)[i].value = entries.at[i];
        good = key_of(r, &entries.at[i], attribute, with_case, &(*pairs)[i].key);
    }
    return good;
}

static bool sort_by(tpl_run *r, tpl_value *v, bool lists, tpl_value *result)
{
    tpl_pair *pairs;
    size_t n;
    if (!keyed(r, &v[0], &v[3], tpl_arg_bool(&v[2], false), &pairs, &n))
        return false;
    for (size_t i = 0; lists && i < n; i++)
        if (!in_list(r, &pairs[i].key))
            return false;
    if (!tpl_sort_pairs_by(r, pairs, n, tpl_arg_bool(&v[1], false)) ||
        !tpl_list_new(r, TPL_LIST, n, result))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!tpl_list_add(r, result, pairs[i].value))
            return false;
    return true;
}

static bool sort(tpl_run *r, tpl_value *v, tpl_value *result)
{
    return sort_by(r, v, true, result);
}

static bool dictsort(tpl_run *r, tpl_value *v, tpl_value *result)
{
    const tpl_value by_key = tpl_word("key"), *by = v[2].kind == TPL_MISSING ? &by_key : &v[2];
    const bool by_value = tpl_is_text(by, "value");
    tpl_value pairs, position = tpl_int(by_value), again[TPL_MOST_PARAMETERS] = {{.kind = TPL_MISSING}};
    if (!by_value && !tpl_is_text(by, "key"))
        return tpl_fail(r, "You can only sort by either \"key\" or \"value\"");
    if (v[0].kind != TPL_DICT)
        return tpl_fail(r, "dictsort() needs a dict, got %s", tpl_type(&v[0]));
    if (!items(r, v, &pairs))
        return false;
    again[0] = pairs;
    again[1] = v[3];
    again[2] = v[1];
    again[3] = position;
    return sort_by(r, again, false, result);
}

static bool unique(tpl_run *r, tpl_value *v, tpl_value *result)
{
    tpl_pair *pairs;
    size_t n;
    tpl_value seen;
    bool ok = true;
    if (!keyed(r, &v[0], &v[2], tpl_arg_bool(&v[1], false), &pairs, &n) || !tpl_dict_new(r, TPL_DICT, &seen) ||
        !tpl_list_new(r, TPL_ITERATOR, 0, result))
        return false;
    for (size_t i = 0; i < n && ok; i++) {
        if (tpl_dict_get(r, seen.dict, &pairs[i].key, &ok))
            continue;
        ok = ok && tpl_dict_set(r, seen.dict, pairs[i].key, tpl_none()) && tpl_list_add(r, result, pairs[i].value);
    }
    return ok;
}

static bool extreme(tpl_run *r, tpl_value *v, bool most, tpl_value *result)
{
    tpl_pair *pairs;
    size_t n, best = 0;
    if (!keyed(r, &v[0], &v[2], tpl_arg_bool(&v[1], false), &pairs, &n))
        return false;
    *result = tpl_undefined("No aggregated item, sequence was empty.", 39, NULL);
    for (size_t i = 1; i < n; i++) {
        int order;
        if (!tpl_order(r, &pairs[i].key, &pairs[best].key, most ? ">" : "<", &order))
            return false;
        if (order != TPL_UNORDERED && (most ? order > 0 : order < 0))
            best = i;
    }
    if (n)
        *result = pairs[best].value;
    return true;
}

static bool least(tpl_run *r, tpl_value *v, tpl_value *result)
{
    return extreme(r, v, false, result);
}

static bool greatest(tpl_run *r, tpl_value *v, tpl_value *result)
{
    return extreme(r, v, true, result);
}

static bool sum(tpl_run *r, tpl_value *v, tpl_value *result)
{
    tpl_list entries;
    *result = v[2].kind == TPL_MISSING ? tpl_int(0) : v[2];
    if (!tpl_entries(r, &v[0], &entries))
        return false;
    if (result->kind == TPL_STRING)
        return tpl_fail(r, "sum() can't sum strings [use ''.join(seq) instead]");
    for (size_t i = 0; i < entries.n; i++) {
        tpl_value value, before = *result;
        if (!of_entry(r, &entries.at[i], &v[1], &value) || !tpl_binary(r, TPL_PLUS, &before, &value, result))
            return false;
    }
    return true;
}

static bool batch(tpl_run *r, tpl_value *v, tpl_value *result)
{
    tpl_list entries;
    int64_t size;
    tpl_value row = {.kind = TPL_MISSING};
    if (!tpl_arg_int(r, &v[1], 0, &size) || !tpl_entries(r, &v[0], &entries) ||
        !tpl_list_new(r, TPL_ITERATOR, 0, result))
        return false;
    if (size < 1)
        return tpl_fail(r, "batch() needs a number of entries of 1 or more");
    for (size_t i = 0; i < entries.n; i++) {
        if (i % (size_t)size == 0 && (!tpl_list_new(r, TPL_LIST, 0, &row) || !tpl_list_add(r, result, row)))
            return false;
        if (!tpl_list_add(r, &row, entries.at[i]))
            return false;
    }
    while (row.kind == TPL_LIST && v[2].kind != TPL_MISSING && v[2].kind != TPL_NONE && row.list->n < (size_t)size)
        if (!tpl_list_add(r, &row, v[2]))
            return false;
    return true;
}

const tpl_builtin tpl_list_filters[] = {
    {"length", "obj", 1, length, NULL},
    {"count", "obj", 1, length, NULL},
    {"first", "seq", 1, first, NULL},
    {"last", "seq", 1, last, NULL},
    {"list", "value", 1, list, NULL},
    {"reverse", "value", 1, reverse, NULL},
    {"join", "value d attribute", 1, join, NULL},
    {"items", "value", 1, items, NULL},
    {"sort", "value reverse case_sensitive attribute", 1, sort, NULL},
    {"dictsort", "value case_sensitive by reverse", 1, dictsort, NULL},
    {"unique", "value case_sensitive attribute", 1, unique, NULL},
    {"min", "value case_sensitive attribute", 1, least, NULL},
    {"max", "value case_sensitive attribute", 1, greatest, NULL},
    {"sum", "iterable attribute start", 1, sum, NULL},
    {"batch", "value linecount fill_with", 2, batch, NULL},
    {NULL, NULL, 0, NULL, NULL},
};
