/*
 * For every type: decoding a row to f32, and dot products of rows with
 * columns of f32.  Weights are decoded in registers and used at once; each is
 * read once.  A row's sum is formed in the same order however many rows or
 * columns are computed together, so that results do not depend on how the
 * work is shared out.
 *
 * Compiled once per variant.
 */
#include "config.h"

#include "decode.h"
#include "grid.h"
#include "rows.h"

/* Chains `from` .. `to` - 1, of four; constants once inlined. */
typedef struct chain_range {
    int from, to;
} chain_range;

#define ALL_CHAINS ((chain_range){0, 4})

CPU_INLINE bool in_range(const int chain, const chain_range r)
{
    return chain >= r.from && chain < r.to;
}

/* The chains of columns as a part of a panel finds them, and as it leaves them. */
CPU_INLINE void begin_chains(cpu_part part, const float *sums, const int cols, vf (*acc)[4], const chain_range r)
{
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        CPU_UNROLL
        for (int j = r.from; j < r.to; j++)
            acc[c][j] = part & CPU_PART_FIRST ? (vf){0} : v_load(sums + (4 * c + j) * CPU_VL);
}

CPU_INLINE void keep_chains(vf (*acc)[4], const int cols, float *sums, const chain_range r)
{
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        CPU_UNROLL
        for (int j = r.from; j < r.to; j++)
            v_store(sums + (4 * c + j) * CPU_VL, acc[c][j]);
}

/* What becomes of them behind the part: the last chains are in registers, those before them perhaps in sums alone. */
CPU_INLINE void end_chains(cpu_part part, vf (*acc)[4], const int cols, float *sums, float *out, const chain_range r)
{
    if (r.to < 4 || !(part & CPU_PART_LAST)) {
        keep_chains(acc, cols, sums, r);
        return;
    }
    CPU_UNROLL
    for (int c = 0; c < cols; c++) {
        CPU_UNROLL
        for (int j = 0; j < r.from; j++)
            acc[c][j] = v_load(sums + (4 * c + j) * CPU_VL);
        add_chains(acc[c], &out[c]);
    }
}

/* Chains of so many columns that registers have room for: the weights of the others are decoded in a second round, from
 * the nearest cache. */
#define CHAINS_AT_ONCE(cols) (4 * (cols) > CPU_DOT_SUMS ? 2 : 4)

/* Columns that rows of a type meet in registers: of those whose scales are unpacked first, what one round has room
 * for. */
#define COLS_ALL CPU_DOT_COLS
#define COLS_ONE_ROUND (CPU_DOT_SUMS / 4)

/* The number of columns is known when this is compiled. */
#define FOR_COLS(cols, most, f, ...)                                                                                   \
    ((most) == 2 || (cols) == 2 ? f(2, __VA_ARGS__) : (cols) == 3 ? f(3, __VA_ARGS__) : f(4, __VA_ARGS__))

#if CPU_VL == 8
#include "dot.h"
#endif

typedef void (*unit_decoder)(const uint8_t *row, int64_t u, const float *scales, vf *w);
typedef void (*block_preparer)(const uint8_t *block, float *scales);

/* A type, all constants once inlined: units of `unit` elements decoded by
 * `dec`, `per_block` of them after `prep` has unpacked a block of `bytes`
 * bytes; `tail` reads single elements of a plain type. */
typedef struct row_format {
    unit_decoder dec;
    block_preparer prep;
    int unit, per_block, bytes;
    float (*tail)(const uint8_t *);
} row_format;

#define KC CPU_GEMM_KC
#define SCALES 32
#define AHEAD 4096 /* bytes: lines that are asked for so much earlier */

/* Has scales in memory, from where they can be spread: GCC would take each out of a register, in two operations. */
CPU_INLINE void keep(float *scales)
{
#if CPU_VL == 16 && defined(__GNUC__)
    __asm__("" : "+m"(*(float (*)[SCALES])scales));
#else
    (void)scales;
#endif
}

/* Short vectors need many for a unit as it is, and a minute of compiling with all units of a block in one piece. */
#if CPU_VL == 4
#define UNROLL_UNITS
#else
#define UNROLL_UNITS CPU_UNROLL
#endif

