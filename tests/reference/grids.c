/* Values of the types whose weights come from tables of patterns, and of those of one, two and three values. */
#include "config.h"

#include "grids.h"
#include "libengine/util/grids.h"

#include <math.h>

#define CODE(c) c,
static const uint16_t iq2_xxs[] = {EU_GRID_iq2_xxs(CODE)}, iq2_xs[] = {EU_GRID_iq2_xs(CODE)};
static const uint16_t iq2_s[] = {EU_GRID_iq2_s(CODE)}, iq1[] = {EU_GRID_iq1(CODE)};
static const uint16_t iq3_xxs[] = {EU_GRID_iq3_xxs(CODE)}, iq3_s[] = {EU_GRID_iq3_s(CODE)};

static int two(int code, int j)
{
    return code >> 2 * j & 3;
}

static int three(int code, int j)
{
    return code >> 3 * j & 7;
}

static unsigned u16(const unsigned char *p)
{
    return (unsigned)p[0] | (unsigned)p[1] << 8;
}

static uint32_t u32(const unsigned char *p)
{
    return u16(p) | (uint32_t)u16(p + 2) << 16;
}

static double half_at(const unsigned char *p)
{
    return ref_half((uint16_t)u16(p));
}

static int nibble(const unsigned char *p, int i)
{
    return i % 2 ? p[i / 2] >> 4 : p[i / 2] & 15;
}

/* The sign of element j that seven bits give to eight: an even number is negative. */
static int sign7(uint32_t bits, int j)
{
    int odd = 0;

    for (int i = 0; i < 7; i++)
        odd ^= (int)(bits >> i & 1);
    return (j < 7 ? (int)(bits >> j & 1) : odd) ? -1 : 1;
}

static double iq2(uint32_t type, const unsigned char *b, int i)
{
    static const int value[4] = {8, 25, 43, 0};
    int run = i / 8, j = i % 8, part = i / 32, q, sign, scale;

    if (type == ENG_TYPE_IQ2_XXS) {
        const unsigned char *p = b + 2 + 8 * part;
        q = iq2_xxs[p[run % 4]];
        sign = sign7(u32(p + 4) >> 7 * (run % 4) & 127, j);
        scale = p[7] >> 4;
    } else if (type == ENG_TYPE_IQ2_XS) {
        unsigned w = u16(b + 2 + 2 * run);
        q = iq2_xs[w & 511];
        sign = sign7(w >> 9, j);
        scale = nibble(b + 66, i / 16);
    } else {
        q = iq2_s[b[2 + run] | (b[66 + part] >> 2 * (run % 4) & 3) << 8];
        sign = b[34 + run] >> j & 1 ? -1 : 1;
        scale = nibble(b + 74, i / 16);
    }
    return half_at(b) * (0.5 + scale) * 0.25 * value[two(q, j)] * sign;
}

static double iq3(uint32_t type, const unsigned char *b, int i)
{
    int quad = i / 4, j = i % 4, part = i / 32, f;
    uint32_t w;

    if (type == ENG_TYPE_IQ3_XXS) {
        w = u32(b + 66 + 4 * part);
        f = three(iq3_xxs[b[2 + quad]], j);
        return half_at(b) * (0.5 + (w >> 28)) * 0.5 * (f == 7 ? 62 : 8 * f + 4) *
               sign7(w >> 7 * (i / 8 % 4) & 127, i % 8);
    }
    f = three(iq3_s[b[2 + quad] | (b[66 + part] >> quad % 8 & 1) << 8], j);
    return half_at(b) * (1 + 2 * nibble(b + 106, part)) * (2 * f + 1) * (b[74 + i / 8] >> i % 8 & 1 ? -1 : 1);
}

static double iq1_s(const unsigned char *b, int i)
{
    unsigned w = u16(b + 34 + 2 * (i / 32));
    int f = two(iq1[b[2 + i / 8] | (w >> 3 * (i / 8 % 4) & 7) << 8], i % 8);

    return half_at(b) * (2 * (w >> 12 & 7) + 1) * (f - 1 + (w >> 15 ? -0.125 : 0.125));
}

