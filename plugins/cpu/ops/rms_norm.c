/* x / sqrt(mean(x^2) + eps) * w, per row. */
#include "loops.h"

#include "norms.h"

static void run_rms_norm(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *x = task->in[0], *w = task->in[1], *y = task->out[0];
    int64_t begin, end, n = y->ne[0];
    uint8_t *scratch = run->scratch;
    float *buffer = take_floats(&scratch, n);
    const float *weight = w ? cpu_row_f32(w, w->data, take_floats(&scratch, n)) : NULL;
    cpu_share(run, y->rows, 1, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        const float *a = cpu_row_f32(x, row_number(x, r), buffer);
        float *o = out_row(y, r);
        float f = 1 / sqrtf(square_sum(a, n, 0) / (float)n + (float)task->node->fp[ENG_NORM_EPS]);
        if (weight)
            for (int64_t i = 0; i < n; i++)
                o[i] = a[i] * f * weight[i];
        else
            for (int64_t i = 0; i < n; i++)
                o[i] = a[i] * f;
    }
}

CPU_DEFINE(rms_norm, run_rms_norm)
