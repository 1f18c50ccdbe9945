/*
 * kernels/rope.cl - rotary position embedding.  -DNORMAL: pairs of neighbours;
 * else pairs (i, i + distance).  -DHALF: x is f16.
 */
#include "rope.clh"
#include "stream.clh"

#if HALF
#define X1(p, i) vload_half(i, (__global const half *)(p))
#define X16(p, i) HALVES16((__global const half *)(p) + (i))
#else
#define X1(p, i) ((fin)(p))[i]
#define X16(p, i) vload16(0, (fin)(p) + (i))
#endif

#define SET 4 /* times 16 pairs, whose angles are kept while all heads pass: what a head has of memory comes in order */

#define AT_ONCE 4 /* heads that a card's work-item loads at a time */
#define EACH_HEAD _Pragma("unroll") for (int j = 0; j < AT_ONCE; j++)

#define ROPE_NUMBERS(N)                                                                                                \
    N(ulong, x_at) N(ulong, pos_at) N(ulong, ff_at) N(ulong, table_at) N(ulong, y_at) N(long4, ne) N(long4, xs)        \
    N(long4, ys) N(long, pos_step) N(long, pos_stream) N(int, offset) N(int, pairs) N(int, distance) N(float, scale)   \
    N(float, sign)
#define ROPE_BUFFERS(B) B(cbytes, x) B(cbytes, pos) B(cbytes, ff) B(cbytes, table) B(gbytes, y)
NUMBERS(rope, ROPE_NUMBERS);

/*
 * Space [d, heads, tokens, batch].  VEC: a work-item does all heads of a token, 16
 * pairs at a time; SIMT: work-item (i, head, token) one pair or two copied channels of that head, and of those that are
 * multiples of the launch's work-items further.
 */
KERNEL(EACH_ATTRIBUTES, rope, ROPE_BUFFERS, rope)
{
    UNPACK(ROPE_NUMBERS)
    __global const rope_pair *pair = (__global const rope_pair *)(table + table_at);
    fin div = (fin)(ff + ff_at);
    const long token = (VEC ? ITEM(0) : ITEM(2)), t = token % ne.s2, b = token / ne.s2;
    if (b >= ne.s3)
        return;
    __global const int *p = (__global const int *)(pos + pos_at + t * pos_step);
    cbytes xb = x + x_at + t * xs.s2 + b * xs.s3;
    gbytes yb = y + y_at + t * ys.s2 + b * ys.s3;
    const int d = (int)ne.s0;
#if NORMAL
    const int begin = offset, end = offset + 2 * pairs;
#define BETWEEN(c) 0
#else
    const int begin = offset, end = offset + distance + pairs;
#define BETWEEN(c) (c >= begin + pairs && c < begin + distance) /* vision: none rotated there */
#endif
#if VEC
    /* what is not rotated */
    for (long h = 0; h < ne.s1; h++) {
        cbytes in = xb + h * xs.s1;
        fout out = (fout)(yb + h * ys.s1);
        for (int c = 0; c < begin; c++)
            out[c] = X1(in, c);
        for (int c = begin + pairs; !NORMAL && c < begin + distance; c++)
            out[c] = X1(in, c);
        for (int c = end; c < d; c++)
            out[c] = X1(in, c);
    }
    float16 co[SET], si[SET];
    for (int from = 0; from < pairs; from += 16 * SET) {
        const int to = min(pairs, from + 16 * SET);
        for (int i = from; i < to; i += 16) {
            float turns[16];
            FEW for (int j = 0; j < 16; j++)
                turns[j] = i + j < pairs ? turn_of(pair, div, p, pos_stream, i + j) : 0.0f;
            cosines(vload16(0, turns), &co[(i - from) / 16], &si[(i - from) / 16]);
            co[(i - from) / 16] *= scale;
            si[(i - from) / 16] *= sign * scale;
        }
        for (long h = 0; h < ne.s1; h++) {
            cbytes in = xb + h * xs.s1;
            fout out = (fout)(yb + h * ys.s1);
            int i = from;
            for (; i + 16 <= to; i += 16) {
                float16 u = X16(in, FIRST(i)), v = X16(in, SECOND16(i));
                rotate16(&u, &v, co[(i - from) / 16], si[(i - from) / 16]);
                STORE16(u, out + FIRST(i));
                STORE16(v, out + SECOND16(i));
            }
            FEW for (int j = 0; i + j < to; j++) {
                const float u = X1(in, FIRST(i + j)), v = X1(in, SECOND(i + j));
                const float c = ((const float *)co)[i - from + j], s = ((const float *)si)[i - from + j];
                out[FIRST(i + j)] = u * c - v * s;
                out[SECOND(i + j)] = u * s + v * c;
            }
        }
    }
#else
    /* The angle is worked out once for all heads of a work-item, which loads of several before it stores. */
    const int i = ITEM(0), step = (int)get_global_size(1);
    float co = 1.0f, si = 0.0f;
    if (i < pairs) {
        turned_by(turn_of(pair, div, p, pos_stream, i), &co, &si);
        co *= scale;
        si *= sign * scale;
    }
    for (int h0 = (int)ITEM(1); h0 < ne.s1; h0 += AT_ONCE * step) {
        float u[AT_ONCE], v[AT_ONCE];
        if (i < pairs) {
            EACH_HEAD
            {
                cbytes in = xb + min(h0 + j * step, (int)ne.s1 - 1) * xs.s1;
                u[j] = X1(in, FIRST(i));
                v[j] = X1(in, SECOND(i));
            }
            EACH_HEAD if (h0 + j * step < ne.s1)
            {
                fout out = (fout)(yb + (h0 + j * step) * ys.s1);
                out[FIRST(i)] = u[j] * co - v[j] * si;
                out[SECOND(i)] = u[j] * si + v[j] * co;
            }
        }
        for (int j = 0; j < AT_ONCE && h0 + j * step < ne.s1; j++)
            for (int c = 2 * i; c < 2 * i + 2 && c < d; c++)
                if (c < begin || c >= end || BETWEEN(c))
                    ((fout)(yb + (h0 + j * step) * ys.s1))[c] = X1(xb + (h0 + j * step) * xs.s1, c);
    }
#endif
}
