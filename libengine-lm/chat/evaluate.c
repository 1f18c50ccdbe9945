/* Expressions run. */
#include "config.h"

#include <string.h>

#include "evaluate.h"
#include "functions.h"
#include "methods.h"
#include "print.h"

static bool evaluate_all(tpl_run *r, const tpl_nodes *nodes, tpl_kind kind, tpl_value *result)
{
    if (!tpl_list_new(r, kind, nodes->n, result))
        return false;
    for (size_t i = 0; i < nodes->n; i++) {
        tpl_value v;
        if (!tpl_evaluate(r, nodes->at[i], &v) || !tpl_list_add(r, result, v))
            return false;
    }
    return true;
}

static bool evaluate_dict(tpl_run *r, const tpl_node *n, tpl_value *result)
{
    if (!tpl_dict_new(r, TPL_DICT, result))
        return false;
    for (size_t i = 0; i < n->list.n; i += 2) {
        tpl_value key, value;
        if (!tpl_evaluate(r, n->list.at[i], &key) || !tpl_evaluate(r, n->list.at[i + 1], &value) ||
            !tpl_dict_set(r, result->dict, key, value))
            return false;
    }
    return true;
}

static bool evaluate_name(tpl_run *r, const tpl_node *n, tpl_value *result)
{
    const tpl_value *found = tpl_scope_find(r->scope, n->name, n->name_n);
    if (!tpl_step(r, tpl_scope_names(r->scope) / 8))
        return false;
    if (found)
        *result = *found;
    else
        *result = tpl_undefined(n->name, n->name_n, NULL);
    return found || tpl_function_find(r, n->name, n->name_n, result);
}

static bool evaluate_item(tpl_run *r, const tpl_node *n, tpl_value *result)
{
    tpl_value of, index, part[3];
    const tpl_node *s = n->b;
    if (!tpl_evaluate(r, n->a, &of))
        return false;
    if (s->kind != TPL_SLICE)
        return tpl_evaluate(r, s, &index) && tpl_item(r, &of, &index, result);
    const tpl_node *nodes[3] = {s->a, s->b, s->c};
    for (int i = 0; i < 3; i++) {
        part[i] = tpl_none();
        if (nodes[i] && !tpl_evaluate(r, nodes[i], &part[i]))
            return false;
    }
    return tpl_slice(r, &of, part, result);
}

/* -- calls ------------------------------------------------------------------------------------ */

static bool add_rest(tpl_run *r, const tpl_node *n, tpl_call *call)
{
    tpl_value rest;
    tpl_list entries;
    if (!n->rest)
        return true;
    if (!tpl_evaluate(r, n->rest, &rest) || !tpl_entries(r, &rest, &entries))
        return false;
    tpl_value *at = tpl_alloc(r, call->n + entries.n, sizeof *at);
    if (!at)
        return false;
    if (call->n)
        memcpy(at, call->at, call->n * sizeof *at);
    if (entries.n)
        memcpy(at + call->n, entries.at, entries.n * sizeof *at);
    call->at = at;
    call->n += entries.n;
    return true;
}

static bool add_named(tpl_run *r, const tpl_node *n, tpl_call *call)
{
    tpl_value rest = {.kind = TPL_MISSING};
    if (n->rest_named && !tpl_evaluate(r, n->rest_named, &rest))
        return false;
    if (n->rest_named && rest.kind != TPL_DICT)
        return tpl_fail(r, "argument after ** must be a mapping, not %s", tpl_type(&rest));
    size_t more = n->rest_named ? rest.dict->n : 0;
    call->named = tpl_alloc(r, n->named.n / 2 + more + 1, sizeof *call->named);
    if (!call->named)
        return false;
    for (size_t i = 0; i < n->named.n; i += 2) {
        call->named[call->n_named].key = n->named.at[i]->value;
        if (!tpl_evaluate(r, n->named.at[i + 1], &call->named[call->n_named++].value))
            return false;
    }
    for (size_t i = 0; i < more; i++) {
        if (rest.dict->at[i].key.kind != TPL_STRING)
            return tpl_fail(r, "keywords must be strings");
        call->named[call->n_named++] = rest.dict->at[i];
    }
    return true;
}

bool tpl_evaluate_call(tpl_run *r, const tpl_node *n, const tpl_value *first, tpl_call *call)
{
    *call = (tpl_call){0};
    if (n->list.n + (first != NULL) && !(call->at = tpl_alloc(r, n->list.n + (first != NULL), sizeof *call->at)))
        return false;
    if (first)
        call->at[call->n++] = *first;
    for (size_t i = 0; i < n->list.n; i++)
        if (!tpl_evaluate(r, n->list.at[i], &call->at[call->n++]))
            return false;
    return add_rest(r, n, call) && add_named(r, n, call);
}

static bool evaluate_calling(tpl_run *r, const tpl_node *n, tpl_value *result)
{
    tpl_value what;
    tpl_call call;
    if (!tpl_evaluate(r, n->a, &what))
        return false;
    const tpl_value *self = what.kind == TPL_METHOD ? what.method.self : NULL;
    return tpl_evaluate_call(r, n, self, &call) && r->hooks->call(r, &what, &call, result);
}

