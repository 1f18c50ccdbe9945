/*
 * Experts of a token whose columns are one, repeated by a stride of 0, give what they give with one column for all: on
 * opencl:0's kernels of cards, with and without a matrix unit, and of processors.  Skipped where there is none.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cpu/compute.h"
#include "../tap.h"

enum { K = 256, ROWS = 40, EXPERTS = 4, CHOSEN = 3, TOKENS = 20 };

typedef struct how {
    uint32_t precision;
    bool repeated;
} how;

static eng_value build(eng_graph *g, const eng_value *in, const void *what)
{
    const how *h = what;
    const int64_t ne[] = {K, h->repeated ? CHOSEN : 1, TOKENS}, nb[] = {4, h->repeated ? 0 : 4 * K, 4 * K};
    const eng_value operands[] = {in[0], eng_view(g, in[1], ne, nb, 3, 0), in[2]};
    return build_experts(g, operands, &h->precision);
}

static void check_type(const device *d, uint32_t type, uint32_t precision, const float *x, const int32_t *ids)
{
    void *a = encode(d, type, (int64_t[4]){K, ROWS, EXPERTS}, 7);
    const operand in[] = {{type, {K, ROWS, EXPERTS}, a, true},
                          {ENG_TYPE_F32, {K, TOKENS}, x, false},
                          {ENG_TYPE_I32, {CHOSEN, TOKENS}, ids, false}};
    const operand out = {ENG_TYPE_F32, {ROWS, CHOSEN, TOKENS}, NULL, false};
    float *one = compute(d, in, 3, out, build, &(how){precision, false}, 0);
    float *repeated = compute(d, in, 3, out, build, &(how){precision, true}, 0);
    tap_check(a && one && repeated && memcmp(one, repeated, sizeof *one * ROWS * CHOSEN * TOKENS) == 0,
              "%s: experts of %s, %s, with a column that is repeated", d->name, eng_type_name(type),
              precision == ENG_PRECISION_EXACT ? "exact" : "fast");
    free(one);
    free(repeated);
    free(a);
}

int main(void)
{
    static const struct { const char *family, *matrix; } kernels[] = {{"simt", "in-c"}, {"simt", "no"}, {"vec", "no"}};
    static const uint32_t types[] = {ENG_TYPE_F16, ENG_TYPE_Q4_0, ENG_TYPE_Q4_K};
    float *x = numbers((int64_t)K * TOKENS, 5);
    int32_t ids[CHOSEN * TOKENS];
    if (!x)
        return EXIT_FAILURE;
    for (int i = 0; i < CHOSEN * TOKENS; i++)
        ids[i] = i * 7 % 5 - 1; /* and one of none */
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        device d;
        setenv("ENGINE_OPENCL_FAMILY", kernels[k].family, 1);
        if (!open_other(&d, "opencl:0", "opencl.matrix", kernels[k].matrix))
            continue;
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            for (uint32_t p = 0; p < ENG_PRECISIONS; p++)
                check_type(&d, types[i], p, x, ids);
        close_device(&d);
    }
    free(x);
    return tap_end(NULL);
}