/* What a row of fewer than `unit` elements has left, in whole vectors; the first belongs to chain `chain`. */
CPU_INLINE void add_rest(const uint8_t *a, const float *x, int64_t n, vf *acc, const int chain,
                         const chain_range chains, const row_format f)
{
    float w[32] = {0}, v[32] = {0};
    for (int64_t i = 0; i < n; i++) {
        w[i] = f.tail(a + i * f.bytes);
        v[i] = x[i];
    }
    CPU_UNROLL
    for (int i = 0; i < 32 / CPU_VL; i++)
        if (i * CPU_VL < n && in_range((chain + i) % 4, chains))
            acc[(chain + i) % 4] = v_fma(v_load(w + i * CPU_VL), v_load(v + i * CPU_VL), acc[(chain + i) % 4]);
}

/* Unit u, the s-th of a round: so many units that their vectors go through the four chains a whole number of times, for
 * the chain of a vector must be known when this is compiled. */
CPU_INLINE void dot_unit(const uint8_t *a, int64_t stride, const int rows, const float *const *b, const int cols,
                         int64_t u, const int s, float (*scales)[SCALES], vf (*acc)[4], const chain_range chains,
                         const row_format f)
{
    CPU_UNROLL
    for (int r = 0; r < rows; r++) {
        vf w[128 / CPU_VL];
        f.dec(a + r * stride, u, scales[r], w);
        CPU_UNROLL
        for (int c = 0; c < cols; c++)
            CPU_UNROLL
            for (int i = 0; i < f.unit / CPU_VL; i++) {
                const int v = (s * (f.unit / CPU_VL) + i) % 4;
                if (in_range(v, chains))
                    acc[r + c][v] = v_fma(w[i], v_load(b[c] + u * f.unit + i * CPU_VL), acc[r + c][v]);
            }
    }
}

/* Elements k0 .. k0 + kc - 1 of `rows` rows with one column, or of one with `cols`, added to acc[row + column][..]. */
CPU_INLINE void dot_panel(const uint8_t *a, int64_t stride, const int rows, const float *const *b, const int cols,
                          int64_t k0, int64_t kc, vf (*acc)[4], const chain_range chains, const row_format f)
{
    const int64_t first = k0 / f.unit, last = first + kc / f.unit;
    const int round = f.per_block * f.unit < 4 * CPU_VL ? 4 * CPU_VL / f.unit : f.per_block;
    for (int64_t u0 = first; u0 < last; u0 += round) {
        float scales[CPU_DOT_ROWS][SCALES];
        const int64_t at = u0 / f.per_block * f.bytes * (f.tail ? f.unit : 1);
        CPU_UNROLL
        for (int r = 0; r < rows; r++) { /* what the next call will read is asked for */
            for (int i = 0; i < (f.tail ? f.unit : 1) * f.bytes * (round / f.per_block); i += 64)
                ask_far(a + r * stride + (rows == 1 && cols == 1 ? AHEAD : rows * stride) + at + i);
            if (f.prep) {
                f.prep(a + r * stride + at, scales[r]);
                keep(scales[r]);
            }
        }
        UNROLL_UNITS
        for (int s = 0; s < round; s++)
            if (round == f.per_block || u0 + s < last)
                dot_unit(a, stride, rows, b, cols, u0 + s, s, scales, acc, chains, f);
    }
    if (!f.tail || kc % f.unit == 0)
        return;
    const bool half = round == 2 && (last - first) % 2;
    CPU_UNROLL
    for (int r = 0; r < rows; r++)
        CPU_UNROLL
        for (int c = 0; c < cols; c++) {
            const uint8_t *rest = a + r * stride + last * f.unit * f.bytes;
            if (half)
                add_rest(rest, b[c] + last * f.unit, kc % f.unit, acc[r + c], 2, chains, f);
            else
                add_rest(rest, b[c] + last * f.unit, kc % f.unit, acc[r + c], 0, chains, f);
        }
}

