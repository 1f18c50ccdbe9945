/*
 * Products that follow one another with the same columns pack these once (plugins/cpu/ops/mul_mat.c): several matrices of
 * one type, of others between them, and some so small that one thread does them, give the bits that each gives by itself.
 * For types of each layout, few and many columns, one to three threads, in both precisions.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "compute.h"

enum { LENGTH = 1024, MATRICES = 6, MOST = 200, STARTS = 50 };

/* Rows of each, and whether it is of the other type.  Of eight rows one thread has all, or does the whole task by itself: others
 * have packed nothing then, or what came before. */
static const struct { int64_t rows; bool other; } matrices[MATRICES] = {
    {8, false}, {96, false}, {96, true}, {8, false}, {160, false}, {64, true},
};

typedef struct subject {
    uint32_t types[2];
    void *weights[MATRICES];
    float *x;
    uint32_t precision, start; /* a column: others each time, so that none are where they were packed before */
} subject;

static uint32_t type_of(const subject *s, int i)
{
    return s->types[matrices[i].other];
}

static eng_value build_all(eng_graph *g, const eng_value *in, const void *what)
{
    eng_value y[MATRICES];
    eng_graph_precision(g, *(const uint32_t *)what);
    for (int i = 0; i < MATRICES; i++)
        y[i] = eng_mul_mat(g, in[i], in[MATRICES]);
    for (int i = 1; i < MATRICES; i++)
        y[0] = eng_concat(g, y[0], y[i], 0);
    return y[0];
}

static operand matrix_of(const subject *s, int i)
{
    return (operand){type_of(s, i), {LENGTH, matrices[i].rows}, s->weights[i], true};
}

static bool same(const device *d, subject *s, int64_t n)
{
    s->start = (s->start + 7) % STARTS;
    operand in[MATRICES + 1], x = {ENG_TYPE_F32, {LENGTH, n}, s->x + LENGTH * s->start, false};
    int64_t rows = 0, before = 0;
    for (int i = 0; i < MATRICES; i++) {
        in[i] = matrix_of(s, i);
        rows += matrices[i].rows;
    }
    in[MATRICES] = x;
    float *all = compute(d, in, MATRICES + 1, (operand){ENG_TYPE_F32, {rows, n}, NULL, false}, build_all, &s->precision, 0);
    bool good = all != NULL;
    for (int i = 0; good && i < MATRICES; before += matrices[i++].rows) {
        const operand pair[2] = {in[i], x}, o = {ENG_TYPE_F32, {matrices[i].rows, n}, NULL, false};
        float *one = compute(d, pair, 2, o, build_product, &s->precision, 0);
        good = one != NULL;
        for (int64_t c = 0; good && c < n; c++)
            good = memcmp(all + c * rows + before, one + c * o.ne[0], (size_t)o.ne[0] * sizeof *one) == 0;
        free(one);
        if (!good)
            printf("# %s, %d columns, matrix %d of %s: other bits\n", d->name, (int)n, i, eng_type_name(type_of(s, i)));
    }
    free(all);
    return good;
}

/* -- experts --------------------------------------------------------------------------------- */

enum { EXPERTS = 4, USED = 2, EXPERT_ROWS = 32, TOKENS = 90 };

static eng_value build_gate_and_up(eng_graph *g, const eng_value *in, const void *what)
{
    eng_graph_precision(g, *(const uint32_t *)what);
    eng_value gate = eng_mul_mat_id(g, in[0], in[2], in[3]), up = eng_mul_mat_id(g, in[1], in[2], in[3]);
    return eng_concat(g, gate, up, 0);
}

