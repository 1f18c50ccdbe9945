/* Softmax of scale * x + slope * mask, per row, with an optional sink. */
#include "loops.h"

#include "norms.h"

/* `next`: the row that comes next is asked for meanwhile. */
static void soft_max_row(float *y, int64_t n, const float *sink, const float *next)
{
    float max = sink ? *sink : -INFINITY;
    vf most[4] = {v_set1(max), v_set1(max), v_set1(max), v_set1(max)};
    int64_t i = 0;
    for (; i + 4 * CPU_VL <= n; i += 4 * CPU_VL)
        CPU_UNROLL
        for (int j = 0; j < 4; j++)
            most[j] = v_max(v_load(y + i + j * CPU_VL), most[j]);
    max = v_hmax(v_max(v_max(most[0], most[1]), v_max(most[2], most[3])));
    for (; i < n; i++)
        max = y[i] > max ? y[i] : max;
    if (max == -INFINITY) {
        float all = 0; /* nothing to choose from; NaN is never hidden */
        for (i = 0; i < n; i++)
            all = y[i] == y[i] ? all : y[i];
        for (i = 0; i < n; i++)
            y[i] = all;
        return;
    }
    vf sums = {0};
    float sum = sink ? expf(*sink - max) : 0;
    for (i = 0; i + CPU_VL <= n; i += CPU_VL) {
        __builtin_prefetch(next + i, 0, 3);
        vf e = v_exp(v_load(y + i) - max);
        v_store(y + i, e);
        sums += e;
    }
    sum += v_sum(sums);
    for (; i < n; i++) {
        y[i] = expf(y[i] - max);
        sum += y[i];
    }
    float f = 1 / sum;
    for (i = 0; i < n; i++)
        y[i] *= f;
}

static void run_soft_max(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *x = task->in[0], *mask = task->in[1], *sinks = task->in[2], *y = task->out[0];
    float scale = (float)task->node->fp[ENG_SOFT_MAX_SCALE];
    double max_bias = task->node->fp[ENG_SOFT_MAX_MAX_BIAS];
    int64_t begin, end, n = y->ne[0];
    uint8_t *scratch = run->scratch;
    float *buffer = take_floats(&scratch, n), *mask_buffer = take_floats(&scratch, n);
    cpu_share(run, y->rows, 1, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        int64_t index[ENG_MAX_RANK];
        row_index(y->ne, r, index);
        const float *a = cpu_row_f32(x, row_at(x, index), buffer);
        float *o = out_row(y, r);
        for (int64_t i = 0; i < n; i++)
            o[i] = scale * a[i];
        if (mask) {
            const float *m = cpu_row_f32(mask, row_at(mask, index), mask_buffer);
            float slope = alibi_slope(max_bias, y->ne[2], index[2]);
            for (int64_t i = 0; i < n; i++)
                o[i] += slope * m[i];
        }
        float sink = sinks ? tail_f32(sinks->data + index[2] * sinks->nb[0]) : 0;
        soft_max_row(o, n, sinks ? &sink : NULL, a + n);
    }
}

CPU_DEFINE(soft_max, run_soft_max)
