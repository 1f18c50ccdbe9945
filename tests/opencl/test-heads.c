/*
 * Rows of heads in one launch (plugins/opencl/lower/heads.c) beside the same nodes in launches of their own: queries, keys and
 * values, normed, rotated, transformed, stored in caches of several types.
 * On opencl:0, or on the device that ENG_TEST_OPENCL names; skipped where there is none.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

#include "../tap.h"

enum { CELLS = 24, MOST = 32768 };

typedef struct shape {
    const char *name;
    int64_t d, e, heads, kv, tokens;
    int norm;        /* 0: none; 1: rms_norm and scale; 2: with a weight        */
    int mode;        /* of rope; -1: none                                       */
    int64_t n_dims, offset;
    int64_t group;   /* of the Hadamard transform; 0: none                      */
    uint32_t type_k, type_v;
    bool gated;      /* queries are the first halves of rows                    */
    bool ff;         /* divisors of the frequencies                             */
    bool plain;      /* keys and values are not stored                          */
    unsigned launches; /* at most, with fusion, gathering of results left out   */
} shape;

static const shape shapes[] = {
    {"llama, one token", 64, 64, 9, 3, 1, 0, ENG_ROPE_NORMAL, 64, 0, 0, ENG_TYPE_F16, ENG_TYPE_F16, false, false, false, 1},
    {"llama, five tokens, divisors", 128, 128, 8, 2, 5, 0, ENG_ROPE_NORMAL, 128, 0, 0, ENG_TYPE_F32, ENG_TYPE_BF16, false, true, false, 1},
    {"qwen3, weights", 128, 128, 4, 2, 7, 2, ENG_ROPE_NEOX, 128, 0, 0, ENG_TYPE_F16, ENG_TYPE_F16, false, false, false, 1},
    {"quantised caches, rotated", 64, 64, 6, 2, 3, 2, ENG_ROPE_NEOX, 64, 0, 64, ENG_TYPE_Q8_0, ENG_TYPE_Q4_0, false, false, false, 1},
    {"groups of half a row", 128, 128, 3, 3, 2, 0, ENG_ROPE_NEOX, 64, 32, 64, ENG_TYPE_Q4_1, ENG_TYPE_IQ4_NL, false, false, false, 1},
    {"gated, part of a row, streams", 64, 64, 4, 2, 5, 2, ENG_ROPE_IMROPE, 16, 0, 0, ENG_TYPE_F16, ENG_TYPE_F16, true, false, false, 1},
    {"odd sizes", 80, 96, 5, 1, 4, 1, ENG_ROPE_NORMAL, 40, 8, 0, ENG_TYPE_F16, ENG_TYPE_F32, false, false, false, 1},
    {"rows of 20", 20, 36, 3, 3, 6, 2, ENG_ROPE_NEOX, 20, 0, 0, ENG_TYPE_F16, ENG_TYPE_F16, true, false, false, 1},
    {"unit length, not stored", 64, 64, 16, 16, 2, 1, -1, 0, 0, 0, 0, 0, false, false, true, 1},
    {"rows of 512", 512, 512, 2, 1, 2, 1, ENG_ROPE_NEOX, 512, 0, 512, ENG_TYPE_Q5_0, ENG_TYPE_Q5_1, false, false, false, 1},
};

enum { Q, K, V, WEIGHT, FF, POS, IDS, CACHE_K, CACHE_V, OUT_Q, OUT_K, OUT_V, TENSORS };

