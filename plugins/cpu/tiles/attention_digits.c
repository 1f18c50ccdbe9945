/*
 * Attention's blocks of cells by tiles, exact: caches whose numbers are bytes under a scale for 32 of them.  A query, and a
 * column's weights of a block times the scales of V, are integers of 31 bits under one scale, a power of two: of what is at least
 * a 128th of the largest nothing is lost that a float has.  Their bytes, with a sign each, are four digits in base 256, and sums
 * of products of bytes are exact: scales and digits come together in floats.
 *
 * What the integers leave of smaller numbers would matter if all large ones met zeros.  Where these are fewer than FEW, so that
 * they may, what is left is met as well, under a scale of its own.
 *
 * Four queries are a tile, four digits each, so a column's bits do not depend on others.  16 cells and four queries of 128
 * elements are four products of 16 cycles beside some 300 operations; 64 cells of V eight products beside 1,800, of which 700
 * make weights digits, where multiplying and adding floats takes 4,100.
 */
#include "config.h"

#include "../cpu.h"
#include "../ops/attention.h"
#include "digits.h"
#include "tiles.h"
#include "variant.h"

#define CELLS CPU_ATTN_CELLS
#define TOGETHER (TILE_ROWS / DIGITS) /* queries */
#define QUARTER TILE_ROWS /* cells that are the lines of a tile */
#define PARTS (CELLS / QUARTER)
#define LEAST 4 /* queries that share a head of K: with fewer most of a tile were empty for a token, and floats are faster */
#define FEW 8
#define TILE (TILE_ROWS * TILE_LINE)
#define KEY_TILE (BLOCK / 4 * TILE_LINE) /* bytes of a block of queries: a line for four elements */

typedef int32_t sums[TILE_ROWS][TILE_ROWS];

typedef struct digits_scratch {
    uint8_t *q, *rest;      /* [tile of queries][block][line]: digits, and those of what is left */
    float (*by)[TILE_ROWS], (*rest_by)[TILE_ROWS]; /* [tile of queries]: what a digit is worth */
    uint8_t *codes;         /* K [cell][element], V [block][two tiles]        */
    uint16_t *halves;       /* scales: of K [cell][block], of V [block][cell] */
    float *d;               /* and as floats                                  */
    uint8_t *weights;       /* [2]: lines of a tile; behind them what is left */
    sums *sum;              /* [2]: of K [block], of V of two tiles; likewise */
    size_t bytes;
} digits_scratch;

CPU_INLINE int64_t tiles_of(int64_t columns)
{
    return (columns + TOGETHER - 1) / TOGETHER;
}

/* Takes so many bytes of what begins at `at`. */
CPU_INLINE void *take(uint8_t *at, size_t *taken, int64_t bytes)
{
    void *here = at ? at + *taken : NULL;
    *taken += (size_t)((bytes + TILE_LINE - 1) / TILE_LINE * TILE_LINE);
    return here;
}

CPU_INLINE digits_scratch scratch_of(const cpu_attn_shape *s, uint8_t *at)
{
    const int64_t most = s->d > s->e ? s->d : s->e, blocks = most / BLOCK, tiles = tiles_of(s->columns);
    digits_scratch x = {.bytes = 0};
    x.q = take(at, &x.bytes, tiles * s->d / BLOCK * KEY_TILE);
    x.rest = take(at, &x.bytes, tiles * s->d / BLOCK * KEY_TILE);
    x.by = take(at, &x.bytes, tiles * TILE_LINE);
    x.rest_by = take(at, &x.bytes, tiles * TILE_LINE);
    x.codes = take(at, &x.bytes, CELLS * most);
    x.halves = take(at, &x.bytes, blocks * CELLS * (int64_t)sizeof *x.halves);
    x.d = take(at, &x.bytes, blocks * CELLS * (int64_t)sizeof *x.d);
    x.weights = take(at, &x.bytes, 3 * TILE);
    x.sum = take(at, &x.bytes, (2 * (blocks > 2 ? blocks : 2) + 2) * (int64_t)sizeof *x.sum);
    return x;
}