static double iq1_m(const unsigned char *b, int i)
{
    unsigned d = 0, high = b[32 + i / 16] >> 4 * (i / 8 % 2);
    int f = two(iq1[b[i / 8] | (high & 7) << 8], i % 8);

    for (int k = 0; k < 4; k++)
        d |= u16(b + 48 + 2 * k) >> 12 << 4 * k;
    return ref_half((uint16_t)d) * (2 * (u16(b + 48 + 2 * (i / 64)) >> 3 * (i / 16 % 4) & 7) + 1) *
           (f - 1 + (high & 8 ? -0.125 : 0.125));
}

/* A byte times 3^5 / 256 has the digits to base 3 before its point, the first one highest. */
static int digit(unsigned byte, int n)
{
    for (; n > 0; n--)
        byte = byte * 3 & 255;
    return (int)(byte * 3 >> 8);
}

static double tq1(const unsigned char *b, int i)
{
    int q = i < 160   ? digit(b[i % 32], i / 32)
            : i < 240 ? digit(b[32 + i % 16], (i - 160) / 16)
                      : digit(b[48 + i % 4], (i - 240) / 4);

    return (q - 1) * half_at(b + 52);
}

double ref_grid(uint32_t type, const unsigned char *b, int i)
{
    switch (type) {
    case ENG_TYPE_IQ2_XXS:
    case ENG_TYPE_IQ2_XS:
    case ENG_TYPE_IQ2_S: return iq2(type, b, i);
    case ENG_TYPE_IQ3_XXS:
    case ENG_TYPE_IQ3_S: return iq3(type, b, i);
    case ENG_TYPE_IQ1_S: return iq1_s(b, i);
    case ENG_TYPE_IQ1_M: return iq1_m(b, i);
    case ENG_TYPE_TQ1_0: return tq1(b, i);
    case ENG_TYPE_TQ2_0: return ((b[i / 128 * 32 + i % 32] >> 2 * (i / 32 % 4) & 3) - 1) * half_at(b + 64);
    case ENG_TYPE_Q1_0: return (b[2 + i / 8] >> i % 8 & 1 ? 1 : -1) * half_at(b);
    case ENG_TYPE_Q2_0: return ((b[2 + i / 4] >> 2 * (i % 4) & 3) - 1) * half_at(b);
    default: return NAN;
    }
}

int ref_grid_scale(uint32_t type)
{
    switch (type) {
    case ENG_TYPE_IQ2_XXS:
    case ENG_TYPE_IQ2_XS:
    case ENG_TYPE_IQ2_S:
    case ENG_TYPE_IQ3_XXS:
    case ENG_TYPE_IQ3_S:
    case ENG_TYPE_IQ1_S:
    case ENG_TYPE_Q1_0:
    case ENG_TYPE_Q2_0: return 0;
    case ENG_TYPE_TQ1_0: return 52;
    case ENG_TYPE_TQ2_0: return 64;
    case ENG_TYPE_IQ1_M: return REF_SCALE_SPREAD;
    default: return REF_NO_GRID;
    }
}

bool ref_read_only(uint32_t type)
{
    return ref_grid_scale(type) != REF_NO_GRID;
}

double ref_grid_unit(uint32_t type)
{
    switch (type) {
    case ENG_TYPE_IQ2_XXS:
    case ENG_TYPE_IQ2_XS:
    case ENG_TYPE_IQ2_S: return 1.0 / 80;
    case ENG_TYPE_IQ3_XXS: return 1.0 / 240;
    case ENG_TYPE_IQ3_S: return 1.0 / 240;
    case ENG_TYPE_IQ1_S:
    case ENG_TYPE_IQ1_M: return 1.0 / 12;
    default: return 1;
    }
}
