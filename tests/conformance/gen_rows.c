/* Cases of get_rows and set_rows. */
#include "config.h"

#include "suite.h"
#include "../matrix.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const uint32_t all_types[] = {
    ENG_TYPE_F32,  ENG_TYPE_F16,  ENG_TYPE_BF16, ENG_TYPE_I32,    ENG_TYPE_Q4_0,  ENG_TYPE_Q4_1,
    ENG_TYPE_Q5_0, ENG_TYPE_Q5_1, ENG_TYPE_Q8_0, ENG_TYPE_IQ4_NL, ENG_TYPE_MXFP4, ENG_TYPE_NVFP4,
    ENG_TYPE_Q2_K, ENG_TYPE_Q3_K, ENG_TYPE_Q4_K, ENG_TYPE_Q5_K,   ENG_TYPE_Q6_K,  ENG_TYPE_IQ4_XS,
    ENG_TYPE_IQ2_XXS, ENG_TYPE_IQ2_XS, ENG_TYPE_IQ2_S, ENG_TYPE_IQ3_XXS, ENG_TYPE_IQ3_S, ENG_TYPE_IQ1_S,
    ENG_TYPE_IQ1_M, ENG_TYPE_TQ1_0, ENG_TYPE_TQ2_0, ENG_TYPE_Q1_0, ENG_TYPE_Q2_0,
};

#define BEYOND_I32 0x1p32 /* what this is added to is a row's number in the lower 32 bits, and none */

/* Indices into `rows` rows, with some that are skipped. */
static void indices(cf_case *c, cf_operand *ids, int64_t rows)
{
    for (int64_t i = 0; i < cf_elements(ids); i++) {
        double v = (double)cf_below(c, rows);
        switch (cf_below(c, 9)) {
        case 0: v = -1; break;
        case 1: v = cf_below(c, 2) ? (double)rows : ids->type == ENG_TYPE_I64 ? BEYOND_I32 + v : 2e9; break;
        default: break;
        }
        cf_set(ids, i, v);
    }
}

static void get(cf_suite *s, uint32_t type, uint32_t itype, cf_layout layout, int64_t n, int64_t v, int64_t i,
                int64_t p, int64_t q, const char *split)
{
    bool matrix = layout == CF_PLAIN && (ref_block(type) > 1 || i & 1) && p * q == 1;
    const int64_t group = ref_block(type) > 1 ? 8 : 32;
    v = matrix && v % 2 == 0 ? (v + group - 1) / group * group : v; /* what a device may keep side by side, or not */
    cf_case *c =
        cf_begin(s, ENG_OP_GET_ROWS, "a=%s/%s ids=%s n=%lld v=%lld i=%lld p=%lld q=%lld%s%s%s", ref_type_name(type),
                 cf_layout_name(layout), ref_type_name(itype), (long long)n, (long long)v, (long long)i, (long long)p,
                 (long long)q, matrix ? " matrix" : "", split ? " split=" : "", split ? split : "");

    if (!c)
        return;
    c->judge = ref_block(type) > 1 ? CF_NEAR : CF_EXACT;
    c->out_type = type == ENG_TYPE_I32 ? ENG_TYPE_I32 : ENG_TYPE_F32;
    c->split = split;
    cf_operand *a =
        cf_in(c, 0, "a", type, (type == ENG_TYPE_I32 ? ENG_USE_INPUT : ENG_USE_WEIGHT) | (matrix ? TEST_MATRIX : 0),
              layout, CF_SHAPE(n, v, p, q));
    for (int64_t k = 0; type == ENG_TYPE_I32 && k < cf_elements(a); k++)
        cf_set(a, k, (double)cf_below(c, 1 << 30));
    if (split) {
        cf_axis(c, a, 0, "ffn:%lld", (long long)n);
        cf_axis(c, a, 1, "vocab:%lld", (long long)v);
    }
    indices(c, cf_in(c, 1, "ids", itype, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(i, p, q)), v);
    cf_run(c);
}