static size_t scratch_bytes(const cpu_attn_shape *s)
{
    return cpu_aligned(scratch_of(s, NULL).bytes);
}

static bool takes(const cpu_attn_shape *s)
{
    return is_bytes(s->key) && is_bytes(s->value) && s->d > 0 && s->e > 0 && s->d % BLOCK == 0 && s->e % BLOCK == 0 &&
           s->group >= LEAST;
}

/* Tiles 0 and 1 are sums, 2 and 3 cells' elements of a block, 4 queries', 5 weights, 6 and 7 values.  Told once for all blocks of
 * a chunk: it takes as long as two dozen products. */
static void begin_tiles(void)
{
    tile_shapes s = {0};
    for (int i = 0; i < 8; i++)
        tile_shape(&s, i, i == 4 ? BLOCK / 4 : TILE_ROWS, i == 2 || i == 3 ? BLOCK : TILE_LINE);
    tiles_configure(&s);
}

/* What is asked for, so many bytes with each step; what is left of a line is put by. */
typedef struct digits_asks {
    later_rows next;
    int64_t each, left;
} digits_asks;

/* All of a block's cells, so many bytes each, in so many steps. */
CPU_INLINE digits_asks asks_of(later_rows next, int64_t bytes, int64_t steps)
{
    return (digits_asks){next, next.row ? bytes * CELLS / steps : 0, 0};
}

CPU_INLINE void ask_some(digits_asks *a)
{
    for (a->left += a->each; a->left >= TILE_LINE; a->left -= TILE_LINE)
        ask_for_line(&a->next, true);
}

/* -- queries and keys -------------------------------------------------------------------------------------- */

/* A query's digits, or those of what the integers of another scale leave of it; what they are worth. */
static void put_query(const float *q, int64_t d, digits_scales s, const digits_scales *before, uint8_t *to, float *by)
{
    const __m512 times = _mm512_broadcastss_ps(s.times);
    for (int64_t i = 0; i < d; i += 16, to += 4 * TILE_LINE) {
        __m512 x = _mm512_loadu_ps(q + i);
        if (before)
            x = left_of(x, _mm512_broadcastss_ps(before->times), _mm512_broadcastss_ps(before->worth));
        const __m512i digits = digits_of(integers(x, times));
        _mm_storeu_si128((__m128i *)to, _mm512_castsi512_si128(digits));
        _mm_storeu_si128((__m128i *)(to + TILE_LINE), _mm512_extracti32x4_epi32(digits, 1));
        _mm_storeu_si128((__m128i *)(to + 2 * TILE_LINE), _mm512_extracti32x4_epi32(digits, 2));
        _mm_storeu_si128((__m128i *)(to + 3 * TILE_LINE), _mm512_extracti32x4_epi32(digits, 3));
    }
    for (int i = 0; i < DIGITS; i++)
        by[i] = _mm_cvtss_f32(s.worth) * (float)(1 << 8 * i);
}

static void query(const digits_scratch *at, const float *q, int64_t d, int64_t c)
{
    const int64_t lines = c / TOGETHER * (d / BLOCK * KEY_TILE) + c % TOGETHER * TILE_LINE / TOGETHER, by = c % TOGETHER * DIGITS;
    __m512i largest = _mm512_setzero_si512(), left = _mm512_setzero_si512();
    int count = 0;
    for (int64_t i = 0; i < d; i += 16)
        largest = _mm512_max_epi32(largest, sizes(_mm512_loadu_ps(q + i)));
    largest = _mm512_set1_epi32(_mm512_reduce_max_epi32(largest));
    const digits_scales s = scales_for(_mm512_castsi512_si128(largest));
    const __m512 times = _mm512_broadcastss_ps(s.times), worth = _mm512_broadcastss_ps(s.worth);
    put_query(q, d, s, NULL, at->q + lines, at->by[c / TOGETHER] + by);
    for (int64_t i = 0; i < d; i += 16) {
        count += __builtin_popcount(large(_mm512_loadu_ps(q + i), largest));
        left = _mm512_max_epi32(left, sizes(left_of(_mm512_loadu_ps(q + i), times, worth)));
    }
    if (count < FEW && _mm512_test_epi32_mask(left, left))
        put_query(q, d, scales_for(_mm_set1_epi32(_mm512_reduce_max_epi32(left))), &s, at->rest + lines, at->rest_by[c / TOGETHER] + by);
}

