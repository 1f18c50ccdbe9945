/*
 * Few columns, fast: they are rounded to int8 in blocks of 32, each with a scale of its own, and
 * multiplied with the integers of the weights as they are in the file; the sum of a block is
 * exact, and the blocks are added in one order whatever the number of columns.
 *
 * For weights of 32 signed integers a block.  Compiled once per variant.
 */
#include "config.h"

#include "gemm.h"

#define BLOCK 32
#define COLUMNS 8 /* at a time */

/* A column of k elements: its blocks' scales, then their integers. */
typedef struct rounded {
    float *scale;
    int8_t *q;
} rounded;

static size_t column_bytes(int64_t k)
{
    return cpu_aligned((size_t)k / BLOCK * sizeof(float) + (size_t)k);
}

CPU_INLINE float largest(const float *x)
{
    vf m = v_abs(v_load(x));
    CPU_UNROLL
    for (int i = 1; i < BLOCK / CPU_VL; i++)
        m = v_max(m, v_abs(v_load(x + i * CPU_VL)));
    return v_hmax(m);
}

/* A value that is no number makes its block's scale, and so every sum that it is in, none. */
static void round_column(const float *x, int64_t k, const rounded *to)
{
    for (int64_t b = 0; b < k / BLOCK; b++) {
        const float *from = x + b * BLOCK;
        float most = largest(from), sum = 0;
        for (int i = 0; i < BLOCK; i++)
            sum += 0 * from[i]; /* 0, or a NaN for infinities and NaNs */
        to->scale[b] = most / 127 + sum;
        float inverse = most > 0 && sum == 0 ? 127 / most : 0;
        if (!(inverse <= 3.4e38f)) /* a block of denormals */
            inverse = 0;
        for (int i = 0; i < BLOCK; i++)
            to->q[b * BLOCK + i] = inverse > 0 ? (int8_t)(from[i] * inverse + (from[i] < 0 ? -0.5f : 0.5f)) : 0;
    }
}

/* -- the integers of a block ---------------------------------------------------------- */

static const int8_t table_nl[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

#if CPU_VL >= 8
typedef __m256i bytes32;

CPU_INLINE bytes32 nibbles(const uint8_t *p)
{
    __m128i b = _mm_loadu_si128((const __m128i *)p);
    return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(b, 4), b), _mm256_set1_epi8(15));
}

