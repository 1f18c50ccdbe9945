/*
 * What goes along an axis stays where it is: of operands that are cut along it every rank
 * computes its part of the result, or sees its part of the view, and nothing is sent.
 *
 * y and z are the same values; y is cut by units of 32, z by units of 16 in each half.  The same is cut in the other
 * half by units of 8, twice: of that the halves are no operands of one op until they are brought together.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"
#include "../matrix.h"

enum { UNITS = 6, UNIT = 32, HALF = UNIT / 2, N = UNITS * UNIT, B = 4, C = 3, K = 64, EXPERTS = 4, ROWS = 10 };
enum { X, GAIN, W, W_EXPERTS, TABLE, CACHE, COLUMNS, IDS, TENSORS };
enum { Y = TENSORS, Z, UNLIKE, VALUES };

static const char *const devices[] = {"cpu/2", "cpu/3", "cpu/4@1:5:0:2"};
static eng_context *context;

/* -- what is computed ------------------------------------------------------------------ */

typedef eng_value (*function)(eng_graph *g, const eng_value *in);
#define CASE(name) static eng_value name(eng_graph *g, const eng_value *in)

/* The axis in dimension 1. */
static eng_value turned(eng_graph *g, const eng_value *in)
{
    return eng_cont(g, eng_permute(g, in[Y], (int[]){1, 0, 2}, 3));
}

/* Heads of 32. */
static eng_value heads(eng_graph *g, const eng_value *in)
{
    return eng_reshape(g, in[Y], (int64_t[]){UNIT, UNITS, B * C}, 3);
}

CASE(unary) { return eng_unary(g, in[Y], ENG_UNARY_SILU); }
CASE(sum) { return eng_add(g, in[Y], in[GAIN]); }
CASE(square) { return eng_mul(g, in[Y], in[Y]); }
CASE(join) { return eng_scale(g, eng_reshape(g, in[Y], (int64_t[]){N * B, C}, 2), 2, 0); }
CASE(slice) { return eng_scale(g, eng_slice(g, in[Y], 1, 1, 2), 2, 0); }
CASE(second_half) { return eng_scale(g, eng_slice(g, in[Z], 0, N / 2, N / 2), 2, 0); }
CASE(gated_half) { return eng_glu(g, in[Z], ENG_NO_VALUE, ENG_GLU_SWIGLU, NULL); }
CASE(gated_unlike) { return eng_glu(g, in[UNLIKE], ENG_NO_VALUE, ENG_GLU_SWIGLU, NULL); }
CASE(gated) { return eng_glu(g, in[Y], in[Y], ENG_GLU_GEGLU, NULL); }
CASE(concat) { return eng_concat(g, in[Y], in[Y], 0); }
CASE(concat_columns) { return eng_concat(g, in[Y], in[Y], 1); }
CASE(repeat) { return eng_repeat(g, in[Y], (int64_t[]){2 * N, B, C}, 3); }
CASE(repeat_halves) { return eng_repeat(g, in[Z], (int64_t[]){2 * N, B, C}, 3); }
CASE(repeat_columns) { return eng_repeat(g, in[Y], (int64_t[]){N, 2 * B, C}, 3); }
CASE(pad) { return eng_pad(g, in[Y], (int64_t[]){0, 1, 0}, (int64_t[]){0, 2, 0}, 3); }
CASE(hadamard) { return eng_hadamard(g, in[Y], UNIT); }
CASE(encoded) { return eng_dequantize(g, eng_quantize(g, in[Y], ENG_TYPE_Q8_0, 0), ENG_TYPE_F32); }
CASE(half_floats) { return eng_cpy(g, eng_cpy(g, in[Y], ENG_TYPE_F16), ENG_TYPE_F32); }
CASE(rms_norm) { return eng_rms_norm(g, turned(g, in), ENG_NO_VALUE, 1e-5); }
CASE(norm) { return eng_norm(g, turned(g, in), ENG_NO_VALUE, ENG_NO_VALUE, 1e-5); }
CASE(l2_norm) { return eng_l2_norm(g, turned(g, in), 1e-5); }
CASE(soft_max) { return eng_soft_max(g, turned(g, in), ENG_NO_VALUE, ENG_NO_VALUE, 1, 0); }
CASE(sum_rows) { return eng_sum_rows(g, turned(g, in)); }
CASE(argmax) { return eng_cpy(g, eng_argmax(g, turned(g, in)), ENG_TYPE_F32); }
CASE(top_k) { return eng_cpy(g, eng_top_k(g, turned(g, in), 2), ENG_TYPE_F32); }
CASE(product) { return eng_mul_mat(g, in[W], in[COLUMNS]); }
CASE(looked_up) { return eng_get_rows(g, in[TABLE], in[IDS]); }

