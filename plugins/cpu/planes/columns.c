/* Columns cut into planes (planes.h). */
#include "config.h"

#include "group.h"

#define OUTLIER (6 << 23) /* of bits: 64 times as large */

/*
 * Which elements are set apart, and the size of the largest of the rest.  Those are too large for the others that are
 * fewer than a quarter of what is not zero and 64 times as large as all but them: the error of a group is in proportion
 * to its largest element, whatever weights that one meets.
 */
static uint32_t set_apart(const vi *given, int32_t *most)
{
    vi size[PIECES];
    uint32_t apart = group_larger(given, INFINITE - 1);
    CPU_UNROLL
    for (int i = 0; i < PIECES; i++)
        size[i] = given[i];
    for (;;) {
        CPU_UNROLL
        for (int i = 0; i < PIECES && apart; i++)
            size[i] = group_without(size[i], apart, i);
        *most = group_largest(size);
        const uint32_t few = *most > OUTLIER ? group_larger(size, *most - OUTLIER) : 0;
        if (few == 0 || 4 * __builtin_popcount(few) >= __builtin_popcount(group_larger(size, 0)))
            return apart;
        apart |= few;
    }
}

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

/* A group's digits, lowest first, with the scale; elements that are set apart are zeros. */
CPU_INLINE float cut(const float *x, const int planes, vb *digits, uint32_t *apart)
{
    vi size[PIECES], digit[EXACT][PIECES];
    int32_t most;
    group_sizes(x, size);
    *apart = planes == 1 ? 0 : set_apart(size, &most);
    if (planes == 1)
        most = group_largest(size);
    const float scale = scale_of(most, planes), by = scale > 0 ? 1 / scale : 0;
    CPU_UNROLL
    for (int i = 0; i < PIECES; i++) {
        vf v = v_load(x + CPU_VL * i) * by;
        if (*apart)
            v = (vf)group_without((vi)v, *apart, i);
        if (planes > 1) {
            digit[2][i] = take_digit(&v, BASE * BASE);
            digit[1][i] = take_digit(&v, BASE);
        }
        digit[0][i] = take_digit(&v, 1);
    }
    CPU_UNROLL
    for (int p = 0; p < planes; p++)
        digits[p] = group_bytes(digit[p]);
    return planes == 1 && most >= INFINITE ? NAN : scale;
}

/* The sums of digits of each half of the group: of plane i in word i of the vector's half. */
CPU_INLINE __m256i sums_of(const vb *digits, const int planes)
{
    __m256i four[EXACT] = {0};
    CPU_UNROLL
    for (int p = 0; p < planes; p++)
        four[p] = _mm256_madd_epi16(_mm256_maddubs_epi16(b_all(1), digits[p]), _mm256_set1_epi16(1));
    return _mm256_hadd_epi32(_mm256_hadd_epi32(four[0], four[1]), _mm256_hadd_epi32(four[2], four[2]));
}

/* The sum of elements, in units of the scale. */
CPU_INLINE float whole_sum(__m128i sums, const int planes)
{
    int32_t sum = _mm_cvtsi128_si32(sums);
    if (planes > 1)
        sum += _mm_extract_epi32(sums, 1) * BASE + _mm_extract_epi32(sums, 2) * (BASE * BASE);
    return (float)sum;
}

#if PLANES_DOT

/* What takes the bias back, of each plane.  Four words are written, whatever there is of planes: others come behind. */
CPU_INLINE void put_begins(const vb *digits, int half, int parts, __m128i sums, int bias, const int planes,
                           uint8_t *out)
{
    (void)digits;
    (void)half;
    (void)parts;
    const __m128i begins = _mm_mullo_epi32(sums, _mm_set1_epi32(-bias));
    if (planes == 1)
        _mm_storeu_si32(out, begins);
    else
        _mm_storeu_si128((__m128i *)out, begins);
}

#else

/* Sums of the even and odd pairs of 16 bytes' words. */
CPU_INLINE __m128i sum_pairs(__m128i bytes)
{
    const __m128i pairs = _mm_maddubs_epi16(_mm_set1_epi8(1), bytes);
    const __m128i two = _mm_add_epi16(pairs, _mm_shuffle_epi32(pairs, 0x4e));
    return _mm_add_epi16(two, _mm_shuffle_epi32(two, 0xb1));
}

/* What takes the bias back, of each plane: in both words of 16 bits, for neither has room for all of it. */
CPU_INLINE void put_begins(const vb *digits, int half, int parts, __m128i sums, int bias, const int planes,
                           uint8_t *out)
{
    (void)sums;
    CPU_UNROLL
    for (int p = 0; p < planes; p++) {
        const __m128i first = _mm256_castsi256_si128(digits[p]), second = _mm256_extracti128_si256(digits[p], 1);
        __m128i pairs = sum_pairs(half ? second : first);
        if (parts == 1)
            pairs = _mm_add_epi16(pairs, sum_pairs(second));
        _mm_storeu_si32(out + 4 * p, _mm_mullo_epi16(pairs, _mm_set1_epi16((short)-bias)));
    }
}

#endif

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
    out += 4;
    const __m256i sums = sums_of(digits, planes);
    __m128i part[2] = {_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1)};
    if (form.parts == 1)
        part[0] = _mm_add_epi32(part[0], part[1]);
    for (int h = 0; h < form.parts && form.bias; h++, out += 4 * planes)
        put_begins(digits, h, form.parts, part[h], form.bias, planes, out);
    for (int h = 0; h < form.parts && form.minima; h++, out += 4) {
        const float all = scale * whole_sum(part[h], planes);
        memcpy(out, &all, 4);
    }
    memcpy(out, &apart, 4);
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
