/* Writes to a bound tensor, converted as cpy does. */
#include "copy.h"

static void run_store(const cpu_task *task, cpu_run *run)
{
    run_copy(run, task->in[1], task->in[0]);
}

CPU_DEFINE(store, run_store)
