/*
 * Encoding of the K formats: 256 elements in groups of 16 or 32, each with a
 * small integer scale (and minimum) under one f16 scale.  Scales of groups are
 * found by trying several and solving a weighted least-squares problem for
 * each; the order of the operations is the one that makes the bytes equal to
 * those of existing files.
 */
#include "config.h"

#if defined(__AVX512F__)
#define LANES 16
#endif
#include "encode_lanes.h"

#define GROUP_MAX 32
#define BLOCKS (LANES / 8) /* of eight groups, at once                        */
#define PARTS (16 / LANES) /* of a block of sixteen groups                    */

/*
 * x ~ scale * code - min with codes 0 .. levels and min >= 0, for LANES groups: the best of the
 * least-squares fits to the codes of `steps` + 1 trial scales, judged by the
 * weighted squared (or absolute) error.  Returns the scales.
 */
typedef struct fit_params {
    int n, levels, steps;
    float first, step;
    bool absolute;
} fit_params;

CPU_INLINE e8 error_of(const fit_params p, const e8 *x, const e8 *w, const e8 *code, e8 scale, e8 min)
{
    e8 error = {0};
    for (int i = 0; i < p.n; i++) {
        e8 diff = scale * code[i] + min - x[i];
        diff = p.absolute ? e_abs(diff) : diff * diff;
        error += w[i] * diff;
    }
    return error;
}

CPU_INLINE void codes_for(const fit_params p, const e8 *x, e8 inverse, e8 min, e8 *code)
{
    for (int i = 0; i < p.n; i++)
        code[i] = e_nearest(inverse * (x[i] - min), 0, (float)p.levels);
}

/* The scale and minimum that fit trial codes best; the mask of the groups that have any. */
CPU_INLINE e8i fit_codes(const fit_params p, const e8 *x, const e8 *w, const e8 *code, e8 sum_w, e8 sum_x, e8 *scale,
                         e8 *min)
{
    e8 sum_l = {0}, sum_l2 = {0}, sum_xl = {0};
    for (int i = 0; i < p.n; i++) {
        const e8 wl = w[i] * code[i];
        sum_l += wl;
        sum_l2 += wl * code[i];
        sum_xl += wl * x[i];
    }
    const e8 det = sum_w * sum_l2 - sum_l * sum_l;
    *scale = (sum_w * sum_xl - sum_x * sum_l) / det;
    *min = (sum_l2 * sum_x - sum_l * sum_xl) / det;
    const e8i above = *min > 0;
    *scale = e_select(above, sum_xl / sum_l2, *scale);
    *min = e_select(above, (e8){0}, *min);
    return det > 0;
}

