/* Arguments of calls put where the callee names them. */
#ifndef ENGINE_LM_CHAT_ARGS_H
#define ENGINE_LM_CHAT_ARGS_H

#include "value.h"

#define TPL_MOST_PARAMETERS 6

/* A filter, test, method or function: its parameters' names with spaces between (of filters, tests and methods, "self"
 * is the first), how many must be there.  parameters NULL: it looks at the call itself. */
typedef struct tpl_builtin {
    const char *name;
    const char *parameters;
    unsigned required;
    bool (*run)(tpl_run *r, tpl_value *v, tpl_value *result);
    bool (*run_call)(tpl_run *r, const tpl_call *call, tpl_value *result);
} tpl_builtin;

bool tpl_run_builtin(tpl_run *r, const tpl_builtin *b, const tpl_call *call, tpl_value *result);
/* The value of a keyword; NULL: it is not there. */
const tpl_value *tpl_named(const tpl_call *call, const char *name);

/* Arguments as numbers and the like: `otherwise` where there is none. */
bool tpl_arg_int(tpl_run *r, const tpl_value *v, int64_t otherwise, int64_t *value);
bool tpl_arg_bool(const tpl_value *v, bool otherwise);

#endif
