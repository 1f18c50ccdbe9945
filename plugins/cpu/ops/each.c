/* Every op that the op table gives an expression of. */
#include "each.h"

#define ENG_OP_EACH(id, number, name, rule, types, linear, flags, params, work, expression, ...)                       \
    EACH_ROW(name, expression, false)                                                                                  \
    static void run_##name(const cpu_task *task, cpu_run *run)                                                         \
    {                                                                                                                  \
        run_each(task, run, name##_row);                                                                               \
    }                                                                                                                  \
    CPU_DEFINE(name, run_##name)
#include <engine/ops.def>
