/* engine-generate: options as llama.cpp spells them. */
#ifndef ENGINE_TOOLS_GENERATE_FOREIGN_H
#define ENGINE_TOOLS_GENERATE_FOREIGN_H

#include "generate.h"

/* Takes argv[*i], and what belongs to it, if it is an option of llama.cpp that is not ours by the same name: as ours,
 * or as something that has no meaning here, with one line about it, or not at all, with the cure.  -1: taken;
 * EXIT_USAGE: refused;
 * -2: it is none of these. */
int options_foreign(options *o, int argc, char **argv, int *i);

/* The screen of --help=llama. */
void options_foreign_help(void);

/* Devices as llama.cpp names them, CPU, OpenCL0 and GPU0, and commas between them, as ours; free() it.  NULL: no
 * memory. */
char *device_from_foreign(const char *text);
/* -ngl N, once the model is known: all but the last N layers are kept on the processor.  An ENG status. */
int keep_layers(options *o);
/* The same of -cmoe and -ncmoe. */
int keep_experts(options *o);

#endif
