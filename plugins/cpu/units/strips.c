/* Rows of weights laid out for the units (units.h). */
#include "config.h"

#include "scales.h"
#include "units.h"

#include "libengine/util/util.h"

/* A row's elements as bytes; d and m of its groups go to every STRIP-th float. */
typedef void (*line_maker)(const uint8_t *blocks, int64_t n, uint8_t *q, float *d, float *m);

/* Scales and minima of n groups to every STRIP-th float. */
CPU_INLINE void spread(const float *scale, const float *minimum, int n, float *d, float *m)
{
    for (int j = 0; j < n; j++) {
        d[j * STRIP] = scale[j];
        m[j * STRIP] = minimum[j];
    }
}

CPU_INLINE void line_of(const uint8_t *b, int64_t n, uint8_t *q, float *d, float *m, const int chunk_bytes,
                        const int parts, const bool tail, numbers_of numbers, scales_of scales)
{
    const int each = CHUNK / GROUP * parts;
    float scale[CHUNK / 16], minimum[CHUNK / 16];
    int64_t i = 0;
    for (; i + CHUNK <= n; i += CHUNK, b += chunk_bytes, q += CHUNK, d += each * STRIP, m += each * STRIP) {
        scales(b, each, scale, minimum);
        CPU_UNROLL
        for (int j = 0; j < CHUNK / GROUP; j++)
            _mm256_storeu_si256((vb *)(q + j * GROUP), numbers(b, j));
        spread(scale, minimum, each, d, m);
    }
    const int groups = (int)(n - i) / GROUP;
    if (!tail || groups == 0)
        return;
    scales(b, groups * parts, scale, minimum);
    for (int j = 0; j < groups; j++)
        _mm256_storeu_si256((vb *)(q + j * GROUP), numbers(b, j));
    spread(scale, minimum, groups * parts, d, m);
}

#define LINE_OF(NAME, name, elements, bytes, group, bias)                                                              \
    static void line_##name(const uint8_t *b, int64_t n, uint8_t *q, float *d, float *m)                               \
    {                                                                                                                  \
        line_of(b, n, q, d, m, CHUNK / elements * bytes, GROUP / group, elements < CHUNK, numbers_##name,              \
                scales_##name);                                                                                        \
    }
UNITS_TYPES(LINE_OF)

static const struct {
    line_maker make;
    units_form form;
    int bias;
} lines_of[CPU_TYPES] = {
#define ROW(NAME, name, elements, bytes, group, bias)                                                                  \
    [ENG_TYPE_##NAME] = {line_##name, bias ? (group == 16 ? UNITS_RAISED_16 : UNITS_RAISED_32)                         \
                                           : (group == 16 ? UNITS_MINIMA_16 : UNITS_MINIMA_32), bias},
    UNITS_TYPES(ROW)[ENG_TYPE_BF16] = {NULL, UNITS_BF16, 0},
#undef ROW
};

units_form cpu_units_form(uint32_t type)
{
    return type < CPU_TYPES ? lines_of[type].form : UNITS_NONE;
}

int cpu_units_bias(uint32_t type)
{
    return type < CPU_TYPES ? lines_of[type].bias : 0;
}

/* Sixteen times sixteen words of four bytes with lines and columns exchanged: word r of what goes to out + 64 * j is
 * word j of what is at in + r * stride. */
static void exchange(const uint8_t *in, int64_t stride, uint8_t *out)
{
    __m512i a[16], b[16];
    CPU_UNROLL
    for (int i = 0; i < 16; i++)
        a[i] = _mm512_loadu_si512(in + i * stride);
    CPU_UNROLL
    for (int i = 0; i < 16; i += 2) { /* pairs of words */
        b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
    }
    CPU_UNROLL
    for (int i = 0; i < 16; i += 4) { /* fours: a[i + j] has words j, j + 4, j + 8, j + 12 of rows i .. i + 3 */
        a[i] = _mm512_unpacklo_epi64(b[i], b[i + 2]);
        a[i + 1] = _mm512_unpackhi_epi64(b[i], b[i + 2]);
        a[i + 2] = _mm512_unpacklo_epi64(b[i + 1], b[i + 3]);
        a[i + 3] = _mm512_unpackhi_epi64(b[i + 1], b[i + 3]);
    }
    CPU_UNROLL
    for (int j = 0; j < 4; j++) {
        __m512i even01 = _mm512_shuffle_i32x4(a[j], a[j + 4], 0x88), odd01 = _mm512_shuffle_i32x4(a[j], a[j + 4], 0xdd);
        __m512i even23 = _mm512_shuffle_i32x4(a[j + 8], a[j + 12], 0x88);
        __m512i odd23 = _mm512_shuffle_i32x4(a[j + 8], a[j + 12], 0xdd);
        _mm512_store_si512(out + 64 * j, _mm512_shuffle_i32x4(even01, even23, 0x88));
        _mm512_store_si512(out + 64 * (j + 4), _mm512_shuffle_i32x4(odd01, odd23, 0x88));
        _mm512_store_si512(out + 64 * (j + 8), _mm512_shuffle_i32x4(even01, even23, 0xdd));
        _mm512_store_si512(out + 64 * (j + 12), _mm512_shuffle_i32x4(odd01, odd23, 0xdd));
    }
}

const uint8_t *cpu_units_blocks(const cpu_gemm *g, int64_t row, int64_t k0, int64_t kc, uint8_t *buffer)
{
    if (g->group <= 1)
        return cpu_gemm_row(g, row) + k0 / g->block * g->block_bytes;
    const eu_packing p = {.row_bytes = (uint64_t)g->stride, .block_bytes = (uint32_t)g->block_bytes, .rows = g->group};
    eu_packed_row(&p, g->a, (uint64_t)(row - g->row0), (uint64_t)(k0 / g->block), (uint64_t)(kc / g->block), buffer);
    return buffer;
}

void cpu_units_strip(const cpu_gemm *g, int64_t m, int64_t rows, int64_t k0, int64_t kc, uint8_t *room,
                     const units_strip *to)
{
    const units_form form = cpu_units_form(g->type);
    const int64_t bytes = (form == UNITS_BF16 ? 2 * kc : kc), stride = (form == UNITS_BF16 ? 2 * PANEL : PANEL) + 64;
    const int64_t ahead = g->group > 1 ? 0 : STRIP * g->stride, length = kc / g->block * g->block_bytes;
    for (int64_t r = 0; r < STRIP; r++) {
        uint8_t *line = room + r * stride, buffer[2 * PANEL];
        if (r < rows) {
            const uint8_t *blocks = cpu_units_blocks(g, m + r, k0, kc, buffer);
            for (int64_t i = 0; i < length && ahead; i += 64)
                __builtin_prefetch(blocks + ahead + i, 0, 2);
            if (form == UNITS_BF16)
                memcpy(line, blocks, (size_t)bytes);
            else
                lines_of[g->type].make(blocks, kc, line, to->scale + r, to->minimum + r);
        } else {
            memset(line, 0, (size_t)bytes);
            const int64_t groups = form == UNITS_BF16 ? 0 : kc / GROUP * cpu_units_parts(form);
            for (int64_t i = 0; i < groups; i++)
                to->scale[i * STRIP + r] = to->minimum[i * STRIP + r] = 0;
        }
        memset(line + bytes, 0, (size_t)(-bytes & 63));
    }
    for (int64_t i = 0; i < bytes; i += 64)
        exchange(room + i, stride, to->lines + i * STRIP);
}
