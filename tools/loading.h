/* What a tool says when a plugin ends the process that loads it. */
#ifndef ENGINE_TOOLS_LOADING_H
#define ENGINE_TOOLS_LOADING_H

#include <stdbool.h>

#include "engine/engine.h"

/* eng_context_create; while it lasts, an exit() is a plugin's: the program then ends with `code`, after one line that
 * names it.  (From abort, _exit and signals nothing can be saved.) */
int create_context(const char *program, int code, const eng_context_params *params, eng_context **context);

/* On a terminal: what the engine says that it is doing, and what may take long, is shown on standard error, in a line
 * that goes when it is over; from now on, until it is switched off. */
void show_work(bool on);

#endif
