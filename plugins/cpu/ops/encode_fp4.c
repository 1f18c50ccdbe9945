/*
 * Encoding of the formats whose four-bit codes stand for unequal steps:
 * iq4_nl, iq4_xs (a fixed table) and mxfp4, nvfp4 (E2M1 floats).
 */
#include "config.h"

#include <float.h>

#include "encode_lanes.h"

static const float iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
/* Half way between them, which floats hold exactly: from here on the upper one is nearest. */
static const float iq4_limits[16] = {-115.5f, -93.5f, -74, -57, -42, -28.5f, -16, -4.5f,
                                     7, 19, 31.5f, 45.5f, 61, 79, 101, INFINITY};

/* The nearest values of the table, and their numbers. */
CPU_INLINE e8 iq4_nearest(e8 x, e8i *number)
{
#if defined(__AVX2__)
    const __m256 lo = _mm256_loadu_ps(iq4_limits), hi = _mm256_loadu_ps(iq4_limits + 8);
    const __m256i upper = (__m256i)_mm256_cmp_ps((__m256)x, _mm256_set1_ps(-4.5f), _CMP_GE_OQ);
    __m256i n = _mm256_and_si256(upper, _mm256_set1_epi32(8));
    CPU_UNROLL
    for (int step = 4; step; step /= 2) { /* the limit before `step` further values */
        const __m256i at = _mm256_add_epi32(n, _mm256_set1_epi32(step - 1));
        const __m256 limit = _mm256_blendv_ps(_mm256_permutevar8x32_ps(lo, at), _mm256_permutevar8x32_ps(hi, at),
                                              _mm256_castsi256_ps(upper));
        const __m256i more = _mm256_castps_si256(_mm256_cmp_ps((__m256)x, limit, _CMP_GE_OQ));
        n = _mm256_add_epi32(n, _mm256_and_si256(more, _mm256_set1_epi32(step)));
    }
    *number = (e8i)n;
    return (e8)_mm256_blendv_ps(_mm256_permutevar8x32_ps(_mm256_loadu_ps(iq4_values), n),
                                _mm256_permutevar8x32_ps(_mm256_loadu_ps(iq4_values + 8), n), (__m256)upper);
#else
    e8 value = e_set(iq4_values[0]);
    e8i n = {0};
    for (int i = 0; i < 15; i++) {
        const e8i more = x >= iq4_limits[i];
        n -= more;
        value = e_select(more, e_set(iq4_values[i + 1]), value);
    }
    *number = n;
    return value;
#endif
}

/* Numbers of the table's values for x id, four bits each: of elements i and i + 16 together, as they are stored. */
static void iq4_codes(const e8 *x, e8 id, e8i *code)
{
    for (int i = 0; i < 16; i++) {
        e8i lo, hi;
        iq4_nearest(id * x[i], &lo);
        iq4_nearest(id * x[i + 16], &hi);
        code[i] = lo | hi << 4;
    }
}

/* Sums of the least-squares fit of a scale: x to the table at scale 1 / id. */
CPU_INLINE void iq4_fit(const e8 *x, e8 id, e8 *qx, e8 *qq)
{
    *qx = *qq = (e8){0};
    for (int i = 0; i < 32; i++) {
        e8i number;
        const e8 q = iq4_nearest(id * x[i], &number), wq = x[i] * x[i] * q;
        *qx += wq * x[i];
        *qq += wq * q;
    }
}

/*
 * The scales of eight groups of 32, weighted by their squares.  With tries > 0 they are searched around the ones
 * that map the extreme elements to the table's first.  `id`: what the codes of the first fit are formed with.
 */
static e8 iq4_scales(const e8 *x, int tries, e8 *id)
{
    e8 amax, max = e_extreme(x, 32, &amax), qx, qq;
    const e8i there = ~(amax < CPU_TINY);
    max = e_select(there, max, e_set(1)); /* of groups that become zeros */
    e8 d = tries > 0 ? -max / iq4_values[0] : max / iq4_values[0];
    *id = 1 / d;
    iq4_fit(x, *id, &qx, &qq);
    d = qx / qq;
    e8 best = d * qx;
    for (int i = -tries; i <= tries; i++) {
        iq4_fit(x, ((float)i + iq4_values[0]) / max, &qx, &qq);
        const e8i better = (qq > 0) & (qx * qx > best * qq);
        d = e_select(better, qx / qq, d);
        best = e_select(better, d * qx, best);
    }
    return (e8)((e8i)d & there);
}

/* Codes of the groups in their order: 16 bytes each. */
static void iq4_store(const e8i *code, uint8_t (*out)[16])
{
#if defined(__AVX2__)
    for (int i = 0; i < 16; i += 4) {
        const e8i four = code[i] | code[i + 1] << 8 | code[i + 2] << 16 | code[i + 3] << 24;
        CPU_UNROLL
        for (int j = 0; j < LANES; j++) {
            const int32_t one = four[j];
            memcpy(&out[j][i], &one, 4);
        }
    }
#else
    const int32_t *from = (const int32_t *)code;
    for (int j = 0; j < LANES; j++)
        for (int i = 0; i < 16; i++)
            out[j][i] = (uint8_t)from[LANES * i + j];
#endif
}

