/* Values of every data type: decoders straight from the format's description. */
#include "config.h"

#include "grids.h"
#include "ref.h"

#include <math.h>
#include <string.h>

static const struct {
    uint32_t type, block, bytes;
    const char *name;
} table[] = {
#define ENG_TYPE(id, number, tname, elements, nbytes) {number, elements, nbytes, tname},
#include "engine/types.def"
#undef ENG_TYPE
};

uint32_t ref_block(uint32_t type)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].type == type)
            return table[i].block;
    return 0;
}

uint32_t ref_block_bytes(uint32_t type)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].type == type)
            return table[i].bytes;
    return 0;
}

const char *ref_type_name(uint32_t type)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].type == type)
            return table[i].name;
    return "?";
}

double ref_half(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 1023;
    double v = e == 31 ? (m ? (double)NAN : (double)INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);

    return h & 0x8000 ? -v : v;
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

/* Nibble i of a block of 32: the low halves of 16 bytes first. */
static int nibble(const unsigned char *q, int i)
{
    return i < 16 ? q[i] & 15 : q[i - 16] >> 4;
}

static const int iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
static const int fp4_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}; /* times 1/2 */

/* Unsigned 8-bit float with 4 bits of exponent, 3 of mantissa. */
static double ue4m3(unsigned b)
{
    int e = (int)(b >> 3 & 15), m = (int)(b & 7);

    if (b == 0 || b == 0x7f)
        return 0;
    return e ? ldexp(8 + m, e - 10) : ldexp(m, -9);
}

/* The 6-bit scale and minimum of sub-block j in 12 bytes. */
static void k4_scales(const unsigned char *s, int j, int *scale, int *min)
{
    if (j < 4) {
        *scale = s[j] & 63;
        *min = s[j + 4] & 63;
    } else {
        *scale = (s[j + 4] & 15) | (s[j - 4] >> 6) << 4;
        *min = s[j + 4] >> 4 | (s[j] >> 6) << 4;
    }
}

static double block32(uint32_t type, const unsigned char *b, int i)
{
    switch (type) {
    case ENG_TYPE_Q4_0: return (nibble(b + 2, i) - 8) * half_at(b);
    case ENG_TYPE_Q4_1: return nibble(b + 4, i) * half_at(b) + half_at(b + 2);
    case ENG_TYPE_Q5_0: return ((nibble(b + 6, i) | (int)(u32(b + 2) >> i & 1) << 4) - 16) * half_at(b);
    case ENG_TYPE_Q5_1: return (nibble(b + 8, i) | (int)(u32(b + 4) >> i & 1) << 4) * half_at(b) + half_at(b + 2);
    case ENG_TYPE_Q8_0: return (int8_t)b[2 + i] * half_at(b);
    case ENG_TYPE_IQ4_NL: return iq4_values[nibble(b + 2, i)] * half_at(b);
    default: return ldexp(fp4_values[nibble(b + 1, i)], (int)b[0] - 128); /* mxfp4 */
    }
}

static double q3_k(const unsigned char *b, int i)
{
    const unsigned char *s = b + 96;
    int q = (b[32 + 32 * (i / 128) + i % 32] >> 2 * (i % 128 / 32) & 3) | (b[i % 32] >> (i / 32) & 1) << 2;
    int j = i / 16;
    int sc = (j < 8 ? s[j] & 15 : s[j - 8] >> 4) | (s[8 + j % 4] >> 2 * (j / 4) & 3) << 4;

    return half_at(b + 108) * (sc - 32) * (q - 4);
}

static double q6_k(const unsigned char *b, int i)
{
    int hf = i / 128, g = i % 128 / 32, l = i % 32;
    int lo = b[64 * hf + 32 * (g & 1) + l];
    int q = ((g >= 2 ? lo >> 4 : lo & 15) | (b[128 + 32 * hf + l] >> 2 * g & 3) << 4) - 32;

    return half_at(b + 208) * (int8_t)b[192 + i / 16] * q;
}

