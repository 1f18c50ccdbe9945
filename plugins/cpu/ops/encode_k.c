/*
 * Encoding of the K formats: 256 elements in groups of 16 or 32, each with a
 * small integer scale (and minimum) under one f16 scale.  Scales of groups are
 * found by trying several and solving a weighted least-squares problem for
 * each; the order of the operations is the one that makes the bytes equal to
 * those of existing files.
 */
#include "config.h"

#include "encode.h"

#define GROUP_MAX 32

/*
 * x ~ scale * code - min with codes 0 .. levels and min >= 0: the best of the
 * least-squares fits to the codes of `steps` + 1 trial scales, judged by the
 * weighted squared (or absolute) error.  Returns the scale.
 */
typedef struct fit_params {
    int n, levels, steps;
    float first, step;
    bool absolute;
} fit_params;

static float error_of(const fit_params *p, const float *x, const float *w, const uint8_t *code, float scale, float min)
{
    float error = 0;
    for (int i = 0; i < p->n; i++) {
        float diff = scale * (float)code[i] + min - x[i];
        diff = p->absolute ? fabsf(diff) : diff * diff;
        error += w[i] * diff;
    }
    return error;
}

static void codes_for(const fit_params *p, const float *x, float inverse, float min, uint8_t *code)
{
    for (int i = 0; i < p->n; i++)
        code[i] = (uint8_t)cpu_limit(cpu_nearest(inverse * (x[i] - min)), 0, p->levels);
}

static float fit_scale_min(const fit_params *p, const float *x, const float *w, uint8_t *code, float *min_out)
{
    float min = x[0], max = x[0], sum_w = w[0], sum_x = w[0] * x[0];
    for (int i = 1; i < p->n; i++) {
        min = x[i] < min ? x[i] : min;
        max = x[i] > max ? x[i] : max;
        sum_w += w[i];
        sum_x += w[i] * x[i];
    }
    if (min > 0)
        min = 0;
    if (max - min < 1e-30f) { /* also where 1 / scale would overflow */
        memset(code, 0, (size_t)p->n);
        *min_out = -min;
        return 0;
    }
    float inverse = (float)p->levels / (max - min), scale = 1 / inverse;
    codes_for(p, x, inverse, min, code);
    float best = error_of(p, x, w, code, scale, min);
    for (int s = 0; s <= p->steps; s++) {
        uint8_t trial[GROUP_MAX];
        codes_for(p, x, (p->first + p->step * (float)s + (float)p->levels) / (max - min), min, trial);
        float sum_l = 0, sum_l2 = 0, sum_xl = 0;
        for (int i = 0; i < p->n; i++) {
            float l = (float)trial[i];
            sum_l += w[i] * l;
            sum_l2 += w[i] * l * l;
            sum_xl += w[i] * l * x[i];
        }
        float det = sum_w * sum_l2 - sum_l * sum_l;
        if (!(det > 0))
            continue;
        float t_scale = (sum_w * sum_xl - sum_x * sum_l) / det, t_min = (sum_l2 * sum_x - sum_l * sum_xl) / det;
        if (t_min > 0) {
            t_min = 0;
            t_scale = sum_xl / sum_l2;
        }
        float error = error_of(p, x, w, trial, t_scale, t_min);
        if (error < best) {
            memcpy(code, trial, (size_t)p->n);
            best = error;
            scale = t_scale;
            min = t_min;
        }
    }
    *min_out = -min;
    return scale;
}

/* -- q4_K, q5_K -------------------------------------------------------------------- */

/* Eight six-bit scales and minima in twelve bytes. */
static void put_scale_min(uint8_t *s, int j, int scale, int min)
{
    if (j < 4) {
        s[j] |= (uint8_t)scale;
        s[j + 4] |= (uint8_t)min;
    } else {
        s[j + 4] = (uint8_t)((scale & 15) | (min & 15) << 4);
        s[j - 4] |= (uint8_t)(scale >> 4 << 6);
        s[j] |= (uint8_t)(min >> 4 << 6);
    }
}