static void queries(const cpu_attn_shape *s, const uint8_t *const *q, uint8_t *scratch)
{
    const digits_scratch at = scratch_of(s, scratch);
    memset(at.q, 0, (size_t)(at.codes - at.q)); /* digits and what they are worth */
    for (int64_t c = 0; c < s->columns; c++)
        query(&at, (const float *)q[c], s->d, c);
    begin_tiles();
}

static void end(void)
{
    tiles_release();
}

/* Where numbers of a quarter's cells lie: of a cell, and of a block. */
typedef struct key_lines {
    const uint8_t *at;
    int64_t cell, block;
} key_lines;

/* As they are, if they are bytes with a sign and all there, or written out. */
CPU_INLINE key_lines lines_of(const digits_scratch *at, const cpu_rows *k, int64_t j, int64_t blocks, const uint32_t type)
{
    const int64_t bytes = block_bytes(type);
    if (type == ENG_TYPE_Q8_0 && j + QUARTER <= k->n)
        return (key_lines){k->at + j * k->stride + 2, k->stride, bytes};
    uint8_t *to = at->codes + j * blocks * BLOCK;
    for (int64_t i = j; i < j + QUARTER && i < k->n; i++)
        for (int64_t b = 0; b < blocks; b++)
            _mm256_storeu_si256((vb *)(at->codes + (i * blocks + b) * BLOCK), block_numbers(k->at + i * k->stride + b * bytes, type));
    return (key_lines){to, blocks * BLOCK, BLOCK};
}

CPU_INLINE void key_scales(const digits_scratch *at, const cpu_rows *k, int64_t j, int64_t blocks, const uint32_t type)
{
    const int64_t n = k->n - j, stride = k->stride;
    const uint8_t *row = k->at + j * stride;
    uint16_t *to = at->halves + j * blocks;
    for (int64_t i = 0; i < QUARTER && i < n; i++, row += stride, to += blocks)
        CPU_UNROLL
        for (int64_t b = 0; b < blocks; b++)
            put_half(row + b * block_bytes(type), to + b);
    for (int64_t i = n < 0 ? 0 : n; i < QUARTER; i++, to += blocks)
        for (int64_t b = 0; b < blocks; b++)
            to[b] = 0;
    to -= QUARTER * blocks;
    widen(to, QUARTER * blocks, at->d + j * blocks);
}

/* A quarter of the cells with a tile of queries: sums of each block. */
CPU_INLINE void key_products(key_lines k, const uint8_t *q, int64_t blocks, sums *to)
{
    CPU_UNROLL
    for (int64_t b = 0; b < blocks; b += 2, k.at += 2 * k.block, q += 2 * KEY_TILE) {
        TILE_LOAD(2, k.at, k.cell);
        TILE_LOAD(4, q, TILE_LINE);
        TILE_ZERO(0);
        TILE_BYTES(0, 2, 4);
        if (b + 1 < blocks) {
            TILE_LOAD(3, k.at + k.block, k.cell);
            TILE_LOAD(4, q + KEY_TILE, TILE_LINE);
            TILE_ZERO(1);
            TILE_BYTES(1, 3, 4);
        }
        TILE_STORE(0, to[b], TILE_LINE);
        if (b + 1 < blocks)
            TILE_STORE(1, to[b + 1], TILE_LINE);
    }
}

/* Sums of the digits of four queries' numbers, of four cells in a and the next. */
CPU_INLINE __m512 digits_together(__m512 a, __m512 b, __m512 c, __m512 d)
{
    const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
    const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
    return _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd))),
                         _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd))));
}

CPU_INLINE void put_four(float *to, __m128 x, const bool more)
{
    _mm_storeu_ps(to, more ? _mm_add_ps(_mm_loadu_ps(to), x) : x);
}

