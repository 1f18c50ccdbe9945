/*
 * Encoding of the formats whose four-bit codes stand for unequal steps:
 * iq4_nl, iq4_xs (a fixed table) and mxfp4, nvfp4 (E2M1 floats).
 */
#include "config.h"

#include <float.h>

#include "encode.h"

const float cpu_iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

int cpu_iq4_nearest(float x)
{
    if (x <= cpu_iq4_values[0])
        return 0;
    if (x >= cpu_iq4_values[15])
        return 15;
    int lo = 0, hi = 15;
    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;
        if (x < cpu_iq4_values[mid])
            hi = mid;
        else
            lo = mid;
    }
    return x - cpu_iq4_values[lo] < cpu_iq4_values[hi] - x ? lo : hi;
}

/* Sums of the least-squares fit of a scale: x to codes at scale 1 / id. */
static void fit(const float *x, float id, uint8_t *code, float *qx, float *qq)
{
    *qx = *qq = 0;
    for (int i = 0; i < 32; i++) {
        int c = cpu_iq4_nearest(id * x[i]);
        float q = cpu_iq4_values[c], w = x[i] * x[i];
        *qx += w * q * x[i];
        *qq += w * q * q;
        code[i] = (uint8_t)c;
    }
}

/*
 * The scale of 32 elements, weighted by their squares.  With tries > 0 it is
 * searched around the one that maps the extreme element to the table's first.
 */
static float iq4_scale(const float *x, int tries, uint8_t *code)
{
    float amax = 0, max = 0, qx, qq;
    for (int i = 0; i < 32; i++)
        if (fabsf(x[i]) > amax) {
            amax = fabsf(x[i]);
            max = x[i];
        }
    if (amax < CPU_TINY) {
        memset(code, 8, 32);
        return 0;
    }
    float d = tries > 0 ? -max / cpu_iq4_values[0] : max / cpu_iq4_values[0];
    fit(x, 1 / d, code, &qx, &qq);
    d = qx / qq;
    float best = d * qx;
    uint8_t trial[32];
    for (int i = -tries; i <= tries; i++) {
        fit(x, ((float)i + cpu_iq4_values[0]) / max, trial, &qx, &qq);
        if (qq > 0 && qx * qx > best * qq) {
            d = qx / qq;
            best = d * qx;
        }
    }
    return d;
}

static void pack(const uint8_t *code, uint8_t *out)
{
    for (int i = 0; i < 16; i++)
        out[i] = (uint8_t)(code[i] | code[i + 16] << 4);
}

void cpu_encode_iq4_nl(const float *x, uint8_t *out, int64_t n, bool search)
{
    for (; n > 0; n -= 32, x += 32, out += 18) {
        float v[32];
        uint8_t code[32];
        /* sums of squares of squares must stay finite, too */
        cpu_clean(x, v, 32, -113 * CPU_F16_MAX, 113 * CPU_F16_MAX);
        float d = iq4_scale(v, search ? 7 : -1, code);
        bool zero = cpu_put_f16(out, d) == 0;
        if (zero)
            memset(code, 8, sizeof code);
        else if (search)
            for (int i = 0; i < 32; i++)
                code[i] = (uint8_t)cpu_iq4_nearest(1 / d * v[i]);
        pack(code, out + 2);
    }
}

