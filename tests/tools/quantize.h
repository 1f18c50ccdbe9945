/* What the files of test-quantize share. */
#ifndef TESTS_TOOLS_QUANTIZE_H
#define TESTS_TOOLS_QUANTIZE_H

#include <check.h>
#include <stdint.h>

#include "engine/engine.h"

#define OUT "test-quantize.gguf"
#define OTHER "test-quantize-2.gguf"

/* A folder that the environment names, else this one. */
const char *folder(const char *variable);

extern char said[65536]; /* stdout and stderr of the last command */
/* Runs a command of the build folder; `%` conversions as in printf. */
int run(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* It ended with that status; it has said so. */
void runs(int status, int expected);
void says(const char *text);

/* The bundled model. */
const char *model(void);
eng_gguf *opened(const char *path);
uint32_t type_of(const eng_gguf *g, const char *name);
/* The whole of a file, to be freed. */
char *contents(const char *path, long *n);
/* Removes OUT and OTHER. */
void clean(void);

/* Tests, added. */
void quantize_types(TCase *all);      /* blocks of types, and which tensors have which */
void quantize_writing(TCase *all);    /* command lines, and where it is written */
void quantize_importance(TCase *all); /* matrices of importance */

#endif
