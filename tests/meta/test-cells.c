/*
 * Attention over a cache that is split along its cells: what one device computes, with a
 * single K/V head or two over two to five ranks, and without moving the cache.
 *
 *   cache_k[ids] = k; cache_v[ids] = v;  out = w_o attention(q, cache_k, cache_v)
 *
 * The cells are one axis, or the axis in periods: each device then has a run of cells in
 * every period.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"
#include "../matrix.h"

enum { D = 32, CELLS = 180, GROUP = 4, TOKENS = 6, WIDTH = 48, HEADS_MAX = 2 * GROUP };
enum { CACHE_K, CACHE_V, Q, K, V, IDS, POS, SEQ, CPOS, CSEQ, MASK, SINKS, W_O, OUT, TENSORS };

/* The logarithms, and one reduction or gather of results: over five ranks less than a cache. */
enum { MOST_SENT = 10000 };

typedef struct variety {
    const char *name;
    uint32_t type_k, type_v;
    int64_t kv_heads, window, used; /* used: plan parameter, -1: none           */
    double softcap;
    bool causal, sequences, mask, sinks;
    int64_t period, inner; /* cells of a period, of a unit of the axis; 0: one axis */
    int64_t from;          /* attention is to the cells from this one on        */
} variety;

static const variety varieties[] = {
    {"f32, causal", ENG_TYPE_F32, ENG_TYPE_F32, 1, 0, -1, 0, true, true, false, false, 0, 1, 0},
    {"f16, 100 cells used", ENG_TYPE_F16, ENG_TYPE_F16, 1, 0, 100, 0, true, true, false, false, 0, 1, 0},
    {"f16, 3 cells used", ENG_TYPE_F16, ENG_TYPE_F16, 2, 0, 3, 0, true, true, false, false, 0, 1, 0},
    {"q8_0 and q4_0, sinks", ENG_TYPE_Q8_0, ENG_TYPE_Q4_0, 1, 0, -1, 0, true, true, false, true, 0, 1, 0},
    {"bf16, softcap, window", ENG_TYPE_BF16, ENG_TYPE_BF16, 2, 9, -1, 5, true, true, false, false, 0, 1, 0},
    {"q5_1, mask, sinks, softcap", ENG_TYPE_Q5_1, ENG_TYPE_Q5_1, 1, 0, -1, 8, false, false, true, true, 0, 1, 0},
    {"f32, no positions of cells, window", ENG_TYPE_F32, ENG_TYPE_F16, 1, 7, 177, 0, true, false, false, true, 0, 1, 0},
    {"f32, periods of 60", ENG_TYPE_F32, ENG_TYPE_F32, 1, 0, -1, 0, true, true, false, false, 60, 1, 0},
    {"f16, periods of 9, 100 cells used", ENG_TYPE_F16, ENG_TYPE_F16, 1, 0, 100, 0, true, true, false, false, 9, 1, 0},
    {"f16, periods of 4, 3 cells used", ENG_TYPE_F16, ENG_TYPE_F16, 2, 0, 3, 0, true, true, false, true, 4, 1, 0},
    {"q8_0 and q4_0, periods of 18 in threes, sinks", ENG_TYPE_Q8_0, ENG_TYPE_Q4_0, 1, 0, 131, 0, true, true, false,
     true, 18, 3, 0},
    {"q5_1, periods of 6, mask, softcap", ENG_TYPE_Q5_1, ENG_TYPE_Q5_1, 1, 0, -1, 8, false, false, true, true, 6, 1, 0},
    {"f32, periods of 60, no positions of cells, window", ENG_TYPE_F32, ENG_TYPE_F16, 1, 7, 178, 0, true, false, false,
     true, 60, 2, 0},
    {"f32, periods of 9, the cells from 27 on", ENG_TYPE_F32, ENG_TYPE_F16, 1, 90, 176, 0, true, false, false, true,
     9, 1, 27},
    {"bf16, periods of 4, the cells from 20 on", ENG_TYPE_BF16, ENG_TYPE_F32, 2, 0, -1, 0, true, false, false, false, 4,
     1, 20},
};
static const char *const devices[] = {"cpu/2", "cpu/3", "cpu/4", "cpu/5", "cpu/2@3:1", "cpu/3@7:0:25", "cpu/4@1:5:2:2",
                                      "cpu/2@1:0"};
static eng_context *context;

static void fill(float *data, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        data[i] = (float)(seed >> 8) / 8388608.0f - 1;
    }
}

/* Cells are taken by two sequences; cells beyond `free` by nobody; the last token's sequence
 * has no cell, and token 2 has no position. */
