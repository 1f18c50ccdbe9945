/*
 * In `exact` a row of a result is the same bits whatever the other rows of the pass, their number and the number of
 * threads: products with weights of every type, those with experts, attention over caches of several types, and rows
 * on their own.  For each variant of the plugin that the machine has, or those that are named.
 *
 * And weights in lanes or strips give the same bits by all variants that have those.
 *
 *     test-bits [--all] [VARIANT...]     --all: every number of columns from 1 to 600, not some
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "compute.h"

#define MOST 600    /* columns                                                        */
#define ROWS 21     /* of weights: more than a panel, not whole tiles                 */
#define ROWS_KEPT 40 /* of those that a device may keep side by side: not whole strips    */
#define ROWS_PLAIN 96 /* the same of types without blocks                                */
#define ROWS_TAKEN 700 /* of which each of four threads takes portions                   */
#define EXPERTS 6
#define USED 2
#define TOKENS 40   /* of products with experts                                       */
#define PROMPT 530  /* tokens of attention: products of K have many columns, not few  */
#define CELLS 1400
#define BEFORE 870  /* cells before the first token                                   */
#define HEADS 6
#define KV_HEADS 2
#define SOME 50     /* columns of what is emulated, unless it is alone or all are asked for   */

static bool all;

/* Row `i` of one result and row `j` of another, of n floats. */
static bool same_row(const float *a, int64_t i, const float *b, int64_t j, int64_t n)
{
    return a && b && memcmp(a + i * n, b + j * n, (size_t)n * sizeof *a) == 0;
}

/* -- products -------------------------------------------------------------------------- */

static bool decoded_only(uint32_t type)
{
    switch (type) {
    case ENG_TYPE_IQ1_S: case ENG_TYPE_IQ1_M: case ENG_TYPE_IQ2_XXS: case ENG_TYPE_IQ2_XS: case ENG_TYPE_IQ2_S:
    case ENG_TYPE_IQ3_XXS: case ENG_TYPE_IQ3_S: case ENG_TYPE_TQ1_0: case ENG_TYPE_TQ2_0: case ENG_TYPE_Q1_0:
    case ENG_TYPE_Q2_0: return true;
    default: return false;
    }
}

/* Bytes of which no two are the scale of a block that is not finite. */
static void *drawn(const eng_type_info *type, int64_t n, uint64_t seed)
{
    int64_t bytes = n / type->block * type->block_bytes;
    uint8_t *out = malloc((size_t)bytes);
    for (int64_t i = 0; out && i < bytes; i++)
        out[i] = (uint8_t)((int)((number(&seed) + 1) * 127) & 0xbb);
    return out;
}

static void *encoded(const device *d, uint32_t type, const int64_t *ne, uint64_t seed)
{
    if (decoded_only(type))
        return drawn(eng_type_get(type), ne[0] * (ne[1] ? ne[1] : 1) * (ne[2] ? ne[2] : 1) * (ne[3] ? ne[3] : 1), seed);
    return encode(d, type, ne, seed);
}

/* More than a panel, and not whole vectors or chains where the type lets it. */
static int64_t length_for(const eng_type_info *type)
{
    return 2048 + (type->block == 1 ? 43 : type->block);
}

/* Rows of weights, given as an input or as a model's weights. */
typedef struct matrix {
    uint32_t type;
    int64_t k, rows;
    bool weight;
} matrix;

static bool same_columns(const device *d, const matrix *m, const void *a, const float *x, const float *whole,
                         int64_t first, int64_t n)
{
    const int64_t k = m->k, rows = m->rows;
    operand in[2] = {{m->type, {k, rows}, a, m->weight}, {ENG_TYPE_F32, {k, n}, x + first * k, false}};
    operand o = {ENG_TYPE_F32, {rows, n}, NULL, false};
    float *part = compute(d, in, 2, o, build_product, NULL, 0);
    int64_t c = 0;
    while (part && c < n && same_row(part, c, whole, first + c, rows))
        c++;
    if (c < n)
        printf("# %s, %s, %d columns from %d on: column %d has other bits\n", d->name, eng_type_name(m->type), (int)n,
               (int)first, (int)c);
    free(part);
    return part && c == n;
}

