/* Values compared, looked for, and found by their keys. */
#include "config.h"

#include <string.h>

#include "print.h"

size_t tpl_find(const tpl_string *whole, const tpl_string *part, size_t from)
{
    if (part->n == 0 || from >= whole->n)
        return part->n == 0 && from <= whole->n ? from : SIZE_MAX;
    const char *found = memmem(whole->at + from, whole->n - from, part->at, part->n);
    return found ? (size_t)(found - whole->at) : SIZE_MAX;
}

/* -- equal ------------------------------------------------------------------------------- */

static bool equal_lists(tpl_run *r, const tpl_list *a, const tpl_list *b, bool *equal)
{
    *equal = a->n == b->n;
    for (size_t i = 0; i < a->n && *equal; i++)
        if (!tpl_equal(r, &a->at[i], &b->at[i], equal))
            return false;
    return true;
}

static bool equal_dicts(tpl_run *r, const tpl_dict *a, const tpl_dict *b, bool *equal)
{
    bool good = true;
    *equal = a->n == b->n;
    for (size_t i = 0; i < a->n && *equal && good; i++) {
        const tpl_value *other = tpl_dict_find(r, b, &a->at[i].key, &good);
        *equal = other != NULL;
        good = good && (!other || tpl_equal(r, &a->at[i].value, other, equal));
    }
    return good;
}

static bool equal_numbers(const tpl_value *a, const tpl_value *b)
{
    return a->kind == TPL_FLOAT || b->kind == TPL_FLOAT ? tpl_number(a) == tpl_number(b) : a->i == b->i;
}

static bool equal_kind(tpl_run *r, const tpl_value *a, const tpl_value *b, bool *equal)
{
    switch (a->kind) {
    case TPL_NONE:
    case TPL_UNDEFINED: *equal = true; return true;
    case TPL_STRING: *equal = a->s.n == b->s.n && (a->s.n == 0 || memcmp(a->s.at, b->s.at, a->s.n) == 0); return true;
    case TPL_LIST:
    case TPL_TUPLE:
    case TPL_RANGE: return equal_lists(r, a->list, b->list, equal);
    case TPL_DICT: return equal_dicts(r, a->dict, b->dict, equal);
    case TPL_METHOD: *equal = a->method.row == b->method.row && a->method.self == b->method.self; return true;
    case TPL_FUNCTION: *equal = a->i == b->i; return true;
    default: *equal = a->list == b->list; return true;
    }
}

bool tpl_equal(tpl_run *r, const tpl_value *a, const tpl_value *b, bool *equal)
{
    *equal = false;
    if (tpl_is_number(a) && tpl_is_number(b)) {
        *equal = equal_numbers(a, b);
        return true;
    }
    if (a->kind != b->kind)
        return true;
    if (!tpl_step(r, 1) || !tpl_deeper(r))
        return false;
    bool good = equal_kind(r, a, b, equal);
    r->depth--;
    return good;
}

/* -- before and after ----------------------------------------------------------------------- */

static int order_texts(const tpl_string *a, const tpl_string *b)
{
    size_t n = a->n < b->n ? a->n : b->n;
    int order = n ? memcmp(a->at, b->at, n) : 0;
    return order < 0 ? -1 : order > 0 ? 1 : a->n < b->n ? -1 : a->n > b->n;
}

static bool order_lists(tpl_run *r, const tpl_list *a, const tpl_list *b, const char *sign, int *order)
{
    for (size_t i = 0; i < a->n && i < b->n; i++) {
        bool equal;
        if (!tpl_equal(r, &a->at[i], &b->at[i], &equal))
            return false;
        if (!equal)
            return tpl_order(r, &a->at[i], &b->at[i], sign, order);
    }
    *order = a->n < b->n ? -1 : a->n > b->n;
    return true;
}

