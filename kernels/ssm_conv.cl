/*
 * kernels/ssm_conv.cl - causal depthwise convolution over the tokens of each
 * sequence, its window kept in a pool of rows.
 *
 * The results first (they read the window), then the windows (they write rows that
 * may be the ones read): in two launches, or, for few tokens, in one, for channels do
 * not meet.
 *
 * -DTAPS=      width of the kernel
 * -DREGULAR=1  (vec) four taps, whole vectors of channels, whose taps and windows lie one behind another, in one piece
 */
#include "pieces.clh"
#include "stream.clh"

#define BUFFERS(B) B(cbytes, x) B(cbytes, w) B(cbytes, src) B(cbytes, dst) B(cbytes, cu) B(gbytes, o) PIECE_BUFFERS(B)
#define SSM_CONV_NUMBERS(N)                                                                                            \
    N(ulong, x_at) N(ulong, w_at) N(ulong, src_at) N(ulong, dst_at) N(ulong, cu_at) N(ulong, o_at) PIECE_NUMBERS(N)    \
    N(long4, shape) N(long4, x_nb) N(long4, state_nb) N(long4, index_nb) N(ulong, state_offset) N(ulong, piece_bytes)  \
    N(long, slots) N(long, each) N(int, passes)
NUMBERS(ssm_conv, SSM_CONV_NUMBERS);
#define RESULTS 1
#define WINDOWS 2
/*
 * shape     channels, tokens, sequences, rows of the pool
 * x_nb      x along token, w along channel, o along token
 * state_nb  along channel, row
 * index_nb  src along sequence, dst along slot and sequence, cu
 * passes    RESULTS: of tokens each * y ..; WINDOWS: of sequence y, or of all after the results
 */

#define INDEX(p, offset) (*(__global const int *)((p) + (offset)))
#define STATE(c, row) ((__global float *)piece_at(state_offset + (c) * state_nb.x + (row) * state_nb.y, piece_bytes))

#ifndef REGULAR
#define REGULAR 0
#endif
#ifndef EPILOGUE /* the element-wise op behind this one, if it is one with it (plugins/opencl/ops/each.h) */
#define EPILOGUE(T, v) (v)
#endif

/* A work-item does SIDES times NC channels: registers of them (vec), or one. */
#if VEC
#define NC 16
#define SIDES 16 /* as plugins/opencl/ops/variants.c: so much of a row that the hardware sees that it goes on */
typedef float16 lanes;
#define RESULT(v) EPILOGUE(float16, v)
#if REGULAR
#define LOAD(p, s) vload16(c0 / 16 + (s), (__global const float *)(p))
#define SAVE(p, s, v) STORE16(v, (p) + CHANNEL(s))
#else
#define LOAD(p, s) ld16_f32((cbytes)(p), c0 / 16 + (s), shape.x)
#define SAVE(p, s, v) st16_f32(p, c0 / 16 + (s), shape.x, v)
#endif
#define GET(v) vload16(0, v)
#define PUT(v, to) vstore16(v, 0, to)
#define ASK(p) AHEAD(p)
#define SHORT FEW
/* The window that a token follows: as a whole, or (cards have no registers that are chosen by number) element by element. */
#define OLD_WINDOW(s)                                                                                                  \
    lanes old[TAPS];                                                                                                   \
    WINDOW(old, s, row);
#define OLD(to, s, j) to = old[j]
#else
#define NC 1
#define SIDES 1
typedef float lanes;
#define RESULT(v) EPILOGUE(float, v)
#define LOAD(p, s) (((__global const float *)(p))[c0])
#define SAVE(p, s, v) ((p)[c0] = (v))
#define GET(v) ((v)[0])
#define PUT(v, to) ((to)[0] = (v))
#define ASK(p)
#define SHORT
#define OLD_WINDOW(s)
#define OLD(to, s, j) ELEMENT_OF(to, s, row, j)
#endif

