/*
 * kernels/ssm_scan.cl - the selective scan, token by token.
 *
 * The channels of a head never meet: per channel m (a row of the state tensor, over the states), with a = exp(dt rate),
 *     m = a m + dt x b;   o = m.c
 * so that a work-item (vec) or a few (simt) keep some channels in registers over all tokens of a sequence, and the
 * state is read once and written once a slot.
 *
 * -DS= states of a channel  -DEACH=1: a rate for each state, 0: one a head
 * vec: -DBESIDE=1: heads have one channel each and lie beside one another: they are what a work-item has 16 of, where it
 * says channels (strides along a head are the host's business)
 * simt: -DDIRECT=1: tokens, or a head's channels, are few; a group's columns are of several heads, tokens come from
 * global memory  -DTOGETHER=1: SPAN tokens are worked at together where no state between them is asked for
 */
#if EACH && !HAVE_SHUFFLE
#define TILE_UNITS (S > 64 ? 256 : 192) /* gates of a state each, and sums: 32 KiB in all */
#endif
#include "scan.clh"
#include "fold.clh"
#include "stream.clh"

#if VEC

#define LATER 8 /* tokens: a head's channels of one token lie a row of heads before those of the next */

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
        AHEAD(x + h * x_nb.x + (t + LATER) * x_nb.y + 4 * j0);
        AHEAD((cbytes)RESULT(t + LATER) + 4 * j0);
#if BESIDE
        float dt[NC], d[NC], sums[NC];
        const float16 steps = ld16_f32(dts + t * x_nb.w, j0 / NC, head.z);
        vstore16(steps, 0, dt);
        vstore16(steps * ld16_f32(x + t * x_nb.y, j0 / NC, head.z), 0, d);
        for (uint c = 0; c < channels; c++) {
            float16 s = 0.0f;
            for (uint i = 0; i < SG; i++) {
                cbytes rate = rates + (j0 + c) * a_nb;
                const float16 a = exp(dt[c] * (EACH ? ld16_f32(rate, i, S) : (float16)FLOAT(rate, 0)));
                const float16 n = fma((float16)d[c], ld16_f32(in, i, S), a * m[i * NC + c]);
                m[i * NC + c] = n;
                s = fma(n, ld16_f32(read, i, S), s);
            }
            sums[c] = sum16(s);
        }
        st16_f32(RESULT(t), j0 / NC, head.z, vload16(0, sums));
#else
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
#endif

        const int out = ROW_AFTER(to - 1 - t);
        if (IN_POOL(out))
            SAVE_STATE(m, channels, out);
    }
}

#elif DIRECT

KERNEL(GROUP_OF(GROUP), ssm_scan, BUFFERS, ssm_scan)
{
    UNPACK(SCAN_NUMBERS)
    __local float red[SUMS_LOCAL(1)];
    const uint id = get_local_id(0), lane = id % PER;
    const ulong at = (ulong)get_group_id(0) * SIDE + id / PER;
    const bool mine = at < (ulong)(head.x * head.z);
    const long b = ITEM(2), h = mine ? at / (ulong)head.z : 0, j = mine ? at % (ulong)head.z : 0, j0 = j - id / PER;
    BEGIN;
    if (b == 0 && lane == 0 && mine)
        ORPHANS(j, j + 1);
    x += h * x_nb.x;
    float4 m[WIDE][MINE];
    LOAD_STATE(m, mine ? head.z : 0);
    for (int t = from; t < to; t++) {
        const float dt = FLOAT(dts, t * x_nb.w), d = dt * FLOAT(x, t * x_nb.y + 4 * j);
        const float4 all = EACH ? 0.0f : exp(dt * FLOAT(rates, 0));
        float sum = 0.0f;
        UNROLL for (uint i = 0; i < MINE; i++)
        {
            const uint c = ELEMENT(i);
            if (c >= S)
                continue;
            const float4 a = EACH ? exp(dt * load4((__global const float *)rates, c, EVEN(rates))) : all;
            const float4 add = load4((__global const float *)(ins + t * b_nb.y), c, EVEN(ins + t * b_nb.y));
            const float4 y = load4((__global const float *)(reads + t * b_nb.w), c, EVEN(reads + t * b_nb.w));
            m[0][i] = fma(a, m[0][i], d * add);
            sum = dot4(m[0][i], y, sum);
        }
        lanes_sums(&sum, 1, red);
        if (lane == 0 && mine)
            RESULT(t)[j] = sum;
        const int out = ROW_AFTER(to - 1 - t);
        if (IN_POOL(out))
            SAVE_STATE(m, mine ? head.z : 0, out);
    }
    barrier(CLK_LOCAL_MEM_FENCE); /* PoCL 3.1: see lanes.clh */
}

