/* (x - mean) / sqrt(variance + eps) * w + bias, per row. */
#include "loops.h"

#include "norms.h"

static void run_norm(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *x = task->in[0], *w = task->in[1], *bias = task->in[2], *y = task->out[0];
    int64_t begin, end, n = y->ne[0];
    uint8_t *scratch = run->scratch;
    float *buffer = take_floats(&scratch, n);
    const float *weight = w ? cpu_row_f32(w, w->data, take_floats(&scratch, n)) : NULL;
    const float *shift = bias ? cpu_row_f32(bias, bias->data, take_floats(&scratch, n)) : NULL;
    cpu_share(run, y->rows, 1, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        const float *a = cpu_row_f32(x, row_number(x, r), buffer);
        float *o = out_row(y, r), mean = sum_of(a, n) / (float)n;
        float f = 1 / sqrtf(square_sum(a, n, mean) / (float)n + (float)task->node->fp[ENG_NORM_EPS]);
        for (int64_t i = 0; i < n && weight; i++)
            o[i] = (a[i] - mean) * f * weight[i];
        for (int64_t i = 0; i < n && !weight; i++)
            o[i] = (a[i] - mean) * f;
        if (shift)
            for (int64_t i = 0; i < n; i++)
                o[i] += shift[i];
    }
}

CPU_DEFINE(norm, run_norm)
