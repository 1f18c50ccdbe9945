/* Cases of mul_mat, mul_mat_id and hadamard. */
#include "config.h"

#include "suite.h"
#include "../matrix.h"

#include <math.h>
#include <string.h>

static const uint32_t matrix_types[] = {
    ENG_TYPE_F32,  ENG_TYPE_F16,  ENG_TYPE_BF16,   ENG_TYPE_Q4_0,  ENG_TYPE_Q4_1,   ENG_TYPE_Q5_0,
    ENG_TYPE_Q5_1, ENG_TYPE_Q8_0, ENG_TYPE_IQ4_NL, ENG_TYPE_MXFP4, ENG_TYPE_NVFP4,  ENG_TYPE_Q2_K,
    ENG_TYPE_Q3_K, ENG_TYPE_Q4_K, ENG_TYPE_Q5_K,   ENG_TYPE_Q6_K,  ENG_TYPE_IQ4_XS,
    ENG_TYPE_IQ2_XXS, ENG_TYPE_IQ2_XS, ENG_TYPE_IQ2_S, ENG_TYPE_IQ3_XXS, ENG_TYPE_IQ3_S, ENG_TYPE_IQ1_S,
    ENG_TYPE_IQ1_M, ENG_TYPE_TQ1_0, ENG_TYPE_TQ2_0, ENG_TYPE_Q1_0, ENG_TYPE_Q2_0,
};
#define N_TYPES (sizeof matrix_types / sizeof *matrix_types)
#define COUNT(a) (sizeof(a) / sizeof *(a))

/* a[k,m,p,q] b[k,n,p r,q s] with weights as models declare them, or plain. */
static void product(cf_suite *s, uint32_t ta, uint32_t tb, int64_t m, int64_t n, int64_t k, int matrix)
{
    cf_case *c = cf_begin(s, ENG_OP_MUL_MAT, "a=%s b=%s m=%lld n=%lld k=%lld%s", ref_type_name(ta), ref_type_name(tb),
                          (long long)m, (long long)n, (long long)k, matrix ? " matrix" : "");
    if (!c)
        return;
    c->terms = (double)k;
    cf_in(c, 0, "a", ta, ENG_USE_WEIGHT | (matrix ? TEST_MATRIX : 0), CF_PLAIN, CF_SHAPE(k, m));
    cf_in(c, 1, "b", tb, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(k, n));
    cf_run(c);
}

static void widths(cf_suite *s)
{
    static const int64_t n[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 32, 33, 64, 100, 512};
    static const int64_t m[] = {33, 64, 17, 130, 1, 16, 35, 96};

    cf_thin(s, 5);
    for (size_t t = 0; t < N_TYPES; t++)
        for (size_t i = 0; i < COUNT(n); i++)
            product(s, matrix_types[t], ENG_TYPE_F32, m[(t + i) % COUNT(m)], n[i], (t + i) % 3 ? 256 : 768,
                    (t + i) & 1);
    for (size_t t = 0; t < N_TYPES; t++)
        for (size_t i = 0; i < COUNT(n); i += 3) {
            cf_thin(s, t < 2 ? 3 : CF_NOT_QUICK); /* a device may build a program for each pair of types */
            product(s, matrix_types[t], ENG_TYPE_F16, 48, n[i], 512, 1);
            product(s, matrix_types[t], ENG_TYPE_BF16, 31, n[i], 256, 0);
        }
}

