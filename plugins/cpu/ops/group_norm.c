/* norm over groups of channels (dimension 2) of each picture. */
#include "loops.h"

#include "norms.h"

static void run_group_norm(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *x = task->in[0], *y = task->out[0];
    int64_t groups = task->node->ip[ENG_GROUP_NORM_GROUPS], begin, end;
    int64_t w = x->ne[0], h = x->ne[1], c = x->ne[2], pictures = x->rows / (h && c ? h * c : 1);
    int64_t per_group = groups > 0 ? (c + groups - 1) / groups : c;
    float eps = (float)task->node->fp[ENG_NORM_EPS], *buffer = (float *)run->scratch;
    cpu_share(run, pictures * groups, 1, &begin, &end);
    for (int64_t u = begin; u < end; u++) {
        int64_t first = u % groups * per_group, last = first + per_group < c ? first + per_group : c;
        int64_t row0 = (u / groups * c + first) * h, rows = (last - first) * h;
        if (rows <= 0)
            continue;
        double sum = 0, squares = 0, n = (double)(rows * w); /* rows may be as short as one element */
        for (int64_t r = 0; r < rows; r++)
            sum += sum_of(cpu_row_f32(x, row_number(x, row0 + r), buffer), w);
        float mean = (float)(sum / n);
        for (int64_t r = 0; r < rows; r++)
            squares += square_sum(cpu_row_f32(x, row_number(x, row0 + r), buffer), w, mean);
        float f = 1 / sqrtf((float)(squares / n) + eps);
        for (int64_t r = 0; r < rows; r++) {
            const float *a = cpu_row_f32(x, row_number(x, row0 + r), buffer);
            float *o = out_row(y, row0 + r);
            for (int64_t i = 0; i < w; i++)
                o[i] = (a[i] - mean) * f;
        }
    }
}

CPU_DEFINE(group_norm, run_group_norm)
