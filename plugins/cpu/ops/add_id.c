/* a + the rows of b that indices name; one that is skipped adds nothing. */
#include "op.h"

static void run_add_id(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *a = task->in[0], *b = task->in[1], *ids = task->in[2], *o = task->out[0];
    uint8_t *scratch = run->scratch;
    int64_t begin, end, n = o->ne[0];
    float *buffer_a = take_floats(&scratch, n), *buffer_b = take_floats(&scratch, n);
    cpu_share(run, o->rows, 1, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        int64_t index[ENG_MAX_RANK];
        row_index(o->ne, r, index);
        int64_t id = index_at(ids, ids->data + index[1] * ids->nb[0] + index[2] * ids->nb[1]);
        const float *x = cpu_row_f32(a, row_at(a, index), buffer_a);
        float *out = out_row(o, r);
        if (id < 0 || id >= b->ne[1]) {
            memmove(out, x, (size_t)n * sizeof *out);
            continue;
        }
        const float *y = cpu_row_f32(b, b->data + id * b->nb[1], buffer_b);
        for (int64_t i = 0; i < n; i++)
            out[i] = x[i] + y[i];
    }
}

CPU_DEFINE(add_id, run_add_id)
