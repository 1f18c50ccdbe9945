/*
 * A column of a product with weights in lanes is the same bits for so many columns: up to 32 on a card's kernels with a matrix
 * unit, whose instruction is had in C; on a processor's with products of bytes up to 8, and up to 32 in precision fast,
 * and exactly where it has a matrix unit, too (of types with a scale for 32 elements; its instructions are had in C).  Some columns
 * have an element that is much larger than all others.  On opencl:0; skipped where there is none.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cpu/compute.h"
#include "../tap.h"

enum { K = 2048 + 768, ROWS = 40, MOST = 32 }; /* K: chunks that the work-items of a group have not all as many of */

static float *product(const device *d, uint32_t type, const void *a, const float *x, int64_t n, uint32_t precision)
{
    const operand in[2] = {{type, {K, ROWS}, a, true}, {ENG_TYPE_F32, {K, n}, x, false}};
    return compute(d, in, 2, (operand){ENG_TYPE_F32, {ROWS, n}, NULL, false}, build_product, &precision, 0);
}

static bool same_columns(const device *d, uint32_t type, const void *a, const float *x, int64_t most, uint32_t precision)
{
    static const int64_t some[] = {1, 2, 3, 4, 6, 8, 9, 17};
    float *all = product(d, type, a, x, most, precision);
    bool same = all;
    for (size_t i = 0; same && i < sizeof some / sizeof *some && some[i] <= most; i++) {
        const int64_t first = most - some[i];
        float *part = product(d, type, a, x + first * K, some[i], precision);
        same = part && memcmp(part, all + first * ROWS, (size_t)(some[i] * ROWS) * sizeof *part) == 0;
        if (!same)
            printf("# %s: the last %d of %d columns have other bits by themselves\n", eng_type_name(type), (int)some[i],
                   (int)most);
        free(part);
    }
    free(all);
    return same;
}

/* A device, and how many columns are the same bits in a precision. */
static const uint32_t some_types[] = {ENG_TYPE_Q4_0, ENG_TYPE_Q8_0, ENG_TYPE_Q4_K, ENG_TYPE_Q6_K};
static const uint32_t one_scale[] = {ENG_TYPE_Q4_0, ENG_TYPE_Q4_1, ENG_TYPE_Q5_0, ENG_TYPE_Q5_1, ENG_TYPE_Q8_0, ENG_TYPE_IQ4_NL,
                                     ENG_TYPE_MXFP4, ENG_TYPE_Q4_K, ENG_TYPE_Q5_K, ENG_TYPE_IQ4_XS};
#define TYPES(list) list, sizeof(list) / sizeof *(list)
static void check_device(const device *d, int64_t most, uint32_t precision, const uint32_t *types, size_t n, const float *x, const float *w)
{
    for (size_t i = 0; i < n; i++) {
        const operand in = {ENG_TYPE_F32, {K, ROWS}, w, false};
        void *a = compute(d, &in, 1, (operand){types[i], {K, ROWS}, NULL, false}, build_encode, &types[i], 0);
        tap_check(a && same_columns(d, types[i], a, x, most, precision), "%s: %s, %s, the same bits for up to %d columns", d->name,
                  eng_type_name(types[i]), precision == ENG_PRECISION_EXACT ? "exact" : "fast", (int)most);
        free(a);
    }
}

int main(void)
{
    device d;
    float *x = numbers((int64_t)K * MOST, 5), *w = numbers((int64_t)K * ROWS, 6);
    if (!x || !w)
        return EXIT_FAILURE;
    for (int64_t c = 0; c < MOST; c += 3)
        x[c * K + 70 * c] *= 1e6f;
    setenv("ENGINE_OPENCL_FAMILY", "simt", 1);
    if (open_other(&d, "opencl:0", "opencl.matrix", "in-c")) {
        check_device(&d, MOST, ENG_PRECISION_EXACT, TYPES(some_types), x, w);
        close_device(&d);
    }
    unsetenv("ENGINE_OPENCL_FAMILY");
    if (open_other(&d, "opencl:0", "opencl.family", "vec")) {
        eng_device_info info = {.size = sizeof info};
        if (eng_device_get_info(d.device, &info) == ENG_OK && strstr(info.capabilities, "dot4")) {
            check_device(&d, 8, ENG_PRECISION_EXACT, TYPES(some_types), x, w);
            check_device(&d, MOST, ENG_PRECISION_FAST, TYPES(some_types), x, w);
        } else {
            tap_check(true, "%s: no products of bytes # SKIP", d.name);
        }
        close_device(&d);
    }
    setenv("ENGINE_OPENCL_FAMILY", "vec", 1);
    setenv("ENGINE_OPENCL_DOT4", "in-c", 1);
    if (open_other(&d, "opencl:0", "opencl.tiles", "in-c")) {
        check_device(&d, MOST, ENG_PRECISION_EXACT, TYPES(one_scale), x, w);
        close_device(&d);
    }
    free(x);
    free(w);
    return tap_end(NULL);
}
