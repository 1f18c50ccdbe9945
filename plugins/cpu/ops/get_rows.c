/* Rows chosen by index, decoded; a skipped index gives zeros. */
#include "copy.h"

#include "libengine/util/util.h"

/* Row `id` of the matrix at `matrix`, as in the file; buffer: room for a row. */
static const uint8_t *row_of(const cpu_tensor *a, const uint8_t *matrix, int64_t id, uint8_t *buffer)
{
    if (a->group == 1)
        return matrix + id * a->nb[1];
    const eu_packing p = eu_packing_of(a->type, a->block_bytes, (uint64_t)a->nb[1], a->group);
    eu_packed_row(&p, matrix, (uint64_t)id, 0, p.row_bytes / p.block_bytes, buffer);
    return buffer;
}

/* Beside what copying a row takes: a row of blocks, no longer than its elements are as f32. */
static size_t thread_bytes(const cpu_task *task, int threads)
{
    return row_bytes(task, threads) + floats(task->in[0]->ne[0]);
}

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
        uint8_t *scratch = run->scratch;
        uint8_t *buffer = (uint8_t *)take_floats(&scratch, a->ne[0]);
        copy_row(a, row_of(a, a->data + index[2] * a->nb[2] + index[3] * a->nb[3], id, buffer), o, to, (float *)scratch,
                 false);
    }
}

CPU_DEFINE_WITH(get_rows, run_get_rows, thread_bytes, NULL)
