/* Statements run, and the macros that they define. */
#include "config.h"

#include <string.h>

#include "evaluate.h"
#include "execute.h"
#include "functions.h"
#include "methods.h"
#include "print.h"

/* -- names that are set --------------------------------------------------------------------- */

static bool assign(tpl_run *r, tpl_scope *scope, const tpl_node *target, const tpl_value *value);

static bool unpack(tpl_run *r, tpl_scope *scope, const tpl_nodes *targets, const tpl_value *value)
{
    tpl_list entries;
    if (!tpl_entries(r, value, &entries))
        return false;
    if (entries.n != targets->n)
        return tpl_fail(r, "%s values to unpack (expected %zu, got %zu)",
                        entries.n < targets->n ? "not enough" : "too many", targets->n, entries.n);
    for (size_t i = 0; i < entries.n; i++)
        if (!assign(r, scope, targets->at[i], &entries.at[i]))
            return false;
    return true;
}

static bool assign(tpl_run *r, tpl_scope *scope, const tpl_node *target, const tpl_value *value)
{
    if (target->kind == TPL_NAME)
        return tpl_scope_set(r, scope, target->name, target->name_n, *value);
    if (target->kind == TPL_MAKE_TUPLE)
        return unpack(r, scope, &target->list, value);
    const tpl_value *ns = tpl_scope_find(r->scope, target->name, target->name_n);
    if (!ns || ns->kind != TPL_NAMESPACE)
        return tpl_fail(r, "cannot assign attribute on non-namespace object");
    return tpl_dict_set(r, ns->dict, target->value, *value);
}

/* -- bodies of their own -------------------------------------------------------------------------- */

/* Runs a body in a scope, its text into `out`. */
static bool execute_in(tpl_run *r, tpl_scope *scope, const tpl_nodes *body, tpl_text *out)
{
    tpl_scope *outer = r->scope;
    tpl_text *outer_text = r->out;
    r->scope = scope;
    r->out = out;
    bool good = tpl_execute(r, body);
    r->scope = outer;
    r->out = outer_text;
    return good;
}

static bool capture(tpl_run *r, const tpl_nodes *body, tpl_value *text)
{
    tpl_scope *scope;
    tpl_text t = {0};
    bool good = tpl_scope_new(r, r->scope, &scope) && execute_in(r, scope, body, &t);
    *text = tpl_text_value(&t);
    return good;
}

static bool execute_scoped(tpl_run *r, const tpl_nodes *body)
{
    tpl_scope *scope;
    return tpl_scope_new(r, r->scope, &scope) && execute_in(r, scope, body, r->out);
}

/* -- loops --------------------------------------------------------------------------------------------- */

/* The entries for which the loop's condition holds. */
static bool chosen(tpl_run *r, const tpl_node *n, tpl_list *entries)
{
    tpl_value kept, is;
    tpl_scope *outer = r->scope;
    if (!n->c)
        return true;
    if (!tpl_list_new(r, TPL_LIST, 0, &kept))
        return false;
    bool good = true;
    for (size_t i = 0; i < entries->n && good; i++) {
        good = tpl_scope_new(r, outer, &r->scope) && assign(r, r->scope, n->a, &entries->at[i]) &&
               tpl_evaluate(r, n->c, &is) && (!tpl_truth(&is) || tpl_list_add(r, &kept, entries->at[i]));
        r->scope = outer;
    }
    *entries = *kept.list;
    return good;
}

static bool execute_round(tpl_run *r, const tpl_node *n, tpl_loop *loop)
{
    tpl_scope *scope;
    const tpl_value variable = {.kind = TPL_LOOP, .loop = loop};
    if (!tpl_step(r, 1) || !tpl_scope_new(r, r->scope, &scope) || !tpl_scope_set(r, scope, "loop", 4, variable) ||
        !assign(r, scope, n->a, &loop->items.at[loop->index]))
        return false;
    return execute_in(r, scope, &n->body, r->out);
}

static bool execute_for(tpl_run *r, const tpl_node *n)
{
    tpl_value of;
    tpl_loop *loop = tpl_alloc(r, 1, sizeof *loop);
    if (!loop || !tpl_evaluate(r, n->b, &of) || !tpl_entries(r, &of, &loop->items) || !chosen(r, n, &loop->items))
        return false;
    if (loop->items.n == 0)
        return n->more.n == 0 || execute_scoped(r, &n->more);
    loop->depth = 1;
    bool good = true;
    for (; loop->index < loop->items.n && good; loop->index++) {
        good = execute_round(r, n, loop);
        bool last = r->leave == TPL_BREAK;
        r->leave = TPL_GO;
        if (last)
            break;
    }
    return good;
}

