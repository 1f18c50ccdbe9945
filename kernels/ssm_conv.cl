/*
 * kernels/ssm_conv.cl - causal depthwise convolution over the tokens of each
 * sequence, its window kept in a pool of rows.
 *
 * Two launches: the results first (they read the window), then the windows (they
 * write rows that may be the ones read).  -DTAPS= width of the kernel.
 */
#include "pieces.clh"

#define ARGS                                                                                                           \
    cbytes x, ulong x_at, cbytes w, ulong w_at, cbytes src, ulong src_at, cbytes dst, ulong dst_at, cbytes cu,         \
        ulong cu_at, gbytes o, ulong o_at, PIECE_ARGS, long4 shape, long4 x_nb, long4 state_nb, long4 index_nb,        \
        ulong state_offset, ulong piece_bytes, long slots, long each
/*
 * shape     channels, tokens, sequences, rows of the pool
 * x_nb      x along token, w along channel, o along token
 * state_nb  along channel, row
 * index_nb  src along sequence, dst along slot and sequence, cu
 */

#define INDEX(p, offset) (*(__global const int *)((p) + (offset)))
#define STATE(c, row) ((__global float *)piece_at(state_offset + (c) * state_nb.x + (row) * state_nb.y, piece_bytes))

#if VEC
#define NC 16 /* channels of a work-item */
#else
#define NC 1
#endif

/* Input `at` of sequence-local time (negative: the window) for NC channels. */
#define INPUT(to, at)                                                                                                  \
    for (uint c = 0; c < NC; c++)                                                                                      \
    to[c] = c0 + c >= shape.x ? 0.0f                                                                                   \
            : (at) >= 0       ? ((__global const float *)(x + (from + (at)) * x_nb.x))[c0 + c]                         \
            : row < 0 || row >= shape.w ? 0.0f                                                                         \
                              : STATE(c0 + c, row)[(at) + TAPS - 1]

/* Results of tokens each*y .. of a block of channels. */
__kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void ssm_conv(ARGS)
{
    const long c0 = (long)get_global_id(0) * NC, t0 = (long)get_global_id(1) * each;
    if (c0 >= shape.x || t0 >= shape.y)
        return;
    const uint n = min((long)NC, shape.x - c0);
    const long t1 = min(t0 + each, shape.y);
    x += x_at;
    w += w_at;
    src += src_at;
    cu += cu_at;
    o += o_at;
    float taps[TAPS * NC];
    for (uint j = 0; j < TAPS; j++)
        for (uint c = 0; c < NC; c++)
            taps[j * NC + c] = c < n ? ((__global const float *)(w + (c0 + c) * x_nb.y))[j] : 0.0f;

    long b = 0;
    for (long t = t0; t < t1; t++) {
        __global float *y = (__global float *)(o + t * x_nb.z) + c0;
        while (b < shape.z && INDEX(cu, (b + 1) * index_nb.w) <= t)
            b++;
        const long from = INDEX(cu, b * index_nb.w);
        float sum[NC], in[NC];
        for (uint c = 0; c < NC; c++)
            sum[c] = 0.0f;
        if (b < shape.z && from <= t) {
            const long row = INDEX(src, b * index_nb.x);
            for (int j = 0; j < TAPS; j++) {
                const long at = t - from - (TAPS - 1) + j;
                INPUT(in, at);
                for (uint c = 0; c < NC; c++)
                    sum[c] = fma(taps[j * NC + c], in[c], sum[c]);
            }
        }
        for (uint c = 0; c < n; c++)
            y[c] = sum[c];
    }
}

/* Windows after the last tokens of sequence y. */
__kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void ssm_conv_windows(ARGS)
{
    const long c0 = (long)get_global_id(0) * NC, b = get_global_id(1);
    if (c0 >= shape.x || b >= shape.z)
        return;
    const uint n = min((long)NC, shape.x - c0);
    x += x_at;
    src += src_at;
    dst += dst_at;
    cu += cu_at;
    const long from = INDEX(cu, b * index_nb.w), tokens = INDEX(cu, (b + 1) * index_nb.w) - from;
    const long row = INDEX(src, b * index_nb.x);
    float old[TAPS * NC], in[NC]; /* the window before, since its row may be overwritten */
    for (int j = 0; j < TAPS - 1; j++) {
        INPUT(in, (long)j - (TAPS - 1));
        for (uint c = 0; c < NC; c++)
            old[j * NC + c] = in[c];
    }
    for (long slot = 0; slot < slots && slot < tokens; slot++) {
        const long out = INDEX(dst, slot * index_nb.y + b * index_nb.z);
        if (out < 0 || out >= shape.w)
            continue;
        for (int j = 0; j < TAPS - 1; j++) {
            const long at = tokens - slot - (TAPS - 1) + j;
            if (at >= 0) {
                INPUT(in, at);
            } else
                for (uint c = 0; c < NC; c++)
                    in[c] = old[(at + TAPS - 1) * NC + c];
            for (uint c = 0; c < n; c++)
                STATE(c0 + c, out)[j] = in[c];
        }
    }
}