/* In place of scores, or added to them. */
CPU_INLINE void key_scores(sums *of, const float *d, int64_t blocks, const float *by, float *score, const bool more,
                           digits_asks *asks)
{
    const __m512 worth = _mm512_loadu_ps(by);
    for (int j = 0; j < QUARTER; j += 4) {
        __m512 x[4];
        CPU_UNROLL
        for (int i = 0; i < 4; i++)
            x[i] = _mm512_setzero_ps();
        CPU_UNROLL
        for (int64_t b = 0; b < blocks; b++) {
            if (b < 4)
                ask_some(asks);
            CPU_UNROLL
            for (int i = 0; i < 4; i++)
                x[i] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_load_si512(of[b][j + i])), _mm512_set1_ps(d[(j + i) * blocks + b]), x[i]);
        }
        CPU_UNROLL
        for (int i = 0; i < 4; i++)
            x[i] = _mm512_mul_ps(x[i], worth);
        const __m512 all = digits_together(x[0], x[1], x[2], x[3]);
        put_four(score + j, _mm512_castps512_ps128(all), more);
        put_four(score + CELLS + j, _mm512_extractf32x4_ps(all, 1), more);
        put_four(score + 2 * CELLS + j, _mm512_extractf32x4_ps(all, 2), more);
        put_four(score + 3 * CELLS + j, _mm512_extractf32x4_ps(all, 3), more);
    }
}

/* What is left of queries: is there any in a tile of them? */
CPU_INLINE bool any_left(const float *by)
{
    const __m512i worth = _mm512_loadu_si512(by);
    return _mm512_test_epi32_mask(worth, worth) != 0;
}

/* Sums are read while the next are formed: what tiles write is not to be had before it is in the cache. */
CPU_INLINE void scores_of(const cpu_attn_shape *s, const cpu_rows *k, float *score, uint8_t *scratch, later_rows next,
                          int64_t blocks, const uint32_t type)
{
    const digits_scratch at = scratch_of(s, scratch);
    const int64_t steps = tiles_of(s->columns) * PARTS;
    digits_asks asks = asks_of(next, s->value_bytes, CELLS / 4 * (blocks < 4 ? blocks : 4));
    key_lines lines[PARTS];
    for (int64_t i = 0; i <= steps; i++) {
        const int64_t t = i / PARTS, part = i % PARTS;
        if (t == 0) {
            lines[part] = lines_of(&at, k, part * QUARTER, blocks, type);
            key_scales(&at, k, part * QUARTER, blocks, type);
        }
        if (i < steps)
            key_products(lines[part], at.q + t * (blocks * KEY_TILE), blocks, at.sum + i % 2 * blocks);
        if (i > 0) {
            const int64_t of = (i - 1) / PARTS, j = (i - 1) % PARTS * QUARTER;
            key_scores(at.sum + (i - 1) % 2 * blocks, at.d + j * blocks, blocks, at.by[of], score + of * TOGETHER * CELLS + j,
                       false, &asks);
            if (i == PARTS)
                asks.each = 0; /* once for all queries */
        }
    }
    for (int64_t t = 0; t < tiles_of(s->columns); t++)
        for (int64_t part = 0; any_left(at.rest_by[t]) && part < PARTS; part++) {
            key_products(lines[part], at.rest + t * (blocks * KEY_TILE), blocks, at.sum);
            key_scores(at.sum, at.d + part * QUARTER * blocks, blocks, at.rest_by[t], score + t * TOGETHER * CELLS + part * QUARTER,
                       true, &asks);
        }
}