/* Columns of which some elements are far larger than all others. */
static float *columns_with_outliers(int64_t k, uint64_t seed)
{
    float *x = numbers(k * MOST, seed);
    for (int64_t i = 3; x && i < k * MOST; i += 389)
        x[i] *= 3000;
    return x;
}

/* Weights whose numbers and factors are as large as `drawn` may have them, and columns without a sign, of which sums are as
 * large as they get. */
static void *large(const eng_type_info *type, int64_t n)
{
    const size_t bytes = (size_t)(n / type->block * type->block_bytes);
    void *out = malloc(bytes);
    return out ? memset(out, 0xbb, bytes) : NULL;
}

static float *large_columns(int64_t k, uint64_t seed)
{
    float *x = numbers(k * MOST, seed);
    for (int64_t i = 0; x && i < k * MOST; i++)
        x[i] = 0.875f + x[i] / 8;
    return x;
}

/* Of these weights and columns, which are given up. */
static bool same_products_of(const device *devices, int n_devices, const matrix m, void *a, float *x)
{
    const uint32_t type = m.type;
    const int64_t k = m.k, rows = m.rows;
    static const int some[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 16, 17, 24, 25, 26, 48, 100, 193, 385, 599, 600};
    operand in[2] = {{type, {k, rows}, a, m.weight}, {ENG_TYPE_F32, {k, MOST}, x, false}};
    operand o = {ENG_TYPE_F32, {rows, MOST}, NULL, false};
    float *whole = a && x ? compute(&devices[0], in, 2, o, build_product, NULL, 0) : NULL;
    bool good = whole != NULL;
    uint64_t seed = type;
    for (int i = 0; good && i < (all ? MOST : (int)(sizeof some / sizeof *some)); i++) {
        int64_t n = all ? i + 1 : some[i];
        for (int t = 0; t < n_devices; t++) {
            if (!all && t != i % n_devices && n != MOST)
                continue; /* a number of threads for each number of columns */
            if (!all && n > (type == ENG_TYPE_Q4_K ? 4 * SOME : SOME) && devices[t].emulated && !devices[0].emulated)
                continue; /* one type has as many columns as are cut */
            int64_t first = (int64_t)((double)(number(&seed) + 1) / 2 * (double)(MOST - n));
            good = good && same_columns(&devices[t], &m, a, x, whole, first, n);
        }
    }
    free(a);
    free(x);
    free(whole);
    return good;
}

static bool same_products(const device *devices, int n_devices, const matrix m)
{
    return same_products_of(devices, n_devices, m, encoded(&devices[0], m.type, (int64_t[4]){m.k, m.rows}, m.type + 1),
                            columns_with_outliers(m.k, 7 + m.type));
}

static void check_products(const device *devices, int n_devices, uint32_t type)
{
    const eng_type_info *info = eng_type_get(type);
    bool good = same_products(devices, n_devices, (matrix){type, length_for(info), ROWS, false});
    if (info->block == 1) /* there is another way for whole chains */
        good = same_products(devices, n_devices, (matrix){type, 2048 + 128, ROWS, false}) &&
               same_products(devices, n_devices, (matrix){type, 2048 + 130, ROWS_PLAIN, true}) && good;
    else
        good = same_products(devices, n_devices, (matrix){type, length_for(info), ROWS_KEPT, true}) && good;
    if (info->block == 256)
        good = same_products_of(devices, n_devices, (matrix){type, 512, ROWS_KEPT, true}, large(info, 512 * ROWS_KEPT),
                                large_columns(512, type)) && good;
    /* rows as short as a head, and so many that threads take them in portions */
    good = same_products(devices, n_devices, (matrix){type, info->block == 1 ? 96 : info->block, ROWS, false}) && good;
    good = same_products(devices, n_devices, (matrix){type, 256, ROWS_TAKEN, false}) && good;
    tap_check(good, "%s: mul_mat, %s", devices[0].name, info->name);
}

