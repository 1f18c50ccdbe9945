/* Weighted search of the types of integers with a scale, and of those with a scale and a minimum. */
#include "config.h"

#include "weighted_fit.h"

/* -- a scale and a minimum: x is about s l - m, l from 0 to `levels`, m not below 0 ------------------------------- */

typedef struct fit_line {
    float scale, min;
} fit_line;

/* Sums over a group: those of its weights, and those that depend on its codes. */
typedef struct line_sums {
    float w, x, xx;
    float l, ll, xl;
} line_sums;

static line_sums line_begin(const float *x, const float *w, int n)
{
    fit_four sw = {0}, sx = {0}, sxx = {0};
    for (int i = 0; i < n; i += 4) {
        const fit_four k = fit_at(w + i), v = fit_at(x + i);
        sw += k;
        sx += k * v;
        sxx += k * v * v;
    }
    return (line_sums){.w = fit_sum_of(sw), .x = fit_sum_of(sx), .xx = fit_sum_of(sxx)};
}

/* Codes for a scale and a minimum, if they are wanted, and their sums; the error that they leave. */
static float line_codes(const float *x, const float *w, int n, int levels, fit_line f, uint8_t *code, line_sums *s)
{
    const float inverse = f.scale > 0 ? 1 / f.scale : 0;
    fit_four error = {0}, sl = {0}, sll = {0}, sxl = {0};
    for (int i = 0; i < n; i += 4) {
        const fit_four v = fit_at(x + i), k = fit_at(w + i);
        const fit_four l = fit_round((v + f.min) * inverse, 0, (float)levels), e = v - (f.scale * l - f.min),
                       kl = k * l;
        error += k * e * e;
        sl += kl;
        sll += kl * l;
        sxl += kl * v;
        for (int j = 0; code && j < 4; j++)
            code[i + j] = (uint8_t)l[j];
    }
    s->l = fit_sum_of(sl);
    s->ll = fit_sum_of(sll);
    s->xl = fit_sum_of(sxl);
    return fit_sum_of(error);
}

/* The scale and the minimum that fit codes of these sums best; the error that they leave. */
static fit_line line_of_sums(const line_sums *s, bool any_min, float *error)
{
    const double d = (double)s->w * s->ll - (double)s->l * s->l;
    fit_line f = {0, 0};
    if (d > 0) {
        f.scale = (float)(((double)s->w * s->xl - (double)s->x * s->l) / d);
        f.min = (float)(((double)s->l * s->xl - (double)s->ll * s->x) / d);
    }
    if ((f.min < 0 && !any_min) || d <= 0) {
        f.min = 0;
        f.scale = s->ll > 0 ? s->xl / s->ll : 0;
    }
    if (f.scale < 0)
        f.scale = 0;
    *error = s->xx + f.scale * f.scale * s->ll + f.min * f.min * s->w - 2 * f.scale * s->xl + 2 * f.min * s->x -
             2 * f.scale * f.min * s->l;
    return f;
}

/* any_min: it may be below zero, so that no code stands for zero. */
static fit_line fit_scale_min(const float *x, const float *w, int n, int levels, bool any_min)
{
    float lo = any_min ? x[0] : 0, hi = x[0], best = INFINITY, error;
    fit_line found = {0, 0};
    line_sums s = line_begin(x, w, n);
    for (int i = 0; i < n; i++) {
        lo = x[i] < lo ? x[i] : lo;
        hi = x[i] > hi ? x[i] : hi;
    }
    if (!(hi - lo > FIT_TINY))
        return (fit_line){0, -lo};
    /* Ranges that end before the extremes, above and below; then what fits the codes, whose codes may fit better
     * still. */
    for (int t = -2; t <= 9; t++)
        for (int u = 0; u < 3; u++) {
            const float range = hi - lo, fine = levels > 15 ? 0.5f : 1, cut = 0.06f * fine * (float)u * range;
            const fit_line f = {(range * (1 - 0.045f * fine * (float)t) - cut) / (float)levels, -(lo + cut)};
            line_codes(x, w, n, levels, f, NULL, &s);
            const fit_line g = line_of_sums(&s, any_min, &error);
            if (error < best) {
                best = error;
                found = g;
            }
        }
    for (int round = 0; round < 3; round++) {
        line_codes(x, w, n, levels, found, NULL, &s);
        const fit_line g = line_of_sums(&s, any_min, &error);
        if (!(error < best))
            break;
        best = error;
        found = g;
    }
    return found;
}

