/* Rows written at chosen places, encoded; a skipped index writes nothing. */
#include "copy.h"

static void run_set_rows(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *a = task->in[0], *b = task->in[1], *ids = task->in[2];
    int64_t begin, end;
    cpu_share(run, b->rows, 1, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        int64_t index[ENG_MAX_RANK];
        row_index(b->ne, r, index);
        int64_t p = ids->ne[1] > 1 ? index[2] : 0, q = ids->ne[2] > 1 ? index[3] : 0;
        int64_t id = index_at(ids, ids->data + index[1] * ids->nb[0] + p * ids->nb[1] + q * ids->nb[2]);
        if (id < 0 || id >= a->ne[1])
            continue;
        copy_row(b, row_at(b, index), a, a->data + id * a->nb[1] + index[2] * a->nb[2] + index[3] * a->nb[3],
                 (float *)run->scratch, false);
    }
}

CPU_DEFINE(set_rows, run_set_rows)
