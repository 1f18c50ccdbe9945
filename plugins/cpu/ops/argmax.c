/* The index of the largest element of each row, the lowest on ties. */
#include "op.h"

static void run_argmax(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *x = task->in[0], *y = task->out[0];
    int64_t begin, end;
    cpu_share(run, x->rows, 1, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        const float *a = cpu_row_f32(x, row_number(x, r), (float *)run->scratch);
        int64_t n = x->ne[0], best = -1;
        for (int64_t i = 0; i < n; i++)
            if (a[i] == a[i] && (best < 0 || a[i] > a[best]))
                best = i;
        ((int32_t *)y->data)[r] = (int32_t)(best < 0 ? 0 : best);
    }
}

CPU_DEFINE(argmax, run_argmax)
