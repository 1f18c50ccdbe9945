/* Rows of weights side by side, as words (words.h). */
#include "config.h"

#include "../ops/bytes.h"

#include "words.h"

/* Eight rows' two bytes, as words. */
CPU_INLINE void put_line(__m128i bytes, uint8_t *out)
{
    _mm256_storeu_si256((vb *)out, _mm256_cvtepi8_epi16(bytes));
}

/* Eight rows' 32 bytes, less the bias, two by two: those of all rows together, as words.  Halves of a register stay
 * what they are: elements 0 .. 15 and 16 .. 31. */
CPU_INLINE void exchange(const uint8_t *in, int64_t stride, vb bias, uint8_t *out)
{
    vb a[8], b[8];
    CPU_UNROLL
    for (int r = 0; r < 8; r++)
        a[r] = _mm256_sub_epi8(b_load(in + r * stride), bias);
    CPU_UNROLL
    for (int r = 0; r < 8; r += 2) {
        b[r] = _mm256_unpacklo_epi16(a[r], a[r + 1]);
        b[r + 1] = _mm256_unpackhi_epi16(a[r], a[r + 1]);
    }
    CPU_UNROLL
    for (int r = 0; r < 8; r += 4)
        CPU_UNROLL
        for (int h = 0; h < 2; h++) {
            a[r + 2 * h] = _mm256_unpacklo_epi32(b[r + h], b[r + 2 + h]);
            a[r + 2 * h + 1] = _mm256_unpackhi_epi32(b[r + h], b[r + 2 + h]);
        }
    CPU_UNROLL
    for (int i = 0; i < 4; i++) {
        const vb first = _mm256_unpacklo_epi64(a[i], a[4 + i]), second = _mm256_unpackhi_epi64(a[i], a[4 + i]);
        put_line(_mm256_castsi256_si128(first), out + 128 * i);
        put_line(_mm256_castsi256_si128(second), out + 128 * i + 64);
        put_line(_mm256_extracti128_si256(first, 1), out + 512 + 128 * i);
        put_line(_mm256_extracti128_si256(second, 1), out + 512 + 128 * i + 64);
    }
}

void cpu_words_strip(const cpu_gemm *g, int64_t m, int64_t rows, int64_t k0, int64_t kc, uint8_t *room,
                     const words_strip *to)
{
    const units_lines *type = cpu_units_lines(g->type);
    const int64_t length = kc / g->block * g->block_bytes;
    for (int64_t r = 0; r < rows; r++) {
        uint8_t buffer[2 * PANEL];
        const uint8_t *blocks = cpu_units_blocks(g, m + r, k0, kc, buffer);
        for (int64_t i = 0; i < length && g->group <= 1; i += 64) /* of the next strip */
            ask_far(blocks + STRIP * g->stride + i);
        type->make(blocks, kc, room + r * ROOM_ROW, to->d + r, to->m + r);
    }
    const vb bias = b_all(type->bias);
    for (int64_t i = 0; i < kc; i += GROUP)
        CPU_UNROLL
        for (int h = 0; h < 2; h++)
            exchange(room + 8 * h * ROOM_ROW + i, ROOM_ROW, bias, to->lines + i / 2 * 64 + 32 * h);
}