static void cases_get(cf_suite *s)
{
    static const cf_layout layouts[] = {CF_PLAIN, CF_SWAP12, CF_OFFSET, CF_INNER};
    int x = 0;

    cf_thin(s, 2);
    for (size_t t = 0; t < COUNT(all_types); t++)
        for (int k = 0; k < 4; k++, x++) {
            int64_t block = ref_block(all_types[t]), n = block > 1 ? block * (1 + x % 3) : x % 2 ? 31 + x : 256;
            get(s, all_types[t], x % 3 || (t && s->o.quick) ? ENG_TYPE_I32 : ENG_TYPE_I64, layouts[k], n, 40 + x,
                x % 5 ? x % 13 + 1 : 1, k == 1 ? 3 : 1, x % 4 == 2 ? 2 : 1, NULL);
        }
    cf_thin(s, 1);
    get(s, ENG_TYPE_F16, ENG_TYPE_I32, CF_PLAIN, 300, 20000, 700, 1, 1, NULL);
    get(s, ENG_TYPE_Q4_0, ENG_TYPE_I32, CF_PLAIN, 32, 1, 1, 1, 1, NULL);
    get(s, ENG_TYPE_F32, ENG_TYPE_I32, CF_PLAIN, 16, 5, 0, 1, 1, NULL);
    get(s, ENG_TYPE_F32, ENG_TYPE_I32, CF_PLAIN, 70, 1003, 17, 1, 1, "vocab");
    get(s, ENG_TYPE_Q8_0, ENG_TYPE_I32, CF_PLAIN, 96, 101, 5, 1, 1, "vocab");
    get(s, ENG_TYPE_Q4_K, ENG_TYPE_I32, CF_PLAIN, 256, 33, 4, 1, 1, "vocab");
    get(s, ENG_TYPE_Q4_0, ENG_TYPE_I32, CF_PLAIN, 160, 33, 4, 1, 1, "ffn");
}

/* Indices that are all different, some skipped. */
static void distinct(cf_case *c, cf_operand *ids, int64_t rows)
{
    int64_t n = ids->ne[0];

    for (int64_t group = 0; group < cf_elements(ids) / (n ? n : 1); group++) {
        int64_t at = cf_below(c, rows), step = 1 + cf_below(c, rows);
        while (rows > 1 && (rows % step == 0 ? step > 1 : true)) { /* a step prime to rows visits each once */
            int64_t a = rows, b = step;
            while (b) {
                int64_t r = a % b;
                a = b;
                b = r;
            }
            if (a == 1)
                break;
            step = step % rows + 1;
        }
        for (int64_t i = 0; i < n; i++, at = (at + step) % rows) {
            double v = i < rows ? (double)at : -1;
            if (cf_below(c, 6) == 0)
                v = cf_below(c, 2) ? -1 : ids->type == ENG_TYPE_I64 ? BEYOND_I32 + v : (double)(rows + cf_below(c, 100));
            cf_set(ids, group * n + i, v);
        }
    }
}

struct set {
    uint32_t type, from, itype;
    cf_layout la, lb;
    int64_t n, v, i, p, q;
    bool shared_ids;
    int64_t rotate;
    const char *split;
};

