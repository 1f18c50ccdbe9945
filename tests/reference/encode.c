/*
 * Encoders of the types whose encoding is a formula.  Arithmetic is f32, as the
 * formats' users expect: the scale is computed and inverted unrounded and only
 * stored in half precision.  Beyond the formula: a NaN counts as 0, an infinity
 * as the largest finite number, a scale never exceeds the largest half, and a
 * block too small for its scale becomes zeros.
 */
#include "config.h"

#include "ref.h"

#include <float.h>
#include <math.h>
#include <string.h>

uint16_t ref_to_half(double x)
{
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    double a = fabs(x);
    int e;

    if (isnan(x))
        return sign | 0x7e00;
    if (a >= 65520)
        return sign | 0x7c00;
    if (a < 0x1p-14)
        return (uint16_t)(sign | (unsigned)nearbyint(a * 0x1p24));
    frexp(a, &e); /* a = f * 2^e, f in [1/2, 1) */
    unsigned m = (unsigned)nearbyint(ldexp(a, 11 - e)); /* 1024 .. 2048 */
    return (uint16_t)(sign | (((unsigned)(e + 14) << 10) + (m - 1024)));
}

uint16_t ref_to_bf16(float x)
{
    uint32_t u;

    memcpy(&u, &x, 4);
    if (isnan(x))
        return (uint16_t)(u >> 16 | 64);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static float tame(double x)
{
    if (isnan(x))
        return 0;
    if (x > FLT_MAX)
        return FLT_MAX;
    return x < -FLT_MAX ? -FLT_MAX : (float)x;
}

static float inverse(float d)
{
    float id = d != 0 ? 1.0f / d : 0.0f;

    return isfinite(id) ? id : 0.0f;
}

static float limit(float d)
{
    return d > 65504 ? 65504 : d < -65504 ? -65504 : d;
}

static void put16(unsigned char *p, uint16_t h)
{
    p[0] = (unsigned char)(h & 255);
    p[1] = (unsigned char)(h >> 8);
}

static int code(float v, int top)
{
    return v < 0 ? 0 : v >= (float)top ? top : (int)v;
}

/* q4_0 and q5_0: the signed extreme becomes code 0. */
static void encode_signed(const float *x, unsigned char *b, int half)
{
    float max = 0, amax = 0;
    uint32_t high = 0;
    unsigned char *q = half == 8 ? b + 2 : b + 6;

    for (int i = 0; i < 32; i++)
        if (fabsf(x[i]) > amax)
            amax = fabsf(x[i]), max = x[i];
    float d = limit(max / (float)-half), id = inverse(d);
    put16(b, ref_to_half(d));
    for (int i = 0; i < 32; i++) {
        int c = code(x[i] * id + ((float)half + 0.5f), 2 * half - 1);
        q[i % 16] = (unsigned char)(i < 16 ? c & 15 : q[i % 16] | (c & 15) << 4);
        high |= (uint32_t)(c >> 4) << i;
    }
    for (int i = 0; half == 16 && i < 4; i++)
        b[2 + i] = (unsigned char)(high >> 8 * i);
}

/* q4_1 and q5_1: scale and minimum. */
static void encode_minimum(const float *x, unsigned char *b, int top)
{
    float min = x[0], max = x[0];
    uint32_t high = 0;
    unsigned char *q = top == 15 ? b + 4 : b + 8;

    for (int i = 1; i < 32; i++) {
        min = fminf(min, x[i]);
        max = fmaxf(max, x[i]);
    }
    min = limit(min);
    float d = limit((max - min) / (float)top), id = inverse(d);
    put16(b, ref_to_half(d));
    put16(b + 2, ref_to_half(min));
    for (int i = 0; i < 32; i++) {
        int c = code((x[i] - min) * id + 0.5f, top);
        q[i % 16] = (unsigned char)(i < 16 ? c & 15 : q[i % 16] | (c & 15) << 4);
        high |= (uint32_t)(c >> 4) << i;
    }
    for (int i = 0; top == 31 && i < 4; i++)
        b[4 + i] = (unsigned char)(high >> 8 * i);
}

static void encode_q8_0(const float *x, unsigned char *b)
{
    float amax = 0;

    for (int i = 0; i < 32; i++)
        amax = fmaxf(amax, fabsf(x[i]));
    float d = limit(amax / 127.0f), id = inverse(d);
    put16(b, ref_to_half(d));
    for (int i = 0; i < 32; i++) {
        float r = roundf(x[i] * id);
        b[2 + i] = (unsigned char)(int8_t)(r > 127 ? 127 : r < -127 ? -127 : r);
    }
}

static const float iq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

static int iq4_nearest(float v) /* ties to the upper entry */
{
    int i = 0;

    while (i < 15 && v >= iq4[i + 1])
        i++;
    return i < 15 && iq4[i + 1] - v <= v - iq4[i] ? i + 1 : i;
}

/* The scale is refitted to the codes by least squares, weights x^2. */
static void encode_iq4_nl(const float *x, unsigned char *b)
{
    float amax = 0, max = 0, sqx = 0, sq2 = 0;
    int c[32];

    for (int i = 0; i < 32; i++)
        if (fabsf(x[i]) > amax)
            amax = fabsf(x[i]), max = x[i];
    float d = max / iq4[0], id = inverse(d);
    memset(b, 0, 18);
    if (id == 0)
        return;
    for (int i = 0; i < 32; i++) {
        c[i] = iq4_nearest(id * x[i]);
        float q = iq4[c[i]], s = x[i] / amax, w = amax > 1e15f || amax < 1e-15f ? s * s : x[i] * x[i];
        sqx += w * q * x[i];
        sq2 += w * q * q;
    }
    put16(b, ref_to_half(limit(sqx / sq2)));
    if (fabsf(d) > 65504) { /* the codes follow the limited scale */
        put16(b, ref_to_half(limit(d)));
        for (int i = 0; i < 32; i++)
            c[i] = iq4_nearest(x[i] / limit(d));
    }
    for (int i = 0; i < 16; i++)
        b[2 + i] = (unsigned char)(c[i] | c[i + 16] << 4);
}

static const float fp4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

static int fp4_nearest(float x, float scale)
{
    int best = 0;

    if (fabsf(x) >= 12 * scale) /* far beyond, all distances round to the same */
        return scale == 0 ? 0 : x < 0 ? 15 : 7;
    for (int i = 1; i < 16; i++)
        if (fabsf(fp4[i] * scale - x) < fabsf(fp4[best] * scale - x))
            best = i;
    return best;
}

static void encode_mxfp4(const float *x, unsigned char *b)
{
    float amax = 0;
    int e = 0;

    for (int i = 0; i < 32; i++)
        amax = fmaxf(amax, fabsf(x[i]));
    if (amax > 0) {
        e = ilogbf(amax) - 2 + 127;
        e = e < 0 ? 0 : e > 254 ? 254 : e;
    }
    b[0] = (unsigned char)e;
    for (int i = 0; i < 16; i++)
        b[1 + i] =
            (unsigned char)(fp4_nearest(x[i], ldexpf(1, e - 128)) | fp4_nearest(x[i + 16], ldexpf(1, e - 128)) << 4);
}

/* To the unsigned 4-bit-exponent, 3-bit-mantissa float; half up. */
static unsigned to_ue4m3(float v)
{
    int e;

    if (!(v > 0))
        return 0;
    if (v > 448)
        v = 448;
    frexpf(v, &e); /* v = f * 2^e */
    if (e - 1 < -6) {
        int m = (int)floorf(ldexpf(v, 9) + 0.5f);
        return (unsigned)(m > 7 ? 7 : m);
    }
    int m = (int)floorf(ldexpf(v, 4 - e) + 0.5f); /* 8 .. 16 */
    unsigned r = (unsigned)((e + 6) * 8 + m - 8);
    return r >= 15 * 8 ? 0x7e : r;
}

static float ue4m3_value(unsigned r)
{
    return r / 8 ? ldexpf((float)(8 + r % 8), (int)(r / 8) - 10) : ldexpf((float)r, -9);
}

static void encode_nvfp4(const float *x, unsigned char *b)
{
    for (int s = 0; s < 4; s++) {
        float amax = 0;
        for (int i = 0; i < 16; i++)
            amax = fmaxf(amax, fabsf(x[16 * s + i]));
        b[s] = (unsigned char)to_ue4m3(amax / 6.0f);
        float scale = 0.5f * ue4m3_value(b[s]);
        for (int r = 0; r < 8; r++)
            b[4 + 8 * s + r] =
                (unsigned char)(fp4_nearest(x[16 * s + r], scale) | fp4_nearest(x[16 * s + r + 8], scale) << 4);
    }
}

static void encode_plain(uint32_t type, double v, unsigned char *p)
{
    float f = (float)v;
    int64_t q = (int64_t)(isfinite(v) ? v : 0);
    int32_t i = (int32_t)q;

    switch (type) {
    case ENG_TYPE_F32: memcpy(p, &f, 4); break;
    case ENG_TYPE_F16: put16(p, ref_to_half(f)); break;
    case ENG_TYPE_BF16: put16(p, ref_to_bf16(f)); break;
    case ENG_TYPE_I32: memcpy(p, &i, 4); break;
    case ENG_TYPE_I64: memcpy(p, &q, 8); break;
    default: break;
    }
}

bool ref_can_encode(uint32_t type, bool search)
{
    switch (type) {
    case ENG_TYPE_IQ4_NL: return !search;
    case ENG_TYPE_Q4_0:
    case ENG_TYPE_Q4_1:
    case ENG_TYPE_Q5_0:
    case ENG_TYPE_Q5_1:
    case ENG_TYPE_Q8_0:
    case ENG_TYPE_MXFP4:
    case ENG_TYPE_NVFP4: return true;
    default: return ref_block(type) == 1;
    }
}

bool ref_encode(uint32_t type, const double *x, void *blocks, int64_t n, bool search)
{
    uint32_t block = ref_block(type), bytes = ref_block_bytes(type);
    float v[64];

    if (!ref_can_encode(type, search))
        return false;
    for (int64_t i = 0; i < n; i += block) {
        unsigned char *b = (unsigned char *)blocks + i / block * bytes;
        if (block == 1) {
            encode_plain(type, x[i], b);
            continue;
        }
        for (uint32_t j = 0; j < block; j++)
            v[j] = tame(x[i + j]);
        switch (type) {
        case ENG_TYPE_Q4_0: encode_signed(v, b, 8); break;
        case ENG_TYPE_Q5_0: encode_signed(v, b, 16); break;
        case ENG_TYPE_Q4_1: encode_minimum(v, b, 15); break;
        case ENG_TYPE_Q5_1: encode_minimum(v, b, 31); break;
        case ENG_TYPE_Q8_0: encode_q8_0(v, b); break;
        case ENG_TYPE_IQ4_NL: encode_iq4_nl(v, b); break;
        case ENG_TYPE_MXFP4: encode_mxfp4(v, b); break;
        default: encode_nvfp4(v, b); break;
        }
    }
    return true;
}
