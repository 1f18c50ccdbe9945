/* Methods of lists, dicts and loops, and those that are known by name alone. */
#include "config.h"

#include <string.h>

#include "methods.h"
#include "print.h"

struct tpl_method {
    tpl_builtin builtin; /* run NULL: known, and refused                       */
};

/* -- dicts ---------------------------------------------------------------------------------- */

static bool get(tpl_run *r, tpl_value *v, tpl_value *result)
{
    bool ok;
    const tpl_value *value = tpl_dict_get(r, v[0].dict, &v[1], &ok);
    *result = value ? *value : v[2].kind == TPL_MISSING ? tpl_none() : v[2];
    return ok;
}

static bool view(tpl_run *r, const tpl_value *of, const char *what, tpl_value *result)
{
    const tpl_dict *d = of->dict;
    if (!tpl_list_new(r, TPL_VIEW, d->n, result))
        return false;
    result->list->what = what;
    for (size_t i = 0; i < d->n; i++) {
        tpl_value pair = strcmp(what, "dict_keys") == 0 ? d->at[i].key : d->at[i].value;
        if (strcmp(what, "dict_items") == 0 && !tpl_tuple2(r, d->at[i].key, d->at[i].value, &pair))
            return false;
        if (!tpl_list_add(r, result, pair))
            return false;
    }
    return true;
}

static bool items(tpl_run *r, tpl_value *v, tpl_value *result)
{
    return view(r, &v[0], "dict_items", result);
}

static bool keys(tpl_run *r, tpl_value *v, tpl_value *result)
{
    return view(r, &v[0], "dict_keys", result);
}

static bool values(tpl_run *r, tpl_value *v, tpl_value *result)
{
    return view(r, &v[0], "dict_values", result);
}

/* Nothing changes what there is. */
static bool copy(tpl_run *r, tpl_value *v, tpl_value *result)
{
    (void)r;
    *result = v[0];
    return true;
}

/* -- lists ------------------------------------------------------------------------------------ */

static bool index_of(tpl_run *r, tpl_value *v, tpl_value *result)
{
    const tpl_list *l = v[0].list;
    for (size_t i = 0; i < l->n; i++) {
        bool equal;
        if (!tpl_equal(r, &l->at[i], &v[1], &equal))
            return false;
        *result = tpl_int((int64_t)i);
        if (equal)
            return true;
    }
    return tpl_fail(r, "a value is not in list");
}

static bool count(tpl_run *r, tpl_value *v, tpl_value *result)
{
    const tpl_list *l = v[0].list;
    int64_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        bool equal;
        if (!tpl_equal(r, &l->at[i], &v[1], &equal))
            return false;
        n += equal;
    }
    *result = tpl_int(n);
    return true;
}

/* -- loops ------------------------------------------------------------------------------------- */

static bool cycle(tpl_run *r, const tpl_call *c, tpl_value *result)
{
    if (c->n < 2)
        return tpl_fail(r, "no items for cycling given");
    *result = c->at[1 + c->at[0].loop->index % (c->n - 1)];
    return true;
}

static bool changed(tpl_run *r, const tpl_call *c, tpl_value *result)
{
    tpl_list *last = &c->at[0].loop->last;
    bool same = last->at != NULL && last->n == c->n - 1;
    for (size_t i = 1; i < c->n && same; i++)
        if (!tpl_equal(r, &last->at[i - 1], &c->at[i], &same))
            return false;
    *last = (tpl_list){.at = c->at + 1, .n = c->n - 1};
    *result = tpl_bool(!same);
    return true;
}

/* -- all of them --------------------------------------------------------------------------------- */

