/* Weighted search of iq1: patterns of -1, 0 and 1, which all are shifted by an eighth up or down. */
#include "config.h"

#include "weighted_patterns.h"

#define SHIFT 0.125f

typedef struct iq1_block {
    const fit_patterns *p;
    int unit, units, shifts; /* elements with one scale, and how many shifts these have */
    fit_run run[32];
    uint16_t code[32];
    uint8_t down[32], s[16]; /* a unit's scale is d (2 s + 1)                            */
    float d;
} iq1_block;

/* The pattern of one run for a scale and a shift. */
static int shifted_pattern(const iq1_block *b, const fit_run *r, float scale, float shift)
{
    const fit_run moved = {{r->x[0] - scale * shift, r->x[1] - scale * shift}, {r->w[0], r->w[1]}};
    return fit_pattern(b->p, &moved, scale);
}

/* Patterns and shifts of a unit for a scale. */
static float unit_codes(const iq1_block *b, int u, float scale, uint16_t *code, uint8_t *down, fit_sums *sums)
{
    const int n = b->unit / 8, part = n / b->shifts;
    float all = 0;
    *sums = (fit_sums){0, 0};
    for (int at = 0; at < n; at += part) {
        float best = INFINITY;
        fit_sums taken = {0, 0};
        for (int way = 0; way < 2; way++) {
            const float shift = way ? -SHIFT : SHIFT;
            uint16_t trial[4];
            fit_sums s = {0, 0};
            float e = 0;
            for (int i = 0; i < part; i++) {
                const fit_run *r = &b->run[u * n + at + i];
                trial[i] = (uint16_t)shifted_pattern(b, r, scale, shift);
                fit_add(r, b->p->v[trial[i]], shift, &s);
                e += fit_error(r, b->p->v[trial[i]], shift, scale);
            }
            if (e < best) {
                best = e;
                taken = s;
                memcpy(code + at, trial, (size_t)part * sizeof *code);
                memset(down + at, way, (size_t)part);
            }
        }
        all += best;
        sums->xl += taken.xl;
        sums->ll += taken.ll;
    }
    return all;
}

static float unit_scale(const iq1_block *b, int u)
{
    const int n = b->unit / 8;
    float xx = 0, ww = 0, best = 0, scale = 0;
    uint16_t code[4];
    uint8_t down[4];
    fit_sums s;
    for (int i = u * n; i < u * n + n; i++) {
        const fit_run *r = &b->run[i];
        xx += fit_sum(r->w[0] * r->x[0] * r->x[0], r->w[1] * r->x[1] * r->x[1]);
        ww += fit_sum(r->w[0], r->w[1]);
    }
    const float mean = sqrtf(xx / ww);
    if (!(mean > FIT_TINY))
        return 0;
    for (int t = 0; t < 10; t++) {
        unit_codes(b, u, mean * (0.8f + 0.13f * (float)t), code, down, &s);
        if (s.xl > 0 && s.xl * s.xl > best * s.ll) {
            best = s.xl * s.xl / s.ll;
            scale = s.xl / s.ll;
        }
    }
    return scale;
}

static float choose_codes(iq1_block *b, const float *scale)
{
    const int n = b->unit / 8;
    float all = 0;
    for (int u = 0; u < b->units; u++) {
        const int s0 = fit_nearest((scale[u] / b->d - 1) / 2, 0, 7);
        float best = INFINITY;
        for (int s = s0 > 0 ? s0 - 1 : 0; s <= s0 + 1 && s <= 7; s++) {
            uint16_t code[4];
            uint8_t down[4];
            fit_sums sums;
            const float e = unit_codes(b, u, b->d * (float)(2 * s + 1), code, down, &sums);
            if (e < best) {
                best = e;
                b->s[u] = (uint8_t)s;
                memcpy(b->code + u * n, code, (size_t)n * sizeof *code);
                memcpy(b->down + u * n, down, (size_t)n);
            }
        }
        all += best;
    }
    return all;
}

static float refit(const iq1_block *b)
{
    const int n = b->unit / 8;
    double xl = 0, ll = 0;
    for (int u = 0; u < b->units; u++) {
        fit_sums s = {0, 0};
        for (int i = u * n; i < u * n + n; i++)
            fit_add(&b->run[i], b->p->v[b->code[i]], b->down[i] ? -SHIFT : SHIFT, &s);
        const double k = 2 * b->s[u] + 1;
        xl += k * s.xl;
        ll += k * k * s.ll;
    }
    return ll > 0 && xl > 0 ? fit_half_value(fit_half((float)(xl / ll))) : 0;
}

static bool fit_iq1(iq1_block *b, const float *x, const float *w)
{
    float scale[16], most = 0, best = INFINITY;
    for (int i = 0; i < 32; i++)
        b->run[i] = fit_run_of(b->p, x + 8 * i, w + 8 * i);
    for (int u = 0; u < b->units; u++) {
        scale[u] = unit_scale(b, u);
        most = scale[u] > most ? scale[u] : most;
    }
    iq1_block trial = *b;
    trial.d = fit_half_value(fit_half(most / 15));
    for (int round = 0; round < 3 && trial.d > 0; round++) {
        const float error = choose_codes(&trial, scale);
        if (!(error < best))
            break;
        best = error;
        *b = trial;
        trial.d = refit(&trial);
    }
    return best < INFINITY;
}

void fit_iq1_s(const float *x, const float *w, uint8_t *out)
{
    iq1_block b = {.p = fit_patterns_of(ENG_TYPE_IQ1_S), .unit = 32, .units = 8, .shifts = 1};
    memset(out, 0, 50);
    if (!fit_iq1(&b, x, w))
        return;
    fit_put_half(out, b.d);
    for (int u = 0; u < 8; u++) {
        unsigned word = (unsigned)b.s[u] << 12 | (unsigned)b.down[4 * u] << 15;
        for (int i = 0; i < 4; i++) {
            out[2 + 4 * u + i] = (uint8_t)b.code[4 * u + i];
            word |= (unsigned)(b.code[4 * u + i] >> 8) << 3 * i;
        }
        out[34 + 2 * u] = (uint8_t)word;
        out[35 + 2 * u] = (uint8_t)(word >> 8);
    }
}

void fit_iq1_m(const float *x, const float *w, uint8_t *out)
{
    iq1_block b = {.p = fit_patterns_of(ENG_TYPE_IQ1_M), .unit = 16, .units = 16, .shifts = 2};
    memset(out, 0, 56);
    if (!fit_iq1(&b, x, w))
        return;
    const unsigned d = fit_half(b.d);
    for (int i = 0; i < 32; i++) {
        out[i] = (uint8_t)b.code[i];
        out[32 + i / 2] |= (uint8_t)((b.code[i] >> 8 | b.down[i] << 3) << 4 * (i % 2));
    }
    for (int k = 0; k < 4; k++) { /* four scales of three bits, and four bits of d */
        unsigned word = (d >> 4 * k & 15) << 12;
        for (int i = 0; i < 4; i++)
            word |= (unsigned)b.s[4 * k + i] << 3 * i;
        out[48 + 2 * k] = (uint8_t)word;
        out[49 + 2 * k] = (uint8_t)(word >> 8);
    }
}
