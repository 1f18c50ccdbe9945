/*
 * kernels/soft_max.cl - softmax of scale * x + slope * mask, with sinks.
 * -DMASK=float or half (absent: no mask), -DSINKS, -DALIBI= (alibi.clh).  Space [n, t, heads, batch];
 * first_head: number of the space's first head, of `heads` in all.
 */
#include "alibi.clh"
#include "row.clh"
#include "stream.clh"

#ifdef MASK_HALF
#define M1(c) (slope * vload_half(c, (__global const half *)m))
#define M16(c) (slope * HALVES16((__global const half *)m + (c)))
#define HALF_M(c) vload_half(c, (__global const half *)m)
#define M4(c) (slope * (float4)(HALF_M(c), HALF_M((c) + 1), HALF_M((c) + 2), HALF_M((c) + 3)))
#define M_ADDRESS 0
#elif MASK
#define M1(c) (slope * ((fin)m)[c])
#define M16(c) (slope * vload16(0, (fin)m + (c)))
#define M4(c) (slope * *(fin4)((fin)m + (c)))
#define M_ADDRESS ((ulong)m)
#else
#define M1(c) 0.0f
#define M16(c) 0.0f
#define M4(c) 0.0f
#define M_ADDRESS 0
#endif

#if VEC
#include "exp.clh"
#define EXP(x) exp_down(x).s0
#else
#define EXP(x) exp(x)
#endif
/* exp(v - max); -inf stays 0 also where max is -inf */
#define EXP1(v, top) ((v) == -INFINITY ? 0.0f : EXP((v) - (top)))

#define SOFT_MAX_NUMBERS(N)                                                                                            \
    N(ulong, x_at) N(ulong, m_at) N(ulong, s_at) N(ulong, y_at) N(long4, ne) N(long4, xs) N(long4, ms) N(long4, ys)    \
    N(float, scale) N(float, max_bias) N(int, first_head) N(int, heads) N(int, rows_per)
#define SOFT_MAX_BUFFERS(B) B(cbytes, x) B(cbytes, mask) B(cbytes, sinks) B(gbytes, y)
NUMBERS(soft_max, SOFT_MAX_NUMBERS);

KERNEL(ROW_ATTRIBUTES, soft_max, SOFT_MAX_BUFFERS, soft_max)
{
    UNPACK(SOFT_MAX_NUMBERS)
    const long rows = ne.s1 * ne.s2 * ne.s3, n = ne.s0;
#if VEC
    const long r0 = (long)ITEM(0) * rows_per, r1 = min(r0 + rows_per, rows);
    for (long r = r0; r < r1; r++) {
#else
    __local float t[GROUP];
    const long r = get_group_id(0);
    {
#endif
        const int h = (int)(r / ne.s1 % ne.s2);
        const float slope = slope_of(max_bias, first_head + h, heads);
        fin in = (fin)(x + x_at + row_at(r, ne, xs));
        fout out = (fout)(y + y_at + row_at(r, ne, ys));
        cbytes m = mask + m_at + row_at(r, ne, ms);
        float top = -INFINITY, sum = 0.0f, sink = 0.0f;
#if SINKS
        const float at = ((fin)(sinks + s_at))[h];
        top = at;
#endif
#if VEC
        float16 top16 = -INFINITY, sum16 = 0.0f;
        long c = 0;
        for (; c + 16 <= n; c += 16) {
            float16 v = vload16(0, in + c) * scale + M16(c);
            vstore16(v, 0, out + c);
            top16 = fmax(top16, v);
        }
        for (; c < n; c++) {
            out[c] = in[c] * scale + M1(c);
            top = fmax(top, out[c]);
        }
        top = fmax(top, max_of(top16));
        const float base = top == -INFINITY ? 0.0f : top; /* a row of -inf: all exponentials are 0 */
        for (c = 0; c + 16 <= n; c += 16) {
            AHEAD(in + n + c); /* most often the next row */
            float16 e = exp_down(vload16(0, out + c) - base);
            vstore16(e, 0, out + c);
            sum16 += e;
        }
        for (; c < n; c++) {
            out[c] = EXP(out[c] - base);
            sum += out[c];
        }
        sum += sum_of(sum16);
#if SINKS
        sink = EXP1(at, base);
#endif
        const float f = sum + sink == 0.0f ? 0.0f : 1.0f / (sum + sink);
        for (c = 0; c + 16 <= n; c += 16)
            vstore16(vload16(0, out + c) * f, 0, out + c);
        for (; c < n; c++)
            out[c] *= f;
#else
        const bool held = HOLDS(n, (ulong)in | (ulong)out | M_ADDRESS);
        float4 v[HELD];
        if (held) {
            EACH_HELD(i, n)
            {
                v[i] = ((fin4)in)[FOUR(i)] * scale + M4(4 * FOUR(i));
                top = fmax(top, fmax(fmax(v[i].x, v[i].y), fmax(v[i].z, v[i].w)));
            }
        } else
            for (long c = get_local_id(0); c < n; c += GROUP) {
                const float x1 = in[c] * scale + M1(c);
                out[c] = x1;
                top = fmax(top, x1);
            }
        top = group_max(top, t);
        const float base = top == -INFINITY ? 0.0f : top;
        if (held) {
            EACH_HELD(i, n)
            {
                v[i] = exp(v[i] - base);
                sum += sum_of4(v[i]);
            }
        } else
            for (long c = get_local_id(0); c < n; c += GROUP) {
                out[c] = exp(out[c] - base);
                sum += out[c];
            }
        sum = group_sum(sum, t);
#if SINKS
        sink = EXP1(at, base);
#endif
        const float f = sum + sink == 0.0f ? 0.0f : 1.0f / (sum + sink);
        if (held) {
            EACH_HELD(i, n) ((fout4)out)[FOUR(i)] = v[i] * f;
        } else
            for (long c = get_local_id(0); c < n; c += GROUP)
                out[c] *= f;
#endif
    }
}
