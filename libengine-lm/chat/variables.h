/* A template's variables, from JSON and from the model. */
#ifndef ENGINE_LM_CHAT_VARIABLES_H
#define ENGINE_LM_CHAT_VARIABLES_H

#include "evaluate.h"

/* Puts the members of the object into the scope. */
bool tpl_variables(tpl_run *r, const char *json, tpl_scope *scope);

#endif