static void odd(cf_suite *s)
{
    static const int64_t k[] = {1, 2, 3, 15, 17, 31, 33, 65, 77, 193, 588, 1027};
    static const int64_t n[] = {1, 2, 7, 16, 40};
    static const uint32_t blocks[] = {ENG_TYPE_Q4_0, ENG_TYPE_Q8_0, ENG_TYPE_Q5_1, ENG_TYPE_MXFP4};

    cf_thin(s, 6);
    for (int t = 0; t < 3; t++)
        for (size_t i = 0; i < COUNT(k); i++)
            for (size_t j = 0; j < COUNT(n); j++)
                product(s, matrix_types[t], s->o.quick ? ENG_TYPE_F32 : matrix_types[(t + j) % 3],
                        1 + (int64_t)(7 * i + 3 * j) % 41, n[j], k[i], (int)(i + j) & 1);
    for (size_t t = 0; t < COUNT(blocks); t++)
        for (int64_t b = 1; b <= 9; b += 2)
            for (size_t j = 0; j < COUNT(n); j++)
                product(s, blocks[t], ENG_TYPE_F32, j & 1 ? 24 : 19 + b, n[j], 32 * b, (int)j & 1);
    cf_thin(s, 2);
    product(s, ENG_TYPE_F32, ENG_TYPE_F32, 512, 512, 256, 1);
    product(s, ENG_TYPE_Q4_0, ENG_TYPE_F32, 509, 129, 2048, 1);
    product(s, ENG_TYPE_Q4_0, ENG_TYPE_F32, 72, 7, 2144, 1);
    product(s, ENG_TYPE_Q6_K, ENG_TYPE_F32, 136, 5, 2816, 1);
    product(s, ENG_TYPE_Q4_K, ENG_TYPE_F32, 2050, 1, 2048, 1);
    for (int64_t columns = 1; columns <= 5; columns += columns) /* so many rows that groups of work-items do more of them */
        product(s, columns == 2 ? ENG_TYPE_Q6_K : ENG_TYPE_Q4_1, ENG_TYPE_F32, 8200, columns, 256, 1);
    product(s, ENG_TYPE_F16, ENG_TYPE_F32, 4099, 1, 1024, 1);
    product(s, ENG_TYPE_Q8_0, ENG_TYPE_F32, 1031, 3, 2880, 1);
    product(s, ENG_TYPE_F16, ENG_TYPE_F32, 7, 1, 4103, 1); /* more than a device may take of k at once */
    product(s, ENG_TYPE_Q4_1, ENG_TYPE_F32, 6, 2, 8224, 1);
    product(s, ENG_TYPE_Q5_K, ENG_TYPE_F32, 5, 1, 8448, 1);
    cf_thin(s, 1);
    product(s, ENG_TYPE_F32, ENG_TYPE_F32, 5, 3, 0, 0);
    product(s, ENG_TYPE_Q4_0, ENG_TYPE_F32, 5, 3, 0, 0);
    product(s, ENG_TYPE_F32, ENG_TYPE_F32, 5, 0, 32, 0);
    product(s, ENG_TYPE_F16, ENG_TYPE_F32, 0, 4, 32, 0);
    product(s, ENG_TYPE_F32, ENG_TYPE_F32, 1, 1, 1, 0);
}

/* Types without blocks in groups of 32 rows, which a device may keep side by side: k around its panels, columns around
 * its tiles. */
static void strips(cf_suite *s)
{
    static const int64_t k[] = {1, 2, 7, 254, 256, 257, 500, 512, 515, 768, 1026, 2050};
    static const int64_t n[] = {1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 19, 24, 25, 36, 48, 49, 61, 130, 400};
    size_t x = 0;

    cf_thin(s, 8);
    for (size_t t = 0; t < 3; t++)
        for (size_t i = 0; i < COUNT(n); i++)
            for (size_t j = 0; j < COUNT(k); j++, x++)
                if ((i + j) % 3 == t || n[i] < 4)
                    product(s, matrix_types[t], s->o.quick || x % 4 ? ENG_TYPE_F32 : matrix_types[x / 4 % 3],
                            32 * (1 + (int64_t)x % 5), n[i], k[j], 1);
    cf_thin(s, 1);
    for (size_t t = 0; t < 3; t++) /* few columns, which may come in pieces along k */
        product(s, matrix_types[t], ENG_TYPE_F32, 37 + 32 * (int64_t)t, 2 + 3 * (int64_t)t, 3001 + (int64_t)t, 1);
    product(s, ENG_TYPE_BF16, ENG_TYPE_F32, 192, 48, 4096, 1);
    product(s, ENG_TYPE_F16, ENG_TYPE_F32, 64, 700, 1536, 1);
}

