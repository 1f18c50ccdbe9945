/*
 * Element by element: where all operands are flat f32 arrays of one shape the
 * elements are shared out among the threads, else the rows are.  The functions are
 * the expressions of the op table, in vectors.
 */
#ifndef CPU_EACH_H
#define CPU_EACH_H

#include "op.h"
#include "past.h"

/* -- the words of expressions (ops.def) ----------------------------------------------- */

/* A number or a vector as a vector: minus zero changes no x. */
#define EACH_VECTOR(a) ((a) - (vf){0})
#define each_if(condition, a, b) v_select((vi)(condition), EACH_VECTOR(a), EACH_VECTOR(b))
#define each_min(a, b) v_min(b, a) /* of a NaN a: NaN */
#define each_max(a, b) v_max(b, a)
#define each_abs(a) v_abs(a)
#define each_exp(a) v_exp(a)
#define each_sigmoid(a) v_sigmoid(a)
#define each_gate(a, s) ((a) / (1.0f + v_exp(-(s))))

/* By the C library, lane by lane. */
#define EACH_LANES(word, function)                                                                                     \
    CPU_INLINE vf word(vf x)                                                                                           \
    {                                                                                                                  \
        vf y;                                                                                                          \
        for (int i = 0; i < CPU_VL; i++)                                                                               \
            y[i] = function(x[i]);                                                                                     \
        return y;                                                                                                      \
    }
EACH_LANES(each_log, logf)
EACH_LANES(each_log1p, log1pf)
EACH_LANES(each_sin, sinf)
EACH_LANES(each_cos, cosf)
EACH_LANES(each_tanh, tanhf)
EACH_LANES(each_erfc, erfcf)

CPU_INLINE vf each_sqrt(vf x)
{
#if CPU_VL == 16
    return (vf)_mm512_sqrt_ps((__m512)x);
#elif CPU_VL == 8
    return (vf)_mm256_sqrt_ps((__m256)x);
#elif defined(CPU_NEON)
    return (vf)vsqrtq_f32((float32x4_t)x);
#elif defined(__SSE2__)
    return (vf)_mm_sqrt_ps((__m128)x);
#else
    for (int i = 0; i < CPU_VL; i++)
        x[i] = sqrtf(x[i]);
    return x;
#endif
}

/* -- rows ------------------------------------------------------------------------------- */

/* y_step: 1, or 0 if y is one number for the whole row; constants: p and q; past: the caches, out being aligned to a
 * line. */
typedef void (*each_row)(const float *x, const float *y, int y_step, float *out, int64_t n, const float *constants,
                         bool past);

CPU_INLINE void each_store(float *p, vf v, bool past)
{
    if (CPU_PAST && past)
        store_past(p, v);
    else
        v_store(p, v);
}

/* Defines name_row: the expression of whole vectors, then of the rest of the row in a padded one.  `long_work`: takes so
 * long that the hardware does not look far enough ahead. */
#define EACH_ROW(name, expression, long_work)                                                                          \
    CPU_INLINE vf name##_of(vf x, vf y, vf p, vf q)                                                                    \
    {                                                                                                                  \
        (void)y;                                                                                                       \
        (void)p;                                                                                                       \
        (void)q;                                                                                                       \
        return expression;                                                                                             \
    }                                                                                                                  \
    static void name##_row(const float *x, const float *y, int y_step, float *out, int64_t n, const float *constants,  \
                           bool past)                                                                                  \
    {                                                                                                                  \
        const vf p = v_set1(constants[0]), q = v_set1(constants[1]), one = v_set1(y_step || n == 0 ? 0 : *y);          \
        int64_t i = 0;                                                                                                 \
        if (y_step)                                                                                                    \
            for (; i + CPU_VL <= n; i += CPU_VL) {                                                                     \
                if (long_work)                                                                                         \
                    ask_stream(x + i, CPU_VL), ask_stream(y + i, CPU_VL);                                              \
                each_store(out + i, name##_of(v_load(x + i), v_load(y + i), p, q), past);                              \
            }                                                                                                          \
        else                                                                                                           \
            for (; i + CPU_VL <= n; i += CPU_VL) {                                                                     \
                if (long_work)                                                                                         \
                    ask_stream(x + i, CPU_VL);                                                                         \
                each_store(out + i, name##_of(v_load(x + i), one, p, q), past);                                        \
            }                                                                                                          \
        if (i < n) {                                                                                                   \
            float a[CPU_VL] = {0}, b[CPU_VL] = {0};                                                                    \
            memcpy(a, x + i, (size_t)(n - i) * 4);                                                                     \
            if (y_step)                                                                                                \
                memcpy(b, y + i, (size_t)(n - i) * 4);                                                                 \
            v_store(a, name##_of(v_load(a), y_step ? v_load(b) : one, p, q));                                          \
            memcpy(out + i, a, (size_t)(n - i) * 4);                                                                   \
        }                                                                                                              \
    }

/* An op of one operand is one of two that are the same: what it does not read is not loaded. */
static inline void run_each(const cpu_task *task, cpu_run *run, each_row f)
{
    const cpu_tensor *a = task->in[0], *b = task->in[1] ? task->in[1] : a, *o = task->out[0];
    const float constants[2] = {(float)task->node->fp[0], (float)task->node->fp[1]};
    int64_t begin, end, n = o->ne[0];
    bool one = b != a && count(b) == 1;
    if (flat_f32(a) && flat_f32(b) && same_shape(a, o) && (one || same_shape(b, o))) {
        cpu_share(run, count(o), 256, &begin, &end);
        const float *x = (const float *)a->data + begin, *y = (const float *)b->data + (one ? 0 : begin);
        float *out = (float *)o->data + begin;
        const bool past = goes_past(task, out);
        f(x, y, !one, out, end - begin, constants, past);
        if (past)
            past_end();
        return;
    }
    uint8_t *scratch = run->scratch;
    float *buffer_a = take_floats(&scratch, n), *buffer_b = take_floats(&scratch, n);
    cpu_share(run, o->rows, 1, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        int64_t index[ENG_MAX_RANK];
        row_index(o->ne, r, index);
        const float *x = cpu_row_f32(a, row_at(a, index), buffer_a);
        const float *y = b == a ? x : cpu_row_f32(b, row_at(b, index), buffer_b);
        f(x, y, b->ne[0] != 1 || n == 1, out_row(o, r), n, constants, false);
    }
}

#endif
