/* Columns cut into planes (planes.h). */
#include "config.h"

#include "group.h"

#define OUTLIER (6 << 23) /* of bits: 64 times as large */
#define LARGE (249 << 23) /* 2^122, of which a group may have no sum */

/* Some groups that have one scale: sizes of their elements, which are set apart, and the size of the largest of the rest. */
typedef struct measured {
    vi size[SPAN / GROUP][PIECES];
    uint32_t apart[SPAN / GROUP];
    int32_t most;
} measured;

CPU_INLINE int32_t largest(const measured *x, const int groups)
{
    vi most[PIECES];
    CPU_UNROLL
    for (int i = 0; i < PIECES; i++) {
        most[i] = x->size[0][i];
        for (int g = 1; g < groups; g++) {
            const vi less = most[i] < x->size[g][i];
            most[i] = (most[i] & ~less) | (x->size[g][i] & less);
        }
    }
    return group_largest(most);
}

CPU_INLINE int count_larger(const measured *x, const int groups, int32_t than)
{
    int n = 0;
    for (int g = 0; g < groups; g++)
        n += __builtin_popcount(group_larger(x->size[g], than));
    return n;
}

CPU_INLINE void set_larger_apart(measured *x, const int groups, int32_t than)
{
    for (int g = 0; g < groups; g++) {
        x->apart[g] |= group_larger(x->size[g], than);
        CPU_UNROLL
        for (int i = 0; i < PIECES; i++)
            x->size[g][i] = group_without(x->size[g][i], x->apart[g], i);
    }
}

/*
 * Elements are too large for the others that are fewer than a quarter of what is not zero and 64 times as large as all but
 * them: the error of what has one scale is in proportion to its largest element, whatever weights that one meets.
 */
CPU_INLINE void set_apart(measured *x, const int groups)
{
    for (int g = 0; g < groups; g++)
        x->apart[g] = 0;
    if ((x->most = largest(x, groups)) >= LARGE) {
        set_larger_apart(x, groups, LARGE - 1);
        x->most = largest(x, groups);
    }
    while (x->most > OUTLIER) {
        const int few = count_larger(x, groups, x->most - OUTLIER);
        if (few == 0 || 4 * few >= count_larger(x, groups, 0))
            return;
        set_larger_apart(x, groups, x->most - OUTLIER);
        x->most = largest(x, groups);
    }
}

CPU_INLINE void measure(const float *x, const int groups, const int planes, measured *of)
{
    for (int g = 0; g < groups; g++)
        group_sizes(x + GROUP * g, of->size[g]);
    if (planes > 1)
        set_apart(of, groups);
    else
        of->most = largest(of, groups);
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

/* A group's digits, lowest first, in units of the scale; elements that are set apart are zeros. */
CPU_INLINE void cut(const float *x, float scale, uint32_t apart, const int planes, group_digits *digits)
{
    vi digit[EXACT][PIECES];
    const float by = scale > 0 ? 1 / scale : 0;
    CPU_UNROLL
    for (int i = 0; i < PIECES; i++) {
        vf v = v_load(x + CPU_VL * i) * by;
        if (apart)
            v = (vf)group_without((vi)v, apart, i);
        if (planes > 1) {
            digit[2][i] = take_digit(&v, BASE * BASE);
            digit[1][i] = take_digit(&v, BASE);
        }
        digit[0][i] = take_digit(&v, 1);
    }
    CPU_UNROLL
    for (int p = 0; p < planes; p++)
        digits[p] = group_bytes(digit[p]);
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
CPU_INLINE void put_group(const float *x, float scale, uint32_t apart, bool finite, planes_form form, const int planes,
                          uint8_t *out)
{
    group_digits digits[EXACT];
    group_sums part[2];
    cut(x, scale, apart, planes, digits);
    CPU_UNROLL
    for (int p = 0; p < planes; p++)
        group_store(out + GROUP * p, digits[p]);
    scale = finite ? scale : NAN;
    out += GROUP * planes;
    memcpy(out, &scale, 4);
    out += 4;
    sums_of(digits, planes, part);
    if (form.parts == 1)
        part[0] = sums_together(part[0], part[1]);
    for (int h = 0; h < form.parts && form.bias; h++, out += 4 * planes)
        put_begins(digits, h, form.parts, part[h], form.bias, planes, out);
    for (int h = 0; h < form.parts && form.minima; h++, out += 4) {
        const float units = whole_sum(part[h], planes), all = planes == 1 ? scale * units : units;
        memcpy(out, &all, 4);
    }
    memcpy(out, &apart, 4);
}

/* Groups that have one scale, of which so many are there. */
CPU_INLINE void pack_groups(const float *x, planes_form form, const int groups, int there, const int planes, uint8_t *out)
{
    measured of;
    measure(x, groups, planes, &of);
    const float scale = scale_of(of.most, planes);
    for (int g = 0; g < there; g++)
        put_group(x + GROUP * g, scale, planes > 1 ? of.apart[g] : 0, planes > 1 || of.most < INFINITE, form, planes,
                  out + g * planes_group_bytes(form, planes));
}

void PLANES_V(cpu_planes_pack)(const cpu_gemm *g, planes_form form, int planes, int64_t c0, int64_t c1, uint8_t *out)
{
    const int64_t each = planes_group_bytes(form, planes), groups = planes_groups(g->k);
    const int64_t together = planes == 1 ? GROUP : SPAN;
    for (int64_t c = c0; c < c1; c++) {
        uint8_t *to = out + c * groups * each;
        for (int64_t k = 0; k < g->k; k += together, to += together / GROUP * each) {
            float buffer[SPAN];
            const float *x = cpu_gemm_elements(g, c, k, together, buffer);
            const int64_t left = planes_groups(g->k - k);
            if (planes == 1)
                pack_groups(x, form, 1, 1, 1, to);
            else
                pack_groups(x, form, SPAN / GROUP, left < SPAN / GROUP ? (int)left : SPAN / GROUP, EXACT, to);
        }
    }
}
