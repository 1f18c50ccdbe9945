/* Lists sorted by keys. */
#ifndef ENGINE_LM_CHAT_LISTS_H
#define ENGINE_LM_CHAT_LISTS_H

#include "value.h"

/* Sorts pairs by their keys, stable; equal ones stay in order also when reversed. */
bool tpl_sort_pairs_by(tpl_run *r, tpl_pair *pairs, size_t n, bool reverse);
bool tpl_sort_pairs(tpl_run *r, tpl_pair *pairs, size_t n);

#endif
