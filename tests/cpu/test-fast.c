/*
 * Products in precision fast, in each variant of the plugin that the machine has, and by dot products of bytes on
 * opencl:0, the processor's and in C, of four and of two, and of bf16: as near to exact ones as rounded columns are, whatever the number of columns; and a
 * column with a value that is no number gives no numbers, the others do. How near they may be at worst is for the
 * conformance suite.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "compute.h"
#include "../tiles.h"

#define ROWS 40       /* of weights: not whole strips                   */
#define ROWS_PLAIN 96 /* of types without blocks: they are kept side by side */
#define MOST 50       /* columns                                        */

/* Weights, given as an input or as a model's. */
typedef struct matrix {
    uint32_t type;
    int64_t k, rows;
    const void *data;
    bool weight;
} matrix;

/* Columns that are not finite: the first of several has an infinity, the middle one a NaN behind all else. */
static bool is_spoilt(int64_t c, int64_t n)
{
    return n > 2 && (c == 0 || c == n / 2);
}

static float *columns(int64_t k, int64_t n, uint32_t type)
{
    float *x = numbers(k * n, 11 + type);
    for (int64_t c = 0; x && c < n; c++)
        if (is_spoilt(c, n))
            x[c ? c * k + k - 1 : 3] = c ? NAN : INFINITY;
    return x;
}

/* The error of a column, as a share of the column's length. */
static double distance(const float *fast, const float *exact, int64_t rows)
{
    double difference = 0, length = 0;
    for (int64_t i = 0; i < rows; i++) {
        difference += pow((double)fast[i] - (double)exact[i], 2);
        length += pow((double)exact[i], 2);
    }
    return sqrt(difference / length);
}

static bool good_column(const float *fast, const float *exact, int64_t rows, uint32_t type, bool spoilt)
{
    if (!spoilt) /* NaN fails; a value of 40 in a block makes steps of 0.3, and bf16 has steps of 2^-8 of a value */
        return distance(fast, exact, rows) < (type == ENG_TYPE_BF16 ? 0x1p-6 : 0x1p-3);
    for (int64_t i = 0; i < rows; i++)
        if (isfinite(fast[i]))
            return false;
    return true;
}

static bool good_products(const device *d, const matrix *m, int64_t n)
{
    static const uint32_t exact = ENG_PRECISION_EXACT, fast = ENG_PRECISION_FAST;
    const int64_t rows = m->rows;
    float *x = columns(m->k, n, m->type);
    operand in[2] = {{m->type, {m->k, rows}, m->data, m->weight}, {ENG_TYPE_F32, {m->k, n}, x, false}};
    operand o = {ENG_TYPE_F32, {rows, n}, NULL, false};
    float *want = x ? compute(d, in, 2, o, build_product, &exact, 0) : NULL;
    float *got = want ? compute(d, in, 2, o, build_product, &fast, 0) : NULL;
    bool good = got != NULL;
    /* products of small matrices of bf16 meet weights that lie in strips, as those of whole words do */
    const bool pairs = strncmp(d->name, "neonmm", 6) == 0 && m->type == ENG_TYPE_BF16 && m->weight && m->k % 2 == 0 && n > 1;
    if (good && (pairs || n >= (m->weight ? d->weights_from : d->rounds_from)) && !memcmp(got, want, (size_t)(n * rows) * sizeof *got)) {
        printf("# %s, %s, %d columns: fast is exact\n", d->name, eng_type_name(m->type), (int)n);
        good = false;
    }
    for (int64_t c = 0; good && c < n; c++)
        if (!good_column(got + c * rows, want + c * rows, rows, m->type, is_spoilt(c, n))) {
            printf("# %s, %s, k = %d, %d columns: column %d is off by %g of its length\n", d->name, eng_type_name(m->type),
                   (int)m->k, (int)n, (int)c, distance(got + c * rows, want + c * rows, rows));
            good = false;
        }
    free(x);
    free(want);
    free(got);
    return good;
}