static void batches(cf_suite *s)
{
    static const struct {
        int64_t p, q, r, s;
    } shape[] = {{1, 1, 2, 1}, {2, 1, 1, 3}, {2, 3, 2, 1}, {1, 2, 3, 2}, {3, 1, 1, 1}, {2, 2, 4, 1}};
    static const uint32_t types[] = {ENG_TYPE_F32,  ENG_TYPE_F16,  ENG_TYPE_BF16, ENG_TYPE_Q4_0,
                                     ENG_TYPE_Q8_0, ENG_TYPE_Q6_K, ENG_TYPE_NVFP4};
    static const cf_layout layouts[] = {CF_PLAIN, CF_SWAP12, CF_OFFSET, CF_INNER};
    int x = 0;

    for (size_t t = 0; t < COUNT(types); t++)
        for (size_t i = 0; i < COUNT(shape); i++)
            for (int64_t n = 1; n <= 9; n += 4, x++) {
                int64_t k = ref_block(types[t]) > 1 ? 256 : 61, m = 10 + (int64_t)i;
                cf_layout la = layouts[x % 4], lb = layouts[(x / 3 + 1) % 4];
                cf_thin(s, t == 0 || t == 3 ? 3 : CF_NOT_QUICK);
                uint32_t tb = t == 3 && s->o.quick ? ENG_TYPE_F32
                              : x % 5 == 0         ? ENG_TYPE_F16
                              : x % 5 == 1         ? ENG_TYPE_BF16
                                                   : ENG_TYPE_F32;
                cf_case *c =
                    cf_begin(s, ENG_OP_MUL_MAT, "a=%s/%s b=%s/%s m=%lld n=%lld k=%lld p=%lld q=%lld r=%lld s=%lld",
                             ref_type_name(types[t]), cf_layout_name(la), ref_type_name(tb), cf_layout_name(lb),
                             (long long)m, (long long)n, (long long)k, (long long)shape[i].p, (long long)shape[i].q,
                             (long long)shape[i].r, (long long)shape[i].s);
                if (!c)
                    continue;
                c->terms = (double)k;
                cf_in(c, 0, "a", types[t], x & 1 ? ENG_USE_INPUT : ENG_USE_WEIGHT, la,
                      CF_SHAPE(k, m, shape[i].p, shape[i].q));
                cf_in(c, 1, "b", tb, ENG_USE_INPUT, lb,
                      CF_SHAPE(k, n, shape[i].p * shape[i].r, shape[i].q * shape[i].s));
                cf_run(c);
            }
}

/* Both operands in one buffer; a whole tensor times itself. */
static void aliases(cf_suite *s)
{
    cf_case *c = cf_begin(s, ENG_OP_MUL_MAT, "a and b overlap");

    if (c) {
        c->terms = 48;
        cf_operand *a = cf_in(c, 0, "a", ENG_TYPE_F32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(48, 30)),
                   *b = cf_alias(c, 1, "b", 0);
        cf_slice(a, 1, 0, 20);
        cf_slice(b, 1, 11, 19);
        cf_run(c);
    }
    if ((c = cf_begin(s, ENG_OP_MUL_MAT, "a is b"))) {
        c->terms = 33;
        cf_in(c, 0, "a", ENG_TYPE_F16, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(33, 12));
        cf_alias(c, 1, "b", 0);
        cf_run(c);
    }
}

/* In a block of a K type with minima: element 37 is scale times one less minimum, both the same. */
static void cancel(uint32_t type, unsigned char *block)
{
    switch (type) {
    case ENG_TYPE_Q2_K:
        memset(block, 0x33, 16);
        block[16 + 5] = 1 << 2;
        memcpy(block + 82, block + 80, 2);
        break;
    case ENG_TYPE_Q4_K:
    case ENG_TYPE_Q5_K:
        memcpy(block + 2, block, 2);
        memset(block + 4, 5, 8);
        memset(block + 12, 0x55, 4);
        if (type == ENG_TYPE_Q5_K)
            block[16 + 5] &= ~2;
        block[(type == ENG_TYPE_Q5_K ? 48 : 16) + 5] = 1 << 4;
        break;
    }
}