/* Four taps, and windows of three, of sixteen channels. */
#if REGULAR
static inline void take4(cbytes p, lanes *to)
{
    const __global float *v = (const __global float *)p;
    const float16 a = vload16(0, v), b = vload16(1, v), c = vload16(2, v), d = vload16(3, v);
    to[0] = (float16)(a.s048c, b.s048c, c.s048c, d.s048c);
    to[1] = (float16)(a.s159d, b.s159d, c.s159d, d.s159d);
    to[2] = (float16)(a.s26ae, b.s26ae, c.s26ae, d.s26ae);
    to[3] = (float16)(a.s37bf, b.s37bf, c.s37bf, d.s37bf);
}
static inline void take3(const __global float *v, lanes *to)
{
    const float16 a = vload16(0, v), b = vload16(1, v), c = vload16(2, v);
    to[0] = (float16)(a.s0, a.s3, a.s6, a.s9, a.sc, a.sf, b.s2, b.s5, b.s8, b.sb, b.se, c.s1, c.s4, c.s7, c.sa, c.sd);
    to[1] = (float16)(a.s1, a.s4, a.s7, a.sa, a.sd, b.s0, b.s3, b.s6, b.s9, b.sc, b.sf, c.s2, c.s5, c.s8, c.sb, c.se);
    to[2] = (float16)(a.s2, a.s5, a.s8, a.sb, a.se, b.s1, b.s4, b.s7, b.sa, b.sd, c.s0, c.s3, c.s6, c.s9, c.sc, c.sf);
}
static inline void put3(const lanes *from, __global float *v)
{
    const float16 x = from[0], y = from[1], z = from[2];
    vstore16((float16)(x.s0, y.s0, z.s0, x.s1, y.s1, z.s1, x.s2, y.s2, z.s2, x.s3, y.s3, z.s3, x.s4, y.s4, z.s4, x.s5), 0, v);
    vstore16((float16)(y.s5, z.s5, x.s6, y.s6, z.s6, x.s7, y.s7, z.s7, x.s8, y.s8, z.s8, x.s9, y.s9, z.s9, x.sa, y.sa), 1, v);
    vstore16((float16)(z.sa, x.sb, y.sb, z.sb, x.sc, y.sc, z.sc, x.sd, y.sd, z.sd, x.se, y.se, z.se, x.sf, y.sf, z.sf), 2, v);
}
#else
#define take4(p, to)
#define take3(v, to)
#define put3(from, v)
#endif

#define CHANNEL(s) (c0 + (s) * NC)
#define EACH_SIDE(s) for (uint s = 0; s < SIDES && CHANNEL(s) < shape.x; s++)

/* Element j of the windows in a row of the pool; and all of them. */
#define ELEMENT_OF(to, s, row, j)                                                                                      \
    do {                                                                                                               \
        float t_[NC];                                                                                                  \
        SHORT for (uint c = 0; c < NC; c++)                                                                            \
            t_[c] = CHANNEL(s) + c < shape.x && (row) >= 0 && (row) < shape.w ? STATE(CHANNEL(s) + c, row)[j] : 0.0f;  \
        to = GET(t_);                                                                                                  \
    } while (0)
#define WINDOW(to, s, row)                                                                                             \
    do {                                                                                                               \
        if (REGULAR && (row) >= 0 && (row) < shape.w)                                                                  \
            take3(STATE(CHANNEL(s), row), to);                                                                         \
        else                                                                                                           \
            SHORT for (int j = 0; j < TAPS - 1; j++)                                                                   \
                ELEMENT_OF((to)[j], s, row, j);                                                                        \
    } while (0)