#else

/* The sum across lanes of a token's result is taken while the next token's columns are worked at. */
#define FETCH(first)                                                                                                   \
    do {                                                                                                               \
        fetch_rows(in_next, ins, b_nb.y, first, to, whole);                                                            \
        fetch_rows(read_next, reads, b_nb.w, first, to, whole);                                                        \
        fetch_lines(x_next, x, x_nb.y, first, to, j0, head.z);                                                         \
        if (id < TILE && (first) + (int)id < to)                                                                       \
            dt_next = FLOAT(dts, ((first) + (int)id) * x_nb.w);                                                        \
    } while (0)
/* Gates of a state each are made when the steps of all tokens are there. */
#define KEEP(tile, after)                                                                                              \
    do {                                                                                                               \
        keep_rows(add + (tile) * UNITS, in_next);                                                                      \
        keep_rows(y + (tile) * UNITS, read_next);                                                                      \
        keep_lines(xs + (tile) * TILE * NC, x_next);                                                                   \
        if (id < TILE) {                                                                                               \
            steps[(tile) * TILE + id] = dt_next;                                                                       \
            if (!EACH)                                                                                                 \
                gates[(tile) * TILE + id] = exp(dt_next * FLOAT(rates, 0));                                            \
        }                                                                                                              \
        FETCH(after); /* behind the barrier PoCL 3.1 gives work-items those of others */                               \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        if (EACH) {                                                                                                    \
            UNROLL for (uint i = 0; i < FETCHES; i++)                                                                  \
            {                                                                                                          \
                const uint e = id + i * GROUP, c = 4 * (e % KEYS);                                                     \
                if (e < UNITS)                                                                                         \
                    gate[(tile) * UNITS + e] =                                                                         \
                        c < S ? exp(steps[(tile) * TILE + e / KEYS] * load4((__global const float *)rates, c, false))  \
                              : (float4)0.0f;                                                                          \
            }                                                                                                          \
            barrier(CLK_LOCAL_MEM_FENCE);                                                                              \
        }                                                                                                              \
    } while (0)

/* SPAN tokens from t on, the first of which is at `at` in local memory. */
#define SPAN_OF_TOKENS(t, at)                                                                                          \
    do {                                                                                                               \
        float got[SPAN * WIDE], own[WIDE];                                                                             \
        UNROLL for (uint j = 0; j < SPAN; j++)                                                                         \
            UNROLL for (uint w = 0; w < WIDE; w++)                                                                     \
            {                                                                                                          \
                const uint u = (at) + j;                                                                               \
                const float d = steps[u] * xs[u * NC + w * SIDE + id / PER];                                           \
                float s = 0.0f;                                                                                        \
                UNROLL for (uint i = 0; i < MINE; i++)                                                                 \
                {                                                                                                      \
                    const float4 a = EACH ? gate[MINE_AT(u, i)] : (float4)gates[u];                                    \
                    m[w][i] = fma(a, m[w][i], d * add[MINE_AT(u, i)]);                                                 \
                    s = dot4(m[w][i], y[MINE_AT(u, i)], s);                                                            \
                }                                                                                                      \
                got[SPAN * w + j] = s;                                                                                 \
            }                                                                                                          \
        lanes_span(own, got, WIDE, lane, red);                                                                         \
        UNROLL for (uint w = 0; w < WIDE; w++)                                                                         \
            if (lane < SPAN && COLUMN(w) < head.z)                                                                     \
                RESULT((t) + lane)[COLUMN(w)] = own[w];                                                                \
    } while (0)

