/* Cases of quantize, dequantize, cpy and store. */
#include "config.h"

#include "suite.h"

#include <float.h>
#include <math.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const uint32_t blocks[] = {ENG_TYPE_Q4_0,   ENG_TYPE_Q4_1,  ENG_TYPE_Q5_0,  ENG_TYPE_Q5_1,  ENG_TYPE_Q8_0,
                                  ENG_TYPE_IQ4_NL, ENG_TYPE_MXFP4, ENG_TYPE_NVFP4, ENG_TYPE_Q2_K,  ENG_TYPE_Q3_K,
                                  ENG_TYPE_Q4_K,   ENG_TYPE_Q5_K,  ENG_TYPE_Q6_K,  ENG_TYPE_IQ4_XS};
/* Those that are only decoded. */
static const uint32_t read_only[] = {ENG_TYPE_IQ2_XXS, ENG_TYPE_IQ2_XS, ENG_TYPE_IQ2_S, ENG_TYPE_IQ3_XXS,
                                     ENG_TYPE_IQ3_S,   ENG_TYPE_IQ1_S,  ENG_TYPE_IQ1_M, ENG_TYPE_TQ1_0,
                                     ENG_TYPE_TQ2_0,   ENG_TYPE_Q1_0,   ENG_TYPE_Q2_0};
static const uint32_t plain[] = {ENG_TYPE_F32, ENG_TYPE_F16, ENG_TYPE_BF16};
static const cf_layout layouts[] = {CF_PLAIN, CF_SWAP12, CF_OFFSET, CF_INNER};

/* Encoders that only the cpu plugin must have. */
static bool rare(uint32_t type, bool search)
{
    return type == ENG_TYPE_NVFP4 || ref_block(type) == 256 || (type == ENG_TYPE_IQ4_NL && search);
}

/* Blocks of odd values: what encoders stumble over. */
static void corners(cf_case *c, cf_operand *x)
{
    static const double odd[] = {0,    -0.0,  1e-30, -1e-38, 1e-45,    3e38,      -3e38, 8.4e6,
                                 -9e6, 65504, 70000, -1e5,   INFINITY, -INFINITY, NAN,   1,
                                 -1,   0.5,   6,     448,    2688,     3000,      1e-7,  5.96e-8};
    int64_t n = cf_elements(x);

    for (int64_t i = 0; i < n; i++) {
        int64_t kind = (i / 32) % 12;
        double v = cf_uniform(c, -1, 1);
        switch (kind) {
        case 0: v = 0; break;
        case 1: v *= 1e-38; break;
        case 2: v *= 1e-41; break;
        case 3: v *= 2e6; break;                             /* around the largest half as a scale */
        case 4: v *= 3e38; break;
        case 5: v = cf_below(c, 8) ? v : NAN; break;
        case 6: v = cf_below(c, 8) ? v : copysign(INFINITY, v); break;
        case 7: v = 0.37; break;                             /* all equal */
        case 8: v = i % 32 == 5 ? 1e9 : v; break;
        case 9: v = (double)(cf_below(c, 31) - 15) / 2; break; /* ties */
        case 10: v = i % 32 == 31 ? -2 : 0; break;
        default: v = odd[cf_below(c, (int64_t)COUNT(odd))]; break;
        }
        cf_set(x, i, v);
    }
}

static void encode(cf_suite *s, uint32_t op, uint32_t from, uint32_t to, bool search, bool odd, cf_layout layout,
                   int64_t n, int64_t rows)
{
    cf_case *c =
        cf_begin(s, op, "x=%s/%s to=%s%s%s n=%lld rows=%lld", ref_type_name(from), cf_layout_name(layout),
                 ref_type_name(to), search ? " search" : "", odd ? " corners" : "", (long long)n, (long long)rows);

    if (!c)
        return;
    c->judge = CF_ENCODED;
    c->out_type = to;
    c->search = search;
    c->corners = odd;
    c->optional = rare(to, search);
    c->ip[ENG_CPY_TYPE] = to;
    c->ip[ENG_CPY_SEARCH] = search;
    cf_operand *x = cf_in(c, 0, "x", from, ENG_USE_INPUT, layout, CF_SHAPE(n, rows, 2));
    if (odd)
        corners(c, x);
    cf_run(c);
}

