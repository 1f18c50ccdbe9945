/* Arguments of calls put where the callee names them. */
#include "config.h"

#include <string.h>

#include "args.h"

/* Which of the words it is; -1: none. */
static int place_of(const char *words, const tpl_string *name)
{
    for (int place = 0; *words; place++) {
        size_t n = strcspn(words, " ");
        if (n == name->n && memcmp(words, name->at, n) == 0)
            return place;
        words += n + (words[n] == ' ');
    }
    return -1;
}

static size_t count(const char *words)
{
    size_t n = *words != 0;
    for (; *words; words++)
        n += *words == ' ';
    return n;
}

static bool bind(tpl_run *r, const tpl_builtin *b, const tpl_call *call, tpl_value v[TPL_MOST_PARAMETERS])
{
    const size_t most = count(b->parameters);
    memset(v, 0, TPL_MOST_PARAMETERS * sizeof *v);
    if (call->n > most)
        return tpl_fail(r, "%s() takes at most %zu arguments (%zu given)", b->name, most, call->n);
    for (size_t i = 0; i < call->n; i++)
        v[i] = call->at[i];
    for (size_t i = 0; i < call->n_named; i++) {
        const tpl_string *name = &call->named[i].key.s;
        int place = place_of(b->parameters, name);
        if (place < 0)
            return tpl_fail(r, "%s() got an unexpected keyword argument '%.*s'", b->name,
                            (int)(name->n < 80 ? name->n : 80), name->at);
        if (v[place].kind != TPL_MISSING)
            return tpl_fail(r, "%s() got multiple values for argument '%.*s'", b->name, (int)name->n, name->at);
        v[place] = call->named[i].value;
    }
    for (size_t i = 0; i < b->required; i++)
        if (v[i].kind == TPL_MISSING)
            return tpl_fail(r, "%s() needs %u arguments", b->name, b->required);
    return true;
}

bool tpl_run_builtin(tpl_run *r, const tpl_builtin *b, const tpl_call *call, tpl_value *result)
{
    tpl_value v[TPL_MOST_PARAMETERS];
    if (b->run_call)
        return b->run_call(r, call, result);
    return bind(r, b, call, v) && b->run(r, v, result);
}

const tpl_value *tpl_named(const tpl_call *call, const char *name)
{
    for (size_t i = 0; i < call->n_named; i++)
        if (tpl_is_text(&call->named[i].key, name))
            return &call->named[i].value;
    return NULL;
}

bool tpl_arg_int(tpl_run *r, const tpl_value *v, int64_t otherwise, int64_t *value)
{
    *value = otherwise;
    if (v->kind == TPL_MISSING)
        return true;
    if (!tpl_is_whole(v))
        return tpl_fail(r, "'%s' object cannot be interpreted as an integer", tpl_type(v));
    *value = v->i;
    return true;
}

bool tpl_arg_bool(const tpl_value *v, bool otherwise)
{
    return v->kind == TPL_MISSING ? otherwise : tpl_truth(v);
}