/* `rows` rows with one column. */
CPU_INLINE void dot_block(int64_t k, const uint8_t *a, int64_t stride, const int rows, const float *b, float *out,
                          const row_format f)
{
    for (int64_t k0 = 0; k0 < k; k0 += KC) {
        vf acc[CPU_DOT_ROWS][4];
        CPU_UNROLL
        for (int r = 0; r < rows; r++)
            CPU_UNROLL
            for (int j = 0; j < 4; j++)
                acc[r][j] = (vf){0};
        dot_panel(a, stride, rows, &b, 1, k0, k - k0 < KC ? k - k0 : KC, acc, ALL_CHAINS, f);
        CPU_UNROLL
        for (int r = 0; r < rows; r++)
            add_chains(acc[r], &out[r]);
    }
}

#define PAGE 4096

/* Four rows at once where there are registers for them.  Not where several are in one page of memory: prefetchers of
 * processors see no stream in that. */
CPU_INLINE void dot_any(int64_t k, const uint8_t *a, int64_t stride, int rows, const float *b, float *out,
                        const row_format f)
{
    if (rows == 4 && CPU_VL == 16 && f.per_block == 1 && stride >= PAGE)
        dot_block(k, a, stride, 4, b, out, f);
    else
        for (int r = 0; r < rows; r++)
            dot_block(k, a + r * stride, stride, 1, b, out + r, f);
}

CPU_INLINE void dots_any(const int cols, int64_t k, const uint8_t *a, int64_t ahead, const float *const *b,
                         cpu_part part, float *sums, float *out, const row_format f)
{
    CPU_UNROLL
    for (int from = 0; from < 4; from += CHAINS_AT_ONCE(cols)) {
        const chain_range round = {from, from + CHAINS_AT_ONCE(cols)};
        vf acc[CPU_DOT_COLS][4];
        begin_chains(part, sums, cols, acc, round);
        dot_panel(a, ahead, 1, b, cols, 0, k, acc, round, f);
        end_chains(part, acc, cols, sums, out, round);
    }
}

/* Vector v of a panel as `lines` has it. */
CPU_INLINE void store_line(float *out, int64_t chain, int64_t v, vf x)
{
    v_store(out + v % 4 * chain + v / 4 * CPU_VL, x);
}

/* Vector i of the `vectors` of unit u: where chains begin with each unit there is nothing to divide. */
CPU_INLINE void store_unit_line(float *out, int64_t chain, int64_t u, const int vectors, const int i, vf x)
{
    if (vectors % 4)
        store_line(out, chain, u * vectors + i, x);
    else
        v_store(out + i % 4 * chain + (u * (vectors / 4) + i / 4) * CPU_VL, x);
}

/* Units of a row, one after another or as `lines` has them. */
CPU_INLINE void decode_units(const uint8_t *row, int64_t first, int64_t units, float *out, const bool lines,
                             int64_t chain, const row_format f)
{
    const int vectors = f.unit / CPU_VL;
    for (int64_t u0 = 0; u0 < units; u0 += f.per_block) {
        float scales[SCALES];
        if (f.prep) {
            f.prep(row + (first + u0) / f.per_block * f.bytes, scales);
            keep(scales);
        }
        UNROLL_UNITS
        for (int s = 0; s < f.per_block; s++) {
            vf w[128 / CPU_VL];
            f.dec(row, first + u0 + s, scales, w);
            CPU_UNROLL
            for (int i = 0; i < vectors; i++)
                if (lines)
                    store_unit_line(out, chain, u0 + s, vectors, i, w[i]);
                else
                    v_store(out + (u0 + s) * f.unit + i * CPU_VL, w[i]);
        }
    }
}

CPU_INLINE void decode_any(const uint8_t *row, int64_t begin, int64_t n, float *out, const row_format f)
{
    if (f.tail) { /* plain: any begin */
        row += begin * f.bytes;
        begin = 0;
        for (int64_t i = n / f.unit * f.unit; i < n; i++)
            out[i] = f.tail(row + i * f.bytes);
    }
    decode_units(row, begin / f.unit, n / f.unit, out, false, 0, f);
}

