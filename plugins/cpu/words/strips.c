/* Rows of weights side by side, as words (words.h). */
#include "config.h"

#include "../ops/bytes.h"

#include "words.h"

/* Eight rows' 16 bytes, less the bias, two by two: those of all rows together, as words. */
CPU_INLINE void exchange(const uint8_t *in, int64_t stride, __m128i bias, uint8_t *out)
{
    __m128i a[8], b[8];
    CPU_UNROLL
    for (int r = 0; r < 8; r++)
        a[r] = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(in + r * stride)), bias);
    CPU_UNROLL
    for (int r = 0; r < 8; r += 2) {
        b[r] = _mm_unpacklo_epi16(a[r], a[r + 1]);
        b[r + 1] = _mm_unpackhi_epi16(a[r], a[r + 1]);
    }
    CPU_UNROLL
    for (int r = 0; r < 8; r += 4)
        CPU_UNROLL
        for (int h = 0; h < 2; h++) {
            a[r + 2 * h] = _mm_unpacklo_epi32(b[r + h], b[r + 2 + h]);
            a[r + 2 * h + 1] = _mm_unpackhi_epi32(b[r + h], b[r + 2 + h]);
        }
    CPU_UNROLL
    for (int i = 0; i < 4; i++) {
        const __m128i first = _mm_unpacklo_epi64(a[i], a[4 + i]), second = _mm_unpackhi_epi64(a[i], a[4 + i]);
        _mm256_storeu_si256((vb *)(out + 128 * i), _mm256_cvtepi8_epi16(first));
        _mm256_storeu_si256((vb *)(out + 128 * i + 64), _mm256_cvtepi8_epi16(second));
    }
}

static void no_row(int64_t kc, int parts, uint8_t *line, uint8_t bias, float *d, float *m)
{
    memset(line, bias, (size_t)kc);
    for (int64_t i = 0; i < kc / GROUP * parts; i++)
        d[i * STRIP] = m[i * STRIP] = 0;
}

void cpu_words_strip(const cpu_gemm *g, int64_t m, int64_t rows, int64_t k0, int64_t kc, uint8_t *room,
                     const words_strip *to)
{
    const units_lines *type = cpu_units_lines(g->type);
    const int64_t stride = PANEL + 64, length = kc / g->block * g->block_bytes;
    for (int64_t r = 0; r < STRIP; r++) {
        uint8_t *line = room + r * stride, buffer[2 * PANEL];
        if (r >= rows) {
            no_row(kc, type->parts, line, (uint8_t)type->bias, to->d + r, to->m + r);
            continue;
        }
        const uint8_t *blocks = cpu_units_blocks(g, m + r, k0, kc, buffer);
        for (int64_t i = 0; i < length && g->group <= 1; i += 64) /* of the next strip */
            __builtin_prefetch(blocks + STRIP * g->stride + i, 0, 2);
        type->make(blocks, kc, line, to->d + r, to->m + r);
    }
    const __m128i bias = _mm_set1_epi8((char)type->bias);
    for (int64_t i = 0; i < kc; i += 16)
        CPU_UNROLL
        for (int h = 0; h < 2; h++)
            exchange(room + 8 * h * stride + i, stride, bias, to->lines + i / 2 * 64 + 32 * h);
}