static void declare(const shape *s, eng_store_tensor t[TENSORS])
{
    const bool streams = (s->mode & 8) != 0 && s->mode > 0;
    const struct { const char *name; uint32_t type, use; int64_t ne[3]; } all[TENSORS] = {
        [Q] = {"q", ENG_TYPE_F32, ENG_USE_INPUT, {s->gated ? 2 * s->d : s->d, s->heads, s->tokens}},
        [K] = {"k", ENG_TYPE_F32, ENG_USE_INPUT, {s->d, s->kv, s->tokens}},
        [V] = {"v", ENG_TYPE_F32, ENG_USE_INPUT, {s->e, s->kv, s->tokens}},
        [WEIGHT] = {"w", ENG_TYPE_F32, ENG_USE_WEIGHT, {s->d, 1, 1}},
        [FF] = {"ff", ENG_TYPE_F32, ENG_USE_WEIGHT, {s->n_dims ? s->n_dims / 2 : 1, 1, 1}},
        [POS] = {"pos", ENG_TYPE_I32, ENG_USE_INPUT, {s->tokens, streams ? 4 : 1, 1}},
        [IDS] = {"ids", ENG_TYPE_I32, ENG_USE_INPUT, {s->tokens, 1, 1}},
        [CACHE_K] = {"ck", s->plain ? ENG_TYPE_F32 : s->type_k, ENG_USE_CACHE, {s->d, CELLS, s->kv}},
        [CACHE_V] = {"cv", s->plain ? ENG_TYPE_F32 : s->type_v, ENG_USE_CACHE, {s->e, CELLS, s->kv}},
        [OUT_Q] = {"oq", ENG_TYPE_F32, ENG_USE_OUTPUT, {s->d, s->heads, s->tokens}},
        [OUT_K] = {"ok", ENG_TYPE_F32, ENG_USE_OUTPUT, {s->d, s->plain ? s->kv : CELLS, s->plain ? s->tokens : s->kv}},
        [OUT_V] = {"ov", ENG_TYPE_F32, ENG_USE_OUTPUT, {s->e, s->plain ? s->kv : CELLS, s->plain ? s->tokens : s->kv}},
    };
    for (int i = 0; i < TENSORS; i++) {
        t[i] = (eng_store_tensor){.size = sizeof *t, .type = all[i].type, .rank = i == POS ? 2 : i == IDS || i == FF || i == WEIGHT ? 1 : 3,
                                  .use = all[i].use, .name = all[i].name, .layer = -1};
        memcpy(t[i].ne, all[i].ne, sizeof all[i].ne);
    }
}

static uint32_t seed;
static float value(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (float)(seed >> 8) / 8388608.0f - 1.0f;
}

/* Seeded contents; of a cache: zeros.  Token 1's cell is one that does not exist. */
static bool fill(const shape *s, eng_store *store)
{
    static float data[MOST];
    static int32_t numbers[64];
    bool good = true;
    seed = 7;
    for (uint32_t i = 0; i <= FF; i++) {
        const uint64_t bytes = eng_store_bytes(store, i);
        for (uint64_t k = 0; k < bytes / 4; k++)
            data[k] = i == FF ? 1.5f + value() : value() * 3;
        good = good && bytes <= sizeof data && eng_store_write(store, i, 0, bytes, data) == ENG_OK;
    }
    for (int i = 0; i < 64; i++)
        numbers[i] = 3 + 977 * i;
    good = good && eng_store_write(store, POS, 0, eng_store_bytes(store, POS), numbers) == ENG_OK;
    for (int i = 0; i < 64; i++)
        numbers[i] = i == 1 ? -1 : CELLS - 1 - 2 * i;
    return good && eng_store_write(store, IDS, 0, (uint64_t)s->tokens * 4, numbers) == ENG_OK;
}

static eng_value normed(eng_graph *g, const shape *s, eng_value x, eng_value weight)
{
    return s->norm == 2 ? eng_rms_norm(g, x, weight, 1e-5)
           : s->norm == 1 ? eng_scale(g, eng_rms_norm(g, x, ENG_NO_VALUE, 1e-6), 0.125, 0) : x;
}

static eng_value rotated(eng_graph *g, const shape *s, eng_value x, const eng_value *t)
{
    eng_rope_params p;
    eng_rope_defaults(&p);
    p.mode = s->mode;
    p.n_dims = s->n_dims;
    p.offset = s->offset;
    for (int i = 0; i < 3 && (s->mode & 8); i++)
        p.sections[i] = s->n_dims / 8 + (i == 0);
    return s->mode < 0 ? x : eng_rope(g, x, t[POS], s->ff ? t[FF] : ENG_NO_VALUE, &p);
}

static void build(eng_graph *g, const shape *s, const eng_value *t)
{
    static const int by_head[] = {0, 2, 1};
    eng_value q = rotated(g, s, normed(g, s, s->gated ? eng_slice(g, t[Q], 0, 0, s->d) : t[Q], t[WEIGHT]), t);
    eng_value k = rotated(g, s, normed(g, s, t[K], t[WEIGHT]), t), v = t[V];
    if (s->group) {
        q = eng_hadamard(g, q, s->group);
        k = eng_hadamard(g, k, s->group);
        v = eng_hadamard(g, v, s->group);
    }
    if (!s->plain) {
        eng_set_rows(g, t[CACHE_K], eng_permute(g, k, by_head, 3), t[IDS]);
        eng_set_rows(g, t[CACHE_V], eng_permute(g, v, by_head, 3), t[IDS]);
    }
    eng_store_value(g, t[OUT_Q], q);
    eng_store_value(g, t[OUT_K], s->plain ? k : t[CACHE_K]);
    eng_store_value(g, t[OUT_V], s->plain ? v : t[CACHE_V]);
}

