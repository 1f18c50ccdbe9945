/*
 * Rows of weights times few columns.
 *
 * One column: rows are decoded in registers and multiplied at once (cpu_format.dot).
 *
 * Two to four: the same, a piece of the columns at a time.
 *
 * More: ROWS rows are decoded, KC elements at a time, into lines that stay in the first-level cache,
 * and each line is multiplied with all columns, 4 rows x 3 columns in registers.  Weights are read and
 * decoded once, in their order, and sums are vectors to the end of the rows.
 *
 * Several columns are packed first, what is needed together side by side: as they are, they often lie
 * a multiple of 4096 bytes apart, where few of them fit in the cache.
 *
 * Compiled once per variant; with vectors of 16 all but one column are those of cpu_format.dot, up to
 * eight at a time.
 */
#include "config.h"

#include "gemm.h"

#define KC CPU_GEMM_KC
#define ROWS 8

/* Does `dot` want columns in an order of its own? */
CPU_INLINE bool ordered(const cpu_gemm *g)
{
    return CPU_VL == 8 && g->block > 1;
}

CPU_INLINE void row_by_row(const cpu_gemm *g, int64_t m0, int64_t m1, const float *b, float *o)
{
    const cpu_format *f = &cpu_formats[g->type];
    float out[CPU_DOT_COLS * CPU_DOT_ROWS];
    int64_t i = m0;
    for (; i + CPU_DOT_ROWS <= m1; i += CPU_DOT_ROWS) {
        f->dot(g->k, cpu_gemm_row(g, i), g->stride, CPU_DOT_ROWS, &b, 1, out);
        memcpy(o + i, out, CPU_DOT_ROWS * sizeof *out);
    }
    for (; i < m1; i++) {
        f->dot(g->k, cpu_gemm_row(g, i), g->stride, 1, &b, 1, out);
        o[i] = out[0];
    }
}

/* A column as f32, in the order in which dot takes it. */
static void one_column(const cpu_gemm *g, int64_t c, int64_t m0, int64_t m1, float *buffer)
{
    const float *b = (const float *)g->b[c];
    if (g->b_type != ENG_TYPE_F32) {
        cpu_formats[g->b_type].decode(g->b[c], 0, g->k, buffer);
        b = buffer;
    }
    if (ordered(g)) {
        CPU_V(cpu_dot_order)(b, buffer, g->k);
        b = buffer;
    }
    row_by_row(g, m0, m1, b, g->o[c]);
}

#if CPU_VL == 16
#define FEW CPU_DOT_COLS
#define L1_FLOATS 6144 /* of columns: what stays in the first-level cache beside the weights */

/* Columns c0 .. c0 + cols - 1 as f32. */
static void float_columns(const cpu_gemm *g, int64_t c0, int cols, float *buffer, const float **b)
{
    for (int c = 0; c < cols; c++) {
        b[c] = (const float *)g->b[c0 + c];
        if (g->b_type == ENG_TYPE_F32)
            continue;
        float *column = buffer + (size_t)c * (size_t)((g->k + 15) / 16 * 16);
        cpu_formats[g->b_type].decode(g->b[c0 + c], 0, g->k, column);
        b[c] = column;
    }
}

/* A piece of k at a time so that the columns stay near. */
static void several_columns(const cpu_gemm *g, int64_t c0, int cols, int64_t m0, int64_t m1, float *buffer)
{
    const cpu_format *f = &cpu_formats[g->type];
    const float *b[CPU_DOT_COLS];
    float *const *o = g->o + c0;
    int64_t piece = L1_FLOATS / cols / KC * KC;
    float_columns(g, c0, cols, buffer, b);
    for (int64_t k0 = 0; k0 < g->k; k0 += piece) {
        int64_t kc = g->k - k0 < piece ? g->k - k0 : piece;
        const float *x[CPU_DOT_COLS];
        for (int c = 0; c < cols; c++)
            x[c] = b[c] + k0;
        const int64_t at = k0 / g->block * g->block_bytes;
        for (int64_t i = m0; i < m1; i++) {
            float out[CPU_DOT_COLS * CPU_DOT_ROWS];
            f->dot(kc, cpu_gemm_row(g, i) + at, g->stride, 1, x, cols, out);
            for (int c = 0; c < cols; c++)
                o[c][i] = k0 ? o[c][i] + out[c * CPU_DOT_ROWS] : out[c * CPU_DOT_ROWS];
        }
    }
}
#else
#define FEW 32     /* columns at once: what they need of a block of k stays in the nearest cache */
#define PIECE 1024 /* elements of four columns of which the same is true */

