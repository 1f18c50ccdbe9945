/* Which bytes of a text were given, and are not the template's. */
#ifndef ENGINE_LM_CHAT_MARKS_H
#define ENGINE_LM_CHAT_MARKS_H

#include "value.h"

/* Texts have marks from here on. */
bool tpl_marks_begin(tpl_run *r);
/* Room for a text, and what of another one's marks a copy takes along. */
char *tpl_marks_room(tpl_run *r, size_t n);
void tpl_marks_copy(const tpl_run *r, char *to, const char *from, size_t n);
/* All of a text was given, or is the template's. */
void tpl_mark(const tpl_run *r, const tpl_value *text, bool given);
/* What t has from byte `from` on was made of n bytes at `source`: it is given if any of them is. */
void tpl_mark_as(const tpl_run *r, const tpl_text *t, size_t from, const char *source, size_t n);
/* The ranges of what was given, where there is a place for them; how many they are. */
size_t tpl_marked(const tpl_run *r, const tpl_text *t, eng_lm_range *ranges);

#endif
