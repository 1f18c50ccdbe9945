/* Rows encoded as another type. */
#include "copy.h"

static void run_quantize(const cpu_task *task, cpu_run *run)
{
    run_copy(run, task->in[0], task->out[0], task->node->ip[ENG_CPY_SEARCH] != 0);
}

CPU_DEFINE(quantize, run_quantize)
