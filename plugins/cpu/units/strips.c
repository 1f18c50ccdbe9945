/* Rows of weights laid out for the units (units.h). */
#include "config.h"

#include "libengine/util/util.h"

#include "units.h"

units_form cpu_units_form(uint32_t type)
{
    static const units_form forms[2][2] = {{UNITS_RAISED_32, UNITS_MINIMA_32}, {UNITS_RAISED_16, UNITS_MINIMA_16}};
    const units_lines *lines = cpu_units_lines(type);
    if (!lines)
        return type == ENG_TYPE_BF16 ? UNITS_BF16 : UNITS_NONE;
    return forms[lines->parts == 2][lines->minima];
}

int cpu_units_bias(uint32_t type)
{
    return cpu_units_lines(type) ? cpu_units_lines(type)->bias : 0;
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

void cpu_units_strip(const cpu_gemm *g, int64_t m, int64_t rows, int64_t k0, int64_t kc, uint8_t *room,
                     const units_strip *to)
{
    const units_form form = cpu_units_form(g->type);
    const units_lines *lines = cpu_units_lines(g->type);
    const int64_t bytes = (form == UNITS_BF16 ? 2 * kc : kc), stride = (form == UNITS_BF16 ? 2 * PANEL : PANEL) + 64;
    const int64_t ahead = g->group > 1 ? 0 : STRIP * g->stride, length = kc / g->block * g->block_bytes;
    for (int64_t r = 0; r < STRIP; r++) {
        uint8_t *line = room + r * stride, buffer[2 * PANEL];
        if (r < rows) {
            const uint8_t *blocks = cpu_units_blocks(g, m + r, k0, kc, buffer);
            for (int64_t i = 0; i < length && ahead; i += 64)
                ask_far(blocks + ahead + i);
            if (form == UNITS_BF16)
                memcpy(line, blocks, (size_t)bytes);
            else
                lines->make(blocks, kc, line, to->scale + r, to->minimum + r);
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