static double block256(uint32_t type, const unsigned char *b, int i)
{
    int sc, m, q, j = i / 32;

    switch (type) {
    case ENG_TYPE_Q2_K:
        q = b[16 + 32 * (i / 128) + i % 32] >> 2 * (i % 128 / 32) & 3;
        return half_at(b + 80) * (b[i / 16] & 15) * q - half_at(b + 82) * (b[i / 16] >> 4);
    case ENG_TYPE_Q3_K: return q3_k(b, i);
    case ENG_TYPE_Q4_K:
    case ENG_TYPE_Q5_K:
        k4_scales(b + 4, j, &sc, &m);
        q = b[(type == ENG_TYPE_Q4_K ? 16 : 48) + 32 * (i / 64) + i % 32];
        q = j & 1 ? q >> 4 : q & 15;
        if (type == ENG_TYPE_Q5_K)
            q |= (b[16 + i % 32] >> j & 1) << 4;
        return half_at(b) * sc * q - half_at(b + 2) * m;
    case ENG_TYPE_Q6_K: return q6_k(b, i);
    default: /* iq4_xs */
        sc = (b[4 + j / 2] >> 4 * (j % 2) & 15) | ((int)(u16(b + 2) >> 2 * j) & 3) << 4;
        return half_at(b) * (sc - 32) * iq4_values[nibble(b + 8 + 16 * j, i % 32)];
    }
}

static double nvfp4(const unsigned char *b, int i)
{
    int s = i / 16, r = i % 16;
    unsigned q = b[4 + 8 * s + r % 8];

    return fp4_values[r < 8 ? q & 15 : q >> 4] * 0.5 * ue4m3(b[s]);
}

static double plain(uint32_t type, const unsigned char *p)
{
    union { uint32_t u; float f; int32_t i; } w;
    uint64_t q;

    switch (type) {
    case ENG_TYPE_F16: return half_at(p);
    case ENG_TYPE_BF16:
        w.u = (uint32_t)u16(p) << 16;
        return w.f;
    case ENG_TYPE_I64:
        q = u32(p) | (uint64_t)u32(p + 4) << 32;
        return (double)(int64_t)q;
    default:
        w.u = u32(p);
        return type == ENG_TYPE_I32 ? (double)w.i : (double)w.f;
    }
}

void ref_decode(uint32_t type, const void *blocks, double *x, int64_t n)
{
    const unsigned char *b = blocks;
    uint32_t block = ref_block(type), bytes = ref_block_bytes(type);

    for (int64_t i = 0; i < n; i++) {
        const unsigned char *p = b + i / block * bytes;
        int j = (int)(i % block);
        x[i] = ref_grid_scale(type) != REF_NO_GRID ? ref_grid(type, p, j)
               : block == 1                        ? plain(type, p)
               : block == 32                       ? block32(type, p, j)
               : block == 64                       ? nvfp4(p, j)
                                                   : block256(type, p, j);
    }
}

/* Two code values apart in the finest scale a value of the block may have. */
static double step_of(uint32_t type, const unsigned char *b, int i, double x)
{
    int sc, m, e;

    switch (type) {
    case ENG_TYPE_F32: return frexp(x, &e) != 0 ? ldexp(1, e - 24) : ldexp(1, -149);
    case ENG_TYPE_F16:
        frexp(x, &e);
        return ldexp(1, (e < -13 ? -13 : e) - 11);
    case ENG_TYPE_BF16: return frexp(x, &e) != 0 ? ldexp(1, e - 8) : ldexp(1, -133);
    case ENG_TYPE_Q4_0:
    case ENG_TYPE_Q4_1:
    case ENG_TYPE_Q5_0:
    case ENG_TYPE_Q5_1:
    case ENG_TYPE_Q8_0: return fabs(half_at(b));
    case ENG_TYPE_IQ4_NL: return 24 * fabs(half_at(b)); /* the widest gap of the table */
    case ENG_TYPE_MXFP4: return ldexp(4, (int)b[0] - 128);
    case ENG_TYPE_NVFP4: return 2 * ue4m3(b[i / 16]);
    case ENG_TYPE_Q2_K: return fabs(half_at(b + 80)) * (b[i / 16] & 15);
    case ENG_TYPE_Q3_K: return fabs(half_at(b + 108)) * 32;
    case ENG_TYPE_Q4_K:
    case ENG_TYPE_Q5_K:
        k4_scales(b + 4, i / 32, &sc, &m);
        return fabs(half_at(b)) * sc;
    case ENG_TYPE_Q6_K: return fabs(half_at(b + 208) * (int8_t)b[192 + i / 16]);
    case ENG_TYPE_IQ4_XS: return fabs(half_at(b)) * 32 * 24;
    default: return 0;
    }
}