/* Tokens first .. first + n - 1; those that are not `mine` (-1: all) choose other experts than in `whole`. */
static bool same_tokens(const device *d, const matrix *m, const void *a, const float *x, const int32_t *ids,
                        const float *whole, int64_t first, int64_t n, int64_t mine)
{
    const int64_t k = m->k, rows = m->rows;
    int32_t chosen[TOKENS * USED];
    for (int64_t i = 0; i < n * USED; i++)
        chosen[i] = mine < 0 || i / USED == mine ? ids[first * USED + i] : (int32_t)(i % USED + (i % 3 == 0));
    operand in[3] = {{m->type, {k, rows, EXPERTS}, a, m->weight}, {ENG_TYPE_F32, {k, 1, n}, x + first * k, false},
                     {ENG_TYPE_I32, {USED, n}, chosen, false}};
    operand o = {ENG_TYPE_F32, {rows, USED, n}, NULL, false};
    float *part = compute(d, in, 3, o, build_experts, NULL, 0);
    bool good = part != NULL;
    for (int64_t t = 0; good && t < n; t++)
        if (mine < 0 || t == mine)
            good = same_row(part, t, whole, first + t, rows * USED);
    if (!good)
        printf("# %s, %s, %d tokens from %d on: other bits\n", d->name, eng_type_name(m->type), (int)n, (int)first);
    free(part);
    return good;
}

static void check_experts(const device *devices, int n_devices, const matrix m)
{
    static const int some[] = {1, 2, 3, 5, 8, 9, 31, TOKENS};
    const uint32_t type = m.type;
    const int64_t k = m.k;
    int32_t ids[TOKENS * USED];
    for (int i = 0; i < TOKENS; i++)
        for (int u = 0; u < USED; u++)
            ids[i * USED + u] = i % 4 ? (i * 5 + u * 2) % EXPERTS : 2 + u; /* two experts have many */
    void *a = encoded(&devices[0], type, (int64_t[4]){k, m.rows, EXPERTS}, 90 + type);
    float *x = numbers(k * TOKENS, 3 + type);
    operand in[3] = {{type, {k, m.rows, EXPERTS}, a, m.weight}, {ENG_TYPE_F32, {k, 1, TOKENS}, x, false},
                     {ENG_TYPE_I32, {USED, TOKENS}, ids, false}};
    operand o = {ENG_TYPE_F32, {m.rows, USED, TOKENS}, NULL, false};
    float *whole = a && x ? compute(&devices[0], in, 3, o, build_experts, NULL, 0) : NULL;
    bool good = whole != NULL;
    for (int i = 0; good && i < (int)(sizeof some / sizeof *some); i++)
        for (int t = 0; good && t < n_devices; t++)
            good = same_tokens(&devices[t], &m, a, x, ids, whole, (TOKENS - some[i]) / 2, some[i], -1) &&
                   same_tokens(&devices[t], &m, a, x, ids, whole, 0, TOKENS, (i * 11 + 1) % TOKENS);
    tap_check(good, "%s: mul_mat_id, %s%s", devices[0].name, eng_type_name(type), m.weight ? " of a model" : "");
    free(a);
    free(x);
    free(whole);
}

/* -- attention -------------------------------------------------------------------------- */

typedef struct seeing {
    const char *name;
    int64_t window;
    double softcap, max_bias;
    int64_t dim, kv_heads; /* of a head */
} seeing;

static eng_value build_attention(eng_graph *g, const eng_value *in, const void *what)
{
    const seeing *s = what;
    eng_attention_params p;
    eng_attention_defaults(&p);
    p.kv_param = 0;
    p.scale = 0.11;
    p.window = s->window;
    p.softcap = s->softcap;
    p.max_bias = s->max_bias;
    p.pos = in[3];
    return eng_attention(g, in[0], in[1], in[2], &p);
}

