/* Halves. */
#include "config.h"

#include "weighted_fit.h"

uint16_t fit_half(float x)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    const uint16_t sign = (uint16_t)(u >> 16 & 0x8000);
    u &= 0x7fffffff;
    if (u >= 0x477ff000)
        return sign | 0x7bff; /* the largest */
    if (u >= 0x38800000)
        return sign | (uint16_t)((u + 0xfff + (u >> 13 & 1) - 0x38000000) >> 13);
    float magnitude;
    memcpy(&magnitude, &u, 4);
    magnitude += 0.5f; /* to a multiple of 2^-24 */
    memcpy(&u, &magnitude, 4);
    return sign | (uint16_t)(u - 0x3f000000);
}

float fit_half_value(uint16_t bits)
{
    uint32_t u = (uint32_t)(bits & 0x7fff) << 13;
    float x;
    memcpy(&x, &u, 4);
    x *= 0x1p112f;
    return bits & 0x8000 ? -x : x;
}

float fit_put_half(uint8_t *p, float x)
{
    const uint16_t h = fit_half(x);
    memcpy(p, &h, 2);
    return fit_half_value(h);
}