CASE(products)
{
    eng_value h = eng_cont(g, eng_permute(g, heads(g, in), (int[]){0, 2, 1}, 3));
    return eng_mul_mat(g, h, h);
}

CASE(by_experts)
{
    eng_value ids = eng_reshape(g, in[IDS], (int64_t[]){1, C}, 2);
    eng_value columns = eng_reshape(g, eng_slice(g, in[COLUMNS], 1, 0, C), (int64_t[]){K, 1, C}, 3);
    return eng_mul_mat_id(g, in[W_EXPERTS], columns, ids);
}

CASE(written)
{
    eng_set_rows(g, in[CACHE], eng_reshape(g, eng_slice(g, in[Y], 1, 2, 1), (int64_t[]){N, C}, 2), in[IDS]);
    return eng_scale(g, in[CACHE], 2, 0);
}

CASE(rotated)
{
    eng_rope_params p;
    eng_value y = eng_reshape(g, eng_slice(g, in[Y], 1, 2, 1), (int64_t[]){UNIT, UNITS, C}, 3);

    eng_rope_defaults(&p);
    p.n_dims = UNIT;
    return eng_rope(g, y, in[IDS], ENG_NO_VALUE, &p);
}

/* The result's cut: in dimension dim segments of outer times the axis times inner. */
static const struct follow {
    const char *name;
    function f;
    int dim;
    uint32_t segments;
    int64_t outer, inner;
} follows[] = {
    {"unary", unary, 0, 1, 1, UNIT},
    {"add of a row", sum, 0, 1, 1, UNIT},
    {"mul", square, 0, 1, 1, UNIT},
    {"reshape into heads", heads, 1, 1, 1, 1},
    {"reshape of two dimensions into one", join, 0, 1, B, UNIT},
    {"permute", turned, 1, 1, 1, UNIT},
    {"slice of another dimension", slice, 0, 1, 1, UNIT},
    {"slice of one half", second_half, 0, 1, 1, HALF},
    {"glu of two halves", gated_half, 0, 1, 1, HALF},
    {"glu of two halves that are cut unlike each other", gated_unlike, 0, 1, 1, HALF},
    {"glu", gated, 0, 1, 1, UNIT},
    {"concat", concat, 0, 2, 1, UNIT},
    {"concat of another dimension", concat_columns, 0, 1, 1, UNIT},
    {"repeat", repeat, 0, 1, 2, UNIT},
    {"repeat of two halves", repeat_halves, 0, 1, 4, HALF},
    {"repeat of another dimension", repeat_columns, 0, 1, 1, UNIT},
    {"pad of another dimension", pad, 0, 1, 1, UNIT},
    {"hadamard", hadamard, 0, 1, 1, UNIT},
    {"quantize and dequantize", encoded, 0, 1, 1, UNIT},
    {"cpy to f16 and back", half_floats, 0, 1, 1, UNIT},
    {"rms_norm of other rows", rms_norm, 1, 1, 1, UNIT},
    {"norm of other rows", norm, 1, 1, 1, UNIT},
    {"l2_norm of other rows", l2_norm, 1, 1, 1, UNIT},
    {"soft_max of other rows", soft_max, 1, 1, 1, UNIT},
    {"sum_rows of other rows", sum_rows, 1, 1, 1, UNIT},
    {"argmax of other rows", argmax, 0, 1, 1, UNIT},
    {"top_k of other rows", top_k, 1, 1, 1, UNIT},
    {"mul_mat, rows of the matrix", product, 0, 1, 1, UNIT},
    {"mul_mat, a product for every head", products, 2, 1, 1, 1},
    {"mul_mat_id, rows of the matrices", by_experts, 0, 1, 1, UNIT},
    {"get_rows, columns of the table", looked_up, 0, 1, 1, UNIT},
    {"set_rows, columns of the cache", written, 0, 1, 1, UNIT},
    {"rope", rotated, 1, 1, 1, 1},
};