/* Tokens first .. first + n - 1, whose last cell is the last that is valid. */
static float *attend(const device *d, const operand *kv, const float *q, const seeing *s, int64_t first, int64_t n)
{
    int32_t pos[PROMPT];
    for (int64_t i = 0; i < n; i++)
        pos[i] = (int32_t)(BEFORE + first + i);
    operand in[4] = {{ENG_TYPE_F32, {s->dim, HEADS, n}, q + first * s->dim * HEADS, false}, kv[0], kv[1],
                     {ENG_TYPE_I32, {n}, pos, false}};
    return compute(d, in, 4, (operand){ENG_TYPE_F32, {s->dim, HEADS, n}, NULL, false}, build_attention, s,
                   BEFORE + first + n);
}

static void check_attention(const device *devices, int n_devices, uint32_t type_k, uint32_t type_v, const seeing *s)
{
    static const int some[] = {1, 2, 3, 5, 7, 8, 9, 17, 32, PROMPT};
    const int64_t ne[4] = {s->dim, CELLS, s->kv_heads, 0};
    void *k = encoded(&devices[0], type_k, ne, 5), *v = encoded(&devices[0], type_v, ne, 6);
    float *q = numbers(s->dim * HEADS * PROMPT, 4);
    operand kv[2] = {{type_k, {s->dim, CELLS, s->kv_heads}, k, false}, {type_v, {s->dim, CELLS, s->kv_heads}, v, false}};
    float *whole = k && v && q ? attend(&devices[0], kv, q, s, 0, PROMPT) : NULL;
    bool good = whole != NULL;
    for (int i = 0; good && i < (int)(sizeof some / sizeof *some); i++)
        for (int t = 0; good && t < n_devices; t++) {
            int64_t first = (i * 13 + 5) % (PROMPT - some[i] + 1);
            float *part = attend(&devices[t], kv, q, s, first, some[i]);
            for (int64_t c = 0; good && c < some[i]; c++)
                good = same_row(part, c, whole, first + c, s->dim * HEADS);
            if (!good)
                printf("# %s: %d tokens from %d on: other bits\n", devices[t].name, some[i], (int)first);
            free(part);
        }
    tap_check(good, "%s: attention%s, %s and %s", devices[0].name, s->name, eng_type_name(type_k),
              eng_type_name(type_v));
    free(k);
    free(v);
    free(q);
    free(whole);
}

/* -- rows --------------------------------------------------------------------------------- */

#define LENGTH 331

static eng_value build_rows(eng_graph *g, const eng_value *in, const void *what)
{
    (void)what;
    eng_value x = eng_rms_norm(g, in[0], in[1], 1e-5);
    x = eng_add(g, eng_unary(g, x, ENG_UNARY_SILU), in[0]);
    return eng_soft_max(g, eng_l2_norm(g, x, 1e-5), ENG_NO_VALUE, ENG_NO_VALUE, 3, 0);
}

static float *rows(const device *d, const float *x, const float *w, int64_t n)
{
    operand in[2] = {{ENG_TYPE_F32, {LENGTH, n}, x, false}, {ENG_TYPE_F32, {LENGTH}, w, false}};
    return compute(d, in, 2, (operand){ENG_TYPE_F32, {LENGTH, n}, NULL, false}, build_rows, NULL, 0);
}

static void check_rows(const device *devices, int n_devices)
{
    static const int some[] = {1, 2, 3, 17, 200, MOST};
    float *x = numbers(LENGTH * MOST, 21), *w = numbers(LENGTH, 22);
    float *whole = x && w ? rows(&devices[0], x, w, MOST) : NULL;
    bool good = whole != NULL;
    for (int i = 0; good && i < (int)(sizeof some / sizeof *some); i++)
        for (int t = 0; good && t < n_devices; t++) {
            int64_t first = (MOST - some[i]) / 2;
            float *part = rows(&devices[t], x + first * LENGTH, w, some[i]);
            for (int64_t r = 0; good && r < some[i]; r++)
                good = same_row(part, r, whole, first + r, LENGTH);
            free(part);
        }
    tap_check(good, "%s: rows on their own", devices[0].name);
    free(x);
    free(w);
    free(whole);
}