KERNEL(GROUP_OF(GROUP), ssm_scan, BUFFERS, ssm_scan)
{
    UNPACK(SCAN_NUMBERS)
    __local float4 add[2 * UNITS], y[2 * UNITS], gate[EACH ? 2 * UNITS : 1];
    __local float xs[2 * TILE * NC], steps[2 * TILE], gates[2 * TILE], red[SUMS_LOCAL(TOGETHER ? SPAN * WIDE : WIDE)];
    const long h = ITEM(1), b = ITEM(2), j0 = (long)get_group_id(0) * NC;
    const uint id = get_local_id(0), lane = id % PER;
    if (j0 >= head.z || h >= head.x || b >= shape.y)
        return;
    BEGIN;
    if (b == 0 && id < NC && j0 + id < head.z)
        ORPHANS(j0 + id, j0 + id + 1);
    if (from == to)
        return;
    x += h * x_nb.x;
    const bool whole = EVEN((ulong)ins | (ulong)reads | b_nb.y | b_nb.w);

    const int alone = ALONE;
    float4 m[WIDE][MINE], in_next[FETCHES], read_next[FETCHES];
    float x_next[LINES], dt_next = 0.0f, sums[WIDE];
    FETCH(from);
    LOAD_STATE(m, head.z);
    UNROLL for (uint w = 0; w < WIDE; w++) sums[w] = 0.0f;
    for (int first = from; first < to; first += TILE) {
        const uint tile = (uint)(first - from) / TILE % 2;
        const int end = min(first + TILE, to);
        KEEP(tile, first + TILE);
        int t = first;
#if TOGETHER
        for (; t < min(alone, end); t += SPAN) {
            SPAN_OF_TOKENS(t, tile * TILE + (uint)(t - first));
            const int out = ROW_AFTER(to - SPAN - t);
            if (IN_POOL(out))
                SAVE_STATE(m, head.z, out);
        }
#endif
        for (; t < end; t++) {
            const uint at = tile * TILE + (uint)(t - first);
            float4 s[WIDE];
            lanes_sums(sums, WIDE, red);
            UNROLL for (uint w = 0; w < WIDE; w++)
            {
                const float d = steps[at] * xs[at * NC + w * SIDE + id / PER];
                s[w] = 0.0f;
                UNROLL for (uint i = 0; i < MINE; i++)
                {
                    const float4 a = EACH ? gate[MINE_AT(at, i)] : (float4)gates[at];
                    m[w][i] = fma(a, m[w][i], d * add[MINE_AT(at, i)]);
                    s[w] = fma(m[w][i], y[MINE_AT(at, i)], s[w]);
                }
            }
            UNROLL for (uint w = 0; w < WIDE; w++)
            {
                if (t > alone && lane == 0 && COLUMN(w) < head.z)
                    RESULT(t - 1)[COLUMN(w)] = sums[w];
                sums[w] = sum4(s[w]);
            }
            const int out = ROW_AFTER(to - 1 - t);
            if (IN_POOL(out))
                SAVE_STATE(m, head.z, out);
        }
    }
    lanes_sums(sums, WIDE, red);
    UNROLL for (uint w = 0; w < WIDE; w++)
        if (alone < to && lane == 0 && COLUMN(w) < head.z)
            RESULT(to - 1)[COLUMN(w)] = sums[w];
    barrier(CLK_LOCAL_MEM_FENCE); /* PoCL 3.1: see lanes.clh */
}

#endif