/* Up to eight blocks at once. */
static void iq4_nl_blocks(const float *x, uint8_t *out, int blocks, bool search)
{
    float rest[LANES * 32] = {0};
    e8 v[32], id;
    e8i code[16];
    uint8_t bytes[LANES][16];
    if (blocks < LANES)
        x = memcpy(rest, x, (size_t)blocks * 32 * sizeof *x);
    e_load(x, 32, v);
    /* sums of squares of squares must stay finite, too */
    e_clean(v, 32, -113 * CPU_F16_MAX, 113 * CPU_F16_MAX);
    const e8 d = iq4_scales(v, search ? 7 : -1, &id);
    iq4_codes(v, search ? 1 / d : id, code);
    iq4_store(code, bytes);
    for (int j = 0; j < blocks; j++, out += 18) {
        if (cpu_put_f16(out, d[j]) == 0)
            memset(out + 2, 0x88, 16);
        else
            memcpy(out + 2, bytes[j], 16);
    }
}

void cpu_encode_iq4_nl(const float *x, uint8_t *out, int64_t n, bool search)
{
    for (; n > 0; n -= LANES * 32, x += LANES * 32, out += LANES * 18)
        iq4_nl_blocks(x, out, n < LANES * 32 ? (int)(n / 32) : LANES, search);
}

void cpu_encode_iq4_xs(const float *x, uint8_t *out, int64_t n)
{
    for (; n > 0; n -= 256, x += 256, out += 136) {
        float max = 0, amax = 0;
        e8 v[32], id, idl = {0};
        e8i code[16];
        e_load(x, 32, v);
        e_clean(v, 32, -113 * 31 * CPU_F16_MAX, 113 * 31 * CPU_F16_MAX);
        const e8 scale = iq4_scales(v, 7, &id);
        for (int s = 0; s < 8; s++)
            if (fabsf(scale[s]) > amax) {
                amax = fabsf(scale[s]);
                max = scale[s];
            }
        const float d = -max / 32, inverse = cpu_put_f16(out, d) != 0 ? 1 / d : 0;
        uint16_t high = 0;
        memset(out + 4, 0, 4);
        for (int s = 0; s < 8; s++) {
            int l = cpu_limit(cpu_nearest(inverse * scale[s]), -32, 31);
            const float dl = d * (float)l;
            idl[s] = inverse != 0 && dl != 0 ? 1 / dl : 0;
            l += 32;
            out[4 + s / 2] |= (uint8_t)((l & 15) << 4 * (s & 1));
            high |= (uint16_t)(l >> 4 << 2 * s);
        }
        memcpy(out + 2, &high, 2);
        iq4_codes(v, idl, code);
        iq4_store(code, (uint8_t(*)[16])(out + 8));
    }
}

/* -- E2M1 ---------------------------------------------------------------------- */

/* Codes of the values nearest to x: half a scale d is what they are multiples of; the smaller magnitude on ties. */
CPU_INLINE e8i e2m1_nearest(e8 x, e8 d)
{
    static const float values[8] = {0, 1, 2, 3, 4, 6, 8, 12};
    const e8 magnitude = e_abs(x);
    e8 error = magnitude;
    e8i best = {0};
    CPU_UNROLL
    for (int i = 1; i < 8; i++) {
        const e8 e = e_abs(values[i] * d - magnitude);
        const e8i better = e < error;
        error = e_select(better, e, error);
        best = (better & i) | (~better & best);
    }
    return best | ((x < 0) & (best > 0) & 8);
}

/* The largest magnitude of n vectors. */
static float largest(const e8 *x, int n)
{
    e8 most = {0};
    for (int i = 0; i < n; i++)
        most = e_select(e_abs(x[i]) > most, e_abs(x[i]), most);
    float amax = most[0];
    for (int j = 1; j < LANES; j++)
        amax = most[j] > amax ? most[j] : amax;
    return amax;
}

/* Eight bytes of two codes each. */
static void put_pairs(e8i low, e8i high, uint8_t *out)
{
    const e8i pair = low | high << 4;
    for (int i = 0; i < LANES; i++)
        out[i] = (uint8_t)pair[i];
}

void cpu_encode_mxfp4(const float *x, uint8_t *out, int64_t n)
{
    for (; n > 0; n -= 32, x += 32, out += 17) {
        e8 v[4];
        memcpy(v, x, sizeof v);
        e_clean(v, 4, -FLT_MAX, FLT_MAX);
        float amax = largest(v, 4);
        int e = 0;
        if (amax > 0) {
            frexpf(amax, &e); /* amax = f 2^e, 1/2 <= f < 1 */
            e = cpu_limit(e - 1 - 2 + 127, 0, 254);
        }
        const e8 d = e_set(ldexpf(1, e - 128));
        out[0] = (uint8_t)e;
        for (int i = 0; i < 2; i++)
            put_pairs(e2m1_nearest(v[i], d), e2m1_nearest(v[i + 2], d), out + 1 + 8 * i);
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
            e8 v[2];
            memcpy(v, x + 16 * s, sizeof v);
            e_clean(v, 2, -448 * 6, 448 * 6);
            const uint8_t scale = ue4m3(largest(v, 2) / 6);
            const e8 d = e_set(ue4m3_half(scale));
            out[s] = scale;
            put_pairs(e2m1_nearest(v[0], d), e2m1_nearest(v[1], d), out + 4 + 8 * s);
        }
}