/* A block of groups whose scales and minima are integers times two halves. */
typedef struct line_block {
    int groups, size, levels, most; /* most: of those integers */
    uint8_t code[256], s[16], m[16];
    float d, dmin;
} line_block;

/* The integers of one group: those next to what they should be, and the best of them. */
static float choose_line(line_block *b, const float *x, const float *w, int j, fit_line f, uint8_t *code)
{
    const int s0 = b->d > 0 ? fit_nearest(f.scale / b->d, 0, b->most) : 0;
    const int m0 = b->dmin > 0 ? fit_nearest(f.min / b->dmin, 0, b->most) : 0;
    float best = INFINITY;
    line_sums sums;
    for (int s = s0 > 0 ? s0 - 1 : 0; s <= s0 + 1 && s <= b->most; s++)
        for (int m = m0 > 0 ? m0 - 1 : 0; m <= m0 + 1 && m <= b->most; m++) {
            const fit_line g = {b->d * (float)s, b->dmin * (float)m};
            const float e = line_codes(x, w, b->size, b->levels, g, NULL, &sums);
            if (e < best) {
                best = e;
                b->s[j] = (uint8_t)s;
                b->m[j] = (uint8_t)m;
            }
        }
    f = (fit_line){b->d * (float)b->s[j], b->dmin * (float)b->m[j]};
    return line_codes(x, w, b->size, b->levels, f, code, &sums);
}

/* The two halves that fit all codes best. */
static void refit_lines(line_block *b, const float *x, const float *w)
{
    double aa = 0, ab = 0, bb = 0, ax = 0, bx = 0;
    for (int i = 0; i < b->groups * b->size; i++) {
        const double l = (double)b->code[i] * b->s[i / b->size], m = -(double)b->m[i / b->size], k = w[i];
        aa += k * l * l;
        ab += k * l * m;
        bb += k * m * m;
        ax += k * l * x[i];
        bx += k * m * x[i];
    }
    const double d = aa * bb - ab * ab;
    double scale = aa > 0 ? ax / aa : 0, min = 0;
    if (d > 1e-9 * aa * bb) {
        scale = (ax * bb - bx * ab) / d;
        min = (bx * aa - ax * ab) / d;
    }
    if (scale > 0 && min >= 0 && scale < FIT_F16_MAX && min < FIT_F16_MAX) {
        b->d = fit_half_value(fit_half((float)scale));
        b->dmin = fit_half_value(fit_half((float)min));
    }
}

static void fit_lines(line_block *b, const float *x, const float *w)
{
    fit_line f[16];
    float scale = 0, min = 0, best = INFINITY;
    for (int j = 0; j < b->groups; j++) {
        f[j] = fit_scale_min(x + j * b->size, w + j * b->size, b->size, b->levels, false);
        scale = f[j].scale > scale ? f[j].scale : scale;
        min = f[j].min > min ? f[j].min : min;
    }
    line_block trial = *b;
    trial.d = fit_half_value(fit_half(scale / (float)b->most));
    trial.dmin = fit_half_value(fit_half(min / (float)b->most));
    for (int round = 0; round < 3; round++) {
        float error = 0;
        for (int j = 0; j < b->groups; j++)
            error += choose_line(&trial, x + j * b->size, w + j * b->size, j, f[j], trial.code + j * b->size);
        if (!(error < best))
            break;
        best = error;
        *b = trial;
        refit_lines(&trial, x, w);
    }
}

/* Eight six-bit scales and minima in 12 bytes. */
static void pack_six_bits(const uint8_t *s, const uint8_t *m, uint8_t *out)
{
    for (int j = 0; j < 4; j++) {
        out[j] = (uint8_t)(s[j] | s[j + 4] >> 4 << 6);
        out[4 + j] = (uint8_t)(m[j] | m[j + 4] >> 4 << 6);
        out[8 + j] = (uint8_t)((s[j + 4] & 15) | (m[j + 4] & 15) << 4);
    }
}