/* -- running it ------------------------------------------------------------------------ */

typedef struct cut_dim {
    eng_factor factors[3];
    eng_segment segments[2];
} cut_dim;

static eng_dim make_dim(cut_dim *d, uint32_t segments, int64_t outer, int64_t inner)
{
    d->factors[0] = (eng_factor){.extent = outer};
    d->factors[1] = (eng_factor){.axis = eng_context_axis(context, "unit"), .extent = UNITS};
    d->factors[2] = (eng_factor){.extent = inner};
    for (uint32_t s = 0; s < segments; s++)
        d->segments[s] = (eng_segment){.n_factors = 3, .factors = d->factors};
    return (eng_dim){.n_segments = segments, .segments = d->segments};
}

static bool make_store(rig *g)
{
    cut_dim d;
    const eng_dim units = make_dim(&d, 1, 1, UNIT), none = {0}, first[] = {units, none}, second[] = {none, units, none};
    eng_store_tensor t[TENSORS] = {
        [X] = {.rank = 3, .use = ENG_USE_INPUT, .ne = {N, B, C}},
        [GAIN] = {.rank = 1, .use = ENG_USE_WEIGHT, .ne = {N}, .dims = first},
        [W] = {.rank = 2, .use = ENG_USE_WEIGHT | TEST_MATRIX, .ne = {K, N}, .dims = second},
        [W_EXPERTS] = {.rank = 3, .use = ENG_USE_WEIGHT, .ne = {K, N, EXPERTS}, .dims = second},
        [TABLE] = {.rank = 2, .use = ENG_USE_WEIGHT, .ne = {N, ROWS}, .dims = first},
        [CACHE] = {.rank = 2, .use = ENG_USE_CACHE, .ne = {N, EXPERTS}, .dims = first},
        [COLUMNS] = {.rank = 2, .use = ENG_USE_INPUT, .ne = {K, B}},
        [IDS] = {.type = ENG_TYPE_I32, .rank = 1, .use = ENG_USE_INPUT, .ne = {C}},
    };
    static float data[K * N * EXPERTS];
    static const int32_t ids[C] = {2, 0, 3};
    bool good = rig_store(g, t, TENSORS);

    for (uint32_t i = 0; i < TENSORS && good; i++) {
        unsigned seed = i + 1;
        for (int j = 0; j < K * N * EXPERTS; j++) {
            seed = seed * 1664525u + 1013904223u;
            data[j] = (float)(seed >> 8) / 8388608.0f - 1;
        }
        good = rig_write(g, i, i == IDS ? (const void *)ids : data);
    }
    return good;
}

static eng_value cut_value(rig *g, eng_value x, uint32_t segments, int64_t inner, bool unlike)
{
    cut_dim d, half;
    eng_dim dims[] = {make_dim(&d, segments, 1, inner), {0}, {0}};
    eng_placement split = {.size = sizeof split, .kind = ENG_PLACE_SHARDED, .axis = eng_context_axis(context, "unit")};
    eng_value y = eng_scale(g->graph, x, 1, 0);

    if (unlike)
        d.segments[1] = *make_dim(&half, 1, 2, inner / 2).segments;
    eng_graph_set_axes(g->graph, y, dims, 3);
    eng_graph_place(g->graph, y, &split);
    return y;
}