bool tpl_order(tpl_run *r, const tpl_value *a, const tpl_value *b, const char *sign, int *order)
{
    if (a->kind == TPL_UNDEFINED || b->kind == TPL_UNDEFINED) {
        const tpl_string *s = a->kind == TPL_UNDEFINED ? &a->s : &b->s;
        return tpl_fail(r, "'%.*s' is undefined", (int)(s->n < 200 ? s->n : 200), s->at);
    }
    if (tpl_is_whole(a) && tpl_is_whole(b)) {
        *order = a->i < b->i ? -1 : a->i > b->i;
        return true;
    }
    if (tpl_is_number(a) && tpl_is_number(b)) {
        double x = tpl_number(a), y = tpl_number(b);
        *order = x < y ? -1 : x > y ? 1 : x == y ? 0 : TPL_UNORDERED;
        return true;
    }
    if (a->kind == TPL_STRING && b->kind == TPL_STRING) {
        *order = order_texts(&a->s, &b->s);
        return tpl_step(r, 1);
    }
    if (a->kind != b->kind || (a->kind != TPL_LIST && a->kind != TPL_TUPLE))
        return tpl_fail(r, "'%s' not supported between instances of '%s' and '%s'", sign, tpl_type(a), tpl_type(b));
    if (!tpl_deeper(r))
        return false;
    bool good = order_lists(r, a->list, b->list, sign, order);
    r->depth--;
    return good;
}

/* -- keys, membership -------------------------------------------------------------------------- */

bool tpl_hashable(tpl_run *r, const tpl_value *v, bool *hashable)
{
    *hashable = v->kind != TPL_LIST && v->kind != TPL_DICT;
    if (v->kind != TPL_TUPLE)
        return true;
    if (!tpl_step(r, v->list->n) || !tpl_deeper(r))
        return false;
    bool good = true;
    for (size_t i = 0; i < v->list->n && *hashable && good; i++)
        good = tpl_hashable(r, &v->list->at[i], hashable);
    r->depth--;
    return good;
}

static bool need_hashable(tpl_run *r, const tpl_value *v)
{
    bool hashable;
    return tpl_hashable(r, v, &hashable) && (hashable || tpl_fail(r, "unhashable type: '%s'", tpl_type(v)));
}

tpl_value *tpl_dict_get(tpl_run *r, const tpl_dict *d, const tpl_value *key, bool *ok)
{
    *ok = need_hashable(r, key);
    return *ok ? tpl_dict_find(r, d, key, ok) : NULL;
}

tpl_value *tpl_dict_name(const tpl_dict *d, const char *name, size_t n)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->at[i].key.kind == TPL_STRING && d->at[i].key.s.n == n &&
            (n == 0 || memcmp(d->at[i].key.s.at, name, n) == 0))
            return &d->at[i].value;
    return NULL;
}

tpl_value *tpl_dict_find(tpl_run *r, const tpl_dict *d, const tpl_value *key, bool *ok)
{
    *ok = tpl_step(r, d->n / 4);
    if (!*ok)
        return NULL;
    if (key->kind == TPL_STRING)
        return tpl_dict_name(d, key->s.at, key->s.n);
    for (size_t i = 0; i < d->n; i++) {
        bool equal;
        *ok = tpl_equal(r, &d->at[i].key, key, &equal);
        if (!*ok)
            return NULL;
        if (equal)
            return &d->at[i].value;
    }
    return NULL;
}

bool tpl_dict_set(tpl_run *r, tpl_dict *d, tpl_value key, tpl_value value)
{
    bool ok;
    tpl_value *old = tpl_dict_get(r, d, &key, &ok);
    if (old)
        *old = value;
    return ok && (old || tpl_dict_append(r, d, key, value));
}

static bool in_list(tpl_run *r, const tpl_value *part, const tpl_list *l, bool *in)
{
    for (size_t i = 0; i < l->n && !*in; i++)
        if (!tpl_equal(r, &l->at[i], part, in))
            return false;
    return true;
}

bool tpl_in(tpl_run *r, const tpl_value *part, const tpl_value *whole, bool *in)
{
    tpl_list entries;
    bool ok;
    *in = false;
    if (whole->kind == TPL_STRING) {
        if (part->kind != TPL_STRING)
            return tpl_fail(r, "'in <string>' requires string as left operand, not %s", tpl_type(part));
        *in = tpl_find(&whole->s, &part->s, 0) != SIZE_MAX;
        return tpl_step(r, whole->s.n / 16);
    }
    if (whole->kind == TPL_DICT) {
        *in = tpl_dict_get(r, whole->dict, part, &ok) != NULL;
        return ok;
    }
    if (!tpl_iterable(whole))
        return tpl_fail(r, "argument of type '%s' is not iterable", tpl_type(whole));
    return tpl_entries(r, whole, &entries) && in_list(r, part, &entries, in);
}
