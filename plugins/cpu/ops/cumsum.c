/* Sums of the elements up to each one, along the rows. */
#include "loops.h"

#include "op.h"

static void run_cumsum(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *x = task->in[0], *y = task->out[0];
    int64_t begin, end;
    cpu_share(run, x->rows, 1, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        const float *a = cpu_row_f32(x, row_number(x, r), (float *)run->scratch);
        float *o = out_row(y, r);
        double sum = 0;
        for (int64_t i = 0; i < x->ne[0]; i++) {
            sum += (double)a[i];
            o[i] = (float)sum;
        }
    }
}

CPU_DEFINE(cumsum, run_cumsum)