static void fill_indices(uint32_t which, int32_t *data, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int32_t c = (int32_t)i;
        switch (which) {
        case IDS: data[i] = c == 4 ? -1 : (c * 11 + 2) % CELLS; break;
        case POS: data[i] = c == 2 ? -1 : CELLS - 8 + c; break;
        case SEQ: data[i] = c == TOKENS - 1 ? 9 : c % 2; break;
        case CPOS: data[i] = (c * 7) % CELLS; break;
        default: data[i] = c > CELLS - 4 ? -1 : c % 2; break;
        }
    }
}

static bool make_store(const variety *v, rig *g)
{
    int64_t heads = v->kv_heads * GROUP;
    int64_t inner = v->period ? v->inner : 1, units = (v->period ? v->period : CELLS) / inner;
    eng_factor cell[] = {{.extent = CELLS / units / inner},
                         {.axis = eng_context_axis(context, "cell"), .extent = units},
                         {.extent = inner}},
               head = {.axis = eng_context_axis(context, "kv_head"), .extent = v->kv_heads};
    eng_segment cells = {.n_factors = 3, .factors = cell}, kv_heads = {.n_factors = 1, .factors = &head};
    eng_dim dims[] = {{0}, {.n_segments = 1, .segments = &cells}, {.n_segments = 1, .segments = &kv_heads}};
    eng_store_tensor t[TENSORS] = {
        [CACHE_K] = {.type = v->type_k, .rank = 3, .use = ENG_USE_CACHE, .ne = {D, CELLS, v->kv_heads}, .dims = dims},
        [CACHE_V] = {.type = v->type_v, .rank = 3, .use = ENG_USE_CACHE, .ne = {D, CELLS, v->kv_heads}, .dims = dims},
        [Q] = {.rank = 3, .use = ENG_USE_INPUT, .ne = {D, heads, TOKENS}},
        [K] = {.rank = 3, .use = ENG_USE_INPUT, .ne = {D, TOKENS, v->kv_heads}},
        [V] = {.rank = 3, .use = ENG_USE_INPUT, .ne = {D, TOKENS, v->kv_heads}},
        [IDS] = {.type = ENG_TYPE_I32, .rank = 1, .use = ENG_USE_INPUT, .ne = {TOKENS}},
        [POS] = {.type = ENG_TYPE_I32, .rank = 1, .use = ENG_USE_INPUT, .ne = {TOKENS}},
        [SEQ] = {.type = ENG_TYPE_I32, .rank = 1, .use = ENG_USE_INPUT, .ne = {TOKENS}},
        [CPOS] = {.type = ENG_TYPE_I32, .rank = 1, .use = ENG_USE_INPUT, .ne = {CELLS}},
        [CSEQ] = {.type = ENG_TYPE_I32, .rank = 1, .use = ENG_USE_INPUT, .ne = {CELLS}},
        [MASK] = {.rank = 2, .use = ENG_USE_INPUT, .ne = {CELLS, TOKENS}},
        [SINKS] = {.rank = 1, .use = ENG_USE_WEIGHT, .ne = {heads}},
        [W_O] = {.rank = 2, .use = ENG_USE_WEIGHT | TEST_MATRIX, .ne = {D * heads, WIDTH}},
        [OUT] = {.rank = 2, .use = ENG_USE_OUTPUT, .ne = {WIDTH, TOKENS}},
    };
    static float data[D * HEADS_MAX * WIDTH];
    static int32_t indices[CELLS];
    bool good = rig_store(g, t, TENSORS);

    for (uint32_t i = Q; i < OUT && good; i++) {
        size_t n = eng_store_bytes(g->store, i) / 4;
        bool index = i >= IDS && i <= CSEQ;
        fill(data, n, i);
        fill_indices(i, indices, index ? n : 0);
        for (size_t j = 0; i == MASK && j < n; j++)
            data[j] = j / CELLS == 3 || j % 7 == 1 ? -INFINITY : data[j]; /* token 3 sees nothing */
        good = rig_write(g, i, index ? (const void *)indices : data);
    }
    return good;
}