/* A block of eight groups, of which all but the codes is put in its place. */
static line_block fit_six_bits(const float *x, const float *w, int levels, uint8_t *out)
{
    line_block b = {.groups = 8, .size = 32, .levels = levels, .most = 63};
    fit_lines(&b, x, w);
    fit_put_half(out, b.d);
    fit_put_half(out + 2, b.dmin);
    pack_six_bits(b.s, b.m, out + 4);
    return b;
}

void fit_q4_K(const float *x, const float *w, uint8_t *out)
{
    const line_block b = fit_six_bits(x, w, 15, out);
    for (int i = 0; i < 128; i++) {
        const uint8_t *c = b.code + i / 32 * 64 + i % 32;
        out[16 + i] = (uint8_t)(c[0] | c[32] << 4);
    }
}

void fit_q5_K(const float *x, const float *w, uint8_t *out)
{
    const line_block b = fit_six_bits(x, w, 31, out);
    memset(out + 16, 0, 32);
    for (int i = 0; i < 128; i++) {
        const uint8_t *c = b.code + i / 32 * 64 + i % 32;
        out[48 + i] = (uint8_t)((c[0] & 15) | (c[32] & 15) << 4);
        out[16 + i % 32] |= (uint8_t)(c[0] >> 4 << 2 * (i / 32) | c[32] >> 4 << (2 * (i / 32) + 1));
    }
}

/* Two-bit codes: four to a byte, 32 apart. */
static void pack_two_bits(const uint8_t *code, uint8_t *out)
{
    for (int i = 0; i < 64; i++) {
        const uint8_t *c = code + i / 32 * 128 + i % 32;
        out[i] = (uint8_t)((c[0] & 3) | (c[32] & 3) << 2 | (c[64] & 3) << 4 | (c[96] & 3) << 6);
    }
}

void fit_q2_K(const float *x, const float *w, uint8_t *out)
{
    line_block b = {.groups = 16, .size = 16, .levels = 3, .most = 15};
    fit_lines(&b, x, w);
    for (int j = 0; j < 16; j++)
        out[j] = (uint8_t)(b.s[j] | b.m[j] << 4);
    pack_two_bits(b.code, out + 16);
    fit_put_half(out + 80, b.d);
    fit_put_half(out + 82, b.dmin);
}

/* A group alone, whose scale and least value are halves. */
static void fit_one_line(const float *x, const float *w, int levels, uint8_t *out, uint8_t *code)
{
    fit_line f = fit_scale_min(x, w, 32, levels, true);
    line_sums s;
    f.scale = fit_put_half(out, f.scale);
    f.min = -fit_put_half(out + 2, -f.min);
    line_codes(x, w, 32, levels, f, code, &s);
}

static void pack_nibbles(const uint8_t *code, uint8_t *out)
{
    for (int i = 0; i < 16; i++)
        out[i] = (uint8_t)((code[i] & 15) | (code[i + 16] & 15) << 4);
}

static void pack_fifth_bits(const uint8_t *code, uint8_t *out)
{
    memset(out, 0, 4);
    for (int i = 0; i < 32; i++)
        out[i / 8] |= (uint8_t)(code[i] >> 4 << i % 8);
}

void fit_q4_1(const float *x, const float *w, uint8_t *out)
{
    uint8_t code[32];
    fit_one_line(x, w, 15, out, code);
    pack_nibbles(code, out + 4);
}

void fit_q5_1(const float *x, const float *w, uint8_t *out)
{
    uint8_t code[32];
    fit_one_line(x, w, 31, out, code);
    pack_fifth_bits(code, out + 4);
    pack_nibbles(code, out + 8);
}

/* -- a scale alone: x is about s v, v one of `levels` values that ascend ------------------------------------------ */

typedef struct fit_values {
    int lo, hi;        /* codes                                                     */
    const int8_t *v;   /* of each code from lo on; NULL: they are the values        */
} fit_values;

static const int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

static float value_of(const fit_values *f, int code)
{
    return f->v ? f->v[code - f->lo] : (float)code;
}

static int code_of(const fit_values *f, float x)
{
    if (!f->v)
        return fit_nearest(x, f->lo, f->hi);
    int lo = 0, hi = f->hi - f->lo;
    while (hi - lo > 1) {
        const int middle = (lo + hi) / 2;
        if (x < f->v[middle])
            hi = middle;
        else
            lo = middle;
    }
    return f->lo + (x - f->v[lo] < f->v[hi] - x ? lo : hi);
}

