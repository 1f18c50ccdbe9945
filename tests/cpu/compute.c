/* One op computed on the cpu plugin. */
#include "config.h"

#include "compute.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../matrix.h"
#include "../tap.h"
#include "../tiles.h"

eng_value build_encode(eng_graph *g, const eng_value *in, const void *what)
{
    const uint32_t *type = what;
    return eng_type_get(*type)->block == 1 ? eng_cpy(g, in[0], *type) : eng_quantize(g, in[0], *type, 0);
}

eng_value build_product(eng_graph *g, const eng_value *in, const void *what)
{
    const uint32_t *precision = what;
    if (precision)
        eng_graph_precision(g, *precision);
    return eng_mul_mat(g, in[0], in[1]);
}

eng_value build_experts(eng_graph *g, const eng_value *in, const void *what)
{
    const uint32_t *precision = what;
    if (precision)
        eng_graph_precision(g, *precision);
    return eng_mul_mat_id(g, in[0], in[1], in[2]);
}

float number(uint64_t *s)
{
    *s = *s * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (float)((double)(*s >> 11) * 0x1p-52 - 1);
}

float *numbers(int64_t n, uint64_t seed)
{
    float *x = malloc((size_t)n * sizeof *x);
    for (int64_t i = 0; x && i < n; i++)
        x[i] = number(&seed) * (i % 97 == 5 ? 40 : 1);
    return x;
}

static uint32_t rank_of(const int64_t *ne)
{
    return ne[3] ? 4 : ne[2] ? 3 : ne[1] ? 2 : 1;
}

static void declare(eng_store_tensor *t, const operand *o, uint32_t use)
{
    *t = (eng_store_tensor){.size = sizeof *t, .type = o->type, .rank = rank_of(o->ne),
                            .name = use == ENG_USE_INPUT ? "in" : "out", .use = use, .layer = -1};
    memcpy(t->ne, o->ne, sizeof o->ne);
    if (o->weight) {
        t->use = ENG_USE_WEIGHT | TEST_MATRIX;
        test_declare_matrix(t);
    }
}

bool computation_begin(computation *c, const device *d, const operand *in, uint32_t n, operand result, builder build,
                       const void *what)
{
    eng_store_tensor t[8];
    eng_graph *g = NULL;
    eng_value value[8];
    *c = (computation){.result = n};
    for (uint32_t i = 0; i < n; i++)
        declare(&t[i], &in[i], ENG_USE_INPUT);
    declare(&t[n], &result, ENG_USE_OUTPUT);
    bool good = eng_store_create(d->device, t, n + 1, &c->store) == ENG_OK &&
                eng_graph_create(d->context, 1, &g) == ENG_OK;
    for (uint32_t i = 0; good && i < n; i++) {
        good = eng_store_write(c->store, i, 0, eng_store_bytes(c->store, i), in[i].data) == ENG_OK;
        value[i] = eng_graph_tensor(g, 0, c->store, i);
    }
    if (good)
        eng_store_value(g, eng_graph_tensor(g, 0, c->store, n), build(g, value, what));
    good = good && eng_graph_seal(g) == ENG_OK && eng_plan_create(d->device, g, &c->plan) == ENG_OK &&
           eng_instance_create(c->plan, &c->store, 1, &c->instance) == ENG_OK &&
           eng_queue_create(d->device, &c->queue) == ENG_OK;
    eng_graph_destroy(g);
    return good;
}

bool computation_run(const computation *c, int64_t valid, void *out)
{
    eng_fence fence;
    return eng_queue_submit(c->queue, NULL, 0, c->instance, &valid, 1, &fence) == ENG_OK &&
           eng_fence_wait(fence, UINT64_MAX) == ENG_OK &&
           eng_store_read(c->store, c->result, 0, eng_store_bytes(c->store, c->result), out) == ENG_OK;
}

void computation_end(computation *c)
{
    eng_queue_destroy(c->queue);
    eng_instance_destroy(c->instance);
    eng_plan_release(c->plan);
    eng_store_destroy(c->store);
}

void *compute(const device *d, const operand *in, uint32_t n, operand result, builder build, const void *what,
              int64_t valid)
{
    computation c;
    void *out = NULL;
    if (!computation_begin(&c, d, in, n, result, build, what) || !(out = malloc(eng_store_bytes(c.store, n))) ||
        !computation_run(&c, valid, out)) {
        printf("# %s: %s\n", d->name, eng_last_error());
        free(out);
        out = NULL;
    }
    computation_end(&c);
    return out;
}

void *encode(const device *d, uint32_t type, const int64_t *ne, uint64_t seed)
{
    operand x = {ENG_TYPE_F32, {ne[0], ne[1], ne[2], ne[3]}, NULL, false}, y = x;
    float *values = numbers(ne[0] * (ne[1] ? ne[1] : 1) * (ne[2] ? ne[2] : 1) * (ne[3] ? ne[3] : 1), seed);
    x.data = values;
    y.type = type;
    void *out = values ? compute(d, &x, 1, y, build_encode, &type, 0) : NULL;
    free(values);
    return out;
}

bool open_device(device *d, const char *simd, int threads)
{
    char text[8];
    snprintf(text, sizeof text, "%d", threads);
    snprintf(d->name, sizeof d->name, "%s, %d threads", simd, threads);
    d->rounds_from = d->weights_from = INT64_MAX;
    d->emulated = false;
    if (eng_context_create(NULL, &d->context) != ENG_OK)
        return tap_check(false, "a context: %s", eng_last_error());
    bool good = eng_context_set_option(d->context, "cpu.simd", simd) == ENG_OK &&
                eng_context_set_option(d->context, "cpu.threads", text) == ENG_OK;
    if (good && eng_device_open(d->context, "cpu", &d->device) == ENG_OK)
        return true;
    if (good && strcmp(simd, "amx") == 0 && emulate_tiles()) {
        d->emulated = true;
        snprintf(d->name, sizeof d->name, "amx, emulated, %d threads", threads);
        if (eng_context_set_option(d->context, "cpu.amx", "emulated") == ENG_OK &&
            eng_device_open(d->context, "cpu", &d->device) == ENG_OK)
            return true;
    }
    tap_check(strstr(eng_last_error(), "lacks it") != NULL, "%s: %s # SKIP", simd, eng_last_error());
    eng_context_destroy(d->context);
    return false;
}

bool open_other(device *d, const char *name, const char *option, const char *value)
{
    snprintf(d->name, sizeof d->name, "%s, %s=%s", name, option, value);
    if (eng_context_create(NULL, &d->context) != ENG_OK)
        return tap_check(false, "a context: %s", eng_last_error());
    if (eng_context_set_option(d->context, option, value) == ENG_OK &&
        eng_device_open(d->context, name, &d->device) == ENG_OK)
        return true;
    tap_check(true, "%s: %s # SKIP", d->name, eng_last_error());
    eng_context_destroy(d->context);
    return false;
}

void close_device(device *d)
{
    eng_device_close(d->device);
    eng_context_destroy(d->context);
}
