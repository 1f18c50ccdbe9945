/* Global indices as seen by the owner of one range; others become -1. */
#include "op.h"

CPU_DECLARE(rebase)
{
    const cpu_tensor *x = task->in[0], *y = task->out[0];
    int64_t begin, end, lo = task->node->ip[ENG_REBASE_BEGIN], hi = task->node->ip[ENG_REBASE_END];
    cpu_share(run, x->rows, 1, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        const uint8_t *row = row_number(x, r);
        for (int64_t i = 0; i < x->ne[0]; i++) {
            int64_t v = index_at(x, row + i * x->nb[0]);
            ((int32_t *)y->data)[r * x->ne[0] + i] = (int32_t)(v >= lo && v < hi ? v - lo : -1);
        }
    }
}
