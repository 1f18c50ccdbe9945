/*
 * Short rows of weights (a head of K) times columns.  Sums of so few products are worth as much as these: a register
 * tile goes through all chains of its rows and columns before it adds up lanes, those of four results at a time.
 *
 * Compiled once per variant.
 */
#include "config.h"

#include "decode.h"
#include "short_tile.h"

#define LATER (8 * NEAR) /* rows: what is asked for */
#define FEW 8 /* columns */

/* Up to NEAR rows and where they go. */
typedef struct short_rows {
    const uint8_t *at[NEAR]; /* lines of the first chain, or rows; the last one again for those that are not there */
    int64_t n, first, bytes;
} short_rows;

/* The sums of so many rows and columns; `whole`: all of these rows are there. */
CPU_INLINE void leave(const short_rows *a, int r, vf (*acc)[MOST], const int rows, const int cols, float *const *o,
                      const bool whole)
{
    CPU_UNROLL
    for (int j = 0; j < cols; j++)
        CPU_UNROLL
        for (int i = 0; i < rows; i += 4) {
            const four total = sums_of(acc[i][j], acc[i + 1][j], acc[i + 2][j], acc[i + 3][j]);
            const int64_t there = a->n - r - i, left = whole || there > 4 ? 4 : there;
            if (left > 0)
                memcpy(o[j] + a->first + r + i, &total, (whole ? 4 : (size_t)left) * sizeof(float));
        }
}

/* Rows r .. r + rows - 1 with columns c .. c + cols - 1 of `n`, which are packed at x; a column's results of four rows
 * are a vector, or, of fewer rows, a row's of four columns.  `step`: vectors that are taken without looking for the
 * end. */
CPU_INLINE void tile(const short_rows *a, int r, const float *x, int64_t length, int64_t n, int64_t c, const int rows,
                     const int cols, float *const *o, const source from, const int step, later_rows *later)
{
    vf acc[8][MOST];
    const uint8_t *row[8];
    CPU_UNROLL
    for (int i = 0; i < rows; i++)
        row[i] = a->at[r + i];
    add_products(row, x + c * length, length, n, rows, cols, acc, from, step, later, false);
    if (rows < 4) {
        for (int i = 0; i < rows && r + i < a->n; i++) {
            const four total = sums_of(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
            CPU_UNROLL
            for (int j = 0; j < 4; j++)
                o[c + j][a->first + r + i] = total[j];
        }
        return;
    }
    if (a->n - r >= rows)
        leave(a, r, acc, rows, cols, o + c, true);
    else
        leave(a, r, acc, rows, cols, o + c, false);
}

/* Columns of the next tile. */
CPU_INLINE int columns_now(int64_t n, int64_t left)
{
#if CPU_REGISTERS == 32 /* with four rows up to 24 sums, in each tile about as many */
    (void)n;
    const int64_t tiles = (left + MOST - 1) / MOST;
    return (int)((left + tiles - 1) / tiles);
#else /* of many three with four rows, which read less, of few so that none is left alone */
    if (left < 4)
        return (int)left;
    return n > FEW || left == 5 || left == 6 ? 3 : 4;
#endif
}

/* `cols` columns, which are packed at x as those of `n` are, with up to NEAR rows. */
CPU_INLINE void tiles(const short_rows *a, later_rows later, const float *x, int64_t length, int64_t n,
                      int64_t cols, float *const *o, const source from, const int step)
{
    int now;
    for (int64_t c = 0; c < cols; c += now) {
        now = columns_now(cols, cols - c);
        if (c)
            later.row = NULL; /* once for all columns */
        const int rows = now == 1 ? 8 : now == 4 && CPU_REGISTERS < 32 ? 2 : 4;
        for (int r = 0; r < a->n; r += rows) {
            for (int64_t b = 0; !BY_LINES(from, rows, step) && later.row && b < rows * a->bytes; b += 64)
                ask_for_line(&later, true);
            switch (now) {
            case 1: tile(a, r, x, length, n, c, 8, 1, o, from, step, &later); break;
            case 2: tile(a, r, x, length, n, c, 4, 2, o, from, step, &later); break;
            case 3: tile(a, r, x, length, n, c, 4, 3, o, from, step, &later); break;
#if CPU_REGISTERS == 32
            case 4: tile(a, r, x, length, n, c, 4, 4, o, from, step, &later); break;
            case 5: tile(a, r, x, length, n, c, 4, 5, o, from, step, &later); break;
            default: tile(a, r, x, length, n, c, 4, 6, o, from, step, &later); break;
#else
            default: tile(a, r, x, length, n, c, 2, 4, o, from, step, &later); break;
#endif
            }
        }
    }
}

#define TILES_OF(source)                                                                                               \
    static void tiles_##source(const short_rows *a, later_rows later, const float *x, int64_t length, int64_t n,   \
                               int64_t cols, float *const *o)                                                          \
    {                                                                                                                  \
        if (length == COMMON)                                                                                          \
            tiles(a, later, x, COMMON, n, cols, o, source, COMMON / CPU_VL);                                                  \
        else if (length % (2 * CPU_VL))                                                                                \
            tiles(a, later, x, length, n, cols, o, source, 1);                                                                \
        else                                                                                                           \
            tiles(a, later, x, length, n, cols, o, source, 2);                                                                \
    }
