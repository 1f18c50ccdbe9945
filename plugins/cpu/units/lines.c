/* Rows of block formats as bytes (lines.h).  Compiled once per variant that uses them. */
#include "config.h"

#include "lines.h"
#include "scales.h"

#include "libengine/util/util.h"

/* Scales, and minima if there are any, of n groups to every STRIP-th float. */
CPU_INLINE void spread(const float *scale, const float *minimum, int n, const bool minima, float *d, float *m)
{
    CPU_UNROLL
    for (int j = 0; j < n; j++) {
        d[j * STRIP] = scale[j];
        if (minima)
            m[j * STRIP] = minimum[j];
    }
}

CPU_INLINE void line_of(const uint8_t *b, int64_t n, uint8_t *q, float *d, float *m, const int chunk_bytes,
                        const int parts, const bool minima, const bool tail, numbers_of numbers, scales_of scales)
{
    const int each = CHUNK / GROUP * parts;
    float scale[CHUNK / 16], minimum[CHUNK / 16];
    int64_t i = 0;
    for (; i + CHUNK <= n; i += CHUNK, b += chunk_bytes, q += CHUNK, d += each * STRIP, m += each * STRIP) {
        scales(b, each, scale, minimum);
        CPU_UNROLL
        for (int j = 0; j < CHUNK / GROUP; j++)
            _mm256_storeu_si256((vb *)(q + j * GROUP), numbers(b, j));
        spread(scale, minimum, each, minima, d, m);
    }
    const int groups = (int)(n - i) / GROUP;
    if (!tail || groups == 0)
        return;
    scales(b, groups * parts, scale, minimum);
    for (int j = 0; j < groups; j++)
        _mm256_storeu_si256((vb *)(q + j * GROUP), numbers(b, j));
    spread(scale, minimum, groups * parts, minima, d, m);
}

#define LINE_OF(NAME, name, elements, bytes, group, bias)                                                              \
    static void line_##name(const uint8_t *b, int64_t n, uint8_t *q, float *d, float *m)                               \
    {                                                                                                                  \
        line_of(b, n, q, d, m, CHUNK / elements * bytes, GROUP / group, !(bias), elements < CHUNK, numbers_##name,     \
                scales_##name);                                                                                        \
    }
UNITS_TYPES(LINE_OF)

static const units_lines all[CPU_TYPES] = {
#define ROW(NAME, name, elements, bytes, group, bias) [ENG_TYPE_##NAME] = {line_##name, GROUP / group, bias, !(bias)},
    UNITS_TYPES(ROW)
#undef ROW
};

const units_lines *cpu_units_lines(uint32_t type)
{
    return type < CPU_TYPES && all[type].make ? &all[type] : NULL;
}

const uint8_t *cpu_units_blocks(const cpu_gemm *g, int64_t row, int64_t k0, int64_t kc, uint8_t *buffer)
{
    if (g->group <= 1)
        return cpu_gemm_row(g, row) + k0 / g->block * g->block_bytes;
    const eu_packing p = {.row_bytes = (uint64_t)g->stride, .block_bytes = (uint32_t)g->block_bytes, .rows = g->group};
    eu_packed_row(&p, g->a, (uint64_t)(row - g->row0), (uint64_t)(k0 / g->block), (uint64_t)(kc / g->block), buffer);
    return buffer;
}
