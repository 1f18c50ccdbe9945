/* What the files of the variant amx have for one another. */
#ifndef CPU_TILES_VARIANT_H
#define CPU_TILES_VARIANT_H

#include "libengine/util/util.h"

#include "../ops/gemm.h"

/* Weights of bf16 with EU_STRIP rows side by side (bf16.c): columns c0 .. c1 - 1, one after another, each a sum of so many
 * numbers of bf16, 1 or TILES_EXACT; their bytes, of one and of n; rows m0 .. m1 - 1 times all of them. */
#define TILES_EXACT 3
void cpu_tiles_bf16_pack(const cpu_gemm *g, int64_t c0, int64_t c1, int parts, uint8_t *packed);
size_t cpu_tiles_bf16_column(int64_t k, int parts);
size_t cpu_tiles_bf16_packed(int64_t k, int64_t n, int parts);
void cpu_tiles_bf16(const cpu_gemm *g, const uint8_t *packed, int parts, int64_t m0, int64_t m1);

/* Are products of weights in lanes faster by tiles than by dot products?  Tried once (planes.c). */
bool cpu_tiles_pay(void);

/* Rows m0 .. m1 - 1, with columns packed at first if they are not. */
CPU_INLINE void cpu_tiles_bf16_rows(const cpu_gemm *g, int parts, int64_t m0, int64_t m1, uint8_t *scratch)
{
    const uint8_t *packed = g->packed;
    if (m0 >= m1 || g->n == 0)
        return;
    if (!packed) {
        cpu_tiles_bf16_pack(g, 0, g->n, parts, scratch);
        packed = scratch;
    }
    cpu_tiles_bf16(g, packed, parts, m0, m1);
}

#endif
