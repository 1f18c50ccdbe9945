/*
 * A column of a product with weights in lanes is the same bits for up to 32 columns, on a card's kernels with a matrix unit, whose
 * instruction is had in C.  On opencl:0; skipped where there is none.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cpu/compute.h"
#include "../tap.h"

enum { K = 2048 + 768, ROWS = 40, MOST = 32 }; /* K: chunks that the work-items of a group have not all as many of */

static float *product(const device *d, uint32_t type, const void *a, const float *x, int64_t n)
{
    const operand in[2] = {{type, {K, ROWS}, a, true}, {ENG_TYPE_F32, {K, n}, x, false}};
    return compute(d, in, 2, (operand){ENG_TYPE_F32, {ROWS, n}, NULL, false}, build_product, NULL, 0);
}

static bool same_columns(const device *d, uint32_t type, const void *a, const float *x)
{
    static const int64_t some[] = {1, 2, 3, 8, 9, 17};
    float *all = product(d, type, a, x, MOST);
    bool same = all;
    for (size_t i = 0; same && i < sizeof some / sizeof *some; i++) {
        const int64_t first = MOST - some[i];
        float *part = product(d, type, a, x + first * K, some[i]);
        same = part && memcmp(part, all + first * ROWS, (size_t)(some[i] * ROWS) * sizeof *part) == 0;
        if (!same)
            printf("# %s: the last %d of %d columns have other bits by themselves\n", eng_type_name(type), (int)some[i], MOST);
        free(part);
    }
    free(all);
    return same;
}

int main(void)
{
    static const uint32_t types[] = {ENG_TYPE_Q4_0, ENG_TYPE_Q8_0, ENG_TYPE_Q4_K, ENG_TYPE_Q6_K};
    device d;
    setenv("ENGINE_OPENCL_FAMILY", "simt", 1);
    if (!open_other(&d, "opencl:0", "opencl.matrix", "in-c"))
        return tap_end(NULL);
    float *x = numbers((int64_t)K * MOST, 5), *w = numbers((int64_t)K * ROWS, 6);
    for (size_t i = 0; x && w && i < sizeof types / sizeof *types; i++) {
        const operand in = {ENG_TYPE_F32, {K, ROWS}, w, false};
        void *a = compute(&d, &in, 1, (operand){types[i], {K, ROWS}, NULL, false}, build_encode, &types[i], 0);
        tap_check(a && same_columns(&d, types[i], a, x), "%s: the same bits for up to %d columns", eng_type_name(types[i]), MOST);
        free(a);
    }
    free(x);
    free(w);
    close_device(&d);
    return tap_end(NULL);
}
