/* What may have been meant: options, variables of the environment. */
#ifndef ENGINE_TOOLS_HINTS_H
#define ENGINE_TOOLS_HINTS_H

#include <getopt.h>
#include <stddef.h>

#include "engine/engine.h"

/* " (did you mean --temp?)", or "": for an option that getopt does not know; valid until the next call. */
const char *hint_option(const char *given, const struct option *options);

/* Says on standard error which variables ENGINE_* nobody reads, though a name that is read is near, or their plugin is
 * there. known: the variables that are read; loaded: names of the plugins in use. */
void tell_unread(const char *program, const char *const *known, size_t n_known, const char *const *loaded,
                 size_t n_loaded);
/* The same for all that a context has. */
void tell_unread_of(const char *program, eng_context *context);

#endif
