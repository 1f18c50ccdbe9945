/* Weighted search of iq2 and iq3: patterns of magnitudes, signs apart. */
#include "config.h"

#include "weighted_patterns.h"

typedef struct grid_block {
    const fit_patterns *p;
    int unit, units;        /* elements that have one scale                        */
    bool even;              /* of eight signs an even number is negative           */
    fit_run run[64];        /* magnitudes; less than 0 is one whose sign had to be turned */
    uint8_t signs[32];
    uint16_t code[64];
    uint8_t s[16];
    float d;                /* a unit's scale is d (2 s + 1)                       */
} grid_block;

static void split_signs(grid_block *b, const float *x, const float *w)
{
    float a[256];
    for (int g = 0; g < 32; g++) {
        int least = 0, odd = 0;
        b->signs[g] = 0;
        for (int i = 8 * g; i < 8 * g + 8; i++) {
            const int negative = x[i] < 0;
            a[i] = fabsf(x[i]);
            b->signs[g] |= (uint8_t)(negative << i % 8);
            odd ^= negative;
            if (w[i] * x[i] * x[i] < w[8 * g + least] * x[8 * g + least] * x[8 * g + least])
                least = i % 8;
        }
        if (b->even && odd) {
            b->signs[g] ^= (uint8_t)(1 << least);
            a[8 * g + least] = -a[8 * g + least];
        }
    }
    for (int i = 0; i < 256; i += b->p->dims)
        b->run[i / b->p->dims] = fit_run_of(b->p, a + i, w + i);
}

/* The patterns of a unit for a scale. */
static float unit_codes(const grid_block *b, int u, float scale, uint16_t *code, fit_sums *s)
{
    const int n = b->unit / b->p->dims;
    float error = 0;
    *s = (fit_sums){0, 0};
    for (int i = 0; i < n; i++) {
        const fit_run *r = &b->run[u * n + i];
        code[i] = (uint16_t)fit_pattern(b->p, r, scale);
        fit_add(r, b->p->v[code[i]], 0, s);
        error += fit_error(r, b->p->v[code[i]], 0, scale);
    }
    return error;
}

static float unit_scale(const grid_block *b, int u)
{
    const int n = b->unit / b->p->dims;
    float most = 0, best = 0, scale = 0;
    uint16_t code[8];
    fit_sums s;
    for (int i = 0; i < n * 8; i++) {
        const float a = b->run[u * n + i / 8].x[i % 8 / 4][i % 4];
        most = a > most ? a : most;
    }
    if (most < FIT_TINY)
        return 0;
    for (int t = 0; t < 12; t++) {
        unit_codes(b, u, most / (b->p->last * (0.66f + 0.07f * (float)t)), code, &s);
        if (s.xl > 0 && s.xl * s.xl > best * s.ll) {
            best = s.xl * s.xl / s.ll;
            scale = s.xl / s.ll;
        }
    }
    for (int round = 0; round < 2 && scale > 0; round++) { /* other patterns may fit that scale better */
        unit_codes(b, u, scale, code, &s);
        if (!(s.xl > 0 && s.xl * s.xl > best * s.ll))
            break;
        best = s.xl * s.xl / s.ll;
        scale = s.xl / s.ll;
    }
    return scale;
}

static float choose_codes(grid_block *b, const float *scale)
{
    const int n = b->unit / b->p->dims;
    float all = 0;
    for (int u = 0; u < b->units; u++) {
        const int s0 = fit_nearest((scale[u] / b->d - 1) / 2, 0, 15);
        float best = INFINITY;
        for (int s = s0 > 0 ? s0 - 1 : 0; s <= s0 + 1 && s <= 15; s++) {
            uint16_t code[8];
            fit_sums sums;
            const float e = unit_codes(b, u, b->d * (float)(2 * s + 1), code, &sums);
            if (e < best) {
                best = e;
                b->s[u] = (uint8_t)s;
                memcpy(b->code + u * n, code, (size_t)n * sizeof *code);
            }
        }
        all += best;
    }
    return all;
}

/* The d that fits all patterns best, as `multiple` times a half. */
static float refit(const grid_block *b, float multiple)
{
    const int n = b->unit / b->p->dims;
    double xl = 0, ll = 0;
    for (int u = 0; u < b->units; u++) {
        fit_sums s = {0, 0};
        for (int i = u * n; i < u * n + n; i++)
            fit_add(&b->run[i], b->p->v[b->code[i]], 0, &s);
        const double k = 2 * b->s[u] + 1;
        xl += k * s.xl;
        ll += k * k * s.ll;
    }
    return ll > 0 && xl > 0 ? fit_half_value(fit_half((float)(xl / ll) * multiple)) / multiple : 0;
}