KERNEL(GROUP_OF(LOCAL), ssm_conv, BUFFERS, ssm_conv)
{
    UNPACK(SSM_CONV_NUMBERS)
    const long c0 = (long)ITEM(0) * (SIDES * NC);
    if (c0 >= shape.x)
        return;
    x += x_at;
    w += w_at;
    src += src_at;
    dst += dst_at;
    cu += cu_at;
    o += o_at;

    if (passes & RESULTS) {
        lanes taps[SIDES * TAPS];
        EACH_SIDE(s)
        {
            if (REGULAR) {
                take4(w + CHANNEL(s) * x_nb.y, taps + s * TAPS);
                continue;
            }
            SHORT for (uint j = 0; j < TAPS; j++)
            {
                float v[NC];
                SHORT for (uint c = 0; c < NC; c++)
                    v[c] = CHANNEL(s) + c < shape.x ? ((__global const float *)(w + (CHANNEL(s) + c) * x_nb.y))[j] : 0.0f;
                taps[s * TAPS + j] = GET(v);
            }
        }
        const long t0 = (long)ITEM(1) * each, t1 = min(t0 + each, shape.y);
        long b = 0;
        for (long t = t0; t < t1; t++) {
            while (b < shape.z && INDEX(cu, (b + 1) * index_nb.w) <= t)
                b++;
            const long from = max(INDEX(cu, b * index_nb.w), 0);
            const bool owned = b < shape.z && from <= t;
            const int row = owned ? INDEX(src, b * index_nb.x) : -1;
            const long before = TAPS - 1 - (t - from); /* inputs in the window */
            cbytes first = x + (t - (TAPS - 1)) * x_nb.x;
            EACH_SIDE(s)
            {
                lanes sum = 0.0f;
                if (owned && before <= 0) {
                    ASK(first + (TAPS + 1) * x_nb.x + 4 * CHANNEL(s)); /* of the token after the next */
                    UNROLL for (int j = 0; j < TAPS; j++) sum = fma(taps[s * TAPS + j], LOAD(first + j * x_nb.x, s), sum);
                } else if (owned) {
                    OLD_WINDOW(s)
                    SHORT for (int j = 0; j < TAPS; j++)
                    {
                        lanes in;
                        if (j >= before)
                            in = LOAD(first + j * x_nb.x, s);
                        else
                            OLD(in, s, t - from + j);
                        sum = fma(taps[s * TAPS + j], in, sum);
                    }
                }
                SAVE((__global float *)(o + t * x_nb.z), s, RESULT(sum));
            }
        }
    }

    if (!(passes & WINDOWS))
        return;
    const bool all = passes & RESULTS;
    const long b0 = all ? 0 : ITEM(1), b1 = all ? shape.z : min(b0 + 1, shape.z);
    for (long b = b0; b < b1; b++) {
        const int from = clamp(INDEX(cu, b * index_nb.w), 0, (int)shape.y);
        const int tokens = clamp(INDEX(cu, (b + 1) * index_nb.w), from, (int)shape.y) - from;
        const int row = INDEX(src, b * index_nb.x);
        EACH_SIDE(s)
        {
            lanes old[TAPS]; /* the window before, since its row may be overwritten */
            WINDOW(old, s, row);
            for (long slot = 0; slot < slots && slot < tokens; slot++) {
                const int out = INDEX(dst, slot * index_nb.y + b * index_nb.z);
                if (out < 0 || out >= shape.w)
                    continue;
                lanes made[TAPS];
                for (int j = 0; j < TAPS - 1; j++) {
                    const long at = tokens - slot - (TAPS - 1) + j;
                    made[j] = at >= 0 ? LOAD(x + (from + at) * x_nb.x, s) : old[at + TAPS - 1];
                }
                if (REGULAR) {
                    put3(made, STATE(CHANNEL(s), out));
                    continue;
                }
                SHORT for (int j = 0; j < TAPS - 1; j++)
                {
                    float v[NC];
                    PUT(made[j], v);
                    SHORT for (uint c = 0; c < NC && CHANNEL(s) + c < shape.x; c++)
                        STATE(CHANNEL(s) + c, out)[j] = v[c];
                }
            }
        }
    }
}
