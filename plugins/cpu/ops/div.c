/* a / b, element by element; b is repeated along dimensions of extent 1. */
#include "elementwise.h"

static void div_row(const float *a, const float *b, int b_step, float *o, int64_t n)
{
    if (b_step)
        for (int64_t i = 0; i < n; i++)
            o[i] = a[i] / b[i];
    else
        for (int64_t i = 0; i < n; i++)
            o[i] = a[i] / b[0];
}

CPU_DECLARE(div)
{
    run_binary(task, run, div_row);
}