/* Heads of 128 are the most common. */
#define SCORES_CASE(NAME, name, bytes, bias)                                                                           \
    case ENG_TYPE_##NAME:                                                                                              \
        if (s->d == 128)                                                                                               \
            scores_of(s, k, score, scratch, *next, 4, ENG_TYPE_##NAME);                                                \
        else                                                                                                           \
            scores_of(s, k, score, scratch, *next, s->d / BLOCK, ENG_TYPE_##NAME);                                     \
        break;

static void scores(const cpu_attn_shape *s, const cpu_rows *k, const later_rows *next, float *score, uint8_t *scratch)
{
    switch (s->key) {
        DIGIT_TYPES(SCORES_CASE)
    default: break;
    }
}

/* -- weights and values ------------------------------------------------------------------------------------ */

/* Four cells' numbers of a block as lines of two tiles, four cells' of an element in a word: elements 0 .. 3, 16 .. 19, 4 .. 7, 20 .. 23,
 * and the others. */
CPU_INLINE void value_lines(const vb *cell, uint8_t *to)
{
    const __m256i low = _mm256_unpacklo_epi8(cell[0], cell[1]), high = _mm256_unpackhi_epi8(cell[0], cell[1]);
    const __m256i low2 = _mm256_unpacklo_epi8(cell[2], cell[3]), high2 = _mm256_unpackhi_epi8(cell[2], cell[3]);
    _mm256_storeu_si256((__m256i *)to, _mm256_unpacklo_epi16(low, low2));
    _mm256_storeu_si256((__m256i *)(to + 32), _mm256_unpackhi_epi16(low, low2));
    _mm256_storeu_si256((__m256i *)(to + TILE), _mm256_unpacklo_epi16(high, high2));
    _mm256_storeu_si256((__m256i *)(to + TILE + 32), _mm256_unpackhi_epi16(high, high2));
}

/* The line of a tile for cells j .. j + 3: as weight_lines has them. */
CPU_INLINE int64_t line_of(int64_t j)
{
    return j / 4 % 4 * 4 + j / 16;
}

/* A block of all cells, `there` if none is missing. */
CPU_INLINE void value_codes(const digits_scratch *to, const cpu_rows *v, int64_t b, const uint32_t type, const bool there,
                            digits_asks *asks)
{
    const int64_t bytes = block_bytes(type), stride = v->stride, n = v->n;
    const uint8_t *at = v->at + b * bytes;
    uint8_t *codes = to->codes + b * 2 * TILE;
    uint16_t *halves = to->halves + b * CELLS;
    for (int64_t j = 0; j < CELLS; j += 4) {
        vb cell[4];
        ask_some(asks);
        CPU_UNROLL
        for (int i = 0; i < 4; i++, at += stride) {
            const bool is = there || j + i < n;
            halves[j + i] = 0;
            if (is)
                put_half(at, &halves[j + i]);
            cell[i] = is ? block_numbers(at, type) : b_all(0);
        }
        value_lines(cell, codes + line_of(j) * TILE_LINE);
    }
    widen(halves, CELLS, to->d + b * CELLS);
}

/* The largest of each of four registers. */
CPU_INLINE __m128i four_largest(const __m512i *x)
{
    const __m512i ab = _mm512_max_epi32(_mm512_unpacklo_epi32(x[0], x[1]), _mm512_unpackhi_epi32(x[0], x[1]));
    const __m512i cd = _mm512_max_epi32(_mm512_unpacklo_epi32(x[2], x[3]), _mm512_unpackhi_epi32(x[2], x[3]));
    const __m512i all = _mm512_max_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
    const __m256i half = _mm256_max_epi32(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1));
    return _mm_max_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

/* Digits of a column's weights: four lines of a tile, one of each digit. */
CPU_INLINE void weight_lines(const __m512 *w, __m512 times, uint8_t *to)
{
    __m512i x[4];
    CPU_UNROLL
    for (int i = 0; i < 4; i++)
        x[i] = digits_of(integers(w[i], times));
    const __m512i a = _mm512_unpacklo_epi32(x[0], x[1]), b = _mm512_unpackhi_epi32(x[0], x[1]);
    const __m512i c = _mm512_unpacklo_epi32(x[2], x[3]), d = _mm512_unpackhi_epi32(x[2], x[3]);
    _mm512_store_si512(to, _mm512_unpacklo_epi64(a, c));
    _mm512_store_si512(to + TILE_LINE, _mm512_unpackhi_epi64(a, c));
    _mm512_store_si512(to + 2 * TILE_LINE, _mm512_unpacklo_epi64(b, d));
    _mm512_store_si512(to + 3 * TILE_LINE, _mm512_unpackhi_epi64(b, d));
}

/* The c-th of four numbers in all lanes. */
CPU_INLINE __m512 one_of(__m128 x, const int c)
{
    return _mm512_permutexvar_ps(_mm512_set1_epi32(c), _mm512_castps128_ps512(x));
}

/* Weights of a block: digits, and what these are worth; `sizes` of each column's largest. */
CPU_INLINE digits_scales put_weights(__m512 (*w)[4], uint8_t *to, __m128i *of_largest)
{
    __m512i largest[TOGETHER];
    CPU_UNROLL
    for (int c = 0; c < TOGETHER; c++) {
        largest[c] = sizes(w[c][0]);
        CPU_UNROLL
        for (int i = 1; i < 4; i++)
            largest[c] = _mm512_max_epi32(largest[c], sizes(w[c][i]));
    }
    *of_largest = four_largest(largest);
    const digits_scales s = scales_for(*of_largest);
    CPU_UNROLL
    for (int c = 0; c < TOGETHER; c++)
        weight_lines(w[c], one_of(s.times, c), to + c * DIGITS * TILE_LINE);
    return s;
}

/* Are so few of a column's weights large that what is left of the others may matter? */
CPU_INLINE bool are_few(const __m512 *w, __m128i of_largest, const int c)
{
    const __m512i largest = _mm512_castps_si512(one_of(_mm_castsi128_ps(of_largest), c));
    const __mmask32 low = _mm512_kunpackw(large(w[1], largest), large(w[0], largest)),
                    high = _mm512_kunpackw(large(w[3], largest), large(w[2], largest));
    return __builtin_popcountll(_mm512_kunpackd(high, low)) < FEW;
}

/* Weights become what is left of those that are few, and else zeros.  Is there any? */
static __attribute__((noinline)) bool keep_left(__m512 (*w)[4], const digits_scales *s, unsigned few)
{
    __m512i left = _mm512_setzero_si512();
    for (int c = 0; c < TOGETHER; c++)
        for (int i = 0; i < 4; i++) {
            w[c][i] = few >> c & 1 ? left_of(w[c][i], one_of(s->times, c), one_of(s->worth, c)) : _mm512_setzero_ps();
            left = _mm512_or_si512(left, sizes(w[c][i]));
        }
    return _mm512_test_epi32_mask(left, left) != 0;
}

/* A block's weights of a tile of queries, of which there are so many; and of what is left.  Is there any? */
CPU_INLINE bool weigh_block(const float *p, const float *d, int64_t columns, uint8_t *to, float *worth, uint8_t *rest,
                            float *rest_worth)
{
    __m512 w[TOGETHER][4];
    __m128i largest;
    unsigned few = 0;
    CPU_UNROLL
    for (int c = 0; c < TOGETHER; c++)
        CPU_UNROLL
        for (int i = 0; i < 4; i++)
            w[c][i] = c < columns ? _mm512_mul_ps(_mm512_loadu_ps(p + c * CELLS + 16 * i), _mm512_loadu_ps(d + 16 * i))
                                  : _mm512_setzero_ps();
    const digits_scales s = put_weights(w, to, &largest);
    _mm_storeu_ps(worth, s.worth);
    CPU_UNROLL
    for (int c = 0; c < TOGETHER; c++)
        few |= (unsigned)are_few(w[c], largest, c) << c;
    if (!few)
        return false;
    __m512 left[TOGETHER][4];
    memcpy(left, w, sizeof left); /* so that weights stay in registers */
    if (!keep_left(left, &s, few))
        return false;
    _mm_storeu_ps(rest_worth, put_weights(left, rest, &largest).worth);
    return true;
}

/* 16 elements of a query: its digits' sums together. */
CPU_INLINE __m512 digits_summed(int32_t (*of)[TILE_ROWS], const float worth)
{
    __m512 x = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_load_si512(of[0])), _mm512_set1_ps(worth));
    CPU_UNROLL
    for (int i = 1; i < DIGITS; i++)
        x = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_load_si512(of[i])), _mm512_set1_ps(worth * (float)(1 << 8 * i)), x);
    return x;
}

