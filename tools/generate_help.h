/* engine-generate: --help, whole or a topic. */
#ifndef ENGINE_TOOLS_GENERATE_HELP_H
#define ENGINE_TOOLS_GENERATE_HELP_H

#include "generate.h"

/* Prints all, or what belongs to the topic; the exit code. */
int help(const char *topic);

#endif
