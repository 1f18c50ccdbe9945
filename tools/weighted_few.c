/* Types of one, two and three values: the scale is the one rule of their makers, whose weights have few values
 * already. */
#include "config.h"

#include "weighted_fit.h"

static float largest(const float *x, int n)
{
    float most = 0;
    for (int i = 0; i < n; i++)
        most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
    return most;
}

/* -1, 0, 1 as 0, 1, 2: half away from zero. */
static unsigned third(float x, float inverse)
{
    const float y = x * inverse;
    return (unsigned)(1 + (y >= 0.5f) - (y <= -0.5f));
}

/* Up to five digits to base 3 as a fraction of 256, the first one highest, rounded up. */
static uint8_t fraction(const float *x, int step, int n, float inverse)
{
    unsigned q = 0;
    for (int i = 0; i < 5; i++)
        q = 3 * q + (i < n ? third(x[i * step], inverse) : 0);
    return (uint8_t)((q * 256 + 242) / 243);
}

void fit_tq1_0(const float *x, const float *w, uint8_t *out)
{
    const float d = largest(x, 256), inverse = d > 0 ? 1 / d : 0;
    (void)w;
    for (int i = 0; i < 32; i++)
        out[i] = fraction(x + i, 32, 5, inverse);
    for (int i = 0; i < 16; i++)
        out[32 + i] = fraction(x + 160 + i, 16, 5, inverse);
    for (int i = 0; i < 4; i++)
        out[48 + i] = fraction(x + 240 + i, 4, 4, inverse);
    fit_put_half(out + 52, d);
}

void fit_tq2_0(const float *x, const float *w, uint8_t *out)
{
    const float d = largest(x, 256), inverse = d > 0 ? 1 / d : 0;
    (void)w;
    for (int i = 0; i < 64; i++) {
        const float *p = x + i / 32 * 128 + i % 32;
        out[i] = (uint8_t)(third(p[0], inverse) | third(p[32], inverse) << 2 | third(p[64], inverse) << 4 |
                           third(p[96], inverse) << 6);
    }
    fit_put_half(out + 64, d);
}

void fit_q1_0(const float *x, const float *w, uint8_t *out)
{
    float sum = 0;
    (void)w;
    memset(out + 2, 0, 16);
    for (int i = 0; i < 128; i++) {
        sum += fabsf(x[i]);
        out[2 + i / 8] |= (uint8_t)((x[i] >= 0) << i % 8);
    }
    fit_put_half(out, sum / 128);
}

void fit_q2_0(const float *x, const float *w, uint8_t *out)
{
    const float d = largest(x, 64), inverse = d > 0 ? 1 / d : 0;
    (void)w;
    memset(out + 2, 0, 16);
    for (int i = 0; i < 64; i++)
        out[2 + i / 4] |= (uint8_t)(third(x[i], inverse) << 2 * (i % 4));
    fit_put_half(out, d);
}