static bool has_zero(uint32_t type)
{
    return ref_can_encode(type, false) || type == ENG_TYPE_Q2_K || type == ENG_TYPE_Q4_K || type == ENG_TYPE_Q5_K;
}

/* Rows of which element 37 alone is zero, or what little is left where code times scale all but cancels a minimum. */
static void encode_with_zero(cf_case *c, cf_operand *a, int64_t k, int64_t m)
{
    const uint64_t row_bytes = (uint64_t)(k / ref_block(a->type)) * ref_block_bytes(a->type);
    if (!ref_can_encode(a->type, false)) {
        for (int64_t x = 0; a->bytes && x < m; x++)
            cancel(a->type, a->bytes + (uint64_t)x * row_bytes);
        return;
    }
    double row[512];
    for (int64_t x = 0; a->bytes && x < m; x++) {
        for (int64_t i = 0; i < k; i++)
            row[i] = i == 37 ? 0 : cf_uniform(c, -1, 1);
        ref_encode(a->type, row, a->bytes + (uint64_t)x * row_bytes, k, false);
    }
}

static void encode_tiny(cf_case *c, cf_operand *a, int64_t k, int64_t m)
{
    const uint64_t row_bytes = (uint64_t)(k / ref_block(a->type)) * ref_block_bytes(a->type);
    double row[512];
    for (int64_t x = 0; a->bytes && x < m; x++) {
        for (int64_t i = 0; i < k; i++)
            row[i] = cf_uniform(c, -0x1p-14, 0x1p-14);
        ref_encode(a->type, row, a->bytes + (uint64_t)x * row_bytes, k, false);
    }
}

/*
 * What only an exact product survives: neighbours 2^40 apart, so that whatever gives a block of them one scale loses
 * the small ones; and an outlier that meets weights of zero, whole blocks of them or one among others, so that nothing
 * of it may be left in the sums; and activations of which 32 have no sum in f32, or weights of which integers' sums have
 * none, though the product has.
 */
static void hostile(cf_suite *s, bool matrix)
{
    enum { NEIGHBOURS, BLOCKS, ONE, LARGE, SCALES, KINDS };
    static const char *const kinds[] = {"neighbours 2^40 apart", "outlier over zeros", "outlier over one zero",
                                        "huge over tiny", "tiny over huge"};
    static const int64_t n[] = {1, 3, 8, 17, 40};
    const int64_t k = 512;

    for (size_t t = 0; t < N_TYPES; t++)
        for (size_t i = 0; i < COUNT(n); i++)
            for (int kind = 0; kind < KINDS; kind++) {
                const int64_t m = !matrix ? 35 : ref_block(matrix_types[t]) > 1 ? 40 : 64;
                if (kind == ONE && !has_zero(matrix_types[t]))
                    continue;
                if (kind == LARGE && matrix_types[t] != ENG_TYPE_Q4_1 && matrix_types[t] != ENG_TYPE_Q5_1)
                    continue;
                if (kind == SCALES && matrix_types[t] != ENG_TYPE_MXFP4)
                    continue;
                cf_case *c = cf_begin(s, ENG_OP_MUL_MAT, "a=%s m=%lld n=%lld k=%lld %s%s", ref_type_name(matrix_types[t]),
                                      (long long)m, (long long)n[i], (long long)k, kinds[kind], matrix ? " matrix" : "");
                if (!c)
                    continue;
                c->terms = (double)k;
                cf_operand *a = cf_in(c, 0, "a", matrix_types[t], ENG_USE_WEIGHT | (matrix ? TEST_MATRIX : 0), CF_PLAIN,
                                      CF_SHAPE(k, m));
                cf_operand *b = cf_in(c, 1, "b", ENG_TYPE_F32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(k, n[i]));
                if (kind == ONE)
                    encode_with_zero(c, a, k, m);
                if (kind == LARGE)
                    encode_tiny(c, a, k, m);
                for (int64_t x = 0; kind == SCALES && a->bytes && x < k * m / 32; x++)
                    a->bytes[17 * x] = 250;
                if (kind == BLOCKS)
                    for (int64_t x = 0; a->bytes && x < m; x++) /* the blocks of the first 256 elements: all zero */
                        memset(a->bytes + (uint64_t)(x * k / ref_block(a->type)) * ref_block_bytes(a->type), 0,
                               (size_t)(256 / ref_block(a->type)) * ref_block_bytes(a->type));
                for (int64_t x = 0; x < k * n[i]; x++)
                    if (kind == NEIGHBOURS)
                        cf_set(b, x, cf_uniform(c, -1, 1) * ldexp(1, (int)cf_below(c, 41) - 20));
                    else if (kind == LARGE)
                        cf_set(b, x, cf_uniform(c, 1, 2) * 0x1p124);
                    else if (kind == SCALES)
                        cf_set(b, x, cf_uniform(c, -1, 1) * 0x1p-40);
                    else if (x % k == 37)
                        cf_set(b, x, i & 1 ? 0x1p110 : 0x1p60);
                cf_run(c);
            }
}

