/*
 * Attention by a processor's tiles (kernels/attention_bfloats.clh) where a key, a query or a value is an infinity, or no number: floats are
 * cut into numbers of bf16 there, and an infinity times a zero that is none would be no number.  Beside the kernel without tiles: no
 * number where that has none, and near it else.  On opencl:0, the instructions in C and, where it has them, its own; skipped where there
 * is none.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../cpu/compute.h"
#include "../tap.h"

enum { SIZE = 64, HEADS = 4, KV_HEADS = 2, TOKENS = 24, CELLS = 100, QUERY_WORDS = SIZE * HEADS * TOKENS, CACHE_WORDS = SIZE * CELLS * KV_HEADS };

/* What is put where, of the three operands; -1: nowhere. */
typedef struct odd {
    const char *name;
    int query, key, value;
    float is;
} odd;

static const odd odds[] = {
    {"numbers alone", -1, -1, -1, 0},
    {"a key has an infinity", -1, 50 * SIZE, -1, INFINITY},
    {"a key has minus infinity", -1, (CELLS + 70) * SIZE + 7, -1, -INFINITY},
    {"a key has the largest float", -1, 50 * SIZE, -1, 3.4028235e38f},
    {"a key is no number", -1, 85 * SIZE + 3, -1, NAN}, /* which the first tokens do not see */
    {"a query has an infinity", SIZE * (HEADS * 9 + 1) + 5, -1, -1, INFINITY},
    {"a query has minus infinity where keys are above 0", SIZE * (HEADS * 9 + 1) + 5, -1, -1, -INFINITY}, /* sees nothing, then */
    {"a query is no number", SIZE * HEADS * 20, -1, -1, NAN},
    {"a value is an infinity", -1, -1, 90 * SIZE + 11, INFINITY},
    {"a value is no number", -1, -1, 20 * SIZE + 60, NAN},
};

static eng_value build_attention(eng_graph *g, const eng_value *in, const void *what)
{
    eng_attention_params p;
    eng_attention_defaults(&p);
    p.scale = 0.01;
    p.pos = in[3];
    return eng_attention(g, in[0], in[1], in[2], &p);
}

static float *attend(const device *d, const float *q, const float *k, const float *v)
{
    int32_t pos[TOKENS];
    for (int t = 0; t < TOKENS; t++)
        pos[t] = CELLS - TOKENS + t;
    const operand in[4] = {{ENG_TYPE_F32, {SIZE, HEADS, TOKENS}, q, false}, {ENG_TYPE_F32, {SIZE, CELLS, KV_HEADS}, k, false},
                           {ENG_TYPE_F32, {SIZE, CELLS, KV_HEADS}, v, false}, {ENG_TYPE_I32, {TOKENS}, pos, false}};
    return compute(d, in, 4, (operand){ENG_TYPE_F32, {SIZE, HEADS, TOKENS}, NULL, false}, build_attention, NULL, 0);
}

static bool same(const float *got, const float *want)
{
    for (int i = 0; i < QUERY_WORDS; i++)
        if (isnan(got[i]) != isnan(want[i]) || (isfinite(want[i]) ? fabsf(got[i] - want[i]) > 1e-4f : !isnan(got[i]) && got[i] != want[i])) {
            printf("# token %d, head %d, channel %d: is %g, should be %g\n", i / (SIZE * HEADS), i / SIZE % HEADS, i % SIZE,
                   (double)got[i], (double)want[i]);
            return false;
        }
    return true;
}

static void check(const device *d, const device *without, const odd *o, float *q, float *k, float *v)
{
    float *const at[3] = {o->query < 0 ? NULL : q + o->query, o->key < 0 ? NULL : k + o->key, o->value < 0 ? NULL : v + o->value};
    float kept[3];
    for (int i = 0; i < 3; i++)
        if (at[i]) {
            kept[i] = *at[i];
            *at[i] = o->is;
        }
    float *want = attend(without, q, k, v), *got = attend(d, q, k, v);
    tap_check(want && got && same(got, want), "%s: %s", d->name, o->name);
    for (int i = 0; i < 3; i++)
        if (at[i])
            *at[i] = kept[i];
    free(want);
    free(got);
}

int main(void)
{
    static const char *const units[] = {"auto", "in-c"};
    device without, d;
    float *q = numbers(QUERY_WORDS, 1), *k = numbers(CACHE_WORDS, 2), *v = numbers(CACHE_WORDS, 3);
    if (!q || !k || !v)
        return EXIT_FAILURE;
    for (int c = 0; c < CELLS * KV_HEADS; c++)
        k[c * SIZE + 5] = 1 + fabsf(k[c * SIZE + 5]);
    setenv("ENGINE_OPENCL_FAMILY", "vec", 1);
    if (open_other(&without, "opencl:0", "opencl.tiles", "no")) {
        for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
            if (!open_other(&d, "opencl:0", "opencl.tiles", units[u]))
                continue;
            for (const odd *o = odds; o < odds + sizeof odds / sizeof *odds; o++)
                check(&d, &without, o, q, k, v);
            close_device(&d);
        }
        close_device(&without);
    }
    free(q);
    free(k);
    free(v);
    return tap_end(NULL);
}
