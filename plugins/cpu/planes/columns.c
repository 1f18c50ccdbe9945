/* Columns cut into planes (planes.h). */
#include "config.h"

#include "../ops/sizes.h"

#include "planes.h"

/* A bit for each of the 32 that is larger than `than`. */
CPU_INLINE uint32_t larger(const vb *size, int32_t than)
{
    uint32_t bits = 0;
    CPU_UNROLL
    for (int i = 0; i < 4; i++) {
        const vb more = _mm256_cmpgt_epi32(size[i], _mm256_set1_epi32(than));
        bits |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(more)) << 8 * i;
    }
    return bits;
}

/* Of eight from the 8 i-th on, those whose bits are not set. */
CPU_INLINE vb without(uint32_t bits, const int i)
{
    const vb bit = _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)(bits >> 8 * i)), bit), _mm256_setzero_si256());
}

#define OUTLIER (6 << 23) /* of bits: 64 times as large */

/*
 * Which elements are set apart, and the size of the largest of the rest.  Those are too large for the others that are
 * fewer than a quarter of what is not zero and 64 times as large as all but them: the error of a group is in proportion
 * to its largest element, whatever weights that one meets.
 */
static uint32_t set_apart(const vb *given, int32_t *most)
{
    vb size[4] = {given[0], given[1], given[2], given[3]};
    uint32_t apart = larger(size, INFINITE - 1);
    for (;;) {
        CPU_UNROLL
        for (int i = 0; i < 4 && apart; i++)
            size[i] = _mm256_and_si256(size[i], without(apart, i));
        *most = largest_of(size);
        const uint32_t few = *most > OUTLIER ? larger(size, *most - OUTLIER) : 0;
        if (few == 0 || 4 * __builtin_popcount(few) >= __builtin_popcount(larger(size, 0)))
            return apart;
        apart |= few;
    }
}

#define DIGIT 127 /* the largest */

/* The scale: the power of two with which the largest element has three digits, or that with which it is the largest
 * digit. */
CPU_INLINE float scale_of(int32_t most, const int planes)
{
    float size;
    memcpy(&size, &most, 4);
    if (planes == 1)
        return size >= 0x1p-120f ? size / DIGIT : 0;
    const float beyond = size * (float)(8388608.0 / (DIGIT * (BASE * BASE + BASE + 1) - 1));
    int32_t bits;
    memcpy(&bits, &beyond, 4);
    const int32_t exponent = (bits >> 23) - 22 > 1 ? (bits >> 23) - 22 : 1;
    const int32_t scale_bits = most ? exponent << 23 : 0;
    float scale;
    memcpy(&scale, &scale_bits, 4);
    return scale;
}