static void set(cf_suite *s, struct set x)
{
    cf_case *c =
        cf_begin(s, ENG_OP_SET_ROWS, "a=%s/%s b=%s/%s ids=%s%s n=%lld v=%lld i=%lld p=%lld q=%lld hadamard=%lld%s%s",
                 ref_type_name(x.type), cf_layout_name(x.la), ref_type_name(x.from), cf_layout_name(x.lb),
                 ref_type_name(x.itype), x.shared_ids ? " shared" : "", (long long)x.n, (long long)x.v, (long long)x.i,
                 (long long)x.p, (long long)x.q, (long long)x.rotate, x.split ? " split=" : "", x.split ? x.split : "");

    if (!c)
        return;
    c->judge = CF_ENCODED;
    c->split = x.split;
    c->optional = ref_block(x.type) == 256 || x.type == ENG_TYPE_NVFP4;
    cf_operand *a = cf_in(c, 0, "a", x.type, ENG_USE_CACHE, x.la, CF_SHAPE(x.n, x.v, x.p, x.q));
    cf_operand *b = cf_in(c, 1, "b", x.from, ENG_USE_INPUT, x.rotate ? CF_PLAIN : x.lb, CF_SHAPE(x.n, x.i, x.p, x.q));
    a->inout = true;
    if (x.rotate)
        cf_hadamard(b, x.rotate);
    c->inexact = x.rotate != 0;
    if (x.split) {
        cf_axis(c, a, 1, "cells:%lld", (long long)x.v);
        cf_axis(c, a, 2, "kv_head:%lld", (long long)x.p);
        cf_axis(c, b, 2, "kv_head:%lld", (long long)x.p);
    }
    if (x.shared_ids)
        distinct(c, cf_in(c, 2, "ids", x.itype, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(x.i)), x.v);
    else
        distinct(c, cf_in(c, 2, "ids", x.itype, ENG_USE_INPUT, CF_PLAIN, CF_SHAPE(x.i, x.p, x.q)), x.v);
    cf_run(c);
}

static void cases_set(cf_suite *s)
{
    static const uint32_t from[] = {ENG_TYPE_F32, ENG_TYPE_F16, ENG_TYPE_BF16};
    static const cf_layout layouts[] = {CF_PLAIN, CF_SWAP12, CF_OFFSET, CF_INNER};
    static const uint32_t cache[] = {ENG_TYPE_Q8_0, ENG_TYPE_Q4_0,   ENG_TYPE_Q4_1, ENG_TYPE_Q5_0,
                                     ENG_TYPE_Q5_1, ENG_TYPE_IQ4_NL, ENG_TYPE_F16};
    int x = 0;

    cf_thin(s, 4);
    for (size_t t = 0; t < COUNT(all_types); t++)
        for (int k = 0; k < 6 && all_types[t] != ENG_TYPE_I32 && !ref_read_only(all_types[t]); k++, x++) {
            int64_t block = ref_block(all_types[t]), n = block > 1 ? block * (1 + x % 3) : x % 3 ? 33 + x % 40 : 1;
            set(s, (struct set){all_types[t], from[t > 1 && s->o.quick ? 0 : k % 3],
                                x % 4 || (t && s->o.quick) ? ENG_TYPE_I32 : ENG_TYPE_I64, layouts[(k / 2) % 4],
                                layouts[x % 4], n, 11 + x % 30, 1 + x % 9, 1 + x % 3, x % 4 == 1 ? 2 : 1, (x & 1) != 0,
                                0, NULL});
        }
    cf_thin(s, 5);
    for (size_t t = 0; t < COUNT(cache); t++)
        for (int64_t group = 32; group <= 256; group *= 2)
            set(s, (struct set){cache[t], ENG_TYPE_F32, ENG_TYPE_I32, CF_PLAIN, CF_PLAIN, 256, 20, 7, 2, 1, true, group,
                                NULL});
    cf_thin(s, 1);
    for (size_t t = 0; t < 3; t++) {
        set(s, (struct set){cache[t], ENG_TYPE_F32, ENG_TYPE_I32, CF_PLAIN, CF_PLAIN, 64, 37, 5, 5, 1, true, 0,
                            "kv_head"});
        set(s,
            (struct set){cache[t], ENG_TYPE_F32, ENG_TYPE_I32, CF_PLAIN, CF_PLAIN, 64, 37, 9, 2, 1, true, 0, "cells"});
    }
    set(s, (struct set){ENG_TYPE_F32, ENG_TYPE_F32, ENG_TYPE_I32, CF_PLAIN, CF_PLAIN, 16, 9, 0, 1, 1, true, 0, NULL});
}

void cf_cases_rows(cf_suite *s)
{
    if (cf_wanted(s, ENG_OP_GET_ROWS))
        cases_get(s);
    if (cf_wanted(s, ENG_OP_SET_ROWS))
        cases_set(s);
}
