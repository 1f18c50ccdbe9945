/* engine-generate: options as llama.cpp spells them. */
#ifndef ENGINE_TOOLS_GENERATE_FOREIGN_H
#define ENGINE_TOOLS_GENERATE_FOREIGN_H

#include "generate.h"

/* Takes argv[*i], and what belongs to it, if it is an option of llama.cpp that is not ours by the same name: as ours, or as
 * something that has no meaning here, with one line about it, or not at all, with the cure.  -1: taken; EXIT_USAGE: refused;
 * -2: it is none of these. */
int options_foreign(options *o, int argc, char **argv, int *i);

#endif
