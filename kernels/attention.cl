/*
 * kernels/attention.cl - attention with online softmax (Milakov, Gimelshein,
 * arXiv:1805.02867), cells in chunks, every K and V decoded once for a tile of
 * queries.
 */
#include "attention.clh"

#define PARTIAL (E + 2) /* floats that a split leaves for one query */

/* The weight of a cell that a token does not see; one that it sees may have the weight 0, and its NaN must show. */
#define UNSEEN (-0.0f)

static inline bool is_unseen(float weight)
{
    return as_uint(weight) == as_uint(UNSEEN);
}

#if VEC
#include "dots.clh"

#define QT 16 /* queries of a tile */
#define CB 16 /* cells of a chunk: the lanes of a register */
#define CHUNK CB

static inline float max_of(float16 v)
{
    const float8 a = fmax(v.lo, v.hi);
    const float4 b = fmax(a.lo, a.hi);
    return fmax(fmax(b.x, b.y), fmax(b.z, b.w));
}

/* Where the cells j0 .. of a chunk lie, and what is added to their scores for each of `tokens` tokens from t0 on.  Bit c of the
 * result: some token sees cell c. */
static inline uint see_cells(const visibility *see, long t0, int tokens, long j0, long end, float16 *bias, long *at)
{
    uint seen = 0;
    for (int t = 0; t < tokens; t++) {
        float b[CB];
        for (int c = 0; c < CB; c++) {
            const long cell = j0 + c < end ? cell_of(see, t0 + t, j0 + c) : -1;
            if (t == 0)
                at[c] = cell;
            b[c] = cell < 0 ? -INFINITY : bias_of(see, t0 + t, j0 + c, cell);
            seen |= (uint)(b[c] > -INFINITY) << c;
        }
        bias[t] = vload16(0, b);
    }
    return seen;
}

