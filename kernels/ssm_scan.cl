/*
 * kernels/ssm_scan.cl - the selective scan, token by token.
 *
 * The channels of a head never meet: per channel m (a row of the state tensor, over the states), with a = exp(dt rate),
 *     m = a m + dt x b;   o = m.c
 * so that a work-item (vec) or a few (simt) keep some channels in registers over all tokens of a sequence, and the
 * state is read once and written once a slot.
 *
 * -DS= states of a channel  -DEACH=1: a rate for each state, 0: one a head
 */
#include "states.clh"
#include "fold.clh"

#define BUFFERS(B)                                                                                                     \
    B(cbytes, x) B(cbytes, dts) B(cbytes, rates) B(cbytes, ins) B(cbytes, reads) B(cbytes, src) B(cbytes, dst)         \
    B(cbytes, cu) B(gbytes, o) PIECE_BUFFERS(B)
#define SCAN_NUMBERS(N)                                                                                                \
    N(ulong, x_at) N(ulong, dts_at) N(ulong, rates_at) N(ulong, ins_at) N(ulong, reads_at) N(ulong, src_at)            \
    N(ulong, dst_at) N(ulong, cu_at) N(ulong, o_at) PIECE_NUMBERS(N) N(long4, shape) N(long4, head) N(long4, x_nb)     \
    N(long4, b_nb) N(long4, state_nb) N(long4, index_nb) N(ulong, state_offset) N(ulong, piece_bytes) N(ulong, a_nb)
NUMBERS(ssm_scan, SCAN_NUMBERS);
/*
 * shape, state_nb, index_nb: states.clh
 * head      heads, heads of a group, channels; o along token
 * x_nb      x along head, token; dt along head, token
 * b_nb      b along group, token; c along group, token
 * state_nb  .w: o along head
 * a_nb      a along head
 */

#define RESULT(t) ((__global float *)(o + h * state_nb.w + (t) * head.w))

#define BEGIN                                                                                                          \
    x += x_at;                                                                                                         \
    dts += dts_at + h * x_nb.z;                                                                                        \
    rates += rates_at + h * a_nb;                                                                                      \
    ins += ins_at + h / head.y * b_nb.x;                                                                               \
    reads += reads_at + h / head.y * b_nb.z;                                                                           \
    SEQUENCE

#if VEC

KERNEL(GROUP_OF(1), ssm_scan, BUFFERS, ssm_scan)
{
    UNPACK(SCAN_NUMBERS)
    const long h = ITEM(1), b = ITEM(2), j0 = (long)ITEM(0) * NC;
    if (j0 >= head.z || h >= head.x || b >= shape.y)
        return;
    BEGIN;
    const uint channels = min((long)NC, head.z - j0);
    if (b == 0)
        ORPHANS(j0, j0 + channels);
    if (from == to)
        return;

    float16 m[SG * NC];
    LOAD_STATE(m, channels);

    for (int t = from; t < to; t++) {
        cbytes in = ins + t * b_nb.y, read = reads + t * b_nb.w;
        const float dt = FLOAT(dts, t * x_nb.w);
        const float16 d = dt * ld16_f32(x + h * x_nb.x + t * x_nb.y, j0 / NC, head.z);
#define CHANNEL(c) const float d##c = d.s##c;
        ALL(CHANNEL)
#define ZERO(c) float16 s##c = 0.0f;
        ALL(ZERO)
#if !EACH
        const float16 a = exp(dt * FLOAT(rates, 0));
#endif
        for (uint i = 0; i < SG; i++) {
            const float16 add = ld16_f32(in, i, S), y = ld16_f32(read, i, S);
#if EACH
            const float16 a = exp(dt * ld16_f32(rates, i, S));
#endif
#define UPDATE(c)                                                                                                      \
    {                                                                                                                  \
        const float16 n = fma((float16)d##c, add, a * m[i * NC + 0x##c]);                                              \
        m[i * NC + 0x##c] = n;                                                                                         \
        s##c = fma(n, y, s##c);                                                                                        \
    }
            ALL(UPDATE)
        }
        st16_f32(RESULT(t), j0 / NC, head.z, FOLD(s));

        const int out = ROW_AFTER(to - 1 - t);
        if (IN_POOL(out))
            SAVE_STATE(m, channels, out);
    }
}

#else

KERNEL(GROUP_OF(GROUP), ssm_scan, BUFFERS, ssm_scan)
{
    UNPACK(SCAN_NUMBERS)
    __local float red[GROUP], add[MINE * PER], y[MINE * PER], gate[MINE * PER];
    const long h = ITEM(1), b = ITEM(2);
    const uint id = get_local_id(0), lane = id % PER;
    const long j = (long)get_group_id(0) * NC + id / PER;
    if ((long)get_group_id(0) * NC >= head.z || h >= head.x || b >= shape.y)
        return;
    BEGIN;
    if (b == 0 && lane == 0 && j < head.z)
        ORPHANS(j, j + 1);
    if (from == to)
        return;

    float m[MINE];
    LOAD_STATE(m, j < head.z);
    for (int t = from; t < to; t++) {
        cbytes in = ins + t * b_nb.y, read = reads + t * b_nb.w;
        const float dt = FLOAT(dts, t * x_nb.w);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = id; i < MINE * PER; i += GROUP) {
            add[i] = i < S ? dec1_f32(in, i) : 0.0f;
            y[i] = i < S ? dec1_f32(read, i) : 0.0f;
#if EACH
            gate[i] = i < S ? exp(dt * dec1_f32(rates, i)) : 0.0f;
#endif
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#if !EACH
        const float a = exp(dt * FLOAT(rates, 0));
#endif
        const float d = j < head.z ? dt * dec1_f32(x + h * x_nb.x + t * x_nb.y, j) : 0.0f;
        float s = 0.0f;
        UNROLL for (uint i = 0; i < MINE; i++) {
#if EACH
            const float a = gate[i * PER + lane];
#endif
            m[i] = fma(d, add[i * PER + lane], a * m[i]);
            s = fma(m[i], y[i * PER + lane], s);
        }
        red[id] = s;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane == 0 && j < head.z) {
            s = 0.0f;
            UNROLL for (uint i = 0; i < PER; i++)
                s += red[id + i];
            RESULT(t)[j] = s;
        }

        const int out = ROW_AFTER(to - 1 - t);
        if (IN_POOL(out) && j < head.z)
            SAVE_STATE(m, out);
    }
}

#endif
