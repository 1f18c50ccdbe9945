/* Rows chosen by index, decoded; a skipped index gives zeros. */
#include "copy.h"

static void run_get_rows(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *a = task->in[0], *ids = task->in[1], *o = task->out[0];
    int64_t begin, end;
    cpu_share(run, o->rows, 1, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        int64_t index[ENG_MAX_RANK];
        row_index(o->ne, r, index);
        uint8_t *to = o->data + r * o->nb[1];
        int64_t id = index_at(ids, ids->data + index[1] * ids->nb[0] + index[2] * ids->nb[1] + index[3] * ids->nb[2]);
        if (id < 0 || id >= a->ne[1]) {
            memset(to, 0, (size_t)o->ne[0] * o->block_bytes);
            continue;
        }
        copy_row(a, a->data + id * a->nb[1] + index[2] * a->nb[2] + index[3] * a->nb[3], o, to, (float *)run->scratch,
                 false);
    }
}

CPU_DEFINE(get_rows, run_get_rows)
