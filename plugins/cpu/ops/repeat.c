/* x tiled. */
#include "copy.h"

static void run_repeat(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *x = task->in[0], *y = task->out[0];
    int64_t begin, end;
    cpu_tensor line = *y; /* one copy of a row of x, as the result keeps it */
    line.ne[0] = x->ne[0];
    cpu_share(run, x->ne[0] > 0 ? y->rows : 0, 1, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        int64_t index[ENG_MAX_RANK];
        row_index(y->ne, r, index);
        for (int d = 1; d < ENG_MAX_RANK; d++)
            index[d] = x->ne[d] > 0 ? index[d] % x->ne[d] : 0;
        const uint8_t *from = row_at(x, index);
        uint8_t *to = y->data + r * y->nb[1];
        for (int64_t i = 0; i < y->ne[0]; i += x->ne[0])
            copy_row(x, from, &line, to + i * y->nb[0], (float *)run->scratch, false);
    }
}

CPU_DEFINE(repeat, run_repeat)
