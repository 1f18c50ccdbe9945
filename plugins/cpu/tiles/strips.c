/* Types without blocks, with rows side by side: bf16 by tiles, in exact and in fast, f32 and f16 as avx512 has them. */
#include "config.h"

#include "../cpu.h"
#include "variant.h"

extern const cpu_interleaved cpu_strips_avx512;

static const cpu_products *const others = &cpu_strips_avx512.exact;

/* Columns for bf16, or as f32 and f16 have them. */
#define PRODUCTS(name, parts, together)                                                                                \
    static size_t column_##name(uint32_t type, int64_t k)                                                              \
    {                                                                                                                  \
        return type == ENG_TYPE_BF16 ? cpu_tiles_bf16_column(k, (tiles_packing){parts, together})                      \
                                     : others->column_bytes(type, k);                                                  \
    }                                                                                                                  \
    static size_t packed_##name(uint32_t type, int64_t k, int64_t n)                                                   \
    {                                                                                                                  \
        return type == ENG_TYPE_BF16 ? cpu_tiles_bf16_packed(k, n, (tiles_packing){parts, together})                   \
                                     : others->packed_bytes(type, k, n);                                               \
    }                                                                                                                  \
    static size_t scratch_##name(uint32_t type, int64_t k, int64_t n)                                                  \
    {                                                                                                                  \
        return type == ENG_TYPE_BF16 ? cpu_tiles_bf16_scratch() + packed_##name(type, k, n)                            \
                                     : others->scratch_bytes(type, k, n);                                              \
    }                                                                                                                  \
    static void pack_##name(const cpu_gemm *g, int64_t c0, int64_t c1, void *out)                                      \
    {                                                                                                                  \
        if (g->type == ENG_TYPE_BF16)                                                                                  \
            cpu_tiles_bf16_pack(g, c0, c1, (tiles_packing){parts, together}, out);                                     \
        else                                                                                                           \
            others->pack(g, c0, c1, out);                                                                              \
    }                                                                                                                  \
    static void rows_##name(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch)                               \
    {                                                                                                                  \
        if (g->type == ENG_TYPE_BF16)                                                                                  \
            cpu_tiles_bf16_rows(g, (tiles_packing){parts, together}, cpu_tiles_bf16_lines, m0, m1, scratch);           \
        else                                                                                                           \
            others->rows(g, m0, m1, scratch);                                                                          \
    }
PRODUCTS(exact, TILES_EXACT, false)
PRODUCTS(fast, 1, false)
PRODUCTS(fast_together, 1, true)

static int64_t grain(int64_t n)
{
    return others->grain(n);
}

#define CALLS(name) {scratch_##name, packed_##name, pack_##name, rows_##name, grain, column_##name}
static const cpu_products fast_together = CALLS(fast_together);

#define MANY 32 /* columns of bf16, of which those that are apart are in more pages than a core knows by heart */

static const cpu_products *instead(uint32_t type, int64_t k, int64_t n, bool fast, bool all_meet)
{
    if (type == ENG_TYPE_BF16)
        return fast && all_meet && n > MANY ? &fast_together : NULL;
    return fast && n >= TILES_ROUNDED && k % 2 == 0 ? &cpu_tiles_rounded[all_meet] : NULL;
}

#define BIT(type) (UINT64_C(1) << ENG_TYPE_##type)
const cpu_interleaved cpu_tiles_strips = {
    .exact = CALLS(exact),
    .fast = CALLS(fast),
    .types = BIT(F32) | BIT(F16) | BIT(BF16),
    .rounded = BIT(BF16),
    .instead = instead,
};
