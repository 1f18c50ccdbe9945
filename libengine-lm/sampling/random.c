/* Random numbers. */
#include "config.h"

#include <math.h>
#include <time.h>
#include <unistd.h>

#include "random.h"

#define M 397

void lm_twister_seed(lm_twister *r, uint32_t seed)
{
    r->state[0] = seed;
    for (uint32_t i = 1; i < LM_TWISTER_N; i++)
        r->state[i] = 1812433253u * (r->state[i - 1] ^ r->state[i - 1] >> 30) + i;
    r->next = LM_TWISTER_N;
}

static void refill(lm_twister *r)
{
    for (uint32_t i = 0; i < LM_TWISTER_N; i++) {
        uint32_t y = (r->state[i] & 0x80000000u) | (r->state[(i + 1) % LM_TWISTER_N] & 0x7fffffffu);
        r->state[i] = r->state[(i + M) % LM_TWISTER_N] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
    }
    r->next = 0;
}

static uint32_t next(lm_twister *r)
{
    if (r->next == LM_TWISTER_N)
        refill(r);
    uint32_t y = r->state[r->next++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

/* The two words make a number of 64 bits, which is rounded to 53: 1 itself must not come out. */
double lm_twister_unit(lm_twister *r)
{
    double low = next(r), high = next(r);
    double x = (low + high * 0x1p32) * 0x1p-64;

    return x < 1 ? x : nextafter(1, 0);
}

uint32_t lm_random_seed(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t x = (uint64_t)now.tv_sec * 1000000007u ^ (uint64_t)now.tv_nsec << 20 ^ (uint64_t)getpid() << 40;
    x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
    x ^= x >> 29;
    return (uint32_t)x == UINT32_MAX ? 0 : (uint32_t)x;
}
