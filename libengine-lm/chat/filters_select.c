/* Filters that put each entry to another filter or a test. */
#include "config.h"

#include "evaluate.h"
#include "filters.h"
#include "print.h"

/* The arguments of the inner call: the entry, then what follows the name. */
static bool inner_call(tpl_run *r, const tpl_call *c, size_t from, tpl_call *inner)
{
    *inner = (tpl_call){.named = c->named, .n_named = c->n_named};
    inner->at = tpl_alloc(r, c->n - from + 1, sizeof *inner->at);
    if (!inner->at)
        return false;
    inner->n = 1;
    for (size_t i = from; i < c->n; i++)
        inner->at[inner->n++] = c->at[i];
    return true;
}

static bool map_attribute(tpl_run *r, const tpl_call *c, const tpl_list *entries, tpl_value *result)
{
    const tpl_value *attribute = tpl_named(c, "attribute"), *otherwise = tpl_named(c, "default");
    if (c->n_named != 1 + (size_t)(otherwise != NULL))
        return tpl_fail(r, "map() got an unexpected keyword argument");
    for (size_t i = 0; i < entries->n; i++) {
        tpl_value value;
        if (!tpl_path(r, &entries->at[i], attribute, &value))
            return false;
        if (value.kind == TPL_UNDEFINED && otherwise && otherwise->kind != TPL_NONE)
            value = *otherwise;
        if (!tpl_list_add(r, result, value))
            return false;
    }
    return true;
}

static bool map_filter(tpl_run *r, const tpl_call *c, const tpl_list *entries, tpl_value *result)
{
    const tpl_value *name = &c->at[1];
    if (c->n < 2 || name->kind != TPL_STRING)
        return tpl_fail(r, "map requires a filter argument");
    for (size_t i = 0; i < entries->n; i++) {
        tpl_call inner;
        tpl_value value;
        if (!inner_call(r, c, 2, &inner))
            return false;
        inner.at[0] = entries->at[i];
        if (!r->hooks->filter(r, name->s.at, name->s.n, &inner, &value) || !tpl_list_add(r, result, value))
            return false;
    }
    return true;
}

static bool map(tpl_run *r, const tpl_call *c, tpl_value *result)
{
    tpl_list entries = {0};
    if (!tpl_list_new(r, TPL_ITERATOR, 0, result) || !tpl_truth(&c->at[0]))
        return !r->status;
    if (!tpl_entries(r, &c->at[0], &entries))
        return false;
    bool good = tpl_deeper(r) && (c->n == 1 && tpl_named(c, "attribute") ? map_attribute(r, c, &entries, result) :
                                                                           map_filter(r, c, &entries, result));
    r->depth -= good;
    return good;
}

/* -- select and its kin --------------------------------------------------------------------------- */

static bool passes(tpl_run *r, const tpl_call *c, size_t test, const tpl_value *value, bool *is)
{
    tpl_call inner;
    *is = tpl_truth(value);
    if (test >= c->n)
        return true;
    if (c->at[test].kind != TPL_STRING)
        return tpl_fail(r, "a test's name is no text");
    if (!inner_call(r, c, test + 1, &inner))
        return false;
    inner.at[0] = *value;
    return r->hooks->test(r, c->at[test].s.at, c->at[test].s.n, &inner, is);
}

static bool choose(tpl_run *r, const tpl_call *c, bool attribute, bool wanted, tpl_value *result)
{
    tpl_list entries;
    if (!tpl_list_new(r, TPL_ITERATOR, 0, result) || !tpl_truth(&c->at[0]))
        return !r->status;
    if (attribute && c->n < 2)
        return tpl_fail(r, "Missing parameter for attribute name");
    if (!tpl_entries(r, &c->at[0], &entries) || !tpl_deeper(r))
        return false;
    for (size_t i = 0; i < entries.n; i++) {
        tpl_value value = entries.at[i];
        bool is;
        if ((attribute && !tpl_path(r, &entries.at[i], &c->at[1], &value)) ||
            !passes(r, c, attribute ? 2 : 1, &value, &is) || (is == wanted && !tpl_list_add(r, result, entries.at[i])))
            return false;
    }
    r->depth--;
    return true;
}

static bool take(tpl_run *r, const tpl_call *c, tpl_value *result)
{
    return choose(r, c, false, true, result);
}

static bool reject(tpl_run *r, const tpl_call *c, tpl_value *result)
{
    return choose(r, c, false, false, result);
}

static bool take_by(tpl_run *r, const tpl_call *c, tpl_value *result)
{
    return choose(r, c, true, true, result);
}

static bool reject_by(tpl_run *r, const tpl_call *c, tpl_value *result)
{
    return choose(r, c, true, false, result);
}

const tpl_builtin tpl_select_filters[] = {
    {"map", NULL, 0, NULL, map}, {"select", NULL, 0, NULL, take}, {"reject", NULL, 0, NULL, reject},
    {"selectattr", NULL, 0, NULL, take_by}, {"rejectattr", NULL, 0, NULL, reject_by}, {NULL, NULL, 0, NULL, NULL},
};