CPU_INLINE int64_t whole_vectors(int64_t n)
{
    return (n + CPU_VL - 1) / CPU_VL * CPU_VL;
}

CPU_INLINE void zeros(float *x, int64_t from, int64_t to)
{
    for (; from < to; from++)
        x[from] = 0;
}

/* Pieces of so many elements, in each the columns one after another. */
static void pack(const cpu_gemm *g, int64_t c0, int cols, int64_t piece, float *out)
{
    for (int64_t k0 = 0; k0 < g->k; k0 += piece) {
        int64_t kc = g->k - k0 < piece ? g->k - k0 : piece, padded = whole_vectors(kc);
        for (int c = 0; c < cols; c++, out += padded) {
            if (g->b_type == ENG_TYPE_F32)
                memcpy(out, (const float *)g->b[c0 + c] + k0, (size_t)kc * sizeof *out);
            else
                cpu_formats[g->b_type].decode(g->b[c0 + c], k0, kc, out);
            if (ordered(g))
                CPU_V(cpu_dot_order)(out, out, kc);
            zeros(out, kc, padded);
        }
    }
}

/* KC elements of `rows` rows; what the next rows have there is asked for. */
static void decode_lines(const cpu_gemm *g, int64_t m, int64_t rows, int64_t k0, int64_t kc, float *lines)
{
    const int64_t begin = k0 / g->block * g->block_bytes, bytes = kc / g->block * g->block_bytes;
    for (int64_t r = 0; r < rows; r++) {
        const uint8_t *row = cpu_gemm_row(g, m + r);
        for (int64_t i = 0; i < bytes; i += 64)
            __builtin_prefetch(row + ROWS * g->stride + begin + i, 0, 2);
        cpu_formats[g->type].lines(row, k0, kc, lines + r * KC);
        zeros(lines + r * KC, kc, whole_vectors(kc));
    }
    for (int64_t r = rows; r < ROWS; r++)
        zeros(lines + r * KC, 0, whole_vectors(kc));
}

/* Four lines with `cols` columns, added to the sums of each column's ROWS rows. */
CPU_INLINE void tile(const float *lines, const float *x, int64_t kc, const int cols, vf *sums)
{
    vf acc[4][3];
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        CPU_UNROLL
        for (int r = 0; r < 4; r++)
            acc[r][c] = sums[c * ROWS + r];
    for (int64_t l = 0; l < kc; l += CPU_VL) {
        vf v[3];
        CPU_UNROLL
        for (int c = 0; c < cols; c++)
            v[c] = v_load(x + c * kc + l);
        CPU_UNROLL
        for (int r = 0; r < 4; r++) {
            vf w = v_load(lines + r * KC + l);
            CPU_UNROLL
            for (int c = 0; c < cols; c++)
                acc[r][c] = v_fma(w, v[c], acc[r][c]);
        }
    }
    CPU_UNROLL
    for (int c = 0; c < cols; c++)
        CPU_UNROLL
        for (int r = 0; r < 4; r++)
            sums[c * ROWS + r] = acc[r][c];
}

