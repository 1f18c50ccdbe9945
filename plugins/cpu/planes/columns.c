/* Columns cut into planes (planes.h). */
#include "config.h"

#include "group.h"

#define OUTLIER (6 << 23) /* of bits: 64 times as large */
#define LARGE (249 << 23) /* 2^122, of which a group may have no sum */

/*
 * Which elements are set apart, and the size of the largest of the rest.  Those are too large for the others that are
 * fewer than a quarter of what is not zero and 64 times as large as all but them: the error of a group is in proportion
 * to its largest element, whatever weights that one meets.
 */
static uint32_t set_apart(const vi *given, int32_t *most)
{
    vi size[PIECES];
    uint32_t apart = group_larger(given, LARGE - 1);
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
CPU_INLINE float cut(const float *x, const int planes, group_digits *digits, uint32_t *apart)
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

/* The sum of elements, in units of the scale. */
CPU_INLINE float whole_sum(group_sums sums, const int planes)
{
    int32_t sum = sum_of_plane(sums, 0);
    if (planes > 1)
        sum += sum_of_plane(sums, 1) * BASE + sum_of_plane(sums, 2) * (BASE * BASE);
    return (float)sum;
}

/* A group of 32 elements, at `out`. */
CPU_INLINE void pack_group(const float *x, planes_form form, const int planes, uint8_t *out)
{
    group_digits digits[EXACT];
    group_sums part[2];
    uint32_t apart;
    const float scale = cut(x, planes, digits, &apart);
    CPU_UNROLL
    for (int p = 0; p < planes; p++)
        group_store(out + GROUP * p, digits[p]);
    out += GROUP * planes;
    memcpy(out, &scale, 4);
    out += 4;
    sums_of(digits, planes, part);
    if (form.parts == 1)
        part[0] = sums_together(part[0], part[1]);
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
