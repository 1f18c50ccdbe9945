/* Escapes of strings in templates, and of HTML. */
#ifndef ENGINE_LM_CHAT_ESCAPE_H
#define ENGINE_LM_CHAT_ESCAPE_H

#include "value.h"

/* The text between quotes, with \n and its like replaced; `to` has room for as much.  NULL, or why it cannot be. */
const char *tpl_unescape(const char *from, size_t n, char *to, size_t *length);
/* & < > ' " as HTML writes them, marked as such. */
bool tpl_escape(tpl_run *r, const tpl_value *v, tpl_value *escaped);

#endif
