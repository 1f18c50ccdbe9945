/* Numbers read from text, whatever the host's locale is. */
#ifndef ENGINE_LM_CHAT_NUMBERS_H
#define ENGINE_LM_CHAT_NUMBERS_H

#include "value.h"

/* As Python's float() and int() of base 10 read them, white space around allowed; false: it is none (of 64 bits). */
bool tpl_read_float(const char *at, size_t n, double *value);
bool tpl_read_int(const char *at, size_t n, int64_t *value);

#endif
