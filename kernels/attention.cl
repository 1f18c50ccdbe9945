/*
 * kernels/attention.cl - attention with online softmax (Milakov, Gimelshein,
 * arXiv:1805.02867), cells in chunks, every K and V decoded once for a tile of
 * queries.
 */
#include "attention.clh" /* before the branches: once for all of them (plugins/opencl/device/source.c) */

#if !VEC && defined(LANES)
#include "attention_lanes.clh"
#elif !VEC && defined(MATRIX)
#include "attention_matrix.clh"
#elif !VEC && defined(TILES)
#include "attention_tiles.clh"
#elif !VEC
#include "attention_groups.clh"
#elif defined(HEADS)
#include "attention_heads.clh"
#elif TILES_UNIT
#include "attention_bfloats.clh"
#else
#include "attention_queries.clh"
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
#if VEC
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
    if (LSE)
        put_lse(lse + lse_at, h, t, cells.zw, best, total);
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
#else
#include "attention_merge.clh"
#endif