/* The same of CB cells that follow one another. */
static inline uint see_chunk(const visibility *see, long t0, int tokens, long j0, float16 *bias, long *at)
{
    const int16 bit = (int16)1 << (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    int16 seen = 0;
    for (int t = 0; t < tokens; t++) {
        bias[t] = bias16_of(see, t0 + t, j0);
        seen |= bias[t] > (float16)-INFINITY;
    }
    for (int c = 0; c < CB; c++)
        at[c] = j0 + c - see->first;
    const int16 bits = seen & bit;
    const int8 b8 = bits.lo | bits.hi;
    const int4 b4 = b8.lo | b8.hi;
    return (uint)(b4.x | b4.y | b4.z | b4.w);
}

KERNEL(GROUP_OF(1), attention, BUFFERS, attention)
{
    UNPACK(ATTENTION_NUMBERS)
    const long split = ITEM(0), kh = ITEM(2);
    const long head_tiles = (tile.z + tile.y - 1) / tile.y;
    const long t0 = (long)ITEM(1) / head_tiles * tile.x, g0 = (long)ITEM(1) % head_tiles * tile.y;
    if (split >= cells.z || t0 >= shape.x)
        return;
    const int tokens = min(tile.x, shape.x - t0), heads = min(tile.y, tile.z - g0), n = tokens * heads;
    SEE;
    q += q_at;
    k += k_at + kh * k_nb.y;
    v += v_at + kh * v_nb.y;

    /* Query r is head g0 + r % heads of token t0 + r / heads. */
    float16 qt[QT * DG], acc[QT * EG], kt[CB * DG], vt[CB * EG], bias[QT], p[QT];
    float top[QT], sum[QT], slope[QT], fade[QT];
    const int padded = (n + 3) & ~3;
    for (int r = 0; r < padded; r++) {
        const int i = min(r, n - 1);
        const long h = (tile.w + kh) * tile.z + g0 + i % heads;
        cbytes row = q + (kh * tile.z + g0 + i % heads) * q_nb.x + (t0 + i / heads) * q_nb.y;
        for (uint g = 0; g < DG; g++)
            qt[r * DG + g] = ld16_f32(row, g, D);
        for (uint g = 0; g < EG; g++)
            acc[r * EG + g] = 0.0f;
        top[r] = -INFINITY;
        sum[r] = 0.0f;
        slope[r] = slope_of(max_bias, h, shape.w);
        p[r] = 0.0f;
        fade[r] = 0.0f;
    }

    const long2 range = cells_of(&see, cells.z, split, CB);
#ifdef RUNS
    const bool plain = false;
#else
    const bool plain = !see.table;
#endif
    for (long j0 = range.x; j0 < range.y; j0 += CB) {
        uint seen; /* bit c: some token sees cell c of the chunk */
        long at[CB];
        if (plain && j0 + CB <= range.y)
            seen = see_chunk(&see, t0, tokens, j0, bias, at);
        else
            seen = see_cells(&see, t0, tokens, j0, range.y, bias, at);
        if (!seen)
            continue;
        float16 odd = 0.0f;
        for (int c = 0; c < CB; c++) {
            const bool s = seen >> c & 1;
            cbytes row = k + at[c] * k_nb.x;
            for (uint g = 0; g < DG; g++)
                kt[c * DG + g] = s ? LD16(KT)(row, g, D) : (float16)0.0f;
            row = v + at[c] * v_nb.x;
            for (uint g = 0; g < EG; g++)
                vt[c * EG + g] = s ? LD16(VT)(row, g, E) : (float16)0.0f;
            for (uint g = 0; tokens > 1 && g < EG; g++)
                odd += vt[c * EG + g] - vt[c * EG + g]; /* 0, or NaN */
        }
        for (int r = 0; r < padded; r += 4) {
            float s[4 * CB];
            for (int c = 0; c < CB; c += 4) {
#if WIDTH >= 16
                const float16 d = dots_4x4(kt + c * DG, DG, qt + r * DG, DG, DG);
#else
                const float16 d = (float16)(dots_4x2(kt + c * DG, DG, qt + r * DG, DG, DG),
                                            dots_4x2(kt + c * DG, DG, qt + (r + 2) * DG, DG, DG));
#endif
                vstore4(d.s0123, 0, s + c);
                vstore4(d.s4567, 0, s + CB + c);
                vstore4(d.s89ab, 0, s + 2 * CB + c);
                vstore4(d.scdef, 0, s + 3 * CB + c);
            }
            for (int i = 0; i < 4 && r + i < n; i++) {
                const float16 b = bias[(r + i) / heads];
                float16 x = vload16(i, s) * scale;
                if (softcap != 0.0f)
                    x = softcap * tanh(x / softcap);
                x = select(fma((float16)slope[r + i], b, x), (float16)-INFINITY, b == -INFINITY);
                const float best = fmax(top[r + i], max_of(x));
                if (best == -INFINITY) { /* nothing seen yet; NaN must show */
                    fade[r + i] = 1.0f;
                    p[r + i] = select((float16)UNSEEN, x, isnan(x));
                    sum[r + i] += sum16(p[r + i]);
                    continue;
                }
                fade[r + i] = exp(top[r + i] - best);
                p[r + i] = select(exp(x - best), (float16)UNSEEN, x == -INFINITY);
                sum[r + i] = sum[r + i] * fade[r + i] + sum16(p[r + i]);
                top[r + i] = best;
            }
            const float *w = (const float *)(p + r);
            if (sum16(odd) != 0.0f) { /* NaN stays with the tokens that see its cell: 0 NaN is NaN */
                for (uint i = 0; i < 4 * CB; i++)
                    for (uint g = 0; g < EG; g++) {
                        const float16 a = acc[(r + i / CB) * EG + g] * (i % CB ? 1.0f : fade[r + i / CB]);
                        acc[(r + i / CB) * EG + g] = is_unseen(w[i]) ? a : fma(w[i], vt[i % CB * EG + g], a);
                    }
                continue;
            }
            for (uint g = 0; g < EG; g++) {
                float16 a0 = acc[r * EG + g] * fade[r], a1 = acc[(r + 1) * EG + g] * fade[r + 1];
                float16 a2 = acc[(r + 2) * EG + g] * fade[r + 2], a3 = acc[(r + 3) * EG + g] * fade[r + 3];
                for (uint c = 0; c < CB; c++) {
                    const float16 x = vt[c * EG + g];
                    a0 = fma(w[c], x, a0);
                    a1 = fma(w[CB + c], x, a1);
                    a2 = fma(w[2 * CB + c], x, a2);
                    a3 = fma(w[3 * CB + c], x, a3);
                }
                acc[r * EG + g] = a0;
                acc[(r + 1) * EG + g] = a1;
                acc[(r + 2) * EG + g] = a2;
                acc[(r + 3) * EG + g] = a3;
            }
        }
    }

    for (int r = 0; r < n; r++) {
        const long local_head = kh * tile.z + g0 + r % heads, h = tile.w * tile.z + local_head, t = t0 + r / heads;
        if (cells.w < 0) { /* the only split */
            const float sink = sinks ? ((__global const float *)(sinks + sinks_at))[h] : -INFINITY;
            const float best = fmax(top[r], sink);
            const float keep = best == -INFINITY ? 0.0f : exp(top[r] - best);
            const float total = best == -INFINITY ? sum[r] : sum[r] * keep + exp(sink - best);
            const float f = total > 0.0f ? keep / total : 0.0f;
            __global float *y = (__global float *)(o + o_at + local_head * o_nb.x + t * o_nb.y);
            for (uint g = 0; g < EG; g++)
                st16_f32(y, g, E, acc[r * EG + g] * f);
            if (lse)
                *(__global float *)(lse + lse_at + local_head * o_nb.z + t * o_nb.w) = log_sum(best, total);
        } else {
            __global float *y = (__global float *)(tmp + tmp_at) +
                                (((cells.w + split) * shape.z + shape.y + t) * shape.w + h) * PARTIAL;
            y[0] = top[r];
            y[1] = sum[r];
            for (uint g = 0; g < EG; g++)
                st16_f32(y + 2, g, E, acc[r * EG + g]);
        }
    }
}

#else
#include "wide.clh"

#define QT 4     /* queries of a tile */
#define GROUP 64 /* work-items, and cells of a chunk */
#define CHUNK GROUP
#define LANES (GROUP / QT)
#define SLICES (GROUP / EG) /* shares of a chunk's cells in the sum of values */
/* Work-items side by side that share a cell: 16 channels of its key at a time each. */
#define SHARE (DG >= 8 ? 8 : DG >= 4 ? 4 : DG >= 2 ? 2 : 1)
#define PITCH (GROUP + 1)

KERNEL(GROUP_OF(GROUP), attention, BUFFERS, attention)
{
    UNPACK(ATTENTION_NUMBERS)
    __local float qs[QT * DG * 16], score[QT * GROUP], red[8 * QT * PITCH], bias[QT * GROUP];
    __local float top[QT], sum[QT], fade[QT];
    __local long at[GROUP];
    const long split = get_group_id(0), kh = ITEM(2);
    const long head_tiles = (tile.z + tile.y - 1) / tile.y;
    const long t0 = (long)ITEM(1) / head_tiles * tile.x, g0 = (long)ITEM(1) % head_tiles * tile.y;
    if (split >= cells.z || t0 >= shape.x)
        return;
    const int tokens = min(tile.x, shape.x - t0), heads = min(tile.y, tile.z - g0), n = tokens * heads;
    const uint id = get_local_id(0), row = id / LANES, lane = id % LANES;
    SEE;
    q += q_at;
    k += k_at + kh * k_nb.y;
    v += v_at + kh * v_nb.y;
    const bool wide = (((ulong)k | (ulong)v | (ulong)k_nb.x | (ulong)v_nb.x) & 15) == 0;

    for (uint i = id; i < QT * DG * 16; i += GROUP) {
        const int r = min((int)(i / (DG * 16)), n - 1), c = i % (DG * 16);
        cbytes from = q + (kh * tile.z + g0 + r % heads) * q_nb.x + (t0 + r / heads) * q_nb.y;
        qs[i] = c < D ? dec1_f32(from, c) : 0.0f;
    }
    if (id < QT) {
        top[id] = -INFINITY;
        sum[id] = 0.0f;
    }
    const float slope = slope_of(max_bias, (tile.w + kh) * tile.z + g0 + row % heads, shape.w);
    float16 acc[QT];
    UNROLL for (int r = 0; r < QT; r++)
        acc[r] = 0.0f;

    const long2 range = cells_of(&see, cells.z, split, GROUP);
    for (long j0 = range.x; j0 < range.y; j0 += GROUP) {
        barrier(CLK_LOCAL_MEM_FENCE);
        { /* which cells count: one each */
            const long j = j0 + id;
            bool seen = false;
            long cell = -1;
            UNROLL for (int t = 0; t < QT; t++) {
                float b = -INFINITY;
                if (t < tokens && j < range.y) {
                    const long c = cell_of(&see, t0 + t, j);
                    b = c < 0 ? -INFINITY : bias_of(&see, t0 + t, j, c);
                    cell = t == 0 ? c : cell;
                    seen |= b > -INFINITY;
                }
                bias[t * GROUP + id] = b;
            }
            at[id] = seen ? cell : -1;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        /* scores: SHARE work-items a cell, then their sum */
        for (uint c = id / SHARE; c < GROUP; c += GROUP / SHARE) {
            if (at[c] < 0)
                continue;
            float s[QT];
            UNROLL for (int r = 0; r < QT; r++)
                s[r] = 0.0f;
            for (uint g = id % SHARE; g < DG; g += SHARE) {
                const float16 x = WIDE16(KT)(k + at[c] * k_nb.x, g, D, wide);
                UNROLL for (int r = 0; r < QT; r++)
                    s[r] += sum16(x * vload16(r * DG + g, qs));
            }
            UNROLL for (int r = 0; r < QT; r++)
                red[(id % SHARE * QT + r) * PITCH + c] = s[r];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        UNROLL for (int r = 0; r < QT; r++) {
            float s = 0.0f;
            if (at[id] >= 0)
                UNROLL for (uint l = 0; l < SHARE; l++)
                    s += red[(l * QT + r) * PITCH + id];
            score[r * GROUP + id] = s;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        /* softmax: LANES work-items a query */
        float best = -INFINITY;
        for (uint c = lane; c < GROUP; c += LANES) {
            const float b = row < n ? bias[row / heads * GROUP + c] : -INFINITY;
            float x = score[row * GROUP + c] * scale;
            if (softcap != 0.0f)
                x = softcap * tanh(x / softcap);
            x = b == -INFINITY ? -INFINITY : fma(slope, b, x);
            score[row * GROUP + c] = x;
            best = fmax(best, x);
        }
        red[id] = best;
        barrier(CLK_LOCAL_MEM_FENCE);
        best = top[row];
        for (uint c = 0; c < LANES; c++)
            best = fmax(best, red[row * LANES + c]);
        barrier(CLK_LOCAL_MEM_FENCE);
        float part = 0.0f;
        for (uint c = lane; c < GROUP; c += LANES) {
            const float s = score[row * GROUP + c];
            const float x = s == -INFINITY ? UNSEEN : best > -INFINITY ? exp(s - best) : s; /* NaN must show */
            score[row * GROUP + c] = x;
            part += x;
        }
        red[id] = part;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane == 0) {
            fade[row] = best == -INFINITY ? 1.0f : exp(top[row] - best);
            sum[row] *= fade[row];
            for (uint c = 0; c < LANES; c++)
                sum[row] += red[row * LANES + c];
            top[row] = best;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        /* values: 16 channels of a share of the cells each */
        const uint g = id % EG, slice = id / EG;
        if (slice < SLICES) {
            UNROLL for (int r = 0; r < QT; r++)
                acc[r] *= fade[r];
            for (uint c = slice; c < GROUP; c += SLICES) {
                if (at[c] < 0)
                    continue;
                const float16 x = WIDE16(VT)(v + at[c] * v_nb.x, g, E, wide);
                UNROLL for (int r = 0; r < QT; r++)
                    if (!is_unseen(score[r * GROUP + c])) /* what a token does not see may be NaN */
                        acc[r] = fma(score[r * GROUP + c], x, acc[r]);
            }
        }
    }

    UNROLL for (int r = 0; r < QT; r++) { /* unrolled, so that acc[] stays in registers */
        barrier(CLK_LOCAL_MEM_FENCE);
        vstore16(acc[r], id, red);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (id >= EG || r >= n)
            continue;
        float16 a = acc[r];
        for (uint s = 1; s < SLICES; s++)
            a += vload16(s * EG + id, red);
        const long local_head = kh * tile.z + g0 + r % heads, h = tile.w * tile.z + local_head, t = t0 + r / heads;
        if (cells.w < 0) {
            const float sink = sinks ? ((__global const float *)(sinks + sinks_at))[h] : -INFINITY;
            const float best = fmax(top[r], sink);
            const float keep = best == -INFINITY ? 0.0f : exp(top[r] - best);
            const float total = best == -INFINITY ? sum[r] : sum[r] * keep + exp(sink - best);
            st16_f32((__global float *)(o + o_at + local_head * o_nb.x + t * o_nb.y), id, E,
                     a * (total > 0.0f ? keep / total : 0.0f));
            if (lse && id == 0)
                *(__global float *)(lse + lse_at + local_head * o_nb.z + t * o_nb.w) = log_sum(best, total);
        } else {
            __global float *y = (__global float *)(tmp + tmp_at) +
                                (((cells.w + split) * shape.z + shape.y + t) * shape.w + h) * PARTIAL;
            if (id == 0) {
                y[0] = top[r];
                y[1] = sum[r];
            }
            st16_f32(y + 2, id, E, a);
        }
    }
}

#endif

#define ATTENTION_EMPTY_NUMBERS(N) N(ulong, tmp_at) N(long, rows)
#define ATTENTION_EMPTY_BUFFERS(B) B(gbytes, tmp)
NUMBERS(attention_empty, ATTENTION_EMPTY_NUMBERS);

/* Marks all partial results as empty: for caches in pieces that are not all alike. */
KERNEL(GROUP_OF(LOCAL), attention_empty, ATTENTION_EMPTY_BUFFERS, attention_empty)
{
    UNPACK(ATTENTION_EMPTY_NUMBERS)
    const long i = ITEM(0);
    if (i >= rows)
        return;
    __global float *y = (__global float *)(tmp + tmp_at) + i * PARTIAL;
    y[0] = -INFINITY;
    y[1] = 0.0f;
}

#define ATTENTION_MERGE_NUMBERS(N)                                                                                     \
    N(ulong, tmp_at) N(ulong, sinks_at) N(ulong, o_at) N(ulong, lse_at) N(int, kv) N(long4, cells) N(long4, shape)     \
    N(long4, head)
#define ATTENTION_MERGE_BUFFERS(B) B(cbytes, tmp) B(cbytes, sinks) B(gbytes, o) B(gbytes, lse)
NUMBERS(attention_merge, ATTENTION_MERGE_NUMBERS);

/*
 * Puts the splits of every query together: by log-sum-exp.
 * cells  slots, splits; 0 splits: every slot counts, else only those that kv cells take; strides of lse along head and token
 * shape  tokens here, first token, all tokens, all heads
 * head   heads here, first head, strides of o along head and token
 */
KERNEL(GROUP_OF(LOCAL), attention_merge, ATTENTION_MERGE_BUFFERS, attention_merge)
{
    UNPACK(ATTENTION_MERGE_NUMBERS)
    const long i = ITEM(0), h = i % head.x, t = i / head.x;
    if (t >= shape.x)
        return;
    __global const float *part = (__global const float *)(tmp + tmp_at) +
                                 ((shape.y + t) * shape.w + head.y + h) * PARTIAL;
    const long step = shape.z * shape.w * PARTIAL, each = cells.y ? each_of(kv, cells.y, CHUNK) : 0;
    const long slots = each ? (kv + each - 1) / each : cells.x;
    const float sink = sinks ? ((__global const float *)(sinks + sinks_at))[head.y + h] : -INFINITY;
    float best = sink, total = 0.0f;
    for (long s = 0; s < slots; s++)
        best = fmax(best, part[s * step]);
    if (best > -INFINITY)
        total = exp(sink - best);
    for (long s = 0; s < slots; s++) /* nothing seen: zeros, or NaN */
        total += best > -INFINITY ? part[s * step + 1] * exp(part[s * step] - best) : part[s * step + 1];
    if (lse)
        *(__global float *)(lse + lse_at + h * cells.z + t * cells.w) = log_sum(best, total);
    __global float *y = (__global float *)(o + o_at + h * head.z + t * head.w);
    for (uint g = 0; g < EG; g++) {
        float16 a = total > 0.0f ? 0.0f : total; /* 0, or NaN */
        if (total > 0.0f)
            for (long s = 0; s < slots; s++)
                if (part[s * step] > -INFINITY)
                    a += ld16_f32((cbytes)(part + s * step + 2), g, E) * (exp(part[s * step] - best) / total);
        st16_f32(y, g, E, a);
    }
}
