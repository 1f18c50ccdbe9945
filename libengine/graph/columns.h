/* The columns of an op's row beside its rule: types, params, work, sample. */
#ifndef LIBENGINE_GRAPH_COLUMNS_H
#define LIBENGINE_GRAPH_COLUMNS_H

#include "../base/base.h"

/* Fills what info->types and info->params say, and `work`; false: they do not parse. */
bool eng_columns_parse(eng_op_info *info, const char *work);

#endif
