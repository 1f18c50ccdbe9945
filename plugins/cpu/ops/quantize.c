/* Rows encoded as another type. */
#include "copy.h"

CPU_DECLARE(quantize)
{
    run_copy(run, task->in[0], task->out[0], task->node->ip[ENG_CPY_SEARCH] != 0);
}