/* The header (d, dmin, scales: 16 bytes) and the codes of one block. */
static void encode_45(const fit_params *p, const float *x, uint8_t *header, uint8_t *code)
{
    float scale[8], min[8], max_scale = 0, max_min = 0;
    for (int j = 0; j < 8; j++) {
        const float *g = x + 32 * j;
        float w[32], sum = 0;
        for (int i = 0; i < 32; i++)
            sum += g[i] * g[i];
        float mean = sqrtf(sum / 32);
        for (int i = 0; i < 32; i++)
            w[i] = mean + fabsf(g[i]);
        scale[j] = fit_scale_min(p, g, w, code + 32 * j, &min[j]);
        max_scale = scale[j] > max_scale ? scale[j] : max_scale;
        max_min = min[j] > max_min ? min[j] : max_min;
    }
    float is = max_scale > CPU_TINY ? 63 / max_scale : 0, im = max_min > CPU_TINY ? 63 / max_min : 0;
    float d = cpu_put_f16(header, max_scale / 63), dmin = cpu_put_f16(header + 2, max_min / 63);
    memset(header + 4, 0, 12);
    for (int j = 0; j < 8; j++) {
        int s = cpu_limit(cpu_nearest(is * scale[j]), 0, 63), m = cpu_limit(cpu_nearest(im * min[j]), 0, 63);
        put_scale_min(header + 4, j, s, m);
        float ds = d * (float)s, dm = dmin * (float)m;
        if (d == 0)
            memset(code + 32 * j, 0, 32);
        if (ds == 0)
            continue;
        for (int i = 0; i < 32; i++)
            code[32 * j + i] = (uint8_t)cpu_limit(cpu_nearest((x[32 * j + i] + dm) / ds), 0, p->levels);
    }
}

void cpu_encode_q4_K(const float *x, uint8_t *out, int64_t n)
{
    static const fit_params p = {32, 15, 20, -1, 0.1f, false};
    for (; n > 0; n -= 256, x += 256, out += 144) {
        float v[256];
        uint8_t code[256];
        cpu_clean(x, v, 256, -63 * CPU_F16_MAX, 63 * 15 * CPU_F16_MAX);
        encode_45(&p, v, out, code);
        for (int j = 0; j < 4; j++)
            for (int i = 0; i < 32; i++)
                out[16 + 32 * j + i] = (uint8_t)(code[64 * j + i] | code[64 * j + 32 + i] << 4);
    }
}

void cpu_encode_q5_K(const float *x, uint8_t *out, int64_t n)
{
    static const fit_params p = {32, 31, 15, -0.5f, 0.1f, false};
    for (; n > 0; n -= 256, x += 256, out += 176) {
        float v[256];
        uint8_t code[256];
        cpu_clean(x, v, 256, -63 * CPU_F16_MAX, 63 * 31 * CPU_F16_MAX);
        encode_45(&p, v, out, code);
        memset(out + 16, 0, 32);
        for (int j = 0; j < 4; j++)
            for (int i = 0; i < 32; i++) {
                int lo = code[64 * j + i], hi = code[64 * j + 32 + i];
                out[48 + 32 * j + i] = (uint8_t)((lo & 15) | (hi & 15) << 4);
                out[16 + i] |= (uint8_t)((lo >> 4) << 2 * j | (hi >> 4) << (2 * j + 1));
            }
    }
}

/* -- q2_K ------------------------------------------------------------------------------ */

/* Two-bit codes of a half block: four to a byte, 32 apart. */
static void pack_two_bits(const uint8_t *code, uint8_t *out)
{
    for (int i = 0; i < 32; i++)
        out[i] = (uint8_t)((code[i] & 3) | (code[i + 32] & 3) << 2 | (code[i + 64] & 3) << 4 | (code[i + 96] & 3) << 6);
}

/* v[] as four-bit integers under an f16 scale. */
static float four_bit_scales(const float *v, float max, uint8_t *f16, uint8_t *q)
{
    float d = cpu_put_f16(f16, max > 0 ? max / 15 : 0), id = d != 0 ? 15 / max : 0;
    for (int j = 0; j < 16; j++)
        q[j] = (uint8_t)cpu_limit(cpu_nearest(id * v[j]), 0, 15);
    return d;
}