/* A block's sums added to those of `columns` columns at `to`. */
CPU_INLINE void add_block(sums *of, const float *worth, float *to, int64_t e, int64_t columns)
{
    for (int64_t c = 0; c < columns && c < TOGETHER; c++, to += e) {
        const __m512 a = digits_summed(of[0] + c * DIGITS, worth[c]), b = digits_summed(of[1] + c * DIGITS, worth[c]);
        _mm512_storeu_ps(to, _mm512_add_ps(_mm512_loadu_ps(to), _mm512_shuffle_f32x4(a, b, 0x88)));
        _mm512_storeu_ps(to + 16, _mm512_add_ps(_mm512_loadu_ps(to + 16), _mm512_shuffle_f32x4(a, b, 0xdd)));
    }
}

CPU_INLINE void value_products(const uint8_t *weights, const uint8_t *codes, sums *to)
{
    TILE_LOAD(5, weights, TILE_LINE);
    TILE_LOAD(6, codes, TILE_LINE);
    TILE_ZERO(0);
    TILE_BYTES(0, 5, 6);
    TILE_LOAD(7, codes + TILE, TILE_LINE);
    TILE_ZERO(1);
    TILE_BYTES(1, 5, 7);
    TILE_STORE(0, to[0], TILE_LINE);
    TILE_STORE(1, to[1], TILE_LINE);
}