/* A device made of several cuts along each axis in turn; others must not mind the names. */
static void split(cf_suite *s)
{
    static const char *const axes[] = {"rows", "inner", "heads", "tokens"};
    static const struct { uint32_t type; int64_t m, n, k, p, r; } shape[] = {
        {ENG_TYPE_F32, 37, 5, 70, 3, 2},   {ENG_TYPE_F16, 64, 1, 96, 1, 1},   {ENG_TYPE_Q4_0, 24, 3, 160, 2, 1},
        {ENG_TYPE_Q8_0, 9, 1, 1024, 1, 4}, {ENG_TYPE_Q4_K, 11, 2, 768, 1, 1}, {ENG_TYPE_NVFP4, 8, 4, 192, 4, 1},
        {ENG_TYPE_F32, 1, 17, 2, 5, 1},
    };

    cf_thin(s, s->composed ? 2 : 6);
    for (size_t i = 0; i < COUNT(shape); i++)
        for (size_t x = 0; x < COUNT(axes); x++)
            for (int named = 0; named < 2; named++) {
                int64_t m = shape[i].m, n = shape[i].n, k = shape[i].k, p = shape[i].p, r = shape[i].r;
                cf_case *c = cf_begin(s, ENG_OP_MUL_MAT, "a=%s m=%lld n=%lld k=%lld p=%lld r=%lld split=%s%s",
                                      ref_type_name(shape[i].type), (long long)m, (long long)n, (long long)k,
                                      (long long)p, (long long)r, axes[x], named ? " out" : "");
                if (!c)
                    continue;
                c->terms = (double)k;
                c->split = axes[x];
                cf_operand *a = cf_in(c, 0, "a", shape[i].type, ENG_USE_WEIGHT | (p == 1 ? TEST_MATRIX : 0),
                                      CF_PLAIN, CF_SHAPE(k, m, p));
                cf_operand *b = cf_in(c, 1, "b", ENG_TYPE_F32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(k, n, p * r));
                cf_axis(c, a, 0, "inner:%lld", (long long)k);
                cf_axis(c, a, 1, "rows:%lld", (long long)m);
                cf_axis(c, a, 2, "heads:%lld", (long long)p);
                cf_axis(c, b, 0, "inner:%lld", (long long)k);
                cf_axis(c, b, 1, "tokens:%lld", (long long)n);
                cf_axis(c, b, 2, "heads:%lld *:%lld", (long long)p, (long long)r);
                if (named && p * r > 1) {
                    cf_axis(c, &c->out[0], 0, "rows:%lld", (long long)m);
                    cf_axis(c, &c->out[0], 1, "tokens:%lld", (long long)n);
                    cf_axis(c, &c->out[0], 2, "heads:%lld *:%lld", (long long)p, (long long)r);
                }
                cf_run(c);
            }
}

void cf_cases_mul_mat(cf_suite *s)
{
    if (!cf_wanted(s, ENG_OP_MUL_MAT))
        return;
    widths(s);
    odd(s);
    strips(s);
    batches(s);
    cf_thin(s, 4);
    for (int matrix = 0; matrix < 2 && s->precision == ENG_PRECISION_EXACT; matrix++)
        hostile(s, matrix);
    cf_thin(s, 1);
    aliases(s);
    split(s);
}

