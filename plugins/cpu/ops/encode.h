/* What the encoders share. */
#ifndef CPU_ENCODE_H
#define CPU_ENCODE_H

#include "../cpu.h"
#include "rows.h"

#define CPU_F16_MAX 65504.0f
#define CPU_TINY 1e-15f /* a group whose elements are all smaller is zero */

/* What each variant has of its own: the same code, compiled for other instructions, and the same bytes. */
#define cpu_f16_bits CPU_V(cpu_f16_bits)
#define cpu_f16_value CPU_V(cpu_f16_value)
#define cpu_clean CPU_V(cpu_clean)
#define cpu_encode_q4_0 CPU_V(cpu_encode_q4_0)
#define cpu_encode_q4_1 CPU_V(cpu_encode_q4_1)
#define cpu_encode_q5_0 CPU_V(cpu_encode_q5_0)
#define cpu_encode_q5_1 CPU_V(cpu_encode_q5_1)
#define cpu_encode_q8_0 CPU_V(cpu_encode_q8_0)
#define cpu_encode_iq4_nl CPU_V(cpu_encode_iq4_nl)
#define cpu_encode_iq4_xs CPU_V(cpu_encode_iq4_xs)
#define cpu_encode_mxfp4 CPU_V(cpu_encode_mxfp4)
#define cpu_encode_nvfp4 CPU_V(cpu_encode_nvfp4)
#define cpu_encode_q2_K CPU_V(cpu_encode_q2_K)
#define cpu_encode_q3_K CPU_V(cpu_encode_q3_K)
#define cpu_encode_q4_K CPU_V(cpu_encode_q4_K)
#define cpu_encode_q5_K CPU_V(cpu_encode_q5_K)
#define cpu_encode_q6_K CPU_V(cpu_encode_q6_K)

void cpu_encode_q4_0(const float *x, uint8_t *out, int64_t n);
void cpu_encode_q4_1(const float *x, uint8_t *out, int64_t n);
void cpu_encode_q5_0(const float *x, uint8_t *out, int64_t n);
void cpu_encode_q5_1(const float *x, uint8_t *out, int64_t n);
void cpu_encode_q8_0(const float *x, uint8_t *out, int64_t n);
void cpu_encode_iq4_nl(const float *x, uint8_t *out, int64_t n, bool search);
void cpu_encode_iq4_xs(const float *x, uint8_t *out, int64_t n);
void cpu_encode_mxfp4(const float *x, uint8_t *out, int64_t n);
void cpu_encode_nvfp4(const float *x, uint8_t *out, int64_t n);
void cpu_encode_q2_K(const float *x, uint8_t *out, int64_t n);
void cpu_encode_q3_K(const float *x, uint8_t *out, int64_t n);
void cpu_encode_q4_K(const float *x, uint8_t *out, int64_t n);
void cpu_encode_q5_K(const float *x, uint8_t *out, int64_t n);
void cpu_encode_q6_K(const float *x, uint8_t *out, int64_t n);

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

#endif