TILES_OF(LINES)
TILES_OF(ROWS_F32)
TILES_OF(ROWS_F16)
TILES_OF(ROWS_BF16)

/* -- rows of blocks that few columns meet as they are decoded ------------------------------------ */

#if CPU_VL == 16
#define PAIR 2 /* rows at once: their vectors and sums stay in registers */
#define MOST_VECTORS (128 / CPU_VL)

/* Rows of k elements with `cols` columns, which are packed at x as those of `n` are: results of each row. */
CPU_INLINE void meet_blocks(const uint8_t *const *row, const float *x, int64_t n, const int k, const int cols,
                            const block_decoder decode, four *result)
{
    const int length = k / 4;
    vf w[PAIR][MOST_VECTORS], acc[PAIR][BLOCK_COLUMNS];
    CPU_UNROLL
    for (int i = 0; i < PAIR; i++) {
        CPU_UNROLL
        for (int b = 0; b < k / BLOCK; b++)
            decode(row[i], b, NULL, w[i] + b * BLOCK_VECTORS);
        CPU_UNROLL
        for (int j = 0; j < BLOCK_COLUMNS; j++)
            acc[i][j] = (vf){0};
    }
    CPU_UNROLL
    for (int v = 0; v < 4; v++)
        CPU_UNROLL
        for (int l = 0; l < length / CPU_VL; l++)
            CPU_UNROLL
            for (int j = 0; j < cols; j++) {
                const vf b = v_load(x + (v * n + j) * length + l * CPU_VL);
                CPU_UNROLL
                for (int i = 0; i < PAIR; i++)
                    acc[i][j] = v_fma(w[i][4 * l + v], b, acc[i][j]);
            }
    CPU_UNROLL
    for (int i = 0; i < PAIR; i++)
        result[i] = sums_of(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
}

/* Rows m0 .. m1 - 1; `bytes` of a row. */
CPU_INLINE void rows_of_blocks(const cpu_gemm *g, int64_t m0, int64_t m1, const float *x, float *const *o, const int k,
                               const int cols, const int bytes, const block_decoder decode)
{
    for (int64_t m = m0; m < m1; m += PAIR) {
        const uint8_t *row[PAIR] = {cpu_gemm_row(g, m), cpu_gemm_row(g, m + 1 < m1 ? m + 1 : m)};
        four result[PAIR];
        ask_for(cpu_gemm_row(g, m + LATER), PAIR, g->stride, bytes, true);
        meet_blocks(row, x, g->n, k, cols, decode, result);
        for (int i = 0; i < PAIR && m + i < m1; i++)
            CPU_UNROLL
            for (int j = 0; j < cols; j++)
                o[j][m + i] = result[i][j];
    }
}

#define COLUMNS_OF(k, n, bytes, name) case n: rows_of_blocks(g, m0, m1, x, o, k, n, (bytes) * ((k) / BLOCK), dec_##name); break;
#define BLOCKS_OF(k, name, bytes)                                                                                      \
    static void blocks_##k##_##name(const cpu_gemm *g, int64_t m0, int64_t m1, const float *x, float *const *o,        \
                                    int64_t cols)                                                                      \
    {                                                                                                                  \
        switch (cols) {                                                                                                \
            COLUMNS_OF(k, 1, bytes, name)                                                                              \
            COLUMNS_OF(k, 2, bytes, name)                                                                              \
            COLUMNS_OF(k, 3, bytes, name)                                                                              \
            COLUMNS_OF(k, 4, bytes, name)                                                                              \
        default: break;                                                                                                \
        }                                                                                                              \
    }
