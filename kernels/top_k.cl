/*
 * kernels/top_k.cl - argmax and top_k.
 *
 * The order is: larger value first, then lower index.  The element that follows
 * (v, i) in it is found by a pass over the row, so that k passes give k elements
 * without marking or moving any.  Long rows are cut in chunks; a second launch
 * chooses among the chunks' candidates, whose indices come along (-DINDEXED).
 * NaN counts as -inf; with -DARGMAX it is never chosen.
 */
#include "row.clh"

#define NONE 0x7fffffff

/* does (v, i) come before (w, j)? */
static inline bool before(float v, int i, float w, int j)
{
    return v > w || (v == w && i < j);
}

#if ARGMAX
#define KEEP(v) ((v) == (v))
#define KEEP16(v) isequal(v, v)
#else
#define KEEP(v) true
#define KEEP16(v) (int16)(-1)
#endif

static inline float clean(float v)
{
    return v == v ? v : -INFINITY;
}

#if INDEXED
#define INDEX(c) index[c]
#else
#define INDEX(c) ((int)(c))
#endif

#define TOP_K_NUMBERS(N)                                                                                               \
    N(ulong, x_at) N(ulong, ix_at) N(ulong, values_at) N(ulong, indices_at) N(long4, ne) N(long4, xs) N(int, chunk)    \
    N(int, chunks) N(int, k)
#define TOP_K_BUFFERS(B) B(cbytes, x) B(cbytes, ix) B(gbytes, values) B(gbytes, indices)
NUMBERS(top_k, TOP_K_NUMBERS);

/*
 * Rows of n elements, `step` floats apart (x_row: bytes between rows); chunk g of
 * a row is columns g * chunk ...  Each writes its k best to values and indices
 * [k, chunks, rows]; where there are fewer, index NONE.  values may be unused.
 */
KERNEL(ROW_ATTRIBUTES, top_k, TOP_K_BUFFERS, top_k)
{
    UNPACK(TOP_K_NUMBERS)
    const long g = GROUP_ITEM(0), r = g / chunks, part = g - r * chunks;
    const int c0 = (int)(part * chunk), c1 = (int)min((long)c0 + chunk, ne.s0);
    fin in = (fin)(x + x_at + row_at(r, ne, xs));
#if INDEXED
    __global const int *index = (__global const int *)(ix + ix_at) + r * ne.s0;
#endif
    __global int *out = (__global int *)(indices + indices_at) + g * k;
    fout value = (fout)(values + values_at) + g * k;
    float last = INFINITY;
    int last_i = -1;
#if VEC
    for (int n = 0; n < k; n++) {
        float best = -INFINITY;
        int best_i = NONE, c = c0;
#if !INDEXED
        float16 b16 = -INFINITY;
        int16 i16 = NONE, here = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) + c0;
        for (; c + 16 <= c1; c += 16, here += 16) {
            const float16 raw = vload16(0, in + c), v = select((float16)(-INFINITY), raw, isequal(raw, raw));
            const int16 later = isless(v, (float16)last) | (isequal(v, (float16)last) & (here > last_i));
            const int16 better = isgreater(v, b16) | (i16 == NONE);
            const int16 take = later & better & KEEP16(raw);
            b16 = select(b16, v, take);
            i16 = select(i16, here, take);
        }
        float bs[16];
        int is[16];
        vstore16(b16, 0, bs);
        vstore16(i16, 0, is);
        for (int j = 0; j < 16; j++)
            if (is[j] != NONE && (best_i == NONE || before(bs[j], is[j], best, best_i))) {
                best = bs[j];
                best_i = is[j];
            }
#endif
        for (; c < c1; c++) {
            const float v = clean(in[c]);
            const int i = INDEX(c);
            if (i != NONE && KEEP(in[c]) && before(last, last_i, v, i) &&
                (best_i == NONE || before(v, i, best, best_i))) {
                best = v;
                best_i = i;
            }
        }
#else
    __local float bs[GROUP];
    __local int is[GROUP];
    const int l = get_local_id(0);
    for (int n = 0; n < k; n++) {
        float best = -INFINITY;
        int best_i = NONE;
        for (int c = c0 + l; c < c1; c += GROUP) {
            const float v = clean(in[c]);
            const int i = INDEX(c);
            if (i != NONE && KEEP(in[c]) && before(last, last_i, v, i) &&
                (best_i == NONE || before(v, i, best, best_i))) {
                best = v;
                best_i = i;
            }
        }
        bs[l] = best;
        is[l] = best_i;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int s = GROUP / 2; s > 0; s >>= 1) {
            if (l < s && is[l + s] != NONE && (is[l] == NONE || before(bs[l + s], is[l + s], bs[l], is[l]))) {
                bs[l] = bs[l + s];
                is[l] = is[l + s];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        best = bs[0];
        best_i = is[0];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l == 0)
#endif
        {
#if ARGMAX && LAST
            out[n] = best_i == NONE ? 0 : best_i;
#else
            out[n] = best_i;
#endif
#if !LAST
            value[n] = best;
#endif
        }
        last = best_i == NONE ? -INFINITY : best;
        last_i = best_i;
    }
}