/* Experts chosen at random: some twice, some not at all, some skipped. */
static void choose(cf_case *c, cf_operand *ids, int64_t experts)
{
    static const double skipped[] = {-1, -7, 1e6};

    for (int64_t i = 0; i < cf_elements(ids); i++) {
        double e = (double)cf_below(c, experts);
        if (cf_below(c, 7) == 0)
            e = cf_below(c, 4) ? skipped[cf_below(c, 3)] : (double)experts;
        cf_set(ids, i, e);
    }
}

/* Experts with more columns each than a device may take at once, and few for many experts. */
static void crowds(cf_suite *s)
{
    static const struct { uint32_t type; int64_t m, k, e, u, t; } shape[] = {
        {ENG_TYPE_F32, 21, 70, 2, 1, 1000}, {ENG_TYPE_Q4_0, 24, 64, 2, 1, 1000}, {ENG_TYPE_Q8_0, 40, 96, 32, 6, 80},
        {ENG_TYPE_F16, 10, 32, 0, 2, 5}, /* no experts: zeros */
        {ENG_TYPE_Q8_0, 40, 96, 32, 6, 3}, /* fewer pairs than experts, more than there are in the second of two pieces */
    };
    cf_thin(s, 1);
    for (size_t i = 0; i < COUNT(shape) && cf_wanted(s, ENG_OP_MUL_MAT_ID); i++) {
        const int64_t m = shape[i].m, k = shape[i].k, e = shape[i].e, u = shape[i].u, t = shape[i].t;
        cf_case *c = cf_begin(s, ENG_OP_MUL_MAT_ID, "a=%s m=%lld k=%lld e=%lld u=%lld t=%lld crowd",
                              ref_type_name(shape[i].type), (long long)m, (long long)k, (long long)e, (long long)u,
                              (long long)t);
        if (!c)
            continue;
        c->terms = (double)k;
        cf_in(c, 0, "a", shape[i].type, ENG_USE_WEIGHT | (e ? TEST_MATRIX : 0), CF_PLAIN, CF_SHAPE(k, m, e));
        cf_in(c, 1, "b", ENG_TYPE_F32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(k, 1, t));
        choose(c, cf_in(c, 2, "ids", ENG_TYPE_I32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(u, t)), e);
        cf_run(c);
    }
}