static void count(void *ctx, const char *text)
{
    *(unsigned *)ctx += strstr(text, ": cpy") == NULL && strstr(text, " work-items") != NULL;
}

/* The three results one after the other; the launches, but for those that store results, or 0. */
static unsigned run(const shape *s, const char *fuse, const char *family, float *out, size_t *n)
{
    const char *name = getenv("ENG_TEST_OPENCL");
    eng_store_tensor t[TENSORS];
    eng_context *context = NULL;
    eng_device *device = NULL;
    eng_store *store = NULL;
    eng_graph *g = NULL;
    eng_plan *plan = NULL;
    eng_instance *instance = NULL;
    eng_queue *queue = NULL;
    eng_fence fence;
    eng_value v[TENSORS];
    unsigned launches = 0;
    declare(s, t);
    bool good = !eng_context_create(NULL, &context) && !eng_context_set_option(context, "opencl.fuse", fuse) &&
                !eng_context_set_option(context, "opencl.family", family) &&
                !eng_device_open(context, name && *name ? name : "opencl:0", &device) &&
                !eng_store_create(device, t, TENSORS, &store) && fill(s, store) && !eng_graph_create(context, 0, &g);
    for (uint32_t i = 0; i < TENSORS && good; i++)
        v[i] = eng_graph_tensor(g, 0, store, i);
    if (good)
        build(g, s, v);
    good = good && !eng_graph_seal(g) && !eng_plan_create(device, g, &plan) &&
           !eng_instance_create(plan, &store, 1, &instance) && !eng_queue_create(device, &queue) &&
           !eng_queue_submit(queue, NULL, 0, instance, NULL, 0, &fence) && !eng_fence_wait(fence, UINT64_MAX);
    *n = 0;
    for (uint32_t i = OUT_Q; i <= OUT_V && good; i++) {
        good = !eng_store_read(store, i, 0, eng_store_bytes(store, i), out + *n);
        *n += eng_store_bytes(store, i) / 4;
    }
    if (good)
        eng_plan_explain(plan, ENG_EXPLAIN_TEXT, count, &launches);
    else
        printf("# %s\n", eng_last_error());
    eng_queue_destroy(queue);
    eng_instance_destroy(instance);
    eng_plan_release(plan);
    eng_graph_destroy(g);
    eng_store_destroy(store);
    eng_device_close(device);
    eng_context_destroy(context);
    return launches;
}

/* Equal but for rounding; of what is stored in few bits a hundredth may be one step further. */
static bool alike(const float *a, const float *b, size_t n)
{
    size_t far = 0;
    float most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmaxf(most, fabsf(a[i]));
    for (size_t i = 0; i < n; i++) {
        if (!(fabsf(a[i] - b[i]) <= most / 6))
            return printf("# element %zu is %g, should be %g\n", i, (double)b[i], (double)a[i]), false;
        far += fabsf(a[i] - b[i]) > 1e-4f * (1 + fabsf(a[i]));
    }
    if (far * 100 > n)
        printf("# %zu of %zu elements differ\n", far, n);
    return far * 100 <= n;
}

int main(void)
{
    static float right[MOST], got[MOST];
    static const char *const families[] = {"vec", "simt"};
    eng_context *context = tap_begin();
    const char *name = getenv("ENG_TEST_OPENCL");
    eng_device *device = NULL;
    const int found = context ? eng_device_open(context, name && *name ? name : "opencl:0", &device) : ENG_ERR_STATE;
    eng_device_close(device);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes && found == ENG_OK; i++)
        for (int f = 0; f < 2; f++) {
            const shape *s = &shapes[i];
            size_t n, m;
            memset(right, 0x7f, sizeof right);
            memset(got, 0x7f, sizeof got);
            const unsigned plain = run(s, "no", families[f], right, &n), fused = run(s, "yes", families[f], got, &m);
            tap_check(plain && fused && n == m && alike(right, got, n), "%s, %s: the same numbers", s->name, families[f]);
            tap_check(fused && fused <= s->launches, "%s, %s: %u launches, without fusion %u", s->name, families[f], fused,
                      plain);
        }
    if (found != ENG_OK)
        printf("ok 1 # SKIP %s\n", eng_last_error());
    return tap_end(context);
}
