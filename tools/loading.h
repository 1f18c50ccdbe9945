/* What a tool says when a plugin ends the process that loads it. */
#ifndef ENGINE_TOOLS_LOADING_H
#define ENGINE_TOOLS_LOADING_H

#include "engine/engine.h"

/* eng_context_create; while it lasts, an exit() is a plugin's: the program then ends with `code`, after one line that
 * names it.  (From abort, _exit and signals nothing can be saved.) */
int create_context(const char *program, int code, const eng_context_params *params, eng_context **context);

#endif