/* Rows of the largest matrix as two sets of experts, one of which begins an expert behind the other. */
static bool same_experts(const device *d, const subject *s)
{
    int32_t ids[USED * TOKENS];
    for (int i = 0; i < USED * TOKENS; i++)
        ids[i] = (i * 7 / 3 + i % USED) % EXPERTS;
    const int64_t one = EXPERT_ROWS * LENGTH / eng_type_get(s->types[0])->block * eng_type_get(s->types[0])->block_bytes;
    const operand x = {ENG_TYPE_F32, {LENGTH, 1, TOKENS}, s->x, false}, chosen = {ENG_TYPE_I32, {USED, TOKENS}, ids, false};
    operand w[2], o = {ENG_TYPE_F32, {2 * EXPERT_ROWS, USED, TOKENS}, NULL, false};
    for (int i = 0; i < 2; i++)
        w[i] = (operand){s->types[0], {LENGTH, EXPERT_ROWS, EXPERTS}, (const char *)s->weights[4] + i * one, true};
    float *both = compute(d, (operand[4]){w[0], w[1], x, chosen}, 4, o, build_gate_and_up, &s->precision, 0);
    bool good = both != NULL;
    o.ne[0] = EXPERT_ROWS;
    for (int i = 0; i < 2 && good; i++) {
        float *alone = compute(d, (operand[3]){w[i], x, chosen}, 3, o, build_experts, &s->precision, 0);
        good = alone != NULL;
        for (int64_t c = 0; c < USED * TOKENS && good; c++)
            good = memcmp(both + (2 * c + i) * EXPERT_ROWS, alone + c * EXPERT_ROWS, EXPERT_ROWS * sizeof *alone) == 0;
        free(alone);
    }
    free(both);
    return good;
}

/* -- all ------------------------------------------------------------------------------------- */

static void check(const device *d, int n_devices, uint32_t type, uint32_t other)
{
    static const int64_t columns[] = {1, 2, 5, 8, 9, 12, 13, 40, MOST};
    subject s = {.types = {type, other}, .x = numbers(LENGTH * (MOST + STARTS), type)};
    bool good = s.x != NULL;
    for (int i = 0; i < MATRICES && good; i++)
        good = (s.weights[i] = encode(&d[0], type_of(&s, i), (int64_t[4]){LENGTH, matrices[i].rows}, (uint64_t)i + 1)) != NULL;
    for (s.precision = ENG_PRECISION_EXACT; s.precision <= ENG_PRECISION_FAST; s.precision++)
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
            good = good && same(&d[c % (size_t)n_devices], &s, columns[c]) && same(&d[0], &s, columns[c]);
    for (s.precision = ENG_PRECISION_EXACT; s.precision <= ENG_PRECISION_FAST; s.precision++)
        good = good && same_experts(&d[0], &s) && same_experts(&d[n_devices - 1], &s);
    tap_check(good, "%s: products of %s and %s with the same columns", d[0].name, eng_type_name(type), eng_type_name(other));
    for (int i = 0; i < MATRICES; i++)
        free(s.weights[i]);
    free(s.x);
}

int main(void)
{
    static const uint32_t types[] = {ENG_TYPE_F32, ENG_TYPE_F16, ENG_TYPE_BF16, ENG_TYPE_Q8_0, ENG_TYPE_Q4_0, ENG_TYPE_Q5_1,
                                     ENG_TYPE_IQ4_NL, ENG_TYPE_MXFP4, ENG_TYPE_Q2_K, ENG_TYPE_Q4_K, ENG_TYPE_Q6_K, ENG_TYPE_IQ4_XS};
    static const char *const variants[] = {"amx", "avx512vnni", "avx512", "avx2", "scalar"};
    enum { N = sizeof types / sizeof *types };
    device d[3];
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
        int n = 0;
        while (n < 3 && open_device(&d[n], variants[v], 3 - n))
            n++;
        for (int i = 0; n == 3 && !d[0].emulated && i < N; i++) /* that would take minutes */
            check(d, n, types[i], types[(i + 5) % N]);
        for (int i = 0; i < n; i++)
            close_device(&d[i]);
    }
    return tap_end(NULL);
}
