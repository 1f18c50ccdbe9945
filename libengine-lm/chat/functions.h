/* Functions that every template has. */
#ifndef ENGINE_LM_CHAT_FUNCTIONS_H
#define ENGINE_LM_CHAT_FUNCTIONS_H

#include "value.h"

/* The function of that name, if there is one: else *v stays.  false: it is one that is not understood. */
bool tpl_function_find(tpl_run *r, const char *name, size_t n, tpl_value *v);
bool tpl_function_run(tpl_run *r, const tpl_value *function, const tpl_call *call, tpl_value *result);

#endif
