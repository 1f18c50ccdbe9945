/* Prints for each type of weighted.h what ggml's encoder loses with importance, or the hash of its blocks:
 * tests/data/weighted.txt. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "ggml-quants.h"

#include "weighted.h"

/* What the file needs of the rest of ggml. */
void ggml_critical_section_start(void)
{
}

void ggml_critical_section_end(void)
{
}

size_t ggml_row_size(enum ggml_type type, int64_t n)
{
    switch (type) {
#define CASE(type, block, bytes) case type: return (size_t)n / block * bytes;
        CASE(2, 32, 18) CASE(3, 32, 20) CASE(6, 32, 22) CASE(7, 32, 24) CASE(10, 256, 84) CASE(11, 256, 110) CASE(12, 256, 144)
        CASE(13, 256, 176) CASE(14, 256, 210) CASE(16, 256, 66) CASE(17, 256, 74) CASE(18, 256, 98) CASE(19, 256, 50)
        CASE(20, 32, 18) CASE(21, 256, 110) CASE(22, 256, 82) CASE(23, 256, 136) CASE(29, 256, 56) CASE(34, 256, 54)
        CASE(35, 256, 66) CASE(41, 128, 18) CASE(42, 64, 18)
    default: abort();
    }
}

int main(void)
{
    static float x[PEERS_WEIGHTS], y[PEERS_WEIGHTS], importance[PEERS_COLUMNS];
    static uint8_t blocks[PEERS_WEIGHTS];
    peers_rows(x, importance);
#define PRINT(name, number, tables)                                                                                    \
    if (tables == 1)                                                                                                   \
        iq2xs_init_impl((enum ggml_type)number);                                                                       \
    else if (tables)                                                                                                   \
        iq3xs_init_impl(tables);                                                                                       \
    quantize_##name(x, blocks, PEERS_ROWS, PEERS_COLUMNS, importance);                                                 \
    dequantize_row_##name((const void *)blocks, y, PEERS_WEIGHTS);                                                     \
    printf("%s %.5f\n", #name, peers_lost(x, y, importance));
    PEERS_WEIGHTED(PRINT)
#define HASH(name, number, block, bytes)                                                                               \
    quantize_##name(x, blocks, PEERS_ROWS, PEERS_COLUMNS, NULL);                                                       \
    printf("%s %016" PRIx64 "\n", #name, peers_bytes_hash(blocks, PEERS_WEIGHTS / block * bytes));
    PEERS_FEW(HASH)
    return 0;
}
