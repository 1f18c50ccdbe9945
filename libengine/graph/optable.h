/* Floor 3: the op table (ops.def) in parsed form; see eng_op_get in engine.h. */
#ifndef LIBENGINE_OPTABLE_H
#define LIBENGINE_OPTABLE_H

#include "../base/base.h"

#endif
