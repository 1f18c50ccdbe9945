/* s * x + b. */
#include "elementwise.h"

static void scale_row(const float *x, float *y, int64_t n, const void *ctx)
{
    const float *p = ctx;
    for (int64_t i = 0; i < n; i++)
        y[i] = p[0] * x[i] + p[1];
}

CPU_DECLARE(scale)
{
    const float p[2] = {(float)task->node->fp[ENG_SCALE_S], (float)task->node->fp[ENG_SCALE_B]};
    run_unary(task, run, scale_row, p);
}
