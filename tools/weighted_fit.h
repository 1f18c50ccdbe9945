/* What the searches have in common. */
#ifndef TOOLS_WEIGHTED_FIT_H
#define TOOLS_WEIGHTED_FIT_H

#include <math.h>
#include <string.h>

#include "weighted.h"

#define FIT_F16_MAX 65504.0f
#define FIT_TINY 1e-15f

/* Sums over the elements of a group with weights w: of x l and l l. */
typedef struct fit_sums {
    float xl, ll;
} fit_sums;

/* Stores x as f16, within its range, and returns the value stored. */
float fit_put_half(uint8_t *p, float x);
uint16_t fit_half(float x);
float fit_half_value(uint16_t bits);

typedef float fit_four __attribute__((vector_size(16)));
typedef int32_t fit_mask __attribute__((vector_size(16)));

static inline fit_four fit_at(const float *x)
{
    fit_four v;
    memcpy(&v, x, sizeof v);
    return v;
}

static inline fit_four fit_select(fit_mask m, fit_four a, fit_four b)
{
    return (fit_four)(((fit_mask)a & m) | ((fit_mask)b & ~m));
}

/* To the nearest integer from lo to hi, ties to even: both below 2^22. */
static inline fit_four fit_round(fit_four x, float lo, float hi)
{
    const fit_four l = lo - (fit_four){0}, h = hi - (fit_four){0};
    x = fit_select(x > l, x, l);
    return (fit_select(x < h, x, h) + 12582912.0f) - 12582912.0f;
}

static inline float fit_sum_of(fit_four s)
{
    return (s[0] + s[1]) + (s[2] + s[3]);
}

static inline int fit_nearest(float x, int lo, int hi)
{
    x = x > (float)lo ? x : (float)lo;
    return (int)lrintf(x < (float)hi ? x : (float)hi);
}

/* Elements of a block that it can hold at best, none as zero, and their weights: equal where all of them are none or
 * 0. */
void fit_load(const float *x, const float *importance, int n, float most, float *v, float *w);

void fit_q2_K(const float *x, const float *w, uint8_t *out);
void fit_q3_K(const float *x, const float *w, uint8_t *out);
void fit_q4_K(const float *x, const float *w, uint8_t *out);
void fit_q5_K(const float *x, const float *w, uint8_t *out);
void fit_q6_K(const float *x, const float *w, uint8_t *out);
void fit_iq4_nl(const float *x, const float *w, uint8_t *out);
void fit_iq4_xs(const float *x, const float *w, uint8_t *out);
void fit_q4_0(const float *x, const float *w, uint8_t *out);
void fit_q4_1(const float *x, const float *w, uint8_t *out);
void fit_q5_0(const float *x, const float *w, uint8_t *out);
void fit_q5_1(const float *x, const float *w, uint8_t *out);
void fit_tq1_0(const float *x, const float *w, uint8_t *out);
void fit_tq2_0(const float *x, const float *w, uint8_t *out);
void fit_q1_0(const float *x, const float *w, uint8_t *out);
void fit_q2_0(const float *x, const float *w, uint8_t *out);
void fit_iq2_xxs(const float *x, const float *w, uint8_t *out);
void fit_iq2_xs(const float *x, const float *w, uint8_t *out);
void fit_iq2_s(const float *x, const float *w, uint8_t *out);
void fit_iq3_xxs(const float *x, const float *w, uint8_t *out);
void fit_iq3_s(const float *x, const float *w, uint8_t *out);
void fit_iq1_s(const float *x, const float *w, uint8_t *out);
void fit_iq1_m(const float *x, const float *w, uint8_t *out);

/* Near patterns of every point of a lattice (weighted_near.c). */
bool fit_prepare_patterns(uint32_t type);
void fit_end_patterns(void);

#endif
