/*
 * Weights rounded to bf16 times columns that are, too, by tiles: precision fast with many columns, of blocks in lanes
 * (planes/lanes.h), and of f32 and f16 with rows side by side (EU_STRIP).  A chunk's numbers are made to floats, with scales and minima, once for all columns; what is left is a product of
 * tiles without anything between, where sums of bytes must be taken out of tiles every 32 elements (planes.c): half the time
 * of that, and less is lost: bf16 keeps eight bits of each number, bytes seven of the largest of 32.
 *
 * By count a line of 64 weights is 12 operations of floats and 8 others; with 40 columns that takes as long as is saved.
 */
#include "config.h"

#include "../cpu.h"
#include "../planes/types.h"
#include "pairs.h"
#include "tiles.h"
#include "variant.h"

/* Bytes of a chunk's lines, behind those of bf16, and its factors. */
#define BYTES_AT (TILES_CHUNK * EU_STRIP * 2)
#define SCALES_AT (BYTES_AT + TILES_CHUNK * EU_STRIP)
#define MINIMA_AT (SCALES_AT + TILES_CHUNK / 16 * EU_STRIP * (int)sizeof(float))
_Static_assert(MINIMA_AT + TILES_CHUNK / 16 * EU_STRIP * (int)sizeof(float) <= TILES_LINES_BYTES, "a chunk fits");

/* Byte i of each lane as a weight. */
CPU_INLINE __m512 weight(__m512i bytes, const int i, vf d, vf m)
{
    const __m512i number = i == 3 ? _mm512_srli_epi32(bytes, 24)
                                  : _mm512_and_si512(_mm512_srli_epi32(bytes, (unsigned)(8 * i)), _mm512_set1_epi32(255));
    return (__m512)v_fma(v_cvt((vi)number), d, m);
}

/* A line of bytes of 16 rows becomes two of bf16. */
CPU_INLINE void round_line(const uint8_t *line, vf d, vf m, uint8_t *to)
{
    const __m512i bytes = _mm512_load_si512(line);
    _mm512_store_si512(to, rounded_pairs(weight(bytes, 0, d, m), weight(bytes, 1, d, m)));
    _mm512_store_si512(to + LINE, rounded_pairs(weight(bytes, 2, d, m), weight(bytes, 3, d, m)));
}

static const uint8_t *rounded_lines(const cpu_gemm *g, int64_t m, int64_t rows, int64_t word, int64_t words, uint8_t *to)
{
    const planes_form form = planes_types[g->type].form;
    const strip_panel panel = {to + BYTES_AT, {(float *)(to + SCALES_AT), (float *)(to + MINIMA_AT), NULL, NULL}, true};
    const int64_t lines = words / 2, each = LINES_EACH / form.parts;
    planes_types[g->type].type->panel(g, 2 * word, 2 * words, rows_at(g, m, rows, 2 * word), &panel);
    for (int64_t i = 0; i < lines; i++)
        for (int v = 0; v < VECTORS; v++) {
            const int64_t factors = i / each * STRIP + v * ROWS;
            const vf d = v_load(panel.factors.d + factors);
            const vf least = form.minima ? v_load(panel.factors.m + factors) : d * -(float)form.bias;
            round_line(panel.lines + i * LINE + 4 * ROWS * v, d, least, to + 2 * i * LINE + 4 * ROWS * v);
        }
    return to;
}

/* -- types without blocks: an element of EU_STRIP rows, then the next ----------------------------------- */

CPU_INLINE __m512 element_of(const uint8_t *at, int64_t index, const bool half)
{
    return half ? _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)at + index)) : _mm512_loadu_ps((const float *)at + 16 * index);
}

CPU_INLINE void round_elements(const uint8_t *at, int64_t words, const bool half, uint8_t *to)
{
    for (int64_t w = 0; w < words; w++)
        for (int v = 0; v < VECTORS; v++)
            _mm512_store_si512(to + w * LINE + 4 * ROWS * v, rounded_pairs(element_of(at, 2 * VECTORS * w + v, half),
                                                                  element_of(at, 2 * VECTORS * w + VECTORS + v, half)));
}

static const uint8_t *rounded_elements(const cpu_gemm *g, int64_t m, int64_t rows, int64_t word, int64_t words, uint8_t *to)
{
    const uint8_t *strip = g->a + (m - g->row0) * g->stride;
    (void)rows;
    if (g->type == ENG_TYPE_F16)
        round_elements(strip + word * 2 * EU_STRIP * 2, words, true, to);
    else
        round_elements(strip + word * 2 * EU_STRIP * 4, words, false, to);
    return to;
}

/* -- all ------------------------------------------------------------------------------------------ */

static size_t column_bytes(int64_t k, bool together)
{
    return cpu_tiles_bf16_column(k, (tiles_packing){1, together});
}

static size_t packed_bytes(int64_t k, int64_t n, bool together)
{
    return cpu_tiles_bf16_packed(k, n, (tiles_packing){1, together});
}

static int64_t grain(int64_t n)
{
    (void)n;
    return EU_STRIP;
}

#define PRODUCTS(name, together)                                                                                       \
    static size_t column_##name(uint32_t type, int64_t k)                                                              \
    {                                                                                                                  \
        (void)type;                                                                                                    \
        return column_bytes(k, together);                                                                              \
    }                                                                                                                  \
    static size_t packed_##name(uint32_t type, int64_t k, int64_t n)                                                   \
    {                                                                                                                  \
        (void)type;                                                                                                    \
        return packed_bytes(k, n, together);                                                                           \
    }                                                                                                                  \
    static size_t scratch_##name(uint32_t type, int64_t k, int64_t n)                                                  \
    {                                                                                                                  \
        (void)type;                                                                                                    \
        return cpu_tiles_bf16_scratch() + packed_bytes(k, n, together);                                                \
    }                                                                                                                  \
    static void pack_##name(const cpu_gemm *g, int64_t c0, int64_t c1, void *out)                                      \
    {                                                                                                                  \
        cpu_tiles_bf16_pack(g, c0, c1, (tiles_packing){1, together}, out);                                             \
    }                                                                                                                  \
    static void rows_##name(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch)                               \
    {                                                                                                                  \
        cpu_tiles_bf16_rows(g, (tiles_packing){1, together}, g->group == EU_STRIP ? rounded_elements : rounded_lines,  \
                            m0, m1, scratch);                                                                          \
    }
PRODUCTS(apart, false)
PRODUCTS(together, true)

const cpu_products cpu_tiles_rounded[2] = {
    {scratch_apart, packed_apart, pack_apart, rows_apart, grain, column_apart},
    {scratch_together, packed_together, pack_together, rows_together, grain, column_together},
};