static void cases_quantize(cf_suite *s)
{
    int x = 0;

    cf_thin(s, 4);
    for (size_t t = 0; t < COUNT(blocks); t++)
        for (int k = 0; k < 3; k++, x++) {
            int64_t b = ref_block(blocks[t]);
            encode(s, ENG_OP_QUANTIZE, plain[k], blocks[t], false, false, layouts[x % 4], b * (1 + x % 5), 1 + x % 7);
        }
    cf_thin(s, 1);
    for (size_t t = 0; t < COUNT(blocks); t++) {
        encode(s, ENG_OP_QUANTIZE, ENG_TYPE_F32, blocks[t], false, true, CF_PLAIN, 3072, 2);
        cf_thin(s, 4);
        encode(s, ENG_OP_QUANTIZE, ENG_TYPE_F16, blocks[t], false, true, CF_PLAIN, 768, 1);
        cf_thin(s, 1);
        encode(s, ENG_OP_QUANTIZE, ENG_TYPE_F32, blocks[t], false, false, CF_PLAIN, 512, 40);
    }
    encode(s, ENG_OP_QUANTIZE, ENG_TYPE_F32, ENG_TYPE_IQ4_NL, true, false, CF_PLAIN, 512, 9);
    encode(s, ENG_OP_QUANTIZE, ENG_TYPE_F32, ENG_TYPE_Q4_0, true, false, CF_PLAIN, 512, 9);
    encode(s, ENG_OP_QUANTIZE, ENG_TYPE_F32, ENG_TYPE_F16, false, true, CF_PLAIN, 771, 3);
    encode(s, ENG_OP_QUANTIZE, ENG_TYPE_F32, ENG_TYPE_BF16, false, true, CF_PLAIN, 771, 3);
    encode(s, ENG_OP_QUANTIZE, ENG_TYPE_F16, ENG_TYPE_BF16, false, false, CF_INNER, 33, 5);
}

static void decode(cf_suite *s, uint32_t op, uint32_t from, uint32_t to, cf_layout layout, int64_t n, int64_t rows)
{
    cf_case *c = cf_begin(s, op, "x=%s/%s to=%s n=%lld rows=%lld", ref_type_name(from), cf_layout_name(layout),
                          ref_type_name(to), (long long)n, (long long)rows);

    if (!c)
        return;
    c->judge = ref_block(from) == 1 ? CF_ENCODED : CF_NEAR; /* between plain types: one rounding, to nearest */
    c->out_type = to;
    c->ip[ENG_CPY_TYPE] = to;
    cf_in(c, 0, "x", from, ENG_USE_INPUT, layout, CF_SHAPE(n, rows, 2));
    cf_run(c);
}

static void cases_dequantize(cf_suite *s)
{
    int x = 0;

    decode(s, ENG_OP_DEQUANTIZE, ENG_TYPE_Q4_0, ENG_TYPE_F32, CF_PLAIN, 4128, 3); /* long rows */
    decode(s, ENG_OP_DEQUANTIZE, ENG_TYPE_Q4_K, ENG_TYPE_F32, CF_PLAIN, 4352, 2);
    for (size_t t = 0; t < COUNT(blocks); t++)
        for (int k = 0; k < 3; k++, x++) {
            cf_thin(s, k ? 12 : 1);
            decode(s, ENG_OP_DEQUANTIZE, blocks[t], plain[k], layouts[x % 4], ref_block(blocks[t]) * (1 + x % 4),
                   1 + x % 9);
        }
    for (size_t t = 0; t < COUNT(read_only); t++)
        for (int k = 0; k < 3; k++, x++) {
            cf_thin(s, k ? 12 : 1);
            decode(s, ENG_OP_DEQUANTIZE, read_only[t], plain[k], layouts[x % 4], 256 * (1 + x % 4), 1 + x % 9);
        }
    for (int i = 0; i < 9; i++)
        decode(s, ENG_OP_DEQUANTIZE, plain[i / 3], plain[i % 3], layouts[i % 4], 33 + i, 4);
}

static void copy(cf_suite *s, uint32_t from, uint32_t to, cf_layout layout, int64_t n, int64_t rows)
{
    cf_case *c = cf_begin(s, ENG_OP_CPY, "x=%s/%s to=%s n=%lld rows=%lld", ref_type_name(from), cf_layout_name(layout),
                          ref_type_name(to), (long long)n, (long long)rows);

    if (!c)
        return;
    bool integer = from == ENG_TYPE_I32 || from == ENG_TYPE_I64;
    c->judge = from == to || integer || to == ENG_TYPE_I32 || to == ENG_TYPE_I64 ? CF_EXACT
               : ref_block(from) > 1 && ref_block(to) == 1                        ? CF_NEAR
                                                                                  : CF_ENCODED;
    c->corners = ref_block(from) > 1 && ref_block(to) > 1; /* values already on a grid: no bound on the row */
    c->out_type = to;
    c->ip[ENG_CPY_TYPE] = to;
    c->optional = from != to && rare(to, false);
    cf_operand *x = cf_in(c, 0, "x", from, ENG_USE_INPUT, layout, CF_SHAPE(n, rows, 3));
    bool whole = to == ENG_TYPE_I32 || to == ENG_TYPE_I64;
    for (int64_t i = 0; (integer || whole) && i < cf_elements(x); i++) /* towards zero: the oracle's values are whole */
        cf_set(x, i, (double)(cf_below(c, 1 << 24) - (1 << 23)));
    cf_run(c);
}

