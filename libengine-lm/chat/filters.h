/* Filters and tests by their names. */
#ifndef ENGINE_LM_CHAT_FILTERS_H
#define ENGINE_LM_CHAT_FILTERS_H

#include "args.h"

bool tpl_filter_known(const char *name, size_t n);
bool tpl_filter_run(tpl_run *r, const char *name, size_t n, tpl_call *call, tpl_value *result);

/* tests.c */
bool tpl_test_known(const char *name, size_t n);
bool tpl_test_run(tpl_run *r, const char *name, size_t n, tpl_call *call, bool *is);

/* Those of lists (filters_list.c) and those that call others (filters_select.c), ended by one without a name. */
extern const tpl_builtin tpl_list_filters[];
extern const tpl_builtin tpl_select_filters[];

/* The filter tojson (filters_json.c). */
bool tpl_filter_json(tpl_run *r, tpl_value *v, tpl_value *result);
/* Small letters of a text, anything else as it is. */
bool tpl_ignore_case(tpl_run *r, const tpl_value *v, tpl_value *small);

#endif