static bool build(const variety *v, rig *r)
{
    eng_graph *g = r->graph;
    eng_value in[TENSORS];
    eng_attention_params p;

    rig_values(r, in, TENSORS);
    eng_set_rows(g, in[CACHE_K], in[K], in[IDS]);
    eng_set_rows(g, in[CACHE_V], in[V], in[IDS]);
    eng_attention_defaults(&p);
    p.pos = in[POS];
    p.causal = v->causal;
    p.window = v->window;
    p.softcap = v->softcap;
    p.scale = 0.5;
    p.kv_param = v->used < 0 ? -1 : 0;
    if (v->sequences) {
        p.seq = in[SEQ];
        p.cpos = in[CPOS];
        p.cseq = in[CSEQ];
    }
    if (v->mask)
        p.mask = in[MASK];
    if (v->sinks)
        p.sinks = in[SINKS];
    p.first = v->from;
    for (uint32_t i = CACHE_K; v->from && i <= CACHE_V; i++)
        in[i] = eng_slice(g, in[i], 1, v->from, CELLS - v->from);
    eng_value o = eng_attention(g, in[Q], in[CACHE_K], in[CACHE_V], &p);
    o = eng_reshape(g, o, (int64_t[]){D * v->kv_heads * GROUP, TOKENS}, 2);
    eng_store_value(g, in[OUT], eng_mul_mat(g, in[W_O], o));
    return rig_plan(r);
}

/* The caches start with the same bytes everywhere: numbers of about 1, in any type. */
static bool seed_cache(const variety *v, rig *g, unsigned char **bytes)
{
    for (uint32_t i = CACHE_K; i <= CACHE_V; i++) {
        size_t n = eng_store_bytes(g->store, i);
        if (!bytes[i]) {
            uint32_t type = i == CACHE_K ? v->type_k : v->type_v;
            bytes[i] = malloc(n);
            for (size_t j = 0; j < n; j++)
                bytes[i][j] = (unsigned char)(type == ENG_TYPE_F32 ? (j % 4 == 3 ? 0x3e : j * 7)
                                              : type == ENG_TYPE_F16 || type == ENG_TYPE_BF16
                                                  ? (j % 2 == 1 ? (type == ENG_TYPE_F16 ? 0x34 : 0x3e) : j * 13)
                                              : j * 29);
            if (type == ENG_TYPE_Q8_0 || type == ENG_TYPE_Q4_0 || type == ENG_TYPE_Q5_1) {
                size_t block = type == ENG_TYPE_Q8_0 ? 34 : type == ENG_TYPE_Q4_0 ? 18 : 24;
                for (size_t j = 0; j < n; j += block) {
                    bytes[i][j + 1] = type == ENG_TYPE_Q8_0 ? 0x1c : 0x2c; /* scales of about 2^-8, 2^-4 */
                    if (type == ENG_TYPE_Q5_1)
                        bytes[i][j + 3] = 0xb8; /* minimum about -1/2 */
                }
            }
        }
        if (!rig_write(g, i, bytes[i]))
            return false;
    }
    return true;
}

static bool run(const variety *v, const char *name, unsigned char **bytes, float *out, uint64_t *exchanged)
{
    eng_device_stats stats = {.size = sizeof stats};
    int64_t used = v->used;
    rig g;
    bool good = rig_open(&g, context, name, 1) && make_store(v, &g) && seed_cache(v, &g, bytes) && build(v, &g) &&
                rig_run(&g, &used, 1) && rig_read(&g, OUT, out) && eng_device_get_stats(g.device, &stats) == ENG_OK;

    *exchanged = stats.bytes_exchanged;
    if (!good)
        printf("# %s: %s\n", name, eng_last_error());
    rig_close(&g);
    return good;
}

int main(void)
{
    if (!(context = tap_begin()))
        return 1;
    for (size_t i = 0; i < sizeof varieties / sizeof *varieties; i++) {
        const variety *v = &varieties[i];
        float want[WIDTH * TOKENS], got[WIDTH * TOKENS], most = 0;
        unsigned char *bytes[2] = {NULL, NULL};
        uint64_t exchanged;
        bool known = run(v, "cpu", bytes, want, &exchanged);
        for (int j = 0; j < WIDTH * TOKENS; j++)
            most = fmaxf(most, fabsf(want[j]));
        known = known && isfinite(most) && most > 0.01f;
        for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
            float off = 0;
            memset(got, 0xff, sizeof got);
            bool good = known && run(v, devices[d], bytes, got, &exchanged);
            for (int j = 0; j < WIDTH * TOKENS; j++)
                off = fabsf(got[j] - want[j]) <= off ? off : fabsf(got[j] - want[j]);
            good = good && off <= 2e-5f * (1 + most) && exchanged <= MOST_SENT;
            tap_check(good, "%s, %d heads of K and V, %s: off %g of %g, %lu bytes sent", v->name, (int)v->kv_heads,
                      devices[d], off, most, (unsigned long)exchanged);
        }
        free(bytes[0]);
        free(bytes[1]);
    }
    return tap_end(context);
}