void cf_cases_mul_mat_id(cf_suite *s)
{
    static const int64_t tokens[] = {1, 4, 5, 17, 32, 129};
    static const char *const axes[] = {"expert", "ffn", "inner"};
    int x = 0;

    for (size_t t = 0; t < N_TYPES && cf_wanted(s, ENG_OP_MUL_MAT_ID); t++)
        for (size_t i = 0; i < COUNT(tokens); i++, x++) {
            cf_thin(s, t == 0 || t == 3 || t == 13 ? 3 : CF_NOT_QUICK);
            int64_t e = x % 3 == 0 ? 8 : x % 3 == 1 ? 4 : 1, u = x % 4 + 1 > e ? 1 : x % 4 + 1, k = x & 1 ? 256 : 512;
            uint32_t matrix = x % 2 ? TEST_MATRIX : 0;
            int64_t m = x % 5 == 0 ? 64 : !matrix ? 33 : t < 3 ? 96 : 40, bu = x % 3 ? 1 : u;
            cf_layout ids_layout = x % 4 == 3 ? CF_INNER : CF_PLAIN;
            cf_case *c =
                cf_begin(s, ENG_OP_MUL_MAT_ID, "a=%s m=%lld k=%lld e=%lld u=%lld b1=%lld t=%lld ids/%s%s",
                         ref_type_name(matrix_types[t]), (long long)m, (long long)k, (long long)e, (long long)u,
                         (long long)bu, (long long)tokens[i], cf_layout_name(ids_layout), matrix ? " matrix" : "");
            if (!c)
                continue;
            c->terms = (double)k;
            cf_in(c, 0, "a", matrix_types[t], ENG_USE_WEIGHT | matrix, CF_PLAIN, CF_SHAPE(k, m, e));
            cf_in(c, 1, "b", ENG_TYPE_F32, ENG_USE_INPUT, x % 3 == 1 ? CF_OFFSET : CF_PLAIN,
                  CF_SHAPE(k, bu, tokens[i]));
            choose(c, cf_in(c, 2, "ids", ENG_TYPE_I32, ENG_USE_INPUT, ids_layout, CF_SHAPE(u, tokens[i])), e);
            cf_run(c);
        }
    crowds(s);
    cf_thin(s, s->composed ? 1 : 3);
    for (int k = 0; k < 3; k++)
        for (size_t x2 = 0; x2 < COUNT(axes) && cf_wanted(s, ENG_OP_MUL_MAT_ID); x2++) {
            static const uint32_t types[] = {ENG_TYPE_F32, ENG_TYPE_Q4_0, ENG_TYPE_Q4_K};
            int64_t n = k == 0 ? 70 : 768, m = 21, e = 7, u = 3, t = 5, b1 = x2 == 2 ? u : 1;
            cf_case *c = cf_begin(s, ENG_OP_MUL_MAT_ID, "a=%s m=%lld k=%lld e=%lld u=%lld t=%lld split=%s",
                                  ref_type_name(types[k]), (long long)m, (long long)n, (long long)e, (long long)u,
                                  (long long)t, axes[x2]);
            if (!c)
                continue;
            c->terms = (double)n;
            c->split = axes[x2];
            cf_operand *a = cf_in(c, 0, "a", types[k], ENG_USE_WEIGHT | TEST_MATRIX, CF_PLAIN, CF_SHAPE(n, m, e));
            cf_operand *b = cf_in(c, 1, "b", ENG_TYPE_F32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(n, b1, t));
            cf_axis(c, a, 0, "inner:%lld", (long long)n);
            cf_axis(c, a, 1, "ffn:%lld", (long long)m);
            cf_axis(c, a, 2, "expert:%lld", (long long)e);
            cf_axis(c, b, 0, "inner:%lld", (long long)n);
            choose(c, cf_in(c, 2, "ids", ENG_TYPE_I32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(u, t)), e);
            cf_run(c);
        }
}

void cf_cases_hadamard(cf_suite *s)
{
    static const uint32_t types[] = {ENG_TYPE_F32, ENG_TYPE_F16, ENG_TYPE_BF16};
    static const cf_layout layouts[] = {CF_PLAIN, CF_SWAP12, CF_OFFSET, CF_INNER};
    static const int64_t rows[] = {1, 7, 33};
    int x = 0;

    cf_thin(s, 3);
    for (int64_t group = 1; group <= 4096 && cf_wanted(s, ENG_OP_HADAMARD); group *= 2)
        for (int64_t n = 1; n <= 5; n += 2)
            for (int r = 0; r < 3; r++, x++) {
                uint32_t type = group > 8 && s->o.quick ? ENG_TYPE_F32 : types[(x / 2) % 3];
                cf_layout l = layouts[x % 4];
                int64_t h = x % 5 == 0 ? 3 : 1;
                cf_case *c = cf_begin(s, ENG_OP_HADAMARD, "x=%s/%s n=%lld group=%lld rows=%lldx%lld",
                                      ref_type_name(type), cf_layout_name(l), (long long)(n * group), (long long)group,
                                      (long long)rows[r], (long long)h);
                if (!c)
                    continue;
                c->terms = 1;
                c->ip[ENG_HADAMARD_GROUP] = group;
                cf_in(c, 0, "x", type, ENG_USE_INPUT, l, CF_SHAPE(n * group, rows[r], h));
                cf_run(c);
            }
    cf_thin(s, 1);
    for (int64_t group = 32; group <= 128 && cf_wanted(s, ENG_OP_HADAMARD); group *= 2) {
        cf_case *c = cf_begin(s, ENG_OP_HADAMARD, "x=f32 n=128 group=%lld heads=6 split=kv_head", (long long)group);
        if (!c)
            continue;
        c->split = "kv_head";
        c->ip[ENG_HADAMARD_GROUP] = group;
        cf_axis(c, cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(128, 6, 3)), 1, "kv_head:3 *:2");
        cf_run(c);
    }
}
