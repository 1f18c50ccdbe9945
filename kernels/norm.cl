/*
 * kernels/norm.cl - rms_norm (-DRMS), norm (-DMEAN), l2_norm (-DL2) per row, with
 * weight (-DWEIGHT) and bias (-DBIAS); group_norm.  The mean is taken first, then
 * the squares of the differences from it: no cancellation.
 */
#include "row.clh"

static inline float factor_of(float square, float n, float eps)
{
#if L2
    const float length = sqrt(square);
    return 1.0f / (length < eps ? eps : length); /* fmax would take eps for NaN */
#else
    return 1.0f / sqrt(square / n + eps);
#endif
}

#if WEIGHT
#define W16(v) ((v)*vload16(0, (fin)(w + w_at) + c))
#define W1(v) ((v) * ((fin)(w + w_at))[c])
#define W4(v, i) ((v) * ((fin4)(w + w_at))[FOUR(i)])
#define W_ADDRESS ((ulong)w + w_at)
#else
#define W4(v, i) (v)
#define W_ADDRESS 0
#define W16(v) (v)
#define W1(v) (v)
#endif
#if BIAS
#define B16(v) ((v) + vload16(0, (fin)(b + b_at) + c))
#define B1(v) ((v) + ((fin)(b + b_at))[c])
#define B4(v, i) ((v) + ((fin4)(b + b_at))[FOUR(i)])
#define B_ADDRESS ((ulong)b + b_at)
#else
#define B4(v, i) (v)
#define B_ADDRESS 0
#define B16(v) (v)
#define B1(v) (v)
#endif

#ifndef GROUPS
#define NORM_NUMBERS(N)                                                                                                \
    N(ulong, x_at) N(ulong, w_at) N(ulong, b_at) N(ulong, y_at) N(long4, ne) N(long4, xs) N(long4, ys) N(float, eps)   \
    N(int, rows_per)
#define NORM_BUFFERS(B) B(cbytes, x) B(cbytes, w) B(cbytes, b) B(gbytes, y)
NUMBERS(norm, NORM_NUMBERS);

KERNEL(ROW_ATTRIBUTES, norm, NORM_BUFFERS, norm)
{
    UNPACK(NORM_NUMBERS)
    const long rows = ne.s1 * ne.s2 * ne.s3, n = ne.s0;
#if VEC
    const long r0 = (long)ITEM(0) * rows_per, r1 = min(r0 + rows_per, rows);
    for (long r = r0; r < r1; r++) {
        fin in = (fin)(x + x_at + row_at(r, ne, xs));
        fout out = (fout)(y + y_at + row_at(r, ne, ys));
        float mean = 0.0f;
        long c;
#if MEAN
        float16 s = 0.0f;
        float tail_s = 0.0f;
        for (c = 0; c + 16 <= n; c += 16)
            s += vload16(0, in + c);
        FEW for (; c < n; c++)
            tail_s += in[c];
        mean = (sum_of(s) + tail_s) / (float)n;
#endif
        float16 q0 = 0.0f, q1 = 0.0f;
        float tail = 0.0f;
        for (c = 0; c + 32 <= n; c += 32) {
            float16 u = vload16(0, in + c) - mean, v = vload16(0, in + c + 16) - mean;
            q0 += u * u;
            q1 += v * v;
        }
        for (; c + 16 <= n; c += 16) {
            float16 u = vload16(0, in + c) - mean;
            q0 += u * u;
        }
        FEW for (; c < n; c++)
            tail += (in[c] - mean) * (in[c] - mean);
        const float f = factor_of(sum_of(q0 + q1) + tail, (float)n, eps);
        for (c = 0; c + 16 <= n; c += 16)
            vstore16(B16(W16((vload16(0, in + c) - mean) * f)), 0, out + c);
        FEW for (; c < n; c++)
            out[c] = B1(W1((in[c] - mean) * f));
    }
#else
    __local float t[GROUP];
    const long r = get_group_id(0);
    fin in = (fin)(x + x_at + row_at(r, ne, xs));
    fout out = (fout)(y + y_at + row_at(r, ne, ys));
    float mean = 0.0f, q = 0.0f;
    const bool held = HOLDS(n, (ulong)in | (ulong)out | W_ADDRESS | B_ADDRESS);
    float4 v[HELD];
    if (held)
        EACH_HELD(i, n) v[i] = ((fin4)in)[FOUR(i)];
#if MEAN
    float s = 0.0f;
    if (held) {
        EACH_HELD(i, n) s += sum_of4(v[i]);
    } else
        for (long c = get_local_id(0); c < n; c += GROUP)
            s += in[c];
    mean = group_sum(s, t) / (float)n;
#endif
    if (held) {
        EACH_HELD(i, n) q += sum_of4((v[i] - mean) * (v[i] - mean));
    } else
        for (long c = get_local_id(0); c < n; c += GROUP)
            q += (in[c] - mean) * (in[c] - mean);
    const float f = factor_of(group_sum(q, t), (float)n, eps);
    if (held) {
        EACH_HELD(i, n) ((fout4)out)[FOUR(i)] = B4(W4((v[i] - mean) * f, i), i);
    } else
        for (long c = get_local_id(0); c < n; c += GROUP)
            out[c] = B1(W1((in[c] - mean) * f));
#endif
}

