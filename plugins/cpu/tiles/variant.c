/* The variant amx: that of avx512vnni, with tiles for products of many columns and of bf16; and whether tiles work. */
#include "config.h"

#include <string.h>

#include "../cpu.h"
#include "tiles.h"
#include "variant.h"

extern const cpu_op *const cpu_ops_avx512[ENG_OP_LIMIT];
extern const cpu_interleaved cpu_tiles_planes, cpu_tiles_strips;
extern const cpu_units cpu_units_avx512vnni;
extern const cpu_attn_unit cpu_tiles_attention, cpu_tiles_attention_digits;
extern const cpu_delta_unit cpu_tiles_delta;

/* -- do tiles work? ---------------------------------------------------------------------------- */

#define ROWS 5  /* of A and C */
#define WORDS 7 /* of a row of A, four bytes or two bf16 each */
#define COLS 16

typedef union tile_numbers {
    int8_t bytes[TILE_ROWS][TILE_LINE];
    uint16_t bf16[TILE_ROWS][TILE_LINE / 2];
    int32_t words[TILE_ROWS][TILE_LINE / 4];
    float floats[TILE_ROWS][TILE_LINE / 4];
} tile_numbers;

static void shape(void)
{
    tile_shapes s = {0};
    tile_shape(&s, 0, ROWS, 4 * COLS);
    tile_shape(&s, 1, ROWS, 4 * WORDS);
    tile_shape(&s, 2, WORDS, 4 * COLS);
    tiles_configure(&s);
}

/* Numbers that a product of bytes gets wrong if it takes one with a sign for one without, or rows for columns. */
static bool bytes_work(void)
{
    tile_numbers a, b, c;
    for (int i = 0; i < TILE_ROWS; i++)
        for (int j = 0; j < TILE_LINE; j++) {
            a.bytes[i][j] = (int8_t)(37 * i - 11 * j - 90);
            b.bytes[i][j] = (int8_t)(-23 * i + 5 * j + 100);
        }
    memset(&c, 0x55, sizeof c);
    shape();
    TILE_ZERO(0);
    TILE_LOAD(1, &a, TILE_LINE);
    TILE_LOAD(2, &b, TILE_LINE);
    TILE_BYTES(0, 1, 2);
    TILE_BYTES(0, 1, 2);
    TILE_BYTES_UNSIGNED(0, 1, 2);
    TILE_STORE(0, &c, TILE_LINE);
    tiles_release();
    for (int i = 0; i < TILE_ROWS; i++)
        for (int j = 0; j < COLS; j++) {
            int32_t sum = i < ROWS ? 0 : 0x55555555;
            for (int k = 0; i < ROWS && k < 4 * WORDS; k++)
                sum += a.bytes[i][k] * (2 * b.bytes[k / 4][4 * j + k % 4] + (uint8_t)b.bytes[k / 4][4 * j + k % 4]);
            if (sum != c.words[i][j])
                return false;
        }
    return true;
}

/* Small integers, whose sums are exact in whatever order. */
static bool bf16_works(void)
{
    tile_numbers a, b, c;
    for (int i = 0; i < TILE_ROWS; i++)
        for (int j = 0; j < TILE_LINE / 2; j++) {
            const float x = (float)((7 * i + 3 * j) % 31 - 15), y = (float)((5 * i + 11 * j) % 61 - 30);
            uint32_t bits[2];
            memcpy(&bits[0], &x, sizeof x);
            memcpy(&bits[1], &y, sizeof y);
            a.bf16[i][j] = (uint16_t)(bits[0] >> 16);
            b.bf16[i][j] = (uint16_t)(bits[1] >> 16);
        }
    memset(&c, 0, sizeof c);
    shape();
    TILE_LOAD(0, &c, TILE_LINE);
    TILE_LOAD(1, &a, TILE_LINE);
    TILE_LOAD(2, &b, TILE_LINE);
    TILE_BF16(0, 1, 2);
    TILE_STORE(0, &c, TILE_LINE);
    tiles_release();
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++) {
            int sum = 0;
            for (int k = 0; k < 2 * WORDS; k++)
                sum += ((7 * i + 3 * k) % 31 - 15) * ((5 * (k / 2) + 11 * (2 * j + k % 2)) % 61 - 30);
            if (c.floats[i][j] != (float)sum)
                return false;
        }
    return true;
}

static bool works(void)
{
    static atomic_int known; /* 1: no, 2: yes */
    if (!atomic_load(&known))
        atomic_store(&known, bytes_work() && bf16_works() ? 2 : 1);
    return atomic_load(&known) == 2;
}

/* -- a roof -------------------------------------------------------------------------------------- */

/* Operations of so many rounds of nothing but products of tiles of bf16, which are those of precision fast. */
static double matrix(int64_t rounds, float *sum)
{
    enum { SUMS = 4 };
    _Alignas(64) int32_t line[TILE_ROWS][TILE_ROWS] = {{(int32_t)*sum}};
    const int64_t times = rounds / TILE_ROWS; /* a product takes as many cycles as a tile has rows */
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
    for (int64_t i = 0; i < times; i++) {
        TILE_BF16(0, 4, 5);
        TILE_BF16(1, 4, 5);
        TILE_BF16(2, 4, 5);
        TILE_BF16(3, 4, 5);
    }
    TILE_STORE(0, line, TILE_LINE);
    tiles_release();
    *sum = (float)line[0][0];
    return 2.0 * SUMS * TILE_ROWS * TILE_ROWS * (TILE_LINE / 2) * (double)times;
}

/* -- the variant ---------------------------------------------------------------------------------- */

const cpu_variant cpu_variant_amx = {
    .name = "amx",
    .works = works,
    CPU_VARIANT_OPS,
    .planes = &cpu_tiles_planes,
    .strips = &cpu_tiles_strips,
    .matrix = matrix,
    .units = &cpu_units_avx512vnni,
    .attention = &cpu_tiles_attention_digits,
    .attention_fast = &cpu_tiles_attention,
    .delta = &cpu_tiles_delta,
};