#define BLOCKS_OF_BOTH(NAME, name, bytes) BLOCKS_OF(64, name, bytes) BLOCKS_OF(128, name, bytes)
BLOCK_TYPES(BLOCKS_OF_BOTH)

/* Heads of 64 and of 128 with few columns; false: they are to be made lines. */
static bool short_blocks(const cpu_gemm *g, int64_t m0, int64_t m1, int64_t c0, int64_t c1)
{
    const float *x = (const float *)g->packed + c0 * (g->k / 4);
    if (g->group > 1 || (g->k != 64 && g->k != 128) || c1 - c0 > BLOCK_COLUMNS)
        return false;
    switch (g->type) {
#define CASE_BLOCKS(NAME, name, bytes)                                                                                 \
    case ENG_TYPE_##NAME:                                                                                              \
        (g->k == 64 ? blocks_64_##name : blocks_128_##name)(g, m0, m1, x, g->o + c0, c1 - c0);                         \
        return true;
        BLOCK_TYPES(CASE_BLOCKS)
    default: return false;
    }
}
#else
static bool short_blocks(const cpu_gemm *g, int64_t m0, int64_t m1, int64_t c0, int64_t c1)
{
    (void)g, (void)m0, (void)m1, (void)c0, (void)c1;
    return false;
}
#endif

/* Rows m .. m + rows - 1 as lines, NEAR of each chain; at once where they are one behind the other. */
CPU_INLINE void decode_rows(const cpu_gemm *g, int64_t m, int64_t rows, int64_t length, float *lines)
{
    const int64_t bytes = g->k / g->block * g->block_bytes;
    if (g->group <= 1 && g->stride == bytes && 4 * length == g->k) {
        cpu_formats[g->type].lines(cpu_gemm_row(g, m), 0, rows * g->k, lines, NEAR * length);
        return;
    }
    for (int64_t r = 0; r < rows; r++)
        decode_line(g, m + r, 0, g->k, lines + r * length, NEAR * length);
}

bool CPU_V(cpu_gemm_is_short)(const cpu_gemm *g)
{
    return g->k <= CPU_GEMM_SHORT;
}

/* The rows with some of the columns, which are packed at x. */
static void some_columns(const cpu_gemm *g, const short_rows *a, later_rows later, const source from,
                         int64_t length, int64_t c0, int64_t cols)
{
    const float *x = (const float *)g->packed + c0 * length;
    float *const *o = g->o + c0;
    switch (from) {
    case ROWS_F32: tiles_ROWS_F32(a, later, x, length, g->n, cols, o); break;
    case ROWS_F16: tiles_ROWS_F16(a, later, x, length, g->n, cols, o); break;
    case ROWS_BF16: tiles_ROWS_BF16(a, later, x, length, g->n, cols, o); break;
    default: tiles_LINES(a, later, x, length, g->n, cols, o); break;
    }
}

void CPU_V(cpu_gemm_short)(const cpu_gemm *g, int64_t m0, int64_t m1, int64_t c0, int64_t c1, float *lines)
{
    const int64_t length = cpu_whole_chains(g->k) / 4;
    const source from = source_of(g);
    if (from == LINES && short_blocks(g, m0, m1, c0, c1))
        return;
    for (int64_t m = m0; m < m1; m += NEAR) {
        short_rows a = {.n = m1 - m < NEAR ? m1 - m : NEAR, .first = m,
                        .bytes = g->group <= 1 ? g->k / g->block * g->block_bytes : 0};
        const later_rows later = later_rows_from(cpu_gemm_row(g, m + LATER), g->stride, a.bytes);
        if (from == LINES)
            decode_rows(g, m, a.n, length, lines);
        for (int64_t r = 0; r < NEAR; r++) {
            const int64_t row = r < a.n ? r : a.n - 1;
            a.at[r] = from == LINES ? (const uint8_t *)(lines + row * length) : cpu_gemm_row(g, m + row);
        }
        some_columns(g, &a, later, from, length, c0, c1 - c0);
    }
}
