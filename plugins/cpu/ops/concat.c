/* Two tensors one after the other along a dimension; any type. */
#include "copy.h"

/* Copies x to the place in o that begins `offset` bytes after its start. */
static void place(cpu_run *run, const cpu_tensor *x, const cpu_tensor *o, int64_t offset)
{
    cpu_tensor part = *o;
    part.data += offset;
    memcpy(part.ne, x->ne, sizeof part.ne);
    part.rows = x->rows;
    part.contiguous = false;
    run_copy(run, x, &part);
}

static void run_concat(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *a = task->in[0], *b = task->in[1], *o = task->out[0];
    int64_t dim = task->node->ip[ENG_CONCAT_DIM];
    place(run, a, o, 0);
    place(run, b, o, dim == 0 ? a->ne[0] / a->block * a->block_bytes : a->ne[dim] * o->nb[dim]);
}

CPU_DEFINE(concat, run_concat)
