/* x / max(sqrt(sum x^2), eps), per row. */
#include "loops.h"

#include "norms.h"

static void run_l2_norm(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *x = task->in[0], *y = task->out[0];
    int64_t begin, end, n = y->ne[0];
    float eps = (float)task->node->fp[ENG_NORM_EPS];
    cpu_share(run, y->rows, 1, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        const float *a = cpu_row_f32(x, row_number(x, r), (float *)run->scratch);
        float *o = out_row(y, r), length = sqrtf(square_sum(a, n, 0)), f = 1 / (length < eps ? eps : length);
        for (int64_t i = 0; i < n; i++)
            o[i] = a[i] * f;
    }
}

CPU_DEFINE(l2_norm, run_l2_norm)
