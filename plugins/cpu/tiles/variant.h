/* What the files of the variant amx have for one another. */
#ifndef CPU_TILES_VARIANT_H
#define CPU_TILES_VARIANT_H

#include "../ops/gemm.h"

/* Rows m0 .. m1 - 1 of weights of bf16 with EU_STRIP rows side by side times columns that were packed (bf16.c). */
void cpu_tiles_bf16(const cpu_gemm *g, const uint8_t *packed, int64_t m0, int64_t m1);
void cpu_tiles_bf16_pack(const cpu_gemm *g, int64_t c0, int64_t c1, uint8_t *out);
size_t cpu_tiles_bf16_packed(int64_t k, int64_t n);

#endif
