/* Names, and what they stand for. */
#include "config.h"

#include "evaluate.h"
#include "print.h"

bool tpl_scope_new(tpl_run *r, tpl_scope *parent, tpl_scope **scope)
{
    tpl_scope *s = tpl_alloc(r, 1, sizeof *s);
    *scope = s;
    if (!s)
        return false;
    s->parent = parent;
    return tpl_dict_new(r, TPL_DICT, &s->names);
}

bool tpl_scope_set(tpl_run *r, tpl_scope *scope, const char *name, size_t n, tpl_value value)
{
    tpl_value *old = tpl_dict_name(scope->names.dict, name, n);
    if (old)
        *old = value;
    return old || tpl_dict_append(r, scope->names.dict, tpl_string_of(name, n), value);
}

const tpl_value *tpl_scope_find(const tpl_scope *scope, const char *name, size_t n)
{
    const tpl_value *found = NULL;
    for (; scope && !found; scope = scope->parent)
        found = tpl_dict_name(scope->names.dict, name, n);
    return found;
}

size_t tpl_scope_names(const tpl_scope *scope)
{
    size_t n = 0;
    for (; scope; scope = scope->parent)
        n += scope->names.dict->n;
    return n;
}