static bool run_filter(tpl_run *r, const tpl_node *n, const tpl_value *input, tpl_value *result)
{
    tpl_call call;
    return tpl_evaluate_call(r, n, input, &call) && r->hooks->filter(r, n->name, n->name_n, &call, result);
}

bool tpl_evaluate_filters(tpl_run *r, const tpl_node *n, const tpl_value *captured, tpl_value *result)
{
    tpl_value input = *captured;
    if (!tpl_deeper(r))
        return false;
    bool good = (!n->a || tpl_evaluate_filters(r, n->a, captured, &input)) && run_filter(r, n, &input, result);
    r->depth--;
    return good;
}

static bool evaluate_filter(tpl_run *r, const tpl_node *n, tpl_value *result)
{
    tpl_value input;
    return tpl_evaluate(r, n->a, &input) && run_filter(r, n, &input, result);
}

static bool evaluate_test(tpl_run *r, const tpl_node *n, tpl_value *result)
{
    tpl_value input;
    tpl_call call;
    bool is = false;
    if (!tpl_evaluate(r, n->a, &input) || !tpl_evaluate_call(r, n, &input, &call) ||
        !r->hooks->test(r, n->name, n->name_n, &call, &is))
        return false;
    *result = tpl_bool(is);
    return true;
}

/* -- operators -------------------------------------------------------------------------------- */

static bool evaluate_comparison(tpl_run *r, const tpl_node *n, tpl_value *result)
{
    tpl_value left, right;
    bool is = true;
    if (!tpl_evaluate(r, n->a, &left))
        return false;
    for (size_t i = 0; i < n->list.n && is; i++) {
        if (!tpl_evaluate(r, n->list.at[i]->b, &right) || !tpl_compare(r, n->list.at[i]->op, &left, &right, &is))
            return false;
        left = right;
    }
    *result = tpl_bool(is);
    return true;
}

static bool evaluate_concat(tpl_run *r, const tpl_node *n, tpl_value *result)
{
    tpl_text t = {0};
    for (size_t i = 0; i < n->list.n; i++) {
        tpl_value v;
        if (!tpl_evaluate(r, n->list.at[i], &v) || !tpl_str(r, &t, &v))
            return false;
    }
    *result = tpl_text_value(&t);
    return true;
}

static bool evaluate_binary(tpl_run *r, const tpl_node *n, tpl_value *result)
{
    tpl_value a, b;
    return tpl_evaluate(r, n->a, &a) && tpl_evaluate(r, n->b, &b) && tpl_binary(r, n->op, &a, &b, result);
}

static bool evaluate_logic(tpl_run *r, const tpl_node *n, tpl_value *result)
{
    if (!tpl_evaluate(r, n->a, result))
        return false;
    if (n->kind == TPL_NOT) {
        *result = tpl_bool(!tpl_truth(result));
        return true;
    }
    return tpl_truth(result) == (n->kind == TPL_OR) || tpl_evaluate(r, n->b, result);
}

static bool evaluate_choice(tpl_run *r, const tpl_node *n, tpl_value *result)
{
    tpl_value condition;
    if (!tpl_evaluate(r, n->a, &condition))
        return false;
    if (tpl_truth(&condition))
        return tpl_evaluate(r, n->b, result);
    *result = tpl_undefined("an inline if without else", 25, NULL);
    return !n->c || tpl_evaluate(r, n->c, result);
}

static bool evaluate(tpl_run *r, const tpl_node *n, tpl_value *result)
{
    tpl_value a;
    switch (n->kind) {
    case TPL_CONST: *result = n->value; return true;
    case TPL_NAME: return evaluate_name(r, n, result);
    case TPL_MAKE_LIST: return evaluate_all(r, &n->list, TPL_LIST, result);
    case TPL_MAKE_TUPLE: return evaluate_all(r, &n->list, TPL_TUPLE, result);
    case TPL_MAKE_DICT: return evaluate_dict(r, n, result);
    case TPL_ATTRIBUTE: return tpl_evaluate(r, n->a, &a) && tpl_attribute(r, &a, n->name, n->name_n, result);
    case TPL_ITEM: return evaluate_item(r, n, result);
    case TPL_CALL: return evaluate_calling(r, n, result);
    case TPL_FILTER: return evaluate_filter(r, n, result);
    case TPL_TEST: return evaluate_test(r, n, result);
    case TPL_UNARY: return tpl_evaluate(r, n->a, &a) && tpl_unary(r, n->op, &a, result);
    case TPL_BINARY: return evaluate_binary(r, n, result);
    case TPL_COMPARE: return evaluate_comparison(r, n, result);
    case TPL_AND:
    case TPL_OR:
    case TPL_NOT: return evaluate_logic(r, n, result);
    case TPL_CHOICE: return evaluate_choice(r, n, result);
    case TPL_CONCAT: return evaluate_concat(r, n, result);
    default: return tpl_fail_as(r, ENG_ERR_UNSUPPORTED, "this is no expression");
    }
}

bool tpl_evaluate(tpl_run *r, const tpl_node *n, tpl_value *result)
{
    const uint32_t line = r->line;
    if (!tpl_step(r, 1) || !tpl_deeper(r))
        return false;
    r->line = n->line;
    bool good = evaluate(r, n, result);
    r->depth--;
    if (good)
        r->line = line;
    return good;
}