/* -- macros ------------------------------------------------------------------------------------------------ */

static bool make_macro(tpl_run *r, const tpl_node *n, tpl_value *v)
{
    tpl_macro *m = tpl_alloc(r, 1, sizeof *m);
    if (!m)
        return false;
    m->node = n;
    m->scope = r->scope;
    *v = (tpl_value){.kind = TPL_MACRO, .macro = m};
    return true;
}

/* Takes a keyword out of a call; false: it is not there. */
static bool take_named(tpl_call *call, const char *name, size_t n, tpl_value *value)
{
    for (size_t i = 0; i < call->n_named; i++) {
        const tpl_string *key = &call->named[i].key.s;
        if (key->n != n || memcmp(key->at, name, n) != 0)
            continue;
        *value = call->named[i].value;
        memmove(&call->named[i], &call->named[i + 1], (call->n_named - i - 1) * sizeof *call->named);
        call->n_named--;
        return true;
    }
    return false;
}

static bool set_parameter(tpl_run *r, const tpl_node *n, size_t i, tpl_call *call)
{
    const tpl_node *name = n->list.at[i];
    const size_t first_default = n->list.n - n->other.n;
    tpl_value v;
    if (i < call->n)
        v = call->at[i];
    else if (!take_named(call, name->name, name->name_n, &v)) {
        v = tpl_undefined(name->name, name->name_n, NULL);
        if (i >= first_default && !tpl_evaluate(r, n->other.at[i - first_default], &v))
            return false;
    }
    return tpl_scope_set(r, r->scope, name->name, name->name_n, v);
}

static bool set_varargs(tpl_run *r, const tpl_node *n, const tpl_call *call)
{
    tpl_value rest;
    if (!(n->op & TPL_USES_VARARGS))
        return call->n <= n->list.n ||
               tpl_fail(r, "macro '%.*s' takes not more than %zu argument(s)", (int)n->name_n, n->name, n->list.n);
    if (!tpl_list_new(r, TPL_TUPLE, 0, &rest))
        return false;
    for (size_t i = n->list.n; i < call->n; i++)
        if (!tpl_list_add(r, &rest, call->at[i]))
            return false;
    return tpl_scope_set(r, r->scope, "varargs", 7, rest);
}

static bool set_kwargs(tpl_run *r, const tpl_node *n, const tpl_call *call)
{
    tpl_value rest;
    if (!(n->op & TPL_USES_KWARGS))
        return call->n_named == 0 || tpl_fail(r, "macro '%.*s' takes no keyword argument '%.*s'", (int)n->name_n,
                                              n->name, (int)call->named[0].key.s.n, call->named[0].key.s.at);
    if (!tpl_dict_new(r, TPL_DICT, &rest))
        return false;
    for (size_t i = 0; i < call->n_named; i++)
        if (!tpl_dict_set(r, rest.dict, call->named[i].key, call->named[i].value))
            return false;
    return tpl_scope_set(r, r->scope, "kwargs", 6, rest);
}

static bool bind(tpl_run *r, const tpl_node *n, tpl_call *call)
{
    tpl_value caller = tpl_undefined("caller", 6, NULL);
    if (n->op & TPL_USES_CALLER) {
        take_named(call, "caller", 6, &caller);
        if (!tpl_scope_set(r, r->scope, "caller", 6, caller))
            return false;
    }
    for (size_t i = 0; i < n->list.n; i++)
        if (!set_parameter(r, n, i, call))
            return false;
    return set_kwargs(r, n, call) && set_varargs(r, n, call);
}

static bool call_macro(tpl_run *r, const tpl_macro *m, tpl_call *call, tpl_value *result)
{
    tpl_scope *outer = r->scope, *scope;
    tpl_text t = {0};
    const uint32_t line = r->line;
    if (r->calls == ENG_LM_TEMPLATE_CALLS)
        return tpl_fail_as(r, ENG_ERR_STATE, "macros call one another more than %u deep", ENG_LM_TEMPLATE_CALLS);
    if (!tpl_scope_new(r, m->scope, &scope))
        return false;
    r->calls++;
    r->scope = scope;
    bool good = bind(r, m->node, call) && execute_in(r, scope, &m->node->body, &t);
    r->scope = outer;
    r->calls--;
    if (good)
        r->line = line;
    *result = tpl_text_value(&t);
    return good;
}