/* As far as integers of 64 bits go; where they end in a float is where they end. */
static void far(cf_suite *s)
{
    static const double ends[] = {9.21e18, -9.21e18, 0x1.fffffep62, -0x1.fffffep62, -0x1p63, 0x1p62};
    cf_case *c = cf_begin(s, ENG_OP_CPY, "x=f32 to=i64, the largest");

    if (!c)
        return;
    c->judge = CF_EXACT;
    c->out_type = ENG_TYPE_I64;
    c->ip[ENG_CPY_TYPE] = ENG_TYPE_I64;
    cf_operand *x = cf_in(c, 0, "x", ENG_TYPE_F32, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(36));
    for (int64_t i = 0; i < cf_elements(x); i++)
        cf_set(x, i, ends[i % (int64_t)COUNT(ends)]);
    cf_run(c);
}

static void cases_cpy(cf_suite *s)
{
    static const uint32_t pairs[][2] = {
        {ENG_TYPE_I32, ENG_TYPE_I64},  {ENG_TYPE_I64, ENG_TYPE_I32},   {ENG_TYPE_I32, ENG_TYPE_F32},
        {ENG_TYPE_F32, ENG_TYPE_I32},  {ENG_TYPE_I64, ENG_TYPE_F32},   {ENG_TYPE_F32, ENG_TYPE_I64},
        {ENG_TYPE_I32, ENG_TYPE_I32},  {ENG_TYPE_I64, ENG_TYPE_I64},   {ENG_TYPE_F32, ENG_TYPE_F32},
        {ENG_TYPE_F16, ENG_TYPE_F16},  {ENG_TYPE_BF16, ENG_TYPE_BF16}, {ENG_TYPE_F32, ENG_TYPE_F16},
        {ENG_TYPE_F16, ENG_TYPE_F32},  {ENG_TYPE_BF16, ENG_TYPE_F32},  {ENG_TYPE_F32, ENG_TYPE_BF16},
        {ENG_TYPE_F16, ENG_TYPE_BF16},
    };
    int x = 0;

    cf_thin(s, 2);
    for (size_t i = 0; i < COUNT(pairs); i++)
        for (int l = 0; l < 5; l++, x++)
            copy(s, pairs[i][0], pairs[i][1], (cf_layout)l, x % 3 ? 29 + x % 7 : 1, x % 5 ? x % 11 + 1 : 1);
    copy(s, ENG_TYPE_F32, ENG_TYPE_F16, CF_PLAIN, 2304, 2); /* long rows */
    copy(s, ENG_TYPE_F16, ENG_TYPE_F32, CF_PLAIN, 2304, 2);
    copy(s, ENG_TYPE_BF16, ENG_TYPE_F32, CF_PLAIN, 2306, 2);
    copy(s, ENG_TYPE_F32, ENG_TYPE_BF16, CF_SWAP12, 2305, 2);
    cf_thin(s, 1);
    copy(s, ENG_TYPE_I64, ENG_TYPE_I64, CF_PLAIN, 2307, 2);
    copy(s, ENG_TYPE_I64, ENG_TYPE_I32, CF_SWAP12, 515, 2);
    far(s);
    cf_thin(s, 4);
    for (size_t i = 0; i < COUNT(blocks); i++) {
        for (int l = 0; l < 4; l++)
            copy(s, blocks[i], blocks[i], layouts[l], 2 * ref_block(blocks[i]), 3);
        cf_thin(s, 12);
        for (size_t j = 0; j < COUNT(blocks); j++)
            if (i != j)
                copy(s, blocks[i], blocks[j], layouts[(i + j) % 4], 512, 2);
        cf_thin(s, 4);
        copy(s, ENG_TYPE_F32, blocks[i], (i & 1) ? CF_SWAP01 : CF_SWAP12, 256, 5);
        copy(s, blocks[i], ENG_TYPE_F16, CF_SWAP12, 256, 5);
    }
    for (size_t i = 0; i < COUNT(read_only); i++) {
        copy(s, read_only[i], read_only[i], layouts[i % 4], 512, 3);
        copy(s, read_only[i], ENG_TYPE_F16, CF_SWAP12, 256, 5);
        copy(s, read_only[i], ENG_TYPE_Q8_0, layouts[i % 4], 512, 2);
    }
}

