/*
 * Experts dealt out to the ranks, and what is computed of their results before these are
 * added up.  Where a rank does not own a slot of the result it has zeros: whatever an op
 * makes of them must not be seen, not even when it is NaN or infinite.
 *
 *   h = w[ids] x, g = v[ids] x;  y = weights f(h, g, d);  out = y;  sum = y over the experts used
 *
 * The product with the weights is linear: so nothing asks for the sum before it.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rig.h"

enum { K = 16, F = 32, EXPERTS = 6, USED = 2, TOKENS = 5, N = F * USED * TOKENS };
enum { W, V, X, D, BIAS, WEIGHTS, IDS, OUT, SUM, TENSORS };

static const struct {
    const char *name;
    uint64_t ranks; /* that have a share                                        */
} devices[] = {{"cpu/2", 2}, {"cpu/3", 3}, {"cpu/2@3:1", 2}, {"cpu/4@1:5:0:2", 3}};
static eng_context *context;

/* d: by one number a slot, of which some are zero and one is infinite. */
typedef eng_value (*function)(eng_graph *g, eng_value h, eng_value other, eng_value d, eng_value bias);

static eng_value quotient(eng_graph *g, eng_value h, eng_value other, eng_value d, eng_value bias)
{
    return eng_div(g, h, d);
}

static eng_value quotient_of_two(eng_graph *g, eng_value h, eng_value other, eng_value d, eng_value bias)
{
    return eng_div(g, h, other);
}

static eng_value divisor(eng_graph *g, eng_value h, eng_value other, eng_value d, eng_value bias)
{
    return eng_div(g, d, h);
}

static eng_value shifted(eng_graph *g, eng_value h, eng_value other, eng_value d, eng_value bias)
{
    return eng_scale(g, h, 0.7, 0.2);
}

static eng_value scaled(eng_graph *g, eng_value h, eng_value other, eng_value d, eng_value bias)
{
    return eng_unary(g, eng_scale(g, h, 0.7, 0), ENG_UNARY_TANH);
}

static eng_value endless(eng_graph *g, eng_value h, eng_value other, eng_value d, eng_value bias)
{
    return eng_scale(g, h, (double)INFINITY, 0);
}

static eng_value biased(eng_graph *g, eng_value h, eng_value other, eng_value d, eng_value bias)
{
    return eng_unary(g, eng_add(g, h, bias), ENG_UNARY_RELU);
}

static eng_value difference(eng_graph *g, eng_value h, eng_value other, eng_value d, eng_value bias)
{
    return eng_unary(g, eng_sub(g, h, other), ENG_UNARY_SILU);
}

static eng_value product(eng_graph *g, eng_value h, eng_value other, eng_value d, eng_value bias)
{
    return eng_mul(g, h, other);
}

static eng_value gated(eng_graph *g, eng_value h, eng_value other, eng_value d, eng_value bias)
{
    return eng_glu(g, other, h, ENG_GLU_SWIGLU, NULL);
}

static eng_value norm(eng_graph *g, eng_value h, eng_value other, eng_value d, eng_value bias)
{
    return eng_norm(g, h, ENG_NO_VALUE, ENG_NO_VALUE, 1e-5);
}

static eng_value rms_norm(eng_graph *g, eng_value h, eng_value other, eng_value d, eng_value bias)
{
    return eng_rms_norm(g, h, bias, 1e-5);
}

static eng_value rms_norm_alone(eng_graph *g, eng_value h, eng_value other, eng_value d, eng_value bias)
{
    return eng_rms_norm(g, h, ENG_NO_VALUE, 0);
}

static eng_value soft_max(eng_graph *g, eng_value h, eng_value other, eng_value d, eng_value bias)
{
    return eng_soft_max(g, h, ENG_NO_VALUE, ENG_NO_VALUE, 1, 0);
}

/* Of a quotient of two both must be added up first, of what else stands between it is enough to
 * do it once. */
static const struct {
    const char *name;
    function f;
    uint64_t sums;
} functions[] = {
    {"h / d", quotient, 1},
    {"h / g", quotient_of_two, 2},
    {"d / h", divisor, 1},
    {"0.7 h + 0.2", shifted, 1},
    {"tanh(0.7 h)", scaled, 1},
    {"infinity times h", endless, 1},
    {"relu(h + bias)", biased, 1},
    {"silu(h - g)", difference, 1},
    {"h g", product, 1},
    {"swiglu(g, h)", gated, 1},
    {"norm(h)", norm, 1},
    {"rms_norm(h) bias", rms_norm, 1},
    {"rms_norm(h), eps 0", rms_norm_alone, 1},
    {"soft_max(h)", soft_max, 1},
};
enum { N_FUNCTIONS = sizeof functions / sizeof *functions, N_UNARY = ENG_UNARY_LIMIT };

