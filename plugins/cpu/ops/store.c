/* Writes to a bound tensor, converted as cpy does. */
#include "copy.h"

CPU_DECLARE(store)
{
    run_copy(run, task->in[1], task->in[0], false);
}
