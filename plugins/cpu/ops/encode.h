/* What the encoders share. */
#ifndef CPU_ENCODE_H
#define CPU_ENCODE_H

#include "../cpu.h"

#define CPU_F16_MAX 65504.0f
#define CPU_TINY 1e-15f /* a group whose elements are all smaller is zero */

uint16_t cpu_f16_bits(float x);     /* round to nearest, ties to even */
float cpu_f16_value(uint16_t bits);

/* Copies n elements, NaN as zero, others limited to lo .. hi: what a block
 * can hold at best. */
void cpu_clean(const float *x, float *out, int n, float lo, float hi);

/* Stores x as f16, within its range, and returns the value stored. */
static inline float cpu_put_f16(uint8_t *p, float x)
{
    x = x > CPU_F16_MAX ? CPU_F16_MAX : x < -CPU_F16_MAX ? -CPU_F16_MAX : x;
    uint16_t h = cpu_f16_bits(x);
    memcpy(p, &h, 2);
    return cpu_f16_value(h);
}

/* To the nearest integer, ties to even. */
static inline int cpu_nearest(float x)
{
    return (int)lrintf(x);
}

static inline int cpu_limit(int x, int lo, int hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

extern const float cpu_iq4_values[16];
int cpu_iq4_nearest(float x); /* index of the nearest of them */

#endif
