/* Gated linear units of two operands, or of the two halves of each row of one. */
#include "each.h"

#define ENG_GLU(id, number, name, expression, doc) EACH_ROW(glu_##name, expression, true)
#include <engine/ops.def>

static void run_halves(const cpu_task *task, cpu_run *run, each_row f)
{
    const cpu_tensor *a = task->in[0], *o = task->out[0];
    const float constants[2] = {(float)task->node->fp[ENG_GLU_ALPHA], (float)task->node->fp[ENG_GLU_LIMIT]};
    const int64_t n = o->ne[0], gate = task->node->ip[ENG_GLU_SWAPPED] ? n : 0;
    int64_t begin, end;
    cpu_share(run, o->rows, 1, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        const float *x = cpu_row_f32(a, row_number(a, r), (float *)run->scratch);
        f(x + gate, x + n - gate, 1, out_row(o, r), n, constants, goes_past(task, out_row(o, r)));
    }
    if (task->past)
        past_end();
}

static void run_glu(const cpu_task *task, cpu_run *run)
{
    static const each_row rows[ENG_GLU_KINDS] = {
#define ENG_GLU(id, number, name, ...) [number] = glu_##name##_row,
#include <engine/ops.def>
    };
    each_row f = rows[task->node->ip[ENG_GLU_KIND]];
    if (task->in[1])
        run_each(task, run, f);
    else
        run_halves(task, run, f);
}

CPU_DEFINE(glu, run_glu)
