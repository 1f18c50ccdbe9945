/*
 * kernels/gated_delta_net.cl - the gated delta rule, token by token (in chunks: delta_chunks.cl).
 *
 * The columns of a head's state never meet: per column m (a row of the state
 * tensor, over the key channels), with the gate a = exp(g),
 *     d = beta (v - (a m).k);   m = a m + d k;   o = m.q / sqrt(S)
 * so that a work-item (vec) or a few (simt) keep some columns in registers over
 * all tokens of a sequence, and the state is read once and written once a slot.
 *
 * -DS= head size  -DPER_KEY=1: a gate for each key channel, 0: one a head (simt)
 * -DTOGETHER=1: SPAN tokens are worked at together where no state between them is asked for (simt)
 */
#include "delta.clh"
#include "fold.clh"
#if !VEC
#include "delta_span.clh"
#endif

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

/*
 * What columns give with a token's queries is summed across lanes together with what they give with the next token's
 * keys: so a token waits for one sum, not for two.
 */
#define FETCH(first)                                                                                                   \
    do {                                                                                                               \
        fetch_rows(k_next, k, k_nb.y, first, to, whole);                                                               \
        fetch_rows(q_next, q, q_nb.y, first, to, whole);                                                               \
        fetch_lines(v_next, v, v_nb.y, first, to, j0, S);                                                              \
        if (PER_KEY)                                                                                                   \
            fetch_rows(g_next, g, g_nb.y, first, to, whole);                                                           \
        if (id < TILE && (first) + (int)id < to) {                                                                     \
            a_next = PER_KEY ? 1.0f : exp(FLOAT(g, ((first) + (int)id) * g_nb.y));                                     \
            beta_next = FLOAT(beta, ((first) + (int)id) * g_nb.w);                                                     \
        }                                                                                                              \
    } while (0)
#define KEEP(tile)                                                                                                     \
    do {                                                                                                               \
        keep_rows(ks + (tile) * UNITS, k_next);                                                                        \
        keep_rows(qs + (tile) * UNITS, q_next);                                                                        \
        keep_lines(vs + (tile) * TILE * NC, v_next);                                                                   \
        if (PER_KEY) {                                                                                                 \
            UNROLL for (uint i = 0; i < FETCHES; i++) g_next[i] = exp(g_next[i]);                                      \
            keep_rows(gs + (tile) * UNITS, g_next);                                                                    \
        }                                                                                                              \
        if (id < TILE) {                                                                                               \
            as[(tile) * TILE + id] = a_next;                                                                           \
            betas[(tile) * TILE + id] = beta_next;                                                                     \
        }                                                                                                              \
    } while (0)
/* Keys and gates of the token at `at` in local memory. */
#define KEYS_OF(at)                                                                                                    \
    do {                                                                                                               \
        UNROLL for (uint i = 0; i < MINE; i++)                                                                         \
        {                                                                                                              \
            kt[i] = ks[MINE_AT(at, i)];                                                                                \
            if (PER_KEY)                                                                                               \
                gt[i] = gs[MINE_AT(at, i)];                                                                            \
        }                                                                                                              \
    } while (0)

