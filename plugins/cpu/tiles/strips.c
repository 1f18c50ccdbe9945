/* Types without blocks, with rows side by side: bf16 by tiles, in exact and in fast, f32 and f16 as avx512 has them. */
#include "config.h"

#include "../cpu.h"
#include "variant.h"

extern const cpu_interleaved cpu_strips_avx512;
extern const cpu_products cpu_tiles_rounded;

static const cpu_products *const others = &cpu_strips_avx512.exact;

/* In so many numbers of bf16 for an element: those of f32 and f16 have none. */
#define PRODUCTS(name, parts)                                                                                          \
    static size_t column_##name(uint32_t type, int64_t k)                                                              \
    {                                                                                                                  \
        return type == ENG_TYPE_BF16 ? cpu_tiles_bf16_column(k, parts) : others->column_bytes(type, k);                \
    }                                                                                                                  \
    static size_t packed_##name(uint32_t type, int64_t k, int64_t n)                                                   \
    {                                                                                                                  \
        return type == ENG_TYPE_BF16 ? cpu_tiles_bf16_packed(k, n, parts) : others->packed_bytes(type, k, n);          \
    }                                                                                                                  \
    static size_t scratch_##name(uint32_t type, int64_t k, int64_t n)                                                  \
    {                                                                                                                  \
        return type == ENG_TYPE_BF16 ? cpu_tiles_bf16_scratch() + packed_##name(type, k, n)                       \
                                     : others->scratch_bytes(type, k, n);                                              \
    }                                                                                                                  \
    static void pack_##name(const cpu_gemm *g, int64_t c0, int64_t c1, void *out)                                      \
    {                                                                                                                  \
        if (g->type == ENG_TYPE_BF16)                                                                                  \
            cpu_tiles_bf16_pack(g, c0, c1, parts, out);                                                                \
        else                                                                                                           \
            others->pack(g, c0, c1, out);                                                                              \
    }                                                                                                                  \
    static void rows_##name(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch)                               \
    {                                                                                                                  \
        if (g->type == ENG_TYPE_BF16)                                                                                  \
            cpu_tiles_bf16_rows(g, parts, cpu_tiles_bf16_lines, m0, m1, scratch);                                  \
        else                                                                                                           \
            others->rows(g, m0, m1, scratch);                                                                          \
    }
PRODUCTS(exact, TILES_EXACT)
PRODUCTS(fast, 1)

static int64_t grain(int64_t n)
{
    return others->grain(n);
}

#define BIT(type) (UINT64_C(1) << ENG_TYPE_##type)
const cpu_interleaved cpu_tiles_strips = {
    .exact = {scratch_exact, packed_exact, pack_exact, rows_exact, grain, column_exact},
    .fast = {scratch_fast, packed_fast, pack_fast, rows_fast, grain, column_fast},
    .types = BIT(F32) | BIT(F16) | BIT(BF16),
    .rounded = BIT(BF16),
    .many_fast = &cpu_tiles_rounded,
    .many_fast_from = TILES_ROUNDED,
};