/* -- variants ------------------------------------------------------------------------------ */

/* `named`: also where its instructions are done in C, which takes minutes. */
static void check_variant(const char *simd, bool named)
{
    static const seeing plain = {"", 0, 0, 0, 96, KV_HEADS}, bounded = {" of a window with a softcap and ALiBi", 600, 20, 8, 96, KV_HEADS},
                        usual = {" of heads of 128", 0, 0, 0, 128, KV_HEADS}, small = {" of heads of 64", 0, 0, 0, 64, KV_HEADS},
                        grouped = {" of heads of 128, one of K", 0, 0, 0, 128, 1}, both = {" of a window, one head of K", 600, 20, 8, 96, 1};
    static const uint32_t experts[] = {ENG_TYPE_F16, ENG_TYPE_Q4_0, ENG_TYPE_Q4_K, ENG_TYPE_MXFP4};
    device d[4];
    int n = 0;
    while (n < 4 && open_device(&d[n], simd, n + 1))
        n++;
    if (n < 4)
        return;
    if (d[0].emulated && !named && !all) {
        tap_check(true, "%s # SKIP done in C: it is checked if it is named", d[0].name);
        for (int i = 0; i < n; i++)
            close_device(&d[i]);
        return;
    }
    for (uint32_t type = 0; type < 64; type++)
        if (eng_type_get(type) && type != ENG_TYPE_I32 && type != ENG_TYPE_I64)
            check_products(d, n, type);
    for (size_t i = 0; i < sizeof experts / sizeof *experts; i++) {
        const eng_type_info *info = eng_type_get(experts[i]);
        check_experts(d, n, (matrix){info->type, length_for(info), ROWS, false});
        check_experts(d, n, (matrix){info->type, length_for(info), info->block > 1 ? ROWS_KEPT : ROWS_PLAIN, true});
    }
    check_attention(d, n, ENG_TYPE_F16, ENG_TYPE_F16, &plain);
    check_attention(d, n, ENG_TYPE_Q8_0, ENG_TYPE_Q8_0, &plain);
    check_attention(d, n, ENG_TYPE_Q8_0, ENG_TYPE_Q5_1, &usual);
    check_attention(d, n, ENG_TYPE_Q4_1, ENG_TYPE_IQ4_NL, &usual);
    check_attention(d, n, ENG_TYPE_Q5_0, ENG_TYPE_Q4_0, &small);
    check_attention(d, n, ENG_TYPE_Q8_0, ENG_TYPE_Q4_0, &bounded);
    check_attention(d, n, ENG_TYPE_F32, ENG_TYPE_F32, &bounded);
    check_attention(d, n, ENG_TYPE_Q8_0, ENG_TYPE_Q8_0, &grouped);
    check_attention(d, n, ENG_TYPE_Q8_0, ENG_TYPE_Q4_0, &both);
    check_attention(d, n, ENG_TYPE_IQ4_NL, ENG_TYPE_Q5_0, &grouped);
    check_rows(d, n);
    for (int i = 0; i < n; i++)
        close_device(&d[i]);
}

/* Does the device keep a matrix of the type so?  Some types only where that pays (docs/cpu.md). */
static bool keeps_side_by_side(const device *d, uint32_t type)
{
    static const eng_reader reader = {.op = ENG_OP_MUL_MAT, .precisions = 1u << ENG_PRECISION_EXACT};
    const eng_store_tensor t = {.size = sizeof t, .type = type, .rank = 2, .use = ENG_USE_WEIGHT, .ne = {256, ROWS_PLAIN},
                                .name = "w", .layer = -1, .readers = &reader, .n_readers = 1};
    eng_layout_info info = {.size = sizeof info};
    eng_store *store = NULL;
    const bool good = eng_store_create(d->device, &t, 1, &store) >= 0 && eng_store_layout(store, 0, &info) >= 0;
    eng_store_destroy(store);
    return good && info.layout != 0;
}

