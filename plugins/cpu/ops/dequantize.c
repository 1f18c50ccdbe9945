/* Rows of any type decoded to a float type. */
#include "copy.h"

static void run_dequantize(const cpu_task *task, cpu_run *run)
{
    run_conversion(task, run, false);
}

CPU_DEFINE(dequantize, run_dequantize)
