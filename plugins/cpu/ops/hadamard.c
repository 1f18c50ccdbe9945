/*
 * Groups of a row times H / sqrt(group): the fast Walsh-Hadamard transform.
 * Stages within a vector and those of two or four of them in registers, on the way from the
 * operand to the result; beyond that by whole vectors, two stages at a time.
 */
#include "loops.h"

#include "op.h"
#include "past.h"

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

/* The stages within vectors, in a register: sum and difference of lanes at distance 1, 2, 4, 8. */
CPU_INLINE vf within(vf v)
{
#if CPU_VL == 16
    __m512 x = (__m512)v;
    const __m512 one = _mm512_set1_ps(1.0f), minus = _mm512_set1_ps(-1.0f);
    x = _mm512_fmadd_ps(x, _mm512_mask_blend_ps(0xaaaa, one, minus), _mm512_permute_ps(x, 0xb1));
    x = _mm512_fmadd_ps(x, _mm512_mask_blend_ps(0xcccc, one, minus), _mm512_permute_ps(x, 0x4e));
    x = _mm512_fmadd_ps(x, _mm512_mask_blend_ps(0xf0f0, one, minus), _mm512_shuffle_f32x4(x, x, 0xb1));
    x = _mm512_fmadd_ps(x, _mm512_mask_blend_ps(0xff00, one, minus), _mm512_shuffle_f32x4(x, x, 0x4e));
    return (vf)x;
#elif CPU_VL == 8
    __m256 x = (__m256)v;
    x = _mm256_fmadd_ps(x, _mm256_setr_ps(1, -1, 1, -1, 1, -1, 1, -1), _mm256_permute_ps(x, 0xb1));
    x = _mm256_fmadd_ps(x, _mm256_setr_ps(1, 1, -1, -1, 1, 1, -1, -1), _mm256_permute_ps(x, 0x4e));
    x = _mm256_fmadd_ps(x, _mm256_setr_ps(1, 1, 1, 1, -1, -1, -1, -1), _mm256_permute2f128_ps(x, x, 1));
    return (vf)x;
#else
    float t[CPU_VL];
    v_store(t, v);
    for (int s = 1; s < CPU_VL; s *= 2)
        small_stage(t, CPU_VL, s);
    return v_load(t);
#endif
}

/* Two stages, of four vectors. */
CPU_INLINE void four(vf *v)
{
    const vf p = v[0] + v[1], q = v[0] - v[1], r = v[2] + v[3], t = v[2] - v[3];
    v[0] = p + r;
    v[1] = q + t;
    v[2] = p - r;
    v[3] = q - t;
}

/* x times scale, and all stages within `some` vectors, 1, 2 or 4. */
CPU_INLINE void first_stages(const float *x, float *y, int64_t n, float scale, const int some)
{
    for (int64_t i = 0; i < n; i += some * CPU_VL) {
        vf v[4];
        ask_stream(x + i, some * CPU_VL);
        CPU_UNROLL
        for (int j = 0; j < some; j++)
            v[j] = within(v_load(x + i + j * CPU_VL) * scale);
        if (some == 4)
            four(v);
        else if (some == 2) {
            const vf u = v[0];
            v[0] = u + v[1];
            v[1] = u - v[1];
        }
        CPU_UNROLL
        for (int j = 0; j < some; j++)
            v_store(y + i + j * CPU_VL, v[j]);
    }
}

/* Stages at distances s and 2 s. */
static void two_stages(float *x, int64_t n, int64_t s)
{
    for (int64_t i = 0; i < n; i += 4 * s)
        for (int64_t j = i; j < i + s; j += CPU_VL) {
            vf v[4] = {v_load(x + j), v_load(x + j + s), v_load(x + j + 2 * s), v_load(x + j + 3 * s)};
            four(v);
            CPU_UNROLL
            for (int c = 0; c < 4; c++)
                v_store(x + j + c * s, v[c]);
        }
}

/* Each group of n: of x times scale, in y. */
static void transform(const float *x, float *y, int64_t n, float scale)
{
    int64_t s, left = 0;
    if (n < CPU_VL) {
        for (int64_t i = 0; i < n; i++)
            y[i] = x[i] * scale;
        for (int t = 1; t < n; t *= 2)
            small_stage(y, n, t);
        return;
    }
    for (s = CPU_VL; s < n; s *= 2)
        left++;
    /* an odd stage comes first, so that all further ones go by twos */
    if (left == 0)
        first_stages(x, y, n, scale, 1);
    else if (left % 2)
        first_stages(x, y, n, scale, 2);
    else
        first_stages(x, y, n, scale, 4);
    for (s = left == 0 ? n : left % 2 ? 2 * CPU_VL : 4 * CPU_VL; s < n; s *= 4)
        two_stages(y, n, s);
}

#define PAST_GROUP 1024 /* a longer one is not stored past the caches */

/* Groups of a row, by as many as a piece holds, and these past the caches. */
static void transform_past(const float *x, float *y, int64_t n, int64_t group, float scale)
{
    _Alignas(64) float piece[PAST_GROUP];
    const int64_t most = group < PAST_PIECE ? PAST_PIECE / group * group : group;
    for (int64_t i = 0, m; i < n; i += m) {
        m = n - i < most ? n - i : most;
        for (int64_t j = 0; j < m; j += group)
            transform(x + i + j, piece + j, group, scale);
        copy_past(y + i, piece, (size_t)m * sizeof *piece);
    }
}

static void run_hadamard(const cpu_task *task, cpu_run *run)
{
    const cpu_tensor *x = task->in[0], *y = task->out[0];
    int64_t begin, end, group = task->node->ip[ENG_HADAMARD_GROUP], n = y->ne[0];
    float scale = (float)(1 / sqrt((double)group));
    const bool past = CPU_PAST && task->past && group <= PAST_GROUP;
    cpu_share(run, y->rows, 1, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        const float *a = cpu_row_f32(x, row_number(x, r), (float *)run->scratch);
        float *o = out_row(y, r);
        if (past)
            transform_past(a, o, n, group, scale);
        else
            for (int64_t i = 0; i < n; i += group)
                transform(a + i, o + i, group, scale);
    }
    if (past)
        past_end();
}

CPU_DEFINE(hadamard, run_hadamard)
