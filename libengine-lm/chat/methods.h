/* Methods of texts, lists, dicts and loops. */
#ifndef ENGINE_LM_CHAT_METHODS_H
#define ENGINE_LM_CHAT_METHODS_H

#include "args.h"

/* NULL: values of this kind have none of that name. */
const tpl_method *tpl_method_find(tpl_kind kind, const char *name, size_t n);
/* call->at[0] is the value that has it. */
bool tpl_method_run(tpl_run *r, const tpl_method *m, const tpl_call *call, tpl_value *result);

/* Of texts (strings.c); also what filters do. */
extern const tpl_builtin tpl_text_methods[];
extern const size_t tpl_n_text_methods;
/* 1: left, 2: right */
bool tpl_strip(tpl_run *r, const tpl_value *of, const tpl_value *chars, int sides, tpl_value *result);
bool tpl_replace(tpl_run *r, const tpl_value *of, const tpl_string *old, const tpl_string *with, int64_t count,
                 tpl_value *result);
bool tpl_split_lines(tpl_run *r, const tpl_value *of, bool keep, tpl_value *result);
bool tpl_center(tpl_run *r, const tpl_value *of, int64_t width, const tpl_string *fill, int where, tpl_value *result);

/* Upper and lower case (case.c). */
enum { TPL_UPPER, TPL_LOWER, TPL_CAPITAL, TPL_TITLE, TPL_SWAP };
bool tpl_change_case(tpl_run *r, const tpl_value *of, int how, tpl_value *result);
/* Title case of words as the filter `title` cuts them. */
bool tpl_title_words(tpl_run *r, const tpl_value *of, tpl_value *result);
bool tpl_is_case(const tpl_string *s, int how);

#endif
