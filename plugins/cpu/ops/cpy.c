/* A contiguous copy of any type and strides, converted. */
#include "copy.h"

static void run_cpy(const cpu_task *task, cpu_run *run)
{
    run_conversion(task, run, task->node->ip[ENG_CPY_SEARCH] != 0);
}

CPU_DEFINE(cpy, run_cpy)
