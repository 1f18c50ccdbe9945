/*
 * kernels/ssm_conv.cl - causal depthwise convolution over the tokens of each
 * sequence, its window kept in a pool of rows.
 *
 * The results first (they read the window), then the windows (they write rows that
 * may be the ones read): in two launches, or, for few tokens, in one, for channels do
 * not meet.  -DTAPS= width of the kernel.
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

#ifndef EPILOGUE /* the element-wise op behind this one, if it is one with it (plugins/opencl/ops/each.h) */
#define EPILOGUE(T, v) (v)
#endif

/* A work-item does SIDES times NC channels: registers of them (vec), or one. */
#if VEC
#define NC 16
#define SIDES 16 /* as plugins/opencl/ops/variants.c: so much of a row that the hardware sees that it goes on */
typedef float16 lanes;
#define RESULT(v) EPILOGUE(float16, v)
#define LOAD(p, s) ld16_f32((cbytes)(p), c0 / 16 + (s), shape.x)
#define SAVE(p, s, v) st16_f32(p, c0 / 16 + (s), shape.x, v)
#define GET(v) vload16(0, v)
#define PUT(v, to) vstore16(v, 0, to)
#define ASK(p) AHEAD(p)
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
#endif
#define CHANNEL(s) (c0 + (s) * NC)
#define EACH_SIDE(s) for (uint s = 0; s < SIDES && CHANNEL(s) < shape.x; s++)

/* Element j of the windows in a row of the pool. */
#define WINDOW(to, s, row, j)                                                                                          \
    do {                                                                                                               \
        float t_[NC];                                                                                                  \
        for (uint c = 0; c < NC; c++)                                                                                  \
            t_[c] = CHANNEL(s) + c < shape.x && (row) >= 0 && (row) < shape.w ? STATE(CHANNEL(s) + c, row)[j] : 0.0f;  \
        to = GET(t_);                                                                                                  \
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
            for (uint j = 0; j < TAPS; j++) {
                float v[NC];
                for (uint c = 0; c < NC; c++)
                    v[c] = CHANNEL(s) + c < shape.x ? ((__global const float *)(w + (CHANNEL(s) + c) * x_nb.y))[j] : 0.0f;
                taps[s * TAPS + j] = GET(v);
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
            if (owned && before <= 0) {
                cbytes in = x + (t - (TAPS - 1)) * x_nb.x;
                EACH_SIDE(s)
                {
                    lanes sum = 0.0f;
                    ASK(in + (TAPS + 1) * x_nb.x + 4 * CHANNEL(s)); /* of the token after the next */
                    UNROLL for (int j = 0; j < TAPS; j++) sum = fma(taps[s * TAPS + j], LOAD(in + j * x_nb.x, s), sum);
                    SAVE((__global float *)(o + t * x_nb.z), s, RESULT(sum));
                }
                continue;
            }
            EACH_SIDE(s)
            {
                lanes sum = 0.0f;
                for (int j = 0; j < TAPS && owned; j++) {
                    lanes in;
                    if (j >= before)
                        in = LOAD(x + (t - (TAPS - 1) + j) * x_nb.x, s);
                    else
                        WINDOW(in, s, row, t - from + j);
                    sum = fma(taps[s * TAPS + j], in, sum);
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
            for (int j = 0; j < TAPS - 1; j++)
                WINDOW(old[j], s, row, j);
            for (long slot = 0; slot < slots && slot < tokens; slot++) {
                const int out = INDEX(dst, slot * index_nb.y + b * index_nb.z);
                if (out < 0 || out >= shape.w)
                    continue;
                for (int j = 0; j < TAPS - 1; j++) {
                    const long at = tokens - slot - (TAPS - 1) + j;
                    float v[NC];
                    if (at >= 0)
                        PUT(LOAD(x + (from + at) * x_nb.x, s), v);
                    else
                        PUT(old[at + TAPS - 1], v);
                    for (uint c = 0; c < NC && CHANNEL(s) + c < shape.x; c++)
                        STATE(CHANNEL(s) + c, out)[j] = v[c];
                }
            }
        }
    }
}