bool tpl_call_value(tpl_run *r, const tpl_value *what, tpl_call *call, tpl_value *result)
{
    switch (what->kind) {
    case TPL_MACRO: return call_macro(r, what->macro, call, result);
    case TPL_METHOD: return tpl_method_run(r, what->method.row, call, result);
    case TPL_FUNCTION: return tpl_function_run(r, what, call, result);
    case TPL_UNDEFINED: return tpl_fail_undefined(r, what);
    default: return tpl_fail(r, "'%s' object is not callable", tpl_type(what));
    }
}

/* -- statements ------------------------------------------------------------------------------------------------- */

static bool execute_output(tpl_run *r, const tpl_node *n)
{
    tpl_value v;
    return tpl_evaluate(r, n->a, &v) && tpl_str(r, r->out, &v);
}

static bool execute_if(tpl_run *r, const tpl_node *n)
{
    for (size_t i = 0; i < n->list.n; i++) {
        tpl_value is;
        if (!tpl_evaluate(r, n->list.at[i], &is))
            return false;
        if (tpl_truth(&is))
            return tpl_execute(r, &n->other.at[i]->body);
    }
    return tpl_execute(r, &n->more);
}

static bool execute_set(tpl_run *r, const tpl_node *n)
{
    tpl_value v;
    return tpl_evaluate(r, n->b, &v) && assign(r, r->scope, n->a, &v);
}

static bool execute_set_block(tpl_run *r, const tpl_node *n)
{
    tpl_value text, v;
    if (!capture(r, &n->body, &text))
        return false;
    v = text;
    return (!n->b || tpl_evaluate_filters(r, n->b, &text, &v)) && assign(r, r->scope, n->a, &v);
}

static bool execute_filter_block(tpl_run *r, const tpl_node *n)
{
    tpl_value text, v;
    return capture(r, &n->body, &text) && tpl_evaluate_filters(r, n->b, &text, &v) && tpl_str(r, r->out, &v);
}

static bool execute_call_block(tpl_run *r, const tpl_node *n)
{
    tpl_value what, text, caller;
    tpl_call call;
    if (!tpl_evaluate(r, n->a->a, &what) || !make_macro(r, n, &caller))
        return false;
    const tpl_value *self = what.kind == TPL_METHOD ? what.method.self : NULL;
    if (!tpl_evaluate_call(r, n->a, self, &call))
        return false;
    call.named[call.n_named++] = (tpl_pair){tpl_word("caller"), caller};
    return tpl_call_value(r, &what, &call, &text) && tpl_str(r, r->out, &text);
}

static bool execute_with(tpl_run *r, const tpl_node *n)
{
    tpl_scope *scope;
    if (!tpl_scope_new(r, r->scope, &scope))
        return false;
    for (size_t i = 0; i < n->list.n; i++) {
        tpl_value v;
        if (!tpl_evaluate(r, n->other.at[i], &v) || !assign(r, scope, n->list.at[i], &v))
            return false;
    }
    return execute_in(r, scope, &n->body, r->out);
}

static bool execute_macro_def(tpl_run *r, const tpl_node *n)
{
    tpl_value v;
    return make_macro(r, n, &v) && tpl_scope_set(r, r->scope, n->name, n->name_n, v);
}

static bool execute_one(tpl_run *r, const tpl_node *n)
{
    switch (n->kind) {
    case TPL_DATA: return tpl_add(r, r->out, n->value.s.at, n->value.s.n);
    case TPL_OUTPUT: return execute_output(r, n);
    case TPL_IF: return execute_if(r, n);
    case TPL_FOR: return execute_for(r, n);
    case TPL_SET: return execute_set(r, n);
    case TPL_SET_BLOCK: return execute_set_block(r, n);
    case TPL_MACRO_DEF: return execute_macro_def(r, n);
    case TPL_CALL_BLOCK: return execute_call_block(r, n);
    case TPL_FILTER_BLOCK: return execute_filter_block(r, n);
    case TPL_WITH: return execute_with(r, n);
    case TPL_GENERATION: return execute_scoped(r, &n->body);
    case TPL_LEAVE: r->leave = n->op == 1 ? TPL_BREAK : TPL_CONTINUE; return true;
    default: return tpl_fail_as(r, ENG_ERR_UNSUPPORTED, "this is no statement");
    }
}

bool tpl_execute(tpl_run *r, const tpl_nodes *body)
{
    if (!tpl_deeper(r))
        return false;
    bool good = true;
    for (size_t i = 0; i < body->n && good && r->leave == TPL_GO; i++) {
        r->line = body->at[i]->line;
        good = tpl_step(r, 1) && execute_one(r, body->at[i]);
    }
    r->depth--;
    return good;
}
