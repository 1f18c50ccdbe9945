/*
 * kernels/tiles.cl - products of tiles.clh, for plugins/opencl/device/tiles.c.  words: 32 elements of 16 columns in bf16, lines of 16
 * rows, and results, which the product is added to; then the same of 64 bytes, results of rows' bytes with a sign, and without.
 */
#include "launch.clh"
#include "tiles.clh"

#define TILE_WORDS 256

__kernel GROUP_OF(1) void tiles(__global uint *words)
{
    TILES(UNIT_BYTES);
    tiles_begin(UNIT_BYTES);
    TILE_LOAD(6, words, UNIT_BYTES);
    TILE_LOAD(7, words + TILE_WORDS, UNIT_BYTES);
    TILE_LOAD(0, words + 2 * TILE_WORDS, UNIT_BYTES);
    TILE_BF16(0, 6, 7);
    TILE_STORE(0, words + 2 * TILE_WORDS, UNIT_BYTES);
    words += 3 * TILE_WORDS;
    TILE_LOAD(6, words, UNIT_BYTES);
    TILE_LOAD(7, words + TILE_WORDS, UNIT_BYTES);
    TILE_LOAD(1, words + 2 * TILE_WORDS, UNIT_BYTES);
    TILE_LOAD(2, words + 3 * TILE_WORDS, UNIT_BYTES);
    TILE_BYTES(1, 6, 7);
    TILE_BYTES_UNSIGNED(2, 6, 7);
    TILE_STORE(1, words + 2 * TILE_WORDS, UNIT_BYTES);
    TILE_STORE(2, words + 3 * TILE_WORDS, UNIT_BYTES);
    tiles_end();
}
