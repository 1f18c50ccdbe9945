/*
 * Groups of a row times H / sqrt(group): the fast Walsh-Hadamard transform.
 * Stages within a vector by reflections of its lanes, beyond it by whole
 * vectors, two stages at a time.
 */
#include "loops.h"

#include "op.h"

/* One stage at distance s < CPU_VL on every vector of x. */
static void small_stage(float *x, int64_t n, int s)
{
    for (int64_t i = 0; i < n; i += 2 * s)
        for (int j = 0; j < s; j++) {
            float u = x[i + j], v = x[i + j + s];
            x[i + j] = u + v;
            x[i + j + s] = u - v;
        }
}

#if CPU_VL == 16
/* The first four stages in registers. */
CPU_INLINE __m512 reflect(__m512 x, __m512 other, __mmask16 minus)
{
    return _mm512_mask_sub_ps(_mm512_add_ps(x, other), minus, other, x);
}

static void first_stages(float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i += 16) {
        __m512 v = _mm512_loadu_ps(x + i);
        v = reflect(v, _mm512_permute_ps(v, 0xb1), 0xaaaa);
        v = reflect(v, _mm512_permute_ps(v, 0x4e), 0xcccc);
        v = reflect(v, _mm512_shuffle_f32x4(v, v, 0xb1), 0xf0f0);
        v = reflect(v, _mm512_shuffle_f32x4(v, v, 0x4e), 0xff00);
        _mm512_storeu_ps(x + i, v);
    }
}
#elif CPU_VL == 8
/* The first three stages in registers. */
static void first_stages(float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i += 8) {
        __m256 v = _mm256_loadu_ps(x + i), other = _mm256_permute_ps(v, 0xb1);
        v = _mm256_blend_ps(_mm256_add_ps(other, v), _mm256_sub_ps(other, v), 0xaa);
        other = _mm256_permute_ps(v, 0x4e);
        v = _mm256_blend_ps(_mm256_add_ps(other, v), _mm256_sub_ps(other, v), 0xcc);
        other = _mm256_permute2f128_ps(v, v, 1);
        v = _mm256_blend_ps(_mm256_add_ps(other, v), _mm256_sub_ps(other, v), 0xf0);
        _mm256_storeu_ps(x + i, v);
    }
}
#else
static void first_stages(float *x, int64_t n)
{
    for (int s = 1; s < CPU_VL; s *= 2)
        small_stage(x, n, s);
}
#endif

static void transform(float *x, int64_t n)
{
    int64_t s = CPU_VL;
    if (n < CPU_VL) {
        for (int t = 1; t < n; t *= 2)
            small_stage(x, n, t);
        return;
    }
    first_stages(x, n);
    for (; 2 * s < n; s *= 4)
        for (int64_t i = 0; i < n; i += 4 * s)
            for (int64_t j = i; j < i + s; j += CPU_VL) {
                vf a = v_load(x + j), b = v_load(x + j + s), c = v_load(x + j + 2 * s), d = v_load(x + j + 3 * s);
                vf p = a + b, q = a - b, r = c + d, t = c - d;
                v_store(x + j, p + r);
                v_store(x + j + s, q + t);
                v_store(x + j + 2 * s, p - r);
                v_store(x + j + 3 * s, q - t);
            }
    for (; s < n; s *= 2)
        for (int64_t i = 0; i < n; i += 2 * s)
            for (int64_t j = i; j < i + s; j += CPU_VL) {
                vf a = v_load(x + j), b = v_load(x + j + s);
                v_store(x + j, a + b);
                v_store(x + j + s, a - b);
            }
}

static void run_hadamard(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *x = task->in[0], *y = task->out[0];
    int64_t begin, end, group = task->node->ip[ENG_HADAMARD_GROUP], n = y->ne[0];
    float scale = (float)(1 / sqrt((double)group));
    cpu_share(run, y->rows, 1, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        const float *a = cpu_row_f32(x, row_number(x, r), (float *)run->scratch);
        float *o = out_row(y, r);
        for (int64_t i = 0; i < n; i++)
            o[i] = a[i] * scale;
        for (int64_t i = 0; i < n; i += group)
            transform(o + i, group);
    }
}

CPU_DEFINE(hadamard, run_hadamard)