/* Rows side by side are multiplied by other instructions in each of the variants, and to the same bits. */
static void check_side_by_side(const char *const *variants, int n_variants, const uint32_t *types, int n_types)
{
    device d[6];
    int n = 0;
    for (int v = 0; v < n_variants; v++)
        n += open_device(&d[n], variants[v], 1 + n);
    for (int i = 0; n > 0 && i < n_types; i++) {
        const eng_type_info *info = eng_type_get(types[i]);
        if (!keeps_side_by_side(&d[0], types[i])) {
            const bool patterns = strncmp(info->name, "iq", 2) == 0 && info->name[2] < '4'; /* are looked up */
            tap_check(patterns, "%s side by side # SKIP as in the file on this machine", info->name);
            continue;
        }
        const int64_t rows = info->block > 1 ? ROWS_KEPT : ROWS_PLAIN;
        bool good = true;
        for (int first = 0; first < n; first++) { /* which of them has which numbers of columns */
            if (all || !d[0].emulated)
                good = good && same_products(d, n, (matrix){types[i], length_for(info) + (info->block == 1), rows, true});
            const device next = d[0];
            memmove(d, d + 1, (size_t)(n - 1) * sizeof *d);
            d[n - 1] = next;
        }
        tap_check(good, "%s side by side on %d variants", info->name, n);
    }
    for (int i = 0; i < n; i++)
        close_device(&d[i]);
}

static void check_all_side_by_side(void)
{
    static const char *const variants[] = {"avx512", "avx2", "avx2vnni", "avx512vnni", "amx", "neondot", "neonmm"};
    static const uint32_t types[] = {ENG_TYPE_Q4_0, ENG_TYPE_Q4_1, ENG_TYPE_Q5_0, ENG_TYPE_Q5_1,
                                     ENG_TYPE_MXFP4, ENG_TYPE_NVFP4, ENG_TYPE_Q2_K, ENG_TYPE_Q3_K,
                                     ENG_TYPE_Q4_K, ENG_TYPE_Q5_K, ENG_TYPE_Q6_K, ENG_TYPE_TQ1_0,
                                     ENG_TYPE_TQ2_0, ENG_TYPE_Q1_0, ENG_TYPE_Q2_0};
    static const uint32_t large[] = {ENG_TYPE_Q8_0,    ENG_TYPE_IQ4_NL, ENG_TYPE_IQ4_XS, /* not of avx2 */
                                     ENG_TYPE_IQ2_XXS, ENG_TYPE_IQ2_XS, ENG_TYPE_IQ2_S,  ENG_TYPE_IQ3_XXS,
                                     ENG_TYPE_IQ3_S,   ENG_TYPE_IQ1_S,  ENG_TYPE_IQ1_M};
    static const uint32_t plain[] = {ENG_TYPE_F32, ENG_TYPE_F16, ENG_TYPE_BF16};
    check_side_by_side(variants, 4, plain, sizeof plain / sizeof *plain);
    check_side_by_side(variants + 1, 6, types, sizeof types / sizeof *types);
    check_side_by_side(variants + 2, 5, large, sizeof large / sizeof *large);
}

int main(int argc, char **argv)
{
    static const char *const variants[] = {"scalar", "avx2", "avx512", "avx512vnni", "amx", "neon", "neondot", "neonmm"};
    all = argc > 1 && strcmp(argv[1], "--all") == 0;
    const int first = all ? 2 : 1; /* name */
    eng_context *context = tap_begin();
    for (int i = first; context && i < argc; i++)
        check_variant(argv[i], true);
    for (size_t v = 0; context && first >= argc && v < sizeof variants / sizeof *variants; v++)
        check_variant(variants[v], false);
    if (context && first >= argc)
        check_all_side_by_side();
    return tap_end(context);
}