/* A block of V with a tile of queries is a step: its weights are made, met by tiles with the next, and the sums read with the one
 * after that.  Tiles are loaded only when all that was written before is in the cache, and so is what they write. */
CPU_INLINE void values_of(const cpu_attn_shape *s, const cpu_rows *v, const float *p, float *sum, uint8_t *scratch, later_rows next,
                          int64_t blocks, const uint32_t type)
{
    enum { BEHIND = 2 };
    const digits_scratch at = scratch_of(s, scratch);
    const int64_t steps = tiles_of(s->columns) * blocks;
    digits_asks asks = asks_of(next, s->key_bytes / 2, blocks * CELLS / 4); /* with those on their way the hardware finds the others */
    float worth[BEHIND + 1][TOGETHER], rest_worth[TOGETHER];
    for (int64_t i = 0; i < steps + BEHIND; i++) {
        const int64_t c = i / blocks * TOGETHER, b = i % blocks, met = i - 1, read = i - BEHIND;
        if (c == 0 && v->n == CELLS)
            value_codes(&at, v, b, type, true, &asks);
        else if (c == 0)
            value_codes(&at, v, b, type, false, &asks);
        if (i < steps && weigh_block(p + c * CELLS, at.d + b * CELLS, s->columns - c, at.weights + i % 2 * TILE,
                                     worth[i % (BEHIND + 1)], at.weights + 2 * TILE, rest_worth)) {
            value_products(at.weights + 2 * TILE, at.codes + b * 2 * TILE, at.sum + 4);
            add_block(at.sum + 4, rest_worth, sum + c * s->e + b * BLOCK, s->e, s->columns - c);
        }
        if (met >= 0 && met < steps)
            value_products(at.weights + met % 2 * TILE, at.codes + met % blocks * 2 * TILE, at.sum + met % 2 * 2);
        if (read >= 0) {
            const int64_t first = read / blocks * TOGETHER;
            add_block(at.sum + read % 2 * 2, worth[read % (BEHIND + 1)], sum + first * s->e + read % blocks * BLOCK, s->e,
                      s->columns - first);
        }
    }
}

#define VALUES_CASE(NAME, name, bytes, bias)                                                                           \
    case ENG_TYPE_##NAME:                                                                                              \
        if (s->e == 128)                                                                                               \
            values_of(s, v, p, sum, scratch, *next, 4, ENG_TYPE_##NAME);                                               \
        else                                                                                                           \
            values_of(s, v, p, sum, scratch, *next, s->e / BLOCK, ENG_TYPE_##NAME);                                    \
        break;

static void values(const cpu_attn_shape *s, const cpu_rows *v, const later_rows *next, const float *p, float *sum, uint8_t *scratch)
{
    switch (s->value) {
        DIGIT_TYPES(VALUES_CASE)
    default: break;
    }
}

const cpu_attn_unit cpu_tiles_attention_digits = {false, takes, scratch_bytes, queries, scores, values, end};
