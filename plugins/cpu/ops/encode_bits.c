/* What all encoders need: halves, and numbers that a block can hold. */
#include "config.h"

#include "encode.h"

uint16_t cpu_f16_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    uint16_t sign = (uint16_t)(u >> 16 & 0x8000);
    u &= 0x7fffffff;
    if (u > 0x7f800000)
        return sign | 0x7e00 | (uint16_t)(u >> 13 & 0x3ff); /* NaN, its upper bits kept as the instruction does */
    if (u >= 0x477ff000)
        return sign | 0x7c00; /* 65520 and more round to infinity */
    if (u >= 0x38800000) {    /* normal: drop 13 bits, to even */
        u += 0xfff + (u >> 13 & 1);
        return sign | (uint16_t)((u - 0x38000000) >> 13);
    }
    /* below 2^-14: a multiple of 2^-24; the addition rounds to it */
    float magnitude;
    memcpy(&magnitude, &u, 4);
    magnitude += 0.5f;
    uint32_t sum;
    memcpy(&sum, &magnitude, 4);
    return sign | (uint16_t)(sum - 0x3f000000);
}

float cpu_f16_value(uint16_t h)
{
    uint32_t rest = (uint32_t)(h & 0x7fff) << 13, bits;
    float x;
    memcpy(&x, &rest, 4);
    x *= 0x1p112f;
    memcpy(&bits, &x, 4);
    if ((h & 0x7c00) == 0x7c00)
        bits = 0x7f800000 | rest;
    bits |= (uint32_t)(h & 0x8000) << 16;
    memcpy(&x, &bits, 4);
    return x;
}

void cpu_clean(const float *x, float *out, int n, float lo, float hi)
{
    for (int i = 0; i < n; i++) {
        float v = x[i] == x[i] ? x[i] : 0;
        out[i] = v < lo ? lo : v > hi ? hi : v;
    }
}