/* The values that stand for x / scale. */
static fit_four values_for(const fit_values *f, fit_four y)
{
    if (!f->v)
        return fit_round(y, (float)f->lo, (float)f->hi);
    fit_four v = f->v[0] - (fit_four){0};
    for (int i = 0; i < f->hi - f->lo; i++) { /* above each middle by one more step */
        const fit_four middle = 0.5f * (float)(f->v[i] + f->v[i + 1]) - (fit_four){0},
                       step = (float)(f->v[i + 1] - f->v[i]) - (fit_four){0};
        v += (fit_four)((fit_mask)step & (y >= middle));
    }
    return v;
}

/* The error of a scale, and the sums over its values. */
static float sums_for(const fit_values *f, const float *x, const float *w, int n, float scale, fit_sums *s)
{
    const float inverse = scale != 0 ? 1 / scale : 0;
    fit_four error = {0}, xl = {0}, ll = {0};
    for (int i = 0; i < n; i += 4) {
        const fit_four u = fit_at(x + i), k = fit_at(w + i), v = values_for(f, u * inverse), e = u - scale * v;
        error += k * e * e;
        xl += k * u * v;
        ll += k * v * v;
    }
    *s = (fit_sums){fit_sum_of(xl), fit_sum_of(ll)};
    return fit_sum_of(error);
}

static void codes_for(const fit_values *f, const float *x, int n, float scale, int8_t *code)
{
    const float inverse = scale != 0 ? 1 / scale : 0;
    for (int i = 0; i < n; i++)
        code[i] = (int8_t)code_of(f, x[i] * inverse);
}

/* Of either sign: the extreme value has more room on one side. */
static float fit_scale(const fit_values *f, const float *x, const float *w, int n)
{
    float most = 0, scale = 0, best = 0;
    for (int i = 0; i < n; i++)
        most = fabsf(x[i]) > fabsf(most) ? x[i] : most;
    if (fabsf(most) < FIT_TINY)
        return 0;
    const float end = value_of(f, f->lo);
    for (int side = 0; side < 2; side++)
        for (int t = -9; t <= 9; t++) {
            const float step = -end > 16 ? 0.012f : 0.03f, at = (side ? -most : most) / (end * (1 + step * (float)t));
            fit_sums s;
            sums_for(f, x, w, n, at, &s);
            if (s.ll > 0 && s.xl * s.xl > best * s.ll) {
                best = s.xl * s.xl / s.ll;
                scale = s.xl / s.ll;
            }
        }
    return scale;
}

/* A block of groups whose scales are integers times a half. */
typedef struct scale_block {
    fit_values values;
    int groups, size, lo, hi; /* of those integers */
    int8_t code[256];
    int s[16];
    float d;
} scale_block;

static float choose_scales(scale_block *b, const float *x, const float *w, const float *scale)
{
    float all = 0;
    for (int j = 0; j < b->groups; j++) {
        const float *xs = x + j * b->size, *ws = w + j * b->size;
        const int s0 = b->d != 0 ? fit_nearest(scale[j] / b->d, b->lo, b->hi) : 0;
        float best = INFINITY;
        for (int s = s0 > b->lo ? s0 - 1 : s0; s <= s0 + 1 && s <= b->hi; s++) {
            fit_sums sums;
            const float e = sums_for(&b->values, xs, ws, b->size, b->d * (float)s, &sums);
            if (e < best) {
                best = e;
                b->s[j] = s;
            }
        }
        codes_for(&b->values, xs, b->size, b->d * (float)b->s[j], b->code + j * b->size);
        all += best;
    }
    return all;
}

static void refit_scale(scale_block *b, const float *x, const float *w)
{
    double xl = 0, ll = 0;
    for (int i = 0; i < b->groups * b->size; i++) {
        const double l = (double)b->s[i / b->size] * value_of(&b->values, b->code[i]);
        xl += w[i] * l * x[i];
        ll += w[i] * l * l;
    }
    if (ll > 0)
        b->d = fit_half_value(fit_half((float)(xl / ll)));
}

