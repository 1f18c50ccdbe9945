/* The variable `loop` of loops. */
#ifndef ENGINE_LM_CHAT_LOOP_H
#define ENGINE_LM_CHAT_LOOP_H

#include "value.h"

/* A field; false: it has none of that name. */
bool tpl_loop_field(const tpl_loop *loop, const char *name, size_t n, tpl_value *result);

#endif
