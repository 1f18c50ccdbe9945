/*
 * Encoding rows: dispatch, plain types, and the formats of 32 elements with a
 * scale (and a minimum).  Scales are computed in f32 and codes are taken with
 * the unrounded scale, as makers of GGUF files do, so that equal data give
 * equal bytes.  Compiled without contraction: a multiply-add would change bits.
 *
 * Corner cases, the same for all block types: NaN counts as 0, what is too
 * large becomes the largest value that the block can hold, a block whose scale
 * is too small for its format becomes zeros.
 */
#include "config.h"

#include <float.h>

#include "encode.h"

uint16_t cpu_f16_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    uint16_t sign = (uint16_t)(u >> 16 & 0x8000);
    u &= 0x7fffffff;
    if (u > 0x7f800000)
        return sign | 0x7e00; /* NaN */
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

static uint16_t bf16_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    if ((u & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(u >> 16 | 0x40); /* NaN stays NaN */
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

void cpu_clean(const float *x, float *out, int n, float lo, float hi)
{
    for (int i = 0; i < n; i++) {
        float v = x[i] == x[i] ? x[i] : 0;
        out[i] = v < lo ? lo : v > hi ? hi : v;
    }
}

/* 1 / d, or 0 where d is stored as 0. */
static float inverse(float d, float stored)
{
    return stored != 0 ? 1 / d : 0;
}

/* Low nibbles of 16 bytes: the first 16 codes; high ones: the others. */
static void pack_nibbles(const uint8_t *code, uint8_t *out)
{
    for (int i = 0; i < 16; i++)
        out[i] = (uint8_t)((code[i] & 15) | (code[i + 16] & 15) << 4);
}

static void pack_fifth_bits(const uint8_t *code, uint8_t *out)
{
    uint32_t bits = 0;
    for (int i = 0; i < 32; i++)
        bits |= (uint32_t)(code[i] >> 4 & 1) << i;
    memcpy(out, &bits, 4);
}

/* The largest magnitude.  Compared as integers: floats of one sign are in the
 * same order, and compilers vectorise it. */
static float largest(const float *x, int n)
{
    uint32_t max = 0;
    for (int i = 0; i < n; i++) {
        uint32_t u;
        memcpy(&u, &x[i], 4);
        u &= 0x7fffffff;
        max = u > max ? u : max;
    }
    float out;
    memcpy(&out, &max, 4);
    return out;
}

/* The element of the largest magnitude, with its sign; the first of equals. */
static float extreme(const float *x, int n)
{
    float amax = largest(x, n);
    for (int i = 0; i < n; i++)
        if (fabsf(x[i]) == amax)
            return x[i];
    return 0;
}

/* Codes of q4_0 and q5_0: half = 8 or 16 stands for zero. */
static float symmetric_codes(const float *x, int half, uint8_t *code)
{
    float d = extreme(x, 32) / (float)-half;
    float id = inverse(d, cpu_f16_value(cpu_f16_bits(d)));
    for (int i = 0; i < 32; i++) {
        int q = (int)(x[i] * id + ((float)half + 0.5f));
        code[i] = (uint8_t)cpu_limit(q, 0, 2 * half - 1);
    }
    return d;
}

void cpu_encode_q4_0(const float *x, uint8_t *out, int64_t n)
{
    for (; n > 0; n -= 32, x += 32, out += 18) {
        float v[32];
        uint8_t code[32];
        cpu_clean(x, v, 32, -8 * CPU_F16_MAX, 8 * CPU_F16_MAX);
        cpu_put_f16(out, symmetric_codes(v, 8, code));
        pack_nibbles(code, out + 2);
    }
}

void cpu_encode_q5_0(const float *x, uint8_t *out, int64_t n)
{
    for (; n > 0; n -= 32, x += 32, out += 22) {
        float v[32];
        uint8_t code[32];
        cpu_clean(x, v, 32, -16 * CPU_F16_MAX, 16 * CPU_F16_MAX);
        cpu_put_f16(out, symmetric_codes(v, 16, code));
        pack_fifth_bits(code, out + 2);
        pack_nibbles(code, out + 6);
    }
}

/* Codes of q4_1 and q5_1: 0 .. levels above a minimum. */
static void offset_codes(const float *x, int levels, uint8_t *header, uint8_t *code)
{
    float v[32], limit = (float)(levels + 1) * CPU_F16_MAX;
    cpu_clean(x, v, 32, -limit, limit);
    float min = v[0], max = v[0];
    for (int i = 1; i < 32; i++) {
        min = v[i] < min ? v[i] : min;
        max = v[i] > max ? v[i] : max;
    }
    min = min < -CPU_F16_MAX ? -CPU_F16_MAX : min > CPU_F16_MAX ? CPU_F16_MAX : min;
    float d = (max - min) / (float)levels;
    d = d > CPU_F16_MAX ? CPU_F16_MAX : d;
    float id = inverse(d, cpu_put_f16(header, d));
    cpu_put_f16(header + 2, min);
    for (int i = 0; i < 32; i++)
        code[i] = (uint8_t)cpu_limit((int)((v[i] - min) * id + 0.5f), 0, levels);
}

void cpu_encode_q4_1(const float *x, uint8_t *out, int64_t n)
{
    for (; n > 0; n -= 32, x += 32, out += 20) {
        uint8_t code[32];
        offset_codes(x, 15, out, code);
        pack_nibbles(code, out + 4);
    }
}

void cpu_encode_q5_1(const float *x, uint8_t *out, int64_t n)
{
    for (; n > 0; n -= 32, x += 32, out += 24) {
        uint8_t code[32];
        offset_codes(x, 31, out, code);
        pack_fifth_bits(code, out + 4);
        pack_nibbles(code, out + 8);
    }
}

/* Half away from zero, without a library call. */
static int round_away(float x)
{
    int whole = (int)x;
    float rest = x - (float)whole;
    return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

void cpu_encode_q8_0(const float *x, uint8_t *out, int64_t n)
{
    for (; n > 0; n -= 32, x += 32, out += 34) {
        float v[32];
        cpu_clean(x, v, 32, -127 * CPU_F16_MAX, 127 * CPU_F16_MAX);
        float d = largest(v, 32) / 127;
        float id = inverse(d, cpu_put_f16(out, d));
        for (int i = 0; i < 32; i++)
            out[2 + i] = (uint8_t)(int8_t)cpu_limit(round_away(v[i] * id), -127, 127);
    }
}

bool cpu_can_encode(uint32_t type)
{
    return cpu_type(type) && type != ENG_TYPE_I32 && type != ENG_TYPE_I64;
}

void cpu_encode_row(uint32_t type, const float *x, uint8_t *out, int64_t n, bool search)
{
    switch (type) {
    case ENG_TYPE_F32:
        memcpy(out, x, (size_t)n * 4);
        break;
    case ENG_TYPE_F16:
        for (int64_t i = 0; i < n; i++) {
            uint16_t h = cpu_f16_bits(x[i]);
            memcpy(out + 2 * i, &h, 2);
        }
        break;
    case ENG_TYPE_BF16:
        for (int64_t i = 0; i < n; i++) {
            uint16_t h = bf16_bits(x[i]);
            memcpy(out + 2 * i, &h, 2);
        }
        break;
    case ENG_TYPE_Q4_0: cpu_encode_q4_0(x, out, n); break;
    case ENG_TYPE_Q4_1: cpu_encode_q4_1(x, out, n); break;
    case ENG_TYPE_Q5_0: cpu_encode_q5_0(x, out, n); break;
    case ENG_TYPE_Q5_1: cpu_encode_q5_1(x, out, n); break;
    case ENG_TYPE_Q8_0: cpu_encode_q8_0(x, out, n); break;
    case ENG_TYPE_IQ4_NL: cpu_encode_iq4_nl(x, out, n, search); break;
    case ENG_TYPE_IQ4_XS: cpu_encode_iq4_xs(x, out, n); break;
    case ENG_TYPE_MXFP4: cpu_encode_mxfp4(x, out, n); break;
    case ENG_TYPE_NVFP4: cpu_encode_nvfp4(x, out, n); break;
    case ENG_TYPE_Q2_K: cpu_encode_q2_K(x, out, n); break;
    case ENG_TYPE_Q3_K: cpu_encode_q3_K(x, out, n); break;
    case ENG_TYPE_Q4_K: cpu_encode_q4_K(x, out, n); break;
    case ENG_TYPE_Q5_K: cpu_encode_q5_K(x, out, n); break;
    case ENG_TYPE_Q6_K: cpu_encode_q6_K(x, out, n); break;
    default: break;
    }
}