/* 32 integers that are bytes, in their order. */
CPU_INLINE vb bytes_of(const vb *v)
{
    const vb a = _mm256_packs_epi32(v[0], v[1]), b = _mm256_packs_epi32(v[2], v[3]);
    return _mm256_permutevar8x32_epi32(_mm256_packs_epi16(a, b), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/* Eight elements, in units of `unit`, to digits; what they lack goes back to `x`, without an error. */
CPU_INLINE vb take_digit(__m256 *x, const float unit)
{
    const __m256 most = _mm256_set1_ps(DIGIT), units = _mm256_mul_ps(*x, _mm256_set1_ps(1 / unit));
    const __m256 near = _mm256_round_ps(units, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m256 digit = _mm256_max_ps(_mm256_min_ps(near, most), _mm256_sub_ps(_mm256_setzero_ps(), most));
    *x = _mm256_fnmadd_ps(digit, _mm256_set1_ps(unit), *x);
    return _mm256_cvtps_epi32(digit);
}

/* A group's digits, lowest first, with the scale; elements that are set apart are zeros. */
CPU_INLINE float cut(const float *x, const int planes, vb *digits, uint32_t *apart)
{
    vb size[4], digit[EXACT][4];
    int32_t most;
    sizes_of(x, size);
    *apart = planes == 1 ? 0 : set_apart(size, &most);
    if (planes == 1)
        most = largest_of(size);
    const float scale = scale_of(most, planes), by = scale > 0 ? 1 / scale : 0;
    CPU_UNROLL
    for (int i = 0; i < 4; i++) {
        __m256 v = _mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), _mm256_set1_ps(by));
        if (*apart)
            v = _mm256_and_ps(v, _mm256_castsi256_ps(without(*apart, i)));
        if (planes > 1) {
            digit[2][i] = take_digit(&v, BASE * BASE);
            digit[1][i] = take_digit(&v, BASE);
        }
        digit[0][i] = take_digit(&v, 1);
    }
    CPU_UNROLL
    for (int p = 0; p < planes; p++)
        digits[p] = bytes_of(digit[p]);
    return planes == 1 && most >= INFINITE ? NAN : scale;
}

/* Sums of the even and odd pairs of 16 bytes' words. */
CPU_INLINE __m128i sum_pairs(__m128i bytes)
{
    const __m128i pairs = _mm_maddubs_epi16(_mm_set1_epi8(1), bytes);
    const __m128i two = _mm_add_epi16(pairs, _mm_shuffle_epi32(pairs, 0x4e));
    return _mm_add_epi16(two, _mm_shuffle_epi32(two, 0xb1));
}

static inline int32_t sum_of(__m128i pair)
{
    return _mm_cvtsi128_si32(_mm_madd_epi16(pair, _mm_set1_epi16(1)));
}

/* A group of 32 elements, at `out`. */
CPU_INLINE void pack_group(const float *x, planes_form form, const int planes, uint8_t *out)
{
    vb digits[EXACT];
    uint32_t apart;
    const float scale = cut(x, planes, digits, &apart);
    CPU_UNROLL
    for (int p = 0; p < planes; p++)
        _mm256_storeu_si256((vb *)(out + GROUP * p), digits[p]);
    out += GROUP * planes;
    memcpy(out, &scale, 4);
    float sum[2] = {0};
    for (int h = 0; h < form.parts; h++)
        CPU_UNROLL
        for (int p = 0; p < planes; p++) {
            const __m128i first = _mm256_castsi256_si128(digits[p]), second = _mm256_extracti128_si256(digits[p], 1);
            __m128i pairs = sum_pairs(h ? second : first);
            if (form.parts == 1)
                pairs = _mm_add_epi16(pairs, sum_pairs(second));
            sum[h] += (float)sum_of(pairs) * (p == 0 ? 1 : p == 1 ? BASE : BASE * BASE);
            if (!form.bias)
                continue;
#if PLANES_DOT
            const int32_t begin = -form.bias * sum_of(pairs);
#else
            const int32_t begin = _mm_cvtsi128_si32(_mm_mullo_epi16(pairs, _mm_set1_epi16((short)-form.bias)));
#endif
            out += 4;
            memcpy(out, &begin, 4);
        }
    for (int h = 0; h < form.parts && form.minima; h++) {
        const float all = scale * sum[h];
        out += 4;
        memcpy(out, &all, 4);
    }
    memcpy(out + 4, &apart, 4);
}

void PLANES_V(cpu_planes_pack)(const cpu_gemm *g, planes_form form, int planes, int64_t c0, int64_t c1, uint8_t *out)
{
    const int64_t each = planes_group_bytes(form, planes), groups = planes_groups(g->k);
    for (int64_t c = c0; c < c1; c++) {
        uint8_t *to = out + c * groups * each;
        for (int64_t i = 0; i < groups; i++, to += each) {
            float buffer[GROUP];
            const float *x = cpu_gemm_elements(g, c, i * GROUP, GROUP, buffer);
            if (planes == 1)
                pack_group(x, form, 1, to);
            else
                pack_group(x, form, EXACT, to);
        }
    }
}
