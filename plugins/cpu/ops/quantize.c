/* Rows encoded as another type. */
#include "copy.h"

static void run_quantize(const cpu_task *task, cpu_run *run)
{
    run_conversion(task, run, task->node->ip[ENG_CPY_SEARCH] != 0);
}

CPU_DEFINE(quantize, run_quantize)