void cpu_encode_q2_K(const float *x, uint8_t *out, int64_t n)
{
    static const fit_params p = {16, 3, 15, -0.5f, 0.1f, true};
    for (; n > 0; n -= 256, x += 256, out += 84) {
        float v[256], scale[16], min[16], max_scale = 0, max_min = 0;
        uint8_t code[256], s[16], m[16];
        cpu_clean(x, v, 256, -15 * CPU_F16_MAX, 15 * 3 * CPU_F16_MAX);
        for (int j = 0; j < 16; j++) {
            float w[16];
            for (int i = 0; i < 16; i++)
                w[i] = fabsf(v[16 * j + i]);
            scale[j] = fit_scale_min(&p, v + 16 * j, w, code + 16 * j, &min[j]);
            max_scale = scale[j] > max_scale ? scale[j] : max_scale;
            max_min = min[j] > max_min ? min[j] : max_min;
        }
        float d = four_bit_scales(scale, max_scale, out + 80, s), dmin = four_bit_scales(min, max_min, out + 82, m);
        for (int j = 0; j < 16; j++) {
            out[j] = (uint8_t)(s[j] | m[j] << 4);
            float ds = d * (float)s[j], dm = dmin * (float)m[j];
            if (d == 0)
                memset(code + 16 * j, 0, 16);
            if (ds == 0)
                continue;
            for (int i = 0; i < 16; i++)
                code[16 * j + i] = (uint8_t)cpu_limit(cpu_nearest((v[16 * j + i] + dm) / ds), 0, 3);
        }
        pack_two_bits(code, out + 16);
        pack_two_bits(code + 128, out + 48);
    }
}

/* -- symmetric groups: q3_K, q6_K --------------------------------------------------------- */

static float group_extreme(const float *x, float *amax)
{
    float max = 0;
    *amax = 0;
    for (int i = 0; i < 16; i++)
        if (fabsf(x[i]) > *amax) {
            *amax = fabsf(x[i]);
            max = x[i];
        }
    return max;
}

/* Codes -4 .. 3 of 16 elements improved one by one; returns the scale. */
static float fit_q3(const float *x, int8_t *code)
{
    float amax, max = group_extreme(x, &amax), lx = 0, ll = 0;
    if (amax < CPU_TINY) {
        memset(code, -4, 16);
        return 0;
    }
    float inverse = -4 / max;
    for (int i = 0; i < 16; i++) {
        int l = cpu_limit(cpu_nearest(inverse * x[i]), -4, 3);
        float w = x[i] * x[i], f = (float)l;
        code[i] = (int8_t)l;
        lx += w * x[i] * f;
        ll += w * f * f;
    }
    for (int round = 0; round < 5; round++) {
        bool changed = false;
        for (int i = 0; i < 16; i++) {
            float w = x[i] * x[i], f = (float)code[i], sx = lx - w * x[i] * f;
            if (!(sx > 0))
                continue;
            float sl = ll - w * f * f;
            int l = cpu_limit(cpu_nearest(x[i] * sl / sx), -4, 3);
            if (l == code[i])
                continue;
            f = (float)l;
            sx += w * x[i] * f;
            sl += w * f * f;
            if (sl > 0 && sx * sx * ll > lx * lx * sl) {
                code[i] = (int8_t)l;
                lx = sx;
                ll = sl;
                changed = true;
            }
        }
        if (!changed)
            break;
    }
    return ll > 0 ? lx / ll : 0;
}

