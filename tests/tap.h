/* Results of a test program, in TAP. */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <stdbool.h>

#include "engine/engine.h"

/* A context, or NULL, and the reason is printed. */
eng_context *tap_begin(void);
/* One line, at once; good is returned. */
bool tap_check(bool good, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints the plan; what main returns. */
int tap_end(eng_context *context);

#endif
