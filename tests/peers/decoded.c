/* Prints for each type of blocks.h the hash of what ggml's decoder makes of its blocks: tests/data/decoded.txt. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ggml-quants.h"

#include "blocks.h"

int main(void)
{
    static float x[PEERS_BLOCKS * 256];
    static uint8_t blocks[PEERS_BLOCKS * 128];
#define PRINT(name, number, elements, bytes, scale)                                                                    \
    peers_fill(blocks, number, bytes, scale);                                                                          \
    dequantize_row_##name((const block_##name *)blocks, x, PEERS_BLOCKS * elements);                                   \
    printf("%s %016" PRIx64 "\n", #name, peers_hash(x, PEERS_BLOCKS * elements));
    PEERS_TYPES(PRINT)
    return 0;
}
