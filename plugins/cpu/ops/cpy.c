/* A contiguous copy of any type and strides, converted. */
#include "copy.h"

CPU_DECLARE(cpy)
{
    run_copy(run, task->in[0], task->out[0], task->node->ip[ENG_CPY_SEARCH] != 0);
}