static bool make_store(rig *g)
{
    rig_dim e;
    eng_dim experts = rig_axis(&e, eng_context_axis(context, "expert"), EXPERTS, 1);
    eng_dim dims[] = {{0}, {0}, experts};
    eng_store_tensor t[TENSORS] = {
        [W] = {.rank = 3, .use = ENG_USE_WEIGHT, .ne = {K, F, EXPERTS}, .dims = dims},
        [V] = {.rank = 3, .use = ENG_USE_WEIGHT, .ne = {K, F, EXPERTS}, .dims = dims},
        [X] = {.rank = 3, .use = ENG_USE_INPUT, .ne = {K, 1, TOKENS}},
        [D] = {.rank = 3, .use = ENG_USE_INPUT, .ne = {F, USED, TOKENS}},
        [BIAS] = {.rank = 1, .use = ENG_USE_WEIGHT, .ne = {F}},
        [WEIGHTS] = {.rank = 3, .use = ENG_USE_INPUT, .ne = {1, USED, TOKENS}},
        [IDS] = {.type = ENG_TYPE_I32, .rank = 2, .use = ENG_USE_INPUT, .ne = {USED, TOKENS}},
        [OUT] = {.rank = 3, .use = ENG_USE_OUTPUT, .ne = {F, USED, TOKENS}},
        [SUM] = {.rank = 3, .use = ENG_USE_OUTPUT, .ne = {1, F, TOKENS}},
    };
    static const int32_t ids[USED * TOKENS] = {0, 5, 2, 1, 4, 3, 5, 1, 3, 0};
    static float data[K * F * EXPERTS];
    bool good = rig_store(g, t, TENSORS);

    for (uint32_t i = W; i < OUT && good; i++) {
        unsigned seed = i + 1;
        for (int j = 0; j < K * F * EXPERTS; j++) {
            seed = seed * 1664525u + 1013904223u;
            data[j] = (float)(seed >> 8) / 8388608.0f - 1;
            if (i == D)
                data[j] = j % F == 3 ? 0 : j == 7 ? INFINITY : data[j] + 2;
        }
        good = rig_write(g, i, i == IDS ? (const void *)ids : data);
    }
    return good;
}

static bool build(rig *r, int which)
{
    eng_value in[TENSORS];
    eng_graph *g = r->graph;

    rig_values(r, in, TENSORS);
    eng_value h = eng_mul_mat_id(g, in[W], in[X], in[IDS]), other = eng_mul_mat_id(g, in[V], in[X], in[IDS]);
    eng_value y = which < N_FUNCTIONS ? functions[which].f(g, h, other, in[D], in[BIAS])
                                      : eng_unary(g, h, which - N_FUNCTIONS);
    y = eng_mul(g, y, in[WEIGHTS]);
    eng_value turned = eng_cpy(g, eng_permute(g, y, (int[]){1, 0, 2}, 3), ENG_TYPE_F32);
    eng_store_value(g, in[SUM], eng_sum_rows(g, turned));
    eng_store_value(g, in[OUT], y);
    return rig_plan(r);
}

typedef struct results {
    float out[N], sum[F * TOKENS];
    uint64_t sent;
} results;

static bool run(const char *name, int which, results *r)
{
    eng_device_stats stats = {.size = sizeof stats};
    rig g;

    memset(r, 0xff, sizeof *r);
    bool good = rig_open(&g, context, name, 0) && make_store(&g) && build(&g, which) && rig_run(&g, NULL, 0) &&
                rig_read(&g, OUT, r->out) && rig_read(&g, SUM, r->sum) &&
                eng_device_get_stats(g.device, &stats) == ENG_OK;
    r->sent = stats.bytes_exchanged;
    if (!good)
        printf("# %s: %s\n", name, eng_last_error());
    rig_close(&g);
    return good;
}

/* What is no number, or no finite one, must be so in both. */
static bool same(const char *what, const float *got, const float *want, int n)
{
    for (int i = 0; i < n; i++) {
        if (isnan(want[i]) ? isnan(got[i]) : isinf(want[i]) ? got[i] == want[i]
                                                            : fabsf(got[i] - want[i]) <= 2e-5f * (1 + fabsf(want[i])))
            continue;
        printf("# %s[%d] is %g, not %g\n", what, i, (double)got[i], (double)want[i]);
        return false;
    }
    return true;
}

int main(void)
{
    static results want, got;

    if (!(context = tap_begin()))
        return 1;
    for (int f = 0; f < N_FUNCTIONS + N_UNARY; f++) {
        const char *name = f < N_FUNCTIONS ? functions[f].name : eng_unary_name(f - N_FUNCTIONS);
        bool known = run("cpu", f, &want);
        for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
            bool good = known && run(devices[d].name, f, &got) && same("out", got.out, want.out, N);
            good = good && same("sum", got.sum, want.sum, F * TOKENS);
            uint64_t all_reduce = devices[d].ranks * (devices[d].ranks - 1) * N * sizeof(float);
            good = good && got.sent <= all_reduce * (f < N_FUNCTIONS ? functions[f].sums : 1);
            tap_check(good, "%s of experts dealt out, %s: %lu bytes sent", name, devices[d].name,
                      (unsigned long)got.sent);
        }
    }
    return tap_end(context);
}
