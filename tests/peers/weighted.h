/* Rows, and the importance of their columns, whose weighted encoding is compared: numbers from a seed. */
#ifndef PEERS_WEIGHTED_H
#define PEERS_WEIGHTED_H

#include <math.h>
#include <stdint.h>

enum { PEERS_COLUMNS = 1024, PEERS_ROWS = 16, PEERS_WEIGHTS = PEERS_COLUMNS * PEERS_ROWS };

/* name, number, what the peer's tables need before: 0 nothing, 1 those of iq2 and iq1, else the size of those of iq3 */
#define PEERS_WEIGHTED(T)                                                                                              \
    T(q4_0, 2, 0) T(q4_1, 3, 0) T(q5_0, 6, 0) T(q5_1, 7, 0) T(q2_K, 10, 0) T(q3_K, 11, 0) T(q4_K, 12, 0)               \
    T(q5_K, 13, 0) T(q6_K, 14, 0) T(iq4_nl, 20, 0) T(iq4_xs, 23, 0) T(iq3_s, 21, 512) T(iq3_xxs, 18, 256)              \
    T(iq2_s, 22, 1) T(iq2_xs, 17, 1) T(iq2_xxs, 16, 1) T(iq1_m, 29, 1) T(iq1_s, 19, 1)
/* and those that need no importance, of which the bytes are compared */
#define PEERS_FEW(T) T(tq1_0, 34, 256, 54) T(tq2_0, 35, 256, 66) T(q1_0, 41, 128, 18) T(q2_0, 42, 64, 18)

static inline double peers_uniform(uint64_t *s)
{
    *s = *s * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*s >> 11) * 0x1p-53;
}

/* A bell: twelve uniform numbers. */
static inline double peers_bell(uint64_t *s)
{
    double x = -6;
    for (int i = 0; i < 12; i++)
        x += peers_uniform(s);
    return x;
}

static inline void peers_rows(float *x, float *importance)
{
    uint64_t s = 15;
    for (int i = 0; i < PEERS_COLUMNS; i++) {
        const double b = peers_bell(&s);
        importance[i] = (float)(0.05 + b * b * b * b); /* a few columns count much */
    }
    for (int i = 0; i < PEERS_WEIGHTS; i++)
        x[i] = (float)(0.02 * peers_bell(&s) * (1 + 0.5 * (i / 256 % 3)) * (peers_uniform(&s) < 0.01 ? 4 : 1));
}

/* The root of the weighted mean square of what was lost, over that of the weights. */
static inline double peers_lost(const float *x, const float *y, const float *importance)
{
    double lost = 0, all = 0;
    for (int i = 0; i < PEERS_WEIGHTS; i++) {
        const double w = importance[i % PEERS_COLUMNS], d = (double)y[i] - (double)x[i];
        lost += w * d * d;
        all += w * (double)x[i] * (double)x[i];
    }
    return sqrt(lost / all);
}

static inline uint64_t peers_bytes_hash(const uint8_t *b, int64_t n)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (int64_t i = 0; i < n; i++)
        h = (h ^ b[i]) * UINT64_C(1099511628211);
    return h;
}

#endif