/* k: whole and broken chunks and panels, as far as the type's blocks let it. */
static void check_type(const device *d, uint32_t type)
{
    static const int some[] = {1, 2, 3, 7, 12, 13, 25, 40, MOST};
    const eng_type_info *info = eng_type_get(type);
    const int64_t lengths[] = {info->block == 1 ? 1034 : info->block, info->block == 1   ? 1031
                                                                       : info->block < 256 ? 1024 + 7 * info->block
                                                                                           : 1280};
    const int64_t rows = info->block == 1 ? ROWS_PLAIN : ROWS;
    bool good = true;
    for (int j = 0; good && j < 2; j++) {
        const int64_t k = lengths[j];
        operand in = {ENG_TYPE_F32, {k, rows}, NULL, false}, out = {type, {k, rows}, NULL, false};
        float *values = numbers(k * rows, type);
        in.data = values;
        void *a = values ? compute(d, &in, 1, out, build_encode, &type, 0) : NULL;
        good = a != NULL;
        for (size_t i = 0; good && i < sizeof some / sizeof *some; i++)
            good = good_products(d, &(matrix){type, k, rows, a, false}, some[i]) &&
                   good_products(d, &(matrix){type, k, rows, a, true}, some[i]);
        free(values);
        free(a);
    }
    tap_check(good, "%s: %s", d->name, info->name);
}

int main(void)
{
    static const char *const variants[] = {"scalar", "avx2", "avx2vnni", "avx512", "avx512vnni", "amx", "neon", "neondot", "neonmm"};
    static const uint32_t types[] = {ENG_TYPE_BF16, ENG_TYPE_Q4_0, ENG_TYPE_Q4_1, ENG_TYPE_Q5_0, ENG_TYPE_Q5_1,
                                     ENG_TYPE_Q8_0, ENG_TYPE_IQ4_NL, ENG_TYPE_MXFP4, ENG_TYPE_NVFP4, ENG_TYPE_IQ4_XS,
                                     ENG_TYPE_Q2_K, ENG_TYPE_Q3_K, ENG_TYPE_Q4_K, ENG_TYPE_Q5_K, ENG_TYPE_Q6_K};
    static const uint32_t of_bytes[] = {ENG_TYPE_Q4_0, ENG_TYPE_Q5_1, ENG_TYPE_Q6_K, ENG_TYPE_Q2_K}; /* scales, least values */
    eng_context *context = tap_begin();
    for (size_t v = 0; context && v < sizeof variants / sizeof *variants; v++) {
        device d;
        if (!open_device(&d, variants[v], 2))
            continue;
        for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
            const long before = tiles_emulated();
            check_type(&d, types[i]);
            if (d.emulated)
                tap_check(tiles_emulated() > before && tiles_in_use() == 0, "%s: %s by tiles, which are given back", d.name,
                          eng_type_name(types[i]));
        }
        close_device(&d);
    }
    static const struct unit {
        const char *option, *value;
        int64_t rounds_from, weights_from; /* the processor's instructions are not everywhere */
        const uint32_t *types;
        size_t n;
    } units[] = {
        {"opencl.dot4", "auto", INT64_MAX, INT64_MAX, of_bytes, sizeof of_bytes / sizeof *of_bytes},
        {"opencl.dot4", "in-c", 4, INT64_MAX, of_bytes, sizeof of_bytes / sizeof *of_bytes},
        {"opencl.dot2", "in-c", INT64_MAX, 1, of_bytes, sizeof of_bytes / sizeof *of_bytes},
        {"opencl.bf16", "auto", INT64_MAX, INT64_MAX, types, 1},
        {"opencl.bf16", "in-c", 9, 9, types, 1}, /* of `types` bf16 */
        {"opencl.tiles", "auto", INT64_MAX, INT64_MAX, types, 1},
        {"opencl.tiles", "in-c", 17, 17, types, 1},
    };
    for (const struct unit *u = units; context && u < units + sizeof units / sizeof *units; u++) {
        device d;
        if (!open_other(&d, "opencl:0", u->option, u->value))
            continue;
        d.rounds_from = u->rounds_from;
        d.weights_from = u->weights_from;
        for (size_t i = 0; i < u->n; i++)
            check_type(&d, u->types[i]);
        close_device(&d);
    }
    return tap_end(context);
}