static const tpl_method dict_methods[] = {
    {{"get", "self key default", 2, get, NULL}}, {{"items", "self", 1, items, NULL}}, {{"keys", "self", 1, keys, NULL}},
    {{"values", "self", 1, values, NULL}}, {{"copy", "self", 1, copy, NULL}}, {{"clear", "", 0, NULL, NULL}},
    {{"fromkeys", "", 0, NULL, NULL}}, {{"pop", "", 0, NULL, NULL}}, {{"popitem", "", 0, NULL, NULL}},
    {{"setdefault", "", 0, NULL, NULL}}, {{"update", "", 0, NULL, NULL}},
};
static const tpl_method list_methods[] = {
    {{"index", "self value", 2, index_of, NULL}}, {{"count", "self value", 2, count, NULL}}, {{"copy", "self", 1, copy, NULL}},
    {{"append", "", 0, NULL, NULL}}, {{"clear", "", 0, NULL, NULL}}, {{"extend", "", 0, NULL, NULL}}, {{"insert", "", 0, NULL, NULL}},
    {{"pop", "", 0, NULL, NULL}}, {{"remove", "", 0, NULL, NULL}}, {{"reverse", "", 0, NULL, NULL}}, {{"sort", "", 0, NULL, NULL}},
};
static const tpl_method tuple_methods[] = {
    {{"index", "self value", 2, index_of, NULL}}, {{"count", "self value", 2, count, NULL}},
};
static const tpl_method loop_methods[] = {
    {{"cycle", NULL, 0, NULL, cycle}}, {{"changed", NULL, 0, NULL, changed}},
};
static const tpl_method other_text_methods[] = {
    {{"casefold", "", 0, NULL, NULL}}, {{"encode", "", 0, NULL, NULL}}, {{"expandtabs", "", 0, NULL, NULL}},
    {{"format", "", 0, NULL, NULL}}, {{"format_map", "", 0, NULL, NULL}}, {{"isascii", "", 0, NULL, NULL}},
    {{"isdecimal", "", 0, NULL, NULL}}, {{"isidentifier", "", 0, NULL, NULL}}, {{"isnumeric", "", 0, NULL, NULL}},
    {{"isprintable", "", 0, NULL, NULL}}, {{"istitle", "", 0, NULL, NULL}}, {{"maketrans", "", 0, NULL, NULL}},
    {{"translate", "", 0, NULL, NULL}}, {{"zfill", "", 0, NULL, NULL}},
};
static const tpl_method number_methods[] = {
    {{"bit_length", "", 0, NULL, NULL}}, {{"bit_count", "", 0, NULL, NULL}}, {{"conjugate", "", 0, NULL, NULL}},
    {{"denominator", "", 0, NULL, NULL}}, {{"from_bytes", "", 0, NULL, NULL}}, {{"imag", "", 0, NULL, NULL}},
    {{"numerator", "", 0, NULL, NULL}}, {{"real", "", 0, NULL, NULL}}, {{"to_bytes", "", 0, NULL, NULL}},
    {{"as_integer_ratio", "", 0, NULL, NULL}}, {{"is_integer", "", 0, NULL, NULL}}, {{"hex", "", 0, NULL, NULL}},
    {{"fromhex", "", 0, NULL, NULL}},
};

static const tpl_method *look(const tpl_method *methods, size_t n_methods, const char *name, size_t n)
{
    for (size_t i = 0; i < n_methods; i++)
        if (tpl_same(name, n, methods[i].builtin.name))
            return &methods[i];
    return NULL;
}
#define LOOK(table) look(table, sizeof(table) / sizeof *(table), name, n)

static const tpl_method *find_text(const char *name, size_t n)
{
    for (size_t i = 0; i < tpl_n_text_methods; i++)
        if (tpl_same(name, n, tpl_text_methods[i].name))
            return (const tpl_method *)&tpl_text_methods[i];
    return LOOK(other_text_methods);
}

const tpl_method *tpl_method_find(tpl_kind kind, const char *name, size_t n)
{
    switch (kind) {
    case TPL_STRING: return find_text(name, n);
    case TPL_DICT: return LOOK(dict_methods);
    case TPL_LIST: return LOOK(list_methods);
    case TPL_TUPLE:
    case TPL_RANGE: return LOOK(tuple_methods);
    case TPL_LOOP: return LOOK(loop_methods);
    case TPL_BOOL:
    case TPL_INT:
    case TPL_FLOAT: return LOOK(number_methods);
    default: return NULL;
    }
}

bool tpl_method_run(tpl_run *r, const tpl_method *m, const tpl_call *call, tpl_value *result)
{
    const tpl_builtin *b = &m->builtin;
    if (b->run || b->run_call)
        return tpl_run_builtin(r, b, call, result);
    return tpl_fail_as(r, ENG_ERR_UNSUPPORTED,
                       "method '%s' of '%s' is not understood, or would change what templates may not", b->name,
                       tpl_type(&call->at[0]));
}
