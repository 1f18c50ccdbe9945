/*
 * kernels/gated_delta_net.cl - the gated delta rule, token by token (in chunks: delta_chunks.cl).
 *
 * The columns of a head's state never meet: per column m (a row of the state
 * tensor, over the key channels), with the gate a = exp(g),
 *     d = beta (v - (a m).k);   m = a m + d k;   o = m.q / sqrt(S)
 * so that a work-item (vec) or a few (simt) keep some columns in registers over
 * all tokens of a sequence, and the state is read once and written once a slot.
 *
 * -DS= head size
 */
#include "delta.clh"
#include "fold.clh"

#if VEC

KERNEL(GROUP_OF(1), gated_delta_net, BUFFERS, gated_delta_net)
{
    UNPACK(GDN_NUMBERS)
    const long h = ITEM(1), b = ITEM(2);
    const uint j0 = ITEM(0) * NC;
    if (j0 >= S || h >= head.x || b >= shape.y)
        return;
    BEGIN;
    const uint columns = min((uint)NC, S - j0);
    if (b == 0)
        ORPHANS(j0, j0 + columns);
    if (from == to)
        return;

    float16 m[SG * NC];
    LOAD_STATE(m, columns);

    for (int t = from; t < to; t++) {
        cbytes kt = k + qk * k_nb.x + t * k_nb.y, qt = q + qk * q_nb.x + t * q_nb.y, gt = g + h * g_nb.x + t * g_nb.y;
        float16 gate[SG];
        if (head.w)
            for (uint i = 0; i < SG; i++)
                gate[i] = exp(ld16_f32(gt, i, S));
        else {
            const float16 a = exp(FLOAT(gt, 0));
            for (uint i = 0; i < SG; i++)
                gate[i] = a;
        }
#define ZERO(c) float16 s##c = 0.0f;
        ALL(ZERO)
        for (uint i = 0; i < SG; i++) {
            const float16 x = ld16_f32(kt, i, S) * gate[i];
#define DOT(c) s##c = fma(m[i * NC + 0x##c], x, s##c);
            ALL(DOT)
        }
        const float16 d =
            FLOAT(beta, h * g_nb.z + t * g_nb.w) * (ld16_f32(v + h * v_nb.x + t * v_nb.y, j0 / NC, S) - FOLD(s));
#define DELTA(c) const float d##c = d.s##c;
        ALL(DELTA)
#define AGAIN(c) s##c = 0.0f;
        ALL(AGAIN)
        for (uint i = 0; i < SG; i++) {
            const float16 x = ld16_f32(kt, i, S), y = ld16_f32(qt, i, S), a = gate[i];
#define UPDATE(c)                                                                                                      \
    {                                                                                                                  \
        const float16 n = fma((float16)d##c, x, a * m[i * NC + 0x##c]);                                                \
        m[i * NC + 0x##c] = n;                                                                                         \
        s##c = fma(n, y, s##c);                                                                                        \
    }
            ALL(UPDATE)
        }
        st16_f32(RESULT(t), j0 / NC, S, FOLD(s) * scale);

        const int out = ROW_AFTER(to - 1 - t);
        if (IN_POOL(out))
            SAVE_STATE(m, columns, out);
    }
}

#else

/* Sum over the PER work-items of a column; every one gets it. */
static inline float column_sum(__local float *red, uint id, float x)
{
    float s = 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    red[id] = x;
    barrier(CLK_LOCAL_MEM_FENCE);
    UNROLL for (uint i = 0; i < PER; i++)
        s += red[(id & ~(uint)(PER - 1)) + i];
    return s;
}

KERNEL(GROUP_OF(GROUP), gated_delta_net, BUFFERS, gated_delta_net)
{
    UNPACK(GDN_NUMBERS)
    __local float red[GROUP], ks[S + PER], qs[S + PER], gate[S + PER];
    const long h = ITEM(1), b = ITEM(2);
    const uint id = get_local_id(0), lane = id % PER, j = get_group_id(0) * NC + id / PER;
    if (get_group_id(0) * NC >= S || h >= head.x || b >= shape.y)
        return;
    BEGIN;
    if (b == 0 && j < S)
        ORPHANS(j, j + 1);
    if (from == to)
        return;

    float m[MINE];
    LOAD_STATE(m, j < S);
    for (int t = from; t < to; t++) {
        cbytes kt = k + qk * k_nb.x + t * k_nb.y, qt = q + qk * q_nb.x + t * q_nb.y, gt = g + h * g_nb.x + t * g_nb.y;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = id; i < MINE * PER; i += GROUP) {
            ks[i] = i < S ? dec1_f32(kt, i) : 0.0f;
            qs[i] = i < S ? dec1_f32(qt, i) : 0.0f;
            gate[i] = exp(head.w ? (i < S ? dec1_f32(gt, i) : 0.0f) : FLOAT(gt, 0));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        float s = 0.0f;
        UNROLL for (uint i = 0; i < MINE; i++) {
            m[i] *= gate[i * PER + lane];
            s = fma(m[i], ks[i * PER + lane], s);
        }
        s = column_sum(red, id, s);
        const float value = j < S ? dec1_f32(v + h * v_nb.x + t * v_nb.y, j) : 0.0f;
        const float d = FLOAT(beta, h * g_nb.z + t * g_nb.w) * (value - s);
        s = 0.0f;
        UNROLL for (uint i = 0; i < MINE; i++) {
            m[i] = fma(d, ks[i * PER + lane], m[i]);
            s = fma(m[i], qs[i * PER + lane], s);
        }
        s = column_sum(red, id, s);
        if (lane == 0 && j < S)
            RESULT(t)[j] = s * scale;

        const int out = ROW_AFTER(to - 1 - t);
        if (IN_POOL(out) && j < S)
            SAVE_STATE(m, out);
    }
}

#endif
