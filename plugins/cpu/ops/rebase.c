/* Global indices as seen by the owner of one range, or of that range of every period; others become -1. */
#include "op.h"

static int32_t local_index(int64_t v, int64_t lo, int64_t hi, int64_t period)
{
    int64_t before = 0;
    if (period) {
        if (v < 0)
            return -1;
        before = v / period * (hi - lo);
        v %= period;
    }
    return (int32_t)(v >= lo && v < hi ? before + v - lo : -1);
}

static void run_rebase(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *x = task->in[0], *y = task->out[0];
    int64_t begin, end, lo = task->node->ip[ENG_REBASE_BEGIN], hi = task->node->ip[ENG_REBASE_END];
    int64_t period = task->node->ip[ENG_REBASE_PERIOD];
    cpu_share(run, x->rows, 1, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        const uint8_t *row = row_number(x, r);
        for (int64_t i = 0; i < x->ne[0]; i++)
            ((int32_t *)y->data)[r * x->ne[0] + i] = local_index(index_at(x, row + i * x->nb[0]), lo, hi, period);
    }
}

CPU_DEFINE(rebase, run_rebase)
