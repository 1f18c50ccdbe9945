/* The sum of each row. */
#include "norms.h"

static void run_sum_rows(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *x = task->in[0], *y = task->out[0];
    int64_t begin, end;
    cpu_share(run, x->rows, 1, &begin, &end);
    for (int64_t r = begin; r < end; r++)
        *out_row(y, r) = sum_of(cpu_row_f32(x, row_number(x, r), (float *)run->scratch), x->ne[0]);
}

CPU_DEFINE(sum_rows, run_sum_rows)