CPU_INLINE void lines_any(const uint8_t *row, int64_t begin, int64_t n, float *out, int64_t chain, const row_format f)
{
    int64_t units = n / f.unit, v = units * (f.unit / CPU_VL);
    decode_units(row, begin / f.unit, units, out, true, chain, f);
    float rest[32] = {0};
    for (int64_t i = units * f.unit; f.tail && i < n; i++)
        rest[i - units * f.unit] = f.tail(row + (begin + i) * f.bytes);
    for (int i = 0; v % 4 || (f.tail && v * CPU_VL < n); i++, v++)
        store_line(out, chain, v, i * CPU_VL < 32 ? v_load(rest + i * CPU_VL) : (vf){0});
}

#if CPU_VL == 8
#define INTS(type, most, ...)                                                                                          \
    static void decode_##type(const uint8_t *row, int64_t begin, int64_t n, float *out)                                \
    {                                                                                                                  \
        decode_ints(row, begin, n, out, 0, (int_format){ints_##type, __VA_ARGS__});                                    \
    }                                                                                                                  \
    INTS_BUT_DECODE(type, most, __VA_ARGS__)
#define INTS_BUT_DECODE(type, most, ...)                                                                               \
    static void lines_##type(const uint8_t *row, int64_t begin, int64_t n, float *out, int64_t chain)                  \
    {                                                                                                                  \
        decode_ints(row, begin, n, out, chain, (int_format){ints_##type, __VA_ARGS__});                                \
    }                                                                                                                  \
    static void dot_##type(int64_t k, const uint8_t *a, int64_t stride, int rows, const float *b, float *out)          \
    {                                                                                                                  \
        for (int r = 0; r < rows; r++)                                                                                 \
            dot_ints(k, a + r * stride, b, out + r, (int_format){ints_##type, __VA_ARGS__});                           \
    }                                                                                                                  \
    enum { columns_##type = most };                                                                                    \
    static void dots_##type(int64_t k, const uint8_t *a, int64_t ahead, const float *const *b, int cols, cpu_part part, \
                            float *sums, float *out)                                                                   \
    {                                                                                                                  \
        FOR_COLS(cols, most, dots_ints, k, a, ahead, b, part, sums, out, (int_format){ints_##type, __VA_ARGS__});      \
    }
#endif

#define FORMAT(type, most, ...)                                                                                        \
    static void decode_##type(const uint8_t *row, int64_t begin, int64_t n, float *out)                                \
    {                                                                                                                  \
        decode_any(row, begin, n, out, (row_format){dec_##type, __VA_ARGS__});                                         \
    }                                                                                                                  \
    static void lines_##type(const uint8_t *row, int64_t begin, int64_t n, float *out, int64_t chain)                  \
    {                                                                                                                  \
        lines_any(row, begin, n, out, chain, (row_format){dec_##type, __VA_ARGS__});                                   \
    }                                                                                                                  \
    static void dot_##type(int64_t k, const uint8_t *a, int64_t stride, int rows, const float *b, float *out)          \
    {                                                                                                                  \
        dot_any(k, a, stride, rows, b, out, (row_format){dec_##type, __VA_ARGS__});                                    \
    }                                                                                                                  \
    enum { columns_##type = most };                                                                                    \
    static void dots_##type(int64_t k, const uint8_t *a, int64_t ahead, const float *const *b, int cols, cpu_part part, \
                            float *sums, float *out)                                                                   \
    {                                                                                                                  \
        FOR_COLS(cols, most, dots_any, k, a, ahead, b, part, sums, out, (row_format){dec_##type, __VA_ARGS__});        \
    }

FORMAT(f32, COLS_ALL, NULL, 32, 1, 4, tail_f32)
FORMAT(f16, COLS_ALL, NULL, 32, 1, 2, tail_f16)
FORMAT(bf16, COLS_ALL, NULL, 32, 1, 2, tail_bf16)
#if CPU_VL == 8
INTS(q4_0, COLS_ALL, NULL, NULL, 32, 1, 18, 32, 0)
INTS(q4_1, COLS_ALL, NULL, NULL, 32, 1, 20, 32, 2)
INTS(q5_0, COLS_ALL, NULL, NULL, 32, 1, 22, 32, 0)
INTS(q5_1, COLS_ALL, NULL, NULL, 32, 1, 24, 32, 2)
static void decode_q8_0(const uint8_t *row, int64_t begin, int64_t n, float *out)
{ /* bytes are spread in their order by one instruction */
    decode_any(row, begin, n, out, (row_format){dec_q8_0, NULL, 32, 1, 34, NULL});
}
INTS_BUT_DECODE(q8_0, COLS_ALL, NULL, NULL, 32, 1, 34, 32, 0)
INTS(iq4_nl, COLS_ALL, NULL, NULL, 32, 1, 18, 32, 0)
INTS(mxfp4, COLS_ALL, NULL, powers_e8m0, 32, 1, 17, 32, 0)
INTS(nvfp4, COLS_ONE_ROUND, prep_nvfp4, NULL, 64, 1, 36, 16, 0)
INTS(iq4_xs, COLS_ONE_ROUND, prep_iq4_xs, NULL, 32, 8, 136, 32, 0)
INTS(q4_K, COLS_ONE_ROUND, prep_q4_K, NULL, 64, 4, 144, 32, 8)
INTS(q5_K, COLS_ONE_ROUND, prep_q5_K, NULL, 64, 4, 176, 32, 8)
INTS(q2_K, COLS_ONE_ROUND, prep_q2_K, NULL, 128, 2, 84, 16, 16)
INTS(q3_K, COLS_ONE_ROUND, prep_q3_K, NULL, 128, 2, 110, 16, 0)
INTS(q6_K, COLS_ONE_ROUND, prep_q6_K, NULL, 128, 2, 210, 16, 0)
#else
FORMAT(q4_0, COLS_ALL, NULL, 32, 1, 18, NULL)
FORMAT(q4_1, COLS_ALL, NULL, 32, 1, 20, NULL)
FORMAT(q5_0, COLS_ALL, NULL, 32, 1, 22, NULL)
FORMAT(q5_1, COLS_ALL, NULL, 32, 1, 24, NULL)
FORMAT(q8_0, COLS_ALL, NULL, 32, 1, 34, NULL)
FORMAT(iq4_nl, COLS_ALL, NULL, 32, 1, 18, NULL)
FORMAT(mxfp4, COLS_ALL, NULL, 32, 1, 17, NULL)
FORMAT(nvfp4, COLS_ALL, NULL, 64, 1, 36, NULL)
FORMAT(iq4_xs, COLS_ONE_ROUND, prep_iq4_xs, 32, 8, 136, NULL)
FORMAT(q4_K, COLS_ONE_ROUND, prep_q4_K, 64, 4, 144, NULL)
FORMAT(q5_K, COLS_ONE_ROUND, prep_q5_K, 64, 4, 176, NULL)
FORMAT(q2_K, COLS_ONE_ROUND, prep_q2_K, 128, 2, 84, NULL)
FORMAT(q3_K, COLS_ONE_ROUND, prep_q3_K, 128, 2, 110, NULL)
FORMAT(q6_K, COLS_ONE_ROUND, prep_q6_K, 128, 2, 210, NULL)
#endif

GRID_TYPE(iq2_xxs, 8, 66, 32)
GRID_TYPE(iq2_xs, 8, 74, 16)
GRID_TYPE(iq2_s, 8, 82, 16)
GRID_TYPE(iq3_xxs, 8, 98, 32)
GRID_TYPE(iq3_s, 8, 110, 32)
GRID_TYPE(iq1_s, 8, 50, 32)
GRID_TYPE(iq1_m, 8, 56, 16)
GRID_TYPE(tq1_0, 8, 54, 32)
GRID_TYPE(tq2_0, 8, 66, 32)
GRID_TYPE(q1_0, 4, 18, 32)
GRID_TYPE(q2_0, 2, 18, 32)

#define ROW(type) {decode_##type, dot_##type, dots_##type, columns_##type, lines_##type}

const cpu_format cpu_formats[CPU_TYPES] = {
    [ENG_TYPE_F32] = ROW(f32),
    [ENG_TYPE_F16] = ROW(f16),
    [ENG_TYPE_BF16] = ROW(bf16),
    [ENG_TYPE_Q4_0] = ROW(q4_0),
    [ENG_TYPE_Q4_1] = ROW(q4_1),
    [ENG_TYPE_Q5_0] = ROW(q5_0),
    [ENG_TYPE_Q5_1] = ROW(q5_1),
    [ENG_TYPE_Q8_0] = ROW(q8_0),
    [ENG_TYPE_Q2_K] = ROW(q2_K),
    [ENG_TYPE_Q3_K] = ROW(q3_K),
    [ENG_TYPE_Q4_K] = ROW(q4_K),
    [ENG_TYPE_Q5_K] = ROW(q5_K),
    [ENG_TYPE_Q6_K] = ROW(q6_K),
    [ENG_TYPE_IQ4_NL] = ROW(iq4_nl),
    [ENG_TYPE_IQ4_XS] = ROW(iq4_xs),
    [ENG_TYPE_MXFP4] = ROW(mxfp4),
    [ENG_TYPE_NVFP4] = ROW(nvfp4),
    [ENG_TYPE_IQ2_XXS] = ROW(iq2_xxs),
    [ENG_TYPE_IQ2_XS] = ROW(iq2_xs),
    [ENG_TYPE_IQ2_S] = ROW(iq2_s),
    [ENG_TYPE_IQ3_XXS] = ROW(iq3_xxs),
    [ENG_TYPE_IQ3_S] = ROW(iq3_s),
    [ENG_TYPE_IQ1_S] = ROW(iq1_s),
    [ENG_TYPE_IQ1_M] = ROW(iq1_m),
    [ENG_TYPE_TQ1_0] = ROW(tq1_0),
    [ENG_TYPE_TQ2_0] = ROW(tq2_0),
    [ENG_TYPE_Q1_0] = ROW(q1_0),
    [ENG_TYPE_Q2_0] = ROW(q2_0),
};

void CPU_V(cpu_dot_order)(const float *x, float *out, int64_t n)
{
#if CPU_VL == 8
    for (int64_t i = 0; i < n; i += GROUP) {
        vf v[4];
        CPU_UNROLL
        for (int j = 0; j < 4; j++)
            v[j] = v_load(x + i + 8 * j);
        CPU_UNROLL
        for (int j = 0; j < 2; j++) {
            __m256 lo = _mm256_permute2f128_ps((__m256)v[j], (__m256)v[j + 2], 0x20);
            __m256 hi = _mm256_permute2f128_ps((__m256)v[j], (__m256)v[j + 2], 0x31);
            v_store(out + i + 16 * j, (vf)_mm256_shuffle_ps(lo, hi, 0x88));
            v_store(out + i + 16 * j + 8, (vf)_mm256_shuffle_ps(lo, hi, 0xdd));
        }
    }
#else
    memmove(out, x, (size_t)n * sizeof *x);
#endif
}

/* -- rows of any operand -------------------------------------------------------------- */

void CPU_V(cpu_to_f16)(const float *x, uint16_t *out, int64_t n)
{
    int64_t i = 0;
#if CPU_VL == 16
    for (; i + 16 <= n; i += 16)
        _mm256_storeu_si256((__m256i *)(out + i), _mm512_cvtps_ph(_mm512_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
#elif CPU_VL == 8
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
#elif defined(CPU_NEON)
    for (; i + 4 <= n; i += 4) {
        const float16x4_t h = vcvt_f16_f32(vld1q_f32(x + i));
        memcpy(out + i, &h, sizeof h);
    }
#endif
    cpu_encode_row(ENG_TYPE_F16, x + i, (uint8_t *)(out + i), n - i, false);
}

const float *cpu_row_f32(const cpu_tensor *t, const uint8_t *row, float *buffer)
{
    int64_t n = t->ne[0];
    if (t->nb[0] == t->block_bytes) {
        if (t->type == ENG_TYPE_F32)
            return (const float *)row;
        cpu_formats[t->type].decode(row, 0, n, buffer);
        return buffer;
    }
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *p = row + i * t->nb[0];
        switch (t->type) {
        case ENG_TYPE_F16: buffer[i] = tail_f16(p); break;
        case ENG_TYPE_BF16: buffer[i] = tail_bf16(p); break;
        default: buffer[i] = tail_f32(p); break;
        }
    }
    return buffer;
}
