/*
 * Element by element: where all operands are flat f32 arrays of one shape the
 * elements are shared out among the threads, else the rows are.
 */
#ifndef CPU_ELEMENTWISE_H
#define CPU_ELEMENTWISE_H

#include "op.h"

/* b_step: 1, or 0 if b is one number for the whole row. */
typedef void (*binary_row)(const float *a, const float *b, int b_step, float *o, int64_t n);

CPU_INLINE void run_binary(const cpu_task *task, cpu_run *run, binary_row f)
{
    const cpu_tensor *a = task->in[0], *b = task->in[1], *o = task->out[0];
    int64_t begin, end, n = o->ne[0];
    bool one = count(b) == 1;
    if (flat_f32(a) && flat_f32(b) && same_shape(a, o) && (one || same_shape(b, o))) {
        cpu_share(run, count(o), 256, &begin, &end);
        f((const float *)a->data + begin, (const float *)b->data + (one ? 0 : begin), !one, (float *)o->data + begin,
          end - begin);
        return;
    }
    uint8_t *scratch = run->scratch;
    float *buffer_a = take_floats(&scratch, n), *buffer_b = take_floats(&scratch, n);
    cpu_share(run, o->rows, 1, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        int64_t index[ENG_MAX_RANK];
        row_index(o->ne, r, index);
        const float *x = cpu_row_f32(a, row_at(a, index), buffer_a);
        const float *y = cpu_row_f32(b, row_at(b, index), buffer_b);
        f(x, y, b->ne[0] != 1 || n == 1, out_row(o, r), n);
    }
}

/* One operand; ctx: what the op's parameters have become. */
typedef void (*unary_row)(const float *x, float *y, int64_t n, const void *ctx);

CPU_INLINE void run_unary(const cpu_task *task, cpu_run *run, unary_row f, const void *ctx)
{
    const cpu_tensor *x = task->in[0], *y = task->out[0];
    int64_t begin, end;
    if (flat_f32(x)) {
        cpu_share(run, count(y), 256, &begin, &end);
        f((const float *)x->data + begin, (float *)y->data + begin, end - begin, ctx);
        return;
    }
    cpu_share(run, y->rows, 1, &begin, &end);
    for (int64_t r = begin; r < end; r++)
        f(cpu_row_f32(x, row_number(x, r), (float *)run->scratch), out_row(y, r), y->ne[0], ctx);
}

/* f applied to whole vectors, and to the rest of the row in a padded vector. */
#define CPU_MAP(name, expression)                                                                                      \
    static void name(const float *x_, float *y_, int64_t n, const void *ctx)                                           \
    {                                                                                                                  \
        (void)ctx;                                                                                                     \
        int64_t i_ = 0;                                                                                                \
        for (; i_ + CPU_VL <= n; i_ += CPU_VL) {                                                                       \
            vf x = v_load(x_ + i_);                                                                                    \
            v_store(y_ + i_, expression);                                                                              \
        }                                                                                                              \
        if (i_ < n) {                                                                                                  \
            float t_[CPU_VL] = {0};                                                                                    \
            memcpy(t_, x_ + i_, (size_t)(n - i_) * 4);                                                                 \
            vf x = v_load(t_);                                                                                         \
            v_store(t_, expression);                                                                                   \
            memcpy(y_ + i_, t_, (size_t)(n - i_) * 4);                                                                 \
        }                                                                                                              \
    }

CPU_INLINE vf v_silu(vf x)
{
    return x / (1.0f + v_exp(-x));
}

/* x/2 (1 + tanh(u)) = x / (1 + e^(-2u)) */
CPU_INLINE vf v_gelu(vf x)
{
    vf u2 = x * v_fma(x * x, v_set1(2 * 0.79788456080286536f * 0.044715f), v_set1(2 * 0.79788456080286536f));
    return x / (1.0f + v_exp(-u2));
}

CPU_INLINE vf v_gelu_quick(vf x)
{
    return x / (1.0f + v_exp(-1.702f * x));
}

CPU_INLINE vf v_relu(vf x)
{
    return v_select(x > 0, x, (vf){0}); /* NaN: 0 */
}

CPU_INLINE vf v_gelu_erf(vf x)
{
    vf y;
    for (int i = 0; i < CPU_VL; i++)
        y[i] = 0.5f * x[i] * erfcf(-0.70710678118654752f * x[i]);
    return y;
}

#endif