CPU_INLINE bytes32 ints_q8_0(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

CPU_INLINE bytes32 ints_q4_0(const uint8_t *p)
{
    return _mm256_sub_epi8(nibbles(p), _mm256_set1_epi8(8));
}

CPU_INLINE bytes32 ints_iq4_nl(const uint8_t *p)
{
    __m128i t = _mm_loadu_si128((const __m128i *)table_nl);
    return _mm256_shuffle_epi8(_mm256_set_m128i(t, t), nibbles(p));
}

/* Eight partial sums of the 32 products.  Pairs are summed in int16: with |q| <= 127 of the column
 * and |w| <= 128 they stay below 32,512. */
CPU_INLINE __m256 products(bytes32 w, const int8_t *q)
{
    bytes32 x = _mm256_loadu_si256((const __m256i *)q);
    bytes32 pairs = _mm256_maddubs_epi16(_mm256_sign_epi8(w, w), _mm256_sign_epi8(x, w));
    return _mm256_cvtepi32_ps(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

typedef __m256 sums;
#define SUMS_ZERO _mm256_setzero_ps()
CPU_INLINE sums sums_add(sums s, float scale, bytes32 w, const int8_t *q)
{
    return _mm256_fmadd_ps(_mm256_set1_ps(scale), products(w, q), s);
}
CPU_INLINE float sums_total(sums s)
{
    __m128 h = _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
    h = _mm_add_ps(h, _mm_movehl_ps(h, h));
    return _mm_cvtss_f32(_mm_add_ss(h, _mm_shuffle_ps(h, h, 1)));
}
#else
typedef struct bytes32 {
    int8_t at[BLOCK];
} bytes32;

CPU_INLINE bytes32 ints_q8_0(const uint8_t *p)
{
    bytes32 w;
    memcpy(w.at, p, BLOCK);
    return w;
}

CPU_INLINE bytes32 ints_q4_0(const uint8_t *p)
{
    bytes32 w;
    for (int i = 0; i < BLOCK / 2; i++) {
        w.at[i] = (int8_t)((p[i] & 15) - 8);
        w.at[i + BLOCK / 2] = (int8_t)((p[i] >> 4) - 8);
    }
    return w;
}

CPU_INLINE bytes32 ints_iq4_nl(const uint8_t *p)
{
    bytes32 w;
    for (int i = 0; i < BLOCK / 2; i++) {
        w.at[i] = table_nl[p[i] & 15];
        w.at[i + BLOCK / 2] = table_nl[p[i] >> 4];
    }
    return w;
}

typedef float sums;
#define SUMS_ZERO 0
CPU_INLINE sums sums_add(sums s, float scale, bytes32 w, const int8_t *q)
{
    int32_t sum = 0;
    for (int i = 0; i < BLOCK; i++)
        sum += w.at[i] * q[i];
    return s + scale * (float)sum;
}
CPU_INLINE float sums_total(sums s)
{
    return s;
}
#endif

/* -- rows --------------------------------------------------------------------------- */

/* One row of blocks {f16 scale, integers} with `cols` columns. */
CPU_INLINE void row(const uint8_t *a, int64_t blocks, int64_t block_bytes, bytes32 (*ints)(const uint8_t *),
                    const rounded *x, const int cols, float *out)
{
    sums s[COLUMNS];
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        s[c] = SUMS_ZERO;
    for (int64_t b = 0; b < blocks; b++, a += block_bytes) {
        __builtin_prefetch(a + 8 * block_bytes, 0, 3);
        float d = f16_load(a);
        bytes32 w = ints(a + 2);
        CPU_UNROLL
        for (int c = 0; c < cols; c++)
            s[c] = sums_add(s[c], d * x[c].scale[b], w, x[c].q + b * BLOCK);
    }
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        out[c] = sums_total(s[c]);
}

CPU_INLINE void rows_any(const cpu_gemm *g, int64_t m0, int64_t m1, bytes32 (*ints)(const uint8_t *), const rounded *x,
                         int cols, float *const *o)
{
    for (int64_t i = m0; i < m1; i++) {
        const uint8_t *a = cpu_gemm_row(g, i);
        float out[COLUMNS];
        int c = 0;
        for (; cols - c >= 4; c += 4)
            row(a, g->k / BLOCK, g->block_bytes, ints, x + c, 4, out + c);
        for (; c < cols; c++)
            row(a, g->k / BLOCK, g->block_bytes, ints, x + c, 1, out + c);
        for (c = 0; c < cols; c++)
            o[c][i] = out[c];
    }
}

bool CPU_V(cpu_gemm_fast)(uint32_t type, int64_t k, int64_t n)
{
    const bool known = type == ENG_TYPE_Q8_0 || type == ENG_TYPE_Q4_0 || type == ENG_TYPE_IQ4_NL;
    return known && k % BLOCK == 0 && n <= (type == ENG_TYPE_Q8_0 ? COLUMNS : 1);
}

CPU_INLINE size_t line_bytes(int64_t k)
{
    return cpu_aligned((size_t)k * sizeof(float));
}

size_t CPU_V(cpu_gemm_fast_scratch)(int64_t k)
{
    return line_bytes(k) + COLUMNS * column_bytes(k);
}

void CPU_V(cpu_gemm_rows_fast)(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch)
{
    float *line = (float *)scratch; /* a column that is not f32, decoded */
    uint8_t *columns = scratch + line_bytes(g->k);
    for (int64_t c0 = 0; c0 < g->n; c0 += COLUMNS) {
        int cols = (int)(g->n - c0 < COLUMNS ? g->n - c0 : COLUMNS);
        rounded x[COLUMNS];
        for (int c = 0; c < cols; c++) {
            x[c].scale = (float *)(columns + (size_t)c * column_bytes(g->k));
            x[c].q = (int8_t *)(x[c].scale + g->k / BLOCK);
            const float *from = (const float *)g->b[c0 + c];
            if (g->b_type != ENG_TYPE_F32) {
                cpu_formats[g->b_type].decode(g->b[c0 + c], 0, g->k, line);
                from = line;
            }
            round_column(from, g->k, &x[c]);
        }
        switch (g->type) {
        case ENG_TYPE_Q8_0: rows_any(g, m0, m1, ints_q8_0, x, cols, g->o + c0); break;
        case ENG_TYPE_Q4_0: rows_any(g, m0, m1, ints_q4_0, x, cols, g->o + c0); break;
        default: rows_any(g, m0, m1, ints_iq4_nl, x, cols, g->o + c0); break;
        }
    }
}