static void cases_store(cf_suite *s)
{
    static const uint32_t pairs[][2] = {
        {ENG_TYPE_F32, ENG_TYPE_F32},   {ENG_TYPE_F32, ENG_TYPE_F16},   {ENG_TYPE_F32, ENG_TYPE_BF16},
        {ENG_TYPE_F16, ENG_TYPE_F32},   {ENG_TYPE_F32, ENG_TYPE_Q8_0},  {ENG_TYPE_F32, ENG_TYPE_Q4_1},
        {ENG_TYPE_Q8_0, ENG_TYPE_Q8_0}, {ENG_TYPE_Q4_0, ENG_TYPE_F32},  {ENG_TYPE_I32, ENG_TYPE_I32},
        {ENG_TYPE_F16, ENG_TYPE_Q5_0},  {ENG_TYPE_Q4_K, ENG_TYPE_Q4_K}, {ENG_TYPE_F16, ENG_TYPE_F16},
        {ENG_TYPE_F32, ENG_TYPE_Q4_K},
    };

    cf_thin(s, 2);
    for (size_t i = 0; i < COUNT(pairs); i++)
        for (int l = 0; l < 5; l++) {
            uint32_t from = pairs[i][0], to = pairs[i][1];
            int64_t n = ref_block(from) > 1 || ref_block(to) > 1 ? 256 : 37;
            if (l == CF_SWAP01 && ref_block(to) > 1)
                continue;
            cf_case *c = cf_begin(s, ENG_OP_STORE, "dst=%s/%s x=%s n=%lld", ref_type_name(to),
                                  cf_layout_name((cf_layout)l), ref_type_name(from), (long long)n);
            if (!c)
                continue;
            c->judge = from == to ? CF_EXACT : ref_block(from) > 1 ? CF_NEAR : CF_ENCODED;
            c->optional = from != to && rare(to, false);
            cf_in(c, 0, "dst", to, i & 1 ? ENG_USE_STATE : ENG_USE_CACHE, (cf_layout)l, CF_SHAPE(n, 5, 3))->inout =
                true;
            cf_operand *x = cf_in(c, 1, "x", from, ENG_USE_INPUT, layouts[i % 4], CF_SHAPE(n, 5, 3));
            for (int64_t k = 0; from == ENG_TYPE_I32 && k < cf_elements(x); k++)
                cf_set(x, k, (double)cf_below(c, 1000));
            cf_run(c);
        }
}

/* Rows of a tensor to others of the same one, up and down, as a cache is shifted: all are read before they are written. */
static void shifts(cf_suite *s)
{
    static const uint32_t types[] = {ENG_TYPE_F32, ENG_TYPE_F16, ENG_TYPE_Q8_0};

    for (int x = 0; x < 6; x++) {
        const uint32_t type = types[x % 3];
        const int64_t by = x < 3 ? 1 : 7, rows = x % 2 ? 40 : 2000;
        cf_case *c = cf_begin(s, ENG_OP_STORE, "dst and x overlap, %s, %lld rows %s by %lld", ref_type_name(type),
                              (long long)rows, x % 2 ? "up" : "down", (long long)by);
        if (!c)
            continue;
        c->judge = CF_EXACT;
        cf_operand *dst = cf_in(c, 0, "dst", type, ENG_USE_CACHE, CF_PLAIN, CF_SHAPE(64, rows, 2)),
                   *from = cf_alias(c, 1, "x", 0);
        dst->inout = true;
        cf_slice(dst, 1, x % 2 ? 0 : by, rows - by);
        cf_slice(from, 1, x % 2 ? by : 0, rows - by);
        cf_run(c);
    }
}

void cf_cases_convert(cf_suite *s)
{
    if (cf_wanted(s, ENG_OP_QUANTIZE))
        cases_quantize(s);
    if (cf_wanted(s, ENG_OP_DEQUANTIZE))
        cases_dequantize(s);
    if (cf_wanted(s, ENG_OP_CPY))
        cases_cpy(s);
    if (cf_wanted(s, ENG_OP_STORE)) {
        cases_store(s);
        cf_thin(s, 1);
        shifts(s);
    }
}