static void fit_scales(scale_block *b, const float *x, const float *w)
{
    float scale[16], most = 0, best = INFINITY;
    for (int j = 0; j < b->groups; j++) {
        scale[j] = fit_scale(&b->values, x + j * b->size, w + j * b->size, b->size);
        most = fabsf(scale[j]) > fabsf(most) ? scale[j] : most;
    }
    for (int end = 0; end < 2; end++) { /* the largest is the first integer or the last */
        scale_block trial = *b;
        trial.d = fit_half_value(fit_half(most / (float)(end ? b->hi : b->lo)));
        for (int round = 0; round < 3; round++) {
            const float error = choose_scales(&trial, x, w, scale);
            if (!(error < best))
                break;
            best = error;
            *b = trial;
            refit_scale(&trial, x, w);
        }
    }
}

void fit_q3_K(const float *x, const float *w, uint8_t *out)
{
    scale_block b = {.values = {-4, 3, NULL}, .groups = 16, .size = 16, .lo = -32, .hi = 31};
    uint8_t code[256];
    fit_scales(&b, x, w);
    memset(out, 0, 110);
    for (int i = 0; i < 256; i++) {
        code[i] = (uint8_t)(b.code[i] + 4);
        out[i % 32] |= (uint8_t)(code[i] >> 2 << i / 32);
    }
    pack_two_bits(code, out + 32);
    for (int j = 0; j < 16; j++) {
        out[96 + j % 8] |= (uint8_t)(((b.s[j] + 32) & 15) << (j < 8 ? 0 : 4));
        out[104 + j % 4] |= (uint8_t)((b.s[j] + 32) >> 4 << 2 * (j / 4));
    }
    fit_put_half(out + 108, b.d);
}

void fit_q6_K(const float *x, const float *w, uint8_t *out)
{
    scale_block b = {.values = {-32, 31, NULL}, .groups = 16, .size = 16, .lo = -128, .hi = 127};
    fit_scales(&b, x, w);
    memset(out, 0, 192);
    for (int i = 0; i < 256; i++) {
        const int half = i / 128, g = i % 128 / 32, l = i % 32, q = b.code[i] + 32;
        out[64 * half + 32 * (g & 1) + l] |= (uint8_t)((q & 15) << (g >= 2 ? 4 : 0));
        out[128 + 32 * half + l] |= (uint8_t)(q >> 4 << 2 * g);
    }
    for (int j = 0; j < 16; j++)
        out[192 + j] = (uint8_t)(int8_t)b.s[j];
    fit_put_half(out + 208, b.d);
}

void fit_iq4_xs(const float *x, const float *w, uint8_t *out)
{
    scale_block b = {.values = {0, 15, iq4_values}, .groups = 8, .size = 32, .lo = -32, .hi = 31};
    unsigned high = 0;
    fit_scales(&b, x, w);
    fit_put_half(out, b.d);
    memset(out + 4, 0, 4);
    for (int j = 0; j < 8; j++) {
        const unsigned s = (unsigned)(b.s[j] + 32);
        high |= s >> 4 << 2 * j;
        out[4 + j / 2] |= (uint8_t)((s & 15) << 4 * (j % 2));
        pack_nibbles((const uint8_t *)b.code + 32 * j, out + 8 + 16 * j);
    }
    out[2] = (uint8_t)high;
    out[3] = (uint8_t)(high >> 8);
}

/* A group alone, whose scale is a half. */
static void fit_one_scale(fit_values f, const float *x, const float *w, uint8_t *out, uint8_t *code)
{
    int8_t found[32];
    codes_for(&f, x, 32, fit_put_half(out, fit_scale(&f, x, w, 32)), found);
    for (int i = 0; i < 32; i++)
        code[i] = (uint8_t)(found[i] - f.lo);
}

void fit_iq4_nl(const float *x, const float *w, uint8_t *out)
{
    uint8_t code[32];
    fit_one_scale((fit_values){0, 15, iq4_values}, x, w, out, code);
    pack_nibbles(code, out + 2);
}

void fit_q4_0(const float *x, const float *w, uint8_t *out)
{
    uint8_t code[32];
    fit_one_scale((fit_values){-8, 7, NULL}, x, w, out, code);
    pack_nibbles(code, out + 2);
}

void fit_q5_0(const float *x, const float *w, uint8_t *out)
{
    uint8_t code[32];
    fit_one_scale((fit_values){-16, 15, NULL}, x, w, out, code);
    pack_fifth_bits(code, out + 2);
    pack_nibbles(code, out + 6);
}