void ref_steps(uint32_t type, const void *blocks, double *step, int64_t n)
{
    uint32_t block = ref_block(type), bytes = ref_block_bytes(type);

    for (int64_t i = 0; i < n; i++) {
        const unsigned char *p = (const unsigned char *)blocks + i / block * bytes;
        double x = 0;
        if (block == 1)
            x = plain(type, p);
        step[i] = step_of(type, p, (int)(i % block), x);
    }
}

/* Offsets of a block's f16 fields; -1: none. */
static void half_fields(uint32_t type, int at[2])
{
    at[0] = at[1] = -1;
    switch (type) {
    case ENG_TYPE_Q4_1:
    case ENG_TYPE_Q5_1:
    case ENG_TYPE_Q4_K:
    case ENG_TYPE_Q5_K: at[1] = 2; /* fall through */
    case ENG_TYPE_Q4_0:
    case ENG_TYPE_Q5_0:
    case ENG_TYPE_Q8_0:
    case ENG_TYPE_IQ4_NL:
    case ENG_TYPE_IQ4_XS: at[0] = 0; break;
    case ENG_TYPE_Q2_K: at[0] = 80, at[1] = 82; break;
    case ENG_TYPE_Q3_K: at[0] = 108; break;
    case ENG_TYPE_Q6_K: at[0] = 208; break;
    default:
        if (ref_grid_scale(type) >= 0)
            at[0] = ref_grid_scale(type);
        break;
    }
}

/* What a type's scale must be for values around 1. */
static double unit_scale(uint32_t type)
{
    switch (type) {
    case ENG_TYPE_Q8_0:
    case ENG_TYPE_IQ4_NL: return 1.0 / 100;
    case ENG_TYPE_Q2_K: return 1.0 / 16;
    case ENG_TYPE_Q3_K: return 1.0 / 64;
    case ENG_TYPE_Q4_K: return 1.0 / 400;
    case ENG_TYPE_Q5_K: return 1.0 / 800;
    case ENG_TYPE_Q6_K: return 1.0 / 2048;
    case ENG_TYPE_IQ4_XS: return 1.0 / 2048;
    default: return ref_grid_scale(type) != REF_NO_GRID ? ref_grid_unit(type) : 1.0 / 12;
    }
}

static double uniform(uint64_t (*rnd)(void *), void *ctx, double lo, double hi)
{
    return lo + (hi - lo) * (double)(rnd(ctx) >> 11) * 0x1p-53;
}

static void put_half(unsigned char *p, double x)
{
    uint16_t h = ref_to_half(x);

    p[0] = (unsigned char)(h & 255);
    p[1] = (unsigned char)(h >> 8);
}

void ref_random_blocks(uint32_t type, void *blocks, int64_t n, double scale, uint64_t (*rnd)(void *), void *ctx)
{
    uint32_t block = ref_block(type), bytes = ref_block_bytes(type);
    int at[2], e;

    half_fields(type, at);
    for (int64_t i = 0; i < n / block; i++) {
        unsigned char *b = (unsigned char *)blocks + i * bytes;
        for (uint32_t j = 0; j < bytes; j++)
            b[j] = (unsigned char)(rnd(ctx) >> 33);
        double d = scale * unit_scale(type) * uniform(rnd, ctx, 0.5, 1.5);
        if (at[0] >= 0)
            put_half(b + at[0], rnd(ctx) & 1024 ? -d : d);
        if (at[1] >= 0) /* a minimum: for the q4_1 kind of the size of all codes together */
            put_half(b + at[1], (block == 32 ? -8 : 4) * scale * unit_scale(type) * uniform(rnd, ctx, 0.5, 1.5));
        if (ref_grid_scale(type) == REF_SCALE_SPREAD)
            for (int j = 0; j < 4; j++)
                b[49 + 2 * j] = (unsigned char)((b[49 + 2 * j] & 15) | (ref_to_half(d) >> 4 * j & 15) << 4);
        frexp(scale, &e);
        if (type == ENG_TYPE_MXFP4)
            b[0] = (unsigned char)(125 + e + (int)(rnd(ctx) >> 62));
        for (int j = 0; type == ENG_TYPE_NVFP4 && j < 4; j++)
            b[j] = (unsigned char)((4 + (int)(rnd(ctx) >> 62)) << 3 | (int)(rnd(ctx) >> 61));
    }
}
