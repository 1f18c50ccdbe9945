/*
 * Encoding of the formats of 32 elements with a scale (and a minimum).  Scales are
 * computed in f32 and codes are taken with the unrounded scale, as makers of GGUF
 * files do, so that equal data give equal bytes.
 */
#include "loops.h"

#include "config.h"

#include "encode_blocks.h"

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
        for (; n >= 32 * B_BLOCKS && b_q4_0(x, out); n -= 32 * B_BLOCKS)
            x += 32 * B_BLOCKS, out += 18 * B_BLOCKS, ask_stream(x, 32 * B_BLOCKS);
        if (n == 0)
            break;
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
        for (; n >= 32 * B_BLOCKS && b_q5_0(x, out); n -= 32 * B_BLOCKS)
            x += 32 * B_BLOCKS, out += 22 * B_BLOCKS, ask_stream(x, 32 * B_BLOCKS);
        if (n == 0)
            break;
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
        for (; n >= 32 * B_BLOCKS && b_q4_1(x, out); n -= 32 * B_BLOCKS)
            x += 32 * B_BLOCKS, out += 20 * B_BLOCKS, ask_stream(x, 32 * B_BLOCKS);
        if (n == 0)
            break;
        uint8_t code[32];
        offset_codes(x, 15, out, code);
        pack_nibbles(code, out + 4);
    }
}

void cpu_encode_q5_1(const float *x, uint8_t *out, int64_t n)
{
    for (; n > 0; n -= 32, x += 32, out += 24) {
        for (; n >= 32 * B_BLOCKS && b_q5_1(x, out); n -= 32 * B_BLOCKS)
            x += 32 * B_BLOCKS, out += 24 * B_BLOCKS, ask_stream(x, 32 * B_BLOCKS);
        if (n == 0)
            break;
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
        for (; n >= 32 * B_BLOCKS && b_q8_0(x, out); n -= 32 * B_BLOCKS)
            x += 32 * B_BLOCKS, out += 34 * B_BLOCKS, ask_stream(x, 32 * B_BLOCKS);
        if (n == 0)
            break;
        float v[32];
        cpu_clean(x, v, 32, -127 * CPU_F16_MAX, 127 * CPU_F16_MAX);
        float d = largest(v, 32) / 127;
        float id = inverse(d, cpu_put_f16(out, d));
        for (int i = 0; i < 32; i++)
            out[2 + i] = (uint8_t)(int8_t)cpu_limit(round_away(v[i] * id), -127, 127);
    }
}
