/*
 * kernels/tiles.cl - a product of tiles.clh, for plugins/opencl/device/tiles.c.  words: 32 elements of 16 columns, lines of 16
 * rows, and results, which the product is added to.
 */
#include "launch.clh"
#include "tiles.clh"

__kernel GROUP_OF(1) void tiles(__global uint *words)
{
    tiles_begin();
    TILE_LOAD(4, words, UNIT_BYTES);
    TILE_LOAD(6, words + 256, UNIT_BYTES);
    TILE_LOAD(0, words + 512, UNIT_BYTES);
    TILE_BF16(0, 4, 6);
    TILE_STORE(0, words + 512, UNIT_BYTES);
    tiles_end();
}
