/* Registers as products in planes have them (registers.h), of NEON with dot products of bytes: four rows, half a group. */
#ifndef CPU_PLANES_REGISTERS_NEON_H
#define CPU_PLANES_REGISTERS_NEON_H

/* Where a register's rows are: a group, and the first of its rows. */
typedef struct lanes_at {
    const uint8_t *of[1];
    int64_t from;
} lanes_at;
#define EACH (EU_LANES / ROWS) /* registers of a group */

CPU_INLINE lanes_at lanes_behind(lanes_at b, int64_t bytes)
{
    b.of[0] += bytes;
    return b;
}

CPU_INLINE void group_put(lanes_at *strip, const int group, const uint8_t *at)
{
    for (int r = 0; r < EACH; r++)
        strip[EACH * group + r] = (lanes_at){{at}, r * ROWS};
}

CPU_INLINE const uint8_t *group_at(const lanes_at *strip, const int group)
{
    return strip[EACH * group].of[0];
}

CPU_INLINE vu w_load(lanes_at b, const int at)
{
    return (vu)vld1q_u8(b.of[0] + at + 4 * b.from);
}

CPU_INLINE uint16x4_t w_pairs(lanes_at b, const int at)
{
    return vreinterpret_u16_u8(vld1_u8(b.of[0] + at + 2 * b.from));
}

CPU_INLINE vf w_halves(lanes_at b, const int at)
{
    return (vf)vcvt_f32_f16(vreinterpret_f16_u16(w_pairs(b, at)));
}

CPU_INLINE vi w_shorts(lanes_at b, const int at)
{
    return (vi)vmovl_u16(w_pairs(b, at));
}

CPU_INLINE vi w_bytes(lanes_at b, const int at)
{
    uint32_t four;
    memcpy(&four, b.of[0] + at + b.from, 4);
    return (vi)vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(four))));
}

CPU_INLINE vi w_four(const uint8_t *p)
{
    return (vi)vld1q_dup_s32((const int32_t *)(const void *)p);
}

CPU_INLINE vu w_lookup(const uint8_t *table, vu nibbles)
{
    return (vu)vqtbl1q_u8(vld1q_u8(table), (uint8x16_t)nibbles);
}

CPU_INLINE vu w_spread(vu v, const int from)
{
    const vu first = {0, 0x04040404, 0x08080808, 0x0c0c0c0c};
    return (vu)vqtbl1q_u8((uint8x16_t)v, (uint8x16_t)(first + (uint32_t)from));
}

CPU_INLINE vu w_where(vu v, vu bits, const int number)
{
    return (vu)vtstq_u8((uint8x16_t)v, (uint8x16_t)bits) & w_all(number);
}

CPU_INLINE vu w_less_where(vu of, vu bits, vu v, const int twice)
{
    const uint8x16_t less = vtstq_u8((uint8x16_t)of, (uint8x16_t)bits);
    return (vu)vbslq_u8(less, vsubq_u8((uint8x16_t)w_all(twice), (uint8x16_t)v), (uint8x16_t)v);
}

CPU_INLINE vu w_gather(const uint32_t *table, vu index)
{
    return (vu){table[index[0]], table[index[1]], table[index[2]], table[index[3]]};
}

CPU_INLINE vf w_half(vu bits)
{
    return (vf)vcvt_f32_f16(vreinterpret_f16_u16(vmovn_u32((uint32x4_t)bits)));
}

CPU_INLINE vi w_greater(vi a, vi b, vi yes, vi no)
{
    const vi mask = a > b;
    return (yes & mask) | (no & ~mask);
}

CPU_INLINE vf v_load_rows(const float *p, int64_t rows)
{
    (void)rows;
    return v_load(p);
}

CPU_INLINE void v_store_rows(float *p, vf v, int64_t rows)
{
    (void)rows;
    v_store(p, v);
}

/* Four lines' digits of a column, and which of them. */
typedef struct p_factor {
    int8x16_t lines;
    int line;
} p_factor;

CPU_INLINE p_factor p_digits(const uint8_t *digits, const int line)
{
    return (p_factor){vld1q_s8((const int8_t *)digits + line / 4 * 16), line % 4};
}

/* Both with a sign. */
CPU_INLINE vi p_add(vi sum, vu a, p_factor b)
{
    const int32x4_t s = (int32x4_t)sum;
    const int8x16_t w = (int8x16_t)a;
    return (vi)(b.line == 0   ? vdotq_laneq_s32(s, w, b.lines, 0)
                : b.line == 1 ? vdotq_laneq_s32(s, w, b.lines, 1)
                : b.line == 2 ? vdotq_laneq_s32(s, w, b.lines, 2)
                              : vdotq_laneq_s32(s, w, b.lines, 3));
}

#endif