void cpu_encode_q3_K(const float *x, uint8_t *out, int64_t n)
{
    for (; n > 0; n -= 256, x += 256, out += 110) {
        float v[256], scale[16], max = 0, amax = 0;
        int8_t fitted[256];
        uint8_t code[256];
        cpu_clean(x, v, 256, -32 * 4 * CPU_F16_MAX, 32 * 4 * CPU_F16_MAX);
        for (int j = 0; j < 16; j++) {
            scale[j] = fit_q3(v + 16 * j, fitted + 16 * j);
            if (fabsf(scale[j]) > amax) {
                amax = fabsf(scale[j]);
                max = scale[j];
            }
        }
        float inverse = amax > CPU_TINY ? -32 / max : 0;
        float d = cpu_put_f16(out + 108, inverse != 0 ? 1 / inverse : 0);
        memset(out, 0, 32);
        memset(out + 96, 0, 12);
        for (int j = 0; j < 16; j++) {
            int s = inverse != 0 ? cpu_limit(cpu_nearest(inverse * scale[j]), -32, 31) + 32 : 0;
            out[96 + j % 8] |= (uint8_t)((s & 15) << (j < 8 ? 0 : 4));
            out[104 + j % 4] |= (uint8_t)(s >> 4 << 2 * (j / 4));
            float ds = d * (float)(s - 32);
            for (int i = 16 * j; i < 16 * j + 16; i++) {
                int l = ds != 0 ? cpu_limit(cpu_nearest(v[i] / ds), -4, 3) : d != 0 ? fitted[i] : -4;
                code[i] = (uint8_t)(l + 4);
                out[i % 32] |= (uint8_t)(code[i] >> 2 << i / 32);
            }
        }
        pack_two_bits(code, out + 32);
        pack_two_bits(code + 128, out + 64);
    }
}

/* The scale of 16 elements with codes -32 .. 31: the best of 19. */
static float fit_q6(const float *x, int8_t *code)
{
    float amax, max = group_extreme(x, &amax), scale = 0, best = 0;
    if (amax < CPU_TINY) {
        memset(code, -32, 16);
        return 0;
    }
    for (int t = 0; t <= 18; t++) {
        int s = t == 0 ? 0 : t <= 9 ? t - 10 : t - 9; /* 0, then -9 .. -1, 1 .. 9 */
        float inverse = s == 0 ? -32 / max : -(32 + 0.1f * (float)s) / max, lx = 0, ll = 0;
        int8_t trial[16];
        for (int i = 0; i < 16; i++) {
            int l = cpu_limit(cpu_nearest(inverse * x[i]), -32, 31);
            float w = x[i] * x[i], f = (float)l;
            trial[i] = (int8_t)l;
            lx += w * x[i] * f;
            ll += w * f * f;
        }
        if (s == 0 ? true : ll > 0 && lx * lx > best * ll) {
            memcpy(code, trial, 16);
            scale = ll != 0 ? lx / ll : 0;
            best = scale * lx;
        }
    }
    return scale;
}

void cpu_encode_q6_K(const float *x, uint8_t *out, int64_t n)
{
    for (; n > 0; n -= 256, x += 256, out += 210) {
        float v[256], scale[16], max = 0, amax = 0;
        int8_t code[256];
        cpu_clean(x, v, 256, -128 * 32 * CPU_F16_MAX, 128 * 32 * CPU_F16_MAX);
        for (int j = 0; j < 16; j++) {
            scale[j] = fit_q6(v + 16 * j, code + 16 * j);
            if (fabsf(scale[j]) > amax) {
                amax = fabsf(scale[j]);
                max = scale[j];
            }
        }
        memset(out, 0, 210);
        if (amax < CPU_TINY)
            continue;
        float inverse = -128 / max, d = cpu_put_f16(out + 208, 1 / inverse);
        for (int j = 0; j < 16; j++) {
            int s = d != 0 ? cpu_limit(cpu_nearest(inverse * scale[j]), -128, 127) : 0;
            out[192 + j] = (uint8_t)(int8_t)s;
            float ds = d * (float)s;
            for (int i = 16 * j; i < 16 * j + 16; i++)
                code[i] = ds != 0 ? (int8_t)cpu_limit(cpu_nearest(v[i] / ds), -32, 31) : d != 0 ? code[i] : -32;
        }
        for (int i = 0; i < 256; i++) {
            int half = i / 128, g = i % 128 / 32, l = i % 32, q = code[i] + 32;
            out[64 * half + 32 * (g & 1) + l] |= (uint8_t)((q & 15) << (g >= 2 ? 4 : 0));
            out[128 + 32 * half + l] |= (uint8_t)(q >> 4 << 2 * g);
        }
    }
}