CPU_INLINE e8 fit_scale_min(const fit_params p, const e8 *x, const e8 *w, e8 *code, e8 *min_out)
{
    e8 min = x[0], max = x[0], sum_w = w[0], sum_x = w[0] * x[0];
    for (int i = 1; i < p.n; i++) {
        min = e_select(x[i] < min, x[i], min);
        max = e_select(x[i] > max, x[i], max);
        sum_w += w[i];
        sum_x += w[i] * x[i];
    }
    min = e_select(min > 0, (e8){0}, min);
    const e8i there = ~(max - min < 1e-30f); /* else 1 / scale may overflow */
    max = e_select(there, max, min + 1);
    const e8 inverse = (float)p.levels / (max - min);
    e8 scale = 1 / inverse, trial[GROUP_MAX];
    codes_for(p, x, inverse, min, code);
    e8 best = error_of(p, x, w, code, scale, min);
    const e8 least = min;
    for (int s = 0; s <= p.steps; s++) {
        e8 t_scale, t_min;
        codes_for(p, x, (p.first + p.step * (float)s + (float)p.levels) / (max - min), min, trial);
        e8i better = fit_codes(p, x, w, trial, sum_w, sum_x, &t_scale, &t_min);
        const e8 error = error_of(p, x, w, trial, t_scale, t_min);
        better &= error < best;
        best = e_select(better, error, best);
        scale = e_select(better, t_scale, scale);
        min = e_select(better, t_min, min);
        for (int i = 0; i < p.n; i++)
            code[i] = e_select(better, trial[i], code[i]);
    }
    for (int i = 0; i < p.n; i++)
        code[i] = (e8)((e8i)code[i] & there);
    *min_out = -e_select(there, min, least);
    return (e8)((e8i)scale & there);
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

/* Groups of n: their weights are their magnitudes, and the root of the mean square with `mean`. */
CPU_INLINE void weights_of(const e8 *x, const int n, const bool mean, e8 *w)
{
    e8 root = {0};
    for (int i = 0; i < n && mean; i++)
        root += x[i] * x[i];
    for (int j = 0; j < LANES && mean; j++)
        root[j] = sqrtf(root[j] / (float)n);
    for (int i = 0; i < n; i++)
        w[i] = mean ? root + e_abs(x[i]) : e_abs(x[i]);
}

/* The codes anew, for scales and minima as they are stored; 0 codes where d is 0 (`zero`), and those there are where ds is. */
CPU_INLINE void final_codes(const e8 *x, const int n, e8 ds, e8 dm, e8i zero, int levels, e8 *code)
{
    const e8i there = ds != 0;
    const e8 divisor = e_select(there, ds, e_set(1));
    for (int i = 0; i < n; i++) {
        const e8 old = (e8)((e8i)code[i] & ~zero);
        code[i] = e_select(there, e_nearest((x[i] + dm) / divisor, 0, (float)levels), old);
    }
}

/* The headers (d, dmin, scales: 16 bytes) and the codes of BLOCKS blocks. */
CPU_INLINE void encode_45(const fit_params p, const float *x, float lo, float hi, uint8_t (*header)[16],
                          uint8_t (*out)[256])
{
    e8 v[32], w[32], code[32], min, ds, dm;
    e8i none = {0}; /* blocks whose scale is zero */
    e_load(x, 32, v);
    e_clean(v, 32, lo, hi);
    weights_of(v, 32, true, w);
    const e8 scale = fit_scale_min(p, v, w, code, &min);
    for (int b = 0; b < BLOCKS; b++) {
        float max_scale = 0, max_min = 0;
        for (int j = 8 * b; j < 8 * b + 8; j++) {
            max_scale = scale[j] > max_scale ? scale[j] : max_scale;
            max_min = min[j] > max_min ? min[j] : max_min;
        }
        float is = max_scale > CPU_TINY ? 63 / max_scale : 0, im = max_min > CPU_TINY ? 63 / max_min : 0;
        float d = cpu_put_f16(header[b], max_scale / 63), dmin = cpu_put_f16(header[b] + 2, max_min / 63);
        memset(header[b] + 4, 0, 12);
        for (int j = 0; j < 8; j++) {
            int s = cpu_limit(cpu_nearest(is * scale[8 * b + j]), 0, 63), m = cpu_limit(cpu_nearest(im * min[8 * b + j]), 0, 63);
            put_scale_min(header[b] + 4, j, s, m);
            ds[8 * b + j] = d * (float)s;
            dm[8 * b + j] = dmin * (float)m;
            none[8 * b + j] = -(d == 0);
        }
    }
    final_codes(v, 32, ds, dm, none, p.levels, code);
    e_store_codes(code, 32, (int8_t *)out);
}

/* The blocks at x, of which fewer than BLOCKS may be there; `rest` is for those that are not. */
CPU_INLINE const float *whole_blocks(const float *x, int64_t n, float *rest)
{
    if (n >= 256 * BLOCKS)
        return x;
    memset(rest, 0, 256 * BLOCKS * sizeof *rest);
    return memcpy(rest, x, (size_t)n * sizeof *x);
}

void cpu_encode_q4_K(const float *x, uint8_t *out, int64_t n)
{
    static const fit_params p = {32, 15, 20, -1, 0.1f, false};
    float rest[256 * BLOCKS];
    for (; n > 0; n -= 256 * BLOCKS, x += 256 * BLOCKS) {
        uint8_t header[BLOCKS][16], code[BLOCKS][256];
        encode_45(p, whole_blocks(x, n, rest), -63 * CPU_F16_MAX, 63 * 15 * CPU_F16_MAX, header, code);
        for (int b = 0; b < BLOCKS && 256 * b < n; b++, out += 144) {
            memcpy(out, header[b], 16);
            for (int j = 0; j < 4; j++)
                for (int i = 0; i < 32; i++)
                    out[16 + 32 * j + i] = (uint8_t)(code[b][64 * j + i] | code[b][64 * j + 32 + i] << 4);
        }
    }
}

void cpu_encode_q5_K(const float *x, uint8_t *out, int64_t n)
{
    static const fit_params p = {32, 31, 15, -0.5f, 0.1f, false};
    float rest[256 * BLOCKS];
    for (; n > 0; n -= 256 * BLOCKS, x += 256 * BLOCKS) {
        uint8_t header[BLOCKS][16], code[BLOCKS][256];
        encode_45(p, whole_blocks(x, n, rest), -63 * CPU_F16_MAX, 63 * 31 * CPU_F16_MAX, header, code);
        for (int b = 0; b < BLOCKS && 256 * b < n; b++, out += 176) {
            memcpy(out, header[b], 16);
            memset(out + 16, 0, 32);
            for (int j = 0; j < 4; j++)
                for (int i = 0; i < 32; i++) {
                    int lo = code[b][64 * j + i], hi = code[b][64 * j + 32 + i];
                    out[48 + 32 * j + i] = (uint8_t)((lo & 15) | (hi & 15) << 4);
                    out[16 + i] |= (uint8_t)((lo >> 4) << 2 * j | (hi >> 4) << (2 * j + 1));
                }
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
        float scale[16], min[16], max_scale = 0, max_min = 0;
        uint8_t code[256], s[16], m[16];
        e8 v[PARTS][16], w[16], fitted[PARTS][16];
        for (int h = 0; h < PARTS; h++) {
            e_load(x + 16 * LANES * h, 16, v[h]);
            e_clean(v[h], 16, -15 * CPU_F16_MAX, 15 * 3 * CPU_F16_MAX);
            weights_of(v[h], 16, false, w);
            e8 least;
            const e8 step = fit_scale_min(p, v[h], w, fitted[h], &least);
            memcpy(scale + LANES * h, &step, sizeof step);
            memcpy(min + LANES * h, &least, sizeof least);
        }
        for (int j = 0; j < 16; j++) {
            max_scale = scale[j] > max_scale ? scale[j] : max_scale;
            max_min = min[j] > max_min ? min[j] : max_min;
        }
        float d = four_bit_scales(scale, max_scale, out + 80, s), dmin = four_bit_scales(min, max_min, out + 82, m);
        for (int h = 0; h < PARTS; h++) {
            e8 ds, dm;
            for (int j = 0; j < LANES; j++) {
                out[LANES * h + j] = (uint8_t)(s[LANES * h + j] | m[LANES * h + j] << 4);
                ds[j] = d * (float)s[LANES * h + j];
                dm[j] = dmin * (float)m[LANES * h + j];
            }
            final_codes(v[h], 16, ds, dm, d == 0 ? ~(e8i){0} : (e8i){0}, 3, fitted[h]);
            e_store_codes(fitted[h], 16, (int8_t *)code + 16 * LANES * h);
        }
        pack_two_bits(code, out + 16);
        pack_two_bits(code + 128, out + 48);
    }
}

/* -- symmetric groups: q3_K, q6_K --------------------------------------------------------- */

/* What is known of groups of which codes are improved. */
typedef struct q3_fit {
    e8 lx, ll;
    e8i there, going; /* groups that are not zeros; of which a code has changed in the last round */
} q3_fit;

static q3_fit begin_q3(const e8 *x, e8 *code)
{
    e8 amax, max = e_extreme(x, 16, &amax);
    q3_fit f = {.there = ~(amax < CPU_TINY)};
    const e8 inverse = -4 / e_select(f.there, max, e_set(1));
    for (int i = 0; i < 16; i++) {
        const e8 l = e_nearest(inverse * x[i], -4, 3), w = x[i] * x[i];
        code[i] = e_select(f.there, l, e_set(-4));
        f.lx += w * x[i] * l;
        f.ll += w * l * l;
    }
    f.going = f.there;
    return f;
}

/* One code of each group, if that makes the fit better; where it did. */
CPU_INLINE e8i improve_q3(q3_fit *f, e8 x, e8 *code)
{
    const e8 w = x * x, wx = w * x, old = *code, sx = f->lx - wx * old, sl = f->ll - w * old * old;
    const e8i possible = f->going & (sx > 0);
    const e8 l = e_nearest(x * sl / e_select(possible, sx, e_set(1)), -4, 3);
    const e8 lx = sx + wx * l, ll = sl + w * l * l;
    const e8i better = possible & (l != old) & (ll > 0) & (lx * lx * f->ll > f->lx * f->lx * ll);
    *code = e_select(better, l, old);
    f->lx = e_select(better, lx, f->lx);
    f->ll = e_select(better, ll, f->ll);
    return better;
}

/* Codes -4 .. 3 of 16 groups of 16, improved one by one, and the groups' scales.  A vector of groups waits for what was
 * found of the element before, and another works meanwhile. */
static void fit_q3(const e8 (*x)[16], e8 (*code)[16], e8 *scale)
{
    q3_fit f[PARTS];
    for (int h = 0; h < PARTS; h++)
        f[h] = begin_q3(x[h], code[h]);
    for (int round = 0; round < 5 && e_any(f[0].going | f[PARTS - 1].going); round++) {
        e8i changed[PARTS];
        memset(changed, 0, sizeof changed);
        for (int i = 0; i < 16; i++)
            CPU_UNROLL
            for (int h = 0; h < PARTS; h++)
                changed[h] |= improve_q3(&f[h], x[h][i], &code[h][i]);
        for (int h = 0; h < PARTS; h++)
            f[h].going &= changed[h];
    }
    for (int h = 0; h < PARTS; h++)
        scale[h] = (e8)((e8i)(f[h].lx / e_select(f[h].ll > 0, f[h].ll, e_set(1))) & f[h].there & (f[h].ll > 0));
}

/* The scales of LANES groups of 16 with codes -32 .. 31: the best of 19. */
static e8 fit_some_q6(const e8 *x, e8 *code)
{
    e8 amax, max = e_extreme(x, 16, &amax), scale = {0}, best = {0};
    const e8i there = ~(amax < CPU_TINY);
    max = e_select(there, max, e_set(1));
    for (int t = 0; t <= 18; t++) {
        const int s = t == 0 ? 0 : t <= 9 ? t - 10 : t - 9; /* 0, then -9 .. -1, 1 .. 9 */
        const e8 inverse = s == 0 ? -32 / max : -(32 + 0.1f * (float)s) / max;
        e8 lx = {0}, ll = {0}, trial[16];
        for (int i = 0; i < 16; i++) {
            const e8 l = e_nearest(inverse * x[i], -32, 31), w = x[i] * x[i];
            trial[i] = l;
            lx += w * x[i] * l;
            ll += w * l * l;
        }
        const e8i better = (ll > 0) & (lx * lx > best * ll), take = s == 0 ? ~(e8i){0} : better;
        for (int i = 0; i < 16; i++)
            code[i] = e_select(take, trial[i], code[i]);
        scale = e_select(take, (e8)((e8i)(lx / e_select(ll != 0, ll, e_set(1))) & (ll != 0)), scale);
        best = e_select(take, scale * lx, best);
    }
    for (int i = 0; i < 16; i++)
        code[i] = e_select(there, code[i], e_set(-32));
    return (e8)((e8i)scale & there);
}

static void fit_q6(const e8 (*x)[16], e8 (*code)[16], e8 *scale)
{
    for (int h = 0; h < PARTS; h++)
        scale[h] = fit_some_q6(x[h], code[h]);
}

/* The 16 groups of a block by one of these; the scale of the largest magnitude, and that. */
CPU_INLINE float fit_groups(void (*fit)(const e8 (*)[16], e8 (*)[16], e8 *), const float *x, float limit, e8 (*v)[16],
                            e8 (*code)[16], float *scale, float *amax)
{
    e8 found[PARTS];
    float max = *amax = 0;
    for (int h = 0; h < PARTS; h++) {
        e_load(x + 16 * LANES * h, 16, v[h]);
        e_clean(v[h], 16, -limit, limit);
    }
    fit((const e8 (*)[16])v, code, found);
    memcpy(scale, found, sizeof found);
    for (int j = 0; j < 16; j++)
        if (fabsf(scale[j]) > *amax) {
            *amax = fabsf(scale[j]);
            max = scale[j];
        }
    return max;
}

/* The codes anew, for scales as they are stored: the fitted ones where ds is 0, the least where d is. */
CPU_INLINE void final_symmetric(const e8 *x, e8 ds, bool zero, int levels, e8 *code, int8_t *out)
{
    const e8i there = ds != 0;
    const e8 divisor = e_select(there, ds, e_set(1));
    for (int i = 0; i < 16; i++) {
        const e8 old = zero ? e_set((float)-levels) : code[i];
        code[i] = e_select(there, e_nearest(x[i] / divisor, (float)-levels, (float)levels - 1), old);
    }
    e_store_codes(code, 16, out);
}

void cpu_encode_q3_K(const float *x, uint8_t *out, int64_t n)
{
    for (; n > 0; n -= 256, x += 256, out += 110) {
        e8 v[PARTS][16], fitted[PARTS][16], ds;
        float scale[16], amax, max = fit_groups(fit_q3, x, 32 * 4 * CPU_F16_MAX, v, fitted, scale, &amax);
        int8_t codes[256];
        uint8_t code[256];
        float inverse = amax > CPU_TINY ? -32 / max : 0;
        float d = cpu_put_f16(out + 108, inverse != 0 ? 1 / inverse : 0);
        memset(out, 0, 32);
        memset(out + 96, 0, 12);
        for (int j = 0; j < 16; j++) {
            int s = inverse != 0 ? cpu_limit(cpu_nearest(inverse * scale[j]), -32, 31) + 32 : 0;
            out[96 + j % 8] |= (uint8_t)((s & 15) << (j < 8 ? 0 : 4));
            out[104 + j % 4] |= (uint8_t)(s >> 4 << 2 * (j / 4));
            ds[j % LANES] = d * (float)(s - 32);
            if ((j + 1) % LANES == 0)
                final_symmetric(v[j / LANES], ds, d == 0, 4, fitted[j / LANES], codes + 16 * LANES * (j / LANES));
        }
        for (int i = 0; i < 256; i++) {
            code[i] = (uint8_t)(codes[i] + 4);
            out[i % 32] |= (uint8_t)(code[i] >> 2 << i / 32);
        }
        pack_two_bits(code, out + 32);
        pack_two_bits(code + 128, out + 64);
    }
}

void cpu_encode_q6_K(const float *x, uint8_t *out, int64_t n)
{
    for (; n > 0; n -= 256, x += 256, out += 210) {
        e8 v[PARTS][16], fitted[PARTS][16], ds;
        float scale[16], amax, max = fit_groups(fit_q6, x, 128 * 32 * CPU_F16_MAX, v, fitted, scale, &amax);
        int8_t code[256];
        memset(out, 0, 210);
        if (amax < CPU_TINY)
            continue;
        float inverse = -128 / max, d = cpu_put_f16(out + 208, 1 / inverse);
        for (int j = 0; j < 16; j++) {
            int s = d != 0 ? cpu_limit(cpu_nearest(inverse * scale[j]), -128, 127) : 0;
            out[192 + j] = (uint8_t)(int8_t)s;
            ds[j % LANES] = d * (float)s;
            if ((j + 1) % LANES == 0)
                final_symmetric(v[j / LANES], ds, d == 0, 32, fitted[j / LANES], code + 16 * LANES * (j / LANES));
        }
        for (int i = 0; i < 256; i++) {
            int half = i / 128, g = i % 128 / 32, l = i % 32, q = code[i] + 32;
            out[64 * half + 32 * (g & 1) + l] |= (uint8_t)((q & 15) << (g >= 2 ? 4 : 0));
            out[128 + 32 * half + l] |= (uint8_t)(q >> 4 << 2 * g);
        }
    }
}
