/* Expressions run: names, operators, attributes, calls. */
#ifndef ENGINE_LM_CHAT_EVALUATE_H
#define ENGINE_LM_CHAT_EVALUATE_H

#include "syntax.h"

/* -- scopes (scope.c) --------------------------------------------------------------------- */

struct tpl_scope {
    tpl_scope *parent;
    tpl_value names; /* a dict                                                */
};
bool tpl_scope_new(tpl_run *r, tpl_scope *parent, tpl_scope **scope);
bool tpl_scope_set(tpl_run *r, tpl_scope *scope, const char *name, size_t n, tpl_value value);
/* NULL: no such name. */
const tpl_value *tpl_scope_find(const tpl_scope *scope, const char *name, size_t n);

/* How many names are looked at at most. */
size_t tpl_scope_names(const tpl_scope *scope);

/* -- operators (operators.c) ----------------------------------------------------------------- */

bool tpl_binary(tpl_run *r, int op, const tpl_value *a, const tpl_value *b, tpl_value *result);
bool tpl_unary(tpl_run *r, int op, const tpl_value *a, tpl_value *result);
bool tpl_compare(tpl_run *r, int op, const tpl_value *a, const tpl_value *b, bool *result);
/* The value of an undefined one is asked for: the failure. */
bool tpl_fail_undefined(tpl_run *r, const tpl_value *v);

/* -- parts of values (access.c) ----------------------------------------------------------------- */

bool tpl_attribute(tpl_run *r, const tpl_value *of, const char *name, size_t n, tpl_value *result);
bool tpl_item(tpl_run *r, const tpl_value *of, const tpl_value *index, tpl_value *result);
bool tpl_slice(tpl_run *r, const tpl_value *of, const tpl_value part[3], tpl_value *result);
/* "a.b.0" as filters take it: by items alone. */
bool tpl_path(tpl_run *r, const tpl_value *of, const tpl_value *path, tpl_value *result);

/* -- expressions (evaluate.c) --------------------------------------------------------------------- */

bool tpl_evaluate(tpl_run *r, const tpl_node *n, tpl_value *result);
/* Of a chain of filters, which begins with what was captured. */
bool tpl_evaluate_filters(tpl_run *r, const tpl_node *n, const tpl_value *captured, tpl_value *result);
/* Arguments of a call node; `first` may be NULL; room for one more named. */
bool tpl_evaluate_call(tpl_run *r, const tpl_node *n, const tpl_value *first, tpl_call *call);

#endif
