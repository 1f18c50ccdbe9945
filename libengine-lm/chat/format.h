/* "..." % values, as Python's older formatting has it. */
#ifndef ENGINE_LM_CHAT_FORMAT_H
#define ENGINE_LM_CHAT_FORMAT_H

#include "value.h"

bool tpl_percent(tpl_run *r, const tpl_value *format, const tpl_value *values, tpl_value *result);

#endif