#else
/* Compensated (Kahan, Communications of the ACM 8(1), 1965): a group may have a hundred thousand
 * rows of a few elements. */
static inline void add_to(float *sum, float *rest, float x)
{
    const float y = x - *rest, s = *sum + y;
    *rest = (s - *sum) - y;
    *sum = s;
}

#define GROUP_NORM_NUMBERS(N)                                                                                          \
    N(ulong, x_at) N(ulong, y_at) N(long4, ne) N(long4, xs) N(long4, ys) N(float, eps) N(int, groups) N(int, per)
#define GROUP_NORM_BUFFERS(B) B(cbytes, x) B(gbytes, y)
NUMBERS(group_norm, GROUP_NORM_NUMBERS);

/*
 * group_norm: x [w, h, channels, batch]; work-item (VEC) or group (SIMT) g of a
 * space [groups, batch] does `per` channels.
 */
KERNEL(ROW_ATTRIBUTES, group_norm, GROUP_NORM_BUFFERS, group_norm)
{
    UNPACK(GROUP_NORM_NUMBERS)
    const long g = GROUP_ITEM(0), batch = g / groups, first = (g - batch * groups) * per;
    const long channels = clamp(ne.s2 - first, 0L, (long)per), rows = channels * ne.s1, n = ne.s0;
    cbytes xb = x + x_at + batch * xs.s3 + first * xs.s2;
    gbytes yb = y + y_at + batch * ys.s3 + first * ys.s2;
    const float count = (float)(rows * n);
    float mean = 0.0f, square = 0.0f;
#if VEC
    for (int pass = 0; pass < 2; pass++) {
        float sum = 0.0f, rest = 0.0f;
        for (long r = 0; r < rows; r++) {
            fin in = (fin)(xb + r % ne.s1 * xs.s1 + r / ne.s1 * xs.s2);
            float16 s = 0.0f;
            float tail = 0.0f;
            long c = 0;
            for (; c + 16 <= n; c += 16) {
                float16 v = vload16(0, in + c) - mean;
                s += pass ? v * v : v;
            }
            FEW for (; c < n; c++) {
                float v = in[c] - mean;
                tail += pass ? v * v : v;
            }
            add_to(&sum, &rest, n < 16 ? tail : sum_of(s) + tail);
        }
        if (pass)
            square = sum;
        else
            mean = sum / count;
    }
    const float f = factor_of(square, count, eps);
    for (long r = 0; r < rows; r++) {
        fin in = (fin)(xb + r % ne.s1 * xs.s1 + r / ne.s1 * xs.s2);
        fout out = (fout)(yb + r % ne.s1 * ys.s1 + r / ne.s1 * ys.s2);
        long c = 0;
        for (; c + 16 <= n; c += 16)
            vstore16((vload16(0, in + c) - mean) * f, 0, out + c);
        FEW for (; c < n; c++)
            out[c] = (in[c] - mean) * f;
    }
#else
    __local float t[GROUP];
    const long total = rows * n;
    float s = 0.0f, s_rest = 0.0f, square_rest = 0.0f;
#define IN(i) (*(fin)(xb + (i) % n * 4 + (i) / n % ne.s1 * xs.s1 + (i) / n / ne.s1 * xs.s2))
    for (long i = get_local_id(0); i < total; i += GROUP)
        add_to(&s, &s_rest, IN(i));
    mean = group_sum(s, t) / count;
    for (long i = get_local_id(0); i < total; i += GROUP)
        add_to(&square, &square_rest, (IN(i) - mean) * (IN(i) - mean));
    const float f = factor_of(group_sum(square, t), count, eps);
    for (long i = get_local_id(0); i < total; i += GROUP)
        *(fout)(yb + i % n * 4 + i / n % ne.s1 * ys.s1 + i / n / ne.s1 * ys.s2) = (IN(i) - mean) * f;
#endif
}
#endif
