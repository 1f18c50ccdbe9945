/* A group of 32 elements in registers (group.h), of NEON. */
#ifndef CPU_PLANES_GROUP_NEON_H
#define CPU_PLANES_GROUP_NEON_H

typedef struct group_digits {
    int8x16_t half[2];
} group_digits;

CPU_INLINE void group_store(uint8_t *out, group_digits digits)
{
    vst1q_s8((int8_t *)out, digits.half[0]);
    vst1q_s8((int8_t *)out + 16, digits.half[1]);
}

CPU_INLINE int32_t group_largest(const vi *size)
{
    int32x4_t most = (int32x4_t)size[0];
    CPU_UNROLL
    for (int i = 1; i < PIECES; i++)
        most = vmaxq_s32(most, (int32x4_t)size[i]);
    return vmaxvq_s32(most);
}

CPU_INLINE uint32_t group_larger(const vi *size, int32_t than)
{
    const vu bit = {1, 2, 4, 8};
    uint32_t bits = 0;
    CPU_UNROLL
    for (int i = 0; i < PIECES; i++)
        bits |= vaddvq_u32((uint32x4_t)((vu)(size[i] > than) & bit)) << CPU_VL * i;
    return bits;
}

CPU_INLINE vi group_without(vi v, uint32_t bits, const int i)
{
    const vi bit = {1, 2, 4, 8};
    return v & ((v_seti((int32_t)(bits >> CPU_VL * i)) & bit) == 0);
}

CPU_INLINE vf round_to_integers(vf x)
{
    return (vf)vrndnq_f32((float32x4_t)x);
}

CPU_INLINE vi integers_of(vf x)
{
    return (vi)vcvtnq_s32_f32((float32x4_t)x);
}

CPU_INLINE group_digits group_bytes(const vi *v)
{
    group_digits digits;
    CPU_UNROLL
    for (int h = 0; h < 2; h++) {
        const int16x8_t a = vcombine_s16(vmovn_s32((int32x4_t)v[4 * h]), vmovn_s32((int32x4_t)v[4 * h + 1]));
        const int16x8_t b = vcombine_s16(vmovn_s32((int32x4_t)v[4 * h + 2]), vmovn_s32((int32x4_t)v[4 * h + 3]));
        digits.half[h] = vcombine_s8(vmovn_s16(a), vmovn_s16(b));
    }
    return digits;
}

typedef struct group_sums {
    int32_t plane[EXACT];
} group_sums;

CPU_INLINE void sums_of(const group_digits *digits, const int planes, group_sums half[2])
{
    CPU_UNROLL
    for (int p = 0; p < EXACT; p++)
        CPU_UNROLL
        for (int h = 0; h < 2; h++)
            half[h].plane[p] = p < planes ? vaddlvq_s8(digits[p].half[h]) : 0;
}

CPU_INLINE group_sums sums_together(group_sums a, group_sums b)
{
    CPU_UNROLL
    for (int p = 0; p < EXACT; p++)
        a.plane[p] += b.plane[p];
    return a;
}

CPU_INLINE int32_t sum_of_plane(group_sums sums, const int plane)
{
    return sums.plane[plane];
}

CPU_INLINE void put_begins(const group_digits *digits, int half, int parts, group_sums sums, int bias, const int planes,
                           uint8_t *out)
{
    (void)digits;
    (void)half;
    (void)parts;
    CPU_UNROLL
    for (int p = 0; p < planes; p++) {
        const int32_t begin = -bias * sums.plane[p];
        memcpy(out + 4 * p, &begin, 4);
    }
}

#endif
