/* A function of each element. */
#include "each.h"

#define ENG_UNARY(id, number, name, flags, expression, doc) EACH_ROW(unary_##name, expression, true)
#include <engine/ops.def>

static void run_unary(const cpu_task *task, cpu_run *run)
{
    static const each_row rows[ENG_UNARY_LIMIT] = {
#define ENG_UNARY(id, number, name, ...) [number] = unary_##name##_row,
#include <engine/ops.def>
    };
    run_each(task, run, rows[task->node->ip[ENG_UNARY_KIND]]);
}

CPU_DEFINE(unary, run_unary)