/* A store for the result, cut as it should be. */
static eng_store *result_store(rig *g, const struct follow *c, eng_value result)
{
    const eng_tensor *t = eng_graph_get(g->graph, result);
    cut_dim d;
    eng_dim dims[ENG_MAX_RANK] = {{0}};
    eng_store_tensor s = {.type = ENG_TYPE_F32, .rank = ENG_MAX_RANK, .use = ENG_USE_STATE, .dims = dims, .name = "result"};

    if (!t)
        return NULL;
    memcpy(s.ne, t->ne, sizeof s.ne);
    dims[c->dim] = make_dim(&d, c->segments, c->outer, c->inner);
    return rig_make_store(g->device, &s, 1);
}

static bool build(rig *g, const struct follow *c, eng_store **stores)
{
    eng_value in[VALUES];

    rig_values(g, in, TENSORS);
    in[Y] = cut_value(g, in[X], 1, UNIT, false);
    in[Z] = cut_value(g, in[X], 2, HALF, false);
    in[UNLIKE] = cut_value(g, in[X], 2, HALF, true);
    eng_value result = c->f(g->graph, in);
    stores[0] = g->store;
    if (!(stores[1] = result_store(g, c, result)))
        return false;
    eng_value out = eng_graph_tensor(g->graph, 1, stores[1], 0);
    eng_store_value(g->graph, out, eng_reshape(g->graph, result, eng_graph_get(g->graph, out)->ne, ENG_MAX_RANK));
    return eng_graph_seal(g->graph) == ENG_OK && eng_plan_create(g->device, g->graph, &g->plan) == ENG_OK &&
           eng_instance_create(g->plan, stores, 2, &g->instance) == ENG_OK &&
           eng_queue_create(g->device, &g->queue) == ENG_OK;
}

/* The result, which the caller frees; NULL: it failed. */
static float *run(const char *device, const struct follow *c, uint64_t *n, uint64_t *sent)
{
    eng_device_stats stats = {.size = sizeof stats};
    eng_store *stores[2] = {NULL};
    float *result = NULL;
    rig g;
    bool good = rig_open(&g, context, device, 0) && make_store(&g) && build(&g, c, stores) && rig_run(&g, NULL, 0) &&
                eng_device_get_stats(g.device, &stats) == ENG_OK;

    *n = good ? eng_store_bytes(stores[1], 0) / sizeof *result : 0;
    *sent = stats.bytes_exchanged;
    good = good && (result = malloc(*n * sizeof *result)) != NULL &&
           eng_store_read(stores[1], 0, 0, *n * sizeof *result, result) == ENG_OK;
    if (!good)
        printf("# %s, %s: %s\n", c->name, device, eng_last_error());
    eng_queue_destroy(g.queue);
    g.queue = NULL;
    eng_instance_destroy(g.instance);
    g.instance = NULL;
    eng_store_destroy(stores[1]);
    rig_close(&g);
    return result;
}

static void check_follow(const struct follow *c)
{
    uint64_t n, m, sent;
    float *want = run("cpu", c, &n, &sent);

    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
        float *got = run(devices[d], c, &m, &sent);
        bool good = want && got && n == m && (sent > 0) == (c->f == gated_unlike);
        for (uint64_t i = 0; i < n && good; i++)
            good = fabsf(got[i] - want[i]) <= 1e-5f * (1 + fabsf(want[i]));
        tap_check(good, "%s, %s: %lu bytes sent", c->name, devices[d], (unsigned long)sent);
        free(got);
    }
    free(want);
}

int main(void)
{
    if (!(context = tap_begin()))
        return 1;
    for (size_t i = 0; i < sizeof follows / sizeof *follows; i++)
        check_follow(&follows[i]);
    return tap_end(context);
}
