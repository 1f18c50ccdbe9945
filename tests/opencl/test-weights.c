/*
 * Attention's small weights are as exact as large ones: where one cell has nearly all of the weight and a value of zero, the result
 * is what the others have, e^-x of it.  On opencl:0's kernels of cards, with and without a matrix unit, and of processors.
 * Skipped where there is none.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../cpu/compute.h"
#include "../tap.h"

enum { D = 64, HEADS = 2, TOKENS = 32, CELLS = 192 };

static eng_value build(eng_graph *g, const eng_value *in, const void *what)
{
    (void)what;
    eng_attention_params p;
    eng_attention_defaults(&p);
    p.scale = 1;
    p.causal = 0;
    p.pos = in[3];
    return eng_attention(g, in[0], in[1], in[2], &p);
}

/* Cell 0 has the score x, and all other cells 0. */
static bool as_exact(const device *d, float x)
{
    float *q = calloc(D * HEADS * TOKENS, sizeof *q), k[D * CELLS] = {x / 8}, v[D * CELLS];
    int32_t pos[TOKENS] = {0};
    for (int i = 0; q && i < HEADS * TOKENS; i++)
        q[i * D] = 8;
    for (int i = 0; i < D * CELLS; i++)
        v[i] = i >= D;
    const uint32_t half = ENG_TYPE_F16;
    const operand ks = {ENG_TYPE_F32, {D, CELLS, 1}, k, false}, vs = {ENG_TYPE_F32, {D, CELLS, 1}, v, false};
    void *k16 = compute(d, &ks, 1, (operand){half, {D, CELLS, 1}, NULL, false}, build_encode, &half, 0);
    void *v16 = compute(d, &vs, 1, (operand){half, {D, CELLS, 1}, NULL, false}, build_encode, &half, 0);
    const operand in[] = {{ENG_TYPE_F32, {D, HEADS, TOKENS}, q, false}, {half, {D, CELLS, 1}, k16, false},
                          {half, {D, CELLS, 1}, v16, false}, {ENG_TYPE_I32, {TOKENS}, pos, false}};
    float *out = k16 && v16 ? compute(d, in, 4, (operand){ENG_TYPE_F32, {D, HEADS, TOKENS}, NULL, false}, build, NULL, 0) : NULL;
    const double others = (CELLS - 1) * exp(-(double)x), want = others / (1 + others);
    double worst = out ? 0 : INFINITY;
    for (int i = 0; out && i < D * HEADS * TOKENS; i++)
        worst = fmax(worst, isfinite(out[i]) ? fabs(out[i] / want - 1) : INFINITY);
    printf("# %s: a score of %g, off by %.2g\n", d->name, (double)x, worst);
    free(q);
    free(k16);
    free(v16);
    free(out);
    return worst <= 4e-6;
}

int main(void)
{
    static const struct { const char *family, *matrix; } kernels[] = {{"simt", "in-c"}, {"simt", "no"}, {"vec", "no"}};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        device d;
        setenv("ENGINE_OPENCL_FAMILY", kernels[i].family, 1);
        if (!open_other(&d, "opencl:0", "opencl.matrix", kernels[i].matrix))
            continue;
        bool exact = true;
        for (float x = 2; x <= 20; x += 6)
            exact = as_exact(&d, x) && exact;
        tap_check(exact, "%s, kernels %s, matrix %s: small weights", d.name, kernels[i].family, kernels[i].matrix);
        close_device(&d);
    }
    return tap_end(NULL);
}
