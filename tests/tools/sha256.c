#include "config.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sha256.h"

/* The first 32 bits of the fractional parts of the roots of the first primes. */
static uint32_t root_bits(uint32_t prime, int cube)
{
    long double root = cube ? cbrtl(prime) : sqrtl(prime);

    return (uint32_t)((root - floorl(root)) * 0x1p32L);
}

static void constants(uint32_t k[64], uint32_t h[8])
{
    uint32_t n = 0;

    for (uint32_t p = 2; n < 64; p++) {
        int prime = 1;
        for (uint32_t d = 2; d * d <= p; d++)
            prime = prime && p % d != 0;
        if (!prime)
            continue;
        if (n < 8)
            h[n] = root_bits(p, 0);
        k[n++] = root_bits(p, 1);
    }
}

static uint32_t rotate(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void block(uint32_t h[8], const uint32_t k[64], const uint8_t *p)
{
    uint32_t w[64], v[8];

    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] =
            w[i - 16] + w[i - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    memcpy(v, h, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t e = v[4], a = v[0];
        uint32_t t1 = v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & v[5]) ^ (~e & v[6])) + k[i] + w[i];
        uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        h[i] += v[i];
}

void sha256(const void *data, size_t n, char hex[65])
{
    const uint8_t *p = data;
    uint8_t last[128] = {0};
    uint32_t k[64], h[8];
    size_t whole = n / 64 * 64, rest = n - whole, end = rest < 56 ? 64 : 128;

    constants(k, h);
    for (size_t i = 0; i < whole; i += 64)
        block(h, k, p + i);
    memcpy(last, p + whole, rest);
    last[rest] = 0x80;
    for (int i = 0; i < 8; i++)
        last[end - 1 - (size_t)i] = (uint8_t)((uint64_t)n * 8 >> 8 * i);
    for (size_t i = 0; i < end; i += 64)
        block(h, k, last + i);
    for (int i = 0; i < 8; i++)
        snprintf(hex + 8 * i, 9, "%08x", h[i]);
}
