/* Columns rounded to words (words.h). */
#include "config.h"

#include "../ops/sizes.h"

#include "words.h"

#define MOST 32767 /* the largest word */

/* Of 16 words each. */
CPU_INLINE int32_t sum_of(vb words)
{
    const vb pairs = _mm256_madd_epi16(words, _mm256_set1_epi16(1));
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}

/* 16 elements in their order. */
CPU_INLINE vb words_of(const float *x, float by)
{
    const __m256 low = _mm256_mul_ps(_mm256_loadu_ps(x), _mm256_set1_ps(by));
    const __m256 high = _mm256_mul_ps(_mm256_loadu_ps(x + 8), _mm256_set1_ps(by));
    const vb words = _mm256_packs_epi32(_mm256_cvtps_epi32(low), _mm256_cvtps_epi32(high));
    return _mm256_permute4x64_epi64(words, 0xd8);
}

/* A value that is no number makes its group's scale none; a group that is next to nothing is zero. */
CPU_INLINE void pack_group(const float *x, const units_lines *type, uint8_t *out)
{
    vb size[4];
    sizes_of(x, size);
    const int32_t bits = largest_of(size);
    float most;
    memcpy(&most, &bits, 4);
    const float scale = bits >= INFINITE ? NAN : most >= 0x1p-110f ? most / MOST : 0, by = scale > 0 ? 1 / scale : 0;
    const vb words[2] = {words_of(x, by), words_of(x + 16, by)};
    _mm256_storeu_si256((vb *)out, words[0]);
    _mm256_storeu_si256((vb *)(out + GROUP), words[1]);
    memcpy(out + 2 * GROUP, &scale, 4);
    if (!type->minima)
        return;
    int32_t sum[2] = {sum_of(words[0]), sum_of(words[1])};
    if (type->parts == 1)
        sum[0] += sum[1];
    for (int p = 0; p < type->parts; p++) {
        const float met = scale * (float)sum[p];
        memcpy(out + 2 * GROUP + 4 + 4 * p, &met, 4);
    }
}

void cpu_words_pack(const cpu_gemm *g, int64_t c0, int64_t c1, void *out)
{
    const units_lines *type = cpu_units_lines(g->type);
    const int64_t each = words_group_bytes(type->parts, type->minima), groups = cpu_units_groups(g->k);
    for (int64_t c = c0; c < c1; c++) {
        uint8_t *to = (uint8_t *)out + c * groups * each;
        for (int64_t i = 0; i < groups; i++, to += each) {
            float buffer[GROUP];
            pack_group(cpu_gemm_elements(g, c, i * GROUP, GROUP, buffer), type, to);
        }
    }
}
