/* Precision fast by tiles: weights of bf16 with rows side by side; all else as avx512vnni has it. */
#include "config.h"

#include "../cpu.h"
#include "../units/units.h"
#include "tiles.h"
#include "variant.h"

extern const cpu_units cpu_units_avx512vnni;

static const cpu_products *const others = &cpu_units_avx512vnni.products;

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Which of both it will be is not known here. */
static size_t packed_bytes(uint32_t type, int64_t k, int64_t n)
{
    const size_t other = others->packed_bytes(type, k, n);
    return type == ENG_TYPE_BF16 ? larger(other, cpu_tiles_bf16_packed(k, n, 1)) : other;
}

static size_t scratch_bytes(uint32_t type, int64_t k, int64_t n)
{
    const size_t other = others->scratch_bytes(type, k, n);
    return type == ENG_TYPE_BF16 ? larger(other, cpu_tiles_bf16_packed(k, n, 1)) : other;
}

static void pack(const cpu_gemm *g, int64_t c0, int64_t c1, void *out)
{
    if (cpu_tiles_take_bf16(g))
        cpu_tiles_bf16_pack(g, c0, c1, 1, out);
    else
        others->pack(g, c0, c1, out);
}

static void rows(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch)
{
    if (cpu_tiles_take_bf16(g))
        cpu_tiles_bf16_rows(g, 1, m0, m1, scratch);
    else
        others->rows(g, m0, m1, scratch);
}

static int64_t grain(int64_t n)
{
    return others->grain(n);
}

static bool takes(uint32_t type, uint32_t group, int64_t n)
{
    return (type == ENG_TYPE_BF16 && group == EU_STRIP) || cpu_units_avx512vnni.takes(type, group, n);
}

static double dot(int64_t rounds, float *sum)
{
    return cpu_units_avx512vnni.dot(rounds, sum);
}

/* Operations of so many rounds of nothing but products of tiles of bytes. */
static double matrix(int64_t rounds, float *sum)
{
    enum { SUMS = 4 };
    _Alignas(64) int32_t line[TILE_ROWS][TILE_ROWS] = {{(int32_t)*sum}};
    tile_shapes s = {0};
    for (int i = 0; i < 8; i++)
        tile_shape(&s, i, TILE_ROWS, TILE_LINE);
    tiles_configure(&s);
    TILE_LOAD(0, line, TILE_LINE);
    TILE_ZERO(1);
    TILE_ZERO(2);
    TILE_ZERO(3);
    TILE_LOAD(4, line, TILE_LINE);
    TILE_LOAD(5, line, TILE_LINE);
    for (int64_t i = 0; i < rounds / TILE_ROWS; i++) {
        TILE_BYTES(0, 4, 5);
        TILE_BYTES(1, 4, 5);
        TILE_BYTES(2, 4, 5);
        TILE_BYTES(3, 4, 5);
    }
    TILE_STORE(0, line, TILE_LINE);
    tiles_release();
    *sum = (float)line[0][0];
    return 2.0 * SUMS * TILE_ROWS * TILE_ROWS * TILE_LINE * (double)(rounds / TILE_ROWS);
}

const cpu_units cpu_units_tiles = {{scratch_bytes, packed_bytes, pack, rows, grain, NULL}, takes, dot, matrix};
