/* Types without blocks in exact, with rows side by side: bf16 by tiles, f32 and f16 as avx512 has them. */
#include "config.h"

#include "../cpu.h"
#include "variant.h"

extern const cpu_interleaved cpu_strips_avx512;

static const cpu_products *const others = &cpu_strips_avx512.exact;

static size_t packed_bytes(uint32_t type, int64_t k, int64_t n)
{
    return type == ENG_TYPE_BF16 ? cpu_tiles_bf16_packed(k, n, TILES_EXACT) : others->packed_bytes(type, k, n);
}

static size_t scratch_bytes(uint32_t type, int64_t k, int64_t n)
{
    return type == ENG_TYPE_BF16 ? packed_bytes(type, k, n) : others->scratch_bytes(type, k, n);
}

static void pack(const cpu_gemm *g, int64_t c0, int64_t c1, void *out)
{
    if (g->type == ENG_TYPE_BF16)
        cpu_tiles_bf16_pack(g, c0, c1, TILES_EXACT, out);
    else
        others->pack(g, c0, c1, out);
}

static void rows(const cpu_gemm *g, int64_t m0, int64_t m1, uint8_t *scratch)
{
    if (g->type == ENG_TYPE_BF16)
        cpu_tiles_bf16_rows(g, TILES_EXACT, m0, m1, scratch);
    else
        others->rows(g, m0, m1, scratch);
}

static int64_t grain(int64_t n)
{
    return others->grain(n);
}

static size_t column_bytes(uint32_t type, int64_t k)
{
    return type == ENG_TYPE_BF16 ? cpu_tiles_bf16_column(k, TILES_EXACT) : others->column_bytes(type, k);
}

#define BIT(type) (UINT64_C(1) << ENG_TYPE_##type)
const cpu_interleaved cpu_tiles_strips = {
    .exact = {scratch_bytes, packed_bytes, pack, rows, grain, column_bytes},
    .types = BIT(F32) | BIT(F16) | BIT(BF16),
};
