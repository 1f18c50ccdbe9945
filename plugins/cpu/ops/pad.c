/* x with zeros around it. */
#include "op.h"

static void run_pad(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *x = task->in[0], *y = task->out[0];
    const int64_t *left = task->node->ip + ENG_PAD_LEFT0;
    int64_t begin, end, n = x->ne[0];
    cpu_share(run, y->rows, 1, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        int64_t index[ENG_MAX_RANK];
        bool inside = true;
        row_index(y->ne, r, index);
        for (int d = 1; d < ENG_MAX_RANK; d++) {
            index[d] -= left[d];
            inside = inside && index[d] >= 0 && index[d] < x->ne[d];
        }
        float *o = out_row(y, r);
        memset(o, 0, (size_t)y->ne[0] * sizeof *o);
        if (inside)
            memcpy(o + left[0], cpu_row_f32(x, row_at(x, index), (float *)run->scratch), (size_t)n * sizeof *o);
    }
}

CPU_DEFINE(pad, run_pad)