/* false: nothing but zeros, or what a half cannot tell from them. */
static bool fit_grid(grid_block *b, const float *x, const float *w, float multiple)
{
    float scale[16], most = 0, best = INFINITY;
    split_signs(b, x, w);
    for (int u = 0; u < b->units; u++) {
        scale[u] = unit_scale(b, u);
        most = scale[u] > most ? scale[u] : most;
    }
    grid_block trial = *b;
    trial.d = fit_half_value(fit_half(most / 31 * multiple)) / multiple;
    for (int round = 0; round < 3 && trial.d > 0; round++) {
        const float error = choose_codes(&trial, scale);
        if (!(error < best))
            break;
        best = error;
        *b = trial;
        trial.d = refit(&trial, multiple);
    }
    return best < INFINITY;
}

static void put_u16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

/* Four indices of eight signs each and a scale: 28 bits of signs, of which seven tell the eighth. */
static void put_signs(uint8_t *p, const uint8_t *signs, unsigned scale)
{
    uint32_t word = scale << 28;
    for (int i = 0; i < 4; i++)
        word |= (uint32_t)(signs[i] & 127) << 7 * i;
    put_u16(p, word & 0xffff);
    put_u16(p + 2, word >> 16);
}

void fit_iq2_xxs(const float *x, const float *w, uint8_t *out)
{
    grid_block b = {.p = fit_patterns_of(ENG_TYPE_IQ2_XXS), .unit = 32, .units = 8, .even = true};
    memset(out, 0, 66);
    if (!fit_grid(&b, x, w, 8))
        return;
    fit_put_half(out, 8 * b.d);
    for (int u = 0; u < 8; u++) {
        for (int i = 0; i < 4; i++)
            out[2 + 8 * u + i] = (uint8_t)b.code[4 * u + i];
        put_signs(out + 2 + 8 * u + 4, b.signs + 4 * u, b.s[u]);
    }
}

static void put_nibbles(uint8_t *p, const uint8_t *s, int n)
{
    for (int i = 0; i < n; i++)
        p[i / 2] |= (uint8_t)(s[i] << 4 * (i % 2));
}

void fit_iq2_xs(const float *x, const float *w, uint8_t *out)
{
    grid_block b = {.p = fit_patterns_of(ENG_TYPE_IQ2_XS), .unit = 16, .units = 16, .even = true};
    memset(out, 0, 74);
    if (!fit_grid(&b, x, w, 8))
        return;
    fit_put_half(out, 8 * b.d);
    for (int i = 0; i < 32; i++)
        put_u16(out + 2 + 2 * i, b.code[i] | (b.signs[i] & 127u) << 9);
    put_nibbles(out + 66, b.s, 16);
}

void fit_iq2_s(const float *x, const float *w, uint8_t *out)
{
    grid_block b = {.p = fit_patterns_of(ENG_TYPE_IQ2_S), .unit = 16, .units = 16};
    memset(out, 0, 82);
    if (!fit_grid(&b, x, w, 8))
        return;
    fit_put_half(out, 8 * b.d);
    for (int i = 0; i < 32; i++) {
        out[2 + i] = (uint8_t)b.code[i];
        out[34 + i] = b.signs[i];
        out[66 + i / 4] |= (uint8_t)(b.code[i] >> 8 << 2 * (i % 4));
    }
    put_nibbles(out + 74, b.s, 16);
}

void fit_iq3_xxs(const float *x, const float *w, uint8_t *out)
{
    grid_block b = {.p = fit_patterns_of(ENG_TYPE_IQ3_XXS), .unit = 32, .units = 8, .even = true};
    memset(out, 0, 98);
    if (!fit_grid(&b, x, w, 4))
        return;
    fit_put_half(out, 4 * b.d);
    for (int i = 0; i < 64; i++)
        out[2 + i] = (uint8_t)b.code[i];
    for (int u = 0; u < 8; u++)
        put_signs(out + 66 + 4 * u, b.signs + 4 * u, b.s[u]);
}

void fit_iq3_s(const float *x, const float *w, uint8_t *out)
{
    grid_block b = {.p = fit_patterns_of(ENG_TYPE_IQ3_S), .unit = 32, .units = 8};
    memset(out, 0, 110);
    if (!fit_grid(&b, x, w, 1))
        return;
    fit_put_half(out, b.d);
    for (int i = 0; i < 64; i++) {
        out[2 + i] = (uint8_t)b.code[i];
        out[66 + i / 8] |= (uint8_t)(b.code[i] >> 8 << i % 8);
    }
    memcpy(out + 74, b.signs, 32);
    put_nibbles(out + 106, b.s, 8);
}