void cpu_encode_iq4_xs(const float *x, uint8_t *out, int64_t n)
{
    for (; n > 0; n -= 256, x += 256, out += 136) {
        float v[256], scale[8], max = 0, amax = 0;
        uint8_t code[32];
        cpu_clean(x, v, 256, -113 * 31 * CPU_F16_MAX, 113 * 31 * CPU_F16_MAX);
        for (int s = 0; s < 8; s++) {
            scale[s] = iq4_scale(v + 32 * s, 7, code);
            if (fabsf(scale[s]) > amax) {
                amax = fabsf(scale[s]);
                max = scale[s];
            }
        }
        float d = -max / 32, id = cpu_put_f16(out, d) != 0 ? 1 / d : 0;
        uint16_t high = 0;
        memset(out + 4, 0, 4);
        for (int s = 0; s < 8; s++) {
            int l = cpu_limit(cpu_nearest(id * scale[s]), -32, 31);
            float dl = d * (float)l, idl = id != 0 && dl != 0 ? 1 / dl : 0;
            for (int i = 0; i < 32; i++)
                code[i] = (uint8_t)cpu_iq4_nearest(idl * v[32 * s + i]);
            l += 32;
            out[4 + s / 2] |= (uint8_t)((l & 15) << 4 * (s & 1));
            high |= (uint16_t)(l >> 4 << 2 * s);
            pack(code, out + 8 + 16 * s);
        }
        memcpy(out + 2, &high, 2);
    }
}

/* -- E2M1 ---------------------------------------------------------------------- */

static const float e2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* The code whose value times d is nearest; the smaller magnitude on ties. */
static uint8_t e2m1_nearest(float x, float d)
{
    int best = 0;
    float error = fabsf(e2m1[0] * d - x);
    for (int i = 1; i < 16; i++) {
        float e = fabsf(e2m1[i] * d - x);
        if (e < error) {
            error = e;
            best = i;
        }
    }
    return (uint8_t)best;
}

static float largest(const float *x, int n)
{
    float amax = 0;
    for (int i = 0; i < n; i++)
        amax = fabsf(x[i]) > amax ? fabsf(x[i]) : amax;
    return amax;
}

void cpu_encode_mxfp4(const float *x, uint8_t *out, int64_t n)
{
    for (; n > 0; n -= 32, x += 32, out += 17) {
        float v[32];
        uint8_t code[32];
        cpu_clean(x, v, 32, -FLT_MAX, FLT_MAX);
        float amax = largest(v, 32);
        int e = 0;
        if (amax > 0) {
            frexpf(amax, &e); /* amax = f 2^e, 1/2 <= f < 1 */
            e = cpu_limit(e - 1 - 2 + 127, 0, 254);
        }
        float d = ldexpf(1, e - 128);
        for (int i = 0; i < 32; i++)
            code[i] = e2m1_nearest(v[i], d);
        out[0] = (uint8_t)e;
        pack(code, out + 1);
    }
}

/* To unsigned E4M3: the bit below the mantissa rounds it up. */
static uint8_t ue4m3(float x)
{
    if (!(x > 0))
        return 0;
    if (x >= 448)
        return 0x7e;
    int e;
    float f = frexpf(x, &e); /* x = 2f * 2^(e-1) */
    e += 6;                  /* biased by 7 */
    if (e <= 0) { /* multiples of 2^-9, of which makers of files use seven */
        int steps = (int)(x * 512 + 0.5f);
        return (uint8_t)(steps > 7 ? 7 : steps);
    }
    int man = (int)(f * 16 + 0.5f);            /* 8 .. 16 */
    int code = (e << 3) + man - 8;
    return (uint8_t)(code > 0x7e ? 0x7e : code);
}

static float ue4m3_half(uint8_t b)
{
    int e = b >> 3;
    return e ? ldexpf(1 + (float)(b & 7) / 8, e - 8) : (float)(b & 7) * 0x1p-10f;
}

void cpu_encode_nvfp4(const float *x, uint8_t *out, int64_t n)
{
    for (; n > 0; n -= 64, x += 64, out += 36)
        for (int s = 0; s < 4; s++) {
            float v[16];
            cpu_clean(x + 16 * s, v, 16, -448 * 6, 448 * 6);
            uint8_t scale = ue4m3(largest(v, 16) / 6);
            float d = ue4m3_half(scale);
            out[s] = scale;
            for (int i = 0; i < 8; i++)
                out[4 + 8 * s + i] = (uint8_t)(e2m1_nearest(v[i], d) | e2m1_nearest(v[i + 8], d) << 4);
        }
}
