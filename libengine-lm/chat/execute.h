/* Statements run. */
#ifndef ENGINE_LM_CHAT_EXECUTE_H
#define ENGINE_LM_CHAT_EXECUTE_H

#include "syntax.h"

bool tpl_execute(tpl_run *r, const tpl_nodes *body);
/* What r->hooks has: calls of whatever can be called. */
bool tpl_call_value(tpl_run *r, const tpl_value *what, tpl_call *call, tpl_value *result);

#endif