/* All columns: three at a time, and none alone but where there is one. */
static void tiles(const float *lines, const float *x, int64_t kc, int cols, vf *sums)
{
    for (int c = 0; c < cols;) {
        const int left = cols - c, now = left == 4 || left == 2 ? 2 : left == 1 ? 1 : 3;
        const float *at = x + c * kc;
        switch (now) {
        case 3: tile(lines, at, kc, 3, sums + c * ROWS); break;
        case 2: tile(lines, at, kc, 2, sums + c * ROWS); break;
        default: tile(lines, at, kc, 1, sums + c * ROWS); break;
        }
        c += now;
    }
}

/* Two, three or four: each row is decoded in registers. */
static void in_registers(const cpu_gemm *g, int64_t c0, int cols, int64_t m0, int64_t m1, float *packed)
{
    pack(g, c0, cols, PIECE, packed);
    const cpu_format *f = &cpu_formats[g->type];
    float *const *o = g->o + c0;
    for (int64_t k0 = 0; k0 < g->k; k0 += PIECE) {
        int64_t kc = g->k - k0 < PIECE ? g->k - k0 : PIECE, padded = whole_vectors(kc);
        const int64_t at = k0 / g->block * g->block_bytes;
        const float *x[4];
        for (int c = 0; c < 4; c++)
            x[c] = packed + (c < cols ? c : 0) * padded;
        for (int64_t i = m0; i < m1; i++) {
            float out[4 * CPU_DOT_ROWS];
            f->dot(kc, cpu_gemm_row(g, i) + at, g->stride, 1, x, cols == 2 ? 2 : 4, out);
            for (int c = 0; c < cols; c++)
                o[c][i] = k0 ? o[c][i] + out[c * CPU_DOT_ROWS] : out[c * CPU_DOT_ROWS];
        }
        packed += cols * padded;
    }
}

static void by_lines(const cpu_gemm *g, int64_t c0, int cols, int64_t m0, int64_t m1, float *packed)
{
    float lines[ROWS * KC] __attribute__((aligned(64)));
    vf sums[FEW * ROWS];
    pack(g, c0, cols, KC, packed);
    for (int64_t m = m0; m < m1; m += ROWS) {
        int64_t rows = m1 - m < ROWS ? m1 - m : ROWS;
        const float *x = packed;
        memset(sums, 0, (size_t)cols * ROWS * sizeof *sums);
        for (int64_t k0 = 0; k0 < g->k; k0 += KC) {
            int64_t kc = g->k - k0 < KC ? g->k - k0 : KC, padded = whole_vectors(kc);
            decode_lines(g, m, rows, k0, kc, lines);
            for (int r = 0; r < rows; r += 4)
                tiles(lines + r * KC, x, padded, cols, sums + r);
            x += cols * padded;
        }
        for (int c = 0; c < cols; c++) {
            float out[ROWS];
            v_sum4(sums + c * ROWS, out);
            v_sum4(sums + c * ROWS + 4, out + 4);
            memcpy(g->o[c0 + c] + m, out, (size_t)rows * sizeof *out);
        }
    }
}

CPU_INLINE void several_columns(const cpu_gemm *g, int64_t c0, int cols, int64_t m0, int64_t m1, float *packed)
{
    (cols <= 4 ? in_registers : by_lines)(g, c0, cols, m0, m1, packed);
}
#endif

size_t CPU_V(cpu_gemm_few_scratch)(int64_t k, int64_t n)
{
    int64_t columns = n < CPU_DOT_COLS ? CPU_DOT_COLS : n < FEW ? n : FEW; /* gemm_fast.c counts on eight */
    return (size_t)columns * ((size_t)k * sizeof(float) + CPU_ALIGN);
}

void CPU_V(cpu_gemm_few)(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch)
{
    for (int64_t c0 = 0; c0 < g->n; c0 += FEW) {
        int cols = (int)(g->n - c0 < FEW ? g->n - c0 : FEW);
        if (cols == 1)
            one_column(g, c0, m0, m1, (float *)scratch);
        else
            several_columns(g, c0, cols, m0, m1, (float *)scratch);
    }
}