/* SPAN tokens from t on, the first of which is at `at` in local memory and `u` of its tile. */
#define SPAN_OF_TOKENS(t, at, u)                                                                                       \
    do {                                                                                                               \
        float4 keys[SPAN][MINE], own[SPAN], before[SPAN];                                                              \
        float by_keys[SPAN * WIDE], by_queries[SPAN * WIDE], asked[WIDE];                                              \
        UNROLL for (uint j = 0; j < SPAN * WIDE; j++) by_keys[j] = by_queries[j] = 0.0f;                               \
        UNROLL for (uint i = 0; i < MINE; i++)                                                                         \
            UNROLL for (uint j = 0; j < SPAN; j++)                                                                     \
            {                                                                                                          \
                const float4 query = qs[MINE_AT((at) + j, i)];                                                         \
                keys[j][i] = ks[MINE_AT((at) + j, i)];                                                                 \
                UNROLL for (uint w = 0; w < WIDE; w++)                                                                 \
                {                                                                                                      \
                    by_keys[SPAN * w + j] = dot4(m[w][i], keys[j][i], by_keys[SPAN * w + j]);                          \
                    by_queries[SPAN * w + j] = dot4(m[w][i], query, by_queries[SPAN * w + j]);                         \
                }                                                                                                      \
            }                                                                                                          \
        lanes_sums(by_keys, SPAN * WIDE, red);                                                                         \
        lanes_span(asked, by_queries, WIDE, lane, red);                                                                \
        UNROLL for (uint j = 0; j < SPAN; j++)                                                                         \
        {                                                                                                              \
            own[j] = related.own[(u) + j];                                                                             \
            before[j] = related.keys[(u) + j];                                                                         \
        }                                                                                                              \
        const float4 ask = related.queries[(u) + lane % SPAN];                                                         \
        const float since = related.own[(u) + lane % SPAN].w;                                                          \
        UNROLL for (uint w = 0; w < WIDE; w++)                                                                         \
        {                                                                                                              \
            float d[SPAN];                                                                                             \
            UNROLL for (uint j = 0; j < SPAN; j++)                                                                     \
                d[j] = own[j].x * vs[((at) + j) * NC + w * SIDE + id / PER] - own[j].y * by_keys[SPAN * w + j];        \
            d[1] = fma(-before[1].x, d[0], d[1]);                                                                      \
            d[2] = fma(-before[2].y, d[1], fma(-before[2].x, d[0], d[2]));                                             \
            d[3] = fma(-before[3].z, d[2], fma(-before[3].y, d[1], fma(-before[3].x, d[0], d[3])));                    \
            if (lane < SPAN && COLUMN(w) < S)                                                                          \
                RESULT((t) + lane)[COLUMN(w)] =                                                                        \
                    scale * fma(since, asked[w], dot4(ask, (float4)(d[0], d[1], d[2], d[3]), 0.0f));                   \
            UNROLL for (uint j = 0; j < SPAN; j++) d[j] *= own[j].z;                                                   \
            UNROLL for (uint i = 0; i < MINE; i++)                                                                     \
            {                                                                                                          \
                m[w][i] *= own[SPAN - 1].w;                                                                            \
                UNROLL for (uint j = 0; j < SPAN; j++) m[w][i] = fma((float4)d[j], keys[j][i], m[w][i]);               \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)
#define SUMS (TOGETHER ? SPAN * WIDE : 2 * WIDE)

KERNEL(GROUP_OF(GROUP), gated_delta_net, BUFFERS, gated_delta_net)
{
    UNPACK(GDN_NUMBERS)
    __local float4 ks[2 * UNITS], qs[2 * UNITS], gs[PER_KEY ? 2 * UNITS : 1];
    __local float vs[2 * TILE * NC], as[2 * TILE], betas[2 * TILE], red[SUMS_LOCAL(SUMS)];
#if TOGETHER
    __local relations related;
#endif
    const long h = ITEM(1), b = ITEM(2);
    const uint id = get_local_id(0), lane = id % PER, j0 = get_group_id(0) * NC;
    if (j0 >= S || h >= head.x || b >= shape.y)
        return;
    BEGIN;
    if (b == 0 && id < NC && j0 + id < S)
        ORPHANS(j0 + id, j0 + id + 1);
    if (from == to)
        return;
    k += qk * k_nb.x;
    q += qk * q_nb.x;
    v += h * v_nb.x;
    g += h * g_nb.x;
    beta += h * g_nb.z;
    const bool whole = EVEN((ulong)k | (ulong)q | k_nb.y | q_nb.y | (PER_KEY ? (ulong)g | g_nb.y : 0));

    float4 m[WIDE][MINE], k_next[FETCHES], q_next[FETCHES], g_next[FETCHES], kt[MINE], gt[MINE], qt[MINE];
    float v_next[LINES], a_next = 0.0f, beta_next = 0.0f, sums[2 * WIDE];
    const int alone = ALONE;
    FETCH(from);
    LOAD_STATE(m, S);
    UNROLL for (uint w = 0; w < WIDE; w++) sums[2 * w + 1] = 0.0f;
    for (int first = from; first < to; first += TILE) {
        const uint tile = (uint)(first - from) / TILE % 2;
        const int end = min(first + TILE, to);
        KEEP(tile);
        FETCH(first + TILE); /* behind the barrier PoCL 3.1 gives work-items those of others */
        barrier(CLK_LOCAL_MEM_FENCE);
        int t = first;
#if TOGETHER
        if (first < alone) {
            RELATE(&related, ks + tile * UNITS, qs + tile * UNITS, as + tile * TILE, betas + tile * TILE, red);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        for (; t < min(alone, end); t += SPAN) {
            SPAN_OF_TOKENS(t, tile * TILE + (uint)(t - first), (uint)(t - first));
            const int out = ROW_AFTER(to - SPAN - t);
            if (IN_POOL(out))
                SAVE_STATE(m, S, out);
        }
        if (t == end)
            continue;
#endif
        KEYS_OF(tile * TILE + (uint)(t - first));
        for (; t < end; t++) {
            const uint at = tile * TILE + (uint)(t - first), next = t + 1 < end ? at + 1 : at; /* others may fill the other tile */
            const float a = as[at], rate = betas[at];
            float d[WIDE];
            UNROLL for (uint i = 0; i < MINE; i++) qt[i] = qs[MINE_AT(at, i)];
            UNROLL for (uint w = 0; w < WIDE; w++)
            {
                float4 s = 0.0f;
                UNROLL for (uint i = 0; i < MINE; i++) s = fma(m[w][i], PER_KEY ? gt[i] * kt[i] : kt[i], s);
                sums[2 * w] = sum4(s);
                d[w] = vs[at * NC + w * SIDE + id / PER];
            }
            lanes_sums(sums, 2 * WIDE, red);
            UNROLL for (uint w = 0; w < WIDE; w++)
            {
                if (t > alone && lane == 0 && COLUMN(w) < S)
                    RESULT(t - 1)[COLUMN(w)] = sums[2 * w + 1] * scale;
                d[w] = rate * (d[w] - a * sums[2 * w]);
                float4 s = 0.0f;
                UNROLL for (uint i = 0; i < MINE; i++)
                {
                    m[w][i] = fma(PER_KEY ? gt[i] : (float4)a, m[w][i], d[w] * kt[i]);
                    s = fma(m[w][i], qt[i], s);
                }
                sums[2 * w + 1] = sum4(s);
            }
            KEYS_OF(next); /* behind a tile's last token: of no use */
            const int out = ROW_AFTER(to - 1 - t);
            if (IN_POOL(out))
                SAVE_STATE(m, S, out);
        }
    }
    lanes_sums(sums, 2 * WIDE, red);
    UNROLL for (uint w = 0; w < WIDE; w++)
        if (alone < to && lane == 0 && COLUMN(w) < S)
            RESULT(to - 1)[COLUMN(w)] = sums[2 * w + 1] * scale;
    barrier(CLK_LOCAL_MEM_FENCE); /* PoCL 3.1: see lanes.clh */
}

#endif
